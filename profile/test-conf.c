/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "profile/conf-keys.h"
#include "profile/conf-scan.h"
#include "selftest/cmocka-tap.h"

#define GIB (UINT64_C(1) << 30)

/* clang-format off */
static const char *const valid_lines[] = {
        "# a comment", "; another", "",
        "[Profile]", "AccessUsers=alice bob", "[Capacity]", "CPUs=1.5", "Memory = 2G", "PIDs=4096",
        "MaxContainers=2", "[Aggregate]", "CPUs=2", "Memory=3G", "PIDs=5120", "[Storage]",
        "PoolSize=10G", "Slots=3", "SlotSize=2G", "DaemonSize=2G", "[Network]",
        "DNS=8.8.8.8 2620:fe::fe", "Egress=unenforced", "[Watchdog]", "LeaseGrace=1min 30s",
};
/* clang-format on */

typedef struct Place {
        char dir[64], file[96], dropins[128], dropin[160];
} Place;

static int setup(void **state) {
        Place *p = calloc(1, sizeof(*p));

        assert_non_null(p);
        strcpy(p->dir, "/tmp/dindhost-conf-XXXXXX");
        assert_non_null(mkdtemp(p->dir));
        snprintf(p->file, sizeof(p->file), "%s/ws.conf", p->dir);
        snprintf(p->dropins, sizeof(p->dropins), "%s.d", p->file);
        snprintf(p->dropin, sizeof(p->dropin), "%s/10-x.conf", p->dropins);
        *state = p;
        return 0;
}

static void empty(const char *dir) {
        DIR *d = opendir(dir);
        const struct dirent *e;

        while (d && (e = readdir(d)))
                (void) unlinkat(dirfd(d), e->d_name, 0);
        if (d)
                closedir(d);
        (void) rmdir(dir);
}

static int teardown(void **state) {
        Place *p = *state;

        empty(p->dropins);
        empty(p->dir);
        free(p);
        return 0;
}

static void put(const char *path, const char *text) {
        assert_int_equal(file_write_atomic(path, text, strlen(text), 0644, -1, -1), 0);
}

/* The valid file with one line replaced (found by its beginning) or, with was NULL, added. */
static void put_changed(const char *path, const char *was, const char *line) {
        CLEANUP(freep) char *text = strdup("");
        bool done = !was;

        for (size_t i = 0; i < N_ELEMENTS(valid_lines); i++) {
                bool here = was && !done && text_has_prefix(valid_lines[i], was);
                char *more = text_format("%s%s\n", text, here ? line : valid_lines[i]);

                done = done || here;
                free(text);
                text = more;
        }
        assert_true(done);
        if (!was) {
                char *more = text_format("%s%s\n", text, line);

                free(text);
                text = more;
        }
        put(path, text);
}

static void test_valid(void **state) {
        const Place *p = *state;
        CLEANUP(profile_conf_donep) ProfileConf c = { 0 };
        CLEANUP(freep) char *message = NULL;

        put_changed(p->file, NULL, "");
        if (profile_conf_load(p->file, &c, &message) < 0)
                fail_msg("%s", message);
        assert_int_equal(c.n_access_users, 2);
        assert_string_equal(c.access_users[1], "bob");
        assert_int_equal(c.cpus_milli, 1500);
        assert_int_equal(c.memory_bytes, 2 * GIB);
        assert_int_equal(c.max_containers, 2);
        assert_int_equal(c.aggregate_cpus_milli, 2000);
        assert_int_equal(c.slots, 3);
        assert_int_equal(c.slot_inodes, 2 * GIB / 16384); /* by default, from the size */
        assert_int_equal(c.n_dns_servers, 2);
        assert_string_equal(c.dns_servers[0], "8.8.8.8");
        assert_false(c.egress_enforced);
        assert_int_equal(c.lease_grace_usec, 90 * USEC_PER_SEC);
        /* defaults */
        assert_int_equal(c.max_builds, 1);
        assert_int_equal(c.engine_timeout_usec, 30 * USEC_PER_SEC);
        assert_int_equal(c.create_timeout_usec, 60 * USEC_PER_SEC);
        assert_int_equal(c.stop_timeout_usec, 10 * USEC_PER_SEC);
        assert_int_equal(c.ready_timeout_usec, 60 * USEC_PER_SEC);
        assert_int_equal(c.daemon_start_timeout_usec, 90 * USEC_PER_SEC);
        assert_string_equal(c.smoke_user, "sandbox");
        assert_string_equal(c.rootless_script, "/usr/share/docker.io/contrib/dockerd-rootless.sh");
}

typedef struct Bad {
        const char *was, *line; /* put_changed() */
        const char *says;       /* in the message, after "FILE:" */
} Bad;

/* clang-format off */
static const Bad bad[] = {
        { NULL, "[Watchdog]\nNoSuchKey=1", ":26: unknown key 'NoSuchKey' in section [Watchdog]" },
        { NULL, "[Nowhere]\nx=1", ":25: unknown section [Nowhere]" },
        { NULL, "[Nowhere]", ":25: unknown section [Nowhere]" },
        { NULL, "[storage]", ":25: unknown section [storage]" },
        { NULL, "[Storage] x", ":25: a section is written [Name]" },
        { NULL, "[Storage", ":25: a section is written [Name]" },
        { NULL, "LeaseGrace=20s", ":25: [Watchdog] LeaseGrace= is already in line 24" },
        { NULL, "[Capacity]\nPIDs=4096", ":26: [Capacity] PIDs= is already in line 9" },
        { NULL, "just words", ":25: 'just words' is neither" },
        { NULL, " 30s", ":25: '30s' is neither" },
        { NULL, "QueueMax=1\r", ":25: holds the control character 0x0d (save it with Unix line ends)" },
        { "# a comment", "CPUs=1", ":1: key 'CPUs' stands before the first section" },
        { "AccessUsers", "AccessUsers=alice -G", ":5: [Profile] AccessUsers=alice -G must be at most" },
        { "CPUs=1.5", "CPUs=", ":7: [Capacity] CPUs= must be a number" },
        { "CPUs=1.5", "CPUs=0", ":7: [Capacity] CPUs=0 must be a number with at most three decimal places from 0.001 to 4096" },
        { "CPUs=1.5", "CPUs=two", ":7: [Capacity] CPUs=two must be" },
        { "CPUs=1.5", "# CPUs", ": [Capacity] CPUs= is missing" },
        { "CPUs=1.5", "CPUs=2.5", ":12: [Aggregate] CPUs= must be at least [Capacity] CPUs=" },
        { "Memory = 2G", "Memory = 63M", ":8: [Capacity] Memory=63M must be a size" },
        { "Memory = 2G", "Memory = 2g b", ":8: [Capacity] Memory=2g b must be a size" },
        { "Memory = 2G", "Memory = 3G", ":13: [Aggregate] Memory= must be at least [Capacity] Memory= and 128M" },
        { "Memory = 2G", "Memory = 18446744073709551615", ":8: [Capacity] Memory=" },
        { "PIDs=4096", "PIDs=4097.5", ":9: [Capacity] PIDs=4097.5 must be a whole number" },
        { "PIDs=4096", "PIDs=5000", ":14: [Aggregate] PIDs= must be at least [Capacity] PIDs= and 256" },
        { "PIDs=4096", "PIDs=5000000", ":9: [Capacity] PIDs=5000000 must be a whole number from 64 to 4194304" },
        { "MaxContainers", "MaxContainers=4", ":17: [Storage] Slots= must be at least [Capacity] MaxContainers=" },
        { "MaxContainers", "MaxContainers=0", ":10: [Capacity] MaxContainers=0 must be" },
        { "PoolSize", "PoolSize=8G", ":16: [Storage] PoolSize= is too small: Slots= times SlotSize=, and DaemonSize=, are 8.0G" },
        { "PoolSize", "PoolSize=100E", ":16: [Storage] PoolSize=100E must be a size" },
        { "PoolSize", "PoolSize=10000000001", ":16: [Storage] PoolSize=10000000001 must be a size (512M, 28G; whole 4K blocks)" },
        { "SlotSize", "SlotSize=32M", ":18: [Storage] SlotSize=32M must be" },
        { "SlotSize", "SlotSize=4096G", ":16: [Storage] PoolSize= is too small" },
        { "SlotSize", "SlotSize=2G\nSlotInodes=100", ":19: [Storage] SlotInodes= must be at least 1024" },
        { "SlotSize", "SlotSize=2G\nSlotInodes=400000", ":19: [Storage] SlotInodes= is too high: the pool has 655360 inodes" },
        { "DNS=", "DNS=192.168.1.1", ":21: [Network] DNS=192.168.1.1 must be 1 to 8 public IP addresses" },
        { "DNS=", "DNS=", ":21: [Network] DNS= must be 1 to 8 public IP addresses" },
        { "DNS=", "DNS=1.1.1.1 1.1.1.2 1.1.1.3 1.1.1.4 1.1.1.5 1.1.1.6 1.1.1.7 1.1.1.8 1.1.1.9", ":21: [Network] DNS=" },
        { "Egress", "Egress=off", ":22: [Network] Egress=off must be 'enforced' or 'unenforced'" },
        { "LeaseGrace", "LeaseGrace=0", ":24: [Watchdog] LeaseGrace=0 must be a duration (15s, 5min) from 1s to 1d" },
        { "LeaseGrace", "LeaseGrace=soon", ":24: [Watchdog] LeaseGrace=soon must be a duration" },
        { "LeaseGrace", "ConnectionsMax=10", ": [Watchdog] ConnectionsPerUserMax= must be at most ConnectionsMax=" },
        { "LeaseGrace", "[Docker]\nRootlessScript=dockerd-rootless.sh", ":25: [Docker] RootlessScript=dockerd-rootless.sh must be an absolute path" },
        { "LeaseGrace", "[Docker]\nSmokeImage=--privileged", ":25: [Docker] SmokeImage=--privileged must be one word" },
};
/* clang-format on */

static void test_bad(void **state) {
        const Place *p = *state;

        for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
                CLEANUP(profile_conf_donep) ProfileConf c = { 0 };
                CLEANUP(freep) char *message = NULL, *start = NULL;

                put_changed(p->file, bad[i].was, bad[i].line);
                if (profile_conf_load(p->file, &c, &message) != -EINVAL)
                        fail_msg("'%s' is accepted", bad[i].line);
                start = text_format("%s%s", p->file, bad[i].says);
                if (!message || !text_has_prefix(message, start))
                        fail_msg("'%s' gives: %s", bad[i].line, message);
        }
}

static void test_dropins(void **state) {
        const Place *p = *state;
        CLEANUP(profile_conf_donep) ProfileConf c = { 0 };
        CLEANUP(freep)
        char *message = NULL, *second = text_format("%s/20-y.conf", p->dropins),
             *ignored = text_format("%s/30-z.conf.bak", p->dropins);

        put_changed(p->file, NULL, "");
        assert_int_equal(mkdir(p->dropins, 0755), 0);
        put(p->dropin, "[Capacity]\nPIDs=1000\nMaxBuilds=3\n[Profile]\nAccessUsers=\n");
        put(second, "[Capacity]\nPIDs=2000\n");
        put(ignored, "[Capacity]\nPIDs=3000\n");
        if (profile_conf_load(p->file, &c, &message) < 0)
                fail_msg("%s", message);
        assert_int_equal(c.pids, 2000);
        assert_int_equal(c.max_builds, 3);
        assert_int_equal(c.n_access_users, 0);
}

/* A rule between values is reported where the value to blame was set last. */
static void test_dropin_blamed(void **state) {
        const Place *p = *state;
        CLEANUP(profile_conf_donep) ProfileConf c = { 0 };
        CLEANUP(freep) char *message = NULL, *start = text_format("%s:3: ", p->dropin);

        put_changed(p->file, NULL, "");
        assert_int_equal(mkdir(p->dropins, 0755), 0);
        put(p->dropin, "\n[Aggregate]\nPIDs=100\n");
        assert_int_equal(profile_conf_load(p->file, &c, &message), -EINVAL);
        if (!text_has_prefix(message, start))
                fail_msg("%s", message);
}

/* A comment is what follows a '#' or ';', with whatever in it. */
static void test_comments(void **state) {
        const Place *p = *state;
        CLEANUP(profile_conf_donep) ProfileConf c = { 0 };
        CLEANUP(freep) char *message = NULL;

        put_changed(p->file,
                    NULL,
                    "# a # b\n  ## a = b # c\n; x ; y # [z]\n\t; [Nowhere]\n"
                    "QueueMax=7 # a # b = c\nConnectionsMax=300;x;y\n#LeaseGrace=1s\n#");
        if (profile_conf_load(p->file, &c, &message) < 0)
                fail_msg("%s", message);
        assert_int_equal(c.queue_max, 7);
        assert_int_equal(c.connections_max, 300);
        assert_int_equal(c.lease_grace_usec, 90 * USEC_PER_SEC);
}

static void test_missing(void **state) {
        const Place *p = *state;
        CLEANUP(profile_conf_donep) ProfileConf c = { 0 };
        CLEANUP(freep) char *message = NULL;

        assert_int_equal(profile_conf_load(p->file, &c, &message), -ENOENT);
        assert_non_null(strstr(message, p->file));
        assert_non_null(strstr(message, "profile init"));
}

static void test_empty(void **state) {
        const Place *p = *state;
        CLEANUP(profile_conf_donep) ProfileConf c = { 0 };
        CLEANUP(freep) char *message = NULL;

        put(p->file, "");
        assert_int_equal(profile_conf_load(p->file, &c, &message), -EINVAL);
        assert_non_null(strstr(message, "[Capacity] CPUs= is missing"));
}

/* What conf_format() writes loads to the same values, also when each is another than the default.
 */
static void test_format(void **state) {
        const Place *p = *state;
        CLEANUP(profile_conf_donep) ProfileConf c = { 0 }, again = { 0 };
        CLEANUP(freep) char *message = NULL, *text = NULL;

        put_changed(p->file, NULL, "");
        assert_int_equal(profile_conf_load(p->file, &c, &message), 0);
        assert_int_equal(conf_format(&c, "# head\n", &text), 0);
        put(p->file, text);
        if (profile_conf_load(p->file, &again, &message) < 0)
                fail_msg("%s\n%s", message, text);
        for (size_t i = 0; i < n_conf_keys; i++) {
                CLEANUP(freep) char *a = conf_key_format(conf_keys + i, &c);
                CLEANUP(freep) char *b = conf_key_format(conf_keys + i, &again);

                assert_string_equal(a, b);
        }
        assert_non_null(strstr(text, "\n#EngineTimeout=30s\n"));
        assert_non_null(strstr(text, "\nLeaseGrace=90s\n"));
}

/* The pool that conf_pool_for() names is enough, and hardly more than enough. */
static void test_pool_for(void **state UNUSED) {
        for (uint64_t content = 128 << 20; content < 4096 * GIB; content = content * 3 / 2 + 4096) {
                uint64_t pool = conf_pool_for(content), less = pool - (4 << 20);

                assert_true(content + conf_pool_overhead(pool) <= pool);
                assert_true(content + conf_pool_overhead(less) > less);
        }
}

/* Every default passes its own row. */
static void test_table(void **state UNUSED) {
        for (size_t i = 0; i < n_conf_keys; i++) {
                CLEANUP(profile_conf_donep) ProfileConf c = { 0 };
                char rule[256] = "";

                assert_true(conf_section_known(conf_keys[i].section));
                assert_ptr_equal(conf_key_find(conf_keys[i].section, conf_keys[i].name),
                                 conf_keys + i);
                assert_true(conf_keys[i].help && *conf_keys[i].help);
                if (conf_keys[i].value &&
                    conf_key_set(conf_keys + i, conf_keys[i].value, &c, rule) < 0)
                        fail_msg("%s: %s", conf_keys[i].name, rule);
        }
}

static void test_damaged(void **state) {
        const Place *p = *state;
        CLEANUP(freep) char *text = NULL, *copy = NULL;
        uint64_t seed = 5;
        size_t n;

        put_changed(p->file, NULL, "");
        assert_int_equal(file_read(p->file, 10000, &text, &n), 0);
        copy = malloc(n + 1);
        for (int i = 0; i < 1500; i++) {
                CLEANUP(profile_conf_donep) ProfileConf c = { 0 };
                CLEANUP(freep) char *message = NULL;
                int fd, r;

                memcpy(copy, text, n);
                for (int k = 0; k <= i % 3; k++) {
                        seed = seed * 6364136223846793005U + 1442695040888963407U;
                        copy[(seed >> 33) % n] = (char) (i % 2 ? text[(seed >> 20) % n]
                                                               : (char) (seed >> 24));
                }
                fd = open(p->file, O_WRONLY | O_TRUNC | O_CLOEXEC);
                assert_int_equal(fd_write_all(fd, copy, n), 0);
                close(fd);
                r = profile_conf_load(p->file, &c, &message);
                assert_true(r == 0 || (r == -EINVAL && message));
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_valid, setup, teardown),
                cmocka_unit_test_setup_teardown(test_bad, setup, teardown),
                cmocka_unit_test_setup_teardown(test_dropins, setup, teardown),
                cmocka_unit_test_setup_teardown(test_dropin_blamed, setup, teardown),
                cmocka_unit_test_setup_teardown(test_comments, setup, teardown),
                cmocka_unit_test_setup_teardown(test_missing, setup, teardown),
                cmocka_unit_test_setup_teardown(test_empty, setup, teardown),
                cmocka_unit_test_setup_teardown(test_format, setup, teardown),
                cmocka_unit_test(test_pool_for),
                cmocka_unit_test(test_table),
                cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
        };

        return RUN_TAP(tests);
}
