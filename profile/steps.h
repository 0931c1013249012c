/* SPDX-License-Identifier: MIT */
/*
 * A transaction of steps
 *
 * Each step makes one thing as it must be, or finds it so. When one fails, what this run made is
 * taken back in reverse order, the failing step's own leftovers first, and nothing else: a step
 * notes what it made at the moment it made it, and its undo looks at these notes only.
 * DINDHOST_FAULT_STEP=N (test builds) makes step N fail after its action, =-N before it.
 */
#pragma once

#include "base/macros.h"

typedef struct Step {
        const char *name; /* stable, for people and tests */
        const char *title;
        int (*ensure)(void *ctx); /* 1 changed something, 0 it was so, -errno failed */
        void (*undo)(void *ctx);  /* NULL: it makes nothing that outlives a failure */
} Step;

/* Told of each step: result 1 changed, 0 unchanged, -errno failed, and of each undo (undone true).
 */
typedef void (*step_report_fn)(
                void *ctx, const Step *step, int number, int result, bool undone, uint64_t usec);

/* 1 something was changed, 0 nothing was, -errno: failed, and all taken back. */
int steps_run(const Step *steps, size_t n, void *ctx, step_report_fn report);
