/* SPDX-License-Identifier: MIT */
#include "profile/procs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/units.h"
#include "profile/kernel-text.h"

#define TEXT_MAX (16 * 1024 * 1024)

static void closedirp(DIR **d) {
        if (*d)
                closedir(*d);
}

static int read_file_of(pid_t pid, const char *name, char **ret) {
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/%s", (int) pid, name);
        return file_read(path, TEXT_MAX, ret, NULL);
}

static bool has_ended(int error) {
        return error == -ENOENT || error == -ESRCH;
}

static int read_proc(pid_t pid, Proc *ret) {
        CLEANUP(freep) char *status = NULL, *cgroup = NULL;
        Proc p = { .pid = pid };
        int r = read_file_of(pid, "status", &status);

        if (r >= 0)
                r = read_file_of(pid, "cgroup", &cgroup);
        if (r < 0)
                return r;
        if (!status_uids(status, p.uids) || !cgroup_path_parse(cgroup, p.cgroup, sizeof(p.cgroup)))
                return -EBADMSG;
        (void) sscanf(status, "Name: %63[^\n]", p.comm);
        *ret = p;
        return 0;
}

int procs_each(bool (*fn)(void *userdata, const Proc *p), void *userdata) {
        CLEANUP(closedirp) DIR *dir = opendir("/proc");
        struct dirent *e;

        if (!dir)
                return -errno;
        while ((e = readdir(dir))) {
                uint64_t pid;
                Proc p;
                int r;

                if (parse_uint(e->d_name, INT32_MAX, &pid) < 0)
                        continue;
                r = read_proc((pid_t) pid, &p);
                if (has_ended(r))
                        continue;
                if (r < 0)
                        return r;
                if (!fn(userdata, &p))
                        break;
        }
        return 0;
}

typedef struct Inodes {
        uint64_t *list;
        size_t n, room;
        bool failed;
} Inodes;

static void add_inode(void *userdata, uint64_t inode) {
        Inodes *s = userdata;

        if (s->n == s->room) {
                size_t room = s->room ? s->room * 2 : 64;
                uint64_t *list = realloc(s->list, room * sizeof(*list));

                if (!list) {
                        s->failed = true;
                        return;
                }
                s->list = list;
                s->room = room;
        }
        s->list[s->n++] = inode;
}

/* What listens in the process's network namespace, whoever holds it. */
static int read_listeners(pid_t pid, Inodes *ret) {
        static const char *const names[] = { "net/tcp", "net/tcp6" };

        for (size_t i = 0; i < N_ELEMENTS(names); i++) {
                CLEANUP(freep) char *text = NULL;
                int r = read_file_of(pid, names[i], &text);

                if (r == -ENOENT && i == 1)
                        continue; /* no IPv6 */
                if (r < 0)
                        return r;
                tcp_listeners(text, add_inode, ret);
        }
        return ret->failed ? -ENOMEM : 0;
}

static bool is_in(const Inodes *s, uint64_t inode) {
        for (size_t i = 0; i < s->n; i++)
                if (s->list[i] == inode)
                        return true;
        return false;
}

static int look_at_descriptors(pid_t pid, const Inodes *listening) {
        CLEANUP(closedirp) DIR *dir = NULL;
        struct dirent *e;
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/fd", (int) pid);
        dir = opendir(path);
        if (!dir)
                return -errno;
        while ((e = readdir(dir))) {
                unsigned long long inode;
                char target[128];
                ssize_t n = readlinkat(dirfd(dir), e->d_name, target, sizeof(target) - 1);

                if (n < 0)
                        continue; /* closed meanwhile, or "." */
                target[n] = 0;
                if (sscanf(target, "socket:[%llu]", &inode) == 1 && is_in(listening, inode))
                        return 1;
        }
        return 0;
}

int proc_listens_on_tcp(pid_t pid) {
        Inodes listening = { 0 };
        int r = read_listeners(pid, &listening);

        if (r >= 0)
                r = look_at_descriptors(pid, &listening);
        free(listening.list);
        return has_ended(r) ? 0 : r;
}
