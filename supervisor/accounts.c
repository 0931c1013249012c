/* SPDX-License-Identifier: MIT */
#include "supervisor/accounts.h"

#include <string.h>

#include "supervisor/text.h"

/* Takes the next piece up to sep; false when nothing is left. */
static bool take(Span *rest, char sep, Span *ret) {
        const char *end;

        if (!rest->data)
                return false;
        end = memchr(rest->data, sep, rest->n);
        *ret = (Span){ rest->data, end ? (size_t) (end - rest->data) : rest->n };
        if (end)
                *rest = (Span){ end + 1, rest->n - ret->n - 1 };
        else
                *rest = (Span){ NULL, 0 };
        return true;
}

static bool is_name(Span s, const char *name) {
        return s.n == strlen(name) && !memcmp(s.data, name, s.n);
}

/* UINT32_MAX means "no id" to the kernel. */
static bool to_id(Span s, uint32_t *ret) {
        uint64_t v;

        if (!text_to_number(s.data, s.n, UINT32_MAX - 1, &v))
                return false;
        *ret = (uint32_t) v;
        return true;
}

int account_find(const char *passwd, size_t n, const char *name, Account *ret) {
        Span rest = { passwd, n };
        Span line, field, uid, gid;

        while (take(&rest, '\n', &line)) {
                Account a;

                if (!take(&line, ':', &field) || !is_name(field, name) ||
                    !take(&line, ':', &field) || !take(&line, ':', &uid) ||
                    !take(&line, ':', &gid) || !to_id(uid, &a.uid) || !to_id(gid, &a.gid))
                        continue;
                *ret = a;
                return 0;
        }
        return ACCOUNT_E_NONE;
}

typedef struct Group {
        Span name;
        uint32_t gid;
        Span members;
} Group;

/* The next line that is a group; false at the end. */
static bool next_group(Span *rest, Group *ret) {
        Span line, field, gid;

        while (take(rest, '\n', &line)) {
                Group g = { 0 };

                if (!take(&line, ':', &g.name) || !take(&line, ':', &field) ||
                    !take(&line, ':', &gid) || !to_id(gid, &g.gid))
                        continue;
                (void) take(&line, ':', &g.members);
                *ret = g;
                return true;
        }
        return false;
}

int group_find(const char *group, size_t n, const char *name, uint32_t *ret) {
        Span rest = { group, n };
        Group g;

        while (next_group(&rest, &g)) {
                if (!is_name(g.name, name))
                        continue;
                *ret = g.gid;
                return 0;
        }
        return ACCOUNT_E_NONE;
}

static bool is_member(Span members, const char *name) {
        Span one;

        while (take(&members, ',', &one))
                if (is_name(one, name))
                        return true;
        return false;
}

static bool is_in(const uint32_t *ids, size_t n, uint32_t id) {
        for (size_t i = 0; i < n; i++)
                if (ids[i] == id)
                        return true;
        return false;
}

int group_memberships(const char *group,
                      size_t n,
                      const char *name,
                      size_t max,
                      uint32_t *ret,
                      size_t *ret_n) {
        Span rest = { group, n };
        Group g;
        size_t found = 0;

        while (next_group(&rest, &g)) {
                if (!is_member(g.members, name) || is_in(ret, found, g.gid))
                        continue;
                if (found == max)
                        return ACCOUNT_E_TOO_MANY;
                ret[found++] = g.gid;
        }
        *ret_n = found;
        return 0;
}
