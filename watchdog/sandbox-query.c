/* SPDX-License-Identifier: MIT */
/* What is there: a reservation's objects at the Engine, by labels only, and a container's cgroup.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "watchdog/sandbox-internal.h"

void object_list_done(ObjectList *l) {
        for (size_t i = 0; i < l->n; i++) {
                free(l->items[i].id);
                free(l->items[i].network);
        }
        free(l->items);
        *l = (ObjectList){ 0 };
}

bool object_id_valid(const char *id) {
        return id && *id && strspn(id, "0123456789abcdef") == strlen(id);
}

char *engine_failure_text(char *buf, size_t n, int error, const EngineReply *reply) {
        char text[1024];

        if (error == -EPROTO && !reply)
                snprintf(buf, n, "the Docker Engine's answer makes no sense");
        else if (error < 0)
                snprintf(buf, n, "the Docker Engine does not answer: %s", strerror(-error));
        else
                snprintf(buf,
                         n,
                         "the Docker Engine says %ld: %s",
                         reply->status,
                         engine_error_text(reply, text, sizeof(text)));
        return buf;
}

/* Profile, invocation, reservation and provision token: all as in the ledger? */
static bool labels_agree(const Job *job, const json_t *labels) {
        CLEANUP(json_decrefp) json_t *wanted = sandbox_labels(job->w, &job->r, NULL);
        const char *key;
        json_t *value;

        if (!wanted)
                return false;
        json_object_foreach(wanted, key, value) {
                if (!json_equal(value, json_object_get(labels, key)))
                        return false;
        }
        return true;
}

static bool attempt_agrees(const Job *job, const json_t *labels) {
        const char *attempt = json_string_value(json_object_get(labels, "niceeval.attempt-id"));

        return attempt && job->r.attempt_id && !strcmp(attempt, job->r.attempt_id);
}

/* States of a container that has no process: removal needs no stop before it. */
static bool is_running(const char *state) {
        return !state ||
                        (strcmp(state, "created") && strcmp(state, "exited") &&
                         strcmp(state, "dead"));
}

static int read_object(const Job *job, const json_t *v, ObjectList *list) {
        const char *id = json_string_value(json_object_get(v, "Id"));
        const json_t *labels = json_object_get(v, "Labels");
        const char *network = json_string_value(
                        json_object_get(json_object_get(v, "HostConfig"), "NetworkMode"));
        Object *o = list->items + list->n;

        if (!object_id_valid(id))
                return -EPROTO;
        if (!labels_agree(job, labels))
                return 0;
        *o = (Object){
                .id = strdup(id),
                .network = strdup(network ? network : ""),
                .running = is_running(json_string_value(json_object_get(v, "State"))),
                .attempt_fits = attempt_agrees(job, labels),
        };
        list->n++;
        return o->id && o->network ? 0 : -ENOMEM;
}

/* Whatever is not as expected makes the query prove nothing. */
static int read_objects(const Job *job, const EngineReply *reply, ObjectList *ret) {
        CLEANUP(json_decrefp) json_t *list = NULL;
        char why[128];
        int r = 0;

        object_list_done(ret);
        if (reply->status != 200 ||
            json_read(reply->body, reply->n_body, &list, why, sizeof(why)) < 0 ||
            !json_is_array(list))
                return -EPROTO;
        ret->items = calloc(json_array_size(list) + 1, sizeof(*ret->items));
        if (!ret->items)
                return -ENOMEM;
        for (size_t i = 0; r >= 0 && i < json_array_size(list); i++)
                r = read_object(job, json_array_get(list, i), ret);
        return r;
}

static void on_networks(void *userdata, int error, const EngineReply *reply) {
        Job *job = userdata;

        job->found(job, error < 0 ? error : read_objects(job, reply, &job->networks));
}

static int ask(Job *job, const char *what, engine_fn fn) {
        CLEANUP(freep) char *filter = sandbox_filter(job->w, &job->r);
        CLEANUP(freep) char *path = filter ? text_format("%sfilters=%s", what, filter) : NULL;

        if (!path)
                return -ENOMEM;
        return engine_call(job->w->engine,
                           "GET",
                           path,
                           NULL,
                           job->w->conf.engine_timeout_usec,
                           fn,
                           job);
}

static void on_containers(void *userdata, int error, const EngineReply *reply) {
        Job *job = userdata;

        if (error >= 0)
                error = read_objects(job, reply, &job->containers);
        if (error >= 0)
                error = ask(job, "/networks?", on_networks);
        if (error < 0)
                job->found(job, error);
}

void query_objects(Job *job, found_fn fn) {
        int r;

        job->found = fn;
        object_list_done(&job->containers);
        object_list_done(&job->networks);
        r = ask(job, "/containers/json?all=1&", on_containers);
        if (r < 0)
                fn(job, r);
}

/*
 * Where the scope is follows from systemd's and Docker's naming, under the aggregate cgroup that
 * the descriptor names. That it is not there, or has no process, is the proof.
 */
bool container_cgroup_is_busy(const Watchdog *w, const char *container_id) {
        CLEANUP(freep) char *events = NULL, *text = NULL;
        size_t n;

        events = text_format("%s/user@%u.service/user.slice/docker-%s.scope/cgroup.events",
                             w->descriptor->aggregate_path,
                             (unsigned) w->descriptor->owner_uid,
                             container_id);
        if (!events)
                return true;
        switch (-file_read(events, 4096, &text, &n)) {
        case 0:
                return !strstr(text, "populated 0");
        case ENOENT:
        case ENODEV: /* removed between open and read */
                return false;
        default:
                return true;
        }
}
