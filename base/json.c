/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/digest.h"

/* Nesting is counted before the recursive reader sees the text; brackets inside strings do not
 * count. */
static bool too_deep(const char *text, size_t n) {
        unsigned depth = 0;
        bool in_string = false;

        for (size_t i = 0; i < n; i++) {
                char c = text[i];

                if (in_string) {
                        if (c == '\\')
                                i++;
                        else if (c == '"')
                                in_string = false;
                } else if (c == '"')
                        in_string = true;
                else if (c == '[' || c == '{') {
                        if (++depth > JSON_DEPTH_MAX)
                                return true;
                } else if ((c == ']' || c == '}') && depth > 0)
                        depth--;
        }
        return false;
}

int json_read(const char *text, size_t n, json_t **ret, char *message, size_t message_size) {
        json_error_t error;
        json_t *v;

        if (too_deep(text, n)) {
                snprintf(message, message_size, "nested deeper than %d", JSON_DEPTH_MAX);
                return -EINVAL;
        }
        v = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
        if (!v) {
                snprintf(message, message_size, "line %d: %s", error.line, error.text);
                return json_error_code(&error) == json_error_out_of_memory ? -ENOMEM : -EINVAL;
        }
        *ret = v;
        return 0;
}

typedef struct Out {
        char *text;
        size_t n, room;
        bool failed;
} Out;

static void put(Out *o, const char *s, size_t n) {
        if (o->failed)
                return;
        if (o->n + n + 1 > o->room) {
                size_t room = (o->n + n + 1) * 2;
                char *p = realloc(o->text, room);

                if (!p) {
                        o->failed = true;
                        return;
                }
                o->text = p;
                o->room = room;
        }
        memcpy(o->text + o->n, s, n);
        o->n += n;
        o->text[o->n] = 0;
}

static void put_char(Out *o, char c) {
        put(o, &c, 1);
}

/*
 * The next code point; a byte that belongs to no well-formed sequence (jansson lets none in, file
 * names may have some) counts as U+FFFD, as in ECMAScript. Never reads past the NUL.
 */
static uint32_t next_code_point(const unsigned char **s) {
        const unsigned char *p = *s;
        uint32_t c = *p++;
        int more = c < 0xc0 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;

        *s = p;
        if (c < 0x80)
                return c;
        if (!more || c >= 0xf8)
                return 0xfffd;
        c &= 0x3fU >> more;
        for (int i = 0; i < more; i++) {
                if ((p[i] & 0xc0) != 0x80)
                        return 0xfffd;
                c = c << 6 | (p[i] & 0x3f);
        }
        *s = p + more;
        return c;
}

/* First UTF-16 code unit of a code point: astral ones (surrogates) sort before U+E000..U+FFFF. */
static uint32_t first_unit(uint32_t c) {
        return c < 0x10000 ? c : 0xd800 + ((c - 0x10000) >> 10);
}

int json_compare_keys(const char *key_a, const char *key_b) {
        const unsigned char *a = (const unsigned char *) key_a;
        const unsigned char *b = (const unsigned char *) key_b;

        for (;;) {
                uint32_t c, d;

                if (!*a || !*b)
                        return (int) *a - (int) *b;
                c = next_code_point(&a);
                d = next_code_point(&b);
                if (c == d)
                        continue;
                if (first_unit(c) != first_unit(d))
                        return first_unit(c) < first_unit(d) ? -1 : 1;
                return c < d ? -1 : 1;
        }
}

static int compare_for_sort(const void *a, const void *b) {
        return json_compare_keys(*(const char *const *) a, *(const char *const *) b);
}

static void put_string(Out *o, const char *s, size_t n) {
        static const char escapes[] = "\"\"\\\\\bb\ff\nn\rr\tt";

        put_char(o, '"');
        for (size_t i = 0; i < n; i++) {
                unsigned char c = (unsigned char) s[i];
                const char *e = NULL;

                for (const char *p = escapes; *p; p += 2)
                        if ((unsigned char) *p == c)
                                e = p + 1;
                if (e) {
                        put_char(o, '\\');
                        put_char(o, *e);
                } else if (c < 0x20) {
                        char hex[8];

                        put(o, hex, (size_t) snprintf(hex, sizeof(hex), "\\u%04x", c));
                } else
                        put_char(o, (char) c);
        }
        put_char(o, '"');
}

/*
 * The next decimal up in the last place of "D.DDDe..." in place; false when a carry would need one
 * more digit.
 */
static bool decimal_up(char *text) {
        char *c = strchr(text, 'e');

        for (c--; c >= text && (*c == '9' || *c == '.'); c--)
                if (*c == '9')
                        *c = '0';
        if (c < text)
                return false;
        ++*c;
        return true;
}

/*
 * Digits of the shortest decimal that reads back as v (finite, > 0), and its exponent. Up to 15
 * digits survive every normal double, so 15, 16, 17 are tried; subnormals have fewer and start at
 * 1. At an exact power of two the gap above is twice the gap below, so that the nearest decimal
 * may miss where the next one up reads back.
 */
static size_t shortest_digits(double v, char digits[static 24], int *ret_exponent) {
        int exponent2;
        bool power_of_two = frexp(v, &exponent2) == 0.5;

        for (int precision = v < 2.2250738585072014e-308 ? 1 : 15; precision <= 17; precision++) {
                char text[40];
                size_t n = 0;

                snprintf(text, sizeof(text), "%.*e", precision - 1, v);
                if (precision < 17 && strtod(text, NULL) != v &&
                    !(power_of_two && decimal_up(text) && strtod(text, NULL) == v))
                        continue;
                *ret_exponent = (int) strtol(strchr(text, 'e') + 1, NULL, 10);
                for (const char *c = text; *c != 'e'; c++)
                        if (*c != '.')
                                digits[n++] = *c;
                while (n > 1 && digits[n - 1] == '0')
                        n--;
                digits[n] = 0;
                return n;
        }
        assert(false); /* 17 digits always read back */
        return 0;
}

char *json_format_double(char *buf, size_t n, double v) {
        char digits[24];
        const char *sign = v < 0 ? "-" : "";
        int exponent, k;

        assert(isfinite(v) && n >= 32);
        if (v == 0) {
                snprintf(buf, n, "0");
                return buf;
        }
        k = (int) shortest_digits(fabs(v), digits, &exponent);
        /* ECMAScript, Number::toString: plain from 1e-6 up to below 1e21 */
        if (exponent >= 21 || exponent < -6)
                snprintf(buf,
                         n,
                         "%s%c%s%se%c%d",
                         sign,
                         digits[0],
                         k > 1 ? "." : "",
                         digits + 1,
                         exponent < 0 ? '-' : '+',
                         abs(exponent));
        else if (exponent < 0)
                snprintf(buf, n, "%s0.%.*s%s", sign, -exponent - 1, "000000", digits);
        else if (k <= exponent + 1)
                snprintf(buf,
                         n,
                         "%s%s%.*s",
                         sign,
                         digits,
                         exponent + 1 - k,
                         "00000000000000000000");
        else
                snprintf(buf, n, "%s%.*s.%s", sign, exponent + 1, digits, digits + exponent + 1);
        return buf;
}

static void put_value(Out *o, const json_t *v);

static void put_object(Out *o, const json_t *v) {
        size_t n = json_object_size(v), i = 0;
        CLEANUP(freep) const char **keys = calloc(n + 1, sizeof(*keys));
        const char *key;
        json_t *item;

        if (!keys) {
                o->failed = true;
                return;
        }
        json_object_foreach((json_t *) v, key, item) keys[i++] = key;
        qsort(keys, n, sizeof(*keys), compare_for_sort);
        put_char(o, '{');
        for (i = 0; i < n; i++) {
                if (i)
                        put_char(o, ',');
                put_string(o, keys[i], strlen(keys[i]));
                put_char(o, ':');
                put_value(o, json_object_get(v, keys[i]));
        }
        put_char(o, '}');
}

static void put_array(Out *o, const json_t *v) {
        put_char(o, '[');
        for (size_t i = 0; i < json_array_size(v); i++) {
                if (i)
                        put_char(o, ',');
                put_value(o, json_array_get(v, i));
        }
        put_char(o, ']');
}

static void put_value(Out *o, const json_t *v) {
        char number[40];

        switch (json_typeof(v)) {
        case JSON_OBJECT:
                put_object(o, v);
                break;
        case JSON_ARRAY:
                put_array(o, v);
                break;
        case JSON_STRING:
                put_string(o, json_string_value(v), json_string_length(v));
                break;
        case JSON_INTEGER:
                put(o,
                    number,
                    (size_t) snprintf(number,
                                      sizeof(number),
                                      "%" JSON_INTEGER_FORMAT,
                                      json_integer_value(v)));
                break;
        case JSON_REAL:
                json_format_double(number, sizeof(number), json_real_value(v));
                put(o, number, strlen(number));
                break;
        case JSON_TRUE:
                put(o, "true", 4);
                break;
        case JSON_FALSE:
                put(o, "false", 5);
                break;
        case JSON_NULL:
                put(o, "null", 4);
                break;
        }
}

int json_canonical(const json_t *v, char **ret, size_t *ret_n) {
        Out o = { 0 };

        put_value(&o, v);
        if (o.failed) {
                free(o.text);
                return -ENOMEM;
        }
        *ret = o.text;
        if (ret_n)
                *ret_n = o.n;
        return 0;
}

int json_digest(const json_t *v, char ret[static 65]) {
        CLEANUP(freep) char *text = NULL;
        size_t n;
        int r = json_canonical(v, &text, &n);

        if (r < 0)
                return r;
        sha256_hex(text, n, ret);
        return 0;
}
