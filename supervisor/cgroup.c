/* SPDX-License-Identifier: MIT */
#include "supervisor/cgroup.h"

#include <fcntl.h>
#include <stdalign.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "supervisor/fd.h"
#include "supervisor/say.h"

#define CGROUP2_MAGIC 0x63677270
#define LEAF "init"
#define MOVE_ROUNDS 32

static int complain(Text *error, int r, const char *path, const char *what, const char *cure) {
        text_join(error, path, what, " (", strerror(-r), "): ", cure, NULL);
        return r;
}

static int open_root(const char *path, Text *error) {
        struct statfs fs;
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
                return complain(error, -errno, path, " cannot be opened", "mount cgroup v2 there");
        if (fstatfs(fd, &fs) == 0 && (unsigned long) fs.f_type == CGROUP2_MAGIC)
                return fd;
        close(fd);
        text_join(error,
                  path,
                  " is not cgroup v2: run the container on a host with cgroup v2, or name its place "
                  "with --cgroup-root",
                  NULL);
        return -ENOTSUP;
}

/* Moves each process of the list; how many moved. A process may be gone by now; "0" is one of
 * another PID namespace, which is not ours to move. */
static size_t move_list(int root, const char *list, size_t n) {
        size_t moved = 0;

        while (n > 0) {
                const char *end = memchr(list, '\n', n);
                size_t length = end ? (size_t) (end - list) : n;

                if (length > 0 && !(length == 1 && list[0] == '0') &&
                    fd_write_file(root, LEAF "/cgroup.procs", list, length) == 0)
                        moved++;
                length += end ? 1 : 0;
                list += length;
                n -= length;
        }
        return moved;
}

/* Processes may appear while others are moved, so this looks again until none moved. */
static int move_all(int root, const char *path, Text *error) {
        char list[4096];
        int r;

        if (mkdirat(root, LEAF, 0755) < 0 && errno != EEXIST)
                return complain(error,
                                -errno,
                                path,
                                " is not writable",
                                "run the container privileged, with its own cgroup namespace");
        r = fd_write_file(root, LEAF "/cgroup.procs", "0", 1); /* ourselves */
        if (r < 0)
                return complain(error,
                                r,
                                path,
                                "/" LEAF " takes no processes",
                                "give the container its own cgroup namespace (--cgroupns=private)");
        for (int i = 0; i < MOVE_ROUNDS; i++) {
                int fd = openat(root, "cgroup.procs", O_RDONLY | O_CLOEXEC);
                ssize_t n = fd < 0 ? -1 : read(fd, list, sizeof(list));

                (void) fd_close(fd);
                if (n <= 0 || move_list(root, list, (size_t) n) == 0)
                        break;
        }
        return 0;
}

/* One by one, so that one that is refused does not take the others with it. */
static void hand_down(Cgroup *c, const char *list, size_t n) {
        Text given = TEXT(c->controllers);
        char refused[128] = "";
        Text bad = TEXT(refused);

        while (n > 0) {
                size_t length = strcspn(list, " \n");
                char word[64] = "";
                Text w = TEXT(word);

                text_add(&w, "+");
                text_add_n(&w, list, length);
                if (length > 0 && !w.cut) {
                        bool ok = fd_write_file(c->root, "cgroup.subtree_control", word, w.n) == 0;
                        Text *t = ok ? &given : &bad;

                        if (t->n > 0)
                                text_add(t, " ");
                        text_add_n(t, list, length);
                }
                length += list[length] ? 1 : 0;
                list += length;
                n -= length;
        }
        if (bad.n > 0)
                say("warning: the kernel does not hand down these controllers, so that limits of "
                    "inner containers do not hold: ",
                    refused,
                    NULL);
}

int cgroup_prepare(Cgroup *c, const char *path, Text *error) {
        char list[512];
        size_t n = 0;
        int r;

        r = open_root(path, error);
        if (r < 0)
                return r;
        c->root = r;
        r = move_all(c->root, path, error);
        if (r < 0) {
                c->root = fd_close(c->root);
                return r;
        }
        if (fd_read_file(c->root, "cgroup.controllers", list, sizeof(list) - 1, &n) < 0)
                n = 0;
        list[n] = 0;
        hand_down(c, list, strlen(list));
        if (!c->controllers[0])
                say("warning: ",
                    path,
                    " has no controllers to hand down: limits of inner containers "
                    "do not hold",
                    NULL);
        return 0;
}

/* As the kernel fills it in; the C libraries' readdir() would allocate. */
struct entry {
        uint64_t inode;
        int64_t next;
        unsigned short length;
        unsigned char type;
        char name[];
};

static void kill_one(int root, const char *name) {
        char path[300];
        Text t = TEXT(path);

        text_join(&t, name, "/cgroup.kill", NULL);
        (void) fd_write_file(root, path, "1", 1);
}

void cgroup_kill(const Cgroup *c) {
        alignas(struct entry) char entries[2048];
        int dir;

        if (c->root < 0)
                return;
        /* a fresh description: its position is at the beginning */
        dir = openat(c->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (;;) {
                long n = dir < 0 ? -1 : syscall(SYS_getdents64, dir, entries, sizeof(entries));

                if (n <= 0)
                        break;
                for (long at = 0; at < n;) {
                        const struct entry *e = (const struct entry *) (entries + at);

                        /* DT_DIR; "." has no leaf of its own to spare */
                        if (e->type == 4 && e->name[0] != '.' && strcmp(e->name, LEAF))
                                kill_one(c->root, e->name);
                        at += e->length;
                }
        }
        (void) fd_close(dir);
}
