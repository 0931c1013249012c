/* SPDX-License-Identifier: MIT */
/*
 * Admission arithmetic (pure): does a resource vector fit into what is left?
 *
 * All numbers are integers (CPUs in milli-CPU), and sums that would overflow do not fit. First come
 * first served: the head of the queue that does not fit blocks those behind it.
 */
#pragma once

#include "watchdog/ledger.h"

typedef struct Limits {
        Vector capacity;
        uint64_t slot_bytes; /* largest disk of one container */
} Limits;

/* NULL when it could be granted on an idle host, else the protocol's name of the field that never
 * fits. */
const char *admission_never_fits(const Limits *l, const Vector *want);
/* Fits beside what is charged? When not, *ret_field (may be NULL) names what is short. */
bool admission_fits(const Limits *l,
                    const Vector *charged,
                    const Vector *want,
                    const char **ret_field);
/* a += b; false (a unchanged) when a sum overflows. */
bool vector_add(Vector *a, const Vector *b);
