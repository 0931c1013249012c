/* SPDX-License-Identifier: MIT */
/*
 * The watchdog's context: one profile, its ledger, its links
 *
 * Owned by main.c; there is no other global state. The parts know each other through this struct
 * alone.
 */
#pragma once

#include <systemd/sd-event.h>

#include "profile/conf.h"
#include "profile/descriptor.h"
#include "profile/paths.h"
#include "profile/slots.h"
#include "watchdog/broker-link.h"
#include "watchdog/engine.h"
#include "watchdog/ledger.h"

typedef struct Server Server;           /* control.h */
typedef struct LeaseClock LeaseClock;   /* lease.h */
typedef struct Sandboxes Sandboxes;     /* sandbox.h */
typedef struct DaemonWatch DaemonWatch; /* daemon.h */
typedef struct Admit Admit;             /* admit.h */

typedef struct Watchdog {
        sd_event *event;
        ProfilePaths paths;
        ProfileConf conf;
        Descriptor *descriptor;
        char descriptor_digest[72]; /* "sha256:" + 64 hex */
        SlotTable slot_table;
        Ledger *ledger;
        Engine *engine;
        BrokerLink *broker;
        Server *server;
        LeaseClock *leases;
        Sandboxes *sandboxes;
        DaemonWatch *daemon;
        Admit *admit;
        char *generation;              /* of the outer daemon; NULL until the daemon was asked */
        char *admission_closed_reason; /* NULL: open */
} Watchdog;

/*
 * Reads the profile's files, sets up the loop (which ends in order on SIGTERM and SIGINT, blocked
 * from here on) and opens the ledger. Logs why it cannot; -errno.
 */
int watchdog_new(const ProfilePaths *paths, Watchdog **ret);
/* Serves listen_fd (consumed) and takes up what the ledger holds. Logs why it cannot; -errno. */
int watchdog_start(Watchdog *w, int listen_fd);
Watchdog *watchdog_free(Watchdog *w);
void watchdog_freep(Watchdog **w);
