/* SPDX-License-Identifier: MIT */
#include "watchdog/sandbox.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "watchdog/sandbox-internal.h"

int sandboxes_new(Watchdog *w, Sandboxes **ret) {
        Sandboxes *s = calloc(1, sizeof(*s));

        if (!s)
                return -ENOMEM;
        s->w = w;
        s->started_usec = boottime_usec();
        *ret = s;
        return 0;
}

Sandboxes *sandboxes_free(Sandboxes *s) {
        if (!s)
                return NULL;
        while (s->jobs) {
                Job *job = s->jobs;

                s->jobs = job->next;
                job_free(job);
        }
        free(s);
        return NULL;
}

void sandboxes_freep(Sandboxes **s) {
        sandboxes_free(*s);
}

int sandbox_create(Sandboxes *s,
                   const char *reservation_id,
                   const SandboxSpec *spec,
                   sandbox_fn fn,
                   void *userdata) {
        Job *job = job_of(s, reservation_id);
        int r;

        if (job && job->kind == JOB_CREATE && !job->release_next)
                return job_add_waiter(&job->waiters, fn, userdata);
        if (job)
                return -EBUSY; /* it is being released */
        job = job_new(s, JOB_CREATE, reservation_id, &r);
        if (!job)
                return r;
        r = sandbox_spec_copy(spec, &job->spec);
        if (r >= 0)
                r = job_add_waiter(&job->waiters, fn, userdata);
        if (r < 0) {
                job_drop(job);
                return r;
        }
        job->busy = true;
        job_after_commit(job, create_start);
        return 0;
}

int sandbox_release(Sandboxes *s, const char *reservation_id, sandbox_fn fn, void *userdata) {
        Job *job = job_of(s, reservation_id);
        int r;

        if (job && job->kind == JOB_CREATE) {
                job->release_next = true;
                return job_add_waiter(&job->release_waiters, fn, userdata);
        }
        if (!job) {
                job = job_new(s, JOB_RELEASE, reservation_id, &r);
                if (!job)
                        return r;
        }
        r = job_add_waiter(&job->waiters, fn, userdata);
        if (r < 0)
                return r;
        /* one that waits for its next try is tried at once when somebody asks */
        if (!job->busy)
                job_start_try(job);
        return 0;
}

void sandboxes_watch_quarantine(Sandboxes *s, uint32_t slot) {
        int r;
        CLEANUP(slot_donep) Slot row = { 0 };
        Job *job = job_new(s, JOB_SCRUB, NULL, &r);

        if (!job)
                return;
        job->r.slot = slot;
        if (ledger_slot_get(s->w->ledger, slot, &row) >= 0)
                job->trouble = TAKE_PTR(row.quarantine_reason); /* shown from now on */
        job_try_later(job);
}

/* A slot in the middle of something that no reservation holds: what was begun is undone. */
static int resume_slot(Sandboxes *s, const Slot *slot) {
        int r;
        Job *job;

        if (slot->reservation_id || slot->state == SLOT_FREE)
                return 0;
        job = job_new(s, JOB_SCRUB, NULL, &r);
        if (!job)
                return r;
        job->r.slot = slot->number;
        job_start_try(job);
        return 0;
}

static int resume_reservation(Sandboxes *s, const Reservation *r) {
        if (r->state == RESERVATION_RELEASING || r->state == RESERVATION_QUARANTINED)
                return sandbox_release(s, r->reservation_id, NULL, NULL);
        return 0;
}

int sandboxes_resume(Sandboxes *s) {
        Reservation *list = NULL;
        Slot *slots = NULL;
        size_t n = 0, n_slots = 0;
        int r = ledger_reservation_list(s->w->ledger, NULL, &list, &n);

        if (r >= 0)
                r = ledger_slot_list(s->w->ledger, &slots, &n_slots);
        for (size_t i = 0; r >= 0 && i < n; i++)
                r = resume_reservation(s, list + i);
        for (size_t i = 0; r >= 0 && i < n_slots; i++)
                r = resume_slot(s, slots + i);
        ledger_reservation_list_free(list, n);
        ledger_slot_list_free(slots, n_slots);
        return r;
}

json_t *sandboxes_degraded(Sandboxes *s) {
        json_t *list = json_array();

        for (Job *job = s->jobs; job; job = job->next) {
                CLEANUP(freep) char *text = NULL;

                if (!job->trouble)
                        continue;
                text = text_format("slot-%04u: %s", job->r.slot, job->trouble);
                if (text)
                        json_array_append_new(list, json_string(text));
        }
        return list;
}
