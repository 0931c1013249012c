/* SPDX-License-Identifier: MIT */
/* The one set-up of an Engine request, for base/engine.c (blocking) and watchdog/engine.c (not). */
#pragma once

#include <curl/curl.h>

#include "base/engine.h"

typedef struct EngineExchange {
        CURL *curl;
        struct curl_slist *headers;
        char *url, *request;
        char *body; /* reply so far */
        size_t n, room;
} EngineExchange;

/* CLEANUP(engine_exchange_donep) */
void engine_exchange_donep(EngineExchange *x);
/*
 * Fills a zeroed exchange, which must not move afterwards (curl points to it). A time-out of 0 is
 * none. 0 or -ENOMEM; done with it in any case.
 */
int engine_prepare(EngineExchange *x,
                   const char *socket_path,
                   const char *method,
                   const char *path,
                   const json_t *body,
                   uint64_t timeout_usec);
/* -errno for curl's verdict; 0 for CURLE_OK. */
int engine_errno(CURL *c, CURLcode code);
/* Moves the finished reply out. */
int engine_take_reply(EngineExchange *x, EngineReply *ret);
