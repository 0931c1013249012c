/* SPDX-License-Identifier: MIT */
#include "profile/registry.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "profile/descriptor-schema.h"

void registry_donep(Registry *r) {
        for (size_t i = 0; i < r->n; i++) {
                free(r->entries[i].alias);
                free(r->entries[i].path);
                descriptor_free(r->entries[i].descriptor);
        }
        free(r->entries);
        *r = (Registry){ 0 };
}

/* assets-vN.json with N a positive number that does not start with 0 */
static bool is_assets(const char *name) {
        const char *digits = name + strlen("assets-v");

        if (!text_has_prefix(name, "assets-v") || *digits < '1' || *digits > '9')
                return false;
        return !strcmp(digits + strspn(digits, "0123456789"), ".json");
}

bool registry_candidate(const char *name) {
        return text_has_suffix(name, ".json") && !text_has_suffix(name, ".host.json") &&
                        !text_has_suffix(name, ".daemon.json") && !is_assets(name);
}

/* Length of the well-formed UTF-8 sequence at s, 0 when there is none. */
static size_t utf8_length(const char *s) {
        for (size_t n = 1; n <= 4; n++) {
                CLEANUP(json_decrefp) json_t *ok = json_stringn(s, n);

                if (ok)
                        return n;
                if (!s[n])
                        break;
        }
        return 0;
}

/* The alias of a file name, every byte that is no UTF-8 as U+FFFD. */
static char *alias_of(const char *name) {
        size_t n = strlen(name) - strlen(".json"), k = 0;
        CLEANUP(freep) char *stem = strndup(name, n);
        char *alias = malloc(3 * n + 1);

        if (!stem || !alias) {
                free(alias);
                return NULL;
        }
        for (const char *s = stem; *s;) {
                size_t sequence = utf8_length(s);

                memcpy(alias + k, sequence ? s : "\ufffd", sequence ? sequence : 3);
                k += sequence ? sequence : 3;
                s += sequence ? sequence : 1;
        }
        alias[k] = 0;
        return alias;
}

/* Is path or a folder above it, up to top, writable by others than its owner? Cuts path up. */
static int walk_up(char *path, const char *top, DescriptorError *e) {
        size_t n_top = strcmp(top, "/") ? strlen(top) : 0;

        for (;;) {
                const char *folder = *path ? path : "/";
                char *slash = strrchr(path, '/');
                struct stat st;

                if (stat(folder, &st) < 0)
                        return -errno;
                if (st.st_mode & 022)
                        return descriptor_refuse(e,
                                                 "registry-parent-writable",
                                                 folder,
                                                 "the folder %s has mode %04o: group or others "
                                                 "can write to it",
                                                 folder,
                                                 (unsigned) st.st_mode & 07777);
                if (!slash || strlen(path) <= n_top)
                        return 0;
                *slash = 0;
        }
}

/* Both the path as it is written, as clients walk it, and where it really leads. */
static int check_parents(const char *dir, const char *top, DescriptorError *e) {
        CLEANUP(freep) char *written = strdup(dir), *real = realpath(dir, NULL);
        int r;

        if (!written || !real)
                return -errno;
        r = walk_up(written, top, e);
        return r < 0 ? r : walk_up(real, top, e);
}

static int check_file(int fd, uid_t owner, const char *path, DescriptorError *e) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return descriptor_refuse(
                                e, "registry-entry-invalid", path, "is not a regular file");
        if (st.st_uid != owner)
                return descriptor_refuse(e,
                                         "registry-owner-invalid",
                                         path,
                                         "is owned by uid %u, not %u",
                                         (unsigned) st.st_uid,
                                         (unsigned) owner);
        if (st.st_mode & 022)
                return descriptor_refuse(e,
                                         "registry-mode-invalid",
                                         path,
                                         "has mode %04o: group or others can write to it",
                                         (unsigned) st.st_mode & 07777);
        return 0;
}

static int open_entry(int dir_fd, const char *name, const char *path, DescriptorError *e) {
        /* O_NONBLOCK: a FIFO must not hold us up before it is refused */
        int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

        if (fd >= 0)
                return fd;
        if (errno == ELOOP)
                return descriptor_refuse(e, "registry-symlink", path, "is a symbolic link");
        if (errno == ENOMEM)
                return -errno;
        return descriptor_refuse(
                        e, "registry-entry-invalid", path, "cannot be opened: %s", strerror(errno));
}

/* Judges and reads one file; -EINVAL leaves the reason in the entry, other errors are ours. */
static int read_entry(int dir_fd,
                      const char *name,
                      uid_t owner,
                      const DescriptorError *parents,
                      RegistryEntry *entry) {
        CLEANUP(fd_closep) int fd = -EBADF;
        CLEANUP(freep) char *text = NULL;
        DescriptorError *e = &entry->error;
        size_t n;
        int r;

        if (text_is_blank(entry->alias) || strchr(entry->alias, '\\'))
                return descriptor_refuse(e,
                                         "registry-entry-invalid",
                                         entry->path,
                                         "is not a possible alias");
        fd = open_entry(dir_fd, name, entry->path, e);
        if (fd < 0)
                return fd;
        r = check_file(fd, owner, entry->path, e);
        if (r < 0)
                return r;
        if (parents->code[0]) {
                *e = *parents;
                return -EINVAL;
        }
        r = fd_read_all(fd, DESCRIPTOR_MAX, &text, &n);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return descriptor_refuse(e,
                                         "registry-entry-invalid",
                                         entry->path,
                                         "cannot be read: %s",
                                         strerror(-r));
        r = descriptor_parse_text(text, n, &entry->descriptor, e);
        if (r < 0)
                return r;
        return descriptor_digest(entry->descriptor->root, entry->digest);
}

static int add_entry(Registry *r,
                     const char *dir,
                     int dir_fd,
                     const char *name,
                     uid_t owner,
                     const DescriptorError *parents) {
        RegistryEntry *p = reallocarray(r->entries, r->n + 1, sizeof(*p));
        RegistryEntry *entry;
        int k;

        if (!p)
                return -ENOMEM;
        r->entries = p;
        entry = p + r->n++;
        *entry = (RegistryEntry){ .alias = alias_of(name),
                                  .path = text_format("%s/%s", dir, name) };
        if (!entry->alias || !entry->path)
                return -ENOMEM;
        k = read_entry(dir_fd, name, owner, parents, entry);
        return k == -EINVAL ? 0 : k;
}

static int read_folder(DIR *d, const char *dir, uid_t owner, const char *top, Registry *r) {
        DescriptorError parents = { 0 };
        int k = check_parents(dir, top, &parents);

        if (k < 0 && !parents.code[0])
                return k;
        for (;;) {
                const struct dirent *entry;

                errno = 0;
                entry = readdir(d);
                if (!entry)
                        return -errno;
                if (!registry_candidate(entry->d_name))
                        continue;
                k = add_entry(r, dir, dirfd(d), entry->d_name, owner, &parents);
                if (k < 0)
                        return k;
        }
}

static int by_alias(const void *a, const void *b) {
        const RegistryEntry *x = a, *y = b;

        return json_compare_keys(x->alias, y->alias);
}

/* The later of two valid entries with one alias or one profile id is refused. */
static void refuse_double(const RegistryEntry *first, RegistryEntry *later) {
        if (!first->descriptor || !later->descriptor)
                return;
        if (!strcmp(first->alias, later->alias))
                descriptor_refuse(&later->error,
                                  "registry-ambiguous-alias",
                                  later->path,
                                  "%s has the same alias",
                                  first->path);
        else if (!strcmp(first->descriptor->profile_id, later->descriptor->profile_id))
                descriptor_refuse(&later->error,
                                  "registry-duplicate-id",
                                  later->path,
                                  "profileId %s is already published as '%s'",
                                  later->descriptor->profile_id,
                                  first->alias);
        else
                return;
        later->descriptor = descriptor_free(later->descriptor);
}

int registry_load_below(const char *dir, uid_t owner, const char *top, Registry *ret) {
        CLEANUP(registry_donep) Registry r = { 0 };
        DIR *d = opendir(dir);
        int k;

        if (!d)
                return -errno;
        k = read_folder(d, dir, owner, top, &r);
        closedir(d);
        if (k < 0)
                return k;
        if (r.n > 0)
                qsort(r.entries, r.n, sizeof(*r.entries), by_alias);
        for (size_t i = 0; i < r.n; i++)
                for (size_t j = 0; j < i; j++)
                        refuse_double(r.entries + j, r.entries + i);
        *ret = r;
        r = (Registry){ 0 };
        return 0;
}

int registry_load(const char *dir, uid_t owner, Registry *ret) {
        return registry_load_below(dir, owner, "/", ret);
}

const RegistryEntry *registry_find(const Registry *r, const char *alias) {
        for (size_t i = 0; i < r->n; i++)
                if (!strcmp(r->entries[i].alias, alias))
                        return r->entries + i;
        return NULL;
}
