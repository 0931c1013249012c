/* SPDX-License-Identifier: MIT */
#include "profile/conf.h"

#include <dirent.h>
#include <fcntl.h>
#include <libeconf.h>
#include <libeconf_ext.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/fd.h"
#include "base/text.h"
#include "profile/conf-keys.h"
#include "profile/conf-scan.h"

#define CONF_FILE_MAX (256 * 1024)

void profile_conf_donep(ProfileConf *c) {
        for (size_t i = 0; i < c->n_access_users; i++)
                free(c->access_users[i]);
        for (size_t i = 0; i < c->n_dns_servers; i++)
                free(c->dns_servers[i]);
        free(c->rootless_script);
        free(c->runtime);
        free(c->smoke_image);
        free(c->smoke_user);
        *c = (ProfileConf){ 0 };
}

/* Where each key was set last, for messages about rules between keys. */
typedef struct Origin {
        char *file; /* NULL: nowhere, the default holds */
        unsigned line;
} Origin;

typedef struct Loader {
        ProfileConf *conf;
        Origin *origins; /* one for each of conf_keys[] */
        char **message;
} Loader;

/* "FILE:LINE: TEXT"; line 0 is left out. Returns -EINVAL. */
static int refuse(Loader *l, const char *file, unsigned line, const char *fmt, ...)
                PRINTF_FORMAT(4, 5);
static int refuse(Loader *l, const char *file, unsigned line, const char *fmt, ...) {
        CLEANUP(freep) char *text = NULL;
        va_list ap;

        va_start(ap, fmt);
        if (vasprintf(&text, fmt, ap) < 0)
                text = NULL;
        va_end(ap);
        *l->message = line ? text_format("%s:%u: %s", file, line, text ? text : fmt)
                           : text_format("%s: %s", file, text ? text : fmt);
        return -EINVAL;
}

static int set_key(Loader *l, const char *file, econf_file *f, const ConfKey *key, unsigned line) {
        Origin *o = l->origins + (key - conf_keys);
        econf_ext_value *v = NULL;
        char rule[256] = "must be one line";
        const char *text;
        char *copy;
        int r;

        if (econf_getExtValue(f, key->section, key->name, &v) != ECONF_SUCCESS)
                return refuse(l, file, line, "[%s] %s= cannot be read", key->section, key->name);
        text = v->values && v->values[0] ? v->values[0] : "";
        r = v->values && v->values[0] && v->values[1] ? -EINVAL
                                                      : conf_key_set(key, text, l->conf, rule);
        if (r == -EINVAL)
                refuse(l, file, line, "[%s] %s=%.128s %s", key->section, key->name, text, rule);
        econf_freeExtValue(v);
        if (r < 0)
                return r;
        copy = strdup(file);
        if (!copy)
                return -ENOMEM;
        free(o->file);
        *o = (Origin){ .file = copy, .line = line };
        return 0;
}

/*
 * The text without its comments, as a file in memory: what is one differs between libeconf 0.5
 * (Debian 12) and 0.7 (Debian 13), which takes a second '#' in a comment line for a value without
 * '='. A comment is what follows a '#' or ';', whichever library reads. Line numbers stay.
 */
static int plain_file(const char *text, size_t n) {
        CLEANUP(fd_closep) int fd = memfd_create("profile", MFD_CLOEXEC);
        int r = fd < 0 ? -errno : 0;

        for (size_t at = 0; r >= 0 && at < n;) {
                size_t line = strcspn(text + at, "\n");

                r = fd_write_all(fd, text + at, strcspn(text + at, "#;\n"));
                if (r >= 0)
                        r = fd_write_all(fd, "\n", 1);
                at += line + 1;
        }
        return r < 0 ? r : TAKE_FD(fd);
}

static int
load_values(Loader *l, const char *file, const char *text, size_t n, const unsigned lines[]) {
        CLEANUP(fd_closep) int fd = plain_file(text, n);
        econf_file *f = NULL;
        char path[32];
        econf_err e;
        int r = 0;

        if (fd < 0)
                return fd;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        e = econf_readFile(&f, path, "=", "#;");

        if (e != ECONF_SUCCESS) {
                CLEANUP(freep) char *where = NULL;
                uint64_t line = 0;

                econf_errLocation(&where, &line);
                return refuse(l, file, (unsigned) line, "%s", econf_errString(e));
        }
        for (size_t i = 0; r >= 0 && i < n_conf_keys; i++)
                if (lines[i])
                        r = set_key(l, file, f, conf_keys + i, lines[i]);
        econf_freeFile(f);
        return r;
}

/* Follows links: an admin's file may well be one, and nobody else can write to its folder. */
static int read_text(const char *file, char **ret, size_t *ret_n) {
        CLEANUP(fd_closep) int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);

        return fd < 0 ? -errno : fd_read_all(fd, CONF_FILE_MAX, ret, ret_n);
}

static int load_file(Loader *l, const char *file) {
        CLEANUP(freep) unsigned *lines = calloc(n_conf_keys, sizeof(*lines));
        CLEANUP(freep) char *text = NULL;
        char rule[256] = "";
        unsigned line = 0;
        size_t n;
        int r;

        if (!lines)
                return -ENOMEM;
        r = read_text(file, &text, &n);
        if (r < 0) {
                (void) refuse(l,
                              file,
                              0,
                              "%s%s",
                              strerror(-r),
                              r == -ENOENT ? "; 'dindhost profile init' writes one" : "");
                return r;
        }
        r = conf_scan(text, n, lines, &line, rule);
        if (r == -EINVAL)
                return refuse(l, file, line, "%s", rule);
        return r < 0 ? r : load_values(l, file, text, n, lines);
}

static int is_dropin(const struct dirent *d) {
        return d->d_name[0] != '.' && text_has_suffix(d->d_name, ".conf");
}

/* What is in FILE.d and ends in .conf, in the order of its names; a later value wins. */
static int load_dropins(Loader *l, const char *conf_path) {
        CLEANUP(freep) char *dir = text_format("%s.d", conf_path);
        struct dirent **list = NULL;
        int n, r = 0;

        if (!dir)
                return -ENOMEM;
        n = scandir(dir, &list, is_dropin, alphasort);
        if (n < 0)
                return errno == ENOENT ? 0 : -errno;
        for (int i = 0; i < n; i++) {
                CLEANUP(freep) char *file = text_format("%s/%s", dir, list[i]->d_name);

                if (r >= 0)
                        r = file ? load_file(l, file) : -ENOMEM;
                free(list[i]);
        }
        free(list);
        return r;
}

static int check(Loader *l, const char *conf_path) {
        ProfileConf *c = l->conf;
        const ConfKey *key;
        const Origin *o;
        char rule[256];

        for (size_t i = 0; i < n_conf_keys; i++)
                if (!conf_keys[i].value && !l->origins[i].file)
                        return refuse(l,
                                      conf_path,
                                      0,
                                      "[%s] %s= is missing (%s)",
                                      conf_keys[i].section,
                                      conf_keys[i].name,
                                      conf_keys[i].help);
        if (c->slot_inodes == 0)
                c->slot_inodes = c->slot_bytes / 16384;
        if (conf_check(c, &key, rule))
                return 0;
        o = l->origins + (key - conf_keys);
        return refuse(l,
                      o->file ? o->file : conf_path,
                      o->line,
                      "[%s] %s= %s",
                      key->section,
                      key->name,
                      rule);
}

static int load_all(Loader *l, const char *conf_path) {
        int r = conf_set_defaults(l->conf);

        if (r >= 0)
                r = load_file(l, conf_path);
        if (r >= 0)
                r = load_dropins(l, conf_path);
        return r < 0 ? r : check(l, conf_path);
}

int profile_conf_load(const char *conf_path, ProfileConf *ret, char **ret_message) {
        CLEANUP(profile_conf_donep) ProfileConf c = { 0 };
        Loader l = { .conf = &c, .message = ret_message };
        int r;

        *ret_message = NULL;
        l.origins = calloc(n_conf_keys, sizeof(*l.origins));
        if (!l.origins)
                return -ENOMEM;
        r = load_all(&l, conf_path);
        for (size_t i = 0; i < n_conf_keys; i++)
                free(l.origins[i].file);
        free(l.origins);
        if (r < 0) {
                if (!*ret_message)
                        *ret_message = text_format("%s: %s", conf_path, strerror(-r));
                return r;
        }
        *ret = c;
        c = (ProfileConf){ 0 };
        return 0;
}
