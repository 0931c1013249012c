/* SPDX-License-Identifier: MIT */
#include "watchdog/sandbox-tmpfs.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "profile/paths.h"

/*
 * A ".." part could mean another place once a link is in the way, so it is refused and not worked
 * out.
 */
bool tmpfs_normalise(const char *path, char *ret, size_t n) {
        size_t k = 0;

        if (path[0] != '/' || strlen(path) >= n)
                return false;
        while (*path) {
                size_t part;

                path += strspn(path, "/");
                part = strcspn(path, "/");
                if (part == 2 && !strncmp(path, "..", 2))
                        return false;
                if (part > 0 && !(part == 1 && path[0] == '.')) {
                        ret[k++] = '/';
                        memcpy(ret + k, path, part);
                        k += part;
                }
                path += part;
        }
        ret[k] = 0;
        return k > 0;
}

/* a is b or lies under it. */
static bool within(const char *a, const char *b) {
        size_t n = strlen(b);

        return !strncmp(a, b, n) && (a[n] == 0 || a[n] == '/');
}

const char *tmpfs_covers(const char *target) {
        /* the slot and the kernel's file systems: not at them and not below */
        static const char *const trees[] = { "/var/lib/docker", "/proc", "/sys", "/dev" };
        /* the injected supervisor, also where /sbin is a link to /usr/sbin: not above it either */
        static const char *const files[] = { SUPERVISOR_IN_SANDBOX, "/usr" SUPERVISOR_IN_SANDBOX };

        if (!strcmp(target, "/dev/shm"))
                return NULL; /* made to be a tmpfs */
        for (size_t i = 0; i < N_ELEMENTS(trees); i++)
                if (within(target, trees[i]))
                        return trees[i];
        for (size_t i = 0; i < N_ELEMENTS(files); i++)
                if (within(files[i], target) || within(target, files[i]))
                        return files[i];
        return NULL;
}

static bool is_word(const char *option) {
        static const char *const words[] = { "rw",      "ro",         "exec",    "noexec",
                                             "suid",    "nosuid",     "dev",     "nodev",
                                             "noatime", "nodiratime", "relatime" };

        for (size_t i = 0; i < N_ELEMENTS(words); i++)
                if (!strcmp(option, words[i]))
                        return true;
        return false;
}

static bool is_number(const char *text, uint64_t max) {
        uint64_t v;

        return strspn(text, "0123456789") == strlen(text) && parse_uint(text, max, &v) >= 0;
}

/* Digits and at most one of the suffixes that the kernel's memparse() knows; not zero. */
static bool is_amount(const char *text) {
        size_t digits = strspn(text, "0123456789");

        if (digits == 0 || digits > 15 || strspn(text, "0") == digits)
                return false;
        return text[digits] == 0 || (strchr("kKmMgG", text[digits]) && text[digits + 1] == 0);
}

static bool is_mode(const char *text) {
        size_t n = strlen(text);

        return n >= 1 && n <= 5 && strspn(text, "01234567") == n && (n < 5 || text[0] == '0');
}

static bool option_valid(const char *option, bool *size) {
        if (text_has_prefix(option, "size=")) {
                *size = true;
                return is_amount(option + strlen("size="));
        }
        if (text_has_prefix(option, "nr_inodes="))
                return is_amount(option + strlen("nr_inodes="));
        if (text_has_prefix(option, "mode="))
                return is_mode(option + strlen("mode="));
        if (text_has_prefix(option, "uid=") || text_has_prefix(option, "gid="))
                return is_number(option + strlen("uid="), UINT32_MAX - 1);
        return is_word(option);
}

bool tmpfs_options_valid(const char *options, bool *ret_size) {
        char copy[TMPFS_OPTIONS_MAX + 1], *rest = copy, *option;

        *ret_size = false;
        if (strlen(options) > TMPFS_OPTIONS_MAX)
                return false;
        strcpy(copy, options);
        if (!*copy)
                return true;
        while ((option = strsep(&rest, ",")))
                if (!option_valid(option, ret_size))
                        return false;
        return true;
}
