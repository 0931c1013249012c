/* SPDX-License-Identifier: MIT */
/*
 * Sentences on standard error
 *
 * Standard error is a pipe or socket whose reader may have stopped, and PID 1 must not stop with
 * it: in the whole life of the process all waiting together takes half a second at most, and what
 * cannot be written then is lost.
 */
#pragma once

#include "supervisor/macros.h"

void say_open(void);

/* In a forked child, whose standard error may be another one. */
void say_reset(void);

/* A line with the program's name in front; NULL ends the strings. */
void say(const char *first, ...) SENTINEL;

/* The line as it is. */
void say_line(const char *first, ...) SENTINEL;

void say_bytes(const char *data, size_t n);
