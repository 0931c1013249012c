/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "selftest/cmocka-tap.h"

static void check_double(double v, const char *wanted) {
        char buf[40];

        assert_string_equal(json_format_double(buf, sizeof(buf), v), wanted);
}

/* ECMAScript's Number::toString, with the places where its form changes. */
static void test_doubles(void **state UNUSED) {
        check_double(0, "0");
        check_double(-0.0, "0");
        check_double(1, "1");
        check_double(8.0, "8");
        check_double(-7.5, "-7.5");
        check_double(0.1, "0.1");
        check_double(0.1 + 0.2, "0.30000000000000004");
        check_double(100, "100");
        check_double(1e16, "10000000000000000");
        check_double(123456789012345680.0, "123456789012345680");
        check_double(1e20, "100000000000000000000");
        check_double(1e21, "1e+21");
        check_double(-1.5e300, "-1.5e+300");
        check_double(1e-5, "0.00001");
        check_double(1.25e-6, "0.00000125");
        check_double(1e-6, "0.000001");
        check_double(1e-7, "1e-7");
        check_double(1.25e-7, "1.25e-7");
        check_double(5e-324, "5e-324");
        check_double(2.2250738585072014e-308, "2.2250738585072014e-308");
        check_double(1.7976931348623157e308, "1.7976931348623157e+308");
        check_double(9007199254740993.0, "9007199254740992");
        /* a power of two whose nearest 16 digits miss it: the next decimal up reads back */
        check_double(7.120236347223045e-307, "7.120236347223045e-307");
        check_double(0x1p-1017, "7.120236347223045e-307");
}

/* Whatever the bits, the text reads back, and no shorter one of its kind would be possible. */
static void test_doubles_read_back(void **state UNUSED) {
        uint64_t bits = 42;

        for (int i = 0; i < 20000; i++) {
                char buf[40], shorter[40];
                double v;

                bits = bits * 6364136223846793005U + 1442695040888963407U;
                memcpy(&v, &bits, sizeof(v));
                if (!isfinite(v))
                        continue;
                json_format_double(buf, sizeof(buf), v);
                assert_true(strtod(buf, NULL) == v);
                snprintf(shorter, sizeof(shorter), "%.15g", v);
                if (strtod(shorter, NULL) == v)
                        assert_true(strlen(buf) <= strlen(shorter) + 6);
        }
        for (int e = -1074; e < 1024; e++) {
                char buf[40];

                json_format_double(buf, sizeof(buf), ldexp(1, e));
                assert_true(strtod(buf, NULL) == ldexp(1, e));
        }
}

static void check_canonical(const char *text, const char *wanted) {
        CLEANUP(json_decrefp) json_t *v = NULL;
        CLEANUP(freep) char *out = NULL;
        char why[200] = "";
        size_t n;

        if (json_read(text, strlen(text), &v, why, sizeof(why)) < 0)
                fail_msg("%s: %s", text, why);
        assert_int_equal(json_canonical(v, &out, &n), 0);
        assert_int_equal(n, strlen(out));
        assert_string_equal(out, wanted);
}

static void test_canonical(void **state UNUSED) {
        check_canonical("{ \"b\" : 1.0, \"a\" : [ true, null , false ] }",
                        "{\"a\":[true,null,false],\"b\":1}");
        check_canonical("[8.0, 8, 7.50, 1E2, -0.0, 9007199254740991]",
                        "[8,8,7.5,100,0,9007199254740991]");
        check_canonical("{}", "{}");
        check_canonical("[]", "[]");
        check_canonical("\"x\"", "\"x\"");
        check_canonical("[[[]],{\"a\":{}}]", "[[[]],{\"a\":{}}]");
}

static void test_strings(void **state UNUSED) {
        check_canonical("[\"\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f\\\"\\\\\\/\\u007f\"]",
                        "[\"\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f\\\"\\\\/\x7f\"]");
        check_canonical("\"\\u00e9\\u4e2d\\ud83d\\ude00\"", "\"\u00e9\u4e2d\U0001f600\"");
}

/* UTF-16 order: astral keys (surrogates from D800) come before U+E000 and above. */
static void test_key_order(void **state UNUSED) {
        check_canonical("{\"\ue000\":1,\"\U0001f600\":2,\"z\":3,\"\":4,\"a\":5,\"aa\":6,\"A\":7}",
                        "{\"\":4,\"A\":7,\"a\":5,\"aa\":6,\"z\":3,\"\U0001f600\":2,\"\ue000\":1}");
        assert_true(json_compare_keys("a", "b") < 0);
        assert_true(json_compare_keys("b", "a") > 0);
        assert_int_equal(json_compare_keys("a", "a"), 0);
        assert_true(json_compare_keys("a", "a\xff") < 0); /* not UTF-8: no reading past the end */
        assert_int_equal(json_compare_keys("\xf0", "\xf0"), 0);
        assert_int_equal(json_compare_keys("\xf0\x9f", "\xf0\x9f"), 0);
}

static void test_refused(void **state UNUSED) {
        static const char *const bad[] = {
                "",         " ",
                "{",        "{\"a\":1,\"a\":2}",
                "[1,]",     "[01]",
                "NaN",      "[Infinity]",
                "nul",      "{\"a\":1} x",
                "[1] [2]",  "'a'",
                "\"\xff\"", "\"\\ud800\"",
                "\"a\tb\"", "\xef\xbb\xbf{}",
                "[1e999]",  "[18446744073709551616]",
                "{a:1}",    "[\"\x01\"]",
        };

        for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
                json_t *v = NULL;
                char why[200] = "";

                if (json_read(bad[i], strlen(bad[i]), &v, why, sizeof(why)) != -EINVAL || v)
                        fail_msg("accepted: %s", bad[i]);
                assert_true(*why);
        }
}

static void test_depth(void **state UNUSED) {
        CLEANUP(json_decrefp) json_t *v = NULL;
        char text[3 * JSON_DEPTH_MAX + 8], why[200];

        memset(text, '[', JSON_DEPTH_MAX);
        memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
        assert_int_equal(json_read(text, 2 * JSON_DEPTH_MAX, &v, why, sizeof(why)), 0);
        memset(text, '[', JSON_DEPTH_MAX + 1);
        memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
        assert_int_equal(json_read(text, 2 * JSON_DEPTH_MAX + 2, &v, why, sizeof(why)), -EINVAL);
        assert_non_null(strstr(why, "deeper"));
}

/* A megabyte of brackets is refused by counting, not by recursing; those in strings do not count.
 */
static void test_depth_bomb(void **state UNUSED) {
        size_t n = 1 << 20;
        CLEANUP(freep) char *text = malloc(n);
        CLEANUP(json_decrefp) json_t *v = NULL;
        char why[200];

        assert_non_null(text);
        memset(text, '{', n);
        assert_int_equal(json_read(text, n, &v, why, sizeof(why)), -EINVAL);
        memset(text, '[', n);
        text[0] = text[n - 1] = '"';
        assert_int_equal(json_read(text, n, &v, why, sizeof(why)), 0);
}

static void test_digest(void **state UNUSED) {
        CLEANUP(json_decrefp) json_t *a = json_pack("{s:i, s:f}", "b", 1, "a", 8.0);
        CLEANUP(json_decrefp) json_t *b = json_pack("{s:i, s:i}", "a", 8, "b", 1);
        char x[65], y[65];

        assert_int_equal(json_digest(a, x), 0);
        assert_int_equal(json_digest(b, y), 0);
        assert_string_equal(x, y);
        /* printf '{"a":8,"b":1}' | sha256sum */
        assert_string_equal(x, "9213b8fe253f17fd3a7fa66745b9471a4290afb3ce6540c93ff2064dce29f59c");
}

/* Damaged documents are read or refused, never more; what is read survives a second round. */
static void test_damaged(void **state UNUSED) {
        static const char sample[] =
                        "{\"a\":[1,2.5e3,-0.1,\"\\u00e9\\ud83d\\ude00\",null,true],\"b\":{\"c\":\"x\"}}";
        uint64_t seed = 7;

        for (int i = 0; i < 20000; i++) {
                CLEANUP(json_decrefp) json_t *v = NULL, *again = NULL;
                CLEANUP(freep) char *one = NULL, *two = NULL;
                char text[sizeof(sample)], why[200];

                memcpy(text, sample, sizeof(sample));
                for (int k = 0; k <= i % 4; k++) {
                        seed = seed * 6364136223846793005U + 1442695040888963407U;
                        text[(seed >> 33) % (sizeof(sample) - 1)] = (char) (seed >> 24);
                }
                if (json_read(text, sizeof(sample) - 1, &v, why, sizeof(why)) < 0)
                        continue;
                assert_int_equal(json_canonical(v, &one, NULL), 0);
                assert_int_equal(json_read(one, strlen(one), &again, why, sizeof(why)), 0);
                assert_int_equal(json_canonical(again, &two, NULL), 0);
                assert_string_equal(one, two);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_doubles),   cmocka_unit_test(test_doubles_read_back),
                cmocka_unit_test(test_canonical), cmocka_unit_test(test_strings),
                cmocka_unit_test(test_key_order), cmocka_unit_test(test_refused),
                cmocka_unit_test(test_depth),     cmocka_unit_test(test_depth_bomb),
                cmocka_unit_test(test_digest),    cmocka_unit_test(test_damaged),
        };

        return RUN_TAP(tests);
}
