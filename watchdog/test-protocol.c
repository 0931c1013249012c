/* SPDX-License-Identifier: MIT */
/*
 * The control protocol as clients see it: replies field by field, and for everything that is wrong
 * with a request its code, in the protocol's order of checks. What is refused changes nothing.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "watchdog/test-host.h"

static Host host;

static int set_up(void **state) {
        host_new(&host, "LeaseGrace=10min\nStopTimeout=1s\n");
        *state = &host;
        return 0;
}

static int set_up_narrow(void **state) {
        host_new(&host,
                 "LeaseGrace=10min\nStopTimeout=1s\nClientTimeout=3s\nConnectionsMax=12\n"
                 "ConnectionsPerUserMax=8\nLeasesPerUserMax=2\nQueueMax=2\n");
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

static void assert_keys(const json_t *o, const char *expected) {
        const char *key;
        json_t *value;
        size_t n = 0;

        json_object_foreach((json_t *) o, key, value) {
                CLEANUP(freep) char *word = text_format(" %s ", key);

                if (!strstr(expected, word))
                        fail_msg("key '%s' should not be there", key);
                n++;
        }
        for (const char *p = expected; (p = strchr(p, ' ')) && p[1]; p++)
                n--;
        if (n != 0)
                fail_msg("keys are missing of:%s", expected);
}

/* The record, as far as it tells of changes. */
static json_t *lasting_state(Host *h) {
        json_t *status = host_status(h), *lease;
        size_t i;

        json_array_foreach(json_object_get(status, "leases"), i, lease)
                        json_object_del(lease, "lastHeartbeatAt");
        return status;
}

static void assert_code(Host *h, const char *expected, const char *line, size_t n) {
        char code[64];

        host_code(h, line, n, code);
        if (strcmp(code, expected))
                fail_msg("%s, wanted %s: %.200s", code, expected, line);
}

static json_t *parse(const char *text) {
        json_t *v = json_loads(text, JSON_DECODE_ANY, NULL);

        if (!v)
                fail_msg("the test's own JSON: %s", text);
        return v;
}

/* ---- lines ---- */

static void lines_of_every_kind(void **state) {
        static const struct {
                const char *line, *code;
        } table[] = {
                { "{\"kind\":\"status\"}", "request-invalid" }, /* no LF */
                { "\n", "internal" },
                { "   \n", "internal" },
                { "not json\n", "internal" },
                { "{\"kind\":\"status\"\n", "internal" },
                { "{\"kind\":\"status\"} {}\n", "internal" },
                { "{\"kind\":\"status\",\"kind\":\"status\"}\n", "internal" },
                { "{\"kind\":\"status\",\"x\":NaN}\n", "internal" },
                { "{\"kind\":\"status\",\"x\":1e999}\n", "internal" },
                { "{\"kind\":\"status\",\"x\":99999999999999999999}\n", "internal" },
                { "{\"kind\":\"status\",\"x\":\"\xff\xfe\"}\n", "internal" },
                { "{'kind':'status'}\n", "internal" },
                { "[]\n", "request-invalid" },
                { "[{\"kind\":\"status\"}]\n", "request-invalid" },
                { "7\n", "request-invalid" },
                { "null\n", "request-invalid" },
                { "\"status\"\n", "request-invalid" },
                { "{}\n", "lease-not-found" },
                { "{\"kind\":7}\n", "lease-not-found" },
                { "{\"kind\":null}\n", "lease-not-found" },
                { "{\"kind\":[\"status\"]}\n", "lease-not-found" },
                { "{\"kind\":\"Status\"}\n", "lease-not-found" },
                { "{\"kind\":\"status\\u0000\"}\n", "lease-not-found" },
                { "{\"kind\":\"status\"}\r\n", "ok" },
                { "{\"kind\":\"status\"}\n{\"kind\":\"nonsense\"}\nmore", "ok" },
                { " {\"kind\" : \"status\" , \"more\" : {} }\n", "ok" },
        };
        CLEANUP(json_decrefp) json_t *before = lasting_state(*state), *after = NULL;
        CLEANUP(freep) char *silent = host_exchange(*state, "", 0, true);
        Host *h = *state;

        for (size_t i = 0; i < N_ELEMENTS(table); i++)
                assert_code(h, table[i].code, table[i].line, strlen(table[i].line));
        assert_code(h, "internal", "\0\0\0\n", 4);
        assert_string_equal(silent, "");
        after = lasting_state(h);
        assert_true(json_equal(before, after));
}

static void lines_of_every_length(void **state) {
        static const char head[] = "{\"kind\":\"status\",\"x\":\"", tail[] = "\"}\n";
        const size_t max = 1048576;
        CLEANUP(freep) char *line = malloc(3 * max);
        Host *h = *state;

        assert_non_null(line);
        memset(line, 'x', 3 * max);
        memcpy(line, head, strlen(head));
        memcpy(line + max - strlen(tail), tail, strlen(tail));
        assert_code(h, "ok", line, max);
        memset(line + max - strlen(tail), 'x', strlen(tail));
        memcpy(line + max + 1 - strlen(tail), tail, strlen(tail));
        assert_code(h, "request-invalid", line, max + 1);
        assert_code(h, "request-invalid", line, 3 * max);
        for (size_t i = 0; i < 4; i++) {
                memset(line, "[{\"\0"[i], 3 * max);
                assert_code(h, "request-invalid", line, 3 * max);
                line[max - 1] = '\n';
                assert_code(h, "internal", line, max);
        }
        /* nesting far below the length limit */
        for (size_t depth = 10; depth <= 100000; depth *= 10) {
                size_t n = (size_t) sprintf(line, "{\"kind\":\"status\",\"x\":");

                memset(line + n, '[', depth);
                memset(line + n + depth, ']', depth);
                strcpy(line + n + 2 * depth, "}\n");
                assert_code(h, depth == 10 ? "ok" : "internal", line, n + 2 * depth + 2);
        }
}

/* A client that does not close its write side, or sends on, gets its reply and then the end. */
static void peers_of_every_manner(void **state) {
        static const char line[] = "{\"kind\":\"status\"}\n";
        CLEANUP(freep) char *open = NULL, *more = NULL, *rest = calloc(1, 1 << 20);
        CLEANUP(json_decrefp) json_t *status = NULL;
        Host *h = *state;
        int fd;

        open = host_exchange(h, line, strlen(line), false);
        assert_int_equal(strncmp(open, "{\"ok\":true", 10), 0);
        memcpy(rest, line, strlen(line));
        for (size_t n = 16384; n <= 1 << 20; n *= 64) {
                free(more);
                more = host_exchange(h, rest, n, false);
                assert_int_equal(strncmp(more, "{\"ok\":true", 10), 0);
        }
        /* gone in the middle of a line, and before the reply */
        fd = host_connect(h);
        assert_int_equal(fd_write_all(fd, line, 5), 0);
        close(fd);
        fd = host_connect(h);
        assert_int_equal(fd_write_all(fd, line, strlen(line)), 0);
        close(fd);
        /* byte by byte */
        fd = host_connect(h);
        for (size_t i = 0; i < strlen(line); i++) {
                assert_int_equal(fd_write_all(fd, line + i, 1), 0);
                usleep(1000);
        }
        assert_int_equal(recv(fd, rest, 10, MSG_WAITALL), 10);
        assert_int_equal(strncmp(rest, "{\"ok\":true", 10), 0);
        close(fd);
        status = host_status(h);
        assert_non_null(status);
}

/* ---- challenge, status ---- */

static void challenge_fields(void **state) {
        Host *h = *state;
        CLEANUP(json_decrefp) json_t *v = NULL, *without = NULL, *status = host_status(h);

        v = host_ask(h, NULL, parse("{\"kind\":\"challenge\",\"clientNonce\":{\"any\":[1]}}"));
        assert_keys(v,
                    " protocol schemaVersion profileId descriptorDigest hostMachineIdentity "
                    "backendMachineIdentity daemonGeneration clientNonce admissionOpen ");
        assert_string_equal(text_of(v, "protocol"), "niceeval-docker-profile-control/v1");
        assert_int_equal(json_integer_value(json_object_get(v, "schemaVersion")), 1);
        assert_string_equal(text_of(v, "profileId"), h->profile_id);
        assert_int_equal(strlen(text_of(v, "descriptorDigest")), 71);
        assert_string_equal(text_of(v, "hostMachineIdentity"), "machine-of-the-test");
        assert_string_equal(text_of(v, "daemonGeneration"), text_of(status, "generation"));
        assert_int_equal(strlen(text_of(v, "daemonGeneration")), 32);
        assert_true(json_is_true(json_object_get(v, "admissionOpen")));
        assert_true(json_is_object(json_object_get(v, "clientNonce")));
        without = host_ask(h, NULL, parse("{\"kind\":\"challenge\"}"));
        assert_true(json_is_null(json_object_get(without, "clientNonce")));
}

static void status_fields_and_what_it_hides(void **state) {
        Host *h = *state;
        CLEANUP(json_decrefp) json_t *record = NULL, *status = NULL;
        CLEANUP(freep) char *text = NULL;
        json_t *v;
        Client c;

        client_new(h, &c, "invocation");
        record = client_ask(h, &c, NULL, "reservation.acquire", wish("one", 2.5));
        assert_keys(record,
                    " reservationId invocationId profileId provisionToken kind resources state "
                    "createdAt grantedAt slotId slotGeneration ");
        assert_int_equal(strlen(text_of(record, "provisionToken")), 32);
        assert_int_equal(strlen(text_of(record, "createdAt")),
                         strlen("2026-01-01T00:00:00.000000Z"));
        assert_string_equal(text_of(record, "kind"), "container");
        json_decref(client_ask(h, &c, NULL, "container.create", create_of("one", plain_create())));
        json_decref(client_ask(h, &c, NULL, "reservation.acquire", wish("waits", 2)));
        status = host_status(h);
        assert_keys(status,
                    " profileId generation admissionOpen used capacity leases reservations slots "
                    "queue availableQuotaSlots degraded journal dindhost ");
        v = json_array_get(json_object_get(status, "leases"), 0);
        assert_keys(v, " invocationId profileId daemonGeneration createdAt lastHeartbeatAt state ");
        v = json_array_get(json_object_get(status, "reservations"), 0);
        assert_keys(v,
                    " reservationId invocationId profileId kind resources state createdAt grantedAt "
                    "slotId slotGeneration attemptId createSpecDigest networkId containerId ");
        v = json_array_get(json_object_get(status, "slots"), 0);
        assert_keys(v, " slotId limitBytes generation state reservationId ");
        v = json_array_get(json_object_get(status, "queue"), 0);
        assert_keys(v, " reservationId invocationId ");
        assert_string_equal(text_of(v, "reservationId"), "waits");
        v = json_object_get(status, "used");
        assert_true(json_number_value(json_object_get(v, "cpus")) == 2.5);
        assert_int_equal(json_integer_value(json_object_get(v, "containers")), 1);
        assert_int_equal(json_integer_value(json_object_get(v, "builds")), 0);
        assert_keys(json_object_get(status, "capacity"),
                    " cpus memoryBytes pids containers builds ephemeralDiskBytes ");
        v = json_object_get(status, "journal");
        assert_string_equal(text_of(v, "state"), "healthy");
        text = json_dumps(status, 0);
        assert_null(strstr(text, text_of(record, "provisionToken")));
        assert_null(strstr(text, c.token));
        assert_null(strstr(text, "oken"));
        assert_null(strstr(text, "\"/"));
        assert_null(strstr(text, h->stage.dir));
}

/* ---- leases ---- */

static json_t *lease_request(const char *profile, const char *generation, json_t *id) {
        return json_pack("{s:s, s:s*, s:s*, s:o*}",
                         "kind",
                         "lease.create",
                         "profileId",
                         profile,
                         "daemonGeneration",
                         generation,
                         "invocationId",
                         id);
}

static void leases(void **state) {
        Host *h = *state;
        CLEANUP(json_decrefp) json_t *status = host_status(h), *made = NULL;
        CLEANUP(freep) char *long_id = malloc(514);
        const char *g = text_of(status, "generation");
        Client c, other;

        memset(long_id, 'x', 513);
        long_id[513] = 0;
        host_ask(h, "attestation-changed", lease_request(NULL, g, json_string("a")));
        host_ask(h, "attestation-changed", lease_request("other", g, json_string("a")));
        host_ask(h, "attestation-changed", lease_request(h->profile_id, NULL, json_string("a")));
        host_ask(h, "attestation-changed", lease_request(h->profile_id, "old", json_string("")));
        host_ask(h, "lease-invalid", lease_request(h->profile_id, g, NULL));
        host_ask(h, "lease-invalid", lease_request(h->profile_id, g, json_string("")));
        host_ask(h, "lease-invalid", lease_request(h->profile_id, g, json_integer(7)));
        host_ask(h, "lease-invalid", lease_request(h->profile_id, g, json_string(long_id)));
        made = host_ask(h, NULL, lease_request(h->profile_id, g, json_string("\x01 \xc3\xa9 \"'")));
        assert_keys(made, " invocationId leaseToken daemonGeneration ");
        assert_int_equal(strlen(text_of(made, "leaseToken")), 43);
        assert_string_equal(text_of(made, "invocationId"), "\x01 \xc3\xa9 \"'");
        client_new(h, &c, "mine");
        client_new(h, &other, "other");
        host_ask(h, "lease-invalid", lease_request(h->profile_id, g, json_string("mine")));
        json_decref(made);
        made = client_ask(h, &c, NULL, "lease.heartbeat", NULL);
        assert_keys(made, " state ");
        assert_string_equal(text_of(made, "state"), "active");
        client_ask(h,
                   &c,
                   "lease-not-found",
                   "lease.heartbeat",
                   parse("{\"invocationId\":\"none\"}"));
        client_ask(h, &c, "lease-not-found", "lease.heartbeat", parse("{\"invocationId\":7}"));
        client_ask(h, &c, "lease-auth-failed", "lease.heartbeat", parse("{\"leaseToken\":\"\"}"));
        client_ask(h, &c, "lease-auth-failed", "lease.heartbeat", parse("{\"leaseToken\":null}"));
        client_ask(h,
                   &c,
                   "lease-auth-failed",
                   "lease.heartbeat",
                   parse("{\"leaseToken\":[\"a\"]}"));
        client_ask(h,
                   &c,
                   "lease-auth-failed",
                   "lease.drain",
                   json_pack("{s:s}", "leaseToken", other.token));
}

/* The frame's order: lease, token, active, reservation, and only then whether the kind is one. */
static void unknown_kinds(void **state) {
        static const char *const kinds[] = {
                "nonsense",    "build.create",     "setup-prefix.capture",
                "lease.steal", "reservation.get ", ""
        };
        Host *h = *state;
        Client c;

        client_new(h, &c, "c");
        client_hold(h, &c, "one", 1);
        for (size_t i = 0; i < N_ELEMENTS(kinds); i++) {
                host_ask(h, "lease-not-found", json_pack("{s:s}", "kind", kinds[i]));
                client_ask(h, &c, "lease-auth-failed", kinds[i], parse("{\"leaseToken\":\"x\"}"));
                client_ask(h, &c, "reservation-not-found", kinds[i], NULL);
                client_ask(h,
                           &c,
                           "reservation-not-found",
                           kinds[i],
                           parse("{\"reservationId\":{}}"));
                client_ask(h,
                           &c,
                           "request-unknown",
                           kinds[i],
                           parse("{\"reservationId\":\"one\"}"));
        }
}

static void others_cannot_touch_it(void **state) {
        static const char *const kinds[] = { "reservation.get",
                                             "reservation.cancel",
                                             "reservation.release",
                                             "reservation.commit",
                                             "container.create" };
        CLEANUP(json_decrefp) json_t *before = NULL, *after = NULL;
        Host *h = *state;
        Client owner, thief;

        client_new(h, &owner, "owner");
        client_new(h, &thief, "thief");
        client_hold(h, &owner, "one", 1);
        before = lasting_state(h);
        for (size_t i = 0; i < N_ELEMENTS(kinds); i++) {
                client_ask(h,
                           &thief,
                           "reservation-not-found",
                           kinds[i],
                           create_of("one", plain_create()));
                client_ask(h,
                           &thief,
                           "lease-auth-failed",
                           kinds[i],
                           parse("{\"invocationId\":\"owner\",\"reservationId\":\"one\"}"));
        }
        client_ask(h, &thief, "reservation-exists", "reservation.acquire", wish("one", 1));
        after = lasting_state(h);
        assert_true(json_equal(before, after));
}

/* ---- acquire ---- */

static void wishes_that_are_refused(void **state) {
#define BAD "reservation-invalid"
#define MUCH "reservation-exceeds-capacity"
        /* what is put into a request that is fine otherwise; "-" takes the key away */
        static const struct {
                const char *key, *value, *code;
        } table[] = {
                { "cpus", "-", BAD },
                { "cpus", "null", BAD },
                { "cpus", "\"1\"", BAD },
                { "cpus", "true", BAD },
                { "cpus", "[1]", BAD },
                { "cpus", "0", BAD },
                { "cpus", "-0.0", BAD },
                { "cpus", "-1", MUCH },
                { "cpus", "4.001", MUCH },
                { "cpus", "1e308", MUCH },
                { "cpus", "0.0001", BAD },
                { "cpus", "1.0005", BAD },
                { "memoryBytes", "0", BAD },
                { "memoryBytes", "1.5", BAD },
                { "memoryBytes", "-1", MUCH },
                { "memoryBytes", "2147483649", MUCH },
                { "memoryBytes", "9007199254740993", MUCH },
                { "memoryBytes", "9223372036854775807", MUCH },
                { "memoryBytes", "false", BAD },
                { "pids", "0", BAD },
                { "pids", "1025", MUCH },
                { "pids", "0.5", BAD },
                { "containers", "0", BAD },
                { "containers", "2", BAD },
                { "containers", "3", MUCH },
                { "ephemeralDiskBytes", "0", BAD },
                { "ephemeralDiskBytes", "1073741825", MUCH }, /* than one slot */
                { "ephemeralDiskBytes", "2147483649", MUCH },
                { "more", "1", BAD },
                { "memorySwapBytes", "0", BAD },
                /* the first field that is wrong, in the order of the five, decides */
        };
        CLEANUP(json_decrefp) json_t *before = NULL, *after = NULL;
        Host *h = *state;
        Client c;

        client_new(h, &c, "c");
        before = lasting_state(h);
        for (size_t i = 0; i < N_ELEMENTS(table); i++) {
                json_t *request = wish("one", 1);
                json_t *resources = json_object_get(request, "resources");

                if (!strcmp(table[i].value, "-"))
                        json_object_del(resources, table[i].key);
                else
                        json_object_set_new(resources, table[i].key, parse(table[i].value));
                client_ask(h, &c, table[i].code, "reservation.acquire", request);
        }
        client_ask(h, &c, BAD, "reservation.acquire", NULL);
        client_ask(h, &c, BAD, "reservation.acquire", parse("{\"reservationId\":7}"));
        for (size_t i = 0; i < 3; i++) {
                static const char *const values[] = { "null", "[]", "\"x\"" };
                json_t *request = wish("one", 1);

                json_object_set_new(request, "resources", parse(values[i]));
                client_ask(h, &c, BAD, "reservation.acquire", request);
                request = wish("one", 1);
                json_object_set_new(request, "reservationKind", parse(values[i]));
                client_ask(h, &c, BAD, "reservation.acquire", request);
                request = wish("one", 1);
                json_object_set_new(request,
                                    "reservationId",
                                    i == 2 ? json_integer(3) : parse(values[i]));
                client_ask(h, &c, BAD, "reservation.acquire", request);
        }
        after = lasting_state(h);
        assert_true(json_equal(before, after));
}

static void wishes_that_are_fine(void **state) {
        static const struct {
                const char *id;
                double cpus;
        } table[] = {
                { "", 1 }, { "least", 0.001 }, { "tenth", 0.1 }, { "most", 4 }, { "odd", 3.999 },
        };
        Host *h = *state;
        Client c;

        client_new(h, &c, "c");
        for (size_t i = 0; i < N_ELEMENTS(table); i++) {
                CLEANUP(json_decrefp) json_t *status = NULL, *got = NULL;

                client_hold(h, &c, table[i].id, table[i].cpus);
                status = host_status(h);
                assert_true(json_number_value(json_object_get(json_object_get(status, "used"),
                                                              "cpus")) == table[i].cpus);
                got = client_ask(h,
                                 &c,
                                 NULL,
                                 "reservation.get",
                                 json_pack("{s:s}", "reservationId", table[i].id));
                assert_true(json_number_value(json_object_get(json_object_get(got, "resources"),
                                                              "cpus")) == table[i].cpus);
                json_decref(client_ask(h,
                                       &c,
                                       NULL,
                                       "reservation.release",
                                       json_pack("{s:s}", "reservationId", table[i].id)));
        }
}

/* ---- container.create ---- */

static void creates_that_are_refused(void **state) {
#define INVALID "container-create-invalid"
#define HOST "container-create-host-input"
        static const struct {
                const char *key, *value, *code;
        } table[] = {
                { "image", "-", INVALID },
                { "image", "\"\"", INVALID },
                { "image", "7", INVALID },
                { "image", "\"--volume=/:/host\"", INVALID },
                { "image", "\"-v\"", INVALID },
                { "image", "\"image --privileged\"", INVALID },
                { "attemptId", "-", INVALID },
                { "attemptId", "\"\"", INVALID },
                { "command", "-", INVALID },
                { "command", "\"sh\"", INVALID },
                { "command", "[1]", INVALID },
                { "command", "[[\"sh\"]]", INVALID },
                { "environment", "{}", INVALID },
                { "environment", "[null]", INVALID },
                { "tmpfs", "[]", INVALID },
                { "tmpfs", "{\"/tmp\":1}", INVALID },
                { "tmpfs", "{\"/\":\"rw\"}", INVALID },
                { "tmpfs", "{\"tmp\":\"rw\"}", INVALID },
                { "tmpfs", "{\"\":\"rw\"}", INVALID },
                { "tmpfs", "{\"/var/lib/docker\":\"rw\"}", INVALID },
                { "tmpfs", "{\"/var/lib/docker/\":\"rw\"}", INVALID },
                { "tmpfs", "{\"/var/lib/docker/.\":\"rw\"}", INVALID },
                { "tmpfs", "{\"//var/lib/docker\":\"rw\"}", INVALID },
                { "tmpfs", "{\"/var//lib/docker\":\"rw\"}", INVALID },
                { "tmpfs", "{\"/var/./lib/docker\":\"rw\"}", INVALID },
                { "tmpfs", "{\"/var/tmp/../lib/docker\":\"rw\"}", INVALID },
                { "tmpfs", "{\"/var/lib/docker/overlay2\":\"rw\"}", INVALID },
                { "binds", "[\"/:/host\"]", HOST },
                { "mounts", "[]", HOST },
                { "volumes", "{}", HOST },
                { "hostConfig", "{\"Privileged\":true}", HOST },
                { "devices", "[]", HOST },
                { "networkMode", "\"host\"", HOST },
                { "ports", "[]", HOST },
                { "extraHosts", "[]", HOST },
                { "HostConfig", "{}", HOST },
                { "labels", "{}", HOST },
        };
        static const char *const intents[] = {
                "{\"intent\":\"diagnostic\"}",
                "{\"intent\":\"workload\"}",
                "{\"intent\":\"other\",\"create\":{}}",
                "{\"intent\":7,\"create\":{}}",
                "{\"intent\":\"workload\",\"create\":{},\"image\":\"x\"}",
        };
        static const char *const shapes[] = { "null", "[]", "\"x\"", "7" };
        CLEANUP(json_decrefp) json_t *before = NULL, *after = NULL;
        Host *h = *state;
        Client c;

        client_new(h, &c, "c");
        client_hold(h, &c, "one", 1);
        before = lasting_state(h);
        for (size_t i = 0; i < N_ELEMENTS(table); i++) {
                json_t *create = plain_create();

                if (!strcmp(table[i].value, "-"))
                        json_object_del(create, table[i].key);
                else
                        json_object_set_new(create, table[i].key, parse(table[i].value));
                client_ask(h, &c, table[i].code, "container.create", create_of("one", create));
        }
        for (size_t i = 0; i < N_ELEMENTS(intents); i++)
                client_ask(h,
                           &c,
                           "container-create-intent-invalid",
                           "container.create",
                           create_of("one", parse(intents[i])));
        for (size_t i = 0; i < N_ELEMENTS(shapes); i++)
                client_ask(h, &c, INVALID, "container.create", create_of("one", parse(shapes[i])));
        client_ask(h, &c, INVALID, "container.create", parse("{\"reservationId\":\"one\"}"));
        after = lasting_state(h);
        assert_true(json_equal(before, after));
        assert_int_equal(stage_count(&h->stage, "/networks"), 0);
}

static void creates_in_every_state(void **state) {
        Host *h = *state;
        json_t *other = plain_create();
        Client c;

        client_new(h, &c, "c");
        client_hold(h, &c, "one", 3);
        json_decref(client_ask(h, &c, NULL, "reservation.acquire", wish("waits", 3)));
        client_ask(h,
                   &c,
                   "reservation-state",
                   "container.create",
                   create_of("waits", plain_create()));
        /* the Engine says no: the reservation stays, for another try or a release */
        stage_rules(&h->stage, "engine", "POST /containers/create times=1 fail=409");
        client_ask(h,
                   &c,
                   "container-create-failed",
                   "container.create",
                   create_of("one", plain_create()));
        json_object_set_new(other, "image", json_string("another"));
        client_ask(h,
                   &c,
                   "container-create-conflict",
                   "container.create",
                   create_of("one", json_incref(other)));
        json_decref(client_ask(h, &c, NULL, "container.create", create_of("one", plain_create())));
        client_ask(h, &c, "container-create-conflict", "container.create", create_of("one", other));
        assert_int_equal(stage_count(&h->stage, "/containers/json?all=1"), 1);
        assert_int_equal(stage_count(&h->stage, "/networks"), 1);
}

/* ---- limits ---- */

static void connections_are_bounded(void **state) {
        CLEANUP(freep) char *refused = NULL, *silent = NULL;
        Host *h = *state;
        int fds[8];

        for (size_t i = 0; i < N_ELEMENTS(fds); i++)
                assert_true((fds[i] = host_connect(h)) >= 0);
        refused = host_exchange(h, "", 0, false);
        assert_non_null(strstr(refused, "\"connection-limit\""));
        /* the silent ones are hung up on, and there is room again */
        for (size_t i = 0; i < N_ELEMENTS(fds); i++) {
                char byte;

                assert_int_equal(recv(fds[i], &byte, 1, 0), 0);
                close(fds[i]);
        }
        silent = host_exchange(h, "", 0, false);
        assert_string_equal(silent, "");
}

/* Neither who sends a byte now and then, nor who does not take its reply, lives for ever. */
static void slowness_has_an_end(void **state) {
        static const char line[] = "{\"kind\":\"status\"}\n";
        Host *h = *state;
        int slow = host_connect(h), deaf = host_connect(h), lingers = host_connect(h);
        char byte, reply[65536];
        ssize_t n;

        assert_int_equal(fd_write_all(lingers, line, strlen(line)), 0);
        assert_int_equal(fcntl(slow, F_SETFL, O_NONBLOCK), 0);
        for (int i = 0; i < HOST_PATIENCE_SEC * 10; i++) {
                json_decref(host_status(h)); /* not in anybody's way */

                (void) send(slow, "{", 1, MSG_NOSIGNAL);
                n = recv(slow, &byte, 1, 0);
                if (n == 0 || (n < 0 && errno != EAGAIN))
                        break;
                usleep(100000);
        }
        assert_true(n == 0 || errno != EAGAIN);
        close(slow);
        close(deaf);
        /* the reply, its end, and then the watchdog's patience with an open peer is over, too */
        do
                n = recv(lingers, reply, sizeof(reply), 0);
        while (n > 0);
        assert_int_equal(n, 0);
        while (send(lingers, "x", 1, MSG_NOSIGNAL) == 1)
                usleep(100000);
        assert_int_equal(errno, EPIPE);
        close(lingers);
}

static void leases_and_queue_are_bounded(void **state) {
        Host *h = *state;
        CLEANUP(json_decrefp) json_t *status = host_status(h);
        Client a, b;

        client_new(h, &a, "a");
        client_new(h, &b, "b");
        host_ask(h,
                 "lease-limit",
                 lease_request(h->profile_id, text_of(status, "generation"), json_string("c")));
        client_hold(h, &a, "holds", 4);
        json_decref(client_ask(h, &a, NULL, "reservation.acquire", wish("1", 1)));
        json_decref(client_ask(h, &b, NULL, "reservation.acquire", wish("2", 1)));
        client_ask(h, &b, "queue-limit", "reservation.acquire", wish("3", 1));
        client_ask(h, &b, "reservation-exists", "reservation.acquire", wish("2", 1));
        json_decref(client_ask(
                        h, &a, NULL, "reservation.cancel", parse("{\"reservationId\":\"1\"}")));
        json_decref(client_ask(h, &b, NULL, "reservation.acquire", wish("3", 1)));
}

int main(void) {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
#define NARROW(fn) cmocka_unit_test_setup_teardown(fn, set_up_narrow, tear_down)
        const struct CMUnitTest tests[] = {
                TEST(lines_of_every_kind),
                TEST(lines_of_every_length),
                TEST(peers_of_every_manner),
                TEST(challenge_fields),
                TEST(status_fields_and_what_it_hides),
                TEST(leases),
                TEST(unknown_kinds),
                TEST(others_cannot_touch_it),
                TEST(wishes_that_are_refused),
                TEST(wishes_that_are_fine),
                TEST(creates_that_are_refused),
                TEST(creates_in_every_state),
                NARROW(connections_are_bounded),
                NARROW(slowness_has_an_end),
                NARROW(leases_and_queue_are_bounded),
        };

        return RUN_TAP(tests);
}
