/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "selftest/cmocka-tap.h"

#define GIB (UINT64_C(1) << 30)

typedef int Parse(const char *text, uint64_t *ret);

typedef struct Row {
        const char *text;
        int result;
        uint64_t value;
} Row;

static void check_rows(Parse *parse, const Row *rows, size_t n) {
        for (size_t i = 0; i < n; i++) {
                uint64_t v = 4711; /* stays when parsing fails */
                int r = parse(rows[i].text, &v);

                if (r != rows[i].result || v != (r < 0 ? 4711 : rows[i].value))
                        fail_msg("'%s': %d, %llu", rows[i].text, r, (unsigned long long) v);
        }
}

static void test_sizes(void **state UNUSED) {
        static const Row rows[] = {
                { "0", 0, 0 },
                { "4096", 0, 4096 },
                { "28G", 0, 28 * GIB },
                { "1.5G", 0, 3 * GIB / 2 },
                { "512M", 0, GIB / 2 },
                { "512MB", 0, GIB / 2 },
                { " 1k ", 0, 1024 },
                { "1 K", 0, 1024 },
                { "1T", 0, 1024 * GIB },
                { "15E", 0, 15 * GIB * GIB },
                { "16E", -ERANGE, 0 },
                { "18446744073709551615", 0, UINT64_MAX },
                { "18446744073709551616", -ERANGE, 0 },
                { "0.5", -ERANGE, 0 },
                { "0.0001K", -ERANGE, 0 },
                { "", -EINVAL, 0 },
                { "G", -EINVAL, 0 },
                { "-1G", -EINVAL, 0 },
                { "+1G", -EINVAL, 0 },
                { "1X", -EINVAL, 0 },
                { "1GiB", -EINVAL, 0 },
                { "1G1", -EINVAL, 0 },
                { "1.G", -EINVAL, 0 },
                { ".5G", -EINVAL, 0 },
                { "1e3", -EINVAL, 0 },
                { "0x10", -EINVAL, 0 },
        };

        check_rows(parse_size, rows, N_ELEMENTS(rows));
}

static void test_durations(void **state UNUSED) {
        static const Row rows[] = {
                { "15", 0, 15 * USEC_PER_SEC },
                { "15s", 0, 15 * USEC_PER_SEC },
                { "1.5s", 0, 3 * USEC_PER_SEC / 2 },
                { "250ms", 0, 250000 },
                { "5min", 0, 300 * USEC_PER_SEC },
                { "1h 30s", 0, 3630 * USEC_PER_SEC },
                { "1h30min", 0, 5400 * USEC_PER_SEC },
                { "2 days", 0, 172800 * USEC_PER_SEC },
                { "0", 0, 0 },
                { "", -EINVAL, 0 },
                { "s", -EINVAL, 0 },
                { "5 parsecs", -EINVAL, 0 },
                { "-5s", -EINVAL, 0 },
                { "0.5us", -ERANGE, 0 },
                { "99999999999999d", -ERANGE, 0 },
        };

        check_rows(parse_duration, rows, N_ELEMENTS(rows));
}

static void test_cpus(void **state UNUSED) {
        static const Row rows[] = {
                { "8", 0, 8000 },         { "7.5", 0, 7500 },    { "0.001", 0, 1 },
                { "0.0005", -ERANGE, 0 }, { "2,5", -EINVAL, 0 }, { "2 cores", -EINVAL, 0 },
                { "", -EINVAL, 0 },
        };

        check_rows(parse_cpus, rows, N_ELEMENTS(rows));
}

static void test_uints(void **state UNUSED) {
        uint64_t v = 0;

        assert_int_equal(parse_uint("42", 42, &v), 0);
        assert_int_equal(v, 42);
        assert_int_equal(parse_uint("43", 42, &v), -ERANGE);
        assert_int_equal(parse_uint("4 2", 100, &v), -EINVAL);
        assert_int_equal(parse_uint("1.5", 100, &v), -ERANGE);
}

static void test_formats(void **state UNUSED) {
        char buf[64];

        assert_string_equal(format_size(buf, sizeof(buf), 0), "0");
        assert_string_equal(format_size(buf, sizeof(buf), 100), "100");
        assert_string_equal(format_size(buf, sizeof(buf), 1536), "1536");
        assert_string_equal(format_size(buf, sizeof(buf), 3 * GIB / 2), "1536M");
        assert_string_equal(format_size(buf, sizeof(buf), 28 * GIB), "28G");
        assert_string_equal(format_size_human(buf, sizeof(buf), 512), "512B");
        assert_string_equal(format_size_human(buf, sizeof(buf), 3 * GIB / 2), "1.5G");
        assert_string_equal(format_cpus(buf, sizeof(buf), 8000), "8");
        assert_string_equal(format_cpus(buf, sizeof(buf), 7500), "7.5");
        assert_string_equal(format_cpus(buf, sizeof(buf), 1), "0.001");
        assert_string_equal(format_cpus(buf, sizeof(buf), 10000), "10");
}

/* What is formatted reads back, whatever the value. */
static void test_round_trip(void **state UNUSED) {
        uint64_t v = 1, back;
        char buf[64];

        for (int i = 0; i < 2000; i++) {
                v = v * 6364136223846793005U + 1442695040888963407U;
                assert_int_equal(parse_size(format_size(buf, sizeof(buf), v >> (i % 64)), &back),
                                 0);
                assert_int_equal(back, v >> (i % 64));
                assert_int_equal(parse_cpus(format_cpus(buf, sizeof(buf), v % 5000000), &back), 0);
                assert_int_equal(back, v % 5000000);
        }
}

static void test_iso_time(void **state UNUSED) {
        char buf[40];

        assert_string_equal(format_iso_utc(buf, sizeof(buf), 0), "1970-01-01T00:00:00.000000Z");
        assert_string_equal(format_iso_utc(buf, sizeof(buf), UINT64_C(1787443200000042)),
                            "2026-08-23T00:00:00.000042Z");
}

static void test_texts(void **state UNUSED) {
        char *s = text_format("%s-%d", "a", 7);

        assert_string_equal(s, "a-7");
        free(s);
        assert_true(text_has_prefix("abc", "ab"));
        assert_false(text_has_prefix("a", "ab"));
        assert_true(text_has_suffix("abc", "bc"));
        assert_false(text_has_suffix("c", "bc"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sizes),    cmocka_unit_test(test_durations),
                cmocka_unit_test(test_cpus),     cmocka_unit_test(test_uints),
                cmocka_unit_test(test_formats),  cmocka_unit_test(test_round_trip),
                cmocka_unit_test(test_iso_time), cmocka_unit_test(test_texts),
        };

        return RUN_TAP(tests);
}
