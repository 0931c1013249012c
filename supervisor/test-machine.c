/* SPDX-License-Identifier: MIT */
#include "selftest/cmocka-tap.h"

#include <string.h>

#include "supervisor/machine.h"

static void no_cell_is_empty(void **state) {
        (void) state;
        for (int s = 0; s < _STATE_MAX; s++)
                for (int e = 0; e < _EVENT_MAX; e++)
                        if (!machine_has_cell((State) s, (Event) e))
                                fail_msg("%s, %s", state_name((State) s), event_name((Event) e));
}

static void names_differ(void **state) {
        (void) state;
        for (int a = 0; a < _STATE_MAX; a++)
                for (int b = 0; b < a; b++)
                        assert_string_not_equal(state_name((State) a), state_name((State) b));
        for (int a = 0; a < _EVENT_MAX; a++)
                for (int b = 0; b < a; b++)
                        assert_string_not_equal(event_name((Event) a), event_name((Event) b));
        for (int a = 0; a < _CAUSE_MAX; a++)
                for (int b = 0; b < a; b++)
                        assert_string_not_equal(cause_name((Cause) a), cause_name((Cause) b));
}

static void starts_and_becomes_ready(void **state) {
        Machine m = { 0 };

        (void) state;
        machine_step(&m, EVENT_PROBE_DUE);
        assert_int_equal(m.effects, EFFECT_PROBE);
        machine_step(&m, EVENT_PROBE_FAILED);
        assert_int_equal(m.effects, EFFECT_PROBE_LATER);
        machine_step(&m, EVENT_PROBE_PASSED);
        assert_int_equal(m.state, STATE_READY);
        assert_true(m.effects & EFFECT_PUBLISH_READY);
        /* the deadline is of no interest any more */
        machine_step(&m, EVENT_READY_TIMEOUT);
        assert_int_equal(m.state, STATE_READY);
        assert_int_equal(m.effects, 0);
}

static void every_end_has_its_cause(void **state) {
        static const struct {
                Event event;
                Cause cause;
                bool when_ready;
        } rows[] = {
                { EVENT_READY_TIMEOUT, CAUSE_NOT_READY, false },
                { EVENT_DAEMON_GONE, CAUSE_DOCKERD_EXITED, true },
                { EVENT_KEEPALIVE_GONE, CAUSE_KEEPALIVE_EXITED, true },
                { EVENT_STOP_ASKED, CAUSE_STOP_REQUESTED, true },
                { EVENT_LIFETIME_OVER, CAUSE_LIFETIME_ENDED, true },
        };

        (void) state;
        for (size_t i = 0; i < N_ELEMENTS(rows); i++)
                for (int ready = 0; ready <= rows[i].when_ready; ready++) {
                        Machine m = { .state = ready ? STATE_READY : STATE_STARTING };

                        machine_step(&m, rows[i].event);
                        assert_int_equal(m.state, STATE_STOPPING);
                        assert_int_equal(m.cause, rows[i].cause);
                        assert_true(m.effects & EFFECT_STOP_TIMER);
                        assert_true(m.effects & EFFECT_PROBE_END);
                        assert_int_equal(!!(m.effects & EFFECT_TERM_DAEMON),
                                         rows[i].event != EVENT_DAEMON_GONE);
                        assert_int_equal(!!(m.effects & EFFECT_TERM_KEEPALIVE),
                                         rows[i].event != EVENT_KEEPALIVE_GONE);
                }
}

static void stops_in_order(void **state) {
        Machine m = { .state = STATE_READY };

        (void) state;
        machine_step(&m, EVENT_STOP_ASKED);
        machine_step(&m, EVENT_DAEMON_GONE);
        assert_int_equal(m.state, STATE_STOPPING);
        assert_int_equal(m.effects, EFFECT_END_STREAM);
        machine_step(&m, EVENT_KEEPALIVE_GONE);
        assert_int_equal(m.state, STATE_KILLING);
        assert_true(m.effects & EFFECT_KILL);
        assert_true(m.effects & EFFECT_KILL_TIMER);
        machine_step(&m, EVENT_KILL_DUE);
        assert_int_equal(m.effects, EFFECT_KILL);
        machine_step(&m, EVENT_ALL_GONE);
        assert_int_equal(m.state, STATE_ENDED);
        assert_int_equal(m.cause, CAUSE_STOP_REQUESTED);
        assert_false(m.leftovers);
}

static void a_deaf_daemon_is_killed(void **state) {
        Machine m = { .state = STATE_READY };

        (void) state;
        machine_step(&m, EVENT_KEEPALIVE_GONE);
        machine_step(&m, EVENT_STOP_TIMEOUT);
        assert_int_equal(m.state, STATE_KILLING);
        machine_step(&m, EVENT_DAEMON_GONE);
        assert_int_equal(m.state, STATE_KILLING);
        machine_step(&m, EVENT_KILL_TIMEOUT);
        assert_int_equal(m.state, STATE_ENDED);
        assert_true(m.leftovers);
        assert_int_equal(m.cause, CAUSE_KEEPALIVE_EXITED);
}

static void a_failed_start_is_cleaned_up(void **state) {
        Machine m = { 0 };

        (void) state;
        machine_step(&m, EVENT_START_FAILED);
        assert_int_equal(m.state, STATE_KILLING);
        assert_int_equal(m.cause, CAUSE_START_FAILED);
        machine_step(&m, EVENT_ALL_GONE);
        assert_int_equal(m.state, STATE_ENDED);
}

/* Any walk: the state never goes back, the first cause stays, and time-outs always lead to the end.
 */
static void every_walk_is_sane(void **state) {
        uint32_t random = 1;

        (void) state;
        for (int walk = 0; walk < 20000; walk++) {
                Machine m = { 0 };

                for (int i = 0; i < 12; i++) {
                        Machine before = m;

                        random = random * 1664525 + 1013904223;
                        machine_step(&m, (Event) ((random >> 16) % _EVENT_MAX));
                        assert_true(m.state >= before.state);
                        if (before.cause != CAUSE_NONE)
                                assert_int_equal(m.cause, before.cause);
                        assert_int_equal(m.state >= STATE_STOPPING, m.cause != CAUSE_NONE);
                        if (before.state == STATE_ENDED)
                                assert_int_equal(m.effects, 0);
                }
                machine_step(&m, EVENT_STOP_ASKED);
                machine_step(&m, EVENT_STOP_TIMEOUT);
                machine_step(&m, EVENT_KILL_TIMEOUT);
                assert_int_equal(m.state, STATE_ENDED);
        }
}

static void exit_statuses(void **state) {
        (void) state;
        assert_int_equal(cause_exit_status(CAUSE_STOP_REQUESTED, 5), 0);
        assert_int_equal(cause_exit_status(CAUSE_LIFETIME_ENDED, 5), 0);
        assert_int_equal(cause_exit_status(CAUSE_KEEPALIVE_EXITED, 5), 5);
        assert_int_equal(cause_exit_status(CAUSE_DOCKERD_EXITED, 5), 70);
        assert_int_equal(cause_exit_status(CAUSE_NOT_READY, 5), 69);
        assert_int_equal(cause_exit_status(CAUSE_START_FAILED, 5), 71);
        assert_int_equal(cause_exit_status(CAUSE_IMAGE_INCOMPATIBLE, 5), 2);
        assert_int_equal(cause_exit_status(CAUSE_ENVIRONMENT_INCOMPATIBLE, 5), 2);
        assert_int_equal(cause_exit_status(CAUSE_USAGE, 5), 2);
        assert_false(cause_is_failure(CAUSE_KEEPALIVE_EXITED));
        assert_true(cause_is_failure(CAUSE_DOCKERD_EXITED));
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(no_cell_is_empty),
                cmocka_unit_test(names_differ),
                cmocka_unit_test(starts_and_becomes_ready),
                cmocka_unit_test(every_end_has_its_cause),
                cmocka_unit_test(stops_in_order),
                cmocka_unit_test(a_deaf_daemon_is_killed),
                cmocka_unit_test(a_failed_start_is_cleaned_up),
                cmocka_unit_test(every_walk_is_sane),
                cmocka_unit_test(exit_statuses),
        };

        return RUN_TAP(tests);
}
