/* SPDX-License-Identifier: MIT */
/* What every file of the supervisor uses. It has no library under it, so these are its own. */
#pragma once

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define SENTINEL __attribute__((sentinel))
#define NORETURN __attribute__((noreturn))

#define USEC_PER_MSEC UINT64_C(1000)
#define USEC_PER_SEC UINT64_C(1000000)
