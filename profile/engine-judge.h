/* SPDX-License-Identifier: MIT */
/* Judging what the outer daemon says of itself in GET /info (pure). */
#pragma once

#include <jansson.h>

#include "base/macros.h"

/* Does a security option say "rootless"? */
bool engine_is_rootless(const json_t *info);
/* Names of limits that the daemon cannot set ("memory swap"), into ret. Returns their number. */
size_t engine_missing_limits(const json_t *info, char *ret, size_t n);
/* The daemon's warnings, separated by "; ", into ret. Returns their number. */
size_t engine_warnings(const json_t *info, char *ret, size_t n);
