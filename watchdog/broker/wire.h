/* SPDX-License-Identifier: MIT */
/*
 * What watchdog and broker say to each other
 *
 * SOCK_SEQPACKET: one fixed-size struct a packet, in host byte order, since both ends are of the
 * same build on the same host (version and size are checked all the same). The watchdog sends
 * slot numbers and verbs, never a path: what a slot is, the broker reads from the root-owned slot
 * table. Several requests may be open at once; replies carry the request's id and come in any
 * order.
 */
#pragma once

#include "profile/slotfs.h"

#define BROKER_WIRE_VERSION 1

typedef enum BrokerVerb {
        BROKER_VERIFY = 1, /* is the slot all that the table says, and empty and unused? */
        BROKER_FACTS,      /* its numbers, whatever they are */
        BROKER_RESET, /* refuse while in use; delete content; restore owner, mode, project, limits;
                         verify */
        _BROKER_VERB_MAX
} BrokerVerb;

typedef struct BrokerRequest {
        uint32_t version, verb;
        uint64_t id;
        uint32_t slot, reserved;
} BrokerRequest;

typedef struct BrokerReply {
        uint32_t version;
        int32_t error; /* 0; -EBUSY in use; -EUCLEAN not as the table says; other -errno */
        uint64_t id;
        SlotFacts facts; /* valid when has_facts */
        uint32_t has_facts;
        char message[508]; /* NUL-terminated sentence when error < 0, naming the holder or the
                              difference */
} BrokerReply;
