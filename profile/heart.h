/* SPDX-License-Identifier: MIT */
/*
 * Heartbeats of a lease while the program waits for something else
 *
 * A child process sends them, and only while its parent lives: its pipe from the parent ends with
 * the parent, and then the lease ends by the service's grace, as every dead runner's does.
 */
#pragma once

#include <sys/types.h>

#include "base/macros.h"

typedef struct Heart Heart;

typedef struct HeartBeats {
        unsigned answered, failed;
        char message[1024]; /* of the last failure */
} HeartBeats;

int heart_start(const char *control_socket,
                const char *invocation_id,
                const char *lease_token,
                uint64_t period_usec,
                uint64_t timeout_usec,
                Heart **ret);
/* How it went so far. */
HeartBeats heart_beats(const Heart *h);
Heart *heart_stop(Heart *h);
