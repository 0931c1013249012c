/* SPDX-License-Identifier: MIT */
/*
 * Docker Engine calls that never block the loop: libcurl's multi interface on sd-event
 *
 * Same requests as base/engine.h. Each call has its own deadline and its own connection at need,
 * so a hanging call delays nobody else's.
 */
#pragma once

#include <jansson.h>
#include <systemd/sd-event.h>

#include "base/engine.h"

typedef struct Engine Engine;
/* error < 0: no HTTP reply (-ETIMEDOUT, -ECONNREFUSED, ...; reply NULL). Else 0 and the reply
 * (valid during the call only). */
typedef void (*engine_fn)(void *userdata, int error, const EngineReply *reply);

int engine_new(sd_event *event, const char *socket_path, Engine **ret);
Engine *engine_free(Engine *e); /* open calls are dropped without a call-back */
void engine_freep(Engine **e);
/* fn is called exactly once, from the event loop, never from inside engine_call(). body is not
 * consumed. */
int engine_call(Engine *e,
                const char *method,
                const char *path,
                const json_t *body,
                uint64_t timeout_usec,
                engine_fn fn,
                void *userdata);
/*
 * A GET whose body never ends by itself (events): data is called for each piece and must not call
 * this module; end is called once when the connection is over, with error 0 (closed in order) or
 * < 0.
 */
typedef void (*engine_data_fn)(void *userdata, const char *data, size_t n);
int engine_stream(Engine *e, const char *path, engine_data_fn data, engine_fn end, void *userdata);

/* Calls with this userdata are no longer called back and end by themselves; streams are ended. */
void engine_forget(Engine *e, void *userdata);
