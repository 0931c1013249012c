/* SPDX-License-Identifier: MIT */
#include "base/units.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char *skip_space(const char *s) {
        while (isspace((unsigned char) *s))
                s++;
        return s;
}

/*
 * DIGITS[.DIGITS] in units of 1/scale, exact: -ERANGE when a digit would be lost. scale is a power
 * of ten or of two; the fraction is summed digit by digit, so that "0.5" of 1024 is exactly 512.
 */
static int parse_decimal(const char **s, uint64_t scale, uint64_t *ret) {
        const char *p = *s;
        uint64_t whole = 0, num = 0, den = 1;

        if (!isdigit((unsigned char) *p))
                return -EINVAL;
        for (; isdigit((unsigned char) *p); p++)
                if (__builtin_mul_overflow(whole, 10, &whole) ||
                    __builtin_add_overflow(whole, (uint64_t) (*p - '0'), &whole))
                        return -ERANGE;
        if (*p == '.') {
                p++;
                if (!isdigit((unsigned char) *p))
                        return -EINVAL;
                for (; isdigit((unsigned char) *p); p++) {
                        if (den > UINT64_MAX / 100 / 10)
                                return -ERANGE;
                        num = num * 10 + (uint64_t) (*p - '0');
                        den *= 10;
                }
        }
        unsigned __int128 v = (unsigned __int128) num * scale;
        if (v % den)
                return -ERANGE;
        v = v / den + (unsigned __int128) whole * scale;
        if (v > UINT64_MAX)
                return -ERANGE;
        *s = p;
        *ret = (uint64_t) v;
        return 0;
}

int parse_uint(const char *text, uint64_t max, uint64_t *ret) {
        const char *s = skip_space(text);
        uint64_t v;
        int r = parse_decimal(&s, 1, &v);

        if (r < 0)
                return r;
        if (*skip_space(s))
                return -EINVAL;
        if (v > max)
                return -ERANGE;
        *ret = v;
        return 0;
}

int parse_size(const char *text, uint64_t *ret_bytes) {
        static const char letters[] = "KMGTPE";
        const char *s = skip_space(text), *end = s, *letter;
        uint64_t scale = 1;
        int r;

        end += strspn(end, "0123456789.");
        end = skip_space(end);
        letter = *end ? strchr(letters, toupper((unsigned char) *end)) : NULL;
        if (letter) {
                scale = UINT64_C(1) << (10 * (letter - letters + 1));
                end++;
        }
        if (toupper((unsigned char) *end) == 'B')
                end++;
        if (*skip_space(end))
                return -EINVAL;
        r = parse_decimal(&s, scale, ret_bytes);
        return r;
}

int parse_cpus(const char *text, uint64_t *ret_milli) {
        const char *s = skip_space(text);
        uint64_t v;
        int r = parse_decimal(&s, 1000, &v);

        if (r < 0)
                return r;
        if (*skip_space(s))
                return -EINVAL;
        *ret_milli = v;
        return 0;
}

static uint64_t time_unit(const char *s, size_t n) {
        static const struct {
                const char *name;
                uint64_t usec;
        } units[] = {
                { "us", 1 },
                { "usec", 1 },
                { "ms", 1000 },
                { "msec", 1000 },
                { "", 1000000 },
                { "s", 1000000 },
                { "sec", 1000000 },
                { "second", 1000000 },
                { "seconds", 1000000 },
                { "m", 60000000 },
                { "min", 60000000 },
                { "minute", 60000000 },
                { "minutes", 60000000 },
                { "h", 3600000000 },
                { "hr", 3600000000 },
                { "hour", 3600000000 },
                { "hours", 3600000000 },
                { "d", 86400000000 },
                { "day", 86400000000 },
                { "days", 86400000000 },
        };

        for (size_t i = 0; i < N_ELEMENTS(units); i++)
                if (strlen(units[i].name) == n && !strncmp(units[i].name, s, n))
                        return units[i].usec;
        return 0;
}

int parse_duration(const char *text, uint64_t *ret_usec) {
        const char *s = skip_space(text);
        uint64_t sum = 0;

        if (!*s)
                return -EINVAL;
        while (*s) {
                const char *unit = s + strspn(s, "0123456789.");
                uint64_t scale, v;
                size_t n;
                int r;

                unit = skip_space(unit);
                for (n = 0; isalpha((unsigned char) unit[n]); n++)
                        ;
                scale = time_unit(unit, n);
                if (!scale)
                        return -EINVAL;
                r = parse_decimal(&s, scale, &v);
                if (r < 0)
                        return r;
                if (__builtin_add_overflow(sum, v, &sum))
                        return -ERANGE;
                s = skip_space(unit + n);
        }
        *ret_usec = sum;
        return 0;
}

char *format_size(char *buf, size_t n, uint64_t bytes) {
        static const char letters[] = "KMGTPE";
        int i = -1;

        while (bytes && bytes % 1024 == 0 && i < 5) {
                bytes /= 1024;
                i++;
        }
        snprintf(buf,
                 n,
                 i < 0 ? "%llu" : "%llu%c",
                 (unsigned long long) bytes,
                 i < 0 ? 0 : letters[i]);
        return buf;
}

char *format_size_human(char *buf, size_t n, uint64_t bytes) {
        static const char letters[] = "BKMGTPE";
        double v = (double) bytes;
        int i = 0;

        while (v >= 1024 && i < 6) {
                v /= 1024;
                i++;
        }
        snprintf(buf, n, i ? "%.1f%c" : "%.0f%c", v, letters[i]);
        return buf;
}

char *format_cpus(char *buf, size_t n, uint64_t milli) {
        size_t len = (size_t) snprintf(buf,
                                       n,
                                       "%llu.%03u",
                                       (unsigned long long) (milli / 1000),
                                       (unsigned) (milli % 1000));

        while (len && len < n && buf[len - 1] == '0')
                buf[--len] = 0;
        if (len && len < n && buf[len - 1] == '.')
                buf[--len] = 0;
        return buf;
}
