/* SPDX-License-Identifier: MIT */
/*
 * challenge and status
 *
 * status is for every member of the access group: ids, states and numbers. No token, no digest of
 * one, no path of the host. "dindhost" is the one key of ours; clients of both generations read the
 * keys they know and leave others alone.
 */
#include <string.h>

#include "base/clock.h"
#include "watchdog/admit.h"
#include "watchdog/lease.h"
#include "watchdog/methods.h"
#include "watchdog/sandbox.h"

void method_challenge(Request *r, const Proven *p UNUSED) {
        const Watchdog *w = r->w;
        json_t *nonce = json_object_get(r->message, "clientNonce");

        request_reply(r,
                      json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:O, s:b}",
                                "protocol",
                                CONTROL_PROTOCOL,
                                "schemaVersion",
                                1,
                                "profileId",
                                w->descriptor->profile_id,
                                "descriptorDigest",
                                w->descriptor_digest,
                                "hostMachineIdentity",
                                w->descriptor->host_machine_identity,
                                "backendMachineIdentity",
                                w->descriptor->backend_machine_identity,
                                "daemonGeneration",
                                w->generation ? w->generation : "",
                                "clientNonce",
                                nonce ? nonce : json_null(),
                                "admissionOpen",
                                w->admission_closed_reason == NULL));
}

static json_t *vector_json(const Vector *v) {
        return json_pack("{s:f, s:I, s:I, s:I, s:I, s:I}",
                         "cpus",
                         (double) v->cpus_milli / 1000,
                         "memoryBytes",
                         (json_int_t) v->memory_bytes,
                         "pids",
                         (json_int_t) v->pids,
                         "containers",
                         (json_int_t) v->containers,
                         "builds",
                         (json_int_t) v->builds,
                         "ephemeralDiskBytes",
                         (json_int_t) v->disk_bytes);
}

static json_t *time_json(uint64_t usec) {
        char text[32];

        return usec ? json_string(format_iso_utc(text, sizeof(text), usec)) : json_null();
}

static json_t *last_heard_json(Watchdog *w, const Lease *lease) {
        return time_json(lease->state == LEASE_ACTIVE ? lease_last_heard(w, lease->invocation_id)
                                                      : 0);
}

static int add_leases(Watchdog *w, json_t *out) {
        Lease *list = NULL;
        size_t n = 0;
        int r = ledger_lease_list(w->ledger, &list, &n);

        for (size_t i = 0; r >= 0 && i < n; i++)
                json_array_append_new(out,
                                      json_pack("{s:s, s:s, s:s, s:o, s:o, s:s}",
                                                "invocationId",
                                                list[i].invocation_id,
                                                "profileId",
                                                w->descriptor->profile_id,
                                                "daemonGeneration",
                                                list[i].generation,
                                                "createdAt",
                                                time_json(list[i].created_at),
                                                "lastHeartbeatAt",
                                                last_heard_json(w, list + i),
                                                "state",
                                                lease_state_to_string(list[i].state)));
        ledger_lease_list_free(list, n);
        return r;
}

/* Text for strangers: of each word that is an absolute path only the last part stays. */
static json_t *without_paths(const char *text) {
        static const char edges[] = " \t'\"(=:,";
        CLEANUP(freep) char *out = calloc(1, strlen(text) + 1);
        size_t n = 0;

        if (!out)
                return NULL;
        for (const char *p = text; *p; p++) {
                size_t k = strcspn(p, " \t'\"),;");

                if (*p != '/' || (p > text && !strchr(edges, p[-1]))) {
                        out[n++] = *p;
                        continue;
                }
                for (const char *part = memrchr(p, '/', k) + 1; part < p + k; part++)
                        out[n++] = *part;
                p += k - 1;
        }
        return json_string(out);
}

/* A reservation as others than its own lease see it. */
static json_t *redacted_record(const Watchdog *w, const Reservation *v) {
        json_t *o = reservation_record(v);

        if (!o)
                return NULL;
        json_object_del(o, "provisionToken");
        json_object_set_new(o, "profileId", json_string(w->descriptor->profile_id));
        if (v->quarantine_reason)
                json_object_set_new(o, "quarantineReason", without_paths(v->quarantine_reason));
        return o;
}

static int add_reservations(Watchdog *w, json_t *out, json_t *queue) {
        Reservation *list = NULL;
        size_t n = 0;
        int r = ledger_reservation_list(w->ledger, NULL, &list, &n);

        for (size_t i = 0; r >= 0 && i < n; i++) {
                json_array_append_new(out, redacted_record(w, list + i));
                if (list[i].state == RESERVATION_QUEUED)
                        json_array_append_new(queue,
                                              json_pack("{s:s, s:s}",
                                                        "reservationId",
                                                        list[i].reservation_id,
                                                        "invocationId",
                                                        list[i].invocation_id));
        }
        ledger_reservation_list_free(list, n);
        return r;
}

static json_t *slot_record(const Watchdog *w, const Slot *slot) {
        bool held = slot->state == SLOT_FREE && admit_holds(w->admit, slot->number);
        char id[SLOT_ID_SIZE];
        json_t *o;

        slot_id_format(id, slot->number);
        o = json_pack("{s:s, s:I, s:I, s:s, s:s*}",
                      "slotId",
                      id,
                      "limitBytes",
                      (json_int_t) w->descriptor->bytes_per_allocation,
                      "generation",
                      (json_int_t) slot->generation,
                      "state",
                      slot_state_to_string(held ? SLOT_PREPARING : slot->state),
                      "reservationId",
                      slot->reservation_id);
        if (o && slot->quarantine_reason)
                json_object_set_new(o, "quarantineReason", without_paths(slot->quarantine_reason));
        return o;
}

static int add_slots(Watchdog *w, json_t *out, json_int_t *ret_free) {
        Slot *list = NULL;
        size_t n = 0;
        int r = ledger_slot_list(w->ledger, &list, &n);

        *ret_free = 0;
        for (size_t i = 0; r >= 0 && i < n; i++) {
                *ret_free += list[i].state == SLOT_FREE && !admit_holds(w->admit, list[i].number);
                json_array_append_new(out, slot_record(w, list + i));
        }
        ledger_slot_list_free(list, n);
        return r;
}

/* What is wrong now. An entry goes when its cause has. */
static json_t *degraded_json(Watchdog *w) {
        CLEANUP(json_decrefp) json_t *raw = sandboxes_degraded(w->sandboxes);
        json_t *list = json_array(), *text;
        size_t i;

        json_array_foreach(raw, i, text)
                        json_array_append_new(list, without_paths(json_string_value(text)));
        if (w->admission_closed_reason)
                json_array_append_new(list, without_paths(w->admission_closed_reason));
        if (admit_trouble(w->admit))
                json_array_append_new(list, without_paths(admit_trouble(w->admit)));
        return list;
}

static json_t *dindhost_json(const Watchdog *w) {
        return json_pack("{s:s, s:s}",
                         "version",
                         PACKAGE_VERSION,
                         "egress",
                         w->conf.egress_enforced ? "enforced" : "unenforced");
}

/* The lists of the ledger's rows; -errno when one cannot be read. */
static int add_lists(Watchdog *w, json_t *out) {
        json_t *leases = json_array(), *reservations = json_array(), *queue = json_array();
        json_t *slots = json_array();
        json_int_t free_slots = 0;
        Vector used = { 0 };
        int r = ledger_charged(w->ledger, &used);

        if (r >= 0)
                r = add_leases(w, leases);
        if (r >= 0)
                r = add_reservations(w, reservations, queue);
        if (r >= 0)
                r = add_slots(w, slots, &free_slots);
        json_object_set_new(out, "used", vector_json(&used));
        json_object_set_new(out, "leases", leases);
        json_object_set_new(out, "reservations", reservations);
        json_object_set_new(out, "queue", queue);
        json_object_set_new(out, "slots", slots);
        json_object_set_new(out, "availableQuotaSlots", json_integer(free_slots));
        return r;
}

void method_status(Request *r, const Proven *p UNUSED) {
        CLEANUP(json_decrefp) json_t *out = NULL;
        Watchdog *w = r->w;
        Limits limits;
        int k;

        admit_limits(w, &limits);
        out = json_pack("{s:s, s:s, s:b, s:o, s:o, s:{s:s, s:b}, s:o}",
                        "profileId",
                        w->descriptor->profile_id,
                        "generation",
                        w->generation ? w->generation : "",
                        "admissionOpen",
                        w->admission_closed_reason == NULL,
                        "capacity",
                        vector_json(&limits.capacity),
                        "degraded",
                        degraded_json(w),
                        "journal",
                        "state",
                        "healthy",
                        "durableTransitions",
                        1,
                        "dindhost",
                        dindhost_json(w));
        k = out ? add_lists(w, out) : -ENOMEM;
        if (k < 0)
                request_fail_errno(r, k);
        else
                request_reply(r, TAKE_PTR(out));
}
