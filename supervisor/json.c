/* SPDX-License-Identifier: MIT */
#include "supervisor/json.h"

#include <string.h>

/* Length of the valid UTF-8 character at s, of at most n bytes; 0 when there is none. */
static size_t utf8_length(const unsigned char *s, size_t n) {
        size_t length;
        uint32_t c;
        static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };

        if (s[0] < 0x80)
                return 1;
        if (s[0] >= 0xc2 && s[0] < 0xe0)
                length = 2;
        else if (s[0] >= 0xe0 && s[0] < 0xf0)
                length = 3;
        else if (s[0] >= 0xf0 && s[0] < 0xf5)
                length = 4;
        else
                return 0;
        if (length > n)
                return 0;
        c = s[0] & (0x7fU >> length);
        for (size_t i = 1; i < length; i++) {
                if ((s[i] & 0xc0) != 0x80)
                        return 0;
                c = c << 6 | (s[i] & 0x3fU);
        }
        if (c < least[length] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
                return 0;
        return length;
}

static void add_escaped(Text *t, const char *value) {
        static const char hex[] = "0123456789abcdef";
        const unsigned char *s = (const unsigned char *) value;
        size_t n = strlen(value);
        size_t i = 0;

        while (i < n) {
                size_t length = utf8_length(s + i, n - i);

                if (i + (length > 0 ? length : 1) > JSON_STRING_MAX)
                        return;
                if (length == 0) {
                        text_add(t, "\\ufffd");
                        i++;
                        continue;
                }
                if (s[i] == '"' || s[i] == '\\') {
                        text_add(t, "\\");
                        text_add_n(t, value + i, 1);
                } else if (s[i] < 0x20 || s[i] == 0x7f) {
                        char escape[] = "\\u0000";

                        escape[4] = hex[s[i] >> 4];
                        escape[5] = hex[s[i] & 15];
                        text_add(t, escape);
                } else
                        text_add_n(t, value + i, length);
                i += length;
        }
}

static void add_key(Text *t, const char *key) {
        text_join(t, t->data[t->n - 1] == '{' ? "\"" : ",\"", key, "\":", NULL);
}

void json_begin(Text *t) {
        text_add(t, "{");
}

void json_end(Text *t) {
        text_add(t, "}");
}

void json_add_string(Text *t, const char *key, const char *value) {
        if (!value) {
                json_add_null(t, key);
                return;
        }
        add_key(t, key);
        text_add(t, "\"");
        add_escaped(t, value);
        text_add(t, "\"");
}

void json_add_number(Text *t, const char *key, int64_t value) {
        add_key(t, key);
        text_add_number(t, value);
}

void json_add_bool(Text *t, const char *key, bool value) {
        add_key(t, key);
        text_add(t, value ? "true" : "false");
}

void json_add_null(Text *t, const char *key) {
        add_key(t, key);
        text_add(t, "null");
}

void json_add_object(Text *t, const char *key) {
        add_key(t, key);
        text_add(t, "{");
}
