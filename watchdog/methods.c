/* SPDX-License-Identifier: MIT */
#include "watchdog/methods.h"

#include <string.h>

#include "base/json.h"
#include "watchdog/lease.h"

const char *request_text(const Request *r, const char *key) {
        const json_t *v = json_object_get(r->message, key);
        const char *text = json_string_value(v);

        return text && strlen(text) == json_string_length(v) ? text : NULL;
}

/* True: the request may make a lease; else it has been answered. */
static bool may_create_lease(Request *r, const char *id) {
        Watchdog *w = r->w;
        const char *profile = request_text(r, "profileId");
        const char *generation = request_text(r, "daemonGeneration");
        uint64_t n = 0;
        int k;

        if (w->admission_closed_reason || !w->generation)
                request_fail(r,
                             "admission-closed",
                             "%s",
                             w->admission_closed_reason ? w->admission_closed_reason
                                                        : "the Docker daemon is not known yet");
        else if (!profile || strcmp(profile, w->descriptor->profile_id) || !generation ||
                 strcmp(generation, w->generation))
                request_fail(r,
                             "attestation-changed",
                             "profile or daemon generation differs; attest again");
        else if (!id || !*id || strlen(id) > ID_MAX)
                request_fail(r,
                             "lease-invalid",
                             "invocationId must be text of 1 to %d bytes",
                             ID_MAX);
        else if ((k = ledger_lease_count_of(w->ledger, r->uid, &n)) < 0)
                request_fail_errno(r, k);
        else if (n >= w->conf.leases_per_user_max)
                request_fail(r,
                             "lease-limit",
                             "user %u has %llu leases, the most that [Watchdog] LeasesPerUserMax= "
                             "allows",
                             (unsigned) r->uid,
                             (unsigned long long) n);
        else
                return true;
        return false;
}

static void method_lease_create(Request *r, const Proven *p UNUSED) {
        const char *id = request_text(r, "invocationId");
        char token[LEASE_TOKEN_SIZE];
        int k;

        if (!may_create_lease(r, id))
                return;
        k = lease_create(r->w, id, r->uid, token);
        if (k == -EEXIST)
                request_fail(r, "lease-invalid", "this invocationId has a lease already");
        else if (k < 0)
                request_fail_errno(r, k);
        else
                request_reply(r,
                              json_pack("{s:s, s:s, s:s}",
                                        "invocationId",
                                        id,
                                        "leaseToken",
                                        token,
                                        "daemonGeneration",
                                        r->w->generation));
        explicit_bzero(token, sizeof(token));
}

static void method_lease_heartbeat(Request *r, const Proven *p) {
        request_reply(r, json_pack("{s:s}", "state", lease_state_to_string(p->lease->state)));
}

static void method_lease_drain(Request *r, const Proven *p) {
        int k = p->lease->state == LEASE_ACTIVE
                        ? lease_end(r->w, p->lease->invocation_id, LEASE_DRAINING)
                        : lease_settle(r->w, p->lease->invocation_id);

        if (k < 0)
                request_fail_errno(r, k);
        else
                request_reply(r, json_pack("{s:s}", "state", k > 0 ? "recovered" : "draining"));
}

enum {
        LEASE = 1 << 0,       /* a lease, with its token */
        ENDED_TOO = 1 << 1,   /* also when the lease is no longer active */
        RESERVATION = 1 << 2, /* a reservation of that lease */
};

/* clang-format off */
static const struct {
        const char *kind;
        unsigned needs;
        void (*fn)(Request *r, const Proven *p);
} methods[] = {
        { "challenge",           0,                               method_challenge        },
        { "status",              0,                               method_status           },
        { "lease.create",        0,                               method_lease_create     },
        { "lease.heartbeat",     LEASE,                           method_lease_heartbeat  },
        { "lease.drain",         LEASE | ENDED_TOO,               method_lease_drain      },
        { "reservation.acquire", LEASE,                           method_acquire          },
        { "reservation.get",     LEASE | RESERVATION,             method_get              },
        { "reservation.cancel",  LEASE | RESERVATION,             method_cancel           },
        { "reservation.release", LEASE | RESERVATION | ENDED_TOO, method_release          },
        { "reservation.commit",  LEASE | RESERVATION,             method_commit           },
        { "container.create",    LEASE | RESERVATION,             method_container_create },
};
/* clang-format on */

/* Fills *ret_lease, or answers the request and returns false. */
static bool prove_lease(Request *r, unsigned needs, Lease *ret) {
        const char *id = request_text(r, "invocationId");
        const char *token = request_text(r, "leaseToken");
        int k = id ? ledger_lease_get(r->w->ledger, id, ret) : -ENOENT;

        if (k < 0 && k != -ENOENT)
                request_fail_errno(r, k);
        else if (k < 0)
                request_fail(r, "lease-not-found", "no such lease; it may have ended");
        else if (!token || !lease_token_fits(ret, token))
                request_fail(r, "lease-auth-failed", "the lease token does not fit");
        else if (ret->state != LEASE_ACTIVE && !(needs & ENDED_TOO))
                request_fail(r,
                             "lease-not-active",
                             "the lease is %s",
                             lease_state_to_string(ret->state));
        else {
                lease_heard_of(r->w, id); /* whoever has the token is alive, whatever it asks */
                return true;
        }
        return false;
}

static bool prove_reservation(Request *r, const Lease *lease, Reservation *ret) {
        const char *id = request_text(r, "reservationId");
        int k = id ? ledger_reservation_get(r->w->ledger, id, ret) : -ENOENT;

        if (k < 0 && k != -ENOENT)
                request_fail_errno(r, k);
        else if (k < 0 || strcmp(ret->invocation_id, lease->invocation_id))
                request_fail(r, "reservation-not-found", "this lease has no such reservation");
        else
                return true;
        return false;
}

void methods_dispatch(Request *r) {
        CLEANUP(lease_donep) Lease lease = { 0 };
        CLEANUP(reservation_donep) Reservation reservation = { 0 };
        Proven p = { .lease = &lease, .reservation = &reservation };
        const char *kind = request_text(r, "kind");
        unsigned needs = LEASE |
                        RESERVATION; /* an unknown kind is only told from a foreign one with both */
        size_t i;

        for (i = 0; i < N_ELEMENTS(methods); i++)
                if (kind && !strcmp(methods[i].kind, kind)) {
                        needs = methods[i].needs;
                        break;
                }
        if ((needs & LEASE) && !prove_lease(r, needs, &lease))
                return;
        if ((needs & RESERVATION) && !prove_reservation(r, &lease, &reservation))
                return;
        if (i == N_ELEMENTS(methods))
                request_fail(r, "request-unknown", "unknown kind");
        else
                methods[i].fn(r, &p);
}
