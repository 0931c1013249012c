/* SPDX-License-Identifier: MIT */
#include "selftest/cmocka-tap.h"

#include <stdlib.h>
#include <string.h>

#include "supervisor/http.h"

/* In a block of exactly its size, so that a sanitizer sees a read beyond it. */
static int reply(const char *data, HttpReply *ret, char *body, size_t size) {
        size_t n = strlen(data);
        char *copy = malloc(n > 0 ? n : 1);
        int r;

        assert_non_null(copy);
        memcpy(copy, data, n);
        r = http_reply(copy, n, ret);
        if (r == 0) {
                assert_true(ret->n_body < size);
                memcpy(body, ret->body, ret->n_body);
                body[ret->n_body] = 0;
        }
        free(copy);
        return r;
}

static void requests_are_made(void **state) {
        char data[128];
        Text t = TEXT(data);

        (void) state;
        http_request(&t, "/_ping");
        assert_string_equal(data,
                            "GET /_ping HTTP/1.0\r\nHost: docker\r\nConnection: close\r\n\r\n");
}

static void replies_are_read(void **state) {
        char body[64];
        HttpReply r;

        (void) state;
        assert_int_equal(reply("HTTP/1.0 200 OK\r\nA: b\r\n\r\nOK", &r, body, sizeof(body)), 0);
        assert_int_equal(r.status, 200);
        assert_string_equal(body, "OK");
        assert_int_equal(reply("HTTP/1.1 503\r\n\r\n", &r, body, sizeof(body)), 0);
        assert_int_equal(r.status, 503);
        assert_string_equal(body, "");
}

static void beginnings_want_more(void **state) {
        static const char whole[] = "HTTP/1.0 200 OK\r\nA: b\r\n\r\n";
        char part[sizeof(whole)], body[8];
        HttpReply r;

        (void) state;
        for (size_t n = 0; n < sizeof(whole) - 1; n++) {
                memcpy(part, whole, n);
                part[n] = 0;
                assert_int_equal(reply(part, &r, body, sizeof(body)), HTTP_E_MORE);
        }
}

static void others_are_refused(void **state) {
        static const char *const rows[] = {
                "x",
                "HTTP/2 200\r\n\r\n",
                "http/1.0 200 OK\r\n\r\n",
                "SSH-2.0-OpenSSH\r\n\r\n",
                "HTTP/1.0\r\n\r\n",
                "HTTP/1.0 2x0 OK\r\n\r\n",
                "HTTP/1.0 999 OK\r\n\r\n",
                "HTTP/1.0 20\r\n\r\n",
                "HTTP/1.00200 OK\r\n\r\n",
        };
        char body[64];
        HttpReply r;

        (void) state;
        for (size_t i = 0; i < N_ELEMENTS(rows); i++)
                assert_int_equal(reply(rows[i], &r, body, sizeof(body)), HTTP_E_NOT_HTTP);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(requests_are_made),
                cmocka_unit_test(replies_are_read),
                cmocka_unit_test(beginnings_want_more),
                cmocka_unit_test(others_are_refused),
        };

        return RUN_TAP(tests);
}
