/* SPDX-License-Identifier: MIT */
#include "watchdog/broker/holders.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"

typedef struct Search {
        const char *path;    /* as the host sees the slot */
        const char *fs_root; /* the same from the root of its file system */
        dev_t dev;
        ino_t namespaces[1024]; /* mount namespaces already read */
        size_t n_namespaces;
        char *who;
        size_t n_who;
} Search;

static bool below(const char *path, const char *top) {
        size_t n = strlen(top);

        return !strncmp(path, top, n) && (path[n] == 0 || path[n] == '/');
}

static void name_process(const char *pid, char *ret, size_t n) {
        CLEANUP(freep) char *comm = NULL;
        char path[300];

        snprintf(path, sizeof(path), "/proc/%s/comm", pid);
        if (file_read(path, 64, &comm, NULL) >= 0)
                comm[strcspn(comm, "\n")] = 0;
        snprintf(ret, n, "process %s (%s)", pid, comm ? comm : "?");
}

static int found(Search *s, const char *pid, const char *how) {
        char process[96];

        name_process(pid, process, sizeof(process));
        snprintf(s->who, s->n_who, "%s %s", process, how);
        return 1;
}

static bool seen_namespace(Search *s, const char *pid) {
        char path[300];
        struct stat st;

        snprintf(path, sizeof(path), "/proc/%s/ns/mnt", pid);
        if (stat(path, &st) < 0)
                return true; /* it has ended, or is a kernel thread */
        for (size_t i = 0; i < s->n_namespaces; i++)
                if (s->namespaces[i] == st.st_ino)
                        return true;
        if (s->n_namespaces < N_ELEMENTS(s->namespaces))
                s->namespaces[s->n_namespaces++] = st.st_ino;
        return false;
}

/* mountinfo: fields 3 (major:minor) and 4 (root within the file system) say what is mounted. */
static int search_mounts(Search *s, const char *pid) {
        CLEANUP(freep) char *line = NULL;
        size_t room = 0;
        char path[300];
        int r = 0;
        FILE *f;

        if (seen_namespace(s, pid))
                return 0;
        snprintf(path, sizeof(path), "/proc/%s/mountinfo", pid);
        f = fopen(path, "re");
        if (!f)
                return 0;
        while (r == 0 && getline(&line, &room, f) > 0) {
                unsigned major, minor;
                char root[PATH_MAX];

                if (sscanf(line, "%*d %*d %u:%u %4095s", &major, &minor, root) == 3 &&
                    makedev(major, minor) == s->dev && below(root, s->fs_root))
                        r = found(s, pid, "has it mounted");
        }
        fclose(f);
        return r;
}

/* Does this link of /proc lead into the slot? The device is compared first, since paths can lie. */
static bool leads_in(const Search *s, int dir_fd, const char *name) {
        char target[PATH_MAX];
        struct stat st;
        ssize_t n;

        if (fstatat(dir_fd, name, &st, 0) < 0 || st.st_dev != s->dev)
                return false;
        n = readlinkat(dir_fd, name, target, sizeof(target) - 1);
        if (n <= 0)
                return false;
        target[n] = 0;
        /* one that is reached through a sandbox's own mount is found by that mount */
        return below(target, s->path);
}

static int search_files(Search *s, const char *pid, int proc_fd) {
        CLEANUP(fd_closep) int fd = openat(proc_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct dirent *d;
        int r = 0;
        DIR *dir;

        if (fd < 0)
                return 0;
        dir = fdopendir(fd);
        if (!dir)
                return -errno;
        while (r == 0 && (d = readdir(dir)))
                if (d->d_name[0] != '.' && leads_in(s, fd, d->d_name))
                        r = found(s, pid, "has a file in it open");
        (void) TAKE_FD(fd);
        closedir(dir);
        return r;
}

static int search_process(Search *s, const char *pid) {
        CLEANUP(fd_closep) int fd = -EBADF;
        char path[300];
        int r;

        r = search_mounts(s, pid);
        /* the searcher itself has the slot open */
        if (r != 0 || strtol(pid, NULL, 10) == (long) getpid())
                return r;
        snprintf(path, sizeof(path), "/proc/%s", pid);
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return 0;
        if (leads_in(s, fd, "cwd"))
                return found(s, pid, "works in it");
        if (leads_in(s, fd, "root"))
                return found(s, pid, "has its root in it");
        if (leads_in(s, fd, "exe"))
                return found(s, pid, "is a program of it");
        return search_files(s, pid, fd);
}

int holders_find(const char *path, dev_t dev, const char *fs_root, char *ret_who, size_t n) {
        CLEANUP(freep) Search *s = calloc(1, sizeof(*s));
        struct dirent *d;
        int r = 0;
        DIR *dir;

        if (!s)
                return -ENOMEM;
        s->path = path;
        s->fs_root = fs_root;
        s->dev = dev;
        s->who = ret_who;
        s->n_who = n;
        dir = opendir("/proc");
        if (!dir)
                return -errno;
        while (r == 0 && (d = readdir(dir)))
                if (d->d_name[0] >= '1' && d->d_name[0] <= '9')
                        r = search_process(s, d->d_name);
        closedir(dir);
        return r;
}
