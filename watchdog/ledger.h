/* SPDX-License-Identifier: MIT */
/*
 * The ledger: the durable record of leases, reservations, slots and events (SQLite)
 *
 * SQLite is the state: there is no second copy in memory that could run ahead of the disk. Every
 * change goes through ledger_change_begin()/_end(), a savepoint in the transaction of the current
 * loop turn; that transaction is committed (WAL, synchronous=FULL) by a low-priority event source
 * after the other sources of the turn, so that many clients share one flush. What must only happen
 * once the disk has it (a reply, an Engine call) is given to ledger_on_commit().
 *
 * When a commit fails everything of that turn is undone on disk and in effect, since nothing had
 * been told to anybody: each ledger_on_commit() callback gets the error instead.
 *
 * Times are CLOCK_REALTIME microseconds, for people. Liveness is not in here: see lease.h.
 */
#pragma once

#include <jansson.h>
#include <systemd/sd-event.h>

#include "base/macros.h"
#include "profile/slots.h"

#define ID_MAX 512 /* bytes of an id that a client chooses */

typedef enum LeaseState { LEASE_ACTIVE, LEASE_DRAINING, LEASE_LOST, _LEASE_STATE_MAX } LeaseState;

typedef enum ReservationState {
        RESERVATION_QUEUED,
        RESERVATION_GRANTED,
        RESERVATION_PROVISIONING,
        RESERVATION_COMMITTED,
        RESERVATION_RELEASING,
        RESERVATION_QUARANTINED,
        _RESERVATION_STATE_MAX
} ReservationState;

typedef enum ReservationKind { KIND_CONTAINER, KIND_BUILD, _KIND_MAX } ReservationKind;

typedef enum SlotState {
        SLOT_FREE,
        SLOT_PREPARING,
        SLOT_GRANTED,
        SLOT_ATTACHING,
        SLOT_ACTIVE,
        SLOT_DRAINING,
        SLOT_SCRUBBING,
        SLOT_VERIFIED_FREE,
        SLOT_QUARANTINED,
        _SLOT_STATE_MAX
} SlotState;

/* Words of the protocol; NULL-terminated tables are not needed: every state has one. */
const char *lease_state_to_string(LeaseState s);
const char *reservation_state_to_string(ReservationState s);
const char *reservation_kind_to_string(ReservationKind k);
const char *slot_state_to_string(SlotState s);

/* The resource vector of a reservation, or a sum of such. */
typedef struct Vector {
        uint64_t cpus_milli, memory_bytes, pids, containers, builds, disk_bytes;
} Vector;

typedef struct Lease {
        char *invocation_id;
        char token_digest[65];
        char *generation; /* daemon generation it was made under */
        uid_t uid;        /* of the client that made it */
        uint64_t created_at;
        LeaseState state;
} Lease;

typedef struct Reservation {
        char *reservation_id;
        char *invocation_id;
        char provision_token[33];
        ReservationKind kind;
        Vector resources;
        char *resources_json; /* as sent, for the reply */
        ReservationState state;
        uint64_t sequence;               /* place in the queue: first come first served */
        uint64_t created_at, granted_at; /* granted_at 0: not yet */
        uint32_t slot;                   /* 0: none */
        uint64_t slot_generation;
        char *attempt_id, *create_spec_digest, *network_id, *container_id,
                        *quarantine_reason; /* NULL: not yet */
} Reservation;

typedef struct Slot {
        uint32_t number;
        SlotState state;
        uint64_t generation;
        char *reservation_id;    /* NULL: none */
        char *quarantine_reason; /* NULL: none */
} Slot;

void lease_donep(Lease *l);
void reservation_donep(Reservation *r);
void slot_donep(Slot *s);

typedef struct Ledger Ledger;

/*
 * Opens or makes the file. event may be NULL (tests): then ledger_commit() is called by hand.
 * On failure *ret_message (owned by the caller) is a sentence with the path: -EINVAL of a newer
 * schema or no ledger, -EBADMSG damaged, other -errno.
 */
int ledger_open(const char *path, sd_event *event, Ledger **ret, char **ret_message);
Ledger *ledger_free(Ledger *l);
void ledger_freep(Ledger **l);

/* A change: everything between begin and end(commit=true) becomes part of this turn's transaction;
 * end(false) undoes just this change. */
int ledger_change_begin(Ledger *l);
int ledger_change_end(Ledger *l, bool keep);
/* Commits the turn's transaction now. Callbacks of ledger_on_commit() run from here. */
int ledger_commit(Ledger *l);

typedef void (*ledger_commit_fn)(void *userdata, int error);
/*
 * Calls fn once the changes made so far are on disk (error 0), or were lost (error < 0). When
 * nothing is open it is still called from the event loop and never from inside this function.
 */
int ledger_on_commit(Ledger *l, ledger_commit_fn fn, void *userdata);
/* Forgets callbacks with this userdata (its owner goes away). */
void ledger_forget(Ledger *l, void *userdata);

/* meta: small named texts, such as the daemon generation. */
int ledger_meta_get(Ledger *l, const char *key, char **ret); /* -ENOENT */
int ledger_meta_set(Ledger *l, const char *key, const char *value);

int ledger_lease_insert(Ledger *l, const Lease *lease);                 /* -EEXIST */
int ledger_lease_get(Ledger *l, const char *invocation_id, Lease *ret); /* -ENOENT */
int ledger_lease_set_state(Ledger *l, const char *invocation_id, LeaseState state);
int ledger_lease_delete(Ledger *l, const char *invocation_id);
int ledger_lease_list(Ledger *l,
                      Lease **ret,
                      size_t *ret_n); /* by created_at; free with ledger_lease_list_free */
void ledger_lease_list_free(Lease *list, size_t n);
int ledger_lease_count_of(Ledger *l, uid_t uid, uint64_t *ret);

int ledger_reservation_insert(Ledger *l,
                              const Reservation *r,
                              uint64_t *ret_sequence);                               /* -EEXIST */
int ledger_reservation_get(Ledger *l, const char *reservation_id, Reservation *ret); /* -ENOENT */
/* Writes every field but id, invocation, token, kind, resources and sequence. */
int ledger_reservation_update(Ledger *l, const Reservation *r);
int ledger_reservation_delete(Ledger *l, const char *reservation_id);
/* invocation_id NULL: all; by sequence. */
int ledger_reservation_list(Ledger *l, const char *invocation_id, Reservation **ret, size_t *ret_n);
void ledger_reservation_list_free(Reservation *list, size_t n);
int ledger_reservation_count_of(Ledger *l, const char *invocation_id, uint64_t *ret);
/* The first queued one after a sequence number (0: of all), or -ENOENT. */
int ledger_queue_next(Ledger *l, uint64_t after, Reservation *ret);
int ledger_queue_count(Ledger *l, uint64_t *ret);
/* Sum of the vectors of all reservations that are charged (every state but queued). */
int ledger_charged(Ledger *l, Vector *ret);

/* Makes the rows of the table's slots and drops free ones beyond it; -EINVAL when one that is in
 * use is not in the table. */
int ledger_slots_sync(Ledger *l, const SlotTable *table);
int ledger_slot_get(Ledger *l, uint32_t number, Slot *ret); /* -ENOENT */
int ledger_slot_update(Ledger *l, const Slot *s);
int ledger_slot_list(Ledger *l, Slot **ret, size_t *ret_n); /* by number */
void ledger_slot_list_free(Slot *list, size_t n);
/* The first free one after a number (0: of all), or -ENOENT. */
int ledger_slot_next_free(Ledger *l, uint32_t after, Slot *ret);

/*
 * Appends to the event record, in the same transaction as the state change it tells of. detail
 * (consumed; may be NULL) holds ids and numbers, never a lease token or its digest.
 */
int ledger_event(Ledger *l, const char *kind, json_t *detail);
