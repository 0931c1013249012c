/* SPDX-License-Identifier: MIT */
#include "watchdog/watchdog.h"

#include <signal.h>
#include <unistd.h>

#include "base/log.h"
#include "watchdog/admit.h"
#include "watchdog/control.h"
#include "watchdog/daemon.h"
#include "watchdog/lease.h"
#include "watchdog/sandbox.h"

static int load_descriptor(Watchdog *w) {
        DescriptorError error = { 0 };
        int r;

        r = descriptor_load(w->paths.descriptor, &w->descriptor, &error);
        if (r < 0)
                return log_error(0,
                                 "%s: %s; run 'dindhost profile apply %s'",
                                 w->paths.descriptor,
                                 error.message,
                                 w->paths.alias),
                       r;
        r = descriptor_digest(w->descriptor->root, w->descriptor_digest);
        return r < 0 ? log_error(r, "cannot digest %s", w->paths.descriptor) : 0;
}

/* What clients were promised, and what the broker works on, must be one thing. */
static int load_slot_table(Watchdog *w) {
        CLEANUP(freep) char *message = NULL;
        int r;

        r = slot_table_load(w->paths.slot_table, &w->slot_table, &message);
        if (r < 0)
                return log_error(0, "%s", message ? message : "out of memory"), r;
        if (w->slot_table.n_slots != w->descriptor->pool_count)
                return log_error(0,
                                 "%s has %zu slots and %s says %llu; run 'dindhost profile apply "
                                 "%s'",
                                 w->paths.slot_table,
                                 w->slot_table.n_slots,
                                 w->paths.descriptor,
                                 (unsigned long long) w->descriptor->pool_count,
                                 w->paths.alias),
                       -EINVAL;
        return 0;
}

static int load_files(Watchdog *w) {
        CLEANUP(freep) char *message = NULL;
        int r;

        r = profile_conf_load(w->paths.conf, &w->conf, &message);
        if (r < 0)
                return log_error(0, "%s", message ? message : "out of memory"), r;
        r = load_descriptor(w);
        return r < 0 ? r : load_slot_table(w);
}

static int set_up_loop(Watchdog *w) {
        sigset_t mask;
        int r;

        sigemptyset(&mask);
        sigaddset(&mask, SIGTERM);
        sigaddset(&mask, SIGINT);
        r = sigprocmask(SIG_BLOCK, &mask, NULL) < 0 ? -errno : sd_event_new(&w->event);
        if (r >= 0)
                r = sd_event_add_signal(w->event, NULL, SIGTERM, NULL, NULL);
        if (r >= 0)
                r = sd_event_add_signal(w->event, NULL, SIGINT, NULL, NULL);
        if (r >= 0)
                r = sd_event_set_watchdog(w->event, true);
        return r < 0 ? log_error(r, "cannot set up the event loop") : 0;
}

static int sync_slots(Watchdog *w) {
        int r = ledger_change_begin(w->ledger), e;

        if (r < 0)
                return r;
        r = ledger_slots_sync(w->ledger, &w->slot_table);
        e = ledger_change_end(w->ledger, r >= 0);
        if (r < 0 || e < 0)
                return r < 0 ? r : e;
        return ledger_commit(w->ledger);
}

static int open_ledger(Watchdog *w) {
        CLEANUP(freep) char *message = NULL;
        int r;

        r = ledger_open(w->paths.ledger, w->event, &w->ledger, &message);
        if (r < 0)
                return log_error(0, "%s", message ? message : "out of memory"), r;
        r = sync_slots(w);
        if (r == -EINVAL)
                return log_error(0,
                                 "%s: a slot that is in use is no longer in %s; give it back the "
                                 "slots it had",
                                 w->paths.ledger,
                                 w->paths.slot_table),
                       r;
        return r < 0 ? log_error(r, "cannot write to %s", w->paths.ledger) : 0;
}

int watchdog_new(const ProfilePaths *paths, Watchdog **ret) {
        CLEANUP(watchdog_freep) Watchdog *w = calloc(1, sizeof(*w));
        int r;

        if (!w)
                return log_error(-ENOMEM, "cannot start");
        w->paths = *paths;
        r = load_files(w);
        if (r < 0)
                return r;
        r = set_up_loop(w);
        if (r < 0)
                return r;
        r = open_ledger(w);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(w);
        return 0;
}

int watchdog_start(Watchdog *w, int listen_fd) {
        int r;

        r = server_new(w, listen_fd, &w->server);
        if (r >= 0)
                r = engine_new(w->event, w->paths.engine_socket, &w->engine);
        if (r >= 0)
                r = broker_link_new(w->event,
                                    w->paths.broker_socket,
                                    w->conf.broker_timeout_usec,
                                    &w->broker);
        if (r >= 0)
                r = admit_new(w, &w->admit);
        if (r >= 0)
                r = sandboxes_new(w, &w->sandboxes);
        if (r >= 0)
                r = leases_new(w, &w->leases);
        if (r >= 0)
                r = leases_resume(w);
        /* a daemon that does not answer keeps admission closed, not the service from starting */
        if (r >= 0)
                r = daemon_watch_start(w);
        return r < 0 ? log_error(r, "cannot take up what the ledger holds") : 0;
}

Watchdog *watchdog_free(Watchdog *w) {
        if (!w)
                return NULL;
        /* first whoever may call back, last what they use */
        server_free(w->server);
        daemon_watch_free(w->daemon);
        sandboxes_free(w->sandboxes);
        admit_free(w->admit);
        leases_free(w->leases);
        broker_link_free(w->broker);
        engine_free(w->engine);
        /* what was not committed is undone: nobody was told of it */
        ledger_free(w->ledger);
        slot_table_donep(&w->slot_table);
        descriptor_free(w->descriptor);
        profile_conf_donep(&w->conf);
        free(w->generation);
        free(w->admission_closed_reason);
        sd_event_unref(w->event);
        free(w);
        return NULL;
}

void watchdog_freep(Watchdog **w) {
        watchdog_free(*w);
}
