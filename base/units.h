/* SPDX-License-Identifier: MIT */
/*
 * Sizes, durations and CPU counts as systemd writes them
 *
 * Sizes: digits with an optional fraction and one of K M G T P E (powers of 1024), "B" allowed
 * after it. Durations: as systemd.time(7): "15s", "5min", "1h 30s", a bare number is seconds.
 * CPUs: a decimal number with at most three places, held as milli-CPU.
 * All functions: 0, -EINVAL (does not parse), -ERANGE (does not fit, or is finer than the unit).
 */
#pragma once

#include "base/macros.h"

int parse_size(const char *text, uint64_t *ret_bytes);
int parse_duration(const char *text, uint64_t *ret_usec);
int parse_cpus(const char *text, uint64_t *ret_milli);
int parse_uint(const char *text, uint64_t max, uint64_t *ret);

/* Shortest exact form ("28G", "1536M", "100"); returns buf. */
char *format_size(char *buf, size_t n, uint64_t bytes);
/* For people, one decimal place ("1.4G"); returns buf. */
char *format_size_human(char *buf, size_t n, uint64_t bytes);
/* "7.5", "8"; returns buf. */
char *format_cpus(char *buf, size_t n, uint64_t milli);
