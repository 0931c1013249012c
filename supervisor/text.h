/* SPDX-License-Identifier: MIT */
/*
 * Text in a buffer of fixed size
 *
 * The supervisor neither allocates nor uses stdio, so all its sentences are put together here. What
 * does not fit is cut off and remembered; the text always ends with a NUL.
 */
#pragma once

#include "supervisor/macros.h"

typedef struct Text {
        char *data;
        size_t size; /* at least 1 */
        size_t n;
        bool cut;
} Text;

/* A piece of somebody else's bytes. */
typedef struct Span {
        const char *data;
        size_t n;
} Span;

/* For an array, not for a pointer. */
#define TEXT(array) ((Text){ .data = (array), .size = sizeof(array) })

void text_add_n(Text *t, const char *s, size_t n);
void text_add(Text *t, const char *s);
void text_add_number(Text *t, int64_t v);

/* Adds all strings up to the NULL. */
void text_join(Text *t, ...) SENTINEL;

/* Decimal digits only, at most max; false otherwise. */
bool text_to_number(const char *s, size_t n, uint64_t max, uint64_t *ret);
