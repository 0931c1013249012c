/* SPDX-License-Identifier: MIT */
/*
 * The supervisor's life as a full state table
 *
 * Pure: an event changes the state and leaves a set of effects, which supervisor.c carries out. The
 * first cause of the end is kept; whatever dies afterwards was meant to.
 *
 *      starting --ready--> ready
 *          \                 |     a child ends, stop asked, lifetime over, not ready in time
 *           `------------> stopping     the daemon is asked to stop its containers and itself
 *                            |     daemon and keepalive gone, or the stop time-out
 *                         killing       SIGKILL for all that is left, again and again
 *                            |     nothing left, or the kill time-out
 *                          ended
 */
#pragma once

#include "supervisor/macros.h"

typedef enum State {
        STATE_STARTING,
        STATE_READY,
        STATE_STOPPING,
        STATE_KILLING,
        STATE_ENDED,
        _STATE_MAX
} State;

typedef enum Event {
        EVENT_PROBE_DUE,
        EVENT_PROBE_PASSED,
        EVENT_PROBE_FAILED,
        EVENT_READY_TIMEOUT,
        EVENT_DAEMON_GONE,
        EVENT_KEEPALIVE_GONE,
        EVENT_START_FAILED,
        EVENT_STOP_ASKED,
        EVENT_LIFETIME_OVER,
        EVENT_STOP_TIMEOUT,
        EVENT_KILL_DUE,
        EVENT_KILL_TIMEOUT,
        EVENT_ALL_GONE,
        _EVENT_MAX
} Event;

typedef enum Cause {
        CAUSE_NONE,
        CAUSE_STOP_REQUESTED,
        CAUSE_LIFETIME_ENDED,
        CAUSE_KEEPALIVE_EXITED,
        CAUSE_DOCKERD_EXITED,
        CAUSE_NOT_READY,
        CAUSE_START_FAILED,
        CAUSE_IMAGE_INCOMPATIBLE,
        CAUSE_ENVIRONMENT_INCOMPATIBLE,
        CAUSE_USAGE,
        _CAUSE_MAX
} Cause;

enum {
        EFFECT_PROBE = 1 << 0,          /* start a readiness probe */
        EFFECT_PROBE_LATER = 1 << 1,    /* after a pause */
        EFFECT_PROBE_END = 1 << 2,      /* no more of them */
        EFFECT_PUBLISH_READY = 1 << 3,  /* the file that says so */
        EFFECT_TERM_DAEMON = 1 << 4,    /* SIGTERM */
        EFFECT_TERM_KEEPALIVE = 1 << 5, /* SIGTERM */
        EFFECT_END_STREAM = 1 << 6,     /* the built-in keepalive ends at the end of the log */
        EFFECT_STOP_TIMER = 1 << 7,
        EFFECT_KILL = 1 << 8, /* SIGKILL for everything, and once more after a pause */
        EFFECT_KILL_TIMER = 1 << 9,
};

typedef struct Machine {
        State state;
        Cause cause;
        bool daemon_gone;
        bool keepalive_gone;
        bool leftovers; /* not even SIGKILL ended everything in time */
        unsigned effects;
} Machine;

/* Effects of one event; those of earlier ones are forgotten. */
void machine_step(Machine *m, Event event);

/* False only when somebody left a hole in the table. */
bool machine_has_cell(State state, Event event);

const char *state_name(State state);
const char *event_name(Event event);
const char *cause_name(Cause cause);

/* The process' exit status; keepalive_status is used when it is the keepalive's end that counts. */
int cause_exit_status(Cause cause, int keepalive_status);

/* Whether the daemon's log says why. */
bool cause_is_failure(Cause cause);
