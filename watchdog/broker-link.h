/* SPDX-License-Identifier: MIT */
/*
 * The watchdog's end of the broker's socket
 *
 * Connects when first needed and again after the broker has gone (systemd starts it by its socket).
 * Requests that were open when the connection broke are called back with -ECONNRESET: whether they
 * were done is then unknown, and all verbs may be repeated.
 */
#pragma once

#include <systemd/sd-event.h>

#include "watchdog/broker/wire.h"

typedef struct BrokerLink BrokerLink;
/* error: 0, or reply->error, or -ETIMEDOUT, -ECONNRESET, other -errno; reply is NULL when none
 * came. */
typedef void (*broker_fn)(void *userdata, int error, const BrokerReply *reply);

int broker_link_new(sd_event *event,
                    const char *socket_path,
                    uint64_t timeout_usec,
                    BrokerLink **ret);
BrokerLink *broker_link_free(BrokerLink *b); /* open requests are dropped without a call-back */
void broker_link_freep(BrokerLink **b);
/* fn is called exactly once, from the event loop, never from inside broker_call(). */
int broker_call(BrokerLink *b, BrokerVerb verb, uint32_t slot, broker_fn fn, void *userdata);
/* Requests with this userdata are no longer called back. */
void broker_forget(BrokerLink *b, void *userdata);
