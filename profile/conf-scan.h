/* SPDX-License-Identifier: MIT */
/*
 * The strict look at a profile file's lines
 *
 * libeconf reads values, and is lenient: a line without '=' continues the one before, a repeated
 * key is dropped, a section without keys vanishes. A typing error must not vanish, so each line is
 * judged here first: blank, comment (# or ;), [Section] or Key=Value, with known names, each key
 * once a file.
 */
#pragma once

#include "base/macros.h"

/* lines[i] becomes the line of conf_keys[i], 0 when it is not there. -EINVAL: *ret_line and rule.
 */
int conf_scan(const char *text,
              size_t n,
              unsigned lines[],
              unsigned *ret_line,
              char rule[static 256]);
