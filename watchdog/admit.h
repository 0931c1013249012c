/* SPDX-License-Identifier: MIT */
/*
 * Granting: from the queue to a verified slot
 *
 * The head of the queue that fits gets a free slot, which is held (in memory: a watchdog that dies
 * here has promised nothing) while the broker verifies it. Then one transaction makes the grant:
 * reservation, slot, event. A slot that does not verify is quarantined and the next one is tried; a
 * broker that does not answer proves nothing, and admission tries again with growing pauses. Nobody
 * hears of a grant before it is on disk.
 */
#pragma once

#include "watchdog/admission.h"
#include "watchdog/watchdog.h"

int admit_new(Watchdog *w, Admit **ret);
Admit *admit_free(Admit *a); /* who waits is dropped without a call */
void admit_freep(Admit **a);

/* Grants what can be granted. Call it after whatever may have made room. Not inside a ledger
 * change. */
void admission_run(Watchdog *w);

/* error < 0: the ledger failed and nothing is known to have changed. */
typedef void (*admit_fn)(void *userdata, int error);
/*
 * Waits while a slot is being verified for the reservation. 1: fn is called, once, when it is
 * granted on disk, must go on waiting, is gone, or this took too long for a client; 0: there is
 * nothing to wait for and fn is not called; -errno.
 */
int admit_wait(Watchdog *w, const char *reservation_id, admit_fn fn, void *userdata);

/* What admission may give out. */
void admit_limits(const Watchdog *w, Limits *ret);
/* Is this free slot being verified for somebody? */
bool admit_holds(const Admit *a, uint32_t slot);
/* Why admission cannot go on at present, or NULL. */
const char *admit_trouble(const Admit *a);
