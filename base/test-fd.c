/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "selftest/cmocka-tap.h"

typedef struct Place {
        char dir[64];
        char file[96];
} Place;

static int setup(void **state) {
        Place *p = calloc(1, sizeof(*p));

        assert_non_null(p);
        strcpy(p->dir, "/tmp/dindhost-fd-XXXXXX");
        assert_non_null(mkdtemp(p->dir));
        snprintf(p->file, sizeof(p->file), "%s/file", p->dir);
        *state = p;
        return 0;
}

static int teardown(void **state) {
        Place *p = *state;
        DIR *d = opendir(p->dir);
        const struct dirent *e;

        while ((e = readdir(d)))
                (void) unlinkat(dirfd(d), e->d_name, e->d_type == DT_DIR ? AT_REMOVEDIR : 0);
        closedir(d);
        rmdir(p->dir);
        free(p);
        return 0;
}

static size_t count_files(const char *dir) {
        DIR *d = opendir(dir);
        size_t n = 0;

        while (readdir(d))
                n++;
        closedir(d);
        return n - 2;
}

static void test_read(void **state) {
        const Place *p = *state;
        CLEANUP(freep) char *text = NULL;
        size_t n = 0;

        assert_int_equal(file_read(p->file, 100, &text, &n), -ENOENT);
        assert_null(text);
        assert_int_equal(file_write_atomic(p->file, "a\0b", 3, 0600, -1, -1), 0);
        assert_int_equal(file_read(p->file, 3, &text, &n), 0);
        assert_int_equal(n, 3);
        assert_memory_equal(text, "a\0b\0", 4);
}

static void test_read_limit(void **state) {
        const Place *p = *state;
        CLEANUP(freep) char *text = NULL;

        assert_int_equal(file_write_atomic(p->file, "0123456789", 10, 0600, -1, -1), 0);
        assert_int_equal(file_read(p->file, 9, &text, NULL), -EFBIG);
        assert_null(text);
        assert_int_equal(file_read(p->file, 10, &text, NULL), 0);
}

static void test_read_no_links(void **state) {
        const Place *p = *state;
        CLEANUP(freep) char *link_path = text_format("%s/link", p->dir), *text = NULL;

        assert_int_equal(file_write_atomic(p->file, "x", 1, 0600, -1, -1), 0);
        assert_int_equal(symlink(p->file, link_path), 0);
        assert_int_equal(file_read(link_path, 10, &text, NULL), -ELOOP);
        assert_false(file_equals(link_path, "x", 1));
}

static void test_write_atomic(void **state) {
        const Place *p = *state;
        struct stat st;

        assert_int_equal(file_write_atomic(p->file, "one", 3, 0640, -1, -1), 0);
        assert_int_equal(stat(p->file, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0640);
        assert_true(file_equals(p->file, "one", 3));
        assert_false(file_equals(p->file, "one!", 4));
        assert_false(file_equals(p->file, "on", 2));
        assert_false(file_equals(p->file, "two", 3));
        assert_int_equal(file_write_atomic(p->file, "two!", 4, 0600, -1, -1), 0);
        assert_true(file_equals(p->file, "two!", 4));
        assert_int_equal(count_files(p->dir), 1);
}

/* A failure leaves neither a temporary file nor a changed target. */
static void test_write_fails(void **state) {
        const Place *p = *state;
        CLEANUP(freep) char *nowhere = text_format("%s/no/file", p->dir);

        assert_int_equal(file_write_atomic(nowhere, "x", 1, 0600, -1, -1), -ENOENT);
        assert_int_equal(mkdir(p->file, 0700), 0);
        assert_true(file_write_atomic(p->file, "x", 1, 0600, -1, -1) < 0);
        assert_int_equal(count_files(p->dir), 1);
}

static void test_write_all(void **state UNUSED) {
        CLEANUP(fd_closep) int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

        assert_int_equal(fd_write_all(fd, "", 0), 0);
        assert_int_equal(fd_write_all(fd, "x", 1), -ENOSPC);
        assert_int_equal(fd_write_all(-EBADF, "x", 1), -EBADF);
}

static void test_dir_make(void **state) {
        const Place *p = *state;
        CLEANUP(freep) char *link_path = text_format("%s/link", p->dir);
        struct stat st;

        assert_int_equal(dir_make(p->file, 0750, getuid(), getgid()), 1);
        assert_int_equal(dir_make(p->file, 0750, getuid(), getgid()), 0);
        assert_int_equal(dir_make(p->file, 0700, getuid(), getgid()), 1);
        assert_int_equal(stat(p->file, &st), 0);
        assert_int_equal(st.st_mode, S_IFDIR | 0700);
        assert_int_equal(symlink(p->file, link_path), 0);
        assert_true(dir_make(link_path, 0700, getuid(), getgid()) < 0);
}

static void test_take(void **state UNUSED) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        int taken = TAKE_FD(fd);

        assert_int_equal(fd, -EBADF);
        errno = 4711;
        fd_closep(&taken);
        assert_int_equal(errno, 4711);
        assert_int_equal(fcntl(taken, F_GETFD), -1);
        fd_closep(&fd); /* harmless */
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_read, setup, teardown),
                cmocka_unit_test_setup_teardown(test_read_limit, setup, teardown),
                cmocka_unit_test_setup_teardown(test_read_no_links, setup, teardown),
                cmocka_unit_test_setup_teardown(test_write_atomic, setup, teardown),
                cmocka_unit_test_setup_teardown(test_write_fails, setup, teardown),
                cmocka_unit_test(test_write_all),
                cmocka_unit_test_setup_teardown(test_dir_make, setup, teardown),
                cmocka_unit_test(test_take),
        };

        return RUN_TAP(tests);
}
