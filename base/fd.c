/* SPDX-License-Identifier: MIT */
#include "base/fd.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void fd_closep(int *fd) {
        int saved = errno;

        if (*fd >= 0)
                close(*fd);
        errno = saved;
}

int fd_write_all(int fd, const void *data, size_t n) {
        const char *p = data;

        while (n > 0) {
                ssize_t k = write(fd, p, n);

                if (k < 0) {
                        if (errno == EINTR)
                                continue;
                        return -errno;
                }
                p += k;
                n -= (size_t) k;
        }
        return 0;
}

int fd_read_all(int fd, size_t max, char **ret, size_t *ret_n) {
        CLEANUP(freep) char *buf = NULL;
        size_t n = 0, room = 0;

        for (;;) {
                ssize_t k;

                if (n + 1 >= room) {
                        size_t more = room ? room * 2 : 4096;
                        char *p = realloc(buf, more);

                        if (!p)
                                return -ENOMEM;
                        buf = p;
                        room = more;
                }
                k = read(fd, buf + n, room - n - 1);
                if (k < 0) {
                        if (errno == EINTR)
                                continue;
                        return -errno;
                }
                if (k == 0)
                        break;
                n += (size_t) k;
                if (n > max)
                        return -EFBIG;
        }
        buf[n] = 0;
        *ret = TAKE_PTR(buf);
        if (ret_n)
                *ret_n = n;
        return 0;
}

int file_read(const char *path, size_t max, char **ret, size_t *ret_n) {
        CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);

        if (fd < 0)
                return -errno;
        return fd_read_all(fd, max, ret, ret_n);
}

/* Makes the rename itself durable (ext4 and XFS promise it only after a sync of the folder). */
static int sync_parent(const char *path) {
        CLEANUP(freep) char *copy = strdup(path);
        CLEANUP(fd_closep) int fd = -EBADF;

        if (!copy)
                return -ENOMEM;
        fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        return fsync(fd) < 0 ? -errno : 0;
}

static int fill_file(int fd, const void *data, size_t n, mode_t mode, uid_t uid, gid_t gid) {
        int r;

        if ((uid != (uid_t) -1 || gid != (gid_t) -1) && fchown(fd, uid, gid) < 0)
                return -errno;
        if (fchmod(fd, mode) < 0)
                return -errno;
        r = fd_write_all(fd, data, n);
        if (r < 0)
                return r;
        return fsync(fd) < 0 ? -errno : 0;
}

int file_write_atomic(
                const char *path, const void *data, size_t n, mode_t mode, uid_t uid, gid_t gid) {
        CLEANUP(freep) char *tmp = NULL;
        CLEANUP(fd_closep) int fd = -EBADF;
        int r;

        if (asprintf(&tmp, "%s.new-XXXXXX", path) < 0) {
                tmp = NULL;
                return -ENOMEM;
        }
        fd = mkostemp(tmp, O_CLOEXEC);
        if (fd < 0)
                return -errno;
        r = fill_file(fd, data, n, mode, uid, gid);
        if (r >= 0 && rename(tmp, path) < 0)
                r = -errno;
        if (r < 0) {
                (void) unlink(tmp);
                return r;
        }
        return sync_parent(path);
}

bool file_equals(const char *path, const void *data, size_t n) {
        CLEANUP(freep) char *have = NULL;
        size_t have_n = 0;

        return file_read(path, n + 1, &have, &have_n) >= 0 && have_n == n && !memcmp(have, data, n);
}

int dir_make(const char *path, mode_t mode, uid_t uid, gid_t gid) {
        CLEANUP(fd_closep) int fd = -EBADF;
        struct stat st;
        int changed = 0;

        if (mkdir(path, 0700) == 0)
                changed = 1;
        else if (errno != EEXIST)
                return -errno;
        fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (st.st_uid != uid || st.st_gid != gid) {
                if (fchown(fd, uid, gid) < 0)
                        return -errno;
                changed = 1;
        }
        if ((st.st_mode & 07777) != mode) {
                if (fchmod(fd, mode) < 0)
                        return -errno;
                changed = 1;
        }
        return changed;
}
