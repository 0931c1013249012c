/* SPDX-License-Identifier: MIT */
/* profile apply and profile remove */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "profile/control-client.h"
#include "profile/egress-note.h"
#include "profile/provision.h"
#include "profile/verbs.h"

static void
report(void *ctx, const Step *step, int number, int result, bool undone, uint64_t usec) {
        Apply *a = ctx;
        const char *word = undone    ? "undone"
                        : result < 0 ? "FAILED"
                        : result > 0 ? "done"
                                     : "unchanged";

        printf("%2d  %-9s  %-44s %6.1f s\n", number, word, step->title, (double) usec / 1e6);
        if (result < 0 && !undone)
                printf("    %s\n", a->message[0] ? a->message : strerror(-result));
        fflush(stdout);
}

static int load(Apply *a, const char *alias) {
        CLEANUP(freep) char *message = NULL;
        int r = profile_paths(alias, &a->p);

        if (r >= 0)
                r = profile_conf_load(a->p.conf, &a->c, &message);
        return r < 0 ? log_error(0, "%s", message ? message : strerror(-r)), r : 0;
}

static int apply(const char *alias) {
        CLEANUP(apply_done) Apply a = { 0 };
        CLEANUP(freep) char *note = egress_note(alias);
        const Step *steps;
        size_t n;
        int r;

        if (load(&a, alias) < 0)
                return EXIT_FAILED;
        steps = apply_steps(&n);
        r = steps_run(steps, n, &a, report);
        if (r < 0) {
                log_error(0,
                          "profile '%s' was not applied; what this run made is taken back",
                          alias);
                return EXIT_FAILED;
        }
        if (r > 0)
                printf("profile '%s' is applied and published as %s\n", alias, a.p.registry_file);
        else
                printf("profile '%s' is as its file says; nothing was changed\n", alias);
        if (note)
                fprintf(stderr, "%s\n", note);
        return EXIT_OK;
}

int verb_apply(int argc, char *argv[]) {
        static const char command[] = "profile apply";
        static const struct option options[] = { { "help", no_argument, NULL, 'h' }, { 0 } };
        const char *alias;
        int c;

        optind = 1;
        while ((c = getopt_long(argc, argv, ":", options, NULL)) >= 0) {
                if (c != 'h')
                        return usage_bad_option(command, c, argv);
                printf("usage: dindhost profile apply ALIAS\n\n"
                       "Makes the host what the profile file says, attests it, and publishes the\n"
                       "profile. A failed run takes back what it made; a second run changes nothing.\n\n"
                       "  --help  this text\n");
                return EXIT_OK;
        }
        alias = usage_alias(command, argc, argv);
        return alias ? apply(alias) : EXIT_USAGE;
}

/* How many leases the watchdog holds; -1: it does not say. */
static int count_leases(const ProfilePaths *p) {
        CLEANUP(json_decrefp) json_t *request = json_pack("{s:s}", "kind", "status");
        CLEANUP(json_decrefp) json_t *reply = NULL;
        ControlError error;

        if (control_call(p->control_socket, request, 30 * USEC_PER_SEC, &reply, &error) != 0)
                return -1;
        return (int) json_array_size(json_object_get(reply, "leases"));
}

static int remove_profile(const char *alias, bool delete_data, bool force) {
        CLEANUP(apply_done) Apply a = { 0 };
        int leases, r;

        if (geteuid() != 0)
                return log_error(0, "must be run as root"), EXIT_FAILED;
        if (profile_paths(alias, &a.p) < 0)
                return EXIT_USAGE;
        leases = count_leases(&a.p);
        if (leases > 0 && !force) {
                log_error(0,
                          "profile '%s' has %d leases: its sandboxes would be killed. Wait for them, "
                          "or say --force",
                          alias,
                          leases);
                return EXIT_FAILED;
        }
        r = apply_remove(&a, delete_data);
        if (r < 0)
                return log_error(0, "%s", a.message[0] ? a.message : strerror(-r)), EXIT_FAILED;
        if (delete_data)
                printf("profile '%s' is removed with its data; %s is kept\n", alias, a.p.conf);
        else
                printf("profile '%s' is removed; its data in %s and its account are kept "
                       "('--delete-data' deletes them)\n",
                       alias,
                       a.p.state);
        return EXIT_OK;
}

int verb_remove(int argc, char *argv[]) {
        static const char command[] = "profile remove";
        static const struct option options[] = {
                { "delete-data", no_argument, NULL, 'd' },
                { "force", no_argument, NULL, 'f' },
                { "help", no_argument, NULL, 'h' },
                { 0 },
        };
        bool delete_data = false, force = false;
        const char *alias;
        int c;

        optind = 1;
        while ((c = getopt_long(argc, argv, ":", options, NULL)) >= 0)
                switch (c) {
                case 'd':
                        delete_data = true;
                        break;
                case 'f':
                        force = true;
                        break;
                case 'h':
                        printf("usage: dindhost profile remove ALIAS [--delete-data] [--force]\n\n"
                               "Takes the profile away: unpublishes it, stops its services and daemon,\n"
                               "removes its units and limits. Its data and account stay.\n\n"
                               "  --delete-data  delete the pool with all slots, and the account\n"
                               "  --force        also while sandboxes are running: they are killed\n"
                               "  --help         this text\n");
                        return EXIT_OK;
                default:
                        return usage_bad_option(command, c, argv);
                }
        alias = usage_alias(command, argc, argv);
        return alias ? remove_profile(alias, delete_data, force) : EXIT_USAGE;
}
