/* SPDX-License-Identifier: MIT */
#include "profile/smoke.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/control-client.h"
#include "profile/smoke-internal.h"

#define MiB (UINT64_C(1024) * 1024)
#define HEARTBEAT_USEC (5 * USEC_PER_SEC)
#define POLL_USEC (500 * USEC_PER_MSEC)

Smoke *smoke_free(Smoke *s) {
        if (!s)
                return NULL;
        heart_stop(s->heart);
        free(s->lease_token);
        free(s->container_id);
        free(s->network_id);
        free(s);
        return NULL;
}

static uint64_t cut(uint64_t wish, uint64_t most, bool *reduced) {
        if (wish <= most)
                return wish;
        *reduced = true;
        return most;
}

void smoke_size(const Descriptor *d, SmokeSize *ret) {
        bool reduced = false;
        uint64_t disk = d->disk_bytes < d->bytes_per_allocation ? d->disk_bytes
                                                                : d->bytes_per_allocation;

        *ret = (SmokeSize){
                .cpus_milli = cut(2000, d->cpus_milli, &reduced),
                .memory_bytes = cut(512 * MiB, d->memory_bytes, &reduced),
                .pids = cut(256, d->pids, &reduced),
                .disk_bytes = cut(1024 * MiB, disk, &reduced),
        };
        ret->reduced = reduced;
}

CgroupLimits smoke_limits(const Smoke *s) {
        return (CgroupLimits){
                .cpus_milli = s->size.cpus_milli,
                .memory_bytes = s->size.memory_bytes,
                .pids = s->size.pids,
        };
}

bool smoke_call(Doctor *d,
                const char *kind,
                json_t *more,
                uint64_t timeout_usec,
                json_t **ret,
                char ret_code[64],
                Finding *f) {
        CLEANUP(json_decrefp) json_t *extra = more, *request = NULL, *result = NULL;
        Smoke *s = d->smoke;
        ControlError error = { .code = "", .message = "out of memory" };
        int r = -ENOMEM;

        request = json_pack("{s:s, s:s, s:s*}",
                            "kind",
                            kind,
                            "invocationId",
                            s->invocation_id,
                            "leaseToken",
                            s->lease_token);
        if (request && (!extra || json_object_update(request, extra) == 0))
                r = control_call(d->descriptor->control_socket,
                                 request,
                                 timeout_usec,
                                 &result,
                                 &error);
        if (ret_code)
                snprintf(ret_code, 64, "%s", r > 0 ? error.code : "");
        if (r == 0) {
                if (ret)
                        *ret = TAKE_PTR(result);
                return true;
        }
        finding_fail(f,
                     "%s: %s%s%s",
                     kind,
                     r > 0 ? error.code : "",
                     r > 0 ? ": " : "",
                     error.message);
        finding_cure(f, "see journalctl -u dindhost-watchdog@%s", d->alias);
        return false;
}

bool smoke_engine(Doctor *d,
                  const char *method,
                  const char *path,
                  uint64_t timeout_usec,
                  long *ret_status,
                  json_t **ret,
                  Finding *f) {
        CLEANUP(engine_reply_donep) EngineReply reply = { 0 };
        CLEANUP(json_decrefp) json_t *body = NULL;
        char why[512];
        int r = engine_request(
                        d->descriptor->docker_socket, method, path, NULL, timeout_usec, &reply);

        if (r < 0) {
                finding_fail(f, "%s %s: %s", method, path, strerror(-r));
                finding_cure(f,
                             "see journalctl _SYSTEMD_USER_UNIT=dindhost-dockerd@%s.service, or raise "
                             "the time-outs in the profile file",
                             d->alias);
                return false;
        }
        *ret_status = reply.status;
        (void) json_read(reply.body, reply.n_body, &body, why, sizeof(why));
        if (reply.status >= 400) {
                finding_fail(f,
                             "%s %s: %s",
                             method,
                             path,
                             engine_error_text(&reply, why, sizeof(why)));
                finding_cure(f,
                             "see journalctl _SYSTEMD_USER_UNIT=dindhost-dockerd@%s.service",
                             d->alias);
        }
        if (ret)
                *ret = TAKE_PTR(body);
        return true;
}

static void check_image(Doctor *d, Finding *f) {
        CLEANUP(freep) char *name = engine_escape(d->conf.smoke_image), *path = NULL;
        CLEANUP(json_decrefp) json_t *image = NULL;
        const char *id;
        long status;

        path = name ? text_format("/images/%s/json", name) : NULL;
        if (!path || !smoke_engine(d, "GET", path, d->conf.engine_timeout_usec, &status, &image, f))
                return;
        id = json_string_value(json_object_get(image, "Id"));
        if (status == 200 && id) {
                finding_pass(f, "%s, %.19s", d->conf.smoke_image, id);
                return;
        }
        if (status < 400) {
                finding_fail(f, "GET %s: the answer has no image id", path);
                finding_cure(f, "systemctl restart dindhost-dockerd@%s.service", d->alias);
        }
        if (status != 404)
                return;
        finding_fail(f,
                     "the outer daemon has no image '%s' ([Docker] SmokeImage=)",
                     d->conf.smoke_image);
        finding_cure(f,
                     "docker -H unix://%s pull %s; without a registry: docker -H unix://%s import "
                     "FILE.tar %s",
                     d->descriptor->docker_socket,
                     d->conf.smoke_image,
                     d->descriptor->docker_socket,
                     d->conf.smoke_image);
}

static int smoke_new(Doctor *d) {
        Smoke *s = d->smoke = calloc(1, sizeof(*s));
        char token[40];
        int r;

        if (!s)
                return -ENOMEM;
        smoke_size(d->descriptor, &s->size);
        r = random_token(16, token, sizeof(token));
        if (r < 0)
                return r;
        snprintf(s->invocation_id, sizeof(s->invocation_id), "doctor-%s", token);
        snprintf(s->reservation_id, sizeof(s->reservation_id), "doctor-r-%s", token);
        return 0;
}

/* Three in a grace, and never rarer than clients do. */
static uint64_t heartbeat_period(const ProfileConf *c) {
        uint64_t third = c->lease_grace_usec / 3;

        return third < HEARTBEAT_USEC ? third : HEARTBEAT_USEC;
}

static void check_lease(Doctor *d, Finding *f) {
        CLEANUP(json_decrefp) json_t *result = NULL;
        const char *token;
        int r = smoke_new(d);

        if (r < 0) {
                finding_fail(f, "%s", strerror(-r));
                finding_cure(f, "try again");
                return;
        }
        if (!smoke_call(d,
                        "lease.create",
                        json_pack("{s:s, s:s}",
                                  "profileId",
                                  d->descriptor->profile_id,
                                  "daemonGeneration",
                                  d->generation),
                        d->conf.engine_timeout_usec,
                        &result,
                        NULL,
                        f))
                return;
        token = json_string_value(json_object_get(result, "leaseToken"));
        d->smoke->lease_token = token ? strdup(token) : NULL;
        if (!d->smoke->lease_token) {
                finding_fail(f, "lease.create: no lease token in the reply");
                finding_cure(f, "systemctl restart dindhost-watchdog@%s.service", d->alias);
                return;
        }
        r = heart_start(d->descriptor->control_socket,
                        d->smoke->invocation_id,
                        token,
                        heartbeat_period(&d->conf),
                        d->conf.engine_timeout_usec,
                        &d->smoke->heart);
        if (r < 0) {
                finding_fail(f, "heartbeats cannot be sent: %s", strerror(-r));
                finding_cure(f, "try again when this host has room for another process");
                return;
        }
        finding_pass(f, "%s", d->smoke->invocation_id);
}

static json_t *resources(const SmokeSize *z) {
        return json_pack("{s:f, s:I, s:I, s:i, s:I}",
                         "cpus",
                         (double) z->cpus_milli / 1000,
                         "memoryBytes",
                         (json_int_t) z->memory_bytes,
                         "pids",
                         (json_int_t) z->pids,
                         "containers",
                         1,
                         "ephemeralDiskBytes",
                         (json_int_t) z->disk_bytes);
}

/* Waits in the queue like everybody, but not for ever. */
static bool wait_for_grant(Doctor *d, json_t **record, Finding *f) {
        uint64_t deadline = boottime_usec() + d->conf.ready_timeout_usec;

        for (;;) {
                const char *state = json_string_value(json_object_get(*record, "state"));
                json_t *next = NULL;

                if (state && !strcmp(state, "granted"))
                        return true;
                if (!state || strcmp(state, "queued") || boottime_usec() > deadline) {
                        finding_fail(f,
                                     "the reservation is %s after %llu s",
                                     state ? state : "without a state",
                                     (unsigned long long) (d->conf.ready_timeout_usec /
                                                           USEC_PER_SEC));
                        finding_cure(f,
                                     "wait until the profile has room: dindhost status %s",
                                     d->alias);
                        return false;
                }
                usleep(POLL_USEC);
                if (!smoke_call(d,
                                "reservation.get",
                                json_pack("{s:s}", "reservationId", d->smoke->reservation_id),
                                d->conf.engine_timeout_usec,
                                &next,
                                NULL,
                                f))
                        return false;
                json_decref(*record);
                *record = next;
        }
}

static void describe_size(const SmokeSize *z, Finding *f, const char *slot) {
        char cpus[32], memory[32], disk[32];

        finding_pass(f,
                     "%s: %s CPUs, %s, %llu PIDs, %s of disk%s",
                     slot,
                     format_cpus(cpus, sizeof(cpus), z->cpus_milli),
                     format_size(memory, sizeof(memory), z->memory_bytes),
                     (unsigned long long) z->pids,
                     format_size(disk, sizeof(disk), z->disk_bytes),
                     z->reduced ? " (reduced to what this profile has)" : "");
}

static void check_reservation(Doctor *d, Finding *f) {
        CLEANUP(json_decrefp) json_t *record = NULL;
        Smoke *s = d->smoke;
        const char *slot;

        if (!smoke_call(d,
                        "reservation.acquire",
                        json_pack("{s:s, s:s, s:o}",
                                  "reservationId",
                                  s->reservation_id,
                                  "reservationKind",
                                  "container",
                                  "resources",
                                  resources(&s->size)),
                        d->conf.engine_timeout_usec + d->conf.broker_timeout_usec,
                        &record,
                        NULL,
                        f) ||
            !wait_for_grant(d, &record, f))
                return;
        slot = json_string_value(json_object_get(record, "slotId"));
        if (!slot || slot_id_parse(slot) == 0) {
                finding_fail(f, "granted, but the record has no slot");
                finding_cure(f, "systemctl restart dindhost-watchdog@%s.service", d->alias);
                return;
        }
        snprintf(s->slot_id, sizeof(s->slot_id), "%s", slot);
        s->slot_generation = json_integer_value(json_object_get(record, "slotGeneration"));
        describe_size(&s->size, f, slot);
}

/* Neither entrypoint nor command: our supervisor is PID 1. */
static json_t *create_request(const Doctor *d) {
        CLEANUP(freep) char *user = text_format("DINDHOST_READY_USER=%s", d->conf.smoke_user);

        if (!user)
                return NULL;
        return json_pack("{s:s, s:{s:s, s:[], s:[s], s:s}}",
                         "reservationId",
                         d->smoke->reservation_id,
                         "create",
                         "image",
                         d->conf.smoke_image,
                         "command",
                         "environment",
                         user,
                         "attemptId",
                         d->smoke->invocation_id);
}

static void check_create(Doctor *d, Finding *f) {
        CLEANUP(json_decrefp) json_t *result = NULL;
        const char *container, *network;

        if (!smoke_call(d,
                        "container.create",
                        create_request(d),
                        d->conf.create_timeout_usec + 2 * d->conf.engine_timeout_usec,
                        &result,
                        NULL,
                        f))
                return;
        container = json_string_value(json_object_get(result, "containerId"));
        network = json_string_value(json_object_get(result, "networkId"));
        d->smoke->container_id = container ? strdup(container) : NULL;
        d->smoke->network_id = network ? strdup(network) : NULL;
        if (d->smoke->container_id && d->smoke->network_id) {
                finding_pass(f, "container %.12s, network %.12s", container, network);
                return;
        }
        finding_fail(f, "container.create: the reply lacks an id");
        finding_cure(f, "systemctl restart dindhost-watchdog@%s.service", d->alias);
}

static void check_start(Doctor *d, Finding *f) {
        CLEANUP(freep) char *path = text_format("/containers/%s/start", d->smoke->container_id);
        long status;

        if (!path || !smoke_engine(d, "POST", path, d->conf.create_timeout_usec, &status, NULL, f))
                return;
        if (status == 204)
                finding_pass(f, "started");
        else if (status < 400) {
                finding_fail(f, "the Engine answers %ld to the start", status);
                finding_cure(f,
                             "see journalctl _SYSTEMD_USER_UNIT=dindhost-dockerd@%s.service",
                             d->alias);
        }
}

static void check_heartbeats(Doctor *d, Finding *f) {
        HeartBeats b = heart_beats(d->smoke->heart);

        if (b.failed == 0) {
                finding_pass(f, "%u heartbeats, all answered", b.answered);
                return;
        }
        finding_fail(f,
                     "%u of %u heartbeats failed: %s",
                     b.failed,
                     b.failed + b.answered,
                     b.message);
        finding_cure(f,
                     "see journalctl -u dindhost-watchdog@%s; LeaseGrace= may be too short for this host",
                     d->alias);
}

/* Stop, kill, remove, reset: each has its own time. */
static uint64_t give_back_timeout(const ProfileConf *c) {
        return c->stop_timeout_usec + 6 * c->engine_timeout_usec + c->broker_timeout_usec;
}

static void check_release(Doctor *d, Finding *f) {
        CLEANUP(json_decrefp) json_t *result = NULL;
        uint64_t begin = boottime_usec();

        if (!smoke_call(d,
                        "reservation.release",
                        json_pack("{s:s}", "reservationId", d->smoke->reservation_id),
                        give_back_timeout(&d->conf),
                        &result,
                        NULL,
                        f)) {
                finding_cure(f,
                             "the service goes on trying: dindhost status %s shows the slot and the reason",
                             d->alias);
                return;
        }
        if (json_is_true(json_object_get(result, "released")))
                finding_pass(f,
                             "%s given back in %.1f s",
                             d->smoke->slot_id,
                             (double) (boottime_usec() - begin) / USEC_PER_SEC);
        else {
                finding_fail(f, "the reply does not say 'released'");
                finding_cure(f, "dindhost status %s", d->alias);
        }
}

/* A drained lease is gone when all it held is: asking again then finds none. */
static void check_drain(Doctor *d, Finding *f) {
        uint64_t deadline = boottime_usec() + give_back_timeout(&d->conf);

        d->smoke->heart = heart_stop(d->smoke->heart);
        for (;;) {
                CLEANUP(json_decrefp) json_t *result = NULL;
                const char *state;
                char code[64];

                if (!smoke_call(d,
                                "lease.drain",
                                NULL,
                                d->conf.engine_timeout_usec,
                                &result,
                                code,
                                f) &&
                    strcmp(code, "lease-not-found"))
                        break;
                state = result ? json_string_value(json_object_get(result, "state")) : "recovered";
                if (state && !strcmp(state, "recovered")) {
                        finding_pass(f, "the lease is gone");
                        break;
                }
                if (boottime_usec() > deadline) {
                        finding_fail(f, "the lease is still %s", state ? state : "there");
                        finding_cure(f, "the service goes on trying: dindhost status %s", d->alias);
                        break;
                }
                usleep(POLL_USEC);
        }
}

/* clang-format off */
static const Check checks[] = {
        { "smoke.image",          "the smoke image is there",                                "profile.file daemon.answers", check_image },
        { "smoke.lease",          "a lease is given",                                        "control.challenge smoke.image", check_lease },
        { "smoke.reservation",    "a reservation is granted",                                "smoke.lease", check_reservation },
        { "smoke.create",         "a sandbox is made",                                       "smoke.reservation", check_create },
        { "smoke.start",          "it starts",                                               "smoke.create", check_start },
        { "smoke.ready",          "an ordinary user reaches its own Docker daemon",          "smoke.start", smoke_check_ready },
        { "smoke.nested",         "that user runs a container in it",                        "smoke.ready", smoke_check_nested },
        { "smoke.limits-inside",  "the limits, as the sandbox sees them",                    "smoke.ready", smoke_check_limits_inside },
        { "smoke.limits-host",    "the limits, as the host's kernel holds them",             "smoke.start", smoke_check_limits_host },
        { "smoke.limits-hold",    "the sandbox cannot raise its limits",                     "smoke.ready smoke.limits-host", smoke_check_limits_hold },
        { "smoke.quota",          "the slot's quota stops the sandbox",                      "smoke.ready", smoke_check_quota },
        { "smoke.heartbeats",     "the lease was kept meanwhile",                            "smoke.lease", check_heartbeats },
        { "smoke.release",        "everything is given back",                                "smoke.reservation", check_release },
        { "smoke.drain",          "the lease ends",                                          "smoke.lease", check_drain },
        { "smoke.gone-objects",   "container and network are gone",                          "smoke.create smoke.release", smoke_check_gone_objects },
        { "smoke.gone-processes", "its processes and its cgroup are gone",                   "smoke.limits-host smoke.release", smoke_check_gone_processes },
        { "smoke.gone-mounts",    "no mount of the slot is left",                            "profile.subordinate-ids smoke.release", smoke_check_gone_mounts },
        { "smoke.gone-content",   "the slot is empty, free and of the next generation",      "smoke.release", smoke_check_gone_content },
};
/* clang-format on */

const CheckTable checks_smoke = { checks, N_ELEMENTS(checks) };
