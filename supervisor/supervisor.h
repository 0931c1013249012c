/* SPDX-License-Identifier: MIT */
/*
 * The supervisor's process: waits for signals, timers, children and the daemon's output, feeds the
 * state machine, and carries out what it asks for.
 *
 * All memory is static. Nothing here blocks but the one poll(): whatever could (the container's
 * output, the probe's connection) is in a child, or written without waiting.
 */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "supervisor/cgroup.h"
#include "supervisor/log.h"
#include "supervisor/machine.h"
#include "supervisor/options.h"
#include "supervisor/probe.h"
#include "supervisor/report.h"

typedef enum Timer {
        TIMER_PROBE,
        TIMER_READY,
        TIMER_LIFETIME,
        TIMER_STOP,
        TIMER_KILL_AGAIN,
        TIMER_KILL,
        _TIMER_MAX
} Timer;

typedef struct Guarded {
        pid_t pid; /* 0: not started, or reaped */
        Ending ending;
} Guarded;

typedef struct Supervisor {
        const Options *options;
        sigset_t mask; /* what children get */
        Machine machine;
        Cgroup cgroup;
        Log log;
        char log_path[OPTION_PATH_MAX + 32];
        Guarded daemon, keepalive;
        Probe probe;
        uint64_t probe_pause_usec;
        int signal_fd, timer_fd, state_dir;
        uint64_t deadlines[_TIMER_MAX]; /* on CLOCK_BOOTTIME; 0: not set */
        uint64_t began_usec, ready_usec, stop_usec;
        int64_t began_at_msec; /* since the epoch */
        char reason[256];
} Supervisor;

/* The whole life; the exit status. mask is the signal mask the process was started with; all
 * signals are blocked. */
int supervisor_run(Supervisor *s, const Options *options, const sigset_t *mask);
