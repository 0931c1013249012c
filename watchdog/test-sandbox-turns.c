/* SPDX-License-Identifier: MIT */
/*
 * A watchdog that dies, and a release that comes, after N turns of the event loop, for every N:
 * what was not committed is gone as after SIGKILL, and the next watchdog takes up what the ledger
 * says was under way.
 */
#include "watchdog/test-story.h"

/* Two callers of one job, and a release in every moment of a create. */
static void a_release_overtakes_a_create(void **state) {
        Stage *s = *state;

        for (unsigned turns = 0;; turns++) {
                Result created, again = { 0 }, released = { 0 };
                CLEANUP(sandbox_spec_donep) SandboxSpec spec = { 0 };
                bool was_done;

                story_grant(s, ID, 1);
                assert_int_equal(story_begin_create(s, ID, &created), 0);
                story_parse_spec(&spec);
                assert_int_equal(sandbox_create(s->w.sandboxes, ID, &spec, story_on_done, &again),
                                 0);
                for (unsigned i = 0; i < turns && !created.done; i++)
                        (void) stage_turn(s);
                was_done = created.done;
                assert_int_equal(sandbox_release(s->w.sandboxes, ID, story_on_done, &released), 0);
                assert_true(stage_run(s, &released.done, 60));
                assert_int_equal(created.called, 1);
                assert_int_equal(again.called, 1);
                assert_string_equal(released.code, "");
                assert_string_equal(created.code, again.code);
                if (*created.code)
                        assert_string_equal(created.code, "reservation-state");
                story_assert_nothing_left(s, turns + 2);
                story_forget_lease(s);
                if (was_done)
                        break;
        }
}

/* The watchdog dies after N turns of a create, for every N; the client tries again and releases. */
static void death_in_every_turn_of_a_create(void **state) {
        Stage *s = *state;

        for (unsigned turns = 0;; turns++) {
                Result created;
                bool was_done;

                story_grant(s, ID, 1);
                assert_int_equal(story_begin_create(s, ID, &created), 0);
                for (unsigned i = 0; i < turns && !created.done; i++)
                        (void) stage_turn(s);
                was_done = created.done;
                story_close_all(s);
                story_open_all(s);
                assert_int_equal(sandboxes_resume(s->w.sandboxes), 0);
                if (was_done)
                        assert_int_equal(story_state_of(s, ID), RESERVATION_COMMITTED);
                if (story_state_of(s, ID) != RESERVATION_COMMITTED)
                        assert_string_equal(story_create(s, ID).code, "");
                assert_int_equal(stage_count(s, "/containers/json?all=1"), 1);
                assert_int_equal(stage_count(s, "/networks"), 1);
                assert_string_equal(story_release(s, ID).code, "");
                story_assert_nothing_left(s, turns + 2);
                story_forget_lease(s);
                if (was_done)
                        break;
        }
}

static void death_in_every_turn_of_a_release(void **state) {
        Stage *s = *state;

        for (unsigned turns = 0;; turns++) {
                Result released = { 0 };
                bool was_done;

                story_grant(s, ID, 1);
                assert_string_equal(story_create(s, ID).code, "");
                story_start_container(s, ID);
                stage_file(s, "slot-0001/data");
                assert_int_equal(sandbox_release(s->w.sandboxes, ID, story_on_done, &released), 0);
                for (unsigned i = 0; i < turns && !released.done; i++)
                        (void) stage_turn(s);
                was_done = released.done;
                story_close_all(s);
                story_open_all(s);
                assert_int_equal(sandboxes_resume(s->w.sandboxes), 0);
                if (was_done)
                        assert_int_equal(story_state_of(s, ID), _RESERVATION_STATE_MAX);
                else if (story_state_of(s, ID) == RESERVATION_COMMITTED)
                        assert_string_equal(story_release(s, ID).code, "");
                assert_true(story_is_gone(s, ID, 60));
                story_assert_nothing_left(s, turns + 2);
                story_forget_lease(s);
                if (was_done)
                        break;
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                STORY(a_release_overtakes_a_create),
                STORY(death_in_every_turn_of_a_create),
                STORY(death_in_every_turn_of_a_release),
        };

        return RUN_TAP(tests);
}
