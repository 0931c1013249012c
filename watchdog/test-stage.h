/* SPDX-License-Identifier: MIT */
/*
 * A stage for tests of the watchdog's parts: real sockets, a scripted Engine and a scripted broker
 * as processes, a real ledger, two slots, short time-outs. Failure of the stage itself aborts.
 */
#pragma once

#include <sys/types.h>

#include "selftest/cmocka-tap.h"
#include "watchdog/watchdog.h"

#define STAGE_SLOTS 2
#define STAGE_ROOT_DIR "/srv/stage/docker" /* what the scripted Engine calls its DockerRootDir */

typedef struct Stage {
        char dir[64];
        char engine_socket[108], broker_socket[108];
        pid_t engine, broker;
        Watchdog w;
        Descriptor descriptor;
        const char *dns[2];
        bool ignore_filters; /* the Engine lists everything; for the next start */
        const char *info;    /* replaces members of the Engine's GET /info; for the next start */
        char *aggregate;
} Stage;

/* Folder, slot table, the two processes; the watchdog's parts by stage_open(). */
void stage_new(Stage *s);
void stage_done(Stage *s);

void stage_start_engine(Stage *s);
void stage_stop_engine(Stage *s);
void stage_start_broker(Stage *s);
void stage_stop_broker(Stage *s);
/* who: "engine" or "broker"; the rules act on the next request (selftest/engine/rules.h). */
void stage_rules(Stage *s, const char *who, const char *text);
/* How many lines of the log begin with this. */
size_t stage_logged(Stage *s, const char *who, const char *prefix);
/* Blocking request to the Engine; the status. */
long stage_engine(Stage *s, const char *method, const char *path, const json_t *body, json_t **ret);
/* Objects of a kind ("/containers/json?all=1", "/networks"). */
size_t stage_count(Stage *s, const char *path);

/* Event loop, ledger, engine, broker link: as a watchdog that starts. And its end at any moment. */
void stage_open(Stage *s);
void stage_close(Stage *s);
/* Runs the loop until *done, at most `sec` seconds: true when done. */
bool stage_run(Stage *s, const bool *done, unsigned sec);
/* One turn of the loop; false when nothing happened for 10 ms. */
bool stage_turn(Stage *s);
void stage_file(Stage *s, const char *slot_and_name);
bool stage_has_file(Stage *s, const char *slot_and_name);
/* Rows of the ledger's events of a kind. The ledger must have been committed. */
size_t stage_events(Stage *s, const char *kind);
/* All kinds in their order, each followed by a blank; owned by the caller. */
char *stage_event_kinds(Stage *s);
