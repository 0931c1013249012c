/* SPDX-License-Identifier: MIT */
/*
 * What the world is told
 *
 * Three files in the state dir, each one JSON object that appears whole: "ready" once the user can
 * use the daemon, "not-ready" with the reason until then, "cause.json" at the end. The last line on
 * standard error is the object of cause.json too.
 */
#pragma once

#include "supervisor/text.h"

/* How a child ended. */
typedef struct Ending {
        bool ended;
        int status; /* as waitpid() gives it */
} Ending;

typedef struct ReadyReport {
        const char *user;
        uint32_t uid;
        int64_t ready_at_msec; /* since the epoch */
        int64_t ready_after_msec;
        const char *controllers;
} ReadyReport;

typedef struct CauseReport {
        const char *cause;
        int exit_status;
        const char *reason;
        int64_t started_at_msec;  /* since the epoch */
        int64_t ready_after_msec; /* -1: never was */
        int64_t ended_after_msec;
        int64_t stop_took_msec; /* -1: nothing had been started */
        Ending daemon;
        Ending keepalive;
        bool leftovers;
        int64_t log_bytes;
        int64_t log_dropped_bytes;
} CauseReport;

void report_ready(Text *t, const ReadyReport *r);
void report_not_ready(Text *t, const char *user, const char *code, const char *reason);
void report_cause(Text *t, const CauseReport *r);

/* The exit status that a shell would show: 128 + N for signal N. */
int ending_exit_status(const Ending *e);

/* "exited with status 1", "was killed by signal 9" */
void ending_describe(Text *t, const Ending *e);
