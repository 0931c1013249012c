/* SPDX-License-Identifier: MIT */
/*
 * One-line JSON objects
 *
 * Values may come from the daemon or the image, so they are hostile: control characters and bytes
 * that are not UTF-8 are escaped or replaced, and long values are cut between characters, so that
 * an object whose keys are ours always fits its buffer and always parses.
 */
#pragma once

#include "supervisor/text.h"

#define JSON_STRING_MAX 400 /* bytes of a value before escaping */

void json_begin(Text *t);
void json_end(Text *t);
void json_add_string(Text *t, const char *key, const char *value); /* NULL gives null */
void json_add_number(Text *t, const char *key, int64_t value);
void json_add_bool(Text *t, const char *key, bool value);
void json_add_null(Text *t, const char *key);

/* An object inside; json_end() closes it. */
void json_add_object(Text *t, const char *key);
