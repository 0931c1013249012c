/* SPDX-License-Identifier: MIT */
/*
 * Jobs: who waits for one, how it goes from step to step, and what becomes of one that failed
 *
 * A step never follows another directly: between them lies a commit of the ledger, an answer, or a
 * pause. A job that gives back never ends in failure; it is quarantined and tried again for as long
 * as it takes.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "watchdog/admit.h"
#include "watchdog/lease.h"
#include "watchdog/sandbox-internal.h"

#define RETRY_FIRST_USEC (2 * USEC_PER_SEC)
#define PAUSE_FIRST_USEC (50 * USEC_PER_MSEC)
#define PAUSE_MAX_USEC (2 * USEC_PER_SEC)

/* ---- jobs and who waits for them ---- */

void job_free(Job *job) {
        ledger_forget(job->w->ledger, job);
        engine_forget(job->w->engine, job);
        broker_forget(job->w->broker, job);
        sd_event_source_disable_unref(job->retry);
        sd_event_source_disable_unref(job->pause);
        reservation_donep(&job->r);
        sandbox_spec_donep(&job->spec);
        object_list_done(&job->containers);
        object_list_done(&job->networks);
        object_list_done(&job->seen);
        json_decref(job->endpoints);
        free(job->waiters.items);
        free(job->release_waiters.items);
        free(job->trouble);
        free(job->told.items);
        free(job->told_message);
        free(job);
}

/* A copy for people: what the Engine or a file name brings along must not break a JSON reply. */
static char *printable(const char *text) {
        char *copy = text ? strdup(text) : NULL;

        for (char *p = copy; p && *p; p++)
                if (*p < ' ' || *p > '~')
                        *p = *p == '\n' || *p == '\t' ? ' ' : '?';
        return copy;
}

Job *job_of(Sandboxes *s, const char *reservation_id) {
        for (Job *job = s->jobs; job; job = job->next)
                if (job->r.reservation_id && !strcmp(job->r.reservation_id, reservation_id))
                        return job;
        return NULL;
}

int job_add_waiter(Waiters *w, sandbox_fn fn, void *userdata) {
        Waiter *p;

        if (!fn)
                return 0;
        p = reallocarray(w->items, w->n + 1, sizeof(*p));
        if (!p)
                return -ENOMEM;
        w->items = p;
        w->items[w->n++] = (Waiter){ fn, userdata };
        return 0;
}

/* Calls everybody who waits; the list is taken first, since a waiter may start another job. */
static void tell(Waiters *w, const char *code, const char *message) {
        Waiters now = *w;

        *w = (Waiters){ 0 };
        for (size_t i = 0; i < now.n; i++)
                now.items[i].fn(now.items[i].userdata, code, message);
        free(now.items);
}

static void unlink_job(Job *job) {
        for (Job **p = &job->all->jobs; *p; p = &(*p)->next)
                if (*p == job) {
                        *p = job->next;
                        return;
                }
}

void job_drop(Job *job) {
        unlink_job(job);
        job_free(job);
}

Job *job_new(Sandboxes *s, JobKind kind, const char *reservation_id, int *ret_error) {
        Job *job = calloc(1, sizeof(*job));

        if (!job) {
                *ret_error = -ENOMEM;
                return NULL;
        }
        *job = (Job){ .all = s, .w = s->w, .kind = kind, .retry_delay_usec = RETRY_FIRST_USEC };
        if (reservation_id) {
                *ret_error = ledger_reservation_get(s->w->ledger, reservation_id, &job->r);
                if (*ret_error < 0) {
                        free(job);
                        return NULL;
                }
        }
        job->next = s->jobs;
        s->jobs = job;
        return job;
}

/* The next try of a job that gives back: at once, whatever pause it was in. */
void job_start_try(Job *job) {
        job->busy = true;
        job->retry = sd_event_source_disable_unref(job->retry);
        if (job->kind == JOB_SCRUB) {
                scrub_start(job);
                return;
        }
        job->kind = JOB_RELEASE;
        release_start(job);
}

/* The create is over, one way or the other; the release that waited for it has the job now. */
static void turn_into_release(Job *job) {
        job->release_next = false;
        job->waiters = job->release_waiters;
        job->release_waiters = (Waiters){ 0 };
        job->kind = JOB_RELEASE;
        job_start_try(job);
}

void job_done(Job *job, const char *code, const char *message) {
        Watchdog *w = job->w;
        Waiters waiting = job->waiters;
        CLEANUP(freep) char *text = printable(message);
        CLEANUP(freep) char *invocation = NULL;
        bool made_room = !code && job->kind != JOB_CREATE;

        job->waiters = (Waiters){ 0 };
        job->busy = false;
        if (job->release_next) {
                turn_into_release(job);
                tell(&waiting, code, text);
                return;
        }
        if (!code && job->kind == JOB_RELEASE)
                invocation = strdup(job->r.invocation_id);
        unlink_job(job);
        tell(&job->told, job->told_code, job->told_message);
        job_free(job);
        tell(&waiting, code, text);
        if (invocation)
                lease_settle(w, invocation);
        if (made_room)
                admission_run(w);
}

/* ---- steps ---- */

static void on_commit(void *userdata, int error) {
        Job *job = userdata;

        if (error < 0)
                job_failed(job, "the ledger cannot be written");
        else
                job->step(job);
}

void job_after_commit(Job *job, job_fn step) {
        job->step = step;
        if (ledger_on_commit(job->w->ledger, on_commit, job) < 0)
                job_failed(job, "out of memory");
}

bool job_reload(Job *job) {
        Reservation r = { 0 };
        int k = ledger_reservation_get(job->w->ledger, job->r.reservation_id, &r);

        if (k == -ENOENT) {
                job_done(job, "reservation-not-found", "the reservation is gone");
                return false;
        }
        if (k < 0) {
                job_failed(job, "the ledger cannot be read");
                return false;
        }
        reservation_donep(&job->r);
        job->r = r;
        return true;
}

json_t *job_detail(const Job *job, const char *key, const char *value) {
        char slot[SLOT_ID_SIZE];
        json_t *detail;

        slot_id_format(slot, job->r.slot);
        detail = json_pack("{s:s*, s:s*, s:s}",
                           "invocationId",
                           job->r.invocation_id,
                           "reservationId",
                           job->r.reservation_id,
                           "slotId",
                           slot);
        if (detail && key)
                json_object_set_new(detail, key, json_string(value));
        return detail;
}

static int write_change(Job *job, const char *event, json_t *detail) {
        Ledger *l = job->w->ledger;
        int r = ledger_change_begin(l), e;

        if (r < 0) {
                json_decref(detail);
                return r;
        }
        r = ledger_reservation_update(l, &job->r);
        e = ledger_event(l, event, detail);
        if (r >= 0)
                r = e;
        e = ledger_change_end(l, r >= 0);
        return r < 0 ? r : e;
}

bool job_write(Job *job, const char *event, json_t *detail) {
        int r = write_change(job, event, detail);

        if (r < 0) {
                log_error(r, "cannot write %s of reservation %s", event, job->r.reservation_id);
                job_failed(job, "the ledger cannot be written");
        }
        return r >= 0;
}

void job_be_patient(Job *job, uint64_t usec) {
        job->patience_end_usec = boottime_usec() + usec;
        job->pause_usec = PAUSE_FIRST_USEC;
}

static int on_pause(sd_event_source *source UNUSED, uint64_t usec UNUSED, void *userdata) {
        Job *job = userdata;

        job->pause = sd_event_source_disable_unref(job->pause);
        job->again(job);
        return 0;
}

bool job_pause(Job *job, job_fn again) {
        if (boottime_usec() >= job->patience_end_usec)
                return false;
        job->again = again;
        if (sd_event_add_time_relative(job->w->event,
                                       &job->pause,
                                       CLOCK_BOOTTIME,
                                       job->pause_usec,
                                       0,
                                       on_pause,
                                       job) < 0)
                return false;
        job->pause_usec =
                        job->pause_usec * 2 > PAUSE_MAX_USEC ? PAUSE_MAX_USEC : job->pause_usec * 2;
        return true;
}

/* ---- trouble: shown, and tried again with growing pauses ---- */

static int on_retry(sd_event_source *source UNUSED, uint64_t usec UNUSED, void *userdata) {
        job_start_try(userdata);
        return 0;
}

static int set_retry(Job *job, uint64_t usec) {
        job->retry = sd_event_source_disable_unref(job->retry);
        return sd_event_add_time_relative(
                        job->w->event, &job->retry, CLOCK_BOOTTIME, usec, 0, on_retry, job);
}

void job_try_later(Job *job) {
        uint64_t max = job->w->conf.quarantine_retry_max_usec;

        job->busy = false;
        job->kind = job->r.reservation_id ? JOB_RELEASE : JOB_SCRUB;
        if (set_retry(job, job->retry_delay_usec) < 0)
                log_error(0, "slot-%04u cannot be tried again before a restart", job->r.slot);
        job->retry_delay_usec *= 2;
        if (job->retry_delay_usec > max)
                job->retry_delay_usec = max;
}

static int mark_slot(Job *job, const char *reason) {
        CLEANUP(slot_donep) Slot slot = { 0 };
        int r;

        if (!job->r.slot)
                return 0;
        r = ledger_slot_get(job->w->ledger, job->r.slot, &slot);
        if (r < 0)
                return r;
        free(slot.quarantine_reason);
        slot.quarantine_reason = strdup(reason);
        slot.state = SLOT_QUARANTINED;
        return slot.quarantine_reason ? ledger_slot_update(job->w->ledger, &slot) : -ENOMEM;
}

static int write_quarantine(Job *job, const char *code, const char *reason) {
        Ledger *l = job->w->ledger;
        int r = ledger_change_begin(l), e;

        if (r < 0)
                return r;
        r = mark_slot(job, reason);
        if (r >= 0 && job->r.reservation_id) {
                free(job->r.quarantine_reason);
                job->r.quarantine_reason = strdup(reason);
                job->r.state = RESERVATION_QUARANTINED;
                r = ledger_reservation_update(l, &job->r);
        }
        if (r >= 0 && !strcmp(code, "recovery-blocked"))
                r = ledger_event(l,
                                 "reservation-release-blocked",
                                 job_detail(job, "reason", reason));
        if (r >= 0)
                r = ledger_event(l, "slot-quarantined", job_detail(job, "reason", reason));
        e = ledger_change_end(l, r >= 0);
        return r < 0 ? r : e;
}

static void on_told(void *userdata, int error UNUSED) {
        Job *job = userdata;

        tell(&job->told, job->told_code, job->told_message);
}

/* Whoever waits hears of the failure once what it says of the slot is on disk. */
static void tell_after_commit(Job *job, const char *code, const char *reason) {
        /* somebody of an earlier failure still waits for a commit: told of that one now */
        tell(&job->told, job->told_code, job->told_message);
        job->told = job->waiters;
        job->waiters = (Waiters){ 0 };
        job->told_code = code;
        free(job->told_message);
        job->told_message = strdup(reason);
        if (ledger_on_commit(job->w->ledger, on_told, job) < 0)
                tell(&job->told, code, reason);
}

static void end_try(Job *job, const char *code, const char *reason) {
        tell_after_commit(job, code, reason);
        if (job->release_next)
                turn_into_release(job);
        else
                job_try_later(job);
}

void job_failed(Job *job, const char *reason) {
        if (job->kind == JOB_CREATE) {
                /* what is there already is found by the client's retry, or by its release */
                job_done(job, "internal", reason);
                return;
        }
        if (!job->trouble)
                job->trouble = strdup(reason);
        end_try(job, "internal", reason);
}

void job_quarantine(Job *job, const char *code, const char *why) {
        CLEANUP(freep) char *text = printable(why);
        const char *reason = text ? text : "out of memory";

        /* a record and a log line when something changed, not for each try */
        if (!job->trouble || strcmp(job->trouble, reason)) {
                int r = write_quarantine(job, code, reason);

                log_warning(r, "slot-%04u is quarantined: %s", job->r.slot, reason);
                free(job->trouble);
                job->trouble = strdup(r < 0 ? "the ledger cannot be written" : reason);
        }
        end_try(job, code, reason);
}

void sandboxes_retry_now(Sandboxes *s) {
        for (Job *job = s->jobs; job; job = job->next)
                if (job->retry) {
                        job->retry_delay_usec = RETRY_FIRST_USEC;
                        (void) set_retry(job, 0);
                }
}
