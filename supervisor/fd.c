/* SPDX-License-Identifier: MIT */
#include "supervisor/fd.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h> /* renameat() is declared there */
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor/text.h"

int fd_close(int fd) {
        if (fd >= 0)
                close(fd);
        return -EBADF;
}

void fd_close_from(int first) {
#ifdef SYS_close_range
        if (syscall(SYS_close_range, first, ~0U, 0) == 0)
                return;
#endif
        /* before Linux 5.9: PID 1 never has more than a few */
        for (int fd = first; fd < 256; fd++)
                close(fd);
}

int fd_read_file(int dir, const char *path, char *data, size_t size, size_t *ret_n) {
        int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        size_t n = 0;
        ssize_t k;

        if (fd < 0)
                return -errno;
        do {
                k = n < size ? read(fd, data + n, size - n) : -1;
                if (k > 0)
                        n += (size_t) k;
        } while (k > 0);
        if (k < 0) {
                int r = n < size ? -errno : -EFBIG;

                close(fd);
                return r;
        }
        close(fd);
        *ret_n = n;
        return 0;
}

static int write_all(int fd, const char *data, size_t n) {
        while (n > 0) {
                ssize_t k = write(fd, data, n);

                if (k < 0)
                        return -errno;
                data += k;
                n -= (size_t) k;
        }
        return 0;
}

int fd_write_file(int dir, const char *path, const char *data, size_t n) {
        int fd = openat(dir, path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        int r;

        if (fd < 0)
                return -errno;
        r = write(fd, data, n) < 0 ? -errno : 0;
        close(fd);
        return r;
}

int fd_publish(int dir, const char *name, const char *data, size_t n) {
        char temporary[NAME_MAX + 1];
        Text t = TEXT(temporary);
        int fd, r;

        text_join(&t, ".", name, ".new", NULL);
        fd = openat(dir,
                    temporary,
                    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                    0644);
        if (fd < 0)
                return -errno;
        r = write_all(fd, data, n);
        close(fd);
        if (r < 0)
                return r;
        return renameat(dir, temporary, dir, name) < 0 ? -errno : 0;
}
