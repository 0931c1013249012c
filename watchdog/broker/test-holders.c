/* SPDX-License-Identifier: MIT */
/* Who uses a folder: own children hold it in every way there is, and are named. */
#include "selftest/cmocka-tap.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "watchdog/broker/holders.h"

/* A small file system in a mount namespace of our own: the slot is a folder at its top. */
typedef struct Place {
        char top[64];
        char slot[96], sibling[96];
        dev_t dev;
} Place;

static int set_up(void **state) {
        static Place p;
        struct stat st;

        p = (Place){ .top = "/tmp/dindhost-holders.XXXXXX" };
        if (!mkdtemp(p.top) || mount("none", p.top, "tmpfs", 0, NULL) < 0)
                return -1;
        snprintf(p.slot, sizeof(p.slot), "%s/slot", p.top);
        snprintf(p.sibling, sizeof(p.sibling), "%s/slot-2", p.top);
        if (mkdir(p.slot, 0700) < 0 || mkdir(p.sibling, 0700) < 0 || stat(p.slot, &st) < 0)
                return -1;
        p.dev = st.st_dev;
        *state = &p;
        return 0;
}

static int tear_down(void **state) {
        Place *p = *state;

        (void) umount2(p->top, MNT_DETACH);
        return rmdir(p->top);
}

typedef enum Way { BY_CWD, BY_FILE, BY_ROOT, BY_MOUNT } Way;

static int hold(const char *folder, Way way) {
        char target[128];

        switch (way) {
        case BY_CWD:
                return chdir(folder);
        case BY_FILE:
                return open(folder, O_RDONLY | O_DIRECTORY);
        case BY_ROOT:
                return chroot(folder);
        case BY_MOUNT:
                snprintf(target, sizeof(target), "%s/../at", folder);
                if (unshare(CLONE_NEWNS) < 0 || (mkdir(target, 0700) < 0 && errno != EEXIST))
                        return -1;
                return mount(folder, target, NULL, MS_BIND, NULL);
        }
        return -1;
}

/* A child that holds the folder in this way until it is killed. */
static pid_t start_holder(const char *folder, Way way) {
        int ready[2];
        char ok = 'n';
        pid_t pid;

        assert_int_equal(pipe(ready), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                if (hold(folder, way) < 0 || write(ready[1], "y", 1) != 1)
                        _exit(1);
                for (;;)
                        pause();
        }
        close(ready[1]);
        (void) !read(ready[0], &ok, 1);
        close(ready[0]);
        assert_int_equal(ok, 'y');
        return pid;
}

static void end_holder(pid_t pid) {
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int search(const Place *p, char who[256]) {
        who[0] = 0;
        return holders_find(p->slot, p->dev, "/slot", who, 256);
}

static void nobody_holds_it(void **state) {
        char who[256];

        assert_int_equal(search(*state, who), 0);
}

static void each_way_is_found_and_named(void **state) {
        static const struct {
                Way way;
                const char *words;
        } ways[] = {
                { BY_CWD, "works in it" },
                { BY_FILE, "has a file in it open" },
                { BY_ROOT, "has its root in it" },
                { BY_MOUNT, "has it mounted" },
        };
        Place *p = *state;

        for (size_t i = 0; i < N_ELEMENTS(ways); i++) {
                char who[256], name[96];
                pid_t pid = start_holder(p->slot, ways[i].way);
                int r = search(p, who);

                end_holder(pid);
                snprintf(name,
                         sizeof(name),
                         "process %d (test-holders) %s",
                         (int) pid,
                         ways[i].words);
                assert_int_equal(r, 1);
                assert_string_equal(who, name);
                assert_int_equal(search(p, who), 0);
        }
}

/* "slot-2" begins with "slot" and is another slot. */
static void a_sibling_is_not_it(void **state) {
        Place *p = *state;

        for (int way = BY_CWD; way <= BY_MOUNT; way++) {
                char who[256];
                pid_t pid = start_holder(p->sibling, (Way) way);
                int r = search(p, who);

                end_holder(pid);
                assert_string_equal(who, "");
                assert_int_equal(r, 0);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(nobody_holds_it, set_up, tear_down),
                cmocka_unit_test_setup_teardown(each_way_is_found_and_named, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_sibling_is_not_it, set_up, tear_down),
        };

        if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
                printf("1..1\nok 1 # SKIP needs root and a mount namespace\n");
                return 0;
        }
        return RUN_TAP(tests);
}
