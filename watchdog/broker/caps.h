/* SPDX-License-Identifier: MIT */
/*
 * The broker's capabilities
 *
 * Root with these and no others from its first lines on; the unit's CapabilityBoundingSet= is the
 * same list, and a test compares the two.
 */
#pragma once

#include <sys/capability.h>

#include "base/macros.h"

typedef struct BrokerCap {
        cap_value_t cap;
        const char *name;
        const char *reason;
} BrokerCap;

extern const BrokerCap broker_caps[];
extern const size_t n_broker_caps;

/* Drops everything else from bounding, permitted and effective set, for good. 0 or -errno. */
int broker_caps_keep(void);
