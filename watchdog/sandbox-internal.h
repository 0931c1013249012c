/* SPDX-License-Identifier: MIT */
/* Between sandbox.c (jobs), sandbox-create.c, sandbox-release.c and sandbox-query.c. */
#pragma once

#include "watchdog/sandbox.h"

typedef struct Waiter {
        sandbox_fn fn;
        void *userdata;
} Waiter;

typedef struct Waiters {
        Waiter *items;
        size_t n;
} Waiters;

/* An Engine object that carries a reservation's labels. */
typedef struct Object {
        char *id;
        char *network;     /* containers: NetworkMode, "" when not told */
        bool running;      /* containers: must be stopped before it is removed */
        bool attempt_fits; /* the attempt label is the reservation's, too */
} Object;

typedef struct ObjectList {
        Object *items;
        size_t n;
} ObjectList;

typedef enum JobKind { JOB_CREATE, JOB_RELEASE, JOB_SCRUB } JobKind;

typedef struct Job Job;
typedef void (*job_fn)(Job *job);
typedef void (*found_fn)(Job *job, int error);

/* One reservation's work; JOB_SCRUB is that of a slot nobody holds. */
struct Job {
        Sandboxes *all;
        Watchdog *w;
        JobKind kind;
        bool busy;         /* a step is under way */
        bool release_next; /* a release waits for the create to end */
        Reservation r;     /* as read at the last step; r.slot alone for JOB_SCRUB */
        SandboxSpec spec;
        Waiters waiters, release_waiters;

        ObjectList containers, networks; /* found by the last query */
        ObjectList seen;                 /* containers whose cgroups must be gone */
        size_t at;                       /* position in one of them */
        json_t *endpoints;               /* of a network that cannot be removed yet */
        found_fn found;
        /* An unanswered create may still land until then: nothing is proven gone before. */
        uint64_t unsettled_until_usec;

        job_fn step;            /* runs after the commit */
        job_fn again;           /* runs after the pause */
        sd_event_source *pause; /* inside a step that is waited for */
        uint64_t patience_end_usec, pause_usec;
        sd_event_source *retry; /* between two tries */
        uint64_t retry_delay_usec;
        char *trouble; /* why it is waiting to be tried again */

        Waiters told; /* hear of this failure once its record is on disk */
        const char *told_code;
        char *told_message;
        Job *next;
};

struct Sandboxes {
        Watchdog *w;
        Job *jobs;
        uint64_t started_usec; /* CLOCK_BOOTTIME */
};

/* The job of a reservation, or NULL. */
Job *job_of(Sandboxes *s, const char *reservation_id);
/* reservation_id NULL: of a slot that nobody holds. NULL: *ret_error is set. */
Job *job_new(Sandboxes *s, JobKind kind, const char *reservation_id, int *ret_error);
/* Takes a job away that has not begun; job_free() alone is for one that is in no list. */
void job_drop(Job *job);
void job_free(Job *job);
/* fn NULL: nobody waits. */
int job_add_waiter(Waiters *w, sandbox_fn fn, void *userdata);
/* The next try of a job that gives back: now, or after a pause that grows. */
void job_start_try(Job *job);
void job_try_later(Job *job);

/* Ends the job: every waiter is called. code NULL: done. The job is freed, or turns into a waiting
 * release. */
void job_done(Job *job, const char *code, const char *message);
/* Memory or ledger failed us: a create ends, all else is tried again. Nothing is recorded. */
void job_failed(Job *job, const char *reason);
/* Counts as used, is shown, and is tried again later. */
void job_quarantine(Job *job, const char *code, const char *reason);
/* Runs step(job) once what was changed so far is on disk; a lost commit fails the job. */
void job_after_commit(Job *job, job_fn step);
/* Reads the reservation again. False: it is gone or unreadable, and the job has been ended. */
bool job_reload(Job *job);
/* Writes job->r and an event (detail consumed) in one change. False: failed, and the job has been
 * ended. */
bool job_write(Job *job, const char *event, json_t *detail);
/* ids of this job for an event, and one more pair when key is not NULL */
json_t *job_detail(const Job *job, const char *key, const char *value);
/* How long job_pause() may go on from now. */
void job_be_patient(Job *job, uint64_t usec);
/* Runs again(job) after a growing pause. False: patience is over, nothing was started. */
bool job_pause(Job *job, job_fn again);

void create_start(Job *job);
void release_start(Job *job);
void scrub_start(Job *job);

/*
 * Finds containers and networks by labels into job->containers, job->networks, then calls fn. error
 * < 0: the query failed and proves nothing. Only objects whose own labels agree in full are taken,
 * whatever the Engine made of the filter.
 */
void query_objects(Job *job, found_fn fn);
void object_list_done(ObjectList *l);
/* Is a process left in the scope that the daemon's user manager made for a container? Doubt: yes.
 */
bool container_cgroup_is_busy(const Watchdog *w, const char *container_id);
/* A well-formed id of an Engine object. */
bool object_id_valid(const char *id);
/* "HTTP 409: ..." or the text of an errno, for people. */
char *engine_failure_text(char *buf, size_t n, int error, const EngineReply *reply);
