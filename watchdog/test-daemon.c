/* SPDX-License-Identifier: MIT */
/* Watching the outer daemon: who it must be, what happens when it goes, and that it comes back. */
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "watchdog/admit.h"
#include "watchdog/daemon.h"
#include "watchdog/lease.h"
#include "watchdog/sandbox.h"
#include "watchdog/test-stage.h"

static unsigned drains, resumes, retries, admission_runs;

void admission_run(Watchdog *w) {
        assert_null(w->admission_closed_reason);
        admission_runs++;
}

int leases_end_other_generations(Watchdog *w) {
        assert_non_null(w->generation);
        drains++;
        return 0;
}

int sandboxes_resume(Sandboxes *s UNUSED) {
        resumes++;
        return 0;
}

void sandboxes_retry_now(Sandboxes *s UNUSED) {
        retries++;
}

static int set_up(void **state) {
        static Stage s;

        drains = resumes = retries = admission_runs = 0;
        stage_new(&s);
        stage_open(&s);
        *state = &s;
        return 0;
}

static int tear_down(void **state) {
        Stage *s = *state;

        if (s->w.event)
                s->w.daemon = daemon_watch_free(s->w.daemon);
        stage_done(s);
        return 0;
}

/* Runs the loop until admission is open or closed with a reason that has this text in it. */
static void wait_for(Stage *s, const char *reason) {
        uint64_t end = boottime_usec() + 60 * USEC_PER_SEC;

        for (;;) {
                const char *now = s->w.admission_closed_reason;

                if (reason ? now && strstr(now, reason) : !now)
                        return;
                if (boottime_usec() > end)
                        fail_msg("admission: '%s', wanted '%s'",
                                 now ? now : "open",
                                 reason ? reason : "open");
                (void) stage_turn(s);
        }
}

static void opens_and_holds(void **state) {
        Stage *s = *state;

        assert_int_equal(daemon_watch_start(&s->w), 0);
        assert_non_null(s->w.admission_closed_reason);
        wait_for(s, NULL);
        assert_int_equal(strlen(s->w.generation), 32);
        assert_int_equal(resumes, 1);
        assert_int_equal(admission_runs, 1);
        assert_int_equal(ledger_commit(s->w.ledger), 0);
        assert_int_equal(stage_events(s, "daemon-generation-changed"), 0);
        /* at rest: no more questions */
        for (int i = 0; i < 100; i++)
                (void) stage_turn(s);
        assert_int_equal(stage_logged(s, "engine", "GET /info"), 1);
}

static void a_restart_is_a_new_generation(void **state) {
        Stage *s = *state;
        CLEANUP(freep) char *before = NULL;

        assert_int_equal(daemon_watch_start(&s->w), 0);
        wait_for(s, NULL);
        before = strdup(s->w.generation);
        kill(s->engine, SIGHUP);
        wait_for(s, "gone");
        wait_for(s, NULL);
        assert_string_not_equal(s->w.generation, before);
        assert_int_equal(drains, 2);
        assert_int_equal(resumes, 1);
        assert_int_equal(retries, 2);
        assert_int_equal(ledger_commit(s->w.ledger), 0);
        assert_int_equal(stage_events(s, "daemon-generation-changed"), 1);
}

/* A watchdog that is started again under the same daemon is in the same generation. */
static void a_restart_of_the_watchdog_is_not(void **state) {
        Stage *s = *state;
        CLEANUP(freep) char *before = NULL;

        assert_int_equal(daemon_watch_start(&s->w), 0);
        wait_for(s, NULL);
        before = strdup(s->w.generation);
        assert_int_equal(ledger_commit(s->w.ledger), 0);
        s->w.daemon = daemon_watch_free(s->w.daemon);
        stage_close(s);
        stage_open(s);
        assert_int_equal(daemon_watch_start(&s->w), 0);
        wait_for(s, NULL);
        assert_string_equal(s->w.generation, before);
        assert_int_equal(ledger_commit(s->w.ledger), 0);
        assert_int_equal(stage_events(s, "daemon-generation-changed"), 0);
}

static void a_broken_stream_alone_changes_nothing(void **state) {
        Stage *s = *state;
        CLEANUP(freep) char *before = NULL;

        stage_rules(s, "engine", "GET /events times=2 after drop");
        assert_int_equal(daemon_watch_start(&s->w), 0);
        wait_for(s, NULL);
        before = strdup(s->w.generation);
        for (int i = 0; i < 50; i++)
                (void) stage_turn(s);
        wait_for(s, NULL);
        assert_string_equal(s->w.generation, before);
}

static void waits_for_a_daemon_that_is_not_there(void **state) {
        Stage *s = *state;

        stage_stop_engine(s);
        assert_int_equal(daemon_watch_start(&s->w), 0);
        wait_for(s, "does not answer");
        stage_start_engine(s);
        wait_for(s, NULL);
        stage_stop_engine(s);
        wait_for(s, "gone");
        stage_start_engine(s);
        wait_for(s, NULL);
        stage_rules(s, "engine", "GET /info fail=500");
        kill(s->engine, SIGHUP);
        wait_for(s, "does not answer");
        stage_rules(s, "engine", "GET /info hang");
        kill(s->engine, SIGHUP);
        wait_for(s, "Connection");
        stage_rules(s, "engine", "");
        wait_for(s, NULL);
}

/* What the daemon says of itself must be what the descriptor promises. */
static void another_daemon_gets_no_work(void **state) {
        static const struct {
                const char *info, *expected;
        } table[] = {
                { "{\"DockerRootDir\":\"/somewhere/else\"}", "DockerRootDir" },
                { "{\"CgroupVersion\":\"1\"}", "cgroup v2" },
                { "{\"CgroupDriver\":\"none\"}", "cgroup driver" },
                { "{\"SecurityOptions\":[\"name=seccomp\"]}", "not rootless" },
                { "{\"SecurityOptions\":null}", "not rootless" },
                { "{\"ID\":\"\"}", "no ID" },
                { "{\"CgroupVersion\":2}", "cgroup v2" },
        };
        Stage *s = *state;

        for (size_t i = 0; i < N_ELEMENTS(table); i++) {
                stage_stop_engine(s);
                s->info = table[i].info;
                stage_start_engine(s);
                if (i == 0)
                        assert_int_equal(daemon_watch_start(&s->w), 0);
                wait_for(s, table[i].expected);
                assert_int_equal(admission_runs, 0);
        }
        stage_stop_engine(s);
        s->info = NULL;
        stage_start_engine(s);
        wait_for(s, NULL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(opens_and_holds, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_restart_is_a_new_generation, set_up, tear_down),
                cmocka_unit_test_setup_teardown(
                                a_restart_of_the_watchdog_is_not, set_up, tear_down),
                cmocka_unit_test_setup_teardown(
                                a_broken_stream_alone_changes_nothing, set_up, tear_down),
                cmocka_unit_test_setup_teardown(
                                waits_for_a_daemon_that_is_not_there, set_up, tear_down),
                cmocka_unit_test_setup_teardown(another_daemon_gets_no_work, set_up, tear_down),
        };

        return RUN_TAP(tests);
}
