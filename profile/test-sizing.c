/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "profile/conf-keys.h"
#include "profile/sizing.h"
#include "selftest/cmocka-tap.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static int propose(HostFacts host, SizingWish wish, ProfileConf *c, char **message) {
        assert_int_equal(conf_set_defaults(c), 0);
        return sizing_propose(&host, &wish, c, message);
}

/* A small virtual machine: what `doctor --smoke` reserves must fit. */
static void test_small(void **state UNUSED) {
        const HostFacts host = { 2, 3900 * MIB, 14 * GIB, 32768 };
        CLEANUP(profile_conf_donep) ProfileConf c = { 0 };
        CLEANUP(freep) char *message = NULL;

        if (propose(host, (SizingWish){ 0 }, &c, &message) < 0)
                fail_msg("%s", message);
        assert_int_equal(c.slots, 2);
        assert_true(c.slot_bytes >= GIB);
        assert_true(c.cpus_milli >= 2000);
        assert_true(c.memory_bytes >= 2 * GIB);
        assert_true(c.pids >= 512);
        assert_true(c.aggregate_memory_bytes <= host.memory_bytes - 256 * MIB);
        assert_true(c.pool_bytes <= host.disk_bytes * 4 / 5);
}

static void test_large(void **state UNUSED) {
        const HostFacts host = { 64, 256 * GIB, 2000 * GIB, 4194304 };
        CLEANUP(profile_conf_donep) ProfileConf c = { 0 };
        CLEANUP(freep) char *message = NULL;

        if (propose(host, (SizingWish){ 0 }, &c, &message) < 0)
                fail_msg("%s", message);
        assert_int_equal(c.slots, 64);
        assert_int_equal(c.slot_bytes, 20 * GIB);
        assert_true(c.aggregate_memory_bytes <= 230 * GIB);
}

/* Whatever the machine, what is proposed is valid, or refused with a reason. */
static void test_all_sizes(void **state UNUSED) {
        size_t refused = 0, n = 0;

        for (uint64_t cpus = 1; cpus <= 256; cpus *= 4)
                for (uint64_t memory = 512 * MIB; memory < 1024 * GIB; memory = memory * 5 / 3)
                        for (uint64_t disk = GIB; disk < 8192 * GIB; disk = disk * 7 / 4) {
                                CLEANUP(profile_conf_donep) ProfileConf c = { 0 };
                                CLEANUP(freep) char *message = NULL;
                                int r = propose((HostFacts){ cpus, memory, disk, 32768 },
                                                (SizingWish){ 0 },
                                                &c,
                                                &message);

                                assert_true((r == 0) == (message == NULL));
                                refused += r < 0;
                                n++;
                                if (memory >= 2 * GIB && disk >= 6 * GIB)
                                        assert_int_equal(r, 0);
                                if (r == 0)
                                        assert_true(c.pool_bytes <= disk * 4 / 5 + 64 * MIB);
                        }
        assert_true(refused < n / 2);
}

static void test_wishes(void **state UNUSED) {
        const HostFacts host = { 8, 16 * GIB, 100 * GIB, 32768 };
        CLEANUP(profile_conf_donep) ProfileConf c = { 0 };
        CLEANUP(freep) char *message = NULL;

        assert_int_equal(propose(host,
                                 (SizingWish){ .slots = 3,
                                               .slot_bytes = 5 * GIB,
                                               .memory_bytes = 4 * GIB,
                                               .cpus_milli = 2500 },
                                 &c,
                                 &message),
                         0);
        assert_int_equal(c.slots, 3);
        assert_int_equal(c.max_containers, 3);
        assert_int_equal(c.slot_bytes, 5 * GIB);
        assert_int_equal(c.memory_bytes, 4 * GIB);
        assert_int_equal(c.cpus_milli, 2500);
        assert_true(c.pool_bytes >= 15 * GIB + c.daemon_bytes);
}

static void test_pool_wish(void **state UNUSED) {
        const HostFacts host = { 4, 8 * GIB, 100 * GIB, 32768 };
        CLEANUP(profile_conf_donep) ProfileConf c = { 0 };
        CLEANUP(freep) char *message = NULL;

        assert_int_equal(propose(host, (SizingWish){ .pool_bytes = 12 * GIB }, &c, &message), 0);
        assert_int_equal(c.pool_bytes, 12 * GIB);
        assert_int_equal(c.slots, 4);
        assert_int_equal(c.slot_bytes, 2 * GIB);
}

static void test_too_much(void **state UNUSED) {
        const HostFacts host = { 2, 4 * GIB, 10 * GIB, 32768 };
        CLEANUP(profile_conf_donep) ProfileConf a = { 0 }, b = { 0 };
        CLEANUP(freep) char *disk = NULL, *pool = NULL;

        assert_int_equal(propose(host, (SizingWish){ .slots = 50, .slot_bytes = GIB }, &a, &disk),
                         -ENOSPC);
        assert_non_null(strstr(disk, "only 10.0G are free"));
        assert_int_equal(propose(host,
                                 (SizingWish){ .slots = 4,
                                               .slot_bytes = 4 * GIB,
                                               .pool_bytes = 8 * GIB },
                                 &b,
                                 &pool),
                         -ENOSPC);
        assert_non_null(strstr(pool, "PoolSize"));
}

static void test_facts(void **state UNUSED) {
        HostFacts f;

        assert_int_equal(host_facts("/no/such/folder", &f), 0);
        assert_true(f.cpus >= 1);
        assert_true(f.memory_bytes > 64 * MIB);
        assert_true(f.pids_max >= 256);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_small),     cmocka_unit_test(test_large),
                cmocka_unit_test(test_all_sizes), cmocka_unit_test(test_wishes),
                cmocka_unit_test(test_pool_wish), cmocka_unit_test(test_too_much),
                cmocka_unit_test(test_facts),
        };

        return RUN_TAP(tests);
}
