/* SPDX-License-Identifier: MIT */
/*
 * Log lines of programs
 *
 * Lines go to stderr; under systemd (JOURNAL_STREAM is set) each gets the "<N>" priority prefix
 * that the journal understands, in a terminal "NAME: " instead. A failure is logged once, by the
 * program code that knows what it was doing, and returned in the same line:
 *
 *         return log_error(r, "cannot read profile '%s'", path);
 */
#pragma once

#include "base/macros.h"

/* Sets the name printed before lines in a terminal (not copied). Default: "dindhost". */
void log_set_name(const char *name);
/* Debug lines are dropped unless this was called with true. */
void log_set_debug(bool on);

/* "TEXT: strerror(-error)" when error < 0, else TEXT. Both return error. */
int log_error(int error, const char *fmt, ...) PRINTF_FORMAT(2, 3);
int log_warning(int error, const char *fmt, ...) PRINTF_FORMAT(2, 3);

void log_info(const char *fmt, ...) PRINTF_FORMAT(1, 2);
void log_debug(const char *fmt, ...) PRINTF_FORMAT(1, 2);
