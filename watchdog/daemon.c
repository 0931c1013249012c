/* SPDX-License-Identifier: MIT */
#include "watchdog/daemon.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "watchdog/admit.h"
#include "watchdog/lease.h"
#include "watchdog/sandbox.h"

#define PAUSE_FIRST_USEC (250 * USEC_PER_MSEC)
#define PAUSE_MAX_USEC (10 * USEC_PER_SEC)

struct DaemonWatch {
        Watchdog *w;
        sd_event_source *pause;
        uint64_t pause_usec;
        struct stat socket; /* as it was when the daemon was asked */
        bool resumed;       /* what the ledger says was under way has been taken up */
};

static void ask(DaemonWatch *d);

static int on_pause(sd_event_source *source UNUSED, uint64_t usec UNUSED, void *userdata) {
        ask(userdata);
        return 0;
}

/* Closes admission, or keeps it closed, and asks again after a pause. */
static void close_admission(DaemonWatch *d, const char *reason) {
        Watchdog *w = d->w;

        engine_forget(w->engine, d);
        if (!w->admission_closed_reason || strcmp(w->admission_closed_reason, reason))
                log_warning(0, "admission is closed: %s", reason);
        free(w->admission_closed_reason);
        w->admission_closed_reason = strdup(reason);
        d->pause = sd_event_source_disable_unref(d->pause);
        if (sd_event_add_time_relative(
                            w->event, &d->pause, CLOCK_BOOTTIME, d->pause_usec, 0, on_pause, d) < 0)
                log_error(0, "the daemon cannot be asked again before a restart");
        d->pause_usec = d->pause_usec * 2 > PAUSE_MAX_USEC ? PAUSE_MAX_USEC : d->pause_usec * 2;
}

static void no_answer(DaemonWatch *d, int error) {
        char why[256];

        snprintf(why, sizeof(why), "the Docker daemon does not answer: %s", strerror(-error));
        close_admission(d, why);
}

static bool has_rootless(const json_t *options) {
        for (size_t i = 0; i < json_array_size(options); i++) {
                const char *text = json_string_value(json_array_get(options, i));

                if (text && strstr(text, "rootless"))
                        return true;
        }
        return false;
}

/* The first thing that is not as the descriptor says, or NULL. */
static const char *mismatch(const Watchdog *w, const json_t *info) {
        const char *root = json_string_value(json_object_get(info, "DockerRootDir"));
        const char *version = json_string_value(json_object_get(info, "CgroupVersion"));
        const char *driver = json_string_value(json_object_get(info, "CgroupDriver"));
        const char *id = json_string_value(json_object_get(info, "ID"));

        if (!id || !*id)
                return "the daemon has no ID";
        if (!has_rootless(json_object_get(info, "SecurityOptions")))
                return "the daemon is not rootless";
        if (!root || strcmp(root, w->descriptor->docker_root_dir))
                return "the daemon's DockerRootDir is not the descriptor's";
        if (!version || strcmp(version, "2"))
                return "the daemon does not use cgroup v2";
        if (!driver || strcmp(driver, "systemd"))
                return "the daemon's cgroup driver is not systemd";
        return NULL;
}

static bool same_socket(const struct stat *a, const struct stat *b) {
        return a->st_ino == b->st_ino && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
                        a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static char *generation_of(const DaemonWatch *d, const char *id) {
        CLEANUP(freep) char *text = NULL;
        char hex[SHA256_HEX_SIZE];

        text = text_format("%s:%llu:%llu",
                           id,
                           (unsigned long long) d->socket.st_ino,
                           (unsigned long long) d->socket.st_ctim.tv_sec * 1000000000ULL +
                                           (unsigned long long) d->socket.st_ctim.tv_nsec);
        if (!text)
                return NULL;
        sha256_hex(text, strlen(text), hex);
        return strndup(hex, 32);
}

/* Records the generation; one that is not the first is an event. */
static int record_generation(Watchdog *w) {
        CLEANUP(freep) char *before = NULL;
        int r = ledger_meta_get(w->ledger, "generation", &before), e;

        if (r < 0 && r != -ENOENT)
                return r;
        if (before && !strcmp(before, w->generation))
                return 0;
        r = ledger_change_begin(w->ledger);
        if (r < 0)
                return r;
        r = ledger_meta_set(w->ledger, "generation", w->generation);
        if (r >= 0 && before)
                r = ledger_event(w->ledger,
                                 "daemon-generation-changed",
                                 json_pack("{s:s, s:s}", "from", before, "to", w->generation));
        e = ledger_change_end(w->ledger, r >= 0);
        return r < 0 ? r : e;
}

/* The daemon is there and is the right one: what belongs to an earlier one is given back. */
static int open_admission(DaemonWatch *d) {
        Watchdog *w = d->w;
        int r = record_generation(w);

        if (r >= 0)
                r = leases_end_other_generations(w);
        if (r >= 0 && !d->resumed)
                r = sandboxes_resume(w->sandboxes);
        if (r < 0)
                return r;
        d->resumed = true;
        sandboxes_retry_now(w->sandboxes);
        d->pause_usec = PAUSE_FIRST_USEC;
        free(w->admission_closed_reason);
        w->admission_closed_reason = NULL;
        log_info("admission is open, daemon generation %s", w->generation);
        admission_run(w);
        return 0;
}

static void take_info(DaemonWatch *d, const json_t *info) {
        CLEANUP(freep) char *generation = NULL;
        const char *wrong = mismatch(d->w, info);
        struct stat now;
        int r;

        if (wrong) {
                close_admission(d, wrong);
                return;
        }
        /* a socket that was made anew in between: was it the old daemon or the new that answered?
         */
        if (stat(d->w->paths.engine_socket, &now) < 0 || !same_socket(&now, &d->socket)) {
                close_admission(d, "the Docker daemon is being restarted");
                return;
        }
        generation = generation_of(d, json_string_value(json_object_get(info, "ID")));
        if (!generation) {
                close_admission(d, "out of memory");
                return;
        }
        free(d->w->generation);
        d->w->generation = TAKE_PTR(generation);
        r = open_admission(d);
        if (r < 0) {
                log_error(r, "cannot take up what the ledger says");
                close_admission(d, "the ledger cannot be written");
        }
}

static void on_info(void *userdata, int error, const EngineReply *reply) {
        CLEANUP(json_decrefp) json_t *info = NULL;
        DaemonWatch *d = userdata;
        char ignored[256];

        if (error >= 0 && reply->status != 200)
                error = -EPROTO;
        if (error >= 0)
                error = json_read(reply->body, reply->n_body, &info, ignored, sizeof(ignored));
        if (error < 0)
                no_answer(d, error);
        else
                take_info(d, info);
}

static void on_stream_data(void *userdata UNUSED, const char *data UNUSED, size_t n UNUSED) {
        /* only the connection matters: what there is, the labels tell when it is asked for */
}

static void on_stream_end(void *userdata, int error, const EngineReply *reply UNUSED) {
        DaemonWatch *d = userdata;

        if (d->w->admission_closed_reason)
                no_answer(d, error < 0 ? error : -ECONNRESET);
        else
                close_admission(d, "the Docker daemon is gone; waiting for it");
}

/* The stream is opened before the question, so that no restart goes unseen between the two. */
static void ask(DaemonWatch *d) {
        Engine *e = d->w->engine;

        d->pause = sd_event_source_disable_unref(d->pause);
        engine_forget(e, d);
        if (stat(d->w->paths.engine_socket, &d->socket) < 0) {
                no_answer(d, -errno);
                return;
        }
        if (engine_stream(e,
                          "/events?filters=%7B%22type%22%3A%5B%22daemon%22%5D%7D",
                          on_stream_data,
                          on_stream_end,
                          d) < 0 ||
            engine_call(e, "GET", "/info", NULL, d->w->conf.engine_timeout_usec, on_info, d) < 0)
                close_admission(d, "out of memory");
}

int daemon_watch_start(Watchdog *w) {
        DaemonWatch *d = calloc(1, sizeof(*d));

        if (!d)
                return -ENOMEM;
        d->w = w;
        d->pause_usec = PAUSE_FIRST_USEC;
        w->daemon = d;
        w->admission_closed_reason = strdup("the Docker daemon has not been asked yet");
        ask(d);
        return 0;
}

DaemonWatch *daemon_watch_free(DaemonWatch *d) {
        if (!d)
                return NULL;
        sd_event_source_disable_unref(d->pause);
        engine_forget(d->w->engine, d);
        free(d);
        return NULL;
}

void daemon_watch_freep(DaemonWatch **d) {
        daemon_watch_free(*d);
}
