/* SPDX-License-Identifier: MIT */
/* The Engine's side of a sandbox: labels, list filters, and the bodies of the create requests. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "watchdog/sandbox-spec.h"
#include "watchdog/sandbox-tmpfs.h"

/* Of the container's log that the Engine keeps: what a sandbox prints must not fill its disk. */
#define LOG_SIZE "1m"
#define LOG_FILES "2"

json_t *sandbox_labels(const Watchdog *w, const Reservation *r, const char *attempt_id) {
        char slot[SLOT_ID_SIZE], generation[24];

        slot_id_format(slot, r->slot);
        snprintf(generation, sizeof(generation), "%llu", (unsigned long long) r->slot_generation);
        /* clang-format off */
        return json_pack("{s:s, s:s, s:s, s:s, s:s*, s:s, s:s, s:s, s:s}", /* "s*": NULL is left out */
                         "niceeval.profile-id",      w->descriptor->profile_id,
                         "niceeval.invocation-id",   r->invocation_id,
                         "niceeval.reservation-id",  r->reservation_id,
                         "niceeval.provision-token", r->provision_token,
                         "niceeval.attempt-id",      attempt_id,
                         "dindhost.profile-id",      w->descriptor->profile_id,
                         "dindhost.alias",           w->paths.alias,
                         "dindhost.slot-id",         slot,
                         "dindhost.generation",      generation);
        /* clang-format on */
}

char *sandbox_filter(const Watchdog *w, const Reservation *r) {
        static const char *const asked[] = { "niceeval.profile-id",
                                             "niceeval.invocation-id",
                                             "niceeval.reservation-id",
                                             "niceeval.provision-token" };
        CLEANUP(json_decrefp) json_t *labels = sandbox_labels(w, r, NULL);
        CLEANUP(json_decrefp) json_t *list = json_array();
        CLEANUP(json_decrefp) json_t *filter = NULL;
        CLEANUP(freep) char *text = NULL;

        for (size_t i = 0; i < N_ELEMENTS(asked); i++) {
                const char *value = json_string_value(json_object_get(labels, asked[i]));
                CLEANUP(freep) char *pair = value ? text_format("%s=%s", asked[i], value) : NULL;

                if (!pair || json_array_append_new(list, json_string(pair)) < 0)
                        return NULL;
        }
        filter = json_pack("{s:O}", "label", list);
        if (!filter || json_canonical(filter, &text, NULL) < 0)
                return NULL;
        return engine_escape(text);
}

json_t *sandbox_network_body(const Watchdog *w, const Reservation *r, const SandboxSpec *spec) {
        char name[40];

        snprintf(name, sizeof(name), "niceeval-%.20s", r->provision_token);
        /* clang-format off */
        return json_pack("{s:s, s:s, s:b, s:b, s:b, s:{s:s}, s:o}",
                         "Name", name,
                         "Driver", "bridge",
                         "CheckDuplicate", 1,
                         "Internal", 0,
                         "EnableIPv6", 0,
                         "Options", "com.docker.network.bridge.enable_icc", "false",
                         "Labels", sandbox_labels(w, r, spec->attempt_id));
        /* clang-format on */
}

static const char *text_of(const SandboxSpec *s, const char *key) {
        const char *v = json_string_value(json_object_get(s->create, key));

        return v && *v ? v : NULL;
}

/* The slot, and our supervisor where the image has nothing of ours. */
static json_t *mounts(const Watchdog *w, const Reservation *r) {
        CLEANUP(freep) char *slot = NULL;
        char id[SLOT_ID_SIZE];

        slot_id_format(id, r->slot);
        slot = text_format("%s/%s", w->slot_table.slots_dir, id);
        if (!slot)
                return NULL;
        /* clang-format off */
        return json_pack("[{s:s, s:s, s:s, s:{s:s}}, {s:s, s:s, s:s, s:b, s:{s:s}}]",
                         "Type", "bind", "Source", slot, "Target", "/var/lib/docker",
                         "BindOptions", "Propagation", "rprivate",
                         "Type", "bind", "Source", SUPERVISOR_PATH, "Target", SUPERVISOR_IN_SANDBOX,
                         "ReadOnly", 1, "BindOptions", "Propagation", "rprivate");
        /* clang-format on */
}

/* The client's options, with a size where it named none: a tmpfs without one takes half the host.
 */
static json_t *mount_options(const char *given, uint64_t size) {
        CLEANUP(freep) char *text = NULL;
        bool sized = false;

        (void) tmpfs_options_valid(given, &sized);
        if (sized)
                return json_string(given);
        text = text_format("%s%ssize=%llu", given, *given ? "," : "", (unsigned long long) size);
        return text ? json_string(text) : NULL;
}

/* Memory of a tmpfs counts against the sandbox's own limit. A supervised one has /run and /tmp. */
static json_t *tmpfs_of(const SandboxSpec *spec, uint64_t memory_bytes) {
        json_t *given = json_object_get(spec->create, "tmpfs"), *tmpfs = json_object(), *options;
        const uint64_t quarter = memory_bytes / 4;
        const char *target;

        json_object_foreach(given, target, options) {
                json_object_set_new(tmpfs,
                                    target,
                                    mount_options(json_string_value(options), memory_bytes));
        }
        if (spec->supervised && !json_object_get(tmpfs, "/run"))
                json_object_set_new(tmpfs,
                                    "/run",
                                    mount_options("rw,exec,nosuid,nodev,mode=0755", quarter));
        if (spec->supervised && !json_object_get(tmpfs, "/tmp"))
                json_object_set_new(tmpfs,
                                    "/tmp",
                                    mount_options("rw,exec,nosuid,nodev,mode=1777", quarter));
        return tmpfs;
}

static json_t *dns_servers(const Watchdog *w) {
        json_t *list = json_array();

        for (const char **s = w->descriptor->dns_servers; s && *s; s++)
                json_array_append_new(list, json_string(*s));
        return list;
}

static json_t *host_config(const Watchdog *w,
                           const Reservation *r,
                           const SandboxSpec *spec,
                           const char *network_id) {
        const Vector *v = &r->resources;

        /* clang-format off */
        return json_pack("{s:s, s:b, s:b, s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:{s:s, s:{s:s, s:s}}}",
                         "NetworkMode", network_id,
                         "Privileged", 1,
                         "ReadonlyRootfs", 1,
                         "CgroupnsMode", "private",
                         "Memory", (json_int_t) v->memory_bytes,
                         "MemorySwap", (json_int_t) v->memory_bytes,
                         "PidsLimit", (json_int_t) v->pids,
                         "NanoCpus", (json_int_t) (v->cpus_milli * 1000000),
                         "Mounts", mounts(w, r),
                         "Tmpfs", tmpfs_of(spec, v->memory_bytes),
                         "Dns", dns_servers(w),
                         "LogConfig", "Type", "json-file",
                                      "Config", "max-size", LOG_SIZE, "max-file", LOG_FILES);
        /* clang-format on */
}

static int prepend_seconds(json_t *env, const char *name, uint64_t usec) {
        CLEANUP(freep)
        char *text = text_format("%s=%llu", name, (unsigned long long) (usec / USEC_PER_SEC));

        return text ? json_array_insert_new(env, 0, json_string(text)) : -1;
}

/* The client's environment, and before it, for our supervisor, what the profile says. */
static json_t *environment(const Watchdog *w, const SandboxSpec *spec) {
        CLEANUP(json_decrefp)
        json_t *env = json_deep_copy(json_object_get(spec->create, "environment"));

        if (spec->supervised &&
            (prepend_seconds(env, "DINDHOST_LIFETIME", w->conf.sandbox_lifetime_usec) < 0 ||
             prepend_seconds(env, "DINDHOST_READY_TIMEOUT", w->conf.ready_timeout_usec) < 0))
                return NULL;
        return TAKE_PTR(env);
}

/* PID 1, who it runs as and how it is asked to end; false when memory is out. */
static bool add_start(json_t *body, const SandboxSpec *spec) {
        const char *entrypoint = text_of(spec, "entrypoint"), *user = text_of(spec, "user");
        const char *folder = text_of(spec, "workingDir");
        int r = 0;

        if (spec->supervised) {
                entrypoint = SUPERVISOR_IN_SANDBOX;
                user = "0:0"; /* whatever user the image names: PID 1 starts dockerd */
                r |= json_object_set_new(body, "StopSignal", json_string("SIGTERM"));
        }
        if (entrypoint)
                r |= json_object_set_new(body, "Entrypoint", json_pack("[s]", entrypoint));
        if (folder)
                r |= json_object_set_new(body, "WorkingDir", json_string(folder));
        if (user)
                r |= json_object_set_new(body, "User", json_string(user));
        return r == 0;
}

json_t *sandbox_container_body(const Watchdog *w,
                               const Reservation *r,
                               const SandboxSpec *spec,
                               const char *network_id) {
        const uint64_t stop_sec = (w->conf.stop_timeout_usec + USEC_PER_SEC - 1) / USEC_PER_SEC;
        CLEANUP(json_decrefp) json_t *body = NULL;

        /* clang-format off */
        body = json_pack("{s:s, s:O, s:o, s:o, s:o, s:I}",
                         "Image", text_of(spec, "image"),
                         "Cmd", json_object_get(spec->create, "command"),
                         "Env", environment(w, spec),
                         "Labels", sandbox_labels(w, r, spec->attempt_id),
                         "HostConfig", host_config(w, r, spec, network_id),
                         "StopTimeout", (json_int_t) stop_sec);
        /* clang-format on */
        if (!body || !add_start(body, spec))
                return NULL;
        return TAKE_PTR(body);
}
