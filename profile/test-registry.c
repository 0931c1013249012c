/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "profile/descriptor-samples.h"
#include "profile/registry.h"
#include "selftest/cmocka-tap.h"

#define CODE(name) "sandbox.docker-profile-" name

typedef struct Place {
        char top[64], dir[96]; /* TOP/registry */
} Place;

static int setup(void **state) {
        Place *p = calloc(1, sizeof(*p));

        assert_non_null(p);
        strcpy(p->top, "/tmp/dindhost-registry-XXXXXX");
        assert_non_null(mkdtemp(p->top));
        snprintf(p->dir, sizeof(p->dir), "%s/registry", p->top);
        assert_int_equal(mkdir(p->dir, 0755), 0);
        *state = p;
        return 0;
}

static int teardown(void **state) {
        Place *p = *state;
        DIR *d = opendir(p->dir);
        const struct dirent *e;

        chmod(p->dir, 0755);
        while (d && (e = readdir(d)))
                if (unlinkat(dirfd(d), e->d_name, 0) < 0)
                        (void) unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
        closedir(d);
        rmdir(p->dir);
        rmdir(p->top);
        free(p);
        return 0;
}

/* Writes NAME with the managed sample, whose profile id is replaced when id is given. */
static void put(const Place *p, const char *name, const char *id) {
        static const char was[] = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";
        CLEANUP(freep) char *path = text_format("%s/%s", p->dir, name);
        char text[8192];

        sample_quotes(text, sizeof(text), sample_managed);
        if (id) {
                assert_int_equal(strlen(id), strlen(was));
                memcpy(strstr(text, was), id, strlen(id));
        }
        assert_int_equal(file_write_atomic(path, text, strlen(text), 0644, -1, -1), 0);
}

static void put_text(const Place *p, const char *name, const char *text) {
        CLEANUP(freep) char *path = text_format("%s/%s", p->dir, name);

        assert_int_equal(file_write_atomic(path, text, strlen(text), 0644, -1, -1), 0);
}

static void load(const Place *p, Registry *r) {
        assert_int_equal(registry_load_below(p->dir, getuid(), p->top, r), 0);
}

static void check_invalid(const Registry *r, const char *alias, const char *code) {
        const RegistryEntry *e = registry_find(r, alias);

        assert_non_null(e);
        assert_null(e->descriptor);
        if (strcmp(e->error.code, code))
                fail_msg("%s: %s (%s), not %s", alias, e->error.code, e->error.message, code);
        assert_true(*e->error.message);
}

#define OTHER_ID "00000000000000000000000000000001"

static void test_valid(void **state) {
        const Place *p = *state;
        CLEANUP(registry_donep) Registry r = { 0 };
        const RegistryEntry *e;

        put(p, "ws.json", NULL);
        load(p, &r);
        assert_int_equal(r.n, 1);
        e = registry_find(&r, "ws");
        assert_non_null(e);
        assert_non_null(e->descriptor);
        assert_string_equal(e->digest, SAMPLE_MANAGED_DIGEST);
        assert_null(registry_find(&r, "w"));
        assert_null(registry_find(&r, "ws.json"));
}

static void test_candidates(void **state UNUSED) {
        static const char *const yes[] = { "a.json",          ".json",           " a b.json",
                                           "assets-v0.json",  "assets-v01.json", "assets-v.json",
                                           "assets-v1a.json", "x.json.json",     "host.json" };
        static const char *const no[] = { "a.JSON",         "a.json~",         "a",
                                          "ws.host.json",   "ws.daemon.json",  "ws.resolv.conf",
                                          "assets-v1.json", "assets-v12.json", "json" };

        for (size_t i = 0; i < N_ELEMENTS(yes); i++)
                if (!registry_candidate(yes[i]))
                        fail_msg("'%s' is left out", yes[i]);
        for (size_t i = 0; i < N_ELEMENTS(no); i++)
                if (registry_candidate(no[i]))
                        fail_msg("'%s' is taken", no[i]);
}

/* One bad file of each kind: all shown with their codes, the good one stays usable. */
static void test_bad_ones_spoil_nobody(void **state) {
        const Place *p = *state;
        CLEANUP(registry_donep) Registry r = { 0 };
        CLEANUP(freep)
        char *good = text_format("%s/good.json", p->dir),
             *link_path = text_format("%s/link.json", p->dir),
             *mode = text_format("%s/mode.json", p->dir),
             *folder = text_format("%s/folder.json", p->dir),
             *fifo = text_format("%s/fifo.json", p->dir);

        put(p, "good.json", NULL);
        assert_int_equal(symlink(good, link_path), 0);
        put(p, "mode.json", OTHER_ID);
        assert_int_equal(chmod(mode, 0664), 0);
        assert_int_equal(mkdir(folder, 0755), 0);
        assert_int_equal(mkfifo(fifo, 0644), 0);
        put_text(p, "text.json", "not json");
        put_text(p, "version.json", "{\"schemaVersion\":3}");
        put(p, ".json", OTHER_ID);
        put(p, "a\\b.json", OTHER_ID);
        put(p, " \u3000.json", OTHER_ID);
        load(p, &r);
        assert_int_equal(r.n, 10);
        assert_non_null(registry_find(&r, "good")->descriptor);
        check_invalid(&r, "link", CODE("registry-symlink"));
        check_invalid(&r, "mode", CODE("registry-mode-invalid"));
        check_invalid(&r, "folder", CODE("registry-entry-invalid"));
        check_invalid(&r, "fifo", CODE("registry-entry-invalid"));
        check_invalid(&r, "text", CODE("schema-invalid"));
        check_invalid(&r, "version", CODE("unknown-version"));
        check_invalid(&r, "", CODE("registry-entry-invalid"));
        check_invalid(&r, "a\\b", CODE("registry-entry-invalid"));
        check_invalid(&r, " \u3000", CODE("registry-entry-invalid"));
}

static void test_owner(void **state) {
        const Place *p = *state;
        CLEANUP(registry_donep) Registry r = { 0 };

        put(p, "ws.json", NULL);
        assert_int_equal(registry_load_below(p->dir, getuid() + 1, p->top, &r), 0);
        check_invalid(&r, "ws", CODE("registry-owner-invalid"));
}

/* Owner before mode before parents before schema. */
static void test_order_of_checks(void **state) {
        const Place *p = *state;
        CLEANUP(registry_donep) Registry r = { 0 };
        CLEANUP(freep) char *path = text_format("%s/ws.json", p->dir);

        put_text(p, "ws.json", "{}");
        assert_int_equal(chmod(path, 0646), 0);
        assert_int_equal(chmod(p->dir, 0777), 0);
        assert_int_equal(registry_load_below(p->dir, getuid() + 1, p->top, &r), 0);
        check_invalid(&r, "ws", CODE("registry-owner-invalid"));
        registry_donep(&r);
        load(p, &r);
        check_invalid(&r, "ws", CODE("registry-mode-invalid"));
        registry_donep(&r);
        assert_int_equal(chmod(path, 0644), 0);
        load(p, &r);
        check_invalid(&r, "ws", CODE("registry-parent-writable"));
        registry_donep(&r);
        assert_int_equal(chmod(p->dir, 0755), 0);
        load(p, &r);
        check_invalid(&r, "ws", CODE("schema-invalid"));
}

/* Every folder above counts, sticky or not; /tmp itself is such a one. */
static void test_parents(void **state) {
        const Place *p = *state;
        CLEANUP(registry_donep) Registry r = { 0 };

        put(p, "ws.json", NULL);
        assert_int_equal(chmod(p->top, 01777), 0);
        load(p, &r);
        check_invalid(&r, "ws", CODE("registry-parent-writable"));
        registry_donep(&r);
        assert_int_equal(chmod(p->top, 0755), 0);
        load(p, &r);
        assert_non_null(registry_find(&r, "ws")->descriptor);
        registry_donep(&r);
        assert_int_equal(registry_load(p->dir, getuid(), &r), 0);
        check_invalid(&r, "ws", CODE("registry-parent-writable"));
}

static void test_duplicates(void **state) {
        const Place *p = *state;
        CLEANUP(registry_donep) Registry r = { 0 };

        put(p, "b.json", NULL);
        put(p, "c.json", NULL);
        put(p, "a.json", OTHER_ID);
        load(p, &r);
        assert_non_null(registry_find(&r, "a")->descriptor);
        assert_non_null(registry_find(&r, "b")->descriptor);
        check_invalid(&r, "c", CODE("registry-duplicate-id"));
        assert_non_null(strstr(registry_find(&r, "c")->error.message, "'b'"));
}

/* An invalid file does not take the place of a valid one. */
static void test_invalid_is_no_duplicate(void **state) {
        const Place *p = *state;
        CLEANUP(registry_donep) Registry r = { 0 };
        CLEANUP(freep) char *path = text_format("%s/a.json", p->dir);

        put(p, "a.json", NULL);
        put(p, "b.json", NULL);
        assert_int_equal(chmod(path, 0666), 0);
        load(p, &r);
        check_invalid(&r, "a", CODE("registry-mode-invalid"));
        assert_non_null(registry_find(&r, "b")->descriptor);
}

/* UTF-16 order, not that of bytes; and names that are no UTF-8 become readable ones. */
static void test_sorted(void **state) {
        const Place *p = *state;
        CLEANUP(registry_donep) Registry r = { 0 };

        put_text(p, "\U0001f600.json", "1");
        put_text(p, "\ue000.json", "1");
        put_text(p, "b.json", "1");
        put_text(p, "B.json", "1");
        put_text(p, "x\xff.json", "1");
        load(p, &r);
        assert_int_equal(r.n, 5);
        assert_string_equal(r.entries[0].alias, "B");
        assert_string_equal(r.entries[1].alias, "b");
        assert_string_equal(r.entries[2].alias, "x\ufffd");
        assert_string_equal(r.entries[3].alias, "\U0001f600");
        assert_string_equal(r.entries[4].alias, "\ue000");
}

static void test_no_folder(void **state UNUSED) {
        Registry r;

        assert_int_equal(registry_load("/no/such/folder", 0, &r), -ENOENT);
        assert_int_equal(registry_load("/dev/null", 0, &r), -ENOTDIR);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_valid, setup, teardown),
                cmocka_unit_test(test_candidates),
                cmocka_unit_test_setup_teardown(test_bad_ones_spoil_nobody, setup, teardown),
                cmocka_unit_test_setup_teardown(test_owner, setup, teardown),
                cmocka_unit_test_setup_teardown(test_order_of_checks, setup, teardown),
                cmocka_unit_test_setup_teardown(test_parents, setup, teardown),
                cmocka_unit_test_setup_teardown(test_duplicates, setup, teardown),
                cmocka_unit_test_setup_teardown(test_invalid_is_no_duplicate, setup, teardown),
                cmocka_unit_test_setup_teardown(test_sorted, setup, teardown),
                cmocka_unit_test(test_no_folder),
        };

        return RUN_TAP(tests);
}
