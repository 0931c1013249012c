/* SPDX-License-Identifier: MIT */
#include "selftest/cmocka-tap.h"

#include <string.h>

#include "supervisor/accounts.h"

static int find(const char *passwd, const char *name, Account *ret) {
        return account_find(passwd, strlen(passwd), name, ret);
}

static void accounts_are_found(void **state) {
        static const char passwd[] = "root:x:0:0:root:/root:/bin/sh\n"
                                     "# a comment\n"
                                     "\n"
                                     "agent2:x:5:6\n"
                                     "agent:x:1000:1001::/home/agent:/bin/sh\n"
                                     "agent:x:7:7::/:/bin/sh\n"
                                     "last:*:4294967294:0";
        Account a = { 9, 9 };

        (void) state;
        assert_int_equal(find(passwd, "root", &a), 0);
        assert_int_equal(a.uid, 0);
        assert_int_equal(find(passwd, "agent", &a), 0); /* the first one counts */
        assert_int_equal(a.uid, 1000);
        assert_int_equal(a.gid, 1001);
        assert_int_equal(find(passwd, "last", &a), 0); /* no end of line */
        assert_true(a.uid == UINT32_MAX - 1);
        assert_int_equal(find(passwd, "age", &a), ACCOUNT_E_NONE);
        assert_int_equal(find(passwd, "", &a), ACCOUNT_E_NONE);
        assert_int_equal(find(passwd, "# a comment", &a), ACCOUNT_E_NONE);
        assert_int_equal(find("", "root", &a), ACCOUNT_E_NONE);
}

static void broken_lines_are_passed_over(void **state) {
        static const char *const lines[] = {
                "u",
                "u:",
                "u:x",
                "u:x:1",
                "u:x::1",
                "u:x:a:1",
                "u:x:1:",
                "u:x:-1:1",
                "u:x: 1:1",
                "u:x:4294967295:1",
                "u:x:1:4294967296",
                "u:x:0x1:1",
        };
        Account a = { 9, 9 };

        (void) state;
        for (size_t i = 0; i < N_ELEMENTS(lines); i++)
                assert_int_equal(find(lines[i], "u", &a), ACCOUNT_E_NONE);
        assert_int_equal(a.uid, 9);
        assert_int_equal(find("u:x:a:1\nu:x:3:4:", "u", &a), 0);
        assert_int_equal(a.uid, 3);
}

static void groups_are_found(void **state) {
        static const char group[] = "root:x:0:\nbroken\ndocker:x:998:bob,agent\nnogid:x::agent\n"
                                    "docker:x:997:agent\nagent:x:1000\nbig:x:50:agentx,xagent\n"
                                    "audio:x:63:agent\nsame:x:998:agent\nend:x:4:,agent";
        size_t n = strlen(group), n_ids = 99;
        uint32_t ids[8], gid = 9;

        (void) state;
        assert_int_equal(group_find(group, n, "docker", &gid), 0);
        assert_int_equal(gid, 998);
        assert_int_equal(group_find(group, n, "agent", &gid), 0); /* no members' field */
        assert_int_equal(gid, 1000);
        assert_int_equal(group_find(group, n, "nogid", &gid), ACCOUNT_E_NONE);

        assert_int_equal(group_memberships(group, n, "agent", 8, ids, &n_ids), 0);
        assert_int_equal(n_ids, 4);
        assert_int_equal(ids[0], 998);
        assert_int_equal(ids[1], 997);
        assert_int_equal(ids[2], 63);
        assert_int_equal(ids[3], 4);
        assert_int_equal(group_memberships(group, n, "nobody", 8, ids, &n_ids), 0);
        assert_int_equal(n_ids, 0);
        assert_int_equal(group_memberships(group, n, "agent", 3, ids, &n_ids), ACCOUNT_E_TOO_MANY);
        assert_int_equal(group_memberships(group, n, "agent", 4, ids, &n_ids), 0);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(accounts_are_found),
                cmocka_unit_test(broken_lines_are_passed_over),
                cmocka_unit_test(groups_are_found),
        };

        return RUN_TAP(tests);
}
