/* SPDX-License-Identifier: MIT */
/*
 * Client of the control socket
 *
 * One request a connection: a JSON object and a line feed, then the write side is closed, then the
 * reply is read to its end. The reply is bounded in size, nesting and time.
 */
#pragma once

#include <jansson.h>

#include "base/macros.h"

#define CONTROL_REPLY_MAX (64 * 1024 * 1024)

typedef struct ControlError {
        char code[64], message[1024];
} ControlError;

/*
 * Sends request (not consumed) and waits at most timeout_usec for the whole reply. 0 and
 * *ret_result (owned by the caller); 1: the service said no, *ret_error is filled; -errno: no
 * reply (ret_error->message has a sentence with the next step). Of the latter: -ENOENT,
 * -ECONNREFUSED (no service), -EACCES (not in the access group), -ETIMEDOUT, -ECONNRESET (closed
 * without a reply), -EBADMSG (not a reply).
 */
int control_call(const char *socket_path,
                 const json_t *request,
                 uint64_t timeout_usec,
                 json_t **ret_result,
                 ControlError *ret_error);
