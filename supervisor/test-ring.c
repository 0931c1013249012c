/* SPDX-License-Identifier: MIT */
#include "selftest/cmocka-tap.h"

#include <string.h>

#include "supervisor/ring.h"

static Ring ring;
static char tail[RING_SIZE + 1];

/* The tail in one piece. */
static size_t get_tail(size_t n) {
        Span spans[2];

        ring_tail(&ring, n, spans);
        memcpy(tail, spans[0].data, spans[0].n);
        memcpy(tail + spans[0].n, spans[1].data, spans[1].n);
        tail[spans[0].n + spans[1].n] = 0;
        return spans[0].n + spans[1].n;
}

static int setup(void **state) {
        (void) state;
        memset(&ring, 0, sizeof(ring));
        return 0;
}

static void add(const char *s) {
        ring_add(&ring, s, strlen(s));
}

static void short_logs_are_whole(void **state) {
        (void) state;
        assert_int_equal(get_tail(100), 0);
        add("one\ntwo\n");
        get_tail(100);
        assert_string_equal(tail, "one\ntwo\n");
        get_tail(8);
        assert_string_equal(tail, "one\ntwo\n");
        assert_int_equal(get_tail(0), 0);
}

static void tails_begin_with_a_line(void **state) {
        (void) state;
        add("one\ntwo\nthree\n");
        get_tail(11);
        assert_string_equal(tail, "two\nthree\n");
        get_tail(10);
        assert_string_equal(tail, "two\nthree\n"); /* the line before ended just there */
        get_tail(9);
        assert_string_equal(tail, "three\n");
        get_tail(6);
        assert_string_equal(tail, "three\n");
        get_tail(4);
        assert_string_equal(tail, "ree\n"); /* no line begins in it: better than nothing */
}

static void old_bytes_give_way(void **state) {
        char line[1000];

        (void) state;
        memset(line, 'x', sizeof(line));
        line[sizeof(line) - 1] = '\n';
        for (size_t i = 0; i < 1000; i++) {
                line[0] = (char) ('a' + i % 26);
                ring_add(&ring, line, sizeof(line));
        }
        assert_int_equal(ring.total, 1000000);
        /* the oldest byte may be the beginning of a line or not: nobody can tell, so it is left out
         */
        assert_int_equal(get_tail(RING_SIZE), 262 * 1000);
        assert_int_equal(tail[0], 'a' + (1000 - 262) % 26);
        assert_int_equal(tail[262 * 1000 - 1], '\n');
        assert_int_equal(get_tail(5500), 5000);
        assert_int_equal(tail[0], 'a' + 995 % 26);
}

static void more_than_all_at_once(void **state) {
        static char data[RING_SIZE + 3000];

        (void) state;
        memset(data, 'o', sizeof(data));
        memcpy(data + sizeof(data) - 8, "\nthe end", 8);
        add("before");
        ring_add(&ring, data, sizeof(data));
        assert_int_equal(ring.total, sizeof(data) + 6);
        get_tail(20);
        assert_string_equal(tail, "the end");
        assert_int_equal(get_tail(3), 3);
        assert_string_equal(tail, "end");
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(short_logs_are_whole, setup),
                cmocka_unit_test_setup(tails_begin_with_a_line, setup),
                cmocka_unit_test_setup(old_bytes_give_way, setup),
                cmocka_unit_test_setup(more_than_all_at_once, setup),
        };

        return RUN_TAP(tests);
}
