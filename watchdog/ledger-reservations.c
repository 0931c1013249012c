/* SPDX-License-Identifier: MIT */
/* The rows of reservations: queued, granted, and what all of them hold together. */
#include <string.h>

#include "watchdog/ledger-internal.h"

/* clang-format off */
static const char *const reservation_states[] = {
        [RESERVATION_QUEUED]       = "queued",
        [RESERVATION_GRANTED]      = "granted",
        [RESERVATION_PROVISIONING] = "provisioning",
        [RESERVATION_COMMITTED]    = "committed",
        [RESERVATION_RELEASING]    = "releasing",
        [RESERVATION_QUARANTINED]  = "quarantined",
};
static const char *const reservation_kinds[] = {
        [KIND_CONTAINER] = "container", [KIND_BUILD] = "build",
};
/* clang-format on */
static_assert(N_ELEMENTS(reservation_states) == _RESERVATION_STATE_MAX, "a word a state");
static_assert(N_ELEMENTS(reservation_kinds) == _KIND_MAX, "a word a kind");

const char *reservation_state_to_string(ReservationState s) {
        return reservation_states[s];
}

const char *reservation_kind_to_string(ReservationKind k) {
        return reservation_kinds[k];
}

void reservation_donep(Reservation *r) {
        free(r->reservation_id);
        free(r->invocation_id);
        free(r->resources_json);
        free(r->attempt_id);
        free(r->create_spec_digest);
        free(r->network_id);
        free(r->container_id);
        free(r->quarantine_reason);
        *r = (Reservation){ 0 };
}

static void reservation_done(void *row) {
        reservation_donep(row);
}

static Vector read_vector(sqlite3_stmt *s, int first) {
        return (Vector){
                .cpus_milli = query_column_uint(s, first),
                .memory_bytes = query_column_uint(s, first + 1),
                .pids = query_column_uint(s, first + 2),
                .containers = query_column_uint(s, first + 3),
                .builds = query_column_uint(s, first + 4),
                .disk_bytes = query_column_uint(s, first + 5),
        };
}

static int read_reservation(sqlite3_stmt *s, void *ret) {
        Reservation *r = ret;
        int kind = query_word(reservation_kinds,
                              N_ELEMENTS(reservation_kinds),
                              (const char *) sqlite3_column_text(s, 3));
        int state = query_word(reservation_states,
                               N_ELEMENTS(reservation_states),
                               (const char *) sqlite3_column_text(s, 11));

        *r = (Reservation){
                .resources = read_vector(s, 4),
                .sequence = query_column_uint(s, 12),
                .created_at = query_column_uint(s, 13),
                .granted_at = query_column_uint(s, 14),
                .slot = (uint32_t) query_column_uint(s, 15),
                .slot_generation = query_column_uint(s, 16),
        };
        if (kind < 0 || state < 0)
                return -EBADMSG;
        r->kind = (ReservationKind) kind;
        r->state = (ReservationState) state;
        query_copy_fixed(s, 2, r->provision_token, sizeof(r->provision_token));
        if (query_copy_text(s, 0, &r->reservation_id) < 0 ||
            query_copy_text(s, 1, &r->invocation_id) < 0 ||
            query_copy_text(s, 10, &r->resources_json) < 0 ||
            query_copy_text(s, 17, &r->attempt_id) < 0 ||
            query_copy_text(s, 18, &r->create_spec_digest) < 0 ||
            query_copy_text(s, 19, &r->network_id) < 0 ||
            query_copy_text(s, 20, &r->container_id) < 0 ||
            query_copy_text(s, 21, &r->quarantine_reason) < 0)
                return -ENOMEM;
        return 0;
}

int ledger_reservation_insert(Ledger *l, const Reservation *r, uint64_t *ret_sequence) {
        sqlite3_stmt *s = l->queries[RESERVATION_INSERT];
        int k;

        query_bind_text(s, 1, r->reservation_id);
        query_bind_text(s, 2, r->invocation_id);
        query_bind_text(s, 3, r->provision_token);
        query_bind_text(s, 4, reservation_kinds[r->kind]);
        query_bind_uint(s, 5, r->resources.cpus_milli);
        query_bind_uint(s, 6, r->resources.memory_bytes);
        query_bind_uint(s, 7, r->resources.pids);
        query_bind_uint(s, 8, r->resources.containers);
        query_bind_uint(s, 9, r->resources.builds);
        query_bind_uint(s, 10, r->resources.disk_bytes);
        query_bind_text(s, 11, r->resources_json);
        query_bind_text(s, 12, reservation_states[r->state]);
        query_bind_uint(s, 13, r->created_at);
        k = query_run_on_one(l, RESERVATION_INSERT);
        if (k >= 0 && ret_sequence)
                *ret_sequence = (uint64_t) sqlite3_last_insert_rowid(l->db);
        return k;
}

int ledger_reservation_get(Ledger *l, const char *reservation_id, Reservation *ret) {
        query_bind_text(l->queries[RESERVATION_GET], 1, reservation_id);
        return query_get_row(l, RESERVATION_GET, read_reservation, reservation_done, ret);
}

int ledger_reservation_update(Ledger *l, const Reservation *r) {
        sqlite3_stmt *s = l->queries[RESERVATION_UPDATE];

        query_bind_text(s, 1, r->reservation_id);
        query_bind_text(s, 2, reservation_states[r->state]);
        query_bind_uint(s, 3, r->granted_at);
        if (r->slot)
                query_bind_uint(s, 4, r->slot);
        else
                sqlite3_bind_null(s, 4);
        query_bind_uint(s, 5, r->slot_generation);
        query_bind_text(s, 6, r->attempt_id);
        query_bind_text(s, 7, r->create_spec_digest);
        query_bind_text(s, 8, r->network_id);
        query_bind_text(s, 9, r->container_id);
        query_bind_text(s, 10, r->quarantine_reason);
        return query_run_on_one(l, RESERVATION_UPDATE);
}

int ledger_reservation_delete(Ledger *l, const char *reservation_id) {
        query_bind_text(l->queries[RESERVATION_DELETE], 1, reservation_id);
        return query_run_on_one(l, RESERVATION_DELETE);
}

int ledger_reservation_list(Ledger *l,
                            const char *invocation_id,
                            Reservation **ret,
                            size_t *ret_n) {
        Query query = invocation_id ? RESERVATION_LIST_OF : RESERVATION_LIST;

        if (invocation_id)
                query_bind_text(l->queries[query], 1, invocation_id);
        return query_list_rows(l,
                               query,
                               sizeof(Reservation),
                               read_reservation,
                               reservation_done,
                               (void **) ret,
                               ret_n);
}

int ledger_reservation_count_of(Ledger *l, const char *invocation_id, uint64_t *ret) {
        query_bind_text(l->queries[RESERVATION_COUNT_OF], 1, invocation_id);
        return query_get_row(l, RESERVATION_COUNT_OF, query_read_uint, query_nothing_done, ret);
}

int ledger_queue_next(Ledger *l, uint64_t after, Reservation *ret) {
        query_bind_uint(l->queries[QUEUE_NEXT], 1, after);
        return query_get_row(l, QUEUE_NEXT, read_reservation, reservation_done, ret);
}

int ledger_queue_count(Ledger *l, uint64_t *ret) {
        return query_get_row(l, QUEUE_COUNT, query_read_uint, query_nothing_done, ret);
}

void ledger_reservation_list_free(Reservation *list, size_t n) {
        for (size_t i = 0; i < n; i++)
                reservation_donep(list + i);
        free(list);
}

static int read_charged(sqlite3_stmt *s, void *ret) {
        *(Vector *) ret = read_vector(s, 0);
        return 0;
}

int ledger_charged(Ledger *l, Vector *ret) {
        return query_get_row(l, CHARGED, read_charged, query_nothing_done, ret);
}
