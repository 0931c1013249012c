/* SPDX-License-Identifier: MIT */
/*
 * Just enough HTTP to ask a daemon whether it is there
 *
 * Requests are HTTP/1.0 with "Connection: close", so a reply is never chunked and ends with the
 * stream.
 */
#pragma once

#include "supervisor/text.h"

enum { _HTTP_E_OK, HTTP_E_MORE, HTTP_E_NOT_HTTP, _HTTP_E_MAX };

typedef struct HttpReply {
        unsigned status;
        const char *body;
        size_t n_body;
} HttpReply;

void http_request(Text *t, const char *path);

/* The head must be complete; the body is what came so far. Points into data. */
int http_reply(const char *data, size_t n, HttpReply *ret);
