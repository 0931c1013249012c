/* SPDX-License-Identifier: MIT */
/* Strings: formatting into new memory, and a list of them. */
#pragma once

#include "base/macros.h"

/* Like asprintf(), but returns the string (owned by the caller) or NULL when memory is out. */
char *text_format(const char *fmt, ...) PRINTF_FORMAT(1, 2);

bool text_has_prefix(const char *s, const char *prefix);
bool text_has_suffix(const char *s, const char *suffix);
