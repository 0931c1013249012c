/* SPDX-License-Identifier: MIT */
/*
 * JSON: jansson reads it, this writes the canonical form
 *
 * Canonical (RFC 8785, ECMAScript's JSON.stringify with sorted keys): keys in order of their UTF-16
 * code units, no white space, numbers in the shortest form that reads back, strings as literal
 * UTF-8 with only quote, backslash and control characters escaped. No library writes this, so these
 * few lines are ours. Integers are exact within +-(2^53-1); a larger one, which ECMAScript would
 * round, is written with all its digits and therefore refused by the readers of documents.
 */
#pragma once

#include <jansson.h>

#include "base/macros.h"

/* Deepest nesting accepted from outside. */
#define JSON_DEPTH_MAX 32

/* jansson's own json_decrefp() is the CLEANUP() function of a json_t pointer. */

/*
 * Reads one document: repeated keys, NaN, trailing bytes, invalid UTF-8 and nesting over
 * JSON_DEPTH_MAX are errors. Any JSON value is accepted at the top. -EINVAL with a message of at
 * most message_size bytes ("line 3: ..."), -ENOMEM.
 */
int json_read(const char *text, size_t n, json_t **ret, char *message, size_t message_size);

/* The canonical form in new memory, NUL-terminated; ret_n may be NULL. 0 or -ENOMEM. */
int json_canonical(const json_t *v, char **ret, size_t *ret_n);

/* Order of two UTF-8 strings by their UTF-16 code units, as canonical JSON sorts keys. */
int json_compare_keys(const char *a, const char *b);

/* Shortest decimal form of a finite double as ECMAScript writes it; buf of at least 32 bytes. */
char *json_format_double(char *buf, size_t n, double v);

/* "sha256:" is not added: lower-case hex of the canonical form. 0 or -ENOMEM. */
int json_digest(const json_t *v, char ret[static 65]);
