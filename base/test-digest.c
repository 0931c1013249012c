/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/digest.h"
#include "selftest/cmocka-tap.h"

static void test_sha256(void **state UNUSED) {
        char hex[SHA256_HEX_SIZE];

        assert_string_equal(sha256_hex("", 0, hex),
                            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_string_equal(sha256_hex("abc", 3, hex),
                            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void test_tokens(void **state UNUSED) {
        static const char alphabet[] =
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        char a[96], b[96];

        for (int i = 0; i < 200; i++) {
                assert_int_equal(random_token(32, a, sizeof(a)), 0);
                assert_int_equal(strlen(a), 43);
                assert_int_equal(strspn(a, alphabet), 43);
                assert_int_equal(random_token(32, b, sizeof(b)), 0);
                assert_string_not_equal(a, b);
        }
        assert_int_equal(random_token(24, a, sizeof(a)), 0);
        assert_int_equal(strlen(a), 32);
}

static void test_compare(void **state UNUSED) {
        assert_true(equal_constant_time("", ""));
        assert_true(equal_constant_time("abc", "abc"));
        assert_false(equal_constant_time("abc", "abd"));
        assert_false(equal_constant_time("abc", "ab"));
        assert_false(equal_constant_time("ab", "abc"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sha256),
                cmocka_unit_test(test_tokens),
                cmocka_unit_test(test_compare),
        };

        return RUN_TAP(tests);
}
