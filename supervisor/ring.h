/* SPDX-License-Identifier: MIT */
/*
 * The last 256 KiB of a stream, in static memory
 *
 * It holds even when every file system of the sandbox is full, which is a common way for a daemon
 * to die.
 */
#pragma once

#include "supervisor/text.h"

#define RING_SIZE (256 * 1024)

typedef struct Ring {
        uint64_t total; /* bytes that ever came; the next one goes to total % RING_SIZE */
        char data[RING_SIZE];
} Ring;

void ring_add(Ring *r, const char *data, size_t n);

/* The last bytes, at most n, in two pieces; when older ones are left out it begins after a line's
 * end, if there is one. */
void ring_tail(const Ring *r, size_t n, Span ret[2]);
