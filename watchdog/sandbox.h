/* SPDX-License-Identifier: MIT */
/*
 * Sandboxes: making and taking down the outer container of a reservation
 *
 * One job a reservation at a time. A job is a row of steps; before each outside action its intent
 * is in the ledger and committed, after it its result. Engine objects are found by labels, never
 * by what a failed call may have left in memory, and a query that fails proves nothing.
 *
 * create:  reservation provisioning, slot attaching (set by the caller, with the spec digest)
 *          -> network -> container -> reservation committed, slot active
 * release: reservation releasing (set here) -> stop with deadline -> kill -> remove container
 *          -> remove network -> see both gone by labels -> slot scrubbing, broker resets and
 *          verifies -> slot free (generation + 1), reservation row deleted -> admission runs
 *          any doubt: slot and reservation quarantined with the reason, retried with growing pauses
 */
#pragma once

#include "watchdog/sandbox-spec.h"
#include "watchdog/watchdog.h"

/* code NULL: done. Else an error code of the protocol and a message for people. */
typedef void (*sandbox_fn)(void *userdata, const char *code, const char *message);

int sandboxes_new(Watchdog *w, Sandboxes **ret);
Sandboxes *sandboxes_free(Sandboxes *s);
void sandboxes_freep(Sandboxes **s);

/*
 * Each fn is called exactly once, from the event loop, after what it tells of is on disk. None of
 * these functions may be called inside a ledger change.
 */
/* spec is copied. Two calls for one reservation share the job: both are called back. -EBUSY: it is
 * being released. */
int sandbox_create(Sandboxes *s,
                   const char *reservation_id,
                   const SandboxSpec *spec,
                   sandbox_fn fn,
                   void *userdata);
/* Ends a running create first. Works from every state but queued; fn may be NULL (recovery). */
int sandbox_release(Sandboxes *s, const char *reservation_id, sandbox_fn fn, void *userdata);
/* After a start: takes up what the ledger says was under way (releasing, quarantined). */
int sandboxes_resume(Sandboxes *s);
/* What waits for its next try is tried now: the outer daemon is back. */
void sandboxes_retry_now(Sandboxes *s);
/* Takes a quarantined slot that no reservation holds into the retries. */
void sandboxes_watch_quarantine(Sandboxes *s, uint32_t slot);
/* Reasons of present trouble ("slot-0002: ..."), for status.degraded: new array of strings. */
json_t *sandboxes_degraded(Sandboxes *s);
