/* SPDX-License-Identifier: MIT */
/* Time in microseconds. Deadlines and liveness use CLOCK_BOOTTIME: no jump of the wall clock moves
 * it, and it counts through suspend. */
#pragma once

#include <time.h>

#include "base/macros.h"

#define USEC_PER_SEC UINT64_C(1000000)
#define USEC_PER_MSEC UINT64_C(1000)

static inline uint64_t clock_usec(clockid_t clock) {
        struct timespec ts;

        if (clock_gettime(clock, &ts) < 0)
                abort(); /* only for an unknown clock id: a programming error */
        return (uint64_t) ts.tv_sec * USEC_PER_SEC + (uint64_t) ts.tv_nsec / 1000;
}

static inline uint64_t boottime_usec(void) {
        return clock_usec(CLOCK_BOOTTIME);
}

static inline uint64_t realtime_usec(void) {
        return clock_usec(CLOCK_REALTIME);
}

/* ISO 8601 in UTC with microseconds and Z; buf of at least 28 bytes; returns buf. */
char *format_iso_utc(char *buf, size_t n, uint64_t realtime);
