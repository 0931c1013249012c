/* SPDX-License-Identifier: MIT */
/*
 * Giving a sandbox back
 *
 *   releasing (on disk) -> look -> each container that runs: stop with a deadline, else kill
 *   -> remove containers by force -> remove networks -> look until all is gone, the cgroups too
 *   -> scrubbing (on disk) -> the broker resets and verifies the slot
 *   -> free, generation + 1, reservation gone (on disk)
 *
 * Whatever is not proven on the way quarantines the slot; the whole row is then run again later.
 * A try writes nothing that the ledger already says, so that retries do not let it grow.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "watchdog/sandbox-internal.h"

static void blocked(Job *job, const char *what, int error, const EngineReply *reply) {
        char text[512], reason[640];

        snprintf(reason,
                 sizeof(reason),
                 "%s: %s",
                 what,
                 engine_failure_text(text, sizeof(text), error, reply));
        job_quarantine(job, "recovery-blocked", reason);
}

/* ---- the slot ---- */

static void step_freed(Job *job) {
        job_done(job, NULL, NULL);
}

/* The slot is proven clean: one change frees it and ends the reservation. */
static int write_free(Job *job) {
        CLEANUP(slot_donep) Slot slot = { 0 };
        Ledger *l = job->w->ledger;
        int r = ledger_change_begin(l), e;

        if (r < 0)
                return r;
        r = ledger_slot_get(l, job->r.slot, &slot);
        if (r >= 0)
                r = ledger_event(l, "slot-verified-free", job_detail(job, NULL, NULL));
        if (r >= 0 && job->r.reservation_id) {
                r = ledger_event(l, "reservation-released", job_detail(job, NULL, NULL));
                if (r >= 0)
                        r = ledger_reservation_delete(l, job->r.reservation_id);
        }
        if (r >= 0) {
                slot.state = SLOT_FREE;
                slot.generation++;
                r = ledger_slot_update(l, &slot);
        }
        if (r >= 0)
                r = ledger_event(l, "slot-free", job_detail(job, NULL, NULL));
        e = ledger_change_end(l, r >= 0);
        return r < 0 ? r : e;
}

/* The broker's numbers against the slot table, in the watchdog's own eyes: NULL, or what differs.
 */
static const char *difference(const Job *job, const SlotFacts *f) {
        const SlotTable *t = &job->w->slot_table;
        const SlotEntry *e = t->slots + job->r.slot - 1;

        return job->r.slot == 0 || job->r.slot > t->n_slots ? "it is not in the slot table"
                        : !f->empty                         ? "it is not empty"
                        : f->project_id != e->project_id    ? "its project id is another one"
                        : f->limit_bytes == 0 || f->limit_inodes == 0 ? "it has no hard limit"
                        : f->uid != e->uid || f->gid != e->gid        ? "it has another owner"
                        : f->mode != e->mode                          ? "it has another mode"
                                                                      : NULL;
}

static void reset_slot(Job *job);

/* In use for a moment longer, or a broker that is being started again: worth asking once more. */
static bool may_pass(int error) {
        return error == -EBUSY || error == -ECONNRESET || error == -ECONNREFUSED ||
                        error == -ENOENT || error == -EAGAIN;
}

static void on_reset(void *userdata, int error, const BrokerReply *reply) {
        Job *job = userdata;
        const char *wrong = error >= 0 && reply->has_facts ? difference(job, &reply->facts) : NULL;
        char reason[640];
        int r;

        if (may_pass(error) && job_pause(job, reset_slot))
                return;
        if (error < 0 || wrong) {
                snprintf(reason,
                         sizeof(reason),
                         "reset: %s",
                         wrong                                        ? wrong
                                         : reply && reply->message[0] ? reply->message
                                                                      : strerror(-error));
                job_quarantine(job, "slot-quarantined", reason);
                return;
        }
        r = write_free(job);
        if (r < 0) {
                log_error(r, "cannot write that slot-%04u is free", job->r.slot);
                job_failed(job, "the ledger cannot be written");
        } else
                job_after_commit(job, step_freed);
}

static void reset_slot(Job *job) {
        if (broker_call(job->w->broker, BROKER_RESET, job->r.slot, on_reset, job) < 0)
                job_failed(job, "out of memory");
}

static void first_reset(Job *job) {
        job_be_patient(job, job->w->conf.stop_timeout_usec);
        reset_slot(job);
}

/* The slot's state, the reservation's with it, and the event. */
static int write_slot_state(Job *job, SlotState state, const char *event) {
        CLEANUP(slot_donep) Slot slot = { 0 };
        Ledger *l = job->w->ledger;
        int r = ledger_change_begin(l), e;

        if (r < 0)
                return r;
        r = ledger_slot_get(l, job->r.slot, &slot);
        slot.state = state;
        if (r >= 0)
                r = ledger_slot_update(l, &slot);
        if (r >= 0 && job->r.reservation_id) {
                job->r.state = RESERVATION_RELEASING;
                r = ledger_reservation_update(l, &job->r);
        }
        if (r >= 0)
                r = ledger_event(l, event, job_detail(job, NULL, NULL));
        e = ledger_change_end(l, r >= 0);
        return r < 0 ? r : e;
}

void scrub_start(Job *job) {
        CLEANUP(slot_donep) Slot slot = { 0 };
        int r = ledger_slot_get(job->w->ledger, job->r.slot, &slot);

        /* a quarantined slot stays so in the ledger, and on the screen, until it is free */
        if (r >= 0 && slot.state == SLOT_QUARANTINED && !job->trouble)
                job->trouble = strdup(slot.quarantine_reason);
        if (r >= 0 && slot.state != SLOT_QUARANTINED && slot.state != SLOT_SCRUBBING)
                r = write_slot_state(job, SLOT_SCRUBBING, "slot-scrubbing");
        if (r < 0)
                job_failed(job, "the ledger cannot be written");
        else
                job_after_commit(job, first_reset);
}

/* ---- seeing everything gone ---- */

static bool a_cgroup_is_busy(const Job *job) {
        for (size_t i = 0; i < job->seen.n; i++)
                if (container_cgroup_is_busy(job->w, job->seen.items[i].id))
                        return true;
        return job->r.container_id && container_cgroup_is_busy(job->w, job->r.container_id);
}

static void look(Job *job);
static void last_look(Job *job);

static void on_last_look(Job *job, int error) {
        bool visible = job->containers.n > 0 || job->networks.n > 0;
        char reason[256];

        if (error < 0) {
                blocked(job, "looking for its objects", error, NULL);
                return;
        }
        if (!visible && boottime_usec() < job->unsettled_until_usec) {
                /* the create that was never answered may still land: look until it cannot */
                job->patience_end_usec = job->unsettled_until_usec + USEC_PER_SEC;
                if (job_pause(job, last_look))
                        return;
        }
        if (!visible && !a_cgroup_is_busy(job)) {
                scrub_start(job);
                return;
        }
        /* what is visible now may have come after the first look: it is taken down, too */
        if (job_pause(job, visible ? look : last_look))
                return;
        if (visible)
                snprintf(reason,
                         sizeof(reason),
                         "%zu containers and %zu networks are still there after they were removed",
                         job->containers.n,
                         job->networks.n);
        else
                snprintf(reason, sizeof(reason), "a process of the sandbox is left in its cgroup");
        job_quarantine(job, "recovery-blocked", reason);
}

static void last_look(Job *job) {
        query_objects(job, on_last_look);
}

/* ---- networks ---- */

/* Calls METHOD path (consumed; NULL: memory is out). */
static void
call(Job *job, const char *method, char *path, json_t *body, uint64_t extra_usec, engine_fn fn) {
        CLEANUP(freep) char *owned = path;
        CLEANUP(json_decrefp) json_t *owned_body = body;

        if (!owned ||
            engine_call(job->w->engine,
                        method,
                        owned,
                        owned_body,
                        job->w->conf.engine_timeout_usec + extra_usec,
                        fn,
                        job) < 0)
                job_failed(job, "out of memory");
}

static void remove_next_network(Job *job);

static const char *network_id(const Job *job) {
        return job->networks.items[job->at].id;
}

static void disconnect_next(Job *job);

static void on_disconnected(void *userdata, int error, const EngineReply *reply) {
        Job *job = userdata;

        if (error < 0 || (reply->status >= 300 && reply->status != 404)) {
                blocked(job, "disconnecting a container", error, reply);
                return;
        }
        json_object_del(job->endpoints, json_object_iter_key(json_object_iter(job->endpoints)));
        disconnect_next(job);
}

static void disconnect_next(Job *job) {
        void *first = json_object_iter(job->endpoints);

        if (!first) {
                /* the empty list stays: a network that is in use again is not tried for ever */
                remove_next_network(job);
                return;
        }
        call(job,
             "POST",
             text_format("/networks/%s/disconnect", network_id(job)),
             json_pack("{s:s, s:b}", "Container", json_object_iter_key(first), "Force", 1),
             0,
             on_disconnected);
}

static void on_endpoints(void *userdata, int error, const EngineReply *reply) {
        CLEANUP(json_decrefp) json_t *network = NULL;
        Job *job = userdata;

        if (error < 0 || reply->status >= 300) {
                blocked(job, "asking who uses the network", error, reply);
                return;
        }
        network = json_loadb(reply->body, reply->n_body, JSON_REJECT_DUPLICATES, NULL);
        job->endpoints = json_deep_copy(json_object_get(network, "Containers"));
        if (!job->endpoints)
                job->endpoints = json_object();
        disconnect_next(job);
}

static void on_network_removed(void *userdata, int error, const EngineReply *reply) {
        Job *job = userdata;

        if (error >= 0 && reply->status == 403 && !job->endpoints) {
                /* somebody connected a container of his own to it */
                call(job,
                     "GET",
                     text_format("/networks/%s", network_id(job)),
                     NULL,
                     0,
                     on_endpoints);
                return;
        }
        if (error < 0 || (reply->status >= 300 && reply->status != 404)) {
                blocked(job, "removing the network", error, reply);
                return;
        }
        json_decref(TAKE_PTR(job->endpoints));
        job->at++;
        remove_next_network(job);
}

static void remove_next_network(Job *job) {
        if (job->at < job->networks.n) {
                call(job,
                     "DELETE",
                     text_format("/networks/%s", network_id(job)),
                     NULL,
                     0,
                     on_network_removed);
                return;
        }
        if (job->patience_end_usec == 0)
                job_be_patient(job, job->w->conf.engine_timeout_usec);
        last_look(job);
}

/* ---- containers ---- */

static void take_down_next_container(Job *job);

static const Object *container(const Job *job) {
        return job->seen.items + job->at;
}

static void on_container_removed(void *userdata, int error, const EngineReply *reply) {
        Job *job = userdata;

        /* 409: a removal is already under way; the last look will tell how it went */
        if (error < 0 || (reply->status >= 300 && reply->status != 404 && reply->status != 409)) {
                blocked(job, "removing the container", error, reply);
                return;
        }
        job->at++;
        take_down_next_container(job);
}

static void remove_container(Job *job) {
        call(job,
             "DELETE",
             text_format("/containers/%s?force=1&v=1", container(job)->id),
             NULL,
             job->w->conf.stop_timeout_usec,
             on_container_removed);
}

static void on_container_killed(void *userdata, int error UNUSED, const EngineReply *reply UNUSED) {
        /* worked or not, removal by force follows and its answer counts */
        remove_container(userdata);
}

static void on_container_stopped(void *userdata, int error, const EngineReply *reply) {
        Job *job = userdata;

        if (error >= 0 && (reply->status < 300 || reply->status == 304 || reply->status == 404)) {
                remove_container(job);
                return;
        }
        call(job,
             "POST",
             text_format("/containers/%s/kill", container(job)->id),
             NULL,
             0,
             on_container_killed);
}

static void take_down_next_container(Job *job) {
        uint64_t grace = job->w->conf.stop_timeout_usec;

        if (job->at == job->seen.n) {
                job->at = 0;
                remove_next_network(job);
        } else if (!container(job)->running)
                remove_container(job);
        else
                call(job,
                     "POST",
                     text_format("/containers/%s/stop?t=%llu",
                                 container(job)->id,
                                 (unsigned long long) ((grace + USEC_PER_SEC - 1) / USEC_PER_SEC)),
                     NULL,
                     grace + USEC_PER_SEC,
                     on_container_stopped);
}

static void on_look(Job *job, int error) {
        if (error < 0) {
                blocked(job, "looking for its objects", error, NULL);
                return;
        }
        object_list_done(&job->seen);
        job->seen = job->containers;
        job->containers = (ObjectList){ 0 };
        json_decref(TAKE_PTR(job->endpoints));
        job->at = 0;
        take_down_next_container(job);
}

static void look(Job *job) {
        query_objects(job, on_look);
}

/* ---- the start ---- */

/* Builds of this release hold a place in the budget and nothing else. */
static void release_build(Job *job) {
        Ledger *l = job->w->ledger;
        int r = ledger_change_begin(l), e;

        if (r >= 0) {
                r = ledger_event(l, "reservation-released", job_detail(job, NULL, NULL));
                if (r >= 0)
                        r = ledger_reservation_delete(l, job->r.reservation_id);
                e = ledger_change_end(l, r >= 0);
                r = r < 0 ? r : e;
        }
        if (r < 0)
                job_failed(job, "the ledger cannot be written");
        else
                job_after_commit(job, step_freed);
}

/*
 * A create of which the ledger has the intent but no result: this watchdog, or the one before it,
 * may have a request on its way to the Engine.
 */
static void expect_late_create(Job *job) {
        uint64_t until = job->all->started_usec + job->w->conf.create_timeout_usec;

        if (job->r.create_spec_digest && !job->r.container_id && until > job->unsettled_until_usec)
                job->unsettled_until_usec = until;
}

void release_start(Job *job) {
        int r = 0;

        if (!job_reload(job))
                return;
        if (job->r.kind == KIND_BUILD) {
                release_build(job);
                return;
        }
        expect_late_create(job);
        job->patience_end_usec = 0; /* begins when what was found is removed */
        if (job->r.state == RESERVATION_QUARANTINED && !job->trouble && job->r.quarantine_reason)
                job->trouble = strdup(job->r.quarantine_reason);
        if (job->r.state != RESERVATION_QUARANTINED && job->r.state != RESERVATION_RELEASING)
                r = write_slot_state(job, SLOT_DRAINING, "reservation-release-intent");
        if (r < 0)
                job_failed(job, "the ledger cannot be written");
        else
                /* no intent of a create was ever written: the Engine was not asked for anything */
                job_after_commit(job, job->r.create_spec_digest ? look : scrub_start);
}
