/* SPDX-License-Identifier: MIT */
/* Emptying a hostile folder: links, odd names, depth, other file systems, our own working names. */
#include "selftest/cmocka-tap.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "watchdog/broker/tree.h"

#define DEPTH 3000 /* far more than a path or the descriptors of a process allow */

typedef struct Place {
        char path[64];
        int slot, outside;
} Place;

static int set_up(void **state) {
        static Place p;

        p = (Place){ .path = "/tmp/dindhost-tree.XXXXXX" };
        if (!mkdtemp(p.path))
                return -1;
        int top = open(p.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (top < 0 || mkdirat(top, "slot", 0700) < 0 || mkdirat(top, "outside", 0700) < 0)
                return -1;
        p.slot = openat(top, "slot", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        p.outside = openat(top, "outside", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(top);
        *state = &p;
        return p.slot < 0 || p.outside < 0 ? -1 : 0;
}

static int tear_down(void **state) {
        Place *p = *state;
        char path[96];

        (void) tree_empty(p->slot);
        (void) tree_empty(p->outside);
        close(p->slot);
        close(p->outside);
        snprintf(path, sizeof(path), "%s/slot", p->path);
        (void) rmdir(path);
        snprintf(path, sizeof(path), "%s/outside", p->path);
        (void) rmdir(path);
        return rmdir(p->path);
}

static void put_file(int dir, const char *name) {
        int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        close(fd);
}

static void put_folder(int dir, const char *name) {
        assert_int_equal(mkdirat(dir, name, 0700), 0);
}

static unsigned count(int dir_fd) {
        int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        unsigned n = 0;
        DIR *dir;

        assert_true(fd >= 0);
        dir = fdopendir(fd);
        assert_non_null(dir);
        for (struct dirent *d; (d = readdir(dir));)
                n += strcmp(d->d_name, ".") && strcmp(d->d_name, "..");
        closedir(dir);
        return n;
}

static void empties(Place *p) {
        assert_int_equal(tree_empty(p->slot), 0);
        assert_int_equal(count(p->slot), 0);
}

static void an_empty_folder_stays_empty(void **state) {
        empties(*state);
}

static void links_are_not_followed(void **state) {
        Place *p = *state;

        put_file(p->outside, "precious");
        put_folder(p->slot, "a");
        assert_int_equal(symlinkat("../outside", p->slot, "to-folder"), 0);
        assert_int_equal(symlinkat("../../outside/precious", p->slot, "a/to-file"), 0);
        assert_int_equal(symlinkat("../../outside", p->slot, "a/to-folder"), 0);
        assert_int_equal(linkat(p->outside, "precious", p->slot, "a/hard", 0), 0);
        empties(p);
        assert_int_equal(count(p->outside), 1);
}

static void odd_names_and_kinds_go(void **state) {
        static const char *const names[] = {
                " ", "-rf", "new\nline", "\xff\xfe", "...", ".hidden"
        };
        Place *p = *state;

        for (size_t i = 0; i < N_ELEMENTS(names); i++) {
                put_folder(p->slot, names[i]);
                int fd = openat(p->slot, names[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

                put_file(fd, names[i]);
                assert_int_equal(mkfifoat(fd, "fifo", 0600), 0);
                close(fd);
        }
        put_folder(p->slot, "closed");
        put_file(p->slot, "closed/file");
        assert_int_equal(fchmodat(p->slot, "closed", geteuid() == 0 ? 0 : 0700, 0), 0);
        empties(p);
}

/* Content may use the very names that emptying gives to the folders that it moves. */
static void our_own_names_are_no_trap(void **state) {
        Place *p = *state;

        for (int i = 0; i < 3; i++) {
                char name[64];

                snprintf(name, sizeof(name), ".dindhost-empty-%d", i);
                if (i == 1)
                        put_file(p->slot, name);
                else
                        put_folder(p->slot, name);
        }
        put_folder(p->slot, ".dindhost-empty-0/a");
        put_folder(p->slot, ".dindhost-empty-0/a/b");
        put_file(p->slot, ".dindhost-empty-0/a/b/c");
        put_file(p->slot, ".dindhost-empty-2/d");
        empties(p);
}

static void depth_costs_nothing(void **state) {
        Place *p = *state;
        int fd = dup(p->slot);

        for (int i = 0; i < DEPTH; i++) {
                int next;

                put_folder(fd, "deep");
                put_file(fd, "file");
                next = openat(fd, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                assert_true(next >= 0);
                close(fd);
                fd = next;
        }
        close(fd);
        empties(p);
}

static void breadth_goes_too(void **state) {
        Place *p = *state;

        for (int i = 0; i < 500; i++) {
                char name[32];

                snprintf(name, sizeof(name), "%d", i);
                put_folder(p->slot, name);
                snprintf(name, sizeof(name), "%d/full", i);
                put_folder(p->slot, name);
                snprintf(name, sizeof(name), "%d/full/file", i);
                put_file(p->slot, name);
        }
        empties(p);
}

/* In a mount namespace of its own, so that nothing of it is left on the host. */
static void another_file_system_is_not_entered(void **state) {
        Place *p = *state;
        char path[128], file[160];
        int r;

        if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
                print_message("# needs root and a mount namespace\n");
                skip();
        }
        put_folder(p->slot, "a");
        put_folder(p->slot, "a/mounted");
        snprintf(path, sizeof(path), "%s/slot/a/mounted", p->path);
        assert_int_equal(mount("none", path, "tmpfs", 0, NULL), 0);
        snprintf(file, sizeof(file), "%s/precious", path);
        put_file(AT_FDCWD, file);
        r = tree_empty(p->slot);
        assert_true(r == -EBUSY || r == -EXDEV);
        assert_int_equal(access(file, F_OK), 0);
        assert_int_equal(umount(path), 0);
        empties(p);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(an_empty_folder_stays_empty, set_up, tear_down),
                cmocka_unit_test_setup_teardown(links_are_not_followed, set_up, tear_down),
                cmocka_unit_test_setup_teardown(odd_names_and_kinds_go, set_up, tear_down),
                cmocka_unit_test_setup_teardown(our_own_names_are_no_trap, set_up, tear_down),
                cmocka_unit_test_setup_teardown(depth_costs_nothing, set_up, tear_down),
                cmocka_unit_test_setup_teardown(breadth_goes_too, set_up, tear_down),
                cmocka_unit_test_setup_teardown(
                                another_file_system_is_not_entered, set_up, tear_down),
        };

        return RUN_TAP(tests);
}
