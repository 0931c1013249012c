/* SPDX-License-Identifier: MIT */
/* The Engine client against the scripted Engine: every end of a call, many at a time. */
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "watchdog/test-stage.h"

typedef struct Result {
        bool done;
        int error;
        long status;
        char body[256];
        unsigned called;
} Result;

static void on_reply(void *userdata, int error, const EngineReply *reply) {
        Result *r = userdata;

        r->done = true;
        r->called++;
        r->error = error;
        r->status = reply ? reply->status : 0;
        if (reply)
                strncat(r->body, reply->body, sizeof(r->body) - 1);
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

static Result call(Stage *s, const char *method, const char *path, uint64_t timeout_usec) {
        Result r = { 0 };

        assert_int_equal(engine_call(s->w.engine, method, path, NULL, timeout_usec, on_reply, &r),
                         0);
        assert_false(r.done);
        assert_true(stage_run(s, &r.done, 60));
        assert_int_equal(r.called, 1);
        return r;
}

static void replies_arrive(void **state) {
        Stage *s = *state;
        CLEANUP(json_decrefp) json_t *body = json_pack("{s:s}", "Name", "n-1");
        Result r = call(s, "GET", "/info", USEC_PER_SEC * 30);

        assert_int_equal(r.error, 0);
        assert_int_equal(r.status, 200);
        assert_non_null(strstr(r.body, "\"DockerRootDir\":\"" STAGE_ROOT_DIR "\""));
        r = (Result){ 0 };
        assert_int_equal(engine_call(s->w.engine,
                                     "POST",
                                     "/networks/create",
                                     body,
                                     USEC_PER_SEC * 30,
                                     on_reply,
                                     &r),
                         0);
        assert_true(stage_run(s, &r.done, 60));
        assert_int_equal(r.status, 201);
        r = call(s, "GET", "/networks/n-1", USEC_PER_SEC * 30);
        assert_int_equal(r.status, 200);
        r = call(s, "DELETE", "/networks/none", USEC_PER_SEC * 30);
        assert_int_equal(r.error, 0);
        assert_int_equal(r.status, 404);
        r = call(s, "DELETE", "/networks/n-1", USEC_PER_SEC * 30);
        assert_int_equal(r.status, 204);
        assert_string_equal(r.body, "");
}

static void broken_answers_are_errors(void **state) {
        static const struct {
                const char *rule;
                int error;
        } table[] = {
                { "GET /info drop", -ECONNRESET },
                { "GET /info after drop", -ECONNRESET },
                { "GET /info half", -ECONNRESET },
                { "GET /info hang", -ETIMEDOUT },
                { "GET /info delay=30000", -ETIMEDOUT },
                { "GET /info fail=500", 0 },
                { "GET /info delay=100", 0 },
        };
        Stage *s = *state;

        for (size_t i = 0; i < N_ELEMENTS(table); i++) {
                Result r;

                stage_rules(s, "engine", table[i].rule);
                r = call(s, "GET", "/info", USEC_PER_SEC);
                if (r.error != table[i].error)
                        print_message("# rule: %s\n", table[i].rule);
                assert_int_equal(r.error, table[i].error);
        }
        stage_rules(s, "engine", "");
        stage_stop_engine(s);
        assert_int_equal(call(s, "GET", "/info", USEC_PER_SEC).error, -ENOENT);
        stage_start_engine(s);
        assert_int_equal(call(s, "GET", "/info", USEC_PER_SEC * 30).error, 0);
}

/* A request must never be sent twice by itself: what it makes would be there twice. */
static void nothing_is_sent_twice(void **state) {
        Stage *s = *state;
        size_t before;

        assert_int_equal(call(s, "GET", "/info", USEC_PER_SEC * 30).error, 0);
        before = stage_logged(s, "engine", "POST /containers/x/start");
        stage_rules(s, "engine", "POST * drop");
        assert_int_equal(call(s, "POST", "/containers/x/start", USEC_PER_SEC * 30).error,
                         -ECONNRESET);
        stage_rules(s, "engine", "");
        assert_int_equal(stage_logged(s, "engine", "POST /containers/x/start"), before + 1);
}

static void a_hanging_call_hurts_nobody(void **state) {
        Stage *s = *state;
        Result hanging = { 0 }, others[40] = { { 0 } };

        stage_rules(s, "engine", "POST /containers/*/stop hang");
        assert_int_equal(engine_call(s->w.engine,
                                     "POST",
                                     "/containers/x/stop",
                                     NULL,
                                     30 * USEC_PER_SEC,
                                     on_reply,
                                     &hanging),
                         0);
        for (size_t i = 0; i < N_ELEMENTS(others); i++)
                assert_int_equal(engine_call(s->w.engine,
                                             "GET",
                                             "/networks",
                                             NULL,
                                             30 * USEC_PER_SEC,
                                             on_reply,
                                             others + i),
                                 0);
        for (size_t i = 0; i < N_ELEMENTS(others); i++) {
                assert_true(stage_run(s, &others[i].done, 20));
                assert_int_equal(others[i].status, 200);
        }
        assert_false(hanging.done);
        engine_forget(s->w.engine, &hanging);
        stage_rules(s, "engine", "");
}

typedef struct Chain {
        Stage *s;
        unsigned left;
        bool done;
} Chain;

static void on_link(void *userdata, int error, const EngineReply *reply UNUSED) {
        Chain *c = userdata;

        assert_int_equal(error, 0);
        if (--c->left == 0)
                c->done = true;
        else
                assert_int_equal(engine_call(c->s->w.engine,
                                             "GET",
                                             "/info",
                                             NULL,
                                             30 * USEC_PER_SEC,
                                             on_link,
                                             c),
                                 0);
}

static void a_call_back_may_call(void **state) {
        Chain c = { .s = *state, .left = 20 };

        assert_int_equal(engine_call(c.s->w.engine,
                                     "GET",
                                     "/info",
                                     NULL,
                                     30 * USEC_PER_SEC,
                                     on_link,
                                     &c),
                         0);
        assert_true(stage_run(c.s, &c.done, 60));
}

static void on_data(void *userdata UNUSED, const char *data UNUSED, size_t n UNUSED) {
}

static void streams_end_with_the_daemon(void **state) {
        Stage *s = *state;
        Result stream = { 0 }, forgotten = { 0 };

        assert_int_equal(engine_stream(s->w.engine, "/events", on_data, on_reply, &stream), 0);
        assert_int_equal(engine_stream(s->w.engine, "/events", on_data, on_reply, &forgotten), 0);
        assert_int_equal(call(s, "GET", "/info", USEC_PER_SEC * 30).error, 0);
        assert_false(stream.done);
        engine_forget(s->w.engine, &forgotten);
        kill(s->engine, SIGHUP);
        assert_true(stage_run(s, &stream.done, 60));
        assert_int_equal(stream.called, 1);
        assert_false(forgotten.done);
}

static void open_calls_end_with_the_client(void **state) {
        Stage *s = *state;
        static Result r;

        stage_rules(s, "engine", "GET /info hang");
        for (int i = 0; i < 5; i++)
                assert_int_equal(engine_call(s->w.engine,
                                             "GET",
                                             "/info",
                                             NULL,
                                             30 * USEC_PER_SEC,
                                             on_reply,
                                             &r),
                                 0);
        for (int i = 0; i < 3; i++)
                (void) stage_turn(s);
        stage_close(s);
        assert_int_equal(r.called, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(replies_arrive, set_up, tear_down),
                cmocka_unit_test_setup_teardown(broken_answers_are_errors, set_up, tear_down),
                cmocka_unit_test_setup_teardown(nothing_is_sent_twice, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_hanging_call_hurts_nobody, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_call_back_may_call, set_up, tear_down),
                cmocka_unit_test_setup_teardown(streams_end_with_the_daemon, set_up, tear_down),
                cmocka_unit_test_setup_teardown(open_calls_end_with_the_client, set_up, tear_down),
        };

        return RUN_TAP(tests);
}
