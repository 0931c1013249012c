/* SPDX-License-Identifier: MIT */
#include "profile/provision.h"

#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/spawn.h"
#include "base/text.h"

#define ARGS_MAX 32

void apply_done(Apply *a) {
        profile_conf_donep(&a->c);
}

int apply_fail(Apply *a, int error, const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(a->message, sizeof(a->message), fmt, ap);
        va_end(ap);
        return error < 0 ? error : -EIO;
}

static void collect_args(char *argv[ARGS_MAX], const char *program, va_list ap) {
        size_t n = 0;

        argv[n++] = (char *) program;
        while (n < ARGS_MAX - 1 && (argv[n] = va_arg(ap, char *)))
                n++;
        argv[n] = NULL;
}

int apply_run(Apply *a, unsigned timeout_sec, const char *program, ...) {
        CLEANUP(freep) char *output = NULL;
        char *argv[ARGS_MAX];
        va_list ap;
        int r;

        va_start(ap, program);
        collect_args(argv, program, ap);
        va_end(ap);
        r = spawn_wait(argv, timeout_sec * USEC_PER_SEC, &output);
        if (r < 0)
                return apply_fail(a, r, "%s: %s", program, strerror(-r));
        if (r > 0)
                return apply_fail(a,
                                  -EIO,
                                  "%s %s: %s",
                                  program,
                                  argv[1] ? argv[1] : "",
                                  output && *output ? output : "failed");
        return 0;
}

void undo_run(const char *program, ...) {
        char *argv[ARGS_MAX];
        va_list ap;

        va_start(ap, program);
        collect_args(argv, program, ap);
        va_end(ap);
        (void) spawn_wait(argv, 300 * USEC_PER_SEC, NULL);
}

int apply_file(Apply *a, const char *path, const char *text, uint32_t bit) {
        bool there = access(path, F_OK) == 0;
        int r;

        if (file_equals(path, text, strlen(text)))
                return 0;
        r = file_write_atomic(path, text, strlen(text), 0644, 0, 0);
        if (r < 0)
                return apply_fail(a, r, "cannot write %s: %s", path, strerror(-r));
        if (!there)
                a->made |= bit;
        return 1;
}

char *unit_property(const char *unit, const char *property) {
        char *argv[] = { (char *) "systemctl", (char *) "show", (char *) "-P", (char *) property,
                         (char *) "--",        (char *) unit,   NULL };
        char *output = NULL;

        if (spawn_wait(argv, 60 * USEC_PER_SEC, &output) == 0)
                return output;
        free(output);
        return NULL;
}

bool unit_active(const char *unit) {
        CLEANUP(freep) char *state = unit_property(unit, "ActiveState");

        return state && !strcmp(state, "active");
}

/* clang-format off */
static const Step steps[] = {
        { "preflight",       "the host can be a profile",                 step_preflight,       NULL                },
        { "egress",          "what the profile promises about egress",    step_egress,          NULL                },
        { "modules",         "kernel modules that containers need",       step_modules,         NULL                },
        { "access-group",    "access group",                              step_access_group,    undo_access_group   },
        { "account",         "account of the daemon",                     step_account,         undo_account        },
        { "subordinate-ids", "65536 subordinate user and group ids",      step_subordinate_ids, NULL                },
        { "access-users",    "members of the access group",               step_access_users,    NULL                },
        { "state",           "state folder",                              step_state,           undo_state          },
        { "image",           "pool image, allocated in full",             step_image,           undo_image          },
        { "mount",           "pool mounted with project quota",           step_mount,           undo_mount          },
        { "daemon-folder",   "folder and quota of the daemon's data",     step_daemon_folder,   NULL                },
        { "slots",           "slots with their quotas",                   step_slots,           undo_slots          },
        { "slot-table",      "slot table and project registrations",      step_slot_table,      undo_slot_table     },
        { "slice",           "limits of the account's slice",             step_slice,           undo_slice          },
        { "user-manager",    "user manager with delegated controllers",   step_user_manager,    undo_user_manager   },
        { "run-dir",         "socket folders",                            step_run_dir,         undo_run_dir        },
        { "daemon-config",   "configuration of the daemon",               step_daemon_config,   undo_daemon_config  },
        { "daemon",          "rootless daemon runs and answers",          step_daemon,          undo_daemon         },
        { "descriptor",      "descriptor, staged",                        step_descriptor,      undo_descriptor     },
        { "services",        "broker and watchdog",                       step_services,        undo_services       },
        { "attest",          "the host is what the descriptor says",      step_attest,          NULL                },
        { "enable",          "started at boot",                           step_enable,          undo_enable         },
        { "publish",         "descriptor published in the registry",      step_publish,         undo_publish        },
};
/* clang-format on */

const Step *apply_steps(size_t *ret_n) {
        *ret_n = N_ELEMENTS(steps);
        return steps;
}

static int remove_entry(const char *path,
                        const struct stat *st UNUSED,
                        int flag UNUSED,
                        struct FTW *f UNUSED) {
        return remove(path) < 0 ? -1 : 0;
}

static void remove_tree(const char *path) {
        (void) nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static void stop_units(Apply *a) {
        static const char *const formats[] = {
                "dindhost@%s.target",          "dindhost-watchdog@%s.service",
                "dindhost-watchdog@%s.socket", "dindhost-broker@%s.service",
                "dindhost-broker@%s.socket",   "dindhost-dockerd@%s.service",
                "dindhost-storage@%s.service",
        };

        for (size_t i = 0; i < N_ELEMENTS(formats); i++) {
                char unit[96];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
                snprintf(unit, sizeof(unit), formats[i], a->p.alias);
#pragma GCC diagnostic pop
                undo_run("systemctl", "stop", unit, NULL);
        }
}

static void remove_configuration(Apply *a) {
        CLEANUP(freep)
        char *dropin = text_format(
                        "%s/dindhost-dockerd@%s.service.d", "/etc/systemd/system", a->p.alias);
        CLEANUP(freep) char *tmpfiles = text_format("/etc/tmpfiles.d/dindhost-%s.conf", a->p.alias);
        CLEANUP(freep)
        char *slice = text_format("/etc/systemd/system/user-%u.slice.d", (unsigned) a->uid);
        CLEANUP(freep)
        char *manager = text_format("/etc/systemd/system/user@%u.service.d", (unsigned) a->uid);
        char *trees[] = { dropin, slice, manager, a->p.run };
        char *files[] = { tmpfiles, a->p.descriptor, a->p.daemon_config };

        for (size_t i = 0; i < N_ELEMENTS(files); i++)
                if (files[i])
                        (void) unlink(files[i]);
        for (size_t i = 0; i < N_ELEMENTS(trees); i++)
                if (trees[i])
                        remove_tree(trees[i]);
        undo_run("systemctl", "daemon-reload", NULL);
}

static void remove_account(Apply *a) {
        undo_run("loginctl", "disable-linger", a->p.account, NULL);
        undo_run("loginctl", "terminate-user", a->p.account, NULL);
        undo_run("userdel", a->p.account, NULL);
        undo_run("groupdel", a->p.account, NULL);
        undo_run("groupdel", a->p.access_group, NULL);
}

/*
 * The account stays while the data does: its files belong to these ids, and a later account of the
 * same number would own them.
 */
int apply_remove(Apply *a, bool delete_data) {
        char target[96];
        int r = apply_find_account(a);

        if (r < 0)
                return r;
        (void) unlink(a->p.registry_file);
        snprintf(target, sizeof(target), "dindhost@%s.target", a->p.alias);
        undo_run("systemctl", "disable", target, NULL);
        stop_units(a);
        remove_configuration(a);
        if (!delete_data) {
                undo_run("loginctl", "disable-linger", a->p.account, NULL);
                undo_run("loginctl", "terminate-user", a->p.account, NULL);
                return 0;
        }
        r = projects_remove(a);
        remove_tree(a->p.state);
        remove_account(a);
        return r;
}
