/* SPDX-License-Identifier: MIT */
#include "watchdog/test-story.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "watchdog/admit.h"
#include "watchdog/lease.h"

unsigned admission_runs, settles;

void admission_run(Watchdog *w UNUSED) {
        admission_runs++;
}

int lease_settle(Watchdog *w UNUSED, const char *invocation_id UNUSED) {
        settles++;
        return 0;
}

void story_on_done(void *userdata, const char *code, const char *message) {
        Result *r = userdata;

        r->done = true;
        r->called++;
        snprintf(r->code, sizeof(r->code), "%s", code ? code : "");
        snprintf(r->message, sizeof(r->message), "%s", message ? message : "");
}

void story_open_all(Stage *s) {
        stage_open(s);
        assert_int_equal(sandboxes_new(&s->w, &s->w.sandboxes), 0);
}

void story_close_all(Stage *s) {
        if (s->w.event)
                s->w.sandboxes = sandboxes_free(s->w.sandboxes);
        stage_close(s);
}

int story_set_up(void **state) {
        static Stage s;

        stage_new(&s);
        story_open_all(&s);
        *state = &s;
        return 0;
}

int story_tear_down(void **state) {
        story_close_all(*state);
        stage_done(*state);
        return 0;
}

/* ---- what the rest of the watchdog does ---- */

void story_set_slot(Watchdog *w, uint32_t number, SlotState state) {
        Slot slot;

        assert_int_equal(ledger_slot_get(w->ledger, number, &slot), 0);
        slot.state = state;
        assert_int_equal(ledger_slot_update(w->ledger, &slot), 0);
        slot_donep(&slot);
}

/* A granted reservation, on disk. */
void story_grant(Stage *s, const char *id, uint32_t slot_number) {
        Watchdog *w = &s->w;
        Lease lease = { .invocation_id = (char *) "invocation-1", .generation = (char *) "g" };
        Reservation r = {
                .reservation_id = (char *) id,
                .invocation_id = lease.invocation_id,
                .resources = { .cpus_milli = 1500, .memory_bytes = 512 << 20, .pids = 256,
                               .containers = 1, .disk_bytes = 1 << 30 },
                .resources_json = (char *) "{}",
        }, got;
        Slot slot;

        memset(lease.token_digest, 'a', 64);
        snprintf(r.provision_token, sizeof(r.provision_token), "%032u", slot_number);
        assert_int_equal(ledger_change_begin(w->ledger), 0);
        if (slot_number == 1)
                assert_int_equal(ledger_lease_insert(w->ledger, &lease), 0);
        assert_int_equal(ledger_reservation_insert(w->ledger, &r, NULL), 0);
        assert_int_equal(ledger_reservation_get(w->ledger, id, &got), 0);
        assert_int_equal(ledger_slot_get(w->ledger, slot_number, &slot), 0);
        got.state = RESERVATION_GRANTED;
        got.slot = slot_number;
        got.slot_generation = slot.generation;
        assert_int_equal(ledger_reservation_update(w->ledger, &got), 0);
        story_set_slot(w, slot_number, SLOT_GRANTED);
        assert_int_equal(ledger_change_end(w->ledger, true), 0);
        assert_int_equal(ledger_commit(w->ledger), 0);
        reservation_donep(&got);
        slot_donep(&slot);
}

void story_parse_spec(SandboxSpec *ret) {
        CLEANUP(json_decrefp)
        json_t *create = json_pack("{s:s, s:[s], s:s, s:[s], s:s, s:s}",
                                   "image",
                                   "img:1",
                                   "command",
                                   "true",
                                   "entrypoint",
                                   "sh",
                                   "environment",
                                   "A=b",
                                   "attemptId",
                                   "attempt-1",
                                   "user",
                                   "root");
        const char *code;
        char message[512];

        assert_int_equal(sandbox_spec_parse(create, ret, &code, message, sizeof(message)), 0);
}

ReservationState story_state_of(Stage *s, const char *id) {
        Reservation r;
        ReservationState state = _RESERVATION_STATE_MAX;

        if (ledger_reservation_get(s->w.ledger, id, &r) >= 0) {
                state = r.state;
                reservation_donep(&r);
        }
        return state;
}

/* container.create as the control protocol does it: state and digest first, then the job. */
int story_begin_create(Stage *s, const char *id, Result *result) {
        CLEANUP(sandbox_spec_donep) SandboxSpec spec = { 0 };
        Watchdog *w = &s->w;
        Reservation r;
        int k;

        story_parse_spec(&spec);
        assert_int_equal(ledger_reservation_get(w->ledger, id, &r), 0);
        if (r.state == RESERVATION_GRANTED) {
                r.state = RESERVATION_PROVISIONING;
                r.attempt_id = strdup(spec.attempt_id);
                r.create_spec_digest = strdup(spec.digest);
                assert_int_equal(ledger_change_begin(w->ledger), 0);
                assert_int_equal(ledger_reservation_update(w->ledger, &r), 0);
                story_set_slot(w, r.slot, SLOT_ATTACHING);
                assert_int_equal(ledger_event(w->ledger, "container-create-intent", NULL), 0);
                assert_int_equal(ledger_change_end(w->ledger, true), 0);
        }
        reservation_donep(&r);
        *result = (Result){ 0 };
        k = sandbox_create(w->sandboxes, id, &spec, story_on_done, result);
        assert_false(result->done);
        return k;
}

Result story_create(Stage *s, const char *id) {
        Result r;

        assert_int_equal(story_begin_create(s, id, &r), 0);
        assert_true(stage_run(s, &r.done, 120));
        assert_int_equal(r.called, 1);
        return r;
}

Result story_release(Stage *s, const char *id) {
        Result r = { 0 };

        assert_int_equal(sandbox_release(s->w.sandboxes, id, story_on_done, &r), 0);
        assert_true(stage_run(s, &r.done, 120));
        assert_int_equal(r.called, 1);
        return r;
}

void story_start_container(Stage *s, const char *id) {
        CLEANUP(reservation_donep) Reservation r = { 0 };
        char path[256];

        assert_int_equal(ledger_reservation_get(s->w.ledger, id, &r), 0);
        assert_non_null(r.container_id);
        snprintf(path, sizeof(path), "/containers/%s/start", r.container_id);
        assert_int_equal(stage_engine(s, "POST", path, NULL, NULL), 204);
}

void story_assert_slot(Stage *s, uint32_t number, SlotState state, uint64_t generation) {
        CLEANUP(slot_donep) Slot slot = { 0 };

        assert_int_equal(ledger_slot_get(s->w.ledger, number, &slot), 0);
        assert_string_equal(slot_state_to_string(slot.state), slot_state_to_string(state));
        assert_int_equal(slot.generation, generation);
}

/* The end of every story. */
void story_assert_nothing_left(Stage *s, uint64_t generation) {
        assert_int_equal(story_state_of(s, ID), _RESERVATION_STATE_MAX);
        story_assert_slot(s, 1, SLOT_FREE, generation);
        assert_int_equal(stage_count(s, "/containers/json?all=1"), 0);
        assert_int_equal(stage_count(s, "/networks"), 0);
        assert_false(stage_has_file(s, "slot-0001/data"));
}

bool story_is_gone(Stage *s, const char *id, unsigned sec) {
        uint64_t end = boottime_usec() + sec * USEC_PER_SEC;

        while (story_state_of(s, id) != _RESERVATION_STATE_MAX && boottime_usec() < end)
                (void) stage_turn(s);
        (void) ledger_commit(s->w.ledger);
        return story_state_of(s, id) == _RESERVATION_STATE_MAX;
}

void story_forget_lease(Stage *s) {
        assert_int_equal(ledger_change_begin(s->w.ledger), 0);
        assert_int_equal(ledger_lease_delete(s->w.ledger, "invocation-1"), 0);
        assert_int_equal(ledger_change_end(s->w.ledger, true), 0);
        assert_int_equal(ledger_commit(s->w.ledger), 0);
}
