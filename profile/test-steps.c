/* SPDX-License-Identifier: MIT */
/*
 * The step runner against a pretend host: each step sets one thing in it. For every step, failing
 * before and after its action, the host must be afterwards what it was before.
 */
#include "selftest/cmocka-tap.h"

#include <stdio.h>
#include <string.h>

#include "profile/steps.h"

#define N_STEPS 4

typedef struct Host {
        bool is[N_STEPS];   /* what is there */
        bool made[N_STEPS]; /* by this run */
        int fails;          /* the step (from 1) that fails by itself, leaving half its work */
        char undone[64];    /* numbers of the steps that really took something back */
        unsigned reports, failures;
} Host;

static int ensure(Host *h, int i) {
        int changed = !h->is[i];

        h->made[i] |= changed;
        h->is[i] = true;
        return h->fails == i + 1 ? -EIO : changed;
}

static void undo(Host *h, int i) {
        if (!h->made[i])
                return;
        h->is[i] = false;
        snprintf(h->undone + strlen(h->undone), sizeof(h->undone) - strlen(h->undone), "%d", i + 1);
}

#define STEP(i)                                                                                    \
        static int ensure_##i(void *ctx) {                                                         \
                return ensure(ctx, i);                                                             \
        }                                                                                          \
        static void undo_##i(void *ctx) {                                                          \
                undo(ctx, i);                                                                      \
        }
STEP(0)
STEP(1)
STEP(2)
STEP(3)

static const Step steps[N_STEPS] = {
        { "one", "one", ensure_0, undo_0 },
        { "two", "two", ensure_1, undo_1 },
        { "three", "three", ensure_2, undo_2 },
        { "four", "four", ensure_3, undo_3 },
};

static void report(void *ctx,
                   const Step *step UNUSED,
                   int number UNUSED,
                   int result,
                   bool undone,
                   uint64_t usec UNUSED) {
        Host *h = ctx;

        h->reports++;
        h->failures += !undone && result < 0;
}

static int run_with_fault(Host *h, int number) {
        char text[16];
        int r;

        snprintf(text, sizeof(text), "%d", number);
        setenv("DINDHOST_FAULT_STEP", text, 1);
        r = steps_run(steps, N_STEPS, h, report);
        unsetenv("DINDHOST_FAULT_STEP");
        return r;
}

static void a_second_run_changes_nothing(void **state UNUSED) {
        Host h = { 0 };

        assert_int_equal(steps_run(steps, N_STEPS, &h, report), 1);
        for (int i = 0; i < N_STEPS; i++)
                assert_true(h.is[i]);
        memset(h.made, 0, sizeof(h.made));
        assert_int_equal(steps_run(steps, N_STEPS, &h, report), 0);
        assert_int_equal(h.reports, 2 * N_STEPS);
        assert_string_equal(h.undone, "");
}

static void every_step_failing_leaves_nothing(void **state UNUSED) {
        for (int n = 1; n <= N_STEPS; n++)
                for (int sign = -1; sign <= 1; sign += 2) {
                        Host h = { 0 };

                        assert_int_equal(run_with_fault(&h, sign * n), -ECANCELED);
                        for (int i = 0; i < N_STEPS; i++)
                                assert_false(h.is[i]);
                        assert_int_equal(h.failures, 1);
                        /* what was made, and nothing else, in reverse order */
                        assert_int_equal(strlen(h.undone), sign < 0 ? n - 1 : n);
                        for (size_t i = 1; h.undone[i - 1] && h.undone[i]; i++)
                                assert_int_equal(h.undone[i], h.undone[i - 1] - 1);
                }
}

static void what_was_there_before_stays(void **state UNUSED) {
        for (int n = 1; n <= N_STEPS; n++) {
                Host h = { .is = { true, false, true, false } };

                assert_int_equal(run_with_fault(&h, n), -ECANCELED);
                assert_true(h.is[0]);
                assert_false(h.is[1]);
                assert_true(h.is[2]);
                assert_false(h.is[3]);
        }
}

static void a_step_that_fails_midway_is_taken_back_too(void **state UNUSED) {
        Host h = { .fails = 3 };

        assert_int_equal(steps_run(steps, N_STEPS, &h, report), -EIO);
        assert_string_equal(h.undone, "321");
        assert_false(h.is[2]);
        assert_false(h.is[3]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_second_run_changes_nothing),
                cmocka_unit_test(every_step_failing_leaves_nothing),
                cmocka_unit_test(what_was_there_before_stays),
                cmocka_unit_test(a_step_that_fails_midway_is_taken_back_too),
        };

        return RUN_TAP(tests);
}
