/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/spawn.h"
#include "selftest/cmocka-tap.h"

#define LONG (60 * USEC_PER_SEC)

static int shell(const char *script, uint64_t timeout, char **output) {
        char *const argv[] = { (char *) "sh", (char *) "-c", (char *) script, NULL };

        return spawn_wait(argv, timeout, output);
}

static void test_output(void **state UNUSED) {
        CLEANUP(freep) char *out = NULL;

        assert_int_equal(shell("echo one; echo two >&2; echo; exit 3", LONG, &out), 3);
        assert_string_equal(out, "one\ntwo");
        assert_int_equal(shell("exit 0", LONG, NULL), 0);
}

static void test_signal(void **state UNUSED) {
        assert_int_equal(shell("kill -9 $$", LONG, NULL), 128 + 9);
}

static void test_not_found(void **state UNUSED) {
        char *const argv[] = { (char *) "dindhost-no-such-program", NULL };
        char *out = NULL;

        assert_int_equal(spawn_wait(argv, LONG, &out), -ENOENT);
        assert_null(out);
}

/* Arguments stay arguments. */
static void test_no_shell(void **state UNUSED) {
        char *const argv[] = {
                (char *) "printf", (char *) "%s|", (char *) "a b; $(x) *", (char *) "--help", NULL
        };
        CLEANUP(freep) char *out = NULL;

        assert_int_equal(spawn_wait(argv, LONG, &out), 0);
        assert_string_equal(out, "a b; $(x) *|--help|");
}

static void test_environment(void **state UNUSED) {
        CLEANUP(freep) char *out = NULL;

        setenv("DINDHOST_TEST_SECRET", "1", 1);
        assert_int_equal(shell("echo \"${DINDHOST_TEST_SECRET-none} $LC_ALL\"; cat", LONG, &out),
                         0);
        assert_string_equal(out, "none C.UTF-8");
}

/* Masks and ignored signals of ours are not handed on. */
static void test_signals_are_reset(void **state UNUSED) {
        sigset_t all, old;
        int r;

        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, &old);
        signal(SIGTERM, SIG_IGN);
        r = shell("kill -TERM $$; sleep 5; exit 7", LONG, NULL);
        signal(SIGTERM, SIG_DFL);
        sigprocmask(SIG_SETMASK, &old, NULL);
        assert_int_equal(r, 128 + SIGTERM);
}

static void test_deadline(void **state UNUSED) {
        uint64_t start = boottime_usec();
        CLEANUP(freep) char *out = NULL;

        /* the child that keeps the pipe open is killed with its group */
        assert_int_equal(shell("echo started; sleep 300", 3 * USEC_PER_SEC, &out), -ETIMEDOUT);
        assert_string_equal(out, "started");
        assert_true(boottime_usec() - start < 100 * USEC_PER_SEC);
}

static void test_much_output(void **state UNUSED) {
        CLEANUP(freep) char *out = NULL;

        assert_int_equal(shell("head -c 1000000 /dev/zero | tr '\\0' x; exit 4", LONG, &out), 4);
        assert_int_equal(strlen(out), SPAWN_OUTPUT_MAX);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_output),      cmocka_unit_test(test_signal),
                cmocka_unit_test(test_not_found),   cmocka_unit_test(test_no_shell),
                cmocka_unit_test(test_environment), cmocka_unit_test(test_signals_are_reset),
                cmocka_unit_test(test_deadline),    cmocka_unit_test(test_much_output),
        };

        return RUN_TAP(tests);
}
