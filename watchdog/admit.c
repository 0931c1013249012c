/* SPDX-License-Identifier: MIT */
#include "watchdog/admit.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "watchdog/sandbox.h"

#define PAUSE_FIRST_USEC USEC_PER_SEC
#define PAUSE_MAX_USEC (30 * USEC_PER_SEC)
/* Clients give up on a reply after 10 s of silence: "queued" by then is better than no answer. */
#define ANSWER_WITHIN_USEC (5 * USEC_PER_SEC)

/* This reservation is to get this slot: being verified, or written and not committed yet. */
typedef struct Candidate Candidate;
struct Candidate {
        Watchdog *w;
        char *reservation_id;
        uint32_t slot;
        Vector resources;
        bool written; /* the grant is in the ledger, so the ledger counts its vector */
        Candidate *next;
};

typedef struct Waiter Waiter;
struct Waiter {
        Admit *all;
        char *reservation_id;
        admit_fn fn;
        void *userdata;
        sd_event_source *deadline;
        Waiter *next;
};

struct Admit {
        Watchdog *w;
        Candidate *candidates;
        Waiter *waiters;
        bool running;
        bool again; /* something changed while it ran */
        char *trouble;
        sd_event_source *retry;
        uint64_t pause_usec;
};

static int on_retry(sd_event_source *source UNUSED, uint64_t usec UNUSED, void *userdata) {
        admission_run(userdata);
        return 0;
}

int admit_new(Watchdog *w, Admit **ret) {
        CLEANUP(admit_freep) Admit *a = calloc(1, sizeof(*a));
        int r;

        if (!a)
                return -ENOMEM;
        *a = (Admit){ .w = w, .pause_usec = PAUSE_FIRST_USEC };
        r = sd_event_add_time(w->event, &a->retry, CLOCK_BOOTTIME, 0, 0, on_retry, w);
        if (r < 0)
                return r;
        r = sd_event_source_set_enabled(a->retry, SD_EVENT_OFF);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(a);
        return 0;
}

static void candidate_free(Candidate *c) {
        free(c->reservation_id);
        free(c);
}

static void waiter_free(Waiter *x) {
        sd_event_source_disable_unref(x->deadline);
        free(x->reservation_id);
        free(x);
}

Admit *admit_free(Admit *a) {
        if (!a)
                return NULL;
        while (a->candidates) {
                Candidate *c = a->candidates;

                a->candidates = c->next;
                ledger_forget(a->w->ledger, c);
                broker_forget(a->w->broker, c);
                candidate_free(c);
        }
        while (a->waiters) {
                Waiter *x = a->waiters;

                a->waiters = x->next;
                waiter_free(x);
        }
        sd_event_source_disable_unref(a->retry);
        free(a->trouble);
        free(a);
        return NULL;
}

void admit_freep(Admit **a) {
        admit_free(*a);
}

void admit_limits(const Watchdog *w, Limits *ret) {
        const Descriptor *d = w->descriptor;

        *ret = (Limits){
                .capacity = { .cpus_milli = d->cpus_milli,
                              .memory_bytes = d->memory_bytes,
                              .pids = d->pids,
                              .containers = d->max_containers,
                              .builds = d->max_builds,
                              .disk_bytes = d->disk_bytes },
                .slot_bytes = d->bytes_per_allocation,
        };
}

bool admit_holds(const Admit *a, uint32_t slot) {
        for (const Candidate *c = a->candidates; c; c = c->next)
                if (c->slot == slot)
                        return true;
        return false;
}

const char *admit_trouble(const Admit *a) {
        return a->trouble;
}

static Candidate *candidate_of(const Admit *a, const char *reservation_id) {
        for (Candidate *c = a->candidates; c; c = c->next)
                if (!strcmp(c->reservation_id, reservation_id))
                        return c;
        return NULL;
}

static void unlink_candidate(Admit *a, const Candidate *c) {
        for (Candidate **p = &a->candidates; *p; p = &(*p)->next)
                if (*p == c) {
                        *p = c->next;
                        return;
                }
}

/* ---- trouble: shown, and tried again ---- */

static void set_trouble(Admit *a, const char *what, int error) {
        char *text = text_format("%s: %s", what, strerror(-error));

        if (!a->trouble)
                log_warning(error, "admission waits: %s", what);
        free(a->trouble);
        a->trouble = text;
        (void) sd_event_source_set_time_relative(a->retry, a->pause_usec);
        (void) sd_event_source_set_enabled(a->retry, SD_EVENT_ONESHOT);
        a->pause_usec *= 2;
        if (a->pause_usec > PAUSE_MAX_USEC)
                a->pause_usec = PAUSE_MAX_USEC;
}

static void no_trouble(Admit *a) {
        free(TAKE_PTR(a->trouble));
        a->pause_usec = PAUSE_FIRST_USEC;
        (void) sd_event_source_set_enabled(a->retry, SD_EVENT_OFF);
}

/* ---- who waits for an answer ---- */

static void call_waiter(Waiter *x, int error) {
        for (Waiter **p = &x->all->waiters; *p; p = &(*p)->next)
                if (*p == x) {
                        *p = x->next;
                        break;
                }
        x->fn(x->userdata, error);
        waiter_free(x);
}

/* Calls everybody who waits for this reservation; a call may change the list. */
static void wake(Admit *a, const char *reservation_id, int error) {
        Waiter *x;

        do {
                x = a->waiters;
                while (x && strcmp(x->reservation_id, reservation_id))
                        x = x->next;
                if (x)
                        call_waiter(x, error);
        } while (x);
}

static int on_deadline(sd_event_source *source UNUSED, uint64_t usec UNUSED, void *userdata) {
        call_waiter(userdata, 0);
        return 0;
}

int admit_wait(Watchdog *w, const char *reservation_id, admit_fn fn, void *userdata) {
        Admit *a = w->admit;
        Waiter *x;

        if (!candidate_of(a, reservation_id))
                return 0;
        x = calloc(1, sizeof(*x));
        if (!x)
                return -ENOMEM;
        *x = (Waiter){
                .all = a, .fn = fn, .userdata = userdata, .reservation_id = strdup(reservation_id)
        };
        if (!x->reservation_id ||
            sd_event_add_time_relative(w->event,
                                       &x->deadline,
                                       CLOCK_BOOTTIME,
                                       ANSWER_WITHIN_USEC,
                                       0,
                                       on_deadline,
                                       x) < 0) {
                waiter_free(x);
                return -ENOMEM;
        }
        x->next = a->waiters;
        a->waiters = x;
        return 1;
}

static void finish(Candidate *c, int error) {
        Admit *a = c->w->admit;

        unlink_candidate(a, c);
        wake(a, c->reservation_id, error);
        candidate_free(c);
}

/* ---- the grant ---- */

static int write_grant(Watchdog *w, Reservation *r, Slot *slot) {
        char id[SLOT_ID_SIZE] = "";
        int k;

        r->state = RESERVATION_GRANTED;
        r->granted_at = realtime_usec();
        if (slot) {
                slot->state = SLOT_GRANTED;
                r->slot = slot->number;
                r->slot_generation = slot->generation;
                slot_id_format(id, slot->number);
        }
        /* the reservation first: only a slot that is still free can be taken (schema) */
        k = ledger_reservation_update(w->ledger, r);
        if (k >= 0 && slot)
                k = ledger_slot_update(w->ledger, slot);
        if (k < 0)
                return k;
        return ledger_event(w->ledger,
                            "reservation-granted",
                            json_pack("{s:s, s:s, s:s*, s:I}",
                                      "invocationId",
                                      r->invocation_id,
                                      "reservationId",
                                      r->reservation_id,
                                      "slotId",
                                      slot ? id : NULL,
                                      "slotGeneration",
                                      (json_int_t) r->slot_generation));
}

/* 1: granted, 0: the reservation went away meanwhile. */
static int grant(Watchdog *w, const char *reservation_id, uint32_t number) {
        CLEANUP(reservation_donep) Reservation r = { 0 };
        CLEANUP(slot_donep) Slot slot = { 0 };
        int k, e;

        k = ledger_reservation_get(w->ledger, reservation_id, &r);
        if (k == -ENOENT || (k >= 0 && r.state != RESERVATION_QUEUED))
                return 0;
        if (k >= 0 && number)
                k = ledger_slot_get(w->ledger, number, &slot);
        if (k >= 0)
                k = ledger_change_begin(w->ledger);
        if (k < 0)
                return k;
        k = write_grant(w, &r, number ? &slot : NULL);
        e = ledger_change_end(w->ledger, k >= 0);
        return k < 0 ? k : e < 0 ? e : 1;
}

static void on_granted(void *userdata, int error) {
        Candidate *c = userdata;

        if (error < 0)
                set_trouble(c->w->admit, "a grant cannot be written to the ledger", error);
        else
                no_trouble(c->w->admit);
        finish(c, error);
}

static void take_verified(Candidate *c) {
        Watchdog *w = c->w;
        int r;

        r = grant(w, c->reservation_id, c->slot);
        if (r > 0) {
                c->written = true;
                r = ledger_on_commit(w->ledger, on_granted, c);
                if (r >= 0)
                        return;
        }
        if (r < 0)
                set_trouble(w->admit, "a grant cannot be written to the ledger", r);
        finish(c, r);
        if (r >= 0)
                admission_run(w); /* the slot is for the next one */
}

/* ---- the slot ---- */

static int write_quarantine(Watchdog *w, uint32_t number, const char *reason) {
        CLEANUP(slot_donep) Slot slot = { 0 };
        char id[SLOT_ID_SIZE];
        int r, e;

        r = ledger_slot_get(w->ledger, number, &slot);
        if (r < 0)
                return r;
        free(slot.quarantine_reason);
        slot.state = SLOT_QUARANTINED;
        slot.quarantine_reason = strdup(reason);
        slot_id_format(id, number);
        r = ledger_change_begin(w->ledger);
        if (r < 0)
                return r;
        r = ledger_slot_update(w->ledger, &slot);
        if (r >= 0)
                r = ledger_event(w->ledger,
                                 "slot-quarantined",
                                 json_pack("{s:s, s:s}", "slotId", id, "reason", reason));
        e = ledger_change_end(w->ledger, r >= 0);
        return r < 0 ? r : e;
}

/* The broker looked, and the slot is not what it must be. The reservation gets another one. */
static void take_refused(Candidate *c, const BrokerReply *reply) {
        Watchdog *w = c->w;
        const char *reason = reply->message[0] ? reply->message : "the broker refuses the slot";
        int r = write_quarantine(w, c->slot, reason);

        log_warning(0, "slot-%04u is quarantined: %s", c->slot, reason);
        unlink_candidate(w->admit, c);
        if (r < 0)
                set_trouble(w->admit, "a quarantine cannot be written to the ledger", r);
        else {
                sandboxes_watch_quarantine(w->sandboxes, c->slot);
                admission_run(w);
        }
        if (!candidate_of(w->admit, c->reservation_id))
                wake(w->admit, c->reservation_id, r);
        candidate_free(c);
}

static void on_verified(void *userdata, int error, const BrokerReply *reply) {
        Candidate *c = userdata;

        if (error >= 0)
                take_verified(c);
        else if (reply)
                take_refused(c, reply);
        else {
                set_trouble(c->w->admit, "the broker does not answer", error);
                finish(c, 0);
        }
}

/* 1: found, 0: there is none. */
static int free_slot(Watchdog *w, uint32_t *ret) {
        uint32_t number = 0;

        for (;;) {
                CLEANUP(slot_donep) Slot slot = { 0 };
                int r = ledger_slot_next_free(w->ledger, number, &slot);

                if (r < 0)
                        return r == -ENOENT ? 0 : r;
                number = slot.number;
                if (!admit_holds(w->admit, number)) {
                        *ret = number;
                        return 1;
                }
        }
}

/* Holds a free slot for the reservation and asks the broker about it. 1: asked, 0: no slot. */
static int start_candidate(Watchdog *w, const Reservation *r) {
        Candidate *c;
        uint32_t slot;
        int k = free_slot(w, &slot);

        if (k <= 0)
                return k;
        c = calloc(1, sizeof(*c));
        if (!c)
                return -ENOMEM;
        *c = (Candidate){ .w = w, .slot = slot, .resources = r->resources };
        c->reservation_id = strdup(r->reservation_id);
        k = c->reservation_id ? broker_call(w->broker, BROKER_VERIFY, slot, on_verified, c)
                              : -ENOMEM;
        if (k < 0) {
                candidate_free(c);
                return k;
        }
        c->next = w->admit->candidates;
        w->admit->candidates = c;
        return 1;
}

/* ---- the round ---- */

/* What is charged, with the candidates as if they were granted already. */
static int charged_with_candidates(Watchdog *w, Vector *ret) {
        int r = ledger_charged(w->ledger, ret);

        for (const Candidate *c = w->admit->candidates; r >= 0 && c; c = c->next)
                if (!c->written && !vector_add(ret, &c->resources))
                        r = -EOVERFLOW;
        return r;
}

/* 1: go on with the next one, 0: this one does not fit yet and blocks those behind it. */
static int admit_one(Watchdog *w, const Reservation *r) {
        Limits limits;
        Vector charged;
        int k;

        if (candidate_of(w->admit, r->reservation_id))
                return 1;
        k = charged_with_candidates(w, &charged);
        if (k < 0)
                return k;
        admit_limits(w, &limits);
        if (!admission_fits(&limits, &charged, &r->resources, NULL))
                return 0;
        /* a build needs no slot, so there is nothing to verify */
        return r->kind == KIND_BUILD ? grant(w, r->reservation_id, 0) : start_candidate(w, r);
}

static int run_once(Watchdog *w) {
        uint64_t sequence = 0;
        int r;

        do {
                CLEANUP(reservation_donep) Reservation next = { 0 };

                r = ledger_queue_next(w->ledger, sequence, &next);
                if (r == -ENOENT)
                        return 0;
                sequence = next.sequence;
                if (r >= 0)
                        r = admit_one(w, &next);
        } while (r > 0);
        return r;
}

void admission_run(Watchdog *w) {
        Admit *a = w->admit;
        uint64_t waiting = 0;
        int r;

        if (w->admission_closed_reason)
                return;
        if (a->running) {
                a->again = true;
                return;
        }
        a->running = true;
        do {
                a->again = false;
                r = run_once(w);
        } while (a->again);
        a->running = false;
        if (r < 0)
                set_trouble(a, "the queue cannot be served", r);
        else if (a->trouble && ledger_queue_count(w->ledger, &waiting) >= 0 && waiting == 0)
                no_trouble(a); /* who met it has gone away */
}
