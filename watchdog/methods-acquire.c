/* SPDX-License-Identifier: MIT */
/* reservation.acquire: what is wished for is checked in the protocol's order, then it is queued. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/json.h"
#include "watchdog/admit.h"
#include "watchdog/methods.h"

/* clang-format off */
static const struct {
        const char *key;
        size_t offset; /* in Vector */
} resource_keys[] = {
        { "cpus",               offsetof(Vector, cpus_milli)   },
        { "memoryBytes",        offsetof(Vector, memory_bytes) },
        { "pids",               offsetof(Vector, pids)         },
        { "containers",         offsetof(Vector, containers)   },
        { "ephemeralDiskBytes", offsetof(Vector, disk_bytes)   },
};
/* clang-format on */

static uint64_t *vector_field(Vector *v, size_t i) {
        return (uint64_t *) ((char *) v + resource_keys[i].offset);
}

/* One number of the vector. NULL: fine; else the error code, with a message. */
static const char *read_resource(const json_t *value,
                                 size_t i,
                                 const Limits *l,
                                 Vector *ret,
                                 char *message,
                                 size_t n) {
        const char *key = resource_keys[i].key;
        bool cpus = i == 0;
        double scale = cpus ? 1000 : 1, v, whole;
        double max = (double) *vector_field((Vector *) &l->capacity, i) / scale;

        if (!json_is_number(value)) {
                snprintf(message, n, "resources.%s must be a number", key);
                return "reservation-invalid";
        }
        v = json_number_value(value); /* an integer over 2^53 is too large, rounded or not */
        if (!isfinite(v) || v < 0 || v > max) {
                snprintf(message, n, "resources.%s is negative, or more than the profile has", key);
                return "reservation-exceeds-capacity";
        }
        /* 0.1 is not exact as a double: what is nearest to a whole milli-CPU is meant */
        whole = nearbyint(v * scale);
        if (cpus ? fabs(v * scale - whole) > 1e-6 : v != whole) {
                snprintf(message,
                         n,
                         cpus ? "resources.%s has at most three decimal places"
                              : "resources.%s must be a whole number",
                         key);
                return "reservation-invalid";
        }
        *vector_field(ret, i) = (uint64_t) whole;
        return NULL;
}

static const char *
read_resources(const json_t *resources, const Limits *l, Vector *ret, char *message, size_t n) {
        const char *code = NULL;

        if (!json_is_object(resources) || json_object_size(resources) != N_ELEMENTS(resource_keys))
                code = "reservation-invalid";
        for (size_t i = 0; !code && i < N_ELEMENTS(resource_keys); i++)
                if (!json_object_get(resources, resource_keys[i].key))
                        code = "reservation-invalid";
        if (code) {
                snprintf(message,
                         n,
                         "resources must have just cpus, memoryBytes, pids, containers, ephemeralDiskBytes");
                return code;
        }
        for (size_t i = 0; !code && i < N_ELEMENTS(resource_keys); i++)
                code = read_resource(json_object_get(resources, resource_keys[i].key),
                                     i,
                                     l,
                                     ret,
                                     message,
                                     n);
        return code;
}

static const char *
check_kind(ReservationKind kind, const Limits *l, Vector *v, char *message, size_t n) {
        if (kind == KIND_BUILD) {
                v->builds = 1;
                snprintf(message, n, "a build has containers 0");
                return v->containers == 0 ? NULL : "reservation-invalid";
        }
        if (v->cpus_milli == 0 || v->memory_bytes == 0 || v->pids == 0 || v->containers != 1 ||
            v->disk_bytes == 0) {
                snprintf(message,
                         n,
                         "a container has containers 1 and more than 0 of everything else");
                return "reservation-invalid";
        }
        if (v->disk_bytes > l->slot_bytes) {
                snprintf(message, n, "ephemeralDiskBytes is more than one slot has");
                return "reservation-exceeds-capacity";
        }
        return NULL;
}

/* The record as it is now; the one who waited for it may find it gone. */
static void reply_subject(Request *r) {
        CLEANUP(reservation_donep) Reservation v = { 0 };
        int k = ledger_reservation_get(r->w->ledger, r->subject, &v);

        if (k == -ENOENT)
                request_fail(r,
                             "reservation-not-found",
                             "the reservation was given back meanwhile");
        else if (k < 0)
                request_fail_errno(r, k);
        else
                reply_record(r, &v);
}

static void on_settled(void *userdata, int error) {
        if (error < 0)
                request_fail_errno(userdata, error);
        else
                reply_subject(userdata);
}

/* Answers with a grant when one can be made at once, so that clients need not poll for it. */
static void reply_when_settled(Request *r, const char *reservation_id) {
        int k;

        r->subject = strdup(reservation_id);
        k = r->subject ? admit_wait(r->w, reservation_id, on_settled, r) : -ENOMEM;
        if (k < 0)
                request_fail_errno(r, k);
        else if (k == 0)
                reply_subject(r);
}

/* True: there is room in the queue and the id is free; else the request has been answered. */
static bool may_queue(Request *r, const char *id) {
        CLEANUP(reservation_donep) Reservation other = { 0 };
        Watchdog *w = r->w;
        uint64_t queued = 0;
        int k = ledger_reservation_get(w->ledger, id, &other);

        if (k >= 0) {
                request_fail(r, "reservation-exists", "this reservationId is taken");
                return false;
        }
        k = k == -ENOENT ? ledger_queue_count(w->ledger, &queued) : k;
        if (k < 0)
                request_fail_errno(r, k);
        else if (queued >= w->conf.queue_max)
                request_fail(r,
                             "queue-limit",
                             "%llu reservations wait, the most that [Watchdog] QueueMax= allows",
                             (unsigned long long) queued);
        return k >= 0 && queued < w->conf.queue_max;
}

static int insert_reservation(Watchdog *w,
                              const Lease *lease,
                              const char *id,
                              ReservationKind kind,
                              const Vector *v,
                              const json_t *resources) {
        CLEANUP(freep) char *text = NULL;
        Reservation n = {
                .reservation_id = (char *) id,
                .invocation_id = lease->invocation_id,
                .kind = kind,
                .resources = *v,
                .state = RESERVATION_QUEUED,
                .created_at = realtime_usec(),
        };
        int r, e;

        r = json_canonical(resources, &text, NULL);
        if (r >= 0)
                r = random_token(24, n.provision_token, sizeof(n.provision_token));
        if (r < 0)
                return r;
        n.resources_json = text;
        r = ledger_change_begin(w->ledger);
        if (r < 0)
                return r;
        r = ledger_reservation_insert(w->ledger, &n, NULL);
        if (r >= 0)
                r = ledger_event(w->ledger,
                                 "reservation-queued",
                                 json_pack("{s:s, s:s, s:s, s:O}",
                                           "invocationId",
                                           lease->invocation_id,
                                           "reservationId",
                                           id,
                                           "kind",
                                           reservation_kind_to_string(kind),
                                           "resources",
                                           resources));
        e = ledger_change_end(w->ledger, r >= 0);
        return r < 0 ? r : e;
}

/* NULL: the vector is in *ret; else the error code, with a message. */
static const char *read_wish(const Request *r,
                             const char *id,
                             ReservationKind *ret_kind,
                             Vector *ret,
                             char *message,
                             size_t n) {
        const json_t *resources = json_object_get(r->message, "resources");
        const char *kind = request_text(r, "reservationKind");
        const char *code;
        Limits limits;

        if (!id || strlen(id) > ID_MAX || !kind ||
            (strcmp(kind, "container") && strcmp(kind, "build"))) {
                snprintf(message,
                         n,
                         "reservationId must be text of at most %d bytes, reservationKind "
                         "container or build",
                         ID_MAX);
                return "reservation-invalid";
        }
        *ret_kind = strcmp(kind, "build") ? KIND_CONTAINER : KIND_BUILD;
        admit_limits(r->w, &limits);
        code = read_resources(resources, &limits, ret, message, n);
        return code ? code : check_kind(*ret_kind, &limits, ret, message, n);
}

void method_acquire(Request *r, const Proven *p) {
        const char *id = request_text(r, "reservationId"), *code;
        ReservationKind kind;
        Vector v = { 0 };
        char message[256];
        int k;

        code = read_wish(r, id, &kind, &v, message, sizeof(message));
        if (code) {
                request_fail(r, code, "%s", message);
                return;
        }
        if (!may_queue(r, id))
                return;
        k = insert_reservation(
                        r->w, p->lease, id, kind, &v, json_object_get(r->message, "resources"));
        if (k < 0) {
                request_fail_errno(r, k);
                return;
        }
        admission_run(r->w);
        reply_when_settled(r, id);
}
