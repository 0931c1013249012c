/* SPDX-License-Identifier: MIT */
/*
 * The whole watchdog: lives of sandboxes, runners that die, a watchdog that dies, a broker and an
 * Engine that fail. After each the host is as it was before.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "watchdog/test-host.h"

#define CALM "LeaseGrace=10min\nStopTimeout=1s\nQuarantineRetryMax=3s\n"

static Host host;

static int set_up(void **state) {
        host_new(&host, CALM);
        *state = &host;
        return 0;
}

static int set_up_impatient(void **state) {
        host_new(&host, "LeaseGrace=10s\nStopTimeout=1s\nQuarantineRetryMax=3s\n");
        *state = &host;
        return 0;
}

static int tear_down(void **state) {
        host_done(*state);
        return 0;
}

/* ---- short forms ---- */

static const char *text_of(const json_t *o, const char *key) {
        const char *text = json_string_value(json_object_get(o, key));

        return text ? text : "";
}

static json_t *about(const char *reservation_id) {
        return json_pack("{s:s}", "reservationId", reservation_id);
}

/* The state of a reservation as its own lease sees it. */
static void state_of(Host *h, const Client *c, const char *id, char ret[static 32]) {
        CLEANUP(json_decrefp)
        json_t *record = client_ask(h, c, NULL, "reservation.get", about(id));

        snprintf(ret, 32, "%s", text_of(record, "state"));
}

static void assert_state(Host *h, const Client *c, const char *id, const char *expected) {
        char state[32];

        state_of(h, c, id, state);
        assert_string_equal(state, expected);
}

static void wait_for_state(Host *h, const Client *c, const char *id, const char *expected) {
        char state[32] = "";

        for (int i = 0; i < HOST_PATIENCE_SEC * 20; i++) {
                state_of(h, c, id, state);
                if (!strcmp(state, expected))
                        return;
                usleep(50000);
        }
        fail_msg("%s is %s, not %s", id, state, expected);
}

static void create(Host *h, const Client *c, const char *id) {
        json_decref(client_ask(h, c, NULL, "container.create", create_of(id, plain_create())));
}

static void release(Host *h, const Client *c, const char *id) {
        json_decref(client_ask(h, c, NULL, "reservation.release", about(id)));
}

static void drain(Host *h, const Client *c, const char *expected) {
        CLEANUP(json_decrefp) json_t *drained = client_ask(h, c, NULL, "lease.drain", NULL);

        assert_int_equal(json_object_size(drained), 1);
        assert_string_equal(text_of(drained, "state"), expected);
}

static size_t containers(Host *h) {
        return stage_count(&h->stage, "/containers/json?all=1");
}

/* Sends a request and leaves: whatever becomes of it, nobody hears. */
static void ask_and_leave(Host *h, json_t *request) {
        CLEANUP(json_decrefp) json_t *owned = request;
        CLEANUP(fd_closep) int fd = host_connect(h);
        CLEANUP(freep) char *text = json_dumps(owned, JSON_COMPACT);
        CLEANUP(freep) char *line = text_format("%s\n", text);

        assert_true(fd >= 0);
        assert_int_equal(fd_write_all(fd, line, strlen(line)), 0);
}

/* The one record of the list in which key has this value, or NULL. */
static const json_t *
record_of(const json_t *status, const char *list, const char *key, const char *value) {
        json_t *records = json_object_get(status, list), *v;
        size_t i;

        json_array_foreach(records, i, v) if (!strcmp(text_of(v, key), value)) return v;
        return NULL;
}

/* Drains a lease that may be gone already. What is answered depends on how far things were. */
static void end_lease(Host *h, const Client *c) {
        CLEANUP(json_decrefp) json_t *status = host_status(h);
        const json_t *lease = record_of(status, "leases", "invocationId", c->id);

        if (lease && !strcmp(text_of(lease, "state"), "active"))
                json_decref(client_ask(h, c, NULL, "lease.drain", NULL));
}

/* ---- a client that behaves ---- */

static void a_whole_life(void **state) {
        Host *h = *state;
        CLEANUP(json_decrefp) json_t *created = NULL, *got = NULL, *again = NULL;
        Client c;

        client_new(h, &c, "invocation-1");
        client_hold(h, &c, "reservation-1", 1.5);
        created = client_ask(h,
                             &c,
                             NULL,
                             "container.create",
                             create_of("reservation-1", plain_create()));
        assert_int_equal(json_object_size(created), 3);
        assert_string_equal(text_of(created, "state"), "active");
        assert_int_equal(containers(h), 1);
        got = client_ask(h, &c, NULL, "reservation.get", about("reservation-1"));
        assert_string_equal(text_of(got, "state"), "committed");
        assert_string_equal(text_of(got, "containerId"), text_of(created, "containerId"));
        assert_string_equal(text_of(got, "networkId"), text_of(created, "networkId"));
        assert_string_equal(text_of(got, "slotId"), "slot-0001");
        assert_string_equal(text_of(got, "attemptId"), "attempt-1");
        /* a replay, in the other client generation's shape, is the same sandbox */
        again = client_ask(h,
                           &c,
                           NULL,
                           "container.create",
                           create_of("reservation-1",
                                     json_pack("{s:s, s:o}",
                                               "intent",
                                               "workload",
                                               "create",
                                               plain_create())));
        assert_true(json_equal(created, again));
        assert_int_equal(containers(h), 1);
        stage_file(&h->stage, "slot-0001/layer");
        json_decref(got);
        got = client_ask(h, &c, NULL, "reservation.release", about("reservation-1"));
        assert_int_equal(json_object_size(got), 1);
        assert_true(json_is_true(json_object_get(got, "released")));
        assert_int_equal(containers(h), 0);
        assert_int_equal(stage_count(&h->stage, "/networks"), 0);
        assert_false(stage_has_file(&h->stage, "slot-0001/layer"));
        drain(h, &c, "recovered");
        client_ask(h, &c, "lease-not-found", "lease.drain", NULL);
        host_wait_idle(h);
}

static void a_drain_gives_all_back(void **state) {
        Host *h = *state;
        Client c;

        client_new(h, &c, "invocation-1");
        client_hold(h, &c, "one", 1);
        create(h, &c, "one");
        client_hold(h, &c, "two", 1);
        json_decref(client_ask(h, &c, NULL, "reservation.acquire", wish("waits", 1)));
        assert_state(h, &c, "waits", "queued");
        drain(h, &c, "draining");
        client_ask(h, &c, "lease-not-active", "lease.heartbeat", NULL);
        client_ask(h, &c, "lease-not-active", "reservation.get", about("one"));
        host_wait_idle(h);
        assert_int_equal(containers(h), 0);
        client_ask(h, &c, "lease-not-found", "lease.drain", NULL);
}

/* ---- the queue ---- */

static void first_come_first_served(void **state) {
        Host *h = *state;
        Client a, b;

        client_new(h, &a, "a");
        client_new(h, &b, "b");
        client_hold(h, &a, "holds", 3);
        json_decref(client_ask(h, &b, NULL, "reservation.acquire", wish("large", 2)));
        json_decref(client_ask(h, &a, NULL, "reservation.acquire", wish("small", 0.5)));
        assert_state(h, &b, "large", "queued");
        assert_state(h, &a, "small", "queued"); /* it would fit, but is not first */
        client_ask(h, &b, "reservation-not-found", "reservation.get", about("small"));
        /* the head goes: the next one is let in at once */
        json_decref(client_ask(h, &b, NULL, "reservation.cancel", about("large")));
        client_ask(h, &b, "reservation-not-found", "reservation.get", about("large"));
        wait_for_state(h, &a, "small", "granted");
        client_ask(h, &a, "reservation-state", "reservation.cancel", about("small"));
        /* there is room, but no slot */
        json_decref(client_ask(h, &b, NULL, "reservation.acquire", wish("third", 0.5)));
        assert_state(h, &b, "third", "queued");
        release(h, &a, "holds");
        wait_for_state(h, &b, "third", "granted");
        drain(h, &a, "draining");
        drain(h, &b, "draining");
        host_wait_idle(h);
}

/* What is being verified is spoken for, though nothing of it is in the ledger yet. */
static void two_at_once_do_not_oversell(void **state) {
        CLEANUP(json_decrefp) json_t *used = NULL;
        Host *h = *state;
        char one[32], two[32];
        Client c;

        client_new(h, &c, "c");
        stage_rules(&h->stage, "broker", "verify * delay=500");
        ask_and_leave(h, client_request(&c, "reservation.acquire", wish("one", 3)));
        json_decref(client_ask(h, &c, NULL, "reservation.acquire", wish("two", 3)));
        json_decref(client_ask(h, &c, NULL, "reservation.acquire", wish("three", 1)));
        /* the first two may have arrived in any order; just one of them fits */
        for (int i = 0; i < HOST_PATIENCE_SEC * 20; i++) {
                state_of(h, &c, "one", one);
                state_of(h, &c, "two", two);
                if (!strcmp(one, "granted") || !strcmp(two, "granted"))
                        break;
                usleep(50000);
        }
        usleep(1500000); /* time enough for a wrong grant */
        state_of(h, &c, "one", one);
        state_of(h, &c, "two", two);
        assert_int_equal(!strcmp(one, "granted") + !strcmp(two, "granted"), 1);
        used = host_status(h);
        assert_true(json_number_value(json_object_get(json_object_get(used, "used"), "cpus")) <= 4);
        drain(h, &c, "draining");
        host_wait_idle(h);
}

static void releasing_what_waits_is_cancelling(void **state) {
        Host *h = *state;
        Client c;

        client_new(h, &c, "c");
        client_hold(h, &c, "holds", 4);
        json_decref(client_ask(h, &c, NULL, "reservation.acquire", wish("waits", 4)));
        release(h, &c, "waits");
        client_ask(h, &c, "reservation-not-found", "reservation.get", about("waits"));
        release(h, &c, "holds");
        drain(h, &c, "recovered");
        host_wait_idle(h);
}

static void builds_need_no_slot(void **state) {
        Host *h = *state;
        CLEANUP(json_decrefp) json_t *record = NULL;
        json_t *build;
        Client c;

        client_new(h, &c, "c");
        build = wish("build", 0);
        json_object_set_new(build, "reservationKind", json_string("build"));
        json_object_set_new(json_object_get(build, "resources"), "containers", json_integer(0));
        record = client_ask(h, &c, NULL, "reservation.acquire", build);
        assert_string_equal(text_of(record, "state"), "granted");
        assert_null(json_object_get(record, "slotId"));
        client_ask(h, &c, "control-create-unimplemented", "reservation.commit", about("build"));
        client_ask(h,
                   &c,
                   "reservation-state",
                   "container.create",
                   create_of("build", plain_create()));
        release(h, &c, "build");
        drain(h, &c, "recovered");
        host_wait_idle(h);
}

/* ---- runners that die ---- */

static void a_silent_runner_loses_all_its_siblings_nothing(void **state) {
        CLEANUP(json_decrefp) json_t *status = NULL;
        Host *h = *state;
        Client alive, dead;

        client_new(h, &alive, "alive");
        client_new(h, &dead, "dead");
        client_hold(h, &alive, "kept", 1);
        create(h, &alive, "kept");
        client_hold(h, &dead, "lost", 1);
        create(h, &dead, "lost");
        stage_file(&h->stage, "slot-0002/layer");
        json_decref(client_ask(h, &alive, NULL, "reservation.acquire", wish("next", 1)));
        assert_state(h, &alive, "next", "queued");
        /* asking is a sign of life; the dead one gives none */
        wait_for_state(h, &alive, "next", "granted");
        assert_false(stage_has_file(&h->stage, "slot-0002/layer"));
        assert_int_equal(containers(h), 1);
        assert_state(h, &alive, "kept", "committed");
        status = host_status(h);
        assert_null(record_of(status, "leases", "invocationId", "dead"));
        assert_null(record_of(status, "reservations", "reservationId", "lost"));
        /* and now this one falls silent, too */
        host_wait_idle(h);
        assert_int_equal(containers(h), 0);
}

static void a_runner_that_leaves_in_the_middle(void **state) {
        Host *h = *state;
        Client c;

        client_new(h, &c, "c");
        stage_rules(&h->stage, "engine", "POST /containers/create delay=300");
        stage_rules(&h->stage, "broker", "verify * delay=300");
        ask_and_leave(h, client_request(&c, "reservation.acquire", wish("one", 1)));
        wait_for_state(h, &c, "one", "granted");
        ask_and_leave(h, client_request(&c, "container.create", create_of("one", plain_create())));
        host_wait_idle(h);
        assert_int_equal(containers(h), 0);
}

/* ---- a watchdog that dies ---- */

static void a_restart_keeps_what_was_told(void **state) {
        Host *h = *state;
        CLEANUP(json_decrefp) json_t *before = NULL, *after = NULL;
        Client c;

        client_new(h, &c, "c");
        client_hold(h, &c, "one", 1);
        create(h, &c, "one");
        json_decref(client_ask(h, &c, NULL, "reservation.acquire", wish("two", 4)));
        before = client_ask(h, &c, NULL, "reservation.get", about("one"));
        for (int i = 0; i < 3; i++) {
                host_stop(h, i == 2 ? SIGTERM : SIGKILL);
                host_start(h);
                host_wait_open(h);
                json_decref(client_ask(h, &c, NULL, "lease.heartbeat", NULL));
                json_decref(after);
                after = client_ask(h, &c, NULL, "reservation.get", about("one"));
                assert_true(json_equal(before, after));
                assert_state(h, &c, "two", "queued");
        }
        assert_int_equal(containers(h), 1);
        release(h, &c, "one");
        wait_for_state(h, &c, "two", "granted");
        drain(h, &c, "draining");
        host_wait_idle(h);
}

/* SIGKILL at some moment of acquire, create, release and drain, again and again: the client asks
 * once more for what it wanted, and in the end nothing is there twice or left over. */
static void death_at_many_moments(void **state) {
        Host *h = *state;
        Client c;

        stage_rules(&h->stage, "engine", "POST * delay=40\nDELETE * delay=40");
        stage_rules(&h->stage, "broker", "* * delay=40");
        for (unsigned i = 0; i < 24; i++) {
                char lease[32];

                snprintf(lease, sizeof(lease), "lease-%u", i);
                client_new(h, &c, lease);
                if (i % 4 > 0)
                        client_hold(h, &c, "one", 1);
                if (i % 4 > 1)
                        create(h, &c, "one");
                ask_and_leave(h,
                              i % 4 == 0 ? client_request(&c, "reservation.acquire", wish("one", 1))
                                              : i % 4 == 1
                                              ? client_request(&c,
                                                               "container.create",
                                                               create_of("one", plain_create()))
                                              : i % 4 == 2
                                              ? client_request(&c,
                                                               "reservation.release",
                                                               about("one"))
                                              : client_request(&c, "lease.drain", NULL));
                usleep(i / 4 * 35000);
                host_stop(h, SIGKILL);
                host_start(h);
                host_wait_open(h);
                if (i % 4 == 1) {
                        /* a retry finds what the first try left */
                        create(h, &c, "one");
                        assert_int_equal(containers(h), 1);
                }
                end_lease(h, &c);
                host_wait_idle(h);
                assert_int_equal(containers(h), 0);
                assert_int_equal(stage_count(&h->stage, "/networks"), 0);
        }
}

/* ---- a broker that fails ---- */

static void a_slot_that_does_not_verify_is_passed_over(void **state) {
        CLEANUP(json_decrefp) json_t *record = NULL, *status = NULL;
        const json_t *slot;
        Host *h = *state;
        char path[200];
        Client c;

        stage_file(&h->stage, "slot-0001/in-use");
        client_new(h, &c, "c");
        record = client_ask(h, &c, NULL, "reservation.acquire", wish("one", 1));
        assert_string_equal(text_of(record, "state"), "granted");
        assert_string_equal(text_of(record, "slotId"), "slot-0002");
        status = host_status(h);
        slot = record_of(status, "slots", "slotId", "slot-0001");
        assert_string_equal(text_of(slot, "state"), "quarantined");
        assert_string_equal(text_of(slot, "quarantineReason"), "the slot is in use");
        assert_int_equal(json_array_size(json_object_get(status, "degraded")), 1);
        /* trouble with one slot closes nothing */
        assert_true(json_is_true(json_object_get(status, "admissionOpen")));
        release(h, &c, "one");
        drain(h, &c, "recovered");
        /* its holder goes, and so does the quarantine */
        snprintf(path, sizeof(path), "%s/slots/slot-0001/in-use", h->stage.dir);
        assert_int_equal(unlink(path), 0);
        host_wait_idle(h);
}

static void a_broker_that_is_away(void **state) {
        CLEANUP(json_decrefp) json_t *record = NULL, *status = NULL;
        Host *h = *state;
        Client c;

        stage_stop_broker(&h->stage);
        client_new(h, &c, "c");
        record = client_ask(h, &c, NULL, "reservation.acquire", wish("one", 1));
        assert_string_equal(text_of(record, "state"), "queued");
        status = host_status(h);
        assert_int_equal(json_array_size(json_object_get(status, "degraded")), 1);
        assert_int_equal(json_integer_value(json_object_get(status, "availableQuotaSlots")),
                         STAGE_SLOTS);
        stage_start_broker(&h->stage);
        wait_for_state(h, &c, "one", "granted");
        drain(h, &c, "draining");
        host_wait_idle(h);
}

/* Trouble that nobody is waiting behind any more is no trouble. */
static void a_broker_that_nobody_needs(void **state) {
        Host *h = *state;
        Client c;

        stage_stop_broker(&h->stage);
        client_new(h, &c, "c");
        json_decref(client_ask(h, &c, NULL, "reservation.acquire", wish("one", 1)));
        drain(h, &c, "recovered");
        host_wait_idle(h);
}

static void a_broker_that_hangs_delays_nobody_else(void **state) {
        CLEANUP(json_decrefp) json_t *record = NULL, *status = NULL;
        Host *h = *state;
        uint64_t t;
        Client c;

        stage_rules(&h->stage, "broker", "verify * times=1 delay=8000");
        client_new(h, &c, "c");
        ask_and_leave(h, client_request(&c, "reservation.acquire", wish("slow", 1)));
        t = boottime_usec();
        do {
                json_decref(status);
                json_decref(client_ask(h, &c, NULL, "lease.heartbeat", NULL));
                status = host_status(h);
                assert_true(boottime_usec() - t < HOST_PATIENCE_SEC * USEC_PER_SEC);
        } while (!record_of(status, "slots", "state", "preparing"));
        /* the scripted broker serves one at a time; who must wait for it hears "queued" in time */
        record = client_ask(h, &c, NULL, "reservation.acquire", wish("behind", 1));
        assert_string_equal(text_of(record, "state"), "queued");
        assert_true(boottime_usec() - t < 8000 * USEC_PER_MSEC);
        wait_for_state(h, &c, "slow", "granted");
        wait_for_state(h, &c, "behind", "granted");
        drain(h, &c, "draining");
        host_wait_idle(h);
}

/* ---- an Engine that fails ---- */

static void a_restarted_daemon_is_another_generation(void **state) {
        CLEANUP(json_decrefp) json_t *before = host_status(*state), *after = NULL;
        Host *h = *state;
        Client c, d;

        client_new(h, &c, "c");
        client_hold(h, &c, "one", 1);
        create(h, &c, "one");
        kill(h->stage.engine, SIGHUP);
        for (int i = 0; i < HOST_PATIENCE_SEC * 50; i++) {
                json_decref(after);
                after = host_status(h);
                if (strcmp(text_of(after, "generation"), text_of(before, "generation")))
                        break;
                usleep(20000);
        }
        assert_string_not_equal(text_of(after, "generation"), text_of(before, "generation"));
        host_ask(h,
                 "attestation-changed",
                 json_pack("{s:s, s:s, s:s, s:s}",
                           "kind",
                           "lease.create",
                           "profileId",
                           h->profile_id,
                           "invocationId",
                           "d",
                           "daemonGeneration",
                           text_of(before, "generation")));
        host_wait_idle(h);
        assert_int_equal(containers(h), 0);
        client_new(h, &d, "d");
        client_hold(h, &d, "one", 1);
        drain(h, &d, "draining");
        host_wait_idle(h);
}

static void a_daemon_that_is_away_closes_admission(void **state) {
        CLEANUP(json_decrefp) json_t *status = NULL;
        Host *h = *state;
        Client c;

        client_new(h, &c, "c");
        stage_stop_engine(&h->stage);
        for (int i = 0; i < HOST_PATIENCE_SEC * 50; i++) {
                json_decref(status);
                status = host_status(h);
                if (json_is_false(json_object_get(status, "admissionOpen")))
                        break;
                usleep(20000);
        }
        assert_true(json_is_false(json_object_get(status, "admissionOpen")));
        assert_true(json_array_size(json_object_get(status, "degraded")) > 0);
        host_ask(h,
                 "admission-closed",
                 json_pack("{s:s, s:s, s:s, s:s}",
                           "kind",
                           "lease.create",
                           "profileId",
                           h->profile_id,
                           "invocationId",
                           "d",
                           "daemonGeneration",
                           text_of(status, "generation")));
        json_decref(client_ask(h, &c, NULL, "lease.heartbeat", NULL));
        stage_start_engine(&h->stage);
        host_wait_open(h);
        host_wait_idle(h); /* the lease was of another generation */
}

static void a_hanging_create_delays_nobody_else(void **state) {
        Host *h = *state;
        Client c, other;

        client_new(h, &c, "c");
        client_new(h, &other, "other");
        client_hold(h, &c, "one", 1);
        stage_rules(&h->stage, "engine", "POST /containers/create times=1 hang");
        ask_and_leave(h, client_request(&c, "container.create", create_of("one", plain_create())));
        wait_for_state(h, &c, "one", "provisioning");
        client_hold(h, &other, "two", 1);
        create(h, &other, "two");
        json_decref(client_ask(h, &other, NULL, "lease.heartbeat", NULL));
        release(h, &other, "two");
        assert_state(h, &c, "one", "provisioning");
        host_stop(h, SIGKILL);
        host_start(h);
        host_wait_open(h);
        create(h, &c, "one");
        drain(h, &c, "draining");
        drain(h, &other, "recovered");
        host_wait_idle(h);
}

/* The drain waits for a create that hangs; then the watchdog dies, with the release not begun. */
static void a_drain_that_could_not_begin(void **state) {
        Host *h = *state;
        Client c;

        client_new(h, &c, "c");
        client_hold(h, &c, "one", 1);
        stage_rules(&h->stage, "engine", "POST /containers/create times=1 hang");
        ask_and_leave(h, client_request(&c, "container.create", create_of("one", plain_create())));
        wait_for_state(h, &c, "one", "provisioning");
        drain(h, &c, "draining");
        host_stop(h, SIGKILL);
        host_start(h);
        host_wait_open(h);
        host_wait_idle(h);
        assert_int_equal(containers(h), 0);
        assert_int_equal(stage_count(&h->stage, "/networks"), 0);
}

/* ---- what does not start ---- */

static void starts_that_are_refused(void **state) {
        CLEANUP(freep) char *busy = NULL, *conf = NULL, *descriptor = NULL;
        Host *h = *state;

        assert_int_equal(host_refuses(h, &busy), 1);
        assert_non_null(strstr(busy, "another dindhost-watchdog"));
        host_stop(h, SIGTERM);
        host_configure(h, "LeaseGrace=soon\n");
        assert_int_equal(host_refuses(h, &conf), 1);
        assert_non_null(strstr(conf, "LeaseGrace"));
        host_configure(h, CALM);
        assert_int_equal(rename(h->descriptor, h->conf), 0);
        host_configure(h, CALM);
        assert_int_equal(host_refuses(h, &descriptor), 1);
        assert_non_null(strstr(descriptor, "profile apply"));
}

int main(void) {
#define CALMLY(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
        const struct CMUnitTest tests[] = {
                CALMLY(a_whole_life),
                CALMLY(a_drain_gives_all_back),
                CALMLY(first_come_first_served),
                CALMLY(two_at_once_do_not_oversell),
                CALMLY(releasing_what_waits_is_cancelling),
                CALMLY(builds_need_no_slot),
                cmocka_unit_test_setup_teardown(a_silent_runner_loses_all_its_siblings_nothing,
                                                set_up_impatient,
                                                tear_down),
                cmocka_unit_test_setup_teardown(
                                a_runner_that_leaves_in_the_middle, set_up_impatient, tear_down),
                CALMLY(a_restart_keeps_what_was_told),
                CALMLY(death_at_many_moments),
                CALMLY(a_slot_that_does_not_verify_is_passed_over),
                CALMLY(a_broker_that_is_away),
                CALMLY(a_broker_that_nobody_needs),
                CALMLY(a_broker_that_hangs_delays_nobody_else),
                CALMLY(a_restarted_daemon_is_another_generation),
                CALMLY(a_daemon_that_is_away_closes_admission),
                CALMLY(a_hanging_create_delays_nobody_else),
                CALMLY(a_drain_that_could_not_begin),
                CALMLY(starts_that_are_refused),
        };

        return RUN_TAP(tests);
}
