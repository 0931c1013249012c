/* SPDX-License-Identifier: MIT */
/* Judging text of the kernel and the system: samples from real hosts, and damaged ones. */
#include "profile/kernel-text.h"

#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdio.h>
#include <string.h>

#include "profile/cgroup-limits.h"
#include "profile/engine-judge.h"
#include "profile/smoke.h"
#include "selftest/cmocka-tap.h"

#define GiB (UINT64_C(1024) * 1024 * 1024)

static void test_cgroup_path(void **state UNUSED) {
        char path[64] = "unset";

        assert_true(cgroup_path_parse(
                        "12:pids:/x\n0::/user.slice/user-990.slice\n", path, sizeof(path)));
        assert_string_equal(path, "/user.slice/user-990.slice");
        assert_true(cgroup_path_parse("0::/\n", path, sizeof(path)));
        assert_string_equal(path, "/");
        assert_false(cgroup_path_parse("1:name=systemd:/x\n", path, sizeof(path)));
        assert_false(cgroup_path_parse("", path, sizeof(path)));
        assert_false(cgroup_path_parse("0::/a-path-that-does-not-fit\n", path, 8));
}

static void test_cgroup_below(void **state UNUSED) {
        assert_true(cgroup_is_below("/a/b", "/a"));
        assert_true(cgroup_is_below("/a/b", "/a/"));
        assert_true(cgroup_is_below("/a", "/"));
        assert_false(cgroup_is_below("/a", "/a"));
        assert_false(cgroup_is_below("/a/", "/a"));
        assert_false(cgroup_is_below("/ab", "/a"));
        assert_false(cgroup_is_below("/", "/"));
        assert_false(cgroup_is_below("/x/a/b", "/a"));
}

static void test_container_scope(void **state UNUSED) {
        static const char deep[] = "/user.slice/user-990.slice/user@990.service/user.slice/"
                                   "docker-abc.scope/init";
        char scope[128];

        assert_true(cgroup_container_scope(deep, "abc", scope, sizeof(scope)));
        assert_string_equal(
                        scope,
                        "/user.slice/user-990.slice/user@990.service/user.slice/docker-abc.scope");
        assert_false(cgroup_container_scope(deep, "ab", scope, sizeof(scope)));
        assert_false(cgroup_container_scope("/docker-abc.scopes", "abc", scope, sizeof(scope)));
        assert_false(cgroup_container_scope(deep, "abc", scope, 20));
        assert_true(cgroup_in_container(deep));
        assert_true(cgroup_in_container("/docker-x.scope"));
        assert_false(cgroup_in_container("/user.slice/docker-x.service/docker-y/z.scope"));
        assert_false(cgroup_in_container("/user.slice/user-990.slice/dindhost-dockerd@x.service"));
}

static void test_limits(void **state UNUSED) {
        uint64_t v = 0;

        assert_true(limit_parse("536870912\n", &v));
        assert_int_equal(v, 536870912);
        assert_true(limit_parse("max\n", &v));
        assert_true(v == LIMIT_NONE);
        assert_false(limit_parse("", &v));
        assert_false(limit_parse("1 2\n", &v));
        assert_false(limit_parse("-1\n", &v));
        assert_true(cpu_max_parse("150500 100000\n", &v));
        assert_int_equal(v, 1505);
        assert_true(cpu_max_parse("max 100000\n", &v));
        assert_true(v == LIMIT_NONE);
        assert_false(cpu_max_parse("1000\n", &v));
        assert_false(cpu_max_parse("1000 0\n", &v));
}

static void test_cgroup_limits(void **state UNUSED) {
        const CgroupLimits want = { .cpus_milli = 2000, .memory_bytes = GiB / 2, .pids = 256 };
        CgroupLimits got;
        char text[256];

        assert_true(cgroup_limits_parse("200000 100000\n536870912\n0\n256\n", &got));
        assert_true(cgroup_limits_match(&want, &got, text, sizeof(text)));
        assert_string_equal(cgroup_limits_format(text, sizeof(text), &got),
                            "cpu.max 2, memory.max 512M, memory.swap.max 0, pids.max 256");

        got.memory_bytes -= 4096; /* pages */
        assert_true(cgroup_limits_match(&want, &got, text, sizeof(text)));
        got.memory_bytes = want.memory_bytes + 1;
        assert_false(cgroup_limits_match(&want, &got, text, sizeof(text)));
        assert_string_equal(text, "memory.max is 536870913, must be 512M");

        assert_true(cgroup_limits_parse("200000 100000\n536870912\nmax\n256\n", &got));
        assert_false(cgroup_limits_match(&want, &got, text, sizeof(text)));
        assert_string_equal(text, "memory.swap.max is max, must be 0");
        assert_true(cgroup_limits_parse("max 100000\n536870912\n0\n256\n", &got));
        assert_false(cgroup_limits_match(&want, &got, text, sizeof(text)));
        assert_string_equal(text, "cpu.max is max, must be 2");
        assert_true(cgroup_limits_parse("200000 100000\n536870912\n0\n255\n", &got));
        assert_false(cgroup_limits_match(&want, &got, text, sizeof(text)));

        assert_false(cgroup_limits_parse("200000 100000\n536870912\n0\n", &got));
        assert_false(cgroup_limits_parse("200000 100000\n536870912\n0\n256\n1\n", &got));
        assert_false(cgroup_limits_parse("cat: cpu.max: No such file\n\n\n\n", &got));
}

static void test_v1_bound(void **state UNUSED) {
        static const char hybrid[] = "#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
                                     "cpuset\t3\t4\t1\ncpu\t1\t12\t1\nmemory\t4\t12\t1\n"
                                     "pids\t0\t12\t1\n";
        char bound[64];

        assert_int_equal(cgroup_v1_bound(hybrid, "cpu memory pids", bound, sizeof(bound)), 2);
        assert_string_equal(bound, "cpu memory");
        assert_int_equal(cgroup_v1_bound("cpu\t0\t1\t1\n", "cpu", bound, sizeof(bound)), 0);
        assert_string_equal(bound, "");
        assert_int_equal(cgroup_v1_bound(hybrid, "cpu memory pids", bound, 4), 2); /* cut */
        assert_string_equal(bound, "cpu");
}

static void remember(void *userdata, uint64_t inode) {
        *(uint64_t *) userdata = *(uint64_t *) userdata * 1000 + inode;
}

static void test_tcp_listeners(void **state UNUSED) {
        static const char tcp[] =
                        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   "
                        "uid  timeout inode\n"
                        "   0: 0100007F:0947 00000000:0000 0A 00000000:00000000 00:00000000 00000000   "
                        "990        0 77 1 0000000000000000 100 0 0 10 0\n"
                        "   1: 0100007F:0948 0100007F:0947 01 00000000:00000000 02:00000A2C 00000000   "
                        "  0        0 78 1 0000000000000000 20 4 30 10 -1\n";
        static const char tcp6[] =
                        "   3: 00000000000000000000000000000000:0016 "
                        "00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 "
                        "00000000     0        0 79 1 0000000000000000 100 0 0 10 0\n";
        uint64_t sum = 0;

        tcp_listeners(tcp, remember, &sum);
        assert_int_equal(sum, 77);
        tcp_listeners(tcp6, remember, &sum);
        assert_int_equal(sum, 77079);
        tcp_listeners("garbage\n", remember, &sum);
        assert_int_equal(sum, 77079);
}

static void test_status_uids(void **state UNUSED) {
        uid_t uids[4];

        assert_true(status_uids("Name:\tUid: 1\nUmask:\t0022\nUid:\t990\t991\t992\t993\nGid:\t1\n",
                                uids));
        assert_int_equal(uids[0], 990);
        assert_int_equal(uids[3], 993);
        assert_false(status_uids("Name:\tx\nGid:\t1\t1\t1\t1\n", uids));
}

static void test_subids(void **state UNUSED) {
        static const char text[] = "alice:100000:65536\ndindhost-a:1000000:65536\nbroken\n"
                                   "dindhost-b:1065535:65536\n";
        SubIds s;

        subids_parse(text, "alice", &s);
        assert_int_equal(s.first, 100000);
        assert_int_equal(s.count, 65536);
        assert_null(s.overlap);
        subids_parse(text, "dindhost-a", &s);
        assert_non_null(s.overlap);
        assert_int_equal(s.n_overlap, strlen("dindhost-b:1065535:65536"));
        assert_int_equal(strncmp(s.overlap, "dindhost-b:", 11), 0);
        subids_parse(text, "dindhost-b", &s);
        assert_int_equal(strncmp(s.overlap, "dindhost-a:", 11), 0);
        subids_parse(text, "dindhost", &s); /* no prefix of a name */
        assert_int_equal(s.count, 0);
        assert_null(s.overlap);
        /* two ranges of one account: the larger one counts, and they do not harm each other */
        subids_parse("x:1:10\nx:5:65536\n", "x", &s);
        assert_int_equal(s.first, 5);
        assert_null(s.overlap);
}

typedef struct Acl {
        struct posix_acl_xattr_header header;
        struct posix_acl_xattr_entry entries[5];
} Acl;

static void test_acl(void **state UNUSED) {
        Acl acl = {
                .header = { .a_version = POSIX_ACL_XATTR_VERSION },
                .entries = {
                        { .e_tag = ACL_USER_OBJ, .e_perm = 7 },
                        { .e_tag = ACL_GROUP_OBJ, .e_perm = 7 },
                        { .e_tag = ACL_GROUP, .e_perm = 6, .e_id = 1234 },
                        { .e_tag = ACL_MASK, .e_perm = 7 },
                        { .e_tag = ACL_OTHER, .e_perm = 0 },
                },
        };
        unsigned p = 9;

        assert_true(acl_group_permissions(&acl, sizeof(acl), 1234, &p));
        assert_int_equal(p, 6);
        acl.entries[3].e_perm = 4; /* the mask takes writing away */
        assert_true(acl_group_permissions(&acl, sizeof(acl), 1234, &p));
        assert_int_equal(p, 4);
        assert_false(acl_group_permissions(&acl, sizeof(acl), 1235, &p));
        acl.entries[2].e_tag = ACL_USER; /* a user of that number is nobody of ours */
        assert_false(acl_group_permissions(&acl, sizeof(acl), 1234, &p));
        assert_false(acl_group_permissions(&acl, 3, 1234, &p));
        acl.entries[2].e_tag = ACL_GROUP;
        acl.header.a_version = 1;
        assert_false(acl_group_permissions(&acl, sizeof(acl), 1234, &p));
}

static void test_modules(void **state UNUSED) {
        static const char dep[] =
                        "kernel/net/bridge/br_netfilter.ko.xz: kernel/net/bridge/bridge.ko.xz\n"
                        "kernel/fs/overlayfs/overlay.ko:\n";

        assert_true(module_is_listed(dep, "br_netfilter"));
        assert_true(module_is_listed(dep, "overlay"));
        assert_false(module_is_listed(dep, "bridge")); /* only what others need */
        assert_false(module_is_listed(dep, "over"));
        assert_true(module_is_listed("kernel/net/llc/nf-tables.ko\n", "nf_tables"));
        assert_false(module_is_listed("", "veth"));
}

static void test_engine_judge(void **state UNUSED) {
        CLEANUP(json_decrefp)
        json_t *good = json_pack("{s:[s, s], s:b, s:b, s:b, s:b, s:b, s:n}",
                                 "SecurityOptions",
                                 "name=seccomp,profile=builtin",
                                 "name=rootless",
                                 "MemoryLimit",
                                 1,
                                 "SwapLimit",
                                 1,
                                 "CpuCfsQuota",
                                 1,
                                 "CpuCfsPeriod",
                                 1,
                                 "PidsLimit",
                                 1,
                                 "Warnings");
        CLEANUP(json_decrefp)
        json_t *bad = json_pack("{s:[s], s:b, s:b, s:[s, s]}",
                                "SecurityOptions",
                                "name=seccomp",
                                "MemoryLimit",
                                1,
                                "SwapLimit",
                                0,
                                "Warnings",
                                "WARNING: No swap limit support",
                                "other");
        char text[128];

        assert_true(engine_is_rootless(good));
        assert_int_equal(engine_missing_limits(good, text, sizeof(text)), 0);
        assert_int_equal(engine_warnings(good, text, sizeof(text)), 0);
        assert_string_equal(text, "");
        assert_false(engine_is_rootless(bad));
        assert_int_equal(engine_missing_limits(bad, text, sizeof(text)), 4);
        assert_string_equal(text, "swap cpu-quota cpu-period pids");
        assert_int_equal(engine_warnings(bad, text, sizeof(text)), 2);
        assert_string_equal(text, "No swap limit support; other");
}

static void test_refusal(void **state UNUSED) {
        char line[64];

        assert_true(smoke_find_refusal(
                        "dd: error writing 'f': Disk quota exceeded\n60+0 records in\n",
                        line,
                        sizeof(line)));
        assert_string_equal(line, "dd: error writing 'f': Disk quota exceeded");
        assert_true(smoke_find_refusal("1 in\nNo space left on device", line, sizeof(line)));
        assert_false(smoke_find_refusal(
                        "dd: error writing 'f': Input/output error\n", line, sizeof(line)));
        assert_false(smoke_find_refusal("", line, sizeof(line)));
}

static void test_mountinfo(void **state UNUSED) {
        static const char text[] =
                        "36 25 7:0 / /var/lib/dindhost/a/data rw,nosuid shared:1 - ext4 /dev/loop0 rw\n"
                        "97 95 7:0 /slots/slot-0001 /var/lib/docker rw - ext4 /dev/loop0 rw\n"
                        "98 97 7:0 /slots/slot-0002/overlay2/x /merged rw - ext4 /dev/loop0 rw\n";
        char at[64];

        assert_true(mountinfo_has_root(text, "/slots/slot-0001", at, sizeof(at)));
        assert_string_equal(at, "/var/lib/docker");
        assert_true(mountinfo_has_root(text, "/slots/slot-0002", at, sizeof(at)));
        assert_false(mountinfo_has_root(text, "/slots/slot-0003", at, sizeof(at)));
        assert_false(mountinfo_has_root(text, "/slots/slot-000", at, sizeof(at)));
}

static void test_smoke_size(void **state UNUSED) {
        Descriptor d = { .cpus_milli = 8000,
                         .memory_bytes = 8 * GiB,
                         .pids = 4096,
                         .disk_bytes = 64 * GiB,
                         .bytes_per_allocation = 8 * GiB };
        SmokeSize z;

        smoke_size(&d, &z);
        assert_false(z.reduced);
        assert_int_equal(z.cpus_milli, 2000);
        assert_int_equal(z.memory_bytes, GiB / 2);
        assert_int_equal(z.pids, 256);
        assert_int_equal(z.disk_bytes, GiB);
        d.bytes_per_allocation = GiB / 4; /* a slot is the bound, not the pool */
        smoke_size(&d, &z);
        assert_true(z.reduced);
        assert_int_equal(z.disk_bytes, GiB / 4);
        d.cpus_milli = 500;
        smoke_size(&d, &z);
        assert_int_equal(z.cpus_milli, 500);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_cgroup_path),     cmocka_unit_test(test_cgroup_below),
                cmocka_unit_test(test_container_scope), cmocka_unit_test(test_limits),
                cmocka_unit_test(test_cgroup_limits),   cmocka_unit_test(test_v1_bound),
                cmocka_unit_test(test_tcp_listeners),   cmocka_unit_test(test_status_uids),
                cmocka_unit_test(test_subids),          cmocka_unit_test(test_acl),
                cmocka_unit_test(test_modules),         cmocka_unit_test(test_engine_judge),
                cmocka_unit_test(test_refusal),         cmocka_unit_test(test_mountinfo),
                cmocka_unit_test(test_smoke_size),
        };

        return RUN_TAP(tests);
}
