/* SPDX-License-Identifier: MIT */
/*
 * The real dindhost-watchdog on the stage of test-stage.h, and a client of its control socket
 *
 * Requests are lines on a real Unix socket; what the watchdog does is seen at the scripted Engine,
 * in the slots' folders, and in its status. A failure of the host itself aborts the test.
 */
#pragma once

#include "watchdog/test-stage.h"

#define MIB (UINT64_C(1) << 20)
#define HOST_PATIENCE_SEC 120 /* for what must happen; sanitizers on a busy machine are slow */

typedef struct Host {
        Stage stage;
        pid_t watchdog;
        char control[108], conf[128], descriptor[128];
        char *profile_id;
} Host;

/* A client's lease, as told by lease.create. */
typedef struct Client {
        char id[64], token[64];
} Client;

/* more: lines for the [Watchdog] section of the profile file. Starts everything. */
void host_new(Host *h, const char *more);
void host_done(Host *h);
/* Replaces the lines; for the next start. */
void host_configure(Host *h, const char *more);
void host_start(Host *h);
/* Ends it by this signal; returns the status of waitpid(2). */
int host_stop(Host *h, int signo);
/* Starts one that must refuse to: its exit code; *ret_output (owned by the caller) is what it said.
 */
int host_refuses(Host *h, char **ret_output);

/* Connects to the control socket. */
int host_connect(Host *h);
/* Sends bytes, closes the write side when asked, returns all that comes (owned by the caller). */
char *host_exchange(Host *h, const void *data, size_t n, bool half_close);
/*
 * One request (consumed). code NULL: it must succeed, and the result is returned; else it must fail
 * with that code, and NULL is returned.
 */
json_t *host_ask(Host *h, const char *code, json_t *request);
json_t *host_status(Host *h);
/* The code of one exchange, or "ok"; of a raw line with its LF. */
void host_code(Host *h, const char *line, size_t n, char ret[static 64]);

/* Waits until admission is open. */
void host_wait_open(Host *h);
/* Waits until nothing is held: no lease, reservation, queue entry, trouble; all slots free. */
void host_wait_idle(Host *h);

void client_new(Host *h, Client *c, const char *id);
/* A request of this client: kind, and the members of more (consumed; may be NULL). */
json_t *client_request(const Client *c, const char *kind, json_t *more);
json_t *client_ask(Host *h, const Client *c, const char *code, const char *kind, json_t *more);
/* Members of a reservation.acquire: cpus, 64 MiB, 64 pids, 1 container, disk. */
json_t *wish(const char *reservation_id, double cpus);
/* Acquires and waits for the grant. */
void client_hold(Host *h, const Client *c, const char *reservation_id, double cpus);
/* Members of a container.create, flat. */
json_t *create_of(const char *reservation_id, json_t *create);
json_t *plain_create(void);
