/* SPDX-License-Identifier: MIT */
#include "supervisor/machine.h"

typedef void (*Step)(Machine *m);

static void ignore(Machine *m) {
        (void) m;
}

static void kill_all(Machine *m) {
        m->state = STATE_KILLING;
        m->effects |= EFFECT_KILL | EFFECT_KILL_TIMER | EFFECT_END_STREAM | EFFECT_PROBE_END;
}

static void stop(Machine *m, Cause cause) {
        m->state = STATE_STOPPING;
        m->cause = cause;
        m->effects |= EFFECT_PROBE_END | EFFECT_STOP_TIMER;
        if (!m->daemon_gone)
                m->effects |= EFFECT_TERM_DAEMON;
        else
                m->effects |= EFFECT_END_STREAM;
        if (!m->keepalive_gone)
                m->effects |= EFFECT_TERM_KEEPALIVE;
}

static void probe(Machine *m) {
        m->effects |= EFFECT_PROBE;
}

static void probe_again(Machine *m) {
        m->effects |= EFFECT_PROBE_LATER;
}

static void become_ready(Machine *m) {
        m->state = STATE_READY;
        m->effects |= EFFECT_PROBE_END | EFFECT_PUBLISH_READY;
}

static void stop_not_ready(Machine *m) {
        stop(m, CAUSE_NOT_READY);
}

static void stop_daemon_gone(Machine *m) {
        m->daemon_gone = true;
        stop(m, CAUSE_DOCKERD_EXITED);
}

static void stop_keepalive_gone(Machine *m) {
        m->keepalive_gone = true;
        stop(m, CAUSE_KEEPALIVE_EXITED);
}

static void stop_asked(Machine *m) {
        stop(m, CAUSE_STOP_REQUESTED);
}

static void stop_lifetime(Machine *m) {
        stop(m, CAUSE_LIFETIME_ENDED);
}

static void start_failed(Machine *m) {
        m->cause = CAUSE_START_FAILED;
        kill_all(m);
}

/* While stopping: the daemon did as asked. What is left of its containers is killed. */
static void daemon_stopped(Machine *m) {
        m->daemon_gone = true;
        m->effects |= EFFECT_END_STREAM;
        if (m->keepalive_gone)
                kill_all(m);
}

static void keepalive_stopped(Machine *m) {
        m->keepalive_gone = true;
        if (m->daemon_gone)
                kill_all(m);
}

static void note_daemon(Machine *m) {
        m->daemon_gone = true;
}

static void note_keepalive(Machine *m) {
        m->keepalive_gone = true;
}

static void kill_again(Machine *m) {
        m->effects |= EFFECT_KILL;
}

static void end(Machine *m) {
        m->state = STATE_ENDED;
}

static void end_with_leftovers(Machine *m) {
        m->leftovers = true;
        m->state = STATE_ENDED;
}

/* clang-format off */
static const Step steps[_STATE_MAX][_EVENT_MAX] = {
        [STATE_STARTING] = {
                [EVENT_PROBE_DUE]      = probe,
                [EVENT_PROBE_PASSED]   = become_ready,
                [EVENT_PROBE_FAILED]   = probe_again,
                [EVENT_READY_TIMEOUT]  = stop_not_ready,
                [EVENT_DAEMON_GONE]    = stop_daemon_gone,
                [EVENT_KEEPALIVE_GONE] = stop_keepalive_gone,
                [EVENT_START_FAILED]   = start_failed,
                [EVENT_STOP_ASKED]     = stop_asked,
                [EVENT_LIFETIME_OVER]  = stop_lifetime,
                [EVENT_STOP_TIMEOUT]   = ignore,
                [EVENT_KILL_DUE]       = ignore,
                [EVENT_KILL_TIMEOUT]   = ignore,
                [EVENT_ALL_GONE]       = ignore,
        },
        [STATE_READY] = {
                [EVENT_PROBE_DUE]      = ignore,
                [EVENT_PROBE_PASSED]   = ignore,
                [EVENT_PROBE_FAILED]   = ignore,
                [EVENT_READY_TIMEOUT]  = ignore,
                [EVENT_DAEMON_GONE]    = stop_daemon_gone,
                [EVENT_KEEPALIVE_GONE] = stop_keepalive_gone,
                [EVENT_START_FAILED]   = ignore,
                [EVENT_STOP_ASKED]     = stop_asked,
                [EVENT_LIFETIME_OVER]  = stop_lifetime,
                [EVENT_STOP_TIMEOUT]   = ignore,
                [EVENT_KILL_DUE]       = ignore,
                [EVENT_KILL_TIMEOUT]   = ignore,
                [EVENT_ALL_GONE]       = ignore,
        },
        [STATE_STOPPING] = {
                [EVENT_PROBE_DUE]      = ignore,
                [EVENT_PROBE_PASSED]   = ignore,
                [EVENT_PROBE_FAILED]   = ignore,
                [EVENT_READY_TIMEOUT]  = ignore,
                [EVENT_DAEMON_GONE]    = daemon_stopped,
                [EVENT_KEEPALIVE_GONE] = keepalive_stopped,
                [EVENT_START_FAILED]   = ignore,
                [EVENT_STOP_ASKED]     = ignore,
                [EVENT_LIFETIME_OVER]  = ignore,
                [EVENT_STOP_TIMEOUT]   = kill_all,
                [EVENT_KILL_DUE]       = ignore,
                [EVENT_KILL_TIMEOUT]   = ignore,
                [EVENT_ALL_GONE]       = ignore,
        },
        [STATE_KILLING] = {
                [EVENT_PROBE_DUE]      = ignore,
                [EVENT_PROBE_PASSED]   = ignore,
                [EVENT_PROBE_FAILED]   = ignore,
                [EVENT_READY_TIMEOUT]  = ignore,
                [EVENT_DAEMON_GONE]    = note_daemon,
                [EVENT_KEEPALIVE_GONE] = note_keepalive,
                [EVENT_START_FAILED]   = ignore,
                [EVENT_STOP_ASKED]     = ignore,
                [EVENT_LIFETIME_OVER]  = ignore,
                [EVENT_STOP_TIMEOUT]   = ignore,
                [EVENT_KILL_DUE]       = kill_again,
                [EVENT_KILL_TIMEOUT]   = end_with_leftovers,
                [EVENT_ALL_GONE]       = end,
        },
        [STATE_ENDED] = {
                [EVENT_PROBE_DUE]      = ignore,
                [EVENT_PROBE_PASSED]   = ignore,
                [EVENT_PROBE_FAILED]   = ignore,
                [EVENT_READY_TIMEOUT]  = ignore,
                [EVENT_DAEMON_GONE]    = ignore,
                [EVENT_KEEPALIVE_GONE] = ignore,
                [EVENT_START_FAILED]   = ignore,
                [EVENT_STOP_ASKED]     = ignore,
                [EVENT_LIFETIME_OVER]  = ignore,
                [EVENT_STOP_TIMEOUT]   = ignore,
                [EVENT_KILL_DUE]       = ignore,
                [EVENT_KILL_TIMEOUT]   = ignore,
                [EVENT_ALL_GONE]       = ignore,
        },
};

static const char *const state_names[] = {
        [STATE_STARTING] = "starting",
        [STATE_READY]    = "ready",
        [STATE_STOPPING] = "stopping",
        [STATE_KILLING]  = "killing",
        [STATE_ENDED]    = "ended",
};
static_assert(N_ELEMENTS(state_names) == _STATE_MAX, "one name per state");

static const char *const event_names[] = {
        [EVENT_PROBE_DUE]      = "probe-due",
        [EVENT_PROBE_PASSED]   = "probe-passed",
        [EVENT_PROBE_FAILED]   = "probe-failed",
        [EVENT_READY_TIMEOUT]  = "ready-timeout",
        [EVENT_DAEMON_GONE]    = "daemon-gone",
        [EVENT_KEEPALIVE_GONE] = "keepalive-gone",
        [EVENT_START_FAILED]   = "start-failed",
        [EVENT_STOP_ASKED]     = "stop-asked",
        [EVENT_LIFETIME_OVER]  = "lifetime-over",
        [EVENT_STOP_TIMEOUT]   = "stop-timeout",
        [EVENT_KILL_DUE]       = "kill-due",
        [EVENT_KILL_TIMEOUT]   = "kill-timeout",
        [EVENT_ALL_GONE]       = "all-gone",
};
static_assert(N_ELEMENTS(event_names) == _EVENT_MAX, "one name per event");

/* Exit statuses as sysexits(3) numbers them, where one fits. */
static const struct {
        const char *name;
        int status;
        bool failure;
} causes[] = {
        [CAUSE_NONE]                     = { "none",                     71, true  },
        [CAUSE_STOP_REQUESTED]           = { "stop-requested",           0,  false },
        [CAUSE_LIFETIME_ENDED]           = { "lifetime-ended",           0,  false },
        [CAUSE_KEEPALIVE_EXITED]         = { "keepalive-exited",         0,  false },
        [CAUSE_DOCKERD_EXITED]           = { "dockerd-exited",           70, true  },
        [CAUSE_NOT_READY]                = { "not-ready",                69, true  },
        [CAUSE_START_FAILED]             = { "start-failed",             71, true  },
        [CAUSE_IMAGE_INCOMPATIBLE]       = { "image-incompatible",       2,  true  },
        [CAUSE_ENVIRONMENT_INCOMPATIBLE] = { "environment-incompatible", 2,  true  },
        [CAUSE_USAGE]                    = { "usage",                    2,  true  },
};
static_assert(N_ELEMENTS(causes) == _CAUSE_MAX, "one row per cause");
/* clang-format on */

void machine_step(Machine *m, Event event) {
        m->effects = 0;
        steps[m->state][event](m);
}

bool machine_has_cell(State state, Event event) {
        return steps[state][event] != NULL;
}

const char *state_name(State state) {
        return state_names[state];
}

const char *event_name(Event event) {
        return event_names[event];
}

const char *cause_name(Cause cause) {
        return causes[cause].name;
}

int cause_exit_status(Cause cause, int keepalive_status) {
        return cause == CAUSE_KEEPALIVE_EXITED ? keepalive_status : causes[cause].status;
}

bool cause_is_failure(Cause cause) {
        return causes[cause].failure;
}
