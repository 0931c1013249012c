/* SPDX-License-Identifier: MIT */
#include "profile/kernel-text.h"

#include <endian.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "profile/kernel-facts.h"

/* Next line of text, cut at the buffer's end; NULL after the last. */
static const char *next_line(const char *text, char *buf, size_t n) {
        size_t k = strcspn(text, "\n");

        if (!*text)
                return NULL;
        snprintf(buf, n, "%.*s", (int) (k < n ? k : n - 1), text);
        return text + k + (text[k] == '\n');
}

bool cgroup_path_parse(const char *text, char *ret, size_t n) {
        while (*text) {
                size_t k = strcspn(text, "\n");

                if (!strncmp(text, "0::/", 4)) {
                        if (k - 3 >= n)
                                return false;
                        snprintf(ret, n, "%.*s", (int) (k - 3), text + 3);
                        return true;
                }
                text += k + (text[k] == '\n');
        }
        return false;
}

bool cgroup_is_below(const char *path, const char *above) {
        size_t n = strlen(above);

        while (n > 0 && above[n - 1] == '/')
                n--;
        return !strncmp(path, above, n) && path[n] == '/' && path[n + 1];
}

bool cgroup_container_scope(const char *path, const char *container_id, char *ret, size_t n) {
        char name[128];
        const char *p;
        size_t k;

        snprintf(name, sizeof(name), "/docker-%s.scope", container_id);
        p = strstr(path, name);
        if (!p)
                return false;
        k = (size_t) (p - path) + strlen(name);
        if ((path[k] && path[k] != '/') || k >= n)
                return false;
        snprintf(ret, n, "%.*s", (int) k, path);
        return true;
}

bool cgroup_in_container(const char *path) {
        for (const char *p = path; (p = strstr(p, "/docker-")); p++) {
                size_t n = strcspn(p + 1, "/");

                if (n > 6 && !strncmp(p + 1 + n - 6, ".scope", 6))
                        return true;
        }
        return false;
}

static size_t word_length(const char *text) {
        return strcspn(text, " \t\n");
}

bool limit_parse(const char *text, uint64_t *ret) {
        char word[32];
        size_t n = word_length(text);

        if (n == 0 || n >= sizeof(word) || text[n + strspn(text + n, " \t\n")])
                return false;
        snprintf(word, sizeof(word), "%.*s", (int) n, text);
        if (!strcmp(word, "max")) {
                *ret = LIMIT_NONE;
                return true;
        }
        return parse_uint(word, UINT64_MAX - 1, ret) >= 0;
}

bool cpu_max_parse(const char *text, uint64_t *ret_milli) {
        unsigned long long quota, period;

        if (!strncmp(text, "max ", 4)) {
                *ret_milli = LIMIT_NONE;
                return true;
        }
        if (sscanf(text, "%llu %llu", &quota, &period) != 2 || period == 0 ||
            quota > UINT64_MAX / 1000)
                return false;
        *ret_milli = quota * 1000 / period;
        return true;
}

size_t cgroup_v1_bound(const char *text, const char *controllers, char *ret, size_t n) {
        char line[256], name[64];
        size_t found = 0, used = 0;
        unsigned hierarchy;

        ret[0] = 0;
        while ((text = next_line(text, line, sizeof(line)))) {
                if (line[0] == '#' || sscanf(line, "%63s %u", name, &hierarchy) != 2 ||
                    hierarchy == 0 || !has_word(controllers, name))
                        continue;
                if (used < n)
                        used += (size_t) snprintf(
                                        ret + used, n - used, "%s%s", found ? " " : "", name);
                found++;
        }
        return found;
}

#define TCP_LISTEN 0x0a /* include/net/tcp_states.h */

void tcp_listeners(const char *text, void (*fn)(void *userdata, uint64_t inode), void *userdata) {
        char line[512];

        while ((text = next_line(text, line, sizeof(line)))) {
                unsigned long long inode;
                unsigned state;

                /* sl local remote st queues timer retransmits uid timeout inode */
                if (sscanf(line, " %*u: %*s %*s %x %*s %*s %*s %*u %*u %llu", &state, &inode) ==
                                    2 &&
                    state == TCP_LISTEN)
                        fn(userdata, inode);
        }
}

bool status_uids(const char *text, uid_t ret[static 4]) {
        const char *p = strstr(text, "\nUid:");
        unsigned v[4];

        if (!p || sscanf(p + 5, "%u %u %u %u", v, v + 1, v + 2, v + 3) != 4)
                return false;
        for (size_t i = 0; i < 4; i++)
                ret[i] = v[i];
        return true;
}

typedef struct SubLine {
        char name[256];
        unsigned long long first, count;
} SubLine;

static bool sub_line(const char *line, SubLine *ret) {
        return sscanf(line, "%255[^:]:%llu:%llu", ret->name, &ret->first, &ret->count) == 3 &&
                        ret->count > 0;
}

static void find_own(const char *text, const char *account, SubIds *ret) {
        char line[512];
        SubLine s;

        while ((text = next_line(text, line, sizeof(line))))
                if (sub_line(line, &s) && !strcmp(s.name, account) && s.count > ret->count) {
                        ret->first = s.first;
                        ret->count = s.count;
                }
}

void subids_parse(const char *text, const char *account, SubIds *ret) {
        const char *next;
        char line[512];
        SubLine s;

        *ret = (SubIds){ 0 };
        find_own(text, account, ret);
        for (; ret->count > 0 && !ret->overlap && (next = next_line(text, line, sizeof(line)));
             text = next) {
                if (!sub_line(line, &s) || !strcmp(s.name, account) ||
                    s.first >= ret->first + ret->count || ret->first >= s.first + s.count)
                        continue;
                ret->overlap = text;
                ret->n_overlap = (int) strcspn(text, "\n");
        }
}

bool acl_group_permissions(const void *acl, size_t n, gid_t gid, unsigned *ret) {
        struct posix_acl_xattr_header header;
        unsigned mask = 7, found = 8;

        if (n < sizeof(header))
                return false;
        memcpy(&header, acl, sizeof(header));
        if (le32toh(header.a_version) != POSIX_ACL_XATTR_VERSION)
                return false;
        for (size_t at = sizeof(header); at + sizeof(struct posix_acl_xattr_entry) <= n;
             at += sizeof(struct posix_acl_xattr_entry)) {
                struct posix_acl_xattr_entry e;

                memcpy(&e, (const char *) acl + at, sizeof(e));
                if (le16toh(e.e_tag) == ACL_MASK)
                        mask = le16toh(e.e_perm) & 7;
                else if (le16toh(e.e_tag) == ACL_GROUP && le32toh(e.e_id) == gid)
                        found = le16toh(e.e_perm) & 7;
        }
        if (found == 8)
                return false;
        *ret = found & mask;
        return true;
}

/* Module names and file names mix '-' and '_'. */
static bool same_module(const char *file, size_t n, const char *module) {
        if (strlen(module) != n)
                return false;
        for (size_t i = 0; i < n; i++)
                if ((file[i] == '-' ? '_' : file[i]) != (module[i] == '-' ? '_' : module[i]))
                        return false;
        return true;
}

bool module_is_listed(const char *text, const char *module) {
        while (*text) {
                /* modules.dep: only what is before the colon is the line's own module */
                size_t n = strcspn(text, "\n"), k = strcspn(text, ":\n"), from = k;
                const char *end;

                while (from > 0 && text[from - 1] != '/')
                        from--;
                end = memmem(text + from, k - from, ".ko", 3);
                if (end && same_module(text + from, (size_t) (end - text) - from, module))
                        return true;
                text += n + (text[n] == '\n');
        }
        return false;
}
