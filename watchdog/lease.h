/* SPDX-License-Identifier: MIT */
/*
 * Leases: who may hold resources, and for how long without a sign of life
 *
 * The row of a lease is in the ledger; when it was last heard of is not, and is measured on
 * CLOCK_BOOTTIME: no jump of the wall clock and no restart of the watchdog ends a live lease, since
 * after a start each one has a whole grace. One timer waits for the earliest end of a grace; an
 * idle watchdog does not wake up. A lease that drains or was lost gives back all it holds, and its
 * row goes when the last of it is proven gone.
 */
#pragma once

#include "watchdog/watchdog.h"

#define LEASE_TOKEN_SIZE 44 /* 32 random bytes as base64url, and NUL */

int leases_new(Watchdog *w, LeaseClock **ret);
LeaseClock *leases_free(LeaseClock *c);
void leases_freep(LeaseClock **c);

/* After a start: every active lease has a whole grace. */
int leases_resume(Watchdog *w);
/*
 * Once the daemon answers, and each time it comes back: leases made under another generation end,
 * and those that had ended before go on being given back.
 */
int leases_end_other_generations(Watchdog *w);

/* Makes a lease; the token is told once and only its digest is kept. 0, -EEXIST, other -errno. */
int lease_create(Watchdog *w,
                 const char *invocation_id,
                 uid_t uid,
                 char ret_token[static LEASE_TOKEN_SIZE]);
bool lease_token_fits(const Lease *lease, const char *token);
void lease_heard_of(Watchdog *w, const char *invocation_id);
/* When it was last heard of, as CLOCK_REALTIME for people; 0: not known. */
uint64_t lease_last_heard(Watchdog *w, const char *invocation_id);

/*
 * Ends an active lease (state draining or lost), or takes an ended one up again, and gives back
 * what it holds. 1: nothing was left and it is gone, 0: under way, -errno (tried again by itself).
 */
int lease_end(Watchdog *w, const char *invocation_id, LeaseState state);
/* Takes the row away when the lease has ended and holds nothing any more. 1: it is gone. */
int lease_settle(Watchdog *w, const char *invocation_id);

/* The row and event of a reservation that only waited go, in the current ledger change. */
int lease_drop_queued(Watchdog *w, const Reservation *r);
