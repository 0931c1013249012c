/* SPDX-License-Identifier: MIT */
/*
 * Creating a sandbox
 *
 *   look (by labels) -> network -> container -> committed
 *
 * The look comes first because a retry, or a watchdog that was restarted in between, must take what
 * is already there. An answer "no" of the Engine, and a daemon that could not even be connected to,
 * leave the reservation as it is, for the client to try again or release. No answer leaves a doubt:
 * one more look settles it, or the slot is quarantined until a release has seen everything gone.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "watchdog/sandbox-internal.h"

#define MESSAGE_MAX 2000 /* bytes of what the Engine says that go to the client: the last ones */

/* A release that came meanwhile ends the create at the next step. */
static bool overtaken(Job *job) {
        bool overtaken_now = job->release_next;

        if (overtaken_now)
                job_done(job, "reservation-state", "the reservation is being released");
        return overtaken_now;
}

static void step_finished(Job *job) {
        job_done(job, NULL, NULL);
}

/* Slot active, reservation committed, and the event, in one change. */
static int write_result(Job *job, const char *event) {
        CLEANUP(slot_donep) Slot slot = { 0 };
        Ledger *l = job->w->ledger;
        int r = ledger_change_begin(l), e;

        if (r < 0)
                return r;
        r = ledger_slot_get(l, job->r.slot, &slot);
        slot.state = SLOT_ACTIVE;
        if (r >= 0)
                r = ledger_slot_update(l, &slot);
        if (r >= 0)
                r = ledger_reservation_update(l, &job->r);
        if (r >= 0)
                r = ledger_event(l, event, job_detail(job, "containerId", job->r.container_id));
        e = ledger_change_end(l, r >= 0);
        return r < 0 ? r : e;
}

static int set_text(char **field, const char *value) {
        char *copy = strdup(value);

        if (!copy)
                return -ENOMEM;
        free(*field);
        *field = copy;
        return 0;
}

/* Both objects are there: the reservation holds a sandbox. */
static void commit_result(Job *job, const char *event) {
        int r;

        if (!job_reload(job))
                return;
        job->r.state = RESERVATION_COMMITTED;
        r = set_text(&job->r.container_id, job->containers.items[0].id);
        if (r >= 0)
                r = set_text(&job->r.network_id, job->networks.items[0].id);
        if (r >= 0)
                r = write_result(job, event);
        if (r < 0)
                job_failed(job, "the ledger cannot be written");
        else
                job_after_commit(job, step_finished);
}

/* One container of this attempt, on the one network: nothing else is taken for ours. */
static bool is_whole(const Job *job) {
        return job->containers.n == 1 && job->networks.n == 1 &&
                        job->containers.items[0].attempt_fits &&
                        job->networks.items[0].attempt_fits &&
                        !strcmp(job->containers.items[0].network, job->networks.items[0].id);
}

static bool is_network_alone(const Job *job) {
        return job->containers.n == 0 && job->networks.n == 1 &&
                        job->networks.items[0].attempt_fits;
}

/* What is there, or that it cannot be seen, leaves no way to tell what became of the create. */
static void give_up(Job *job, int error) {
        char text[256], reason[400];

        if (error < 0)
                snprintf(reason,
                         sizeof(reason),
                         "a create was not answered, and looking for its result failed: %s",
                         engine_failure_text(text, sizeof(text), error, NULL));
        else
                snprintf(reason,
                         sizeof(reason),
                         "a create cannot be settled: %zu containers and %zu networks are there",
                         job->containers.n,
                         job->networks.n);
        job->unsettled_until_usec = boottime_usec() + job->w->conf.create_timeout_usec;
        job_quarantine(job, "container-create-ambiguous", reason);
}

/* After a lost answer: is what was asked for there? */
static void on_second_look(Job *job, int error) {
        if (error >= 0 && is_whole(job))
                commit_result(job, "container-create-reconciled");
        else
                give_up(job, error);
}

/* Takes the "Id" of a 201 reply as the one object of the list. */
static int take_id(const EngineReply *reply, ObjectList *list) {
        CLEANUP(json_decrefp) json_t *v = NULL;
        const char *id;
        char why[128];

        if (json_read(reply->body, reply->n_body, &v, why, sizeof(why)) < 0)
                return -EPROTO;
        id = json_string_value(json_object_get(v, "Id"));
        if (!object_id_valid(id))
                return -EPROTO;
        object_list_done(list);
        list->items = calloc(1, sizeof(*list->items));
        if (!list->items || !(list->items[0].id = strdup(id)))
                return -ENOMEM;
        list->n = 1;
        return 0;
}

/*
 * Did the Engine say "no", or was it never asked? Then the client hears why, and the job
 * has ended.
 */
static bool refused(Job *job, const char *code, int error, const EngineReply *reply) {
        char text[8192];

        if (error == -ECONNREFUSED || error == -ENOENT || error == -EACCES || error == -EAGAIN) {
                job_done(job, code, engine_failure_text(text, sizeof(text), error, NULL));
                return true;
        }
        if (error >= 0 && reply->status >= 300) {
                engine_error_text(reply, text, sizeof(text));
                if (strlen(text) > MESSAGE_MAX)
                        memmove(text, text + strlen(text) - MESSAGE_MAX, MESSAGE_MAX + 1);
                job_done(job, code, text);
                return true;
        }
        return false;
}

static void on_container_created(void *userdata, int error, const EngineReply *reply) {
        Job *job = userdata;

        if (refused(job, "container-create-failed", error, reply))
                return;
        if (error >= 0)
                error = take_id(reply, &job->containers);
        if (error < 0) {
                query_objects(job, on_second_look);
                return;
        }
        if (job_reload(job) &&
            job_write(job,
                      "container-created",
                      job_detail(job, "containerId", job->containers.items[0].id)))
                commit_result(job, "container-active");
}

static int post(Job *job, const char *path, json_t *body, engine_fn fn) {
        CLEANUP(json_decrefp) json_t *owned = body;

        if (!owned)
                return -ENOMEM;
        return engine_call(job->w->engine,
                           "POST",
                           path,
                           owned,
                           job->w->conf.create_timeout_usec,
                           fn,
                           job);
}

static void create_container(Job *job) {
        if (overtaken(job))
                return;
        if (post(job,
                 "/containers/create",
                 sandbox_container_body(job->w, &job->r, &job->spec, job->networks.items[0].id),
                 on_container_created) < 0)
                job_failed(job, "out of memory");
}

static void network_is_there(Job *job) {
        if (!job_reload(job))
                return;
        if (set_text(&job->r.network_id, job->networks.items[0].id) < 0)
                job_failed(job, "out of memory");
        else if (job_write(job,
                           "container-network-created",
                           job_detail(job, "networkId", job->r.network_id)))
                job_after_commit(job, create_container);
}

static void on_look_for_network(Job *job, int error) {
        if (error >= 0 && is_network_alone(job))
                network_is_there(job);
        else
                give_up(job, error);
}

static void on_network_created(void *userdata, int error, const EngineReply *reply) {
        Job *job = userdata;

        if (refused(job, "container-network-create-failed", error, reply))
                return;
        if (error >= 0)
                error = take_id(reply, &job->networks);
        if (error < 0)
                query_objects(job, on_look_for_network);
        else
                network_is_there(job);
}

static void create_network(Job *job) {
        if (overtaken(job))
                return;
        if (post(job,
                 "/networks/create",
                 sandbox_network_body(job->w, &job->r, &job->spec),
                 on_network_created) < 0)
                job_failed(job, "out of memory");
}

static void on_first_look(Job *job, int error) {
        char text[256];

        if (overtaken(job))
                return;
        if (error < 0)
                job_done(job,
                         "container-create-failed",
                         engine_failure_text(text, sizeof(text), error, NULL));
        else if (is_whole(job))
                commit_result(job, "container-create-reconciled");
        else if (is_network_alone(job))
                network_is_there(job);
        else if (job->containers.n > 0 || job->networks.n > 0)
                give_up(job, 0);
        else if (job_write(job, "container-network-create-intent", job_detail(job, NULL, NULL)))
                job_after_commit(job, create_network);
}

void create_start(Job *job) {
        if (!overtaken(job) && job_reload(job))
                query_objects(job, on_first_look);
}
