/* SPDX-License-Identifier: MIT */
/*
 * The kinds of requests (niceeval-docker-profile-control/v1)
 *
 * methods[] in methods.c is the one table: name, what must be proven first, function. The frame
 * checks, in this order: lease exists, its token, lease active (unless the kind may end things),
 * reservation exists and is the lease's own; then the function runs.
 */
#pragma once

#include "watchdog/control.h"

void methods_dispatch(Request *r);

/* What the frame has proven, for the functions; NULL where the kind does not need it. */
typedef struct Proven {
        const Lease *lease;
        const Reservation *reservation;
} Proven;

/* methods-reservation.c, methods-acquire.c, methods-create.c, methods-status.c */
void method_acquire(Request *r, const Proven *p);
void method_get(Request *r, const Proven *p);
void method_cancel(Request *r, const Proven *p);
void method_release(Request *r, const Proven *p);
void method_commit(Request *r, const Proven *p);
void method_container_create(Request *r, const Proven *p);
void method_challenge(Request *r, const Proven *p);
void method_status(Request *r, const Proven *p);

/* A required text of the request, or NULL. */
const char *request_text(const Request *r, const char *key);
/* The reservation as its own lease sees it (with its provision token). New reference. */
json_t *reservation_record(const Reservation *v);
/* Answers with it. */
void reply_record(Request *r, const Reservation *v);
