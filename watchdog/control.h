/* SPDX-License-Identifier: MIT */
/*
 * The control socket: connections, lines, replies
 *
 * Clients are members of the access group and may be hostile. One request a connection: a line of
 * at most CONTROL_LINE_MAX bytes; then one reply line, and the connection is closed. Nobody waits
 * for anybody: all I/O is non-blocking, a peer that neither sends, takes nor closes in time is hung
 * up on, and the number of connections is bounded in total and for each user. Who asks is what the
 * socket says (SO_PEERCRED).
 *
 * Every reply goes through ledger_on_commit(): also what was only read may be of this loop turn,
 * and nobody hears of what is not on disk. A request lives until it was answered, even when its
 * peer has gone, so whoever works on it need not know of connections.
 */
#pragma once

#include <jansson.h>

#include "watchdog/watchdog.h"

#define CONTROL_LINE_MAX (1024 * 1024) /* with the LF */

typedef struct Request {
        Watchdog *w;
        uid_t uid;       /* of the peer */
        json_t *message; /* an object */
        char *subject;   /* for the methods: the reservation that the answer waits for, or NULL */
} Request;

/* listen_fd is consumed. */
int server_new(Watchdog *w, int listen_fd, Server **ret);
Server *server_free(Server *s);
void server_freep(Server **s);

/* Each request is answered exactly once, by one of these. result is consumed. */
void request_reply(Request *r, json_t *result);
void request_fail(Request *r, const char *code, const char *fmt, ...) PRINTF_FORMAT(3, 4);
/* The same for an -errno from inside: logged, "internal" to the client. */
void request_fail_errno(Request *r, int error);
