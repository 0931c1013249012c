/* SPDX-License-Identifier: MIT */
/*
 * Words for stories about sandboxes: what the rest of the watchdog and its clients do to them
 *
 * Admission and leases are counters here (admission_runs, settles).
 */
#pragma once

#include "watchdog/sandbox.h"
#include "watchdog/test-stage.h"

#define ID "reservation-1"

typedef struct Result {
        bool done;
        unsigned called;
        char code[64], message[600];
} Result;

extern unsigned admission_runs, settles;

int story_set_up(void **state);
int story_tear_down(void **state);
/* A watchdog that starts, and one that dies. */
void story_open_all(Stage *s);
void story_close_all(Stage *s);

void story_on_done(void *userdata, const char *code, const char *message);
void story_parse_spec(SandboxSpec *ret);
/* A granted reservation, on disk, with a lease (made with slot 1). */
void story_grant(Stage *s, const char *id, uint32_t slot_number);
void story_forget_lease(Stage *s);
void story_set_slot(Watchdog *w, uint32_t number, SlotState state);
/* container.create as the control protocol does it: state and digest first, then the job. */
int story_begin_create(Stage *s, const char *id, Result *result);
Result story_create(Stage *s, const char *id);
Result story_release(Stage *s, const char *id);
void story_start_container(Stage *s, const char *id);

/* _RESERVATION_STATE_MAX: it is gone. */
ReservationState story_state_of(Stage *s, const char *id);
bool story_is_gone(Stage *s, const char *id, unsigned sec);
void story_assert_slot(Stage *s, uint32_t number, SlotState state, uint64_t generation);
/* The end of every story: no reservation, a free slot, an Engine with nothing, no file. */
void story_assert_nothing_left(Stage *s, uint64_t generation);

#define STORY(fn) cmocka_unit_test_setup_teardown(fn, story_set_up, story_tear_down)
