/* SPDX-License-Identifier: MIT */
#include "selftest/cmocka-tap.h"

#include <jansson.h>
#include <string.h>

#include "supervisor/json.h"
#include "supervisor/report.h"

static void text_is_cut_and_says_so(void **state) {
        char data[8];
        Text t = TEXT(data);

        (void) state;
        text_add(&t, "abc");
        assert_string_equal(data, "abc");
        assert_false(t.cut);
        text_join(&t, "de", "fghi", NULL);
        assert_string_equal(data, "abcdefg");
        assert_int_equal(t.n, 7);
        assert_true(t.cut);
        text_add(&t, "more");
        assert_string_equal(data, "abcdefg");
}

static void numbers_are_printed(void **state) {
        static const struct {
                int64_t v;
                const char *text;
        } rows[] = {
                { 0, "0" },
                { 7, "7" },
                { -12, "-12" },
                { INT64_MAX, "9223372036854775807" },
                { INT64_MIN, "-9223372036854775808" },
        };

        (void) state;
        for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
                char data[32];
                Text t = TEXT(data);

                text_add_number(&t, rows[i].v);
                assert_string_equal(data, rows[i].text);
        }
}

static void numbers_are_read(void **state) {
        uint64_t v = 77;

        (void) state;
        assert_true(text_to_number("0", 1, 0, &v));
        assert_int_equal(v, 0);
        assert_true(text_to_number("18446744073709551615", 20, UINT64_MAX, &v));
        assert_true(v == UINT64_MAX);
        assert_true(text_to_number("599", 3, 599, &v));
        v = 77;
        assert_false(text_to_number("600", 3, 599, &v));
        assert_false(text_to_number("18446744073709551616", 20, UINT64_MAX, &v));
        assert_false(text_to_number("9", 1, 5, &v));
        assert_false(text_to_number("", 0, 9, &v));
        assert_false(text_to_number("-1", 2, 9, &v));
        assert_false(text_to_number("+1", 2, 9, &v));
        assert_false(text_to_number("1 ", 2, 9, &v));
        assert_false(text_to_number(":", 1, 99, &v));
        assert_int_equal(v, 77);
}

/* What a JSON parser of others makes of the value. */
static void check_value(const char *value, const char *read) {
        char data[4096];
        Text t = TEXT(data);
        json_t *j;

        json_begin(&t);
        json_add_string(&t, "k", value);
        json_end(&t);
        assert_false(t.cut);
        j = json_loads(data, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(j);
        assert_string_equal(json_string_value(json_object_get(j, "k")), read);
        json_decref(j);
}

static void json_escapes(void **state) {
        (void) state;
        check_value("plain", "plain");
        check_value("a\"b\\c/d", "a\"b\\c/d");
        check_value("\001\n\t\x1f\x7f", "\001\n\t\x1f\x7f");
        check_value("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\xb3",
                    "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\xb3");
        /* alone, overlong, surrogate, beyond Unicode, cut short: a replacement for every byte */
        check_value("a\xff", "a\xef\xbf\xbd");
        check_value("\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd");
        check_value("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
        check_value("\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
        check_value("\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd");
}

static void json_cuts_between_characters(void **state) {
        char value[JSON_STRING_MAX + 8], wanted[JSON_STRING_MAX + 1];

        (void) state;
        memset(value, 'x', sizeof(value));
        value[sizeof(value) - 1] = 0;
        memcpy(value + JSON_STRING_MAX - 1, "\xc3\xbc", 2);
        memset(wanted, 'x', JSON_STRING_MAX - 1);
        wanted[JSON_STRING_MAX - 1] = 0;
        check_value(value, wanted);
}

static void json_nests(void **state) {
        char data[256];
        Text t = TEXT(data);

        (void) state;
        json_begin(&t);
        json_add_number(&t, "n", -5);
        json_add_object(&t, "o");
        json_add_bool(&t, "yes", true);
        json_add_null(&t, "nothing");
        json_end(&t);
        json_add_string(&t, "s", NULL);
        json_add_object(&t, "empty");
        json_end(&t);
        json_end(&t);
        assert_string_equal(
                        data,
                        "{\"n\":-5,\"o\":{\"yes\":true,\"nothing\":null},\"s\":null,\"empty\":{}}");
}

static void reports_fit_with_the_worst_values(void **state) {
        char bad[JSON_STRING_MAX * 2], data[4096];
        Text t = TEXT(data);
        CauseReport r = {
                .cause = "dockerd-exited",
                .exit_status = 255,
                .started_at_msec = INT64_MAX,
                .ready_after_msec = INT64_MAX,
                .ended_after_msec = INT64_MAX,
                .stop_took_msec = INT64_MAX,
                .daemon = { true, 9 },
                .keepalive = { true, 255 << 8 },
                .leftovers = true,
                .log_bytes = INT64_MAX,
                .log_dropped_bytes = INT64_MAX,
        };
        json_t *j;

        (void) state;
        memset(bad, 1, sizeof(bad)); /* six bytes each when escaped */
        bad[sizeof(bad) - 1] = 0;
        r.reason = bad;
        report_cause(&t, &r);
        assert_false(t.cut);
        j = json_loads(data, 0, NULL);
        assert_non_null(j);
        assert_int_equal(json_integer_value(
                                         json_object_get(json_object_get(j, "dockerd"), "signal")),
                         9);
        assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "keepalive"),
                                                            "exitStatus")),
                         255);
        json_decref(j);
        assert_int_equal(data[t.n - 1], '\n');
}

static void endings_are_told(void **state) {
        char data[64];
        Text t = TEXT(data);
        Ending killed = { true, 15 }, exited = { true, 3 << 8 };

        (void) state;
        assert_int_equal(ending_exit_status(&killed), 143);
        assert_int_equal(ending_exit_status(&exited), 3);
        ending_describe(&t, &killed);
        text_add(&t, ", ");
        ending_describe(&t, &exited);
        assert_string_equal(data, "was killed by signal 15, exited with status 3");
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(text_is_cut_and_says_so),
                cmocka_unit_test(numbers_are_printed),
                cmocka_unit_test(numbers_are_read),
                cmocka_unit_test(json_escapes),
                cmocka_unit_test(json_cuts_between_characters),
                cmocka_unit_test(json_nests),
                cmocka_unit_test(reports_fit_with_the_worst_values),
                cmocka_unit_test(endings_are_told),
        };

        return RUN_TAP(tests);
}
