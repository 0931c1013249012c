/* SPDX-License-Identifier: MIT */
/*
 * What the scripted Engine holds: networks and containers, and the API over them
 *
 * Only what dindhost asks of an Engine, answered as Docker 20.10 to 26 do: status codes, error
 * bodies, label filters, names that are taken, networks in use. A container that runs is a word in
 * a document; with a cgroup folder given, it also has a scope folder there while it runs.
 */
#pragma once

#include <jansson.h>

#include "base/macros.h"

typedef struct Objects {
        json_t *info;                  /* reply of GET /info */
        json_t *networks, *containers; /* objects by id */
        const char *state_file;        /* NULL: not kept over a restart */
        const char *cgroup_dir;        /* NULL: no scopes */
        const char *ignore_filters;    /* NULL: lists are filtered */
} Objects;

/* Reads the state file if there is one. */
int objects_load(Objects *o);
void objects_new_id(Objects *o);
/* Does METHOD path?query with body (may be NULL). Returns the HTTP status; *ret_body (new
 * reference) may stay NULL. */
int objects_do(Objects *o,
               const char *method,
               const char *path,
               const char *query,
               const json_t *body,
               json_t **ret_body);
