/* SPDX-License-Identifier: MIT */
/*
 * What a client may say about its container, and the Engine requests made of it (pure)
 *
 * The create object is hostile input. Only the listed keys exist; every element's type is checked
 * and nothing is turned into a string; tmpfs targets are normalised before they are compared with
 * what is protected. What comes out are JSON bodies of the Engine API: a client's text is only
 * ever a JSON string in its own field.
 */
#pragma once

#include <jansson.h>

#include "watchdog/watchdog.h"

typedef struct SandboxSpec {
        json_t *create;         /* the checked inner object */
        char digest[72];        /* "sha256:" + canonical digest of it */
        const char *attempt_id; /* points into create */
        bool supervised;        /* our supervisor is PID 1 */
} SandboxSpec;

void sandbox_spec_donep(SandboxSpec *s);
int sandbox_spec_copy(const SandboxSpec *s, SandboxSpec *ret);

/* 0; else -EINVAL and *ret_code (static) and message: container-create-host-input,
 * container-create-invalid. */
int sandbox_spec_parse(const json_t *create,
                       SandboxSpec *ret,
                       const char **ret_code,
                       char *message,
                       size_t n_message);

/* Labels of a reservation's objects; attempt_id may be NULL. New reference or NULL. */
json_t *sandbox_labels(const Watchdog *w, const Reservation *r, const char *attempt_id);
/* "label=..." filter for list calls, percent-encoded JSON for ?filters=; owned by the caller. */
char *sandbox_filter(const Watchdog *w, const Reservation *r);
/* Body of POST /networks/create. */
json_t *sandbox_network_body(const Watchdog *w, const Reservation *r, const SandboxSpec *spec);
/* Body of POST /containers/create. */
json_t *sandbox_container_body(const Watchdog *w,
                               const Reservation *r,
                               const SandboxSpec *spec,
                               const char *network_id);
