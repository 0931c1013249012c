/* SPDX-License-Identifier: MIT */
#include "supervisor/report.h"

#include <sys/wait.h>

#include "supervisor/json.h"

#define SCHEMA_VERSION 1

int ending_exit_status(const Ending *e) {
        return WIFSIGNALED(e->status) ? 128 + WTERMSIG(e->status) : WEXITSTATUS(e->status);
}

void ending_describe(Text *t, const Ending *e) {
        if (WIFSIGNALED(e->status)) {
                text_add(t, "was killed by signal ");
                text_add_number(t, WTERMSIG(e->status));
        } else {
                text_add(t, "exited with status ");
                text_add_number(t, WEXITSTATUS(e->status));
        }
}

static void add_ending(Text *t, const char *key, const Ending *e) {
        if (!e->ended) {
                json_add_null(t, key);
                return;
        }
        json_add_object(t, key);
        if (WIFSIGNALED(e->status))
                json_add_number(t, "signal", WTERMSIG(e->status));
        else
                json_add_number(t, "exitStatus", WEXITSTATUS(e->status));
        json_end(t);
}

static void add_span(Text *t, const char *key, int64_t msec) {
        if (msec < 0)
                json_add_null(t, key);
        else
                json_add_number(t, key, msec);
}

void report_ready(Text *t, const ReadyReport *r) {
        json_begin(t);
        json_add_number(t, "schemaVersion", SCHEMA_VERSION);
        json_add_string(t, "user", r->user);
        json_add_number(t, "uid", r->uid);
        json_add_number(t, "readyAtMs", r->ready_at_msec);
        json_add_number(t, "readyAfterMs", r->ready_after_msec);
        json_add_string(t, "controllers", r->controllers);
        json_end(t);
        text_add(t, "\n");
}

void report_not_ready(Text *t, const char *user, const char *code, const char *reason) {
        json_begin(t);
        json_add_number(t, "schemaVersion", SCHEMA_VERSION);
        json_add_string(t, "user", user);
        json_add_string(t, "code", code);
        json_add_string(t, "reason", reason);
        json_end(t);
        text_add(t, "\n");
}

void report_cause(Text *t, const CauseReport *r) {
        json_begin(t);
        json_add_number(t, "schemaVersion", SCHEMA_VERSION);
        json_add_string(t, "cause", r->cause);
        json_add_number(t, "exitStatus", r->exit_status);
        json_add_string(t, "reason", r->reason);
        json_add_number(t, "startedAtMs", r->started_at_msec);
        add_span(t, "readyAfterMs", r->ready_after_msec);
        add_span(t, "endedAfterMs", r->ended_after_msec);
        add_span(t, "stopTookMs", r->stop_took_msec);
        add_ending(t, "dockerd", &r->daemon);
        add_ending(t, "keepalive", &r->keepalive);
        json_add_bool(t, "leftovers", r->leftovers);
        json_add_number(t, "logBytes", r->log_bytes);
        json_add_number(t, "logDroppedBytes", r->log_dropped_bytes);
        json_end(t);
        text_add(t, "\n");
}
