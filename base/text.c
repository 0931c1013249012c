/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

char *text_format(const char *fmt, ...) {
        char *s = NULL;
        va_list ap;
        int r;

        va_start(ap, fmt);
        r = vasprintf(&s, fmt, ap);
        va_end(ap);
        return r < 0 ? NULL : s;
}

bool text_has_prefix(const char *s, const char *prefix) {
        return !strncmp(s, prefix, strlen(prefix));
}

bool text_has_suffix(const char *s, const char *suffix) {
        size_t n = strlen(s), k = strlen(suffix);

        return n >= k && !strcmp(s + n - k, suffix);
}
