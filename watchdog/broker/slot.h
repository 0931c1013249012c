/* SPDX-License-Identifier: MIT */
/*
 * Verbs on one slot
 *
 * The folder is opened once (no link followed) below the slots folder of the table, and judged and
 * changed through that descriptor.
 */
#pragma once

#include "profile/slots.h"
#include "watchdog/broker/wire.h"

/* Does request->verb to the slot; fills error, message and facts of the reply. */
void slot_serve(const SlotTable *table, const BrokerRequest *request, BrokerReply *reply);
/* True for verbs that may take long: they run in a child of the broker. */
bool slot_verb_is_long(uint32_t verb);
