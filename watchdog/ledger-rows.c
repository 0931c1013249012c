/* SPDX-License-Identifier: MIT */
/* The rows of the ledger but reservations: meta, leases, slots, events. */
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "watchdog/ledger-internal.h"

/* clang-format off */
static const char *const lease_states[] = {
        [LEASE_ACTIVE] = "active", [LEASE_DRAINING] = "draining", [LEASE_LOST] = "lost",
};
static const char *const slot_states[] = {
        [SLOT_FREE]          = "free",
        [SLOT_PREPARING]     = "preparing",
        [SLOT_GRANTED]       = "granted",
        [SLOT_ATTACHING]     = "attaching",
        [SLOT_ACTIVE]        = "active",
        [SLOT_DRAINING]      = "draining",
        [SLOT_SCRUBBING]     = "scrubbing",
        [SLOT_VERIFIED_FREE] = "verified-free",
        [SLOT_QUARANTINED]   = "quarantined",
};
/* clang-format on */
static_assert(N_ELEMENTS(lease_states) == _LEASE_STATE_MAX, "a word a state");
static_assert(N_ELEMENTS(slot_states) == _SLOT_STATE_MAX, "a word a state");

const char *lease_state_to_string(LeaseState s) {
        return lease_states[s];
}

const char *slot_state_to_string(SlotState s) {
        return slot_states[s];
}

/* ---- meta ---- */

int ledger_meta_get(Ledger *l, const char *key, char **ret) {
        sqlite3_stmt *s = l->queries[META_GET];
        int code, r;

        query_bind_text(s, 1, key);
        code = sqlite3_step(s);
        r = code == SQLITE_ROW                ? query_copy_text(s, 0, ret)
                        : code == SQLITE_DONE ? -ENOENT
                                              : ledger_errno(code);
        sqlite3_reset(s);
        sqlite3_clear_bindings(s);
        return r;
}

int ledger_meta_set(Ledger *l, const char *key, const char *value) {
        sqlite3_stmt *s = l->queries[META_SET];

        query_bind_text(s, 1, key);
        query_bind_text(s, 2, value);
        return query_run_on_one(l, META_SET);
}

/* ---- leases ---- */

void lease_donep(Lease *lease) {
        free(lease->invocation_id);
        free(lease->generation);
        *lease = (Lease){ 0 };
}

static void lease_done(void *row) {
        lease_donep(row);
}

static int read_lease(sqlite3_stmt *s, void *ret) {
        Lease *lease = ret;
        int state = query_word(lease_states,
                               N_ELEMENTS(lease_states),
                               (const char *) sqlite3_column_text(s, 5));

        *lease = (Lease){ .uid = (uid_t) query_column_uint(s, 3),
                          .created_at = query_column_uint(s, 4) };
        if (state < 0)
                return state;
        lease->state = (LeaseState) state;
        query_copy_fixed(s, 1, lease->token_digest, sizeof(lease->token_digest));
        if (query_copy_text(s, 0, &lease->invocation_id) < 0 ||
            query_copy_text(s, 2, &lease->generation) < 0)
                return -ENOMEM;
        return 0;
}

int ledger_lease_insert(Ledger *l, const Lease *lease) {
        sqlite3_stmt *s = l->queries[LEASE_INSERT];

        query_bind_text(s, 1, lease->invocation_id);
        query_bind_text(s, 2, lease->token_digest);
        query_bind_text(s, 3, lease->generation);
        query_bind_uint(s, 4, lease->uid);
        query_bind_uint(s, 5, lease->created_at);
        query_bind_text(s, 6, lease_states[lease->state]);
        return query_run_on_one(l, LEASE_INSERT);
}

int ledger_lease_get(Ledger *l, const char *invocation_id, Lease *ret) {
        query_bind_text(l->queries[LEASE_GET], 1, invocation_id);
        return query_get_row(l, LEASE_GET, read_lease, lease_done, ret);
}

int ledger_lease_set_state(Ledger *l, const char *invocation_id, LeaseState state) {
        query_bind_text(l->queries[LEASE_SET_STATE], 1, invocation_id);
        query_bind_text(l->queries[LEASE_SET_STATE], 2, lease_states[state]);
        return query_run_on_one(l, LEASE_SET_STATE);
}

int ledger_lease_delete(Ledger *l, const char *invocation_id) {
        query_bind_text(l->queries[LEASE_DELETE], 1, invocation_id);
        return query_run_on_one(l, LEASE_DELETE);
}

int ledger_lease_list(Ledger *l, Lease **ret, size_t *ret_n) {
        return query_list_rows(
                        l, LEASE_LIST, sizeof(Lease), read_lease, lease_done, (void **) ret, ret_n);
}

int ledger_lease_count_of(Ledger *l, uid_t uid, uint64_t *ret) {
        query_bind_uint(l->queries[LEASE_COUNT_OF], 1, uid);
        return query_get_row(l, LEASE_COUNT_OF, query_read_uint, query_nothing_done, ret);
}

void ledger_lease_list_free(Lease *list, size_t n) {
        for (size_t i = 0; i < n; i++)
                lease_donep(list + i);
        free(list);
}

/* ---- slots ---- */

void slot_donep(Slot *s) {
        free(s->reservation_id);
        free(s->quarantine_reason);
        *s = (Slot){ 0 };
}

static void slot_done(void *row) {
        slot_donep(row);
}

static int read_slot(sqlite3_stmt *s, void *ret) {
        Slot *slot = ret;
        int state = query_word(slot_states,
                               N_ELEMENTS(slot_states),
                               (const char *) sqlite3_column_text(s, 1));

        *slot = (Slot){ .number = (uint32_t) query_column_uint(s, 0),
                        .generation = query_column_uint(s, 2) };
        if (state < 0)
                return state;
        slot->state = (SlotState) state;
        if (query_copy_text(s, 3, &slot->quarantine_reason) < 0 ||
            query_copy_text(s, 4, &slot->reservation_id) < 0)
                return -ENOMEM;
        return 0;
}

int ledger_slot_get(Ledger *l, uint32_t number, Slot *ret) {
        query_bind_uint(l->queries[SLOT_GET], 1, number);
        return query_get_row(l, SLOT_GET, read_slot, slot_done, ret);
}

int ledger_slot_update(Ledger *l, const Slot *slot) {
        sqlite3_stmt *s = l->queries[SLOT_UPDATE];

        query_bind_uint(s, 1, slot->number);
        query_bind_text(s, 2, slot_states[slot->state]);
        query_bind_uint(s, 3, slot->generation);
        query_bind_text(s, 4, slot->state == SLOT_QUARANTINED ? slot->quarantine_reason : NULL);
        return query_run_on_one(l, SLOT_UPDATE);
}

int ledger_slot_list(Ledger *l, Slot **ret, size_t *ret_n) {
        return query_list_rows(
                        l, SLOT_LIST, sizeof(Slot), read_slot, slot_done, (void **) ret, ret_n);
}

int ledger_slot_next_free(Ledger *l, uint32_t after, Slot *ret) {
        query_bind_uint(l->queries[SLOT_NEXT_FREE], 1, after);
        return query_get_row(l, SLOT_NEXT_FREE, read_slot, slot_done, ret);
}

void ledger_slot_list_free(Slot *list, size_t n) {
        for (size_t i = 0; i < n; i++)
                slot_donep(list + i);
        free(list);
}

/*
 * Rows beyond the table: the profile was made smaller. Free ones go; one that is in use would be
 * lost from sight with what is in it, so that is refused.
 */
static int drop_surplus(Ledger *l, const SlotTable *table) {
        Slot *slots = NULL;
        size_t n = 0;
        int r = ledger_slot_list(l, &slots, &n);

        for (size_t i = 0; r >= 0 && i < n; i++) {
                if (slots[i].number <= table->n_slots)
                        continue;
                if (slots[i].state != SLOT_FREE)
                        r = -EINVAL;
                else {
                        query_bind_uint(l->queries[SLOT_DELETE], 1, slots[i].number);
                        r = query_run_on_one(l, SLOT_DELETE);
                }
        }
        ledger_slot_list_free(slots, n);
        return r;
}

int ledger_slots_sync(Ledger *l, const SlotTable *table) {
        int r = drop_surplus(l, table);

        for (size_t i = 0; r >= 0 && i < table->n_slots; i++) {
                query_bind_uint(l->queries[SLOT_INSERT], 1, table->slots[i].number);
                r = query_run(l, SLOT_INSERT);
        }
        return r < 0 ? r : 0;
}

/* ---- events ---- */

/* Keeps the record bounded: a batch of old ones goes with the first of each new batch. */
int ledger_trim_events(Ledger *l, uint64_t newest) {
        if (newest <= EVENTS_KEPT)
                return 0;
        query_bind_uint(l->queries[EVENT_TRIM], 1, newest - EVENTS_KEPT);
        return query_run(l, EVENT_TRIM);
}

int ledger_event(Ledger *l, const char *kind, json_t *detail) {
        CLEANUP(json_decrefp) json_t *owned = detail ? detail : json_object();
        CLEANUP(freep) char *text = NULL;
        sqlite3_stmt *s = l->queries[EVENT_INSERT];
        uint64_t sequence;
        int r;

        if (!owned)
                return -ENOMEM;
        r = json_canonical(owned, &text, NULL);
        if (r < 0)
                return r;
        query_bind_uint(s, 1, realtime_usec());
        query_bind_text(s, 2, kind);
        query_bind_text(s, 3, text);
        r = query_run_on_one(l, EVENT_INSERT);
        if (r < 0)
                return r;
        sequence = (uint64_t) sqlite3_last_insert_rowid(l->db);
        r = sequence % EVENTS_BATCH == 0 ? ledger_trim_events(l, sequence) : 0;
        return r < 0 ? r : 0;
}
