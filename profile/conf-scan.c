/* SPDX-License-Identifier: MIT */
#include "profile/conf-scan.h"

#include <stdio.h>
#include <string.h>

#include "profile/conf-keys.h"

typedef struct Scan {
        char section[32];
        unsigned line; /* number of the line looked at */
        unsigned *lines;
        char *rule;
} Scan;

/* Cuts white space off both ends, in place. */
static char *trim(char *s) {
        size_t n;

        s += strspn(s, " \t");
        for (n = strlen(s); n > 0 && strchr(" \t", s[n - 1]); n--)
                ;
        s[n] = 0;
        return s;
}

static int scan_section(Scan *s, char *text) {
        size_t n = strcspn(text, "]");

        if (text[n] != ']' || text[n + 1]) {
                snprintf(s->rule, 256, "a section is written [Name], with nothing after it");
                return -EINVAL;
        }
        text[n] = 0;
        if (strlen(text + 1) >= sizeof(s->section) || !conf_section_known(text + 1)) {
                snprintf(s->rule, 256, "unknown section [%.64s]", text + 1);
                return -EINVAL;
        }
        strcpy(s->section, text + 1);
        return 0;
}

static int scan_key(Scan *s, char *text) {
        char *equals = strchr(text, '=');
        const ConfKey *key;
        const char *name;

        if (!equals) {
                snprintf(s->rule,
                         256,
                         "'%.64s' is neither [Section], Key=Value nor a comment",
                         text);
                return -EINVAL;
        }
        *equals = 0;
        name = trim(text);
        if (!s->section[0]) {
                snprintf(s->rule, 256, "key '%.64s' stands before the first section", name);
                return -EINVAL;
        }
        key = conf_key_find(s->section, name);
        if (!key) {
                snprintf(s->rule, 256, "unknown key '%.64s' in section [%s]", name, s->section);
                return -EINVAL;
        }
        if (s->lines[key - conf_keys]) {
                snprintf(s->rule,
                         256,
                         "[%s] %s= is already in line %u",
                         s->section,
                         name,
                         s->lines[key - conf_keys]);
                return -EINVAL;
        }
        s->lines[key - conf_keys] = s->line;
        return 0;
}

static int scan_line(Scan *s, const char *start, size_t n) {
        CLEANUP(freep) char *copy = strndup(start, n);
        char *text;

        if (!copy)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                if ((unsigned char) start[i] < 0x20 && start[i] != '\t') {
                        snprintf(s->rule,
                                 256,
                                 "holds the control character 0x%02x%s",
                                 (unsigned) (unsigned char) start[i],
                                 start[i] == '\r' ? " (save it with Unix line ends)" : "");
                        return -EINVAL;
                }
        text = trim(copy);
        if (!*text || *text == '#' || *text == ';')
                return 0;
        return *text == '[' ? scan_section(s, text) : scan_key(s, text);
}

int conf_scan(const char *text,
              size_t n,
              unsigned lines[],
              unsigned *ret_line,
              char rule[static 256]) {
        Scan s = { .lines = lines, .rule = rule };
        const char *end = text + n;

        memset(lines, 0, n_conf_keys * sizeof(*lines));
        while (text < end) {
                const char *stop = memchr(text, '\n', (size_t) (end - text));
                size_t k = (size_t) ((stop ? stop : end) - text);
                int r;

                s.line++;
                r = scan_line(&s, text, k);
                if (r < 0) {
                        *ret_line = s.line;
                        return r;
                }
                text += k + 1;
        }
        return 0;
}
