/* SPDX-License-Identifier: MIT */
/*
 * Sandboxes end to end: real ledger, real sockets, a scripted Engine and broker that fail in every
 * way. Whatever happens, in the end nothing is there twice, nothing is left over, and the slot is
 * free again.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "watchdog/test-story.h"

static void plain_life(void **state) {
        Stage *s = *state;
        CLEANUP(json_decrefp) json_t *networks = NULL, *containers = NULL;
        CLEANUP(reservation_donep) Reservation r = { 0 };
        json_t *host, *container;
        Result result;

        admission_runs = settles = 0;
        story_grant(s, ID, 1);
        result = story_create(s, ID);
        assert_string_equal(result.code, "");
        assert_int_equal(ledger_reservation_get(s->w.ledger, ID, &r), 0);
        assert_int_equal(r.state, RESERVATION_COMMITTED);
        story_assert_slot(s, 1, SLOT_ACTIVE, 1);
        assert_int_equal(stage_engine(s, "GET", "/networks", NULL, &networks), 200);
        assert_int_equal(stage_engine(s, "GET", "/containers/json?all=1", NULL, &containers), 200);
        container = json_array_get(containers, 0);
        host = json_object_get(container, "HostConfig");
        assert_string_equal(json_string_value(json_object_get(container, "Id")), r.container_id);
        assert_string_equal(json_string_value(json_object_get(container, "State")), "created");
        assert_string_equal(json_string_value(json_object_get(json_array_get(networks, 0), "Id")),
                            r.network_id);
        assert_string_equal(json_string_value(json_object_get(host, "NetworkMode")), r.network_id);
        assert_string_equal(json_string_value(json_object_get(json_array_get(networks, 0), "Name")),
                            "niceeval-00000000000000000000");
        story_start_container(s, ID);
        stage_file(s, "slot-0001/data");
        result = story_release(s, ID);
        assert_string_equal(result.code, "");
        story_assert_nothing_left(s, 2);
        assert_int_equal(admission_runs, 1);
        assert_int_equal(settles, 1);
        assert_int_equal(stage_logged(s, "engine", "POST /containers/"),
                         3); /* create, start, stop */
        assert_int_equal(stage_events(s, "container-active"), 1);
        assert_int_equal(stage_events(s, "slot-free"), 1);
        assert_int_equal(stage_events(s, "slot-quarantined"), 0);
}

/* NiceEval's own test holds its service to this order. */
static void events_are_in_order(void **state) {
        static const char order[] = "container-create-intent container-network-create-intent "
                                    "container-network-created container-created container-active "
                                    "reservation-release-intent slot-scrubbing slot-verified-free "
                                    "reservation-released slot-free ";
        Stage *s = *state;
        CLEANUP(freep) char *kinds = NULL;

        story_grant(s, ID, 1);
        assert_string_equal(story_create(s, ID).code, "");
        assert_string_equal(story_release(s, ID).code, "");
        kinds = stage_event_kinds(s);
        assert_string_equal(kinds, order);
}

/* Nothing was ever asked of the Engine for it: a daemon that is gone is no reason to wait. */
static void a_grant_goes_back_without_the_daemon(void **state) {
        Stage *s = *state;

        story_grant(s, ID, 1);
        stage_stop_engine(s);
        assert_string_equal(story_release(s, ID).code, "");
        story_assert_slot(s, 1, SLOT_FREE, 2);
        stage_start_engine(s);
}

static void create_fails_in_every_way(void **state) {
        static const struct {
                const char *rules, *code;
                ReservationState after;
        } table[] = {
                { "POST /networks/create fail=500",
                  "container-network-create-failed",
                  RESERVATION_PROVISIONING },
                { "POST /networks/create fail=409",
                  "container-network-create-failed",
                  RESERVATION_PROVISIONING },
                { "POST /networks/create hang",
                  "container-create-ambiguous",
                  RESERVATION_QUARANTINED },
                { "POST /networks/create drop",
                  "container-create-ambiguous",
                  RESERVATION_QUARANTINED },
                { "POST /networks/create after hang", "", RESERVATION_COMMITTED },
                { "POST /networks/create after drop", "", RESERVATION_COMMITTED },
                { "POST /networks/create half", "", RESERVATION_COMMITTED },
                { "POST /networks/create after fail=299", "", RESERVATION_COMMITTED },
                { "POST /containers/create fail=500",
                  "container-create-failed",
                  RESERVATION_PROVISIONING },
                { "POST /containers/create fail=404",
                  "container-create-failed",
                  RESERVATION_PROVISIONING },
                { "POST /containers/create hang",
                  "container-create-ambiguous",
                  RESERVATION_QUARANTINED },
                { "POST /containers/create drop",
                  "container-create-ambiguous",
                  RESERVATION_QUARANTINED },
                { "POST /containers/create after hang", "", RESERVATION_COMMITTED },
                { "POST /containers/create after drop", "", RESERVATION_COMMITTED },
                { "POST /containers/create half", "", RESERVATION_COMMITTED },
                { "POST /containers/create delay=300", "", RESERVATION_COMMITTED },
                { "GET /containers/json fail=500",
                  "container-create-failed",
                  RESERVATION_PROVISIONING },
                { "GET /containers/json hang",
                  "container-create-failed",
                  RESERVATION_PROVISIONING },
                { "GET /networks drop", "container-create-failed", RESERVATION_PROVISIONING },
                { "GET /networks half", "container-create-failed", RESERVATION_PROVISIONING },
                { "POST /containers/create after drop\nGET /containers/json skip=1 times=1 fail=500",
                  "container-create-ambiguous",
                  RESERVATION_QUARANTINED },
                { "POST /containers/create after drop\nGET /networks skip=1 times=1 hang",
                  "container-create-ambiguous",
                  RESERVATION_QUARANTINED },
        };
        Stage *s = *state;

        for (size_t i = 0; i < N_ELEMENTS(table); i++) {
                Result r;

                print_message("# %s\n", table[i].rules);
                story_grant(s, ID, 1);
                stage_rules(s, "engine", table[i].rules);
                r = story_create(s, ID);
                assert_string_equal(r.code, table[i].code);
                assert_int_equal(story_state_of(s, ID), table[i].after);
                stage_rules(s, "engine", "");
                if (table[i].after == RESERVATION_PROVISIONING && i % 2) {
                        /* the client tries again: what is there is taken, nothing twice */
                        assert_string_equal(story_create(s, ID).code, "");
                        assert_int_equal(stage_count(s, "/networks"), 1);
                        assert_int_equal(stage_count(s, "/containers/json?all=1"), 1);
                }
                assert_string_equal(story_release(s, ID).code, "");
                story_assert_nothing_left(s, i + 2);
                story_forget_lease(s);
        }
}

static void the_daemon_is_down(void **state) {
        Stage *s = *state;
        Result r;

        story_grant(s, ID, 1);
        stage_stop_engine(s);
        r = story_create(s, ID);
        assert_string_equal(r.code, "container-create-failed");
        assert_int_equal(story_state_of(s, ID), RESERVATION_PROVISIONING);
        assert_string_equal(story_release(s, ID).code, "recovery-blocked");
        assert_int_equal(story_state_of(s, ID), RESERVATION_QUARANTINED);
        stage_start_engine(s);
        sandboxes_retry_now(s->w.sandboxes);
        assert_true(story_is_gone(s, ID, 60));
        story_assert_nothing_left(s, 2);
        assert_int_equal(stage_events(s, "slot-quarantined"), 1);
}

/* The Engine makes the container only after everybody has given up on it. */
static void a_create_that_lands_late_is_cleaned_up(void **state) {
        Stage *s = *state;
        Result r;

        story_grant(s, ID, 1);
        stage_rules(s, "engine", "POST /containers/create times=1 late=3000");
        r = story_create(s, ID);
        assert_string_equal(r.code, "container-create-ambiguous");
        assert_string_equal(story_release(s, ID).code, "");
        assert_int_equal(stage_logged(s, "engine", "POST /containers/create 201"), 1);
        story_assert_nothing_left(s, 2);
}

static void release_fails_in_every_way(void **state) {
        /* each once: the second try finds the way free. Empty code: the try itself gets over it. */
        static const struct {
                const char *who, *rules, *code;
        } table[] = {
                { "engine", "GET /containers/json times=1 fail=500", "recovery-blocked" },
                { "engine", "GET /containers/json times=1 hang", "recovery-blocked" },
                { "engine", "GET /containers/json times=1 half", "recovery-blocked" },
                { "engine", "GET /networks times=1 drop", "recovery-blocked" },
                { "engine", "GET /networks skip=1 times=1 fail=500", "recovery-blocked" },
                { "engine", "POST /containers/*/stop times=1 fail=500", "" },
                { "engine", "POST /containers/*/stop times=1 hang", "" },
                { "engine", "POST /containers/*/stop times=1 after drop", "" },
                { "engine",
                  "POST /containers/*/stop fail=500\nPOST /containers/*/kill fail=500",
                  "" },
                { "engine", "DELETE /containers/* times=1 fail=500", "recovery-blocked" },
                { "engine", "DELETE /containers/* times=1 hang", "recovery-blocked" },
                { "engine", "DELETE /containers/* times=1 after drop", "recovery-blocked" },
                { "engine", "DELETE /containers/* times=1 after fail=409", "" },
                { "engine", "DELETE /containers/* times=1 after fail=404", "" },
                { "engine", "DELETE /networks/* times=1 fail=500", "recovery-blocked" },
                { "engine", "DELETE /networks/* times=1 after fail=500", "recovery-blocked" },
                { "engine", "DELETE /networks/* times=1 hang", "recovery-blocked" },
                { "broker", "reset * times=1 fail=16", "" },
                { "broker", "reset * times=1 drop", "" },
                { "broker", "reset * times=1 half", "" },
                { "broker", "reset * times=1 after fail=117", "slot-quarantined" },
                { "broker", "reset * times=1 hang", "slot-quarantined" },
        };
        Stage *s = *state;

        for (size_t i = 0; i < N_ELEMENTS(table); i++) {
                Result r;

                print_message("# %s\n", table[i].rules);
                story_grant(s, ID, 1);
                assert_string_equal(story_create(s, ID).code, "");
                story_start_container(s, ID);
                stage_file(s, "slot-0001/data");
                stage_rules(s, table[i].who, table[i].rules);
                r = story_release(s, ID);
                assert_string_equal(r.code, table[i].code);
                if (*table[i].code) {
                        CLEANUP(json_decrefp) json_t *degraded = sandboxes_degraded(s->w.sandboxes);

                        assert_int_equal(story_state_of(s, ID), RESERVATION_QUARANTINED);
                        story_assert_slot(s, 1, SLOT_QUARANTINED, i + 1);
                        assert_int_equal(json_array_size(degraded), 1);
                        sandboxes_retry_now(s->w.sandboxes);
                        assert_true(story_is_gone(s, ID, 60));
                }
                story_assert_nothing_left(s, i + 2);
                stage_rules(s, table[i].who, "");
                story_forget_lease(s);
        }
}

/* One record however often it is tried; a neighbour is not held up; a later release frees it. */
static void quarantine_waits_with_growing_pauses(void **state) {
        Stage *s = *state;
        bool never = false;
        size_t events;

        story_grant(s, ID, 1);
        story_grant(s, "reservation-2", 2);
        assert_string_equal(story_create(s, ID).code, "");
        stage_rules(s, "broker", "reset slot-0001 fail=117");
        assert_string_equal(story_release(s, ID).code, "slot-quarantined");
        assert_string_equal(story_create(s, "reservation-2").code, "");
        assert_string_equal(story_release(s, "reservation-2").code, "");
        story_assert_slot(s, 2, SLOT_FREE, 2);
        (void) stage_run(s, &never, 8);
        assert_true(stage_logged(s, "broker", "reset slot-0001") >= 3);
        assert_true(stage_logged(s, "broker", "reset slot-0001") <= 5);
        events = stage_events(s, "slot-quarantined");
        assert_int_equal(events, 1);
        assert_int_equal(stage_events(s, "slot-scrubbing"), 2);
        stage_rules(s, "broker", "");
        assert_string_equal(story_release(s, ID).code, "");
        story_assert_nothing_left(s, 2);
}

/* What carries other labels is a neighbour's, whatever the list calls say. */
static void neighbours_are_not_touched(void **state) {
        Stage *s = *state;
        CLEANUP(json_decrefp) json_t *network = NULL, *container = NULL;

        stage_stop_engine(s);
        s->ignore_filters = true;
        stage_start_engine(s);
        network = json_pack("{s:s, s:{s:s, s:s}}",
                            "Name",
                            "other",
                            "Labels",
                            "niceeval.reservation-id",
                            ID,
                            "niceeval.provision-token",
                            "another");
        container = json_pack("{s:s, s:{s:s, s:s}}",
                              "Image",
                              "img",
                              "Labels",
                              "niceeval.reservation-id",
                              ID,
                              "niceeval.provision-token",
                              "another");
        assert_int_equal(stage_engine(s, "POST", "/networks/create", network, NULL), 201);
        assert_int_equal(stage_engine(s, "POST", "/containers/create", container, NULL), 201);
        story_grant(s, ID, 1);
        assert_string_equal(story_create(s, ID).code, "");
        assert_string_equal(story_release(s, ID).code, "");
        assert_int_equal(stage_count(s, "/networks"), 1);
        assert_int_equal(stage_count(s, "/containers/json?all=1"), 1);
}

static void a_connected_stranger_is_disconnected(void **state) {
        Stage *s = *state;
        CLEANUP(json_decrefp) json_t *body = json_pack("{s:s}", "Container", "stranger");

        story_grant(s, ID, 1);
        assert_string_equal(story_create(s, ID).code, "");
        assert_int_equal(stage_engine(s,
                                      "POST",
                                      "/networks/niceeval-00000000000000000000/connect",
                                      body,
                                      NULL),
                         200);
        assert_string_equal(story_release(s, ID).code, "");
        story_assert_nothing_left(s, 2);
}

static void a_process_that_is_left_blocks(void **state) {
        Stage *s = *state;
        CLEANUP(reservation_donep) Reservation r = { 0 };
        char path[256], command[640];
        Result result;

        story_grant(s, ID, 1);
        assert_string_equal(story_create(s, ID).code, "");
        assert_int_equal(ledger_reservation_get(s->w.ledger, ID, &r), 0);
        snprintf(path,
                 sizeof(path),
                 "%s/user@%u.service/user.slice/docker-%s.scope",
                 s->aggregate,
                 (unsigned) getuid(),
                 r.container_id);
        snprintf(command,
                 sizeof(command),
                 "mkdir %s && echo populated 1 >%s/cgroup.events",
                 path,
                 path);
        assert_int_equal(system(command), 0);
        result = story_release(s, ID);
        assert_string_equal(result.code, "recovery-blocked");
        assert_non_null(strstr(result.message, "process"));
        assert_int_equal(stage_logged(s, "broker", "reset"), 0);
        snprintf(command, sizeof(command), "echo populated 0 >%s/cgroup.events", path);
        assert_int_equal(system(command), 0);
        assert_true(story_is_gone(s, ID, 60));
        story_assert_nothing_left(s, 2);
}

/* A quarantined slot that nobody holds, and one that was being prepared when the watchdog died. */
static void slots_without_a_reservation_come_back(void **state) {
        Stage *s = *state;
        Watchdog *w = &s->w;
        Slot slot;

        stage_file(s, "slot-0001/data");
        assert_int_equal(ledger_slot_get(w->ledger, 1, &slot), 0);
        slot.state = SLOT_QUARANTINED;
        slot.quarantine_reason = strdup("it was not empty");
        assert_int_equal(ledger_change_begin(w->ledger), 0);
        assert_int_equal(ledger_slot_update(w->ledger, &slot), 0);
        story_set_slot(w, 2, SLOT_PREPARING);
        assert_int_equal(ledger_change_end(w->ledger, true), 0);
        slot_donep(&slot);
        assert_int_equal(sandboxes_resume(w->sandboxes), 0);
        for (int i = 0; i < 6000; i++) {
                CLEANUP(slot_donep) Slot one = { 0 }, two = { 0 };

                (void) stage_turn(s);
                assert_int_equal(ledger_slot_get(w->ledger, 1, &one), 0);
                assert_int_equal(ledger_slot_get(w->ledger, 2, &two), 0);
                if (one.state == SLOT_FREE && two.state == SLOT_FREE)
                        break;
        }
        story_assert_slot(s, 1, SLOT_FREE, 2);
        story_assert_slot(s, 2, SLOT_FREE, 2);
        assert_false(stage_has_file(s, "slot-0001/data"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                STORY(plain_life),
                STORY(events_are_in_order),
                STORY(a_grant_goes_back_without_the_daemon),
                STORY(create_fails_in_every_way),
                STORY(the_daemon_is_down),
                STORY(a_create_that_lands_late_is_cleaned_up),
                STORY(release_fails_in_every_way),
                STORY(quarantine_waits_with_growing_pauses),
                STORY(neighbours_are_not_touched),
                STORY(a_connected_stranger_is_disconnected),
                STORY(a_process_that_is_left_blocks),
                STORY(slots_without_a_reservation_come_back),
        };

        return RUN_TAP(tests);
}
