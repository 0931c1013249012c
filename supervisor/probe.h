/* SPDX-License-Identifier: MIT */
/*
 * Readiness: can an ordinary user of the image use the daemon?
 *
 * A forked child takes on the user's ids and groups for good, connects to the socket, and asks for
 * /_ping and /info. It reports how far it came before each step that may hang, so that a child
 * killed at the deadline still leaves a reason. The account is looked up each time: an image's
 * start may create it.
 */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "supervisor/options.h"

typedef enum ProbeStage {
        PROBE_NONE, /* nothing tried yet */
        PROBE_NO_USER,
        PROBE_NO_IDENTITY,
        PROBE_DAEMON_STARTING,
        PROBE_NO_ACCESS,
        PROBE_NO_ANSWER,
        PROBE_DAEMON_ERROR,
        PROBE_PASSED,
        _PROBE_MAX
} ProbeStage;

typedef struct ProbeReport {
        uint32_t stage;
        uint32_t uid;
        char text[248];
} ProbeReport;

typedef struct Probe {
        pid_t pid; /* 0: none runs */
        int fd;
        ProbeReport last;
} Probe;

int probe_start(Probe *p, const Options *o, const sigset_t *mask);

/* Takes what the child has reported so far. */
void probe_take(Probe *p);

/* The child has ended. */
void probe_finish(Probe *p);

/* A word for machines. */
const char *probe_stage_name(ProbeStage stage);
