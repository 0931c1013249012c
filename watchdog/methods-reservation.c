/* SPDX-License-Identifier: MIT */
/* reservation.get, .cancel, .commit, .release, and the record that all replies show. */
#include <string.h>

#include "base/clock.h"
#include "watchdog/admit.h"
#include "watchdog/lease.h"
#include "watchdog/methods.h"
#include "watchdog/sandbox.h"

static void set_time(json_t *o, const char *key, uint64_t usec) {
        char text[32];

        json_object_set_new(o, key, json_string(format_iso_utc(text, sizeof(text), usec)));
}

static void set_text(json_t *o, const char *key, const char *text) {
        if (text)
                json_object_set_new(o, key, json_string(text));
}

json_t *reservation_record(const Reservation *v) {
        json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:o, s:s}",
                              "reservationId",
                              v->reservation_id,
                              "invocationId",
                              v->invocation_id,
                              "provisionToken",
                              v->provision_token,
                              "kind",
                              reservation_kind_to_string(v->kind),
                              "resources",
                              json_loads(v->resources_json, 0, NULL),
                              "state",
                              reservation_state_to_string(v->state));

        if (!o)
                return NULL;
        set_time(o, "createdAt", v->created_at);
        if (v->granted_at)
                set_time(o, "grantedAt", v->granted_at);
        if (v->slot) {
                char id[SLOT_ID_SIZE];

                slot_id_format(id, v->slot);
                set_text(o, "slotId", id);
                json_object_set_new(
                                o, "slotGeneration", json_integer((json_int_t) v->slot_generation));
        }
        set_text(o, "attemptId", v->attempt_id);
        set_text(o, "createSpecDigest", v->create_spec_digest);
        set_text(o, "networkId", v->network_id);
        set_text(o, "containerId", v->container_id);
        set_text(o, "quarantineReason", v->quarantine_reason);
        return o;
}

void reply_record(Request *r, const Reservation *v) {
        json_t *o = reservation_record(v);

        if (o)
                set_text(o, "profileId", r->w->descriptor->profile_id);
        request_reply(r, o);
}

void method_get(Request *r, const Proven *p) {
        reply_record(r, p->reservation);
}

void method_commit(Request *r, const Proven *p UNUSED) {
        request_fail(r,
                     "control-create-unimplemented",
                     "containers are committed by container.create");
}

/* A reservation that only waits has nothing to give back: its row goes. */
static int drop_queued(Watchdog *w, const Reservation *v) {
        int r = ledger_change_begin(w->ledger), e;

        if (r < 0)
                return r;
        r = lease_drop_queued(w, v);
        e = ledger_change_end(w->ledger, r >= 0);
        if (r < 0 || e < 0)
                return r < 0 ? r : e;
        /* whoever stood behind may fit now, and an ended lease may have held just this */
        admission_run(w);
        (void) lease_settle(w, v->invocation_id);
        return 0;
}

void method_cancel(Request *r, const Proven *p) {
        int k;

        if (p->reservation->state != RESERVATION_QUEUED) {
                request_fail(r,
                             "reservation-state",
                             "the reservation is %s; release it instead",
                             reservation_state_to_string(p->reservation->state));
                return;
        }
        k = drop_queued(r->w, p->reservation);
        if (k < 0)
                request_fail_errno(r, k);
        else
                request_reply(r, json_pack("{s:b}", "cancelled", 1));
}

static void on_released(void *userdata, const char *code, const char *message) {
        Request *r = userdata;

        if (code)
                request_fail(r, code, "%s", message);
        else
                request_reply(r, json_pack("{s:b}", "released", 1));
}

/* A "terminationEvidence" of old clients is ignored: what is gone is seen, not believed. */
void method_release(Request *r, const Proven *p) {
        const Reservation *v = p->reservation;
        int k;

        if (v->state == RESERVATION_QUEUED) {
                k = drop_queued(r->w, v);
                if (k >= 0)
                        on_released(r, NULL, NULL);
        } else
                k = sandbox_release(r->w->sandboxes, v->reservation_id, on_released, r);
        if (k < 0)
                request_fail_errno(r, k);
}
