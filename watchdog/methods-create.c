/* SPDX-License-Identifier: MIT */
/* container.create, in the shapes of both client generations. */
#include <string.h>

#include "watchdog/methods.h"
#include "watchdog/sandbox.h"

static void reply_ids(Request *r, const Reservation *v) {
        request_reply(r,
                      json_pack("{s:s, s:s, s:s}",
                                "containerId",
                                v->container_id,
                                "networkId",
                                v->network_id,
                                "state",
                                "active"));
}

static void on_created(void *userdata, const char *code, const char *message) {
        CLEANUP(reservation_donep) Reservation v = { 0 };
        Request *r = userdata;
        int k;

        if (code) {
                request_fail(r, code, "%s", message);
                return;
        }
        k = ledger_reservation_get(r->w->ledger, r->subject, &v);
        if (k < 0 || v.state != RESERVATION_COMMITTED)
                request_fail(r, "reservation-state", "the reservation is being released");
        else
                reply_ids(r, &v);
}

/*
 * The inner create object of both client generations: flat, or
 * {"intent":"workload","create":{...}}. NULL: the request was answered.
 */
static const json_t *inner_create(Request *r) {
        const json_t *create = json_object_get(r->message, "create");
        const json_t *intent = json_object_get(create, "intent");

        if (!intent)
                return create ? create : json_null();
        if (json_is_string(intent) && !strcmp(json_string_value(intent), "workload") &&
            json_object_size(create) == 2 && json_is_object(json_object_get(create, "create")))
                return json_object_get(create, "create");
        request_fail(r,
                     "container-create-intent-invalid",
                     "intent must be workload, with a create object");
        return NULL;
}

/* Intent before action: what is to be made is on disk before the Engine hears of it. */
static int write_intent(Watchdog *w, const Reservation *have, const SandboxSpec *spec) {
        CLEANUP(slot_donep) Slot slot = { 0 };
        Ledger *l = w->ledger;
        Reservation v = *have;
        int r = ledger_change_begin(l), e;

        if (r < 0)
                return r;
        v.state = RESERVATION_PROVISIONING;
        v.attempt_id = (char *) spec->attempt_id;
        v.create_spec_digest = (char *) spec->digest;
        r = ledger_slot_get(l, v.slot, &slot);
        slot.state = SLOT_ATTACHING;
        if (r >= 0)
                r = ledger_slot_update(l, &slot);
        if (r >= 0)
                r = ledger_reservation_update(l, &v);
        if (r >= 0)
                r = ledger_event(l,
                                 "container-create-intent",
                                 json_pack("{s:s, s:s, s:s, s:s}",
                                           "invocationId",
                                           v.invocation_id,
                                           "reservationId",
                                           v.reservation_id,
                                           "attemptId",
                                           spec->attempt_id,
                                           "createSpecDigest",
                                           spec->digest));
        e = ledger_change_end(l, r >= 0);
        return r < 0 ? r : e;
}

static void start_create(Request *r, const Reservation *v, const SandboxSpec *spec) {
        int k;

        r->subject = strdup(v->reservation_id);
        k = r->subject ? 0 : -ENOMEM;
        if (k >= 0 && v->state == RESERVATION_GRANTED)
                k = write_intent(r->w, v, spec);
        if (k >= 0)
                k = sandbox_create(r->w->sandboxes, v->reservation_id, spec, on_created, r);
        if (k == -EBUSY)
                request_fail(r, "reservation-state", "the reservation is being released");
        else if (k < 0)
                request_fail_errno(r, k);
}

void method_container_create(Request *r, const Proven *p) {
        CLEANUP(sandbox_spec_donep) SandboxSpec spec = { 0 };
        const Reservation *v = p->reservation;
        const json_t *create = inner_create(r);
        const char *code;
        char message[512];

        if (!create)
                return;
        if (sandbox_spec_parse(create, &spec, &code, message, sizeof(message)) < 0)
                request_fail(r, code, "%s", message);
        else if (v->kind != KIND_CONTAINER ||
                 (v->state != RESERVATION_GRANTED && v->state != RESERVATION_PROVISIONING &&
                  v->state != RESERVATION_COMMITTED))
                request_fail(r,
                             "reservation-state",
                             "a %s reservation that is %s takes no container",
                             reservation_kind_to_string(v->kind),
                             reservation_state_to_string(v->state));
        else if (v->create_spec_digest && strcmp(v->create_spec_digest, spec.digest))
                request_fail(r,
                             "container-create-conflict",
                             "this reservation was asked for another container before");
        else if (v->state == RESERVATION_COMMITTED)
                reply_ids(r, v);
        else
                start_create(r, v, &spec);
}
