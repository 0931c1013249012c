/* SPDX-License-Identifier: MIT */
#include "watchdog/broker/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

typedef struct Emptying {
        int top; /* the slot */
        dev_t dev;
        unsigned long long moved; /* names for folders that were moved up */
} Emptying;

/*
 * A folder below the top one: moved to the top under a new name when it is not empty, so that the
 * next round finds it there. Its depth thus shrinks with every round.
 */
static int take_folder(Emptying *e, int parent, const char *name) {
        char to[64];
        struct stat st;

        if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
                return 0;
        if (errno != ENOTEMPTY && errno != EEXIST)
                return -errno;
        if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        if (st.st_dev != e->dev)
                return -EXDEV;
        do
                snprintf(to, sizeof(to), ".dindhost-empty-%llu", e->moved++);
        while (faccessat(e->top, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
        return renameat(parent, name, e->top, to) < 0 ? -errno : 0;
}

static int take_entry(Emptying *e, int parent, const struct dirent *d) {
        if (d->d_type != DT_DIR && unlinkat(parent, d->d_name, 0) == 0)
                return 0;
        if (d->d_type != DT_DIR && errno != EISDIR && errno != EPERM)
                return -errno;
        return take_folder(e, parent, d->d_name);
}

/* Removes all entries of one folder but those in `keep` (the folders of the top one). */
static int empty_one(Emptying *e, int fd) {
        CLEANUP(fd_closep) int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct dirent *d;
        int r = 0, k;
        DIR *dir;

        if (copy < 0)
                return -errno;
        dir = fdopendir(copy);
        if (!dir)
                return -errno;
        (void) TAKE_FD(copy);
        while ((d = readdir(dir))) {
                if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
                        continue;
                k = take_entry(e, fd, d);
                if (k < 0 && r == 0)
                        r = k;
        }
        closedir(dir);
        return r;
}

/* Empties the sub-folder `name` of the top one and removes it. */
static int empty_folder(Emptying *e, const char *name) {
        CLEANUP(fd_closep)
        int fd = openat(e->top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;
        int r;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (st.st_dev != e->dev)
                return -EXDEV;
        r = empty_one(e, fd);
        if (unlinkat(e->top, name, AT_REMOVEDIR) < 0 && r == 0)
                r = -errno;
        return r;
}

/* One pass over the top folder. 1: something was there, 0: it is empty, -errno. */
static int empty_round(Emptying *e) {
        CLEANUP(fd_closep) int copy = openat(e->top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int r = 0, found = 0, k;
        struct dirent *d;
        DIR *dir;

        if (copy < 0)
                return -errno;
        dir = fdopendir(copy);
        if (!dir)
                return -errno;
        (void) TAKE_FD(copy);
        while ((d = readdir(dir))) {
                if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
                        continue;
                found = 1;
                if (d->d_type != DT_DIR && unlinkat(e->top, d->d_name, 0) == 0)
                        continue;
                k = empty_folder(e, d->d_name);
                /* a folder that was moved away meanwhile is met again under its new name */
                if (k < 0 && k != -ENOENT && r == 0)
                        r = k;
        }
        closedir(dir);
        return r < 0 ? r : found;
}

int tree_empty(int dir_fd) {
        Emptying e = { .top = dir_fd };
        struct stat st;
        int r;

        if (fstat(dir_fd, &st) < 0)
                return -errno;
        e.dev = st.st_dev;
        while ((r = empty_round(&e)) > 0)
                ;
        return r;
}
