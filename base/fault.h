/* SPDX-License-Identifier: MIT */
/*
 * Fault seam: in builds with -DFAULT_INJECTION (tests only) the environment makes a numbered step
 * fail; in all others this is nothing.
 */
#pragma once

#include "base/macros.h"

#ifdef FAULT_INJECTION
/* Is NAME set to this number in the environment? Negative numbers: before the action. */
static inline bool fault_hit(const char *name, int number) {
        const char *text = getenv(name);

        return text && strtol(text, NULL, 10) == number;
}
#else
static inline bool fault_hit(const char *name UNUSED, int number UNUSED) {
        return false;
}
#endif
