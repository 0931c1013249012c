/* SPDX-License-Identifier: MIT */
/* The link to the broker against the scripted broker: every end of a request, and coming back. */
#include <string.h>

#include "base/clock.h"
#include "watchdog/test-stage.h"

typedef struct Result {
        bool done;
        unsigned called;
        int error;
        bool replied;
        BrokerReply reply;
} Result;

static void on_reply(void *userdata, int error, const BrokerReply *reply) {
        Result *r = userdata;

        r->done = true;
        r->called++;
        r->error = error;
        r->replied = reply != NULL;
        if (reply)
                r->reply = *reply;
}

static int set_up(void **state) {
        static Stage s;

        stage_new(&s);
        stage_open(&s);
        *state = &s;
        return 0;
}

static int tear_down(void **state) {
        stage_done(*state);
        return 0;
}

static Result call(Stage *s, BrokerVerb verb, uint32_t slot) {
        Result r = { 0 };

        assert_int_equal(broker_call(s->w.broker, verb, slot, on_reply, &r), 0);
        assert_false(r.done);
        assert_true(stage_run(s, &r.done, 60));
        assert_int_equal(r.called, 1);
        return r;
}

static void verbs_are_answered(void **state) {
        Stage *s = *state;
        Result r = call(s, BROKER_VERIFY, 1);

        assert_int_equal(r.error, 0);
        assert_true(r.reply.has_facts && r.reply.facts.empty);
        assert_int_equal(r.reply.facts.project_id, 7000);
        stage_file(s, "slot-0001/x");
        r = call(s, BROKER_VERIFY, 1);
        assert_int_equal(r.error, -EUCLEAN);
        assert_string_equal(r.reply.message, "the slot is not empty");
        r = call(s, BROKER_FACTS, 1);
        assert_int_equal(r.error, 0);
        assert_false(r.reply.facts.empty);
        r = call(s, BROKER_RESET, 1);
        assert_int_equal(r.error, 0);
        assert_false(stage_has_file(s, "slot-0001/x"));
        stage_file(s, "slot-0002/in-use");
        assert_int_equal(call(s, BROKER_RESET, 2).error, -EBUSY);
        assert_int_equal(call(s, BROKER_RESET, 99).error, -EINVAL);
}

static void broken_answers_are_errors(void **state) {
        static const struct {
                const char *rule;
                int error;
                bool replied;
        } table[] = {
                { "reset * drop", -ECONNRESET, false },
                { "reset * half", -ECONNRESET, false },
                { "reset * hang", -ETIMEDOUT, false },
                { "reset * fail=5", -EIO, true },
        };
        Stage *s = *state;

        for (size_t i = 0; i < N_ELEMENTS(table); i++) {
                Result r;

                stage_rules(s, "broker", table[i].rule);
                r = call(s, BROKER_RESET, 1);
                assert_int_equal(r.error, table[i].error);
                assert_int_equal(r.replied, table[i].replied);
                /* and the link works again at once */
                assert_int_equal(call(s, BROKER_VERIFY, 1).error, 0);
        }
}

/* An answer that comes after its deadline is nobody's, and the next request gets its own. */
static void a_late_answer_is_dropped(void **state) {
        Stage *s = *state;
        Result r;

        stage_rules(s, "broker", "reset slot-0001 delay=3000");
        r = call(s, BROKER_RESET, 1);
        assert_int_equal(r.error, -ETIMEDOUT);
        stage_rules(s, "broker", "");
        (void) call(s, BROKER_FACTS, 2);
        r = call(s, BROKER_FACTS, 2);
        assert_int_equal(r.error, 0);
        assert_int_equal(r.reply.facts.project_id, 7001);
}

static void all_that_is_open_is_told(void **state) {
        Stage *s = *state;
        Result open[10] = { { 0 } };

        stage_rules(s, "broker", "facts * hang\nverify * drop");
        for (size_t i = 0; i < N_ELEMENTS(open); i++)
                assert_int_equal(
                                broker_call(s->w.broker,
                                            i + 1 < N_ELEMENTS(open) ? BROKER_FACTS : BROKER_VERIFY,
                                            1,
                                            on_reply,
                                            open + i),
                                0);
        for (size_t i = 0; i < N_ELEMENTS(open); i++) {
                assert_true(stage_run(s, &open[i].done, 60));
                assert_int_equal(open[i].called, 1);
                assert_int_equal(open[i].error, -ECONNRESET);
        }
}

static void a_broker_that_is_gone_comes_back(void **state) {
        Stage *s = *state;

        assert_int_equal(call(s, BROKER_FACTS, 1).error, 0);
        stage_stop_broker(s);
        assert_true(call(s, BROKER_FACTS, 1).error < 0);
        assert_int_equal(call(s, BROKER_FACTS, 1).error, -ENOENT);
        stage_start_broker(s);
        assert_int_equal(call(s, BROKER_FACTS, 1).error, 0);
}

static void forgotten_requests_are_silent(void **state) {
        Stage *s = *state;
        Result forgotten = { 0 };

        assert_int_equal(broker_call(s->w.broker, BROKER_FACTS, 1, on_reply, &forgotten), 0);
        broker_forget(s->w.broker, &forgotten);
        assert_int_equal(call(s, BROKER_FACTS, 2).error, 0);
        assert_int_equal(forgotten.called, 0);
        assert_int_equal(broker_call(s->w.broker, BROKER_FACTS, 1, on_reply, &forgotten), 0);
        stage_close(s);
        assert_int_equal(forgotten.called, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(verbs_are_answered, set_up, tear_down),
                cmocka_unit_test_setup_teardown(broken_answers_are_errors, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_late_answer_is_dropped, set_up, tear_down),
                cmocka_unit_test_setup_teardown(all_that_is_open_is_told, set_up, tear_down),
                cmocka_unit_test_setup_teardown(
                                a_broker_that_is_gone_comes_back, set_up, tear_down),
                cmocka_unit_test_setup_teardown(forgotten_requests_are_silent, set_up, tear_down),
        };

        return RUN_TAP(tests);
}
