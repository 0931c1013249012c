/* SPDX-License-Identifier: MIT */
#include "supervisor/text.h"

#include <stdarg.h>
#include <string.h>

void text_add_n(Text *t, const char *s, size_t n) {
        size_t room = t->size - 1 - t->n;

        if (n > room) {
                n = room;
                t->cut = true;
        }
        memcpy(t->data + t->n, s, n);
        t->n += n;
        t->data[t->n] = 0;
}

void text_add(Text *t, const char *s) {
        text_add_n(t, s, strlen(s));
}

void text_add_number(Text *t, int64_t v) {
        char digits[24];
        size_t i = sizeof(digits);
        uint64_t rest = v < 0 ? -(uint64_t) v : (uint64_t) v;

        do {
                digits[--i] = (char) ('0' + rest % 10);
                rest /= 10;
        } while (rest > 0);
        if (v < 0)
                digits[--i] = '-';
        text_add_n(t, digits + i, sizeof(digits) - i);
}

void text_join(Text *t, ...) {
        va_list args;
        const char *s;

        va_start(args, t);
        while ((s = va_arg(args, const char *)))
                text_add(t, s);
        va_end(args);
}

bool text_to_number(const char *s, size_t n, uint64_t max, uint64_t *ret) {
        uint64_t v = 0;

        if (n == 0)
                return false;
        for (size_t i = 0; i < n; i++) {
                uint64_t digit = (uint64_t) (s[i] - '0');

                if (s[i] < '0' || s[i] > '9' || digit > max || v > (max - digit) / 10)
                        return false;
                v = v * 10 + digit;
        }
        *ret = v;
        return true;
}
