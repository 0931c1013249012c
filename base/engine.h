/* SPDX-License-Identifier: MIT */
/*
 * Docker Engine API over its Unix socket, one request at a time
 *
 * Requests are built from typed parts and a JSON body, so that nothing a client sends can become
 * an option of a command line: an image name is a JSON string and nothing else. Bodies of replies
 * are bounded. The watchdog uses the same request set-up without blocking: watchdog/engine.h.
 */
#pragma once

#include <jansson.h>

#include "base/macros.h"

#define ENGINE_API "/v1.41" /* oldest that all supported daemons speak (Docker 20.10) */
#define ENGINE_REPLY_MAX (8 * 1024 * 1024)

typedef struct EngineReply {
        long status; /* HTTP status */
        char *body;  /* NUL-terminated, never NULL after success */
        size_t n_body;
} EngineReply;

/* CLEANUP(engine_reply_donep) */
void engine_reply_donep(EngineReply *reply);

/*
 * Sends METHOD path (which begins with '/', already percent-encoded, without ENGINE_API) and waits
 * for the whole reply. body may be NULL. Returns 0 for any HTTP status; -ECONNREFUSED, -ENOENT,
 * -EACCES (socket), -ETIMEDOUT, -EFBIG, -ECONNRESET, -ENOMEM otherwise.
 */
int engine_request(const char *socket_path,
                   const char *method,
                   const char *path,
                   const json_t *body,
                   uint64_t timeout_usec,
                   EngineReply *ret);

/* The "message" of an Engine error body, or the body itself, cut to n bytes; returns buf. */
char *engine_error_text(const EngineReply *reply, char *buf, size_t n);

/* Percent-encodes one path segment or query value into new memory; NULL when memory is out. */
char *engine_escape(const char *text);
