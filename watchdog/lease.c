/* SPDX-License-Identifier: MIT */
#include "watchdog/lease.h"

#include <search.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "watchdog/admit.h"
#include "watchdog/sandbox.h"

/*
 * Followed from the making of a lease until its row is seen gone. An end that did not reach the
 * disk is so met again after another grace.
 */
typedef struct Beat {
        char *invocation_id;
        uint64_t heard_usec; /* CLOCK_BOOTTIME; of an ended lease: when it was last looked at */
        bool unfinished;     /* giving back could not be started */
} Beat;

struct LeaseClock {
        Watchdog *w;
        void *beats; /* tsearch(3) tree of Beat by id */
        size_t n;
        sd_event_source *timer;
};

static int compare_beats(const void *a, const void *b) {
        return strcmp(((const Beat *) a)->invocation_id, ((const Beat *) b)->invocation_id);
}

static void beat_free(void *p) {
        Beat *b = p;

        free(b->invocation_id);
        free(b);
}

static Beat *find_beat(LeaseClock *c, const char *invocation_id) {
        Beat key = { .invocation_id = (char *) invocation_id };
        Beat **found = tfind(&key, &c->beats, compare_beats);

        return found ? *found : NULL;
}

/* Sets the one timer for the earliest end of a grace, if it is not set for an earlier time. */
static void arm(LeaseClock *c, uint64_t heard_usec) {
        uint64_t end = heard_usec + c->w->conf.lease_grace_usec, set;
        int enabled = SD_EVENT_OFF;

        (void) sd_event_source_get_enabled(c->timer, &enabled);
        if (enabled != SD_EVENT_OFF && sd_event_source_get_time(c->timer, &set) >= 0 && set <= end)
                return;
        (void) sd_event_source_set_time(c->timer, end);
        (void) sd_event_source_set_enabled(c->timer, SD_EVENT_ONESHOT);
}

static int start_beat(LeaseClock *c, const char *invocation_id) {
        Beat *b = find_beat(c, invocation_id);

        if (!b) {
                b = calloc(1, sizeof(*b));
                if (!b)
                        return -ENOMEM;
                b->invocation_id = strdup(invocation_id);
                if (!b->invocation_id || !tsearch(b, &c->beats, compare_beats)) {
                        beat_free(b);
                        return -ENOMEM;
                }
                c->n++;
        }
        b->heard_usec = boottime_usec();
        arm(c, b->heard_usec);
        return 0;
}

static void stop_beat(LeaseClock *c, const char *invocation_id) {
        Beat *b = find_beat(c, invocation_id);

        if (!b)
                return;
        tdelete(b, &c->beats, compare_beats);
        beat_free(b);
        c->n--;
}

typedef struct Silent {
        LeaseClock *clock;
        uint64_t now;
        char **ids; /* room for all beats */
        size_t n;
} Silent;

static void collect_silent(const void *node, VISIT which, void *userdata) {
        const Beat *b = *(Beat *const *) node;
        Silent *s = userdata;

        if (which != postorder && which != leaf)
                return;
        if (b->heard_usec + s->clock->w->conf.lease_grace_usec > s->now)
                arm(s->clock, b->heard_usec);
        else {
                s->ids[s->n] = strdup(b->invocation_id);
                if (s->ids[s->n])
                        s->n++;
                else
                        arm(s->clock, s->now);
        }
}

/* One that was silent for a grace: ended now, or looked at since it should be gone. */
static void look_after(Watchdog *w, const char *invocation_id) {
        CLEANUP(lease_donep) Lease lease = { 0 };
        Beat *b = find_beat(w->leases, invocation_id);
        int r = ledger_lease_get(w->ledger, invocation_id, &lease);

        if (!b)
                return;
        b->heard_usec = boottime_usec();
        if (r == -ENOENT) {
                stop_beat(w->leases, invocation_id);
                return;
        }
        arm(w->leases, b->heard_usec);
        if (r < 0)
                return;
        if (lease.state == LEASE_ACTIVE)
                log_info("lease %s was silent for its grace: giving back what it holds",
                         invocation_id);
        if (lease.state == LEASE_ACTIVE || b->unfinished)
                (void) lease_end(w, invocation_id, LEASE_LOST);
        else
                (void) lease_settle(w, invocation_id);
}

static int on_timer(sd_event_source *source UNUSED, uint64_t usec UNUSED, void *userdata) {
        LeaseClock *c = userdata;
        Silent s = { .clock = c, .now = boottime_usec() };

        s.ids = calloc(c->n + 1, sizeof(*s.ids));
        if (!s.ids) {
                arm(c, s.now);
                return 0;
        }
        twalk_r(c->beats, collect_silent, &s);
        for (size_t i = 0; i < s.n; i++) {
                look_after(c->w, s.ids[i]);
                free(s.ids[i]);
        }
        free(s.ids);
        return 0;
}

int leases_new(Watchdog *w, LeaseClock **ret) {
        CLEANUP(leases_freep) LeaseClock *c = calloc(1, sizeof(*c));
        int r;

        if (!c)
                return -ENOMEM;
        c->w = w;
        r = sd_event_add_time(w->event, &c->timer, CLOCK_BOOTTIME, 0, 0, on_timer, c);
        if (r < 0)
                return r;
        r = sd_event_source_set_enabled(c->timer, SD_EVENT_OFF);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(c);
        return 0;
}

LeaseClock *leases_free(LeaseClock *c) {
        if (!c)
                return NULL;
        sd_event_source_disable_unref(c->timer);
        tdestroy(c->beats, beat_free);
        free(c);
        return NULL;
}

void leases_freep(LeaseClock **c) {
        leases_free(*c);
}

int lease_create(Watchdog *w,
                 const char *invocation_id,
                 uid_t uid,
                 char ret_token[static LEASE_TOKEN_SIZE]) {
        Lease lease = {
                .invocation_id = (char *) invocation_id,
                .generation = w->generation,
                .uid = uid,
                .created_at = realtime_usec(),
                .state = LEASE_ACTIVE,
        };
        int r, e;

        r = random_token(32, ret_token, LEASE_TOKEN_SIZE);
        if (r < 0)
                return r;
        sha256_hex(ret_token, strlen(ret_token), lease.token_digest);
        r = ledger_change_begin(w->ledger);
        if (r < 0)
                return r;
        r = ledger_lease_insert(w->ledger, &lease);
        if (r >= 0)
                r = ledger_event(w->ledger,
                                 "lease-created",
                                 json_pack("{s:s, s:I}",
                                           "invocationId",
                                           invocation_id,
                                           "uid",
                                           (json_int_t) uid));
        if (r >= 0)
                r = start_beat(w->leases, invocation_id);
        e = ledger_change_end(w->ledger, r >= 0);
        return r < 0 ? r : e;
}

bool lease_token_fits(const Lease *lease, const char *token) {
        char digest[SHA256_HEX_SIZE];

        sha256_hex(token, strlen(token), digest);
        return equal_constant_time(digest, lease->token_digest);
}

void lease_heard_of(Watchdog *w, const char *invocation_id) {
        Beat *b = find_beat(w->leases, invocation_id);

        if (b)
                b->heard_usec = boottime_usec();
}

uint64_t lease_last_heard(Watchdog *w, const char *invocation_id) {
        const Beat *b = find_beat(w->leases, invocation_id);

        return b ? realtime_usec() - (boottime_usec() - b->heard_usec) : 0;
}

/* ---- the end ---- */

int lease_drop_queued(Watchdog *w, const Reservation *r) {
        int k = ledger_event(w->ledger,
                             "reservation-cancelled",
                             json_pack("{s:s, s:s}",
                                       "invocationId",
                                       r->invocation_id,
                                       "reservationId",
                                       r->reservation_id));

        return k < 0 ? k : ledger_reservation_delete(w->ledger, r->reservation_id);
}

/* In one change: the new state, and what only waited is gone. */
static int write_end(Watchdog *w,
                     const char *invocation_id,
                     LeaseState state,
                     const Reservation *list,
                     size_t n) {
        int r = ledger_change_begin(w->ledger), e;

        if (r < 0)
                return r;
        r = ledger_lease_set_state(w->ledger, invocation_id, state);
        if (r >= 0)
                r = ledger_event(w->ledger,
                                 state == LEASE_LOST ? "lease-lost" : "lease-draining",
                                 json_pack("{s:s}", "invocationId", invocation_id));
        for (size_t i = 0; r >= 0 && i < n; i++)
                if (list[i].state == RESERVATION_QUEUED)
                        r = lease_drop_queued(w, list + i);
        e = ledger_change_end(w->ledger, r >= 0);
        return r < 0 ? r : e;
}

/* Starts giving back everything; one that cannot be started does not keep the others. */
static int release_all(Watchdog *w, const Reservation *list, size_t n) {
        int first = 0;

        for (size_t i = 0; i < n; i++) {
                int r;

                if (list[i].state == RESERVATION_QUEUED)
                        continue;
                r = sandbox_release(w->sandboxes, list[i].reservation_id, NULL, NULL);
                if (r < 0 && first == 0)
                        first = r;
        }
        return first;
}

static int end_it(Watchdog *w, const char *invocation_id, LeaseState state) {
        CLEANUP(lease_donep) Lease lease = { 0 };
        Reservation *list = NULL;
        size_t n = 0;
        int r;

        r = ledger_lease_get(w->ledger, invocation_id, &lease);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        r = ledger_reservation_list(w->ledger, invocation_id, &list, &n);
        if (r < 0)
                return r;
        if (lease.state == LEASE_ACTIVE)
                r = write_end(w, invocation_id, state, list, n);
        if (r >= 0)
                r = release_all(w, list, n);
        ledger_reservation_list_free(list, n);
        return r;
}

int lease_end(Watchdog *w, const char *invocation_id, LeaseState state) {
        int r = end_it(w, invocation_id, state);
        Beat *b;

        (void) start_beat(w->leases, invocation_id);
        b = find_beat(w->leases, invocation_id);
        if (b)
                b->unfinished = r < 0;
        if (r < 0)
                return log_error(r, "lease %s cannot be ended; trying again", invocation_id);
        admission_run(w); /* what it had queued may have stood before others */
        return lease_settle(w, invocation_id);
}

static int write_settled(Watchdog *w, const char *invocation_id) {
        int r = ledger_change_begin(w->ledger), e;

        if (r < 0)
                return r;
        r = ledger_event(w->ledger,
                         "recovery-converged",
                         json_pack("{s:s}", "invocationId", invocation_id));
        if (r >= 0)
                r = ledger_lease_delete(w->ledger, invocation_id);
        e = ledger_change_end(w->ledger, r >= 0);
        return r < 0 ? r : e;
}

int lease_settle(Watchdog *w, const char *invocation_id) {
        CLEANUP(lease_donep) Lease lease = { 0 };
        uint64_t held = 0;
        int r = ledger_lease_get(w->ledger, invocation_id, &lease);

        if (r < 0)
                return r == -ENOENT ? 1 : r;
        if (lease.state == LEASE_ACTIVE)
                return 0;
        r = ledger_reservation_count_of(w->ledger, invocation_id, &held);
        if (r < 0 || held > 0)
                return r < 0 ? r : 0;
        r = write_settled(w, invocation_id);
        if (r < 0)
                return log_error(r, "the end of lease %s cannot be written", invocation_id);
        return 1;
}

int leases_resume(Watchdog *w) {
        Lease *list = NULL;
        size_t n = 0;
        int r = ledger_lease_list(w->ledger, &list, &n);

        for (size_t i = 0; r >= 0 && i < n; i++)
                if (list[i].state == LEASE_ACTIVE)
                        r = start_beat(w->leases, list[i].invocation_id);
        ledger_lease_list_free(list, n);
        return r < 0 ? r : 0;
}

int leases_end_other_generations(Watchdog *w) {
        Lease *list = NULL;
        size_t n = 0;
        int r = ledger_lease_list(w->ledger, &list, &n);

        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++)
                if (list[i].state != LEASE_ACTIVE || strcmp(list[i].generation, w->generation))
                        (void) lease_end(w, list[i].invocation_id, LEASE_DRAINING);
        ledger_lease_list_free(list, n);
        return 0;
}
