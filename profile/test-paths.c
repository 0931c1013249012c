/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "profile/paths.h"
#include "profile/public-ip.h"
#include "selftest/cmocka-tap.h"

static void test_aliases(void **state UNUSED) {
        static const char *const good[] = { "a", "default", "ws-1", "a-b-c", "abcdefghijklmnop" };
        static const char *const bad[] = { "",
                                           "A",
                                           "1a",
                                           "-a",
                                           "a-",
                                           "a_b",
                                           "a.b",
                                           "a/b",
                                           "../x",
                                           "a b",
                                           "a\n",
                                           "\u00e9",
                                           "abcdefghijklmnopq",
                                           "a@b",
                                           "%i",
                                           "a\\b" };

        for (size_t i = 0; i < N_ELEMENTS(good); i++)
                assert_true(alias_valid(good[i]));
        for (size_t i = 0; i < N_ELEMENTS(bad); i++)
                if (alias_valid(bad[i]))
                        fail_msg("'%s' is accepted", bad[i]);
}

static void test_paths(void **state UNUSED) {
        ProfilePaths p;

        assert_int_equal(profile_paths("ws", &p), 0);
        assert_string_equal(p.account, "dindhost-ws");
        assert_string_equal(p.access_group, "dindhost-ws-access");
        assert_string_equal(p.conf, SYSCONFDIR "/dindhost/profiles/ws.conf");
        assert_string_equal(p.registry_file, REGISTRY_DIR "/ws.json");
        assert_string_equal(p.pool_image, LOCALSTATEDIR "/lib/dindhost/ws/pool.img");
        assert_string_equal(p.slots_dir, LOCALSTATEDIR "/lib/dindhost/ws/data/slots");
        assert_string_equal(p.control_socket, "/run/dindhost/ws/control.sock");
        assert_string_equal(p.engine_socket, "/run/dindhost/ws/engine/docker.sock");
}

/* The longest alias must fit the system's limits: 32 for accounts, 107 for socket paths. */
static void test_longest(void **state UNUSED) {
        ProfilePaths p;

        assert_int_equal(profile_paths("abcdefghijklmnop", &p), 0);
        assert_int_equal(strlen(p.access_group), 32);
        assert_true(strlen(p.engine_socket) <= 107);
        assert_int_equal(profile_paths("no/alias", &p), -EINVAL);
}

static void test_public_ips(void **state UNUSED) {
        static const char *const good[] = { "9.9.9.9",         "1.1.1.1",    "192.0.1.1",
                                            "100.128.0.1",     "172.32.0.1", "11.0.0.1",
                                            "223.255.255.255", "198.20.0.1", "2620:fe::fe",
                                            "::ffff:8.8.8.8" };
        static const char *const bad[] = { "0.1.2.3",
                                           "10.1.2.3",
                                           "127.0.0.1",
                                           "224.0.0.1",
                                           "255.255.255.255",
                                           "100.64.0.1",
                                           "100.127.255.255",
                                           "169.254.169.254",
                                           "172.16.0.1",
                                           "172.31.255.255",
                                           "192.168.1.1",
                                           "192.0.0.8",
                                           "192.0.2.1",
                                           "198.18.0.1",
                                           "198.19.255.255",
                                           "198.51.100.7",
                                           "203.0.113.9",
                                           "::",
                                           "::1",
                                           "fc00::1",
                                           "fd12::1",
                                           "fe80::1",
                                           "FEBF::1",
                                           "ff02::1",
                                           "2001:db8::1",
                                           "::ffff:10.0.0.1",
                                           "::ffff:127.0.0.1",
                                           "9.9.9",
                                           "9.9.9.9 ",
                                           "dns.example",
                                           "",
                                           "9.9.9.9/32",
                                           "fe80::1%eth0" };

        for (size_t i = 0; i < N_ELEMENTS(good); i++)
                if (!public_ip(good[i]))
                        fail_msg("%s is refused", good[i]);
        for (size_t i = 0; i < N_ELEMENTS(bad); i++)
                if (public_ip(bad[i]))
                        fail_msg("%s is accepted", bad[i]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_aliases),
                cmocka_unit_test(test_paths),
                cmocka_unit_test(test_longest),
                cmocka_unit_test(test_public_ips),
        };

        return RUN_TAP(tests);
}
