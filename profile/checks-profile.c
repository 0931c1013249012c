/* SPDX-License-Identifier: MIT */
/* Profile checks: file, account, published descriptor, units. Nothing here talks to the daemon. */
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "profile/doctor.h"
#include "profile/egress-note.h"
#include "profile/kernel-text.h"
#include "profile/unit-facts.h"

#define SUBORDINATE_COUNT 65536
#define FILE_MAX_BYTES (16 * 1024 * 1024)

static void apply_again(const Doctor *d, Finding *f) {
        finding_cure(f, "dindhost profile apply %s", d->alias);
}

static void check_file(Doctor *d, Finding *f) {
        CLEANUP(freep) char *message = NULL;
        int r = profile_conf_load(d->paths.conf, &d->conf, &message);

        if (r >= 0) {
                finding_pass(f, "%s", d->paths.conf);
                return;
        }
        finding_fail(f, "%s", message ? message : strerror(-r));
        if (r == -ENOENT)
                finding_cure(f,
                             "dindhost profile init; then look at %s and apply it",
                             d->paths.conf);
        else
                finding_cure(f, "correct the file; 'dindhost profile check %s' tries it", d->alias);
}

static void check_account(Doctor *d, Finding *f) {
        const struct passwd *pw = getpwnam(d->paths.account);

        if (!pw) {
                finding_fail(f, "there is no account '%s'", d->paths.account);
                apply_again(d, f);
                return;
        }
        d->uid = pw->pw_uid;
        d->gid = pw->pw_gid;
        if (pw->pw_uid == 0 || strcmp(pw->pw_dir, d->paths.home)) {
                finding_fail(f,
                             "'%s' has uid %u and home %s; not made by dindhost",
                             d->paths.account,
                             (unsigned) pw->pw_uid,
                             pw->pw_dir);
                finding_cure(f, "rename that account, or this profile; then apply");
                return;
        }
        finding_pass(f, "%s, uid %u", d->paths.account, (unsigned) d->uid);
}

/* Each id file must give the account 65536 ids that nobody else has. */
static bool judge_subids(const char *file, const char *account, SubIds *ret, Finding *f) {
        CLEANUP(freep) char *text = NULL;
        int r = file_read(file, FILE_MAX_BYTES, &text, NULL);

        if (r < 0) {
                finding_fail(f, "%s: %s", file, strerror(-r));
                return false;
        }
        subids_parse(text, account, ret);
        if (ret->count < SUBORDINATE_COUNT) {
                finding_fail(f,
                             "%s has %llu ids for '%s', needed are %d",
                             file,
                             (unsigned long long) ret->count,
                             account,
                             SUBORDINATE_COUNT);
                return false;
        }
        if (ret->overlap) {
                finding_fail(f,
                             "%s: the range of '%s' overlaps with the line '%.*s'",
                             file,
                             account,
                             ret->n_overlap,
                             ret->overlap);
                return false;
        }
        return true;
}

static void check_subordinate_ids(Doctor *d, Finding *f) {
        SubIds users, groups;

        if (!judge_subids("/etc/subuid", d->paths.account, &users, f) ||
            !judge_subids("/etc/subgid", d->paths.account, &groups, f)) {
                finding_cure(f,
                             "give every account its own range in /etc/subuid and /etc/subgid, then "
                             "'dindhost profile apply %s'",
                             d->alias);
                return;
        }
        d->subuid_first = users.first;
        d->subuid_count = users.count;
        finding_pass(f,
                     "uids from %llu, gids from %llu, %d each",
                     (unsigned long long) users.first,
                     (unsigned long long) groups.first,
                     SUBORDINATE_COUNT);
}

static void check_access_group(Doctor *d, Finding *f) {
        const struct group *g = getgrnam(d->paths.access_group);
        size_t n = 0;

        if (!g) {
                finding_fail(f, "there is no group '%s'", d->paths.access_group);
                apply_again(d, f);
                return;
        }
        d->access_gid = g->gr_gid;
        while (g->gr_mem[n])
                n++;
        finding_pass(f, "%s, gid %u, %zu members", g->gr_name, (unsigned) g->gr_gid, n);
}

static void check_linger(Doctor *d, Finding *f) {
        CLEANUP(freep) char *path = text_format("/var/lib/systemd/linger/%s", d->paths.account);

        if (path && access(path, F_OK) == 0) {
                finding_pass(f, "the user manager starts at boot");
                return;
        }
        finding_fail(f, "'%s' does not linger", d->paths.account);
        finding_cure(f, "loginctl enable-linger %s", d->paths.account);
}

/* ActiveState of a unit; false with the finding made when it is not "active". */
static bool unit_is_active(const char *unit, Finding *f) {
        CLEANUP(freep) char *state = NULL;
        int r = unit_text(unit, "Unit", "ActiveState", &state);

        if (r < 0) {
                finding_fail(f, "%s: the service manager does not answer: %s", unit, strerror(-r));
                finding_cure(f, "see 'systemctl status %s'", unit);
                return false;
        }
        if (!strcmp(state, "active"))
                return true;
        finding_fail(f, "%s is %s", unit, state);
        finding_cure(f, "systemctl start %s; its log: journalctl -u %s", unit, unit);
        return false;
}

static void check_user_manager(Doctor *d, Finding *f) {
        char unit[64], bus[64];
        struct stat st;

        snprintf(unit, sizeof(unit), "user@%u.service", (unsigned) d->uid);
        snprintf(bus, sizeof(bus), "/run/user/%u/bus", (unsigned) d->uid);
        if (!unit_is_active(unit, f))
                return;
        if (lstat(bus, &st) < 0 && errno != EACCES) {
                finding_fail(f, "%s is active, but %s is not there", unit, bus);
                finding_cure(f, "apt-get install dbus-user-session; systemctl restart %s", unit);
                return;
        }
        finding_pass(f, "%s is active", unit);
}

static void check_descriptor(Doctor *d, Finding *f) {
        const RegistryEntry *e;
        int r = registry_load(REGISTRY_DIR, 0, &d->registry);

        if (r < 0 && r != -ENOENT) {
                finding_fail(f, "%s: %s", REGISTRY_DIR, strerror(-r));
                finding_cure(f, "run as root, or open the folder to readers (0755)");
                return;
        }
        e = registry_find(&d->registry, d->alias);
        if (!e) {
                finding_fail(f,
                             "%s is not there: the profile is not published",
                             d->paths.registry_file);
                apply_again(d, f);
        } else if (!e->descriptor) {
                finding_fail(f, "%s: %s: %s", e->path, e->error.code, e->error.message);
                apply_again(d, f);
        } else {
                d->descriptor = e->descriptor;
                d->digest = e->digest;
                finding_pass(f, "%s, %s", e->path, e->digest);
        }
}

/* The service serves the staged file, clients read the published one. */
static void check_staged(Doctor *d, Finding *f) {
        CLEANUP(freep) char *text = NULL;
        size_t n = 0;
        int r = file_read(d->paths.descriptor, DESCRIPTOR_MAX, &text, &n);

        if (r < 0)
                finding_fail(f, "%s: %s", d->paths.descriptor, strerror(-r));
        else if (!file_equals(d->paths.registry_file, text, n))
                finding_fail(f, "%s and %s differ", d->paths.descriptor, d->paths.registry_file);
        else {
                finding_pass(f, "staged and published descriptor are the same %zu bytes", n);
                return;
        }
        apply_again(d, f);
}

/* The descriptor names this machine and the account that is here now. */
static void check_identity(Doctor *d, Finding *f) {
        const Descriptor *s = d->descriptor;
        char id[33];
        int r = machine_identity(id);

        if (r < 0)
                finding_fail(f, "/etc/machine-id cannot be used: %s", strerror(-r));
        else if (strcmp(s->host_machine_identity, id) || strcmp(s->backend_machine_identity, id))
                finding_fail(f, "the descriptor is of another machine");
        else if (s->owner_uid != d->uid || s->owner_gid != d->gid)
                finding_fail(f,
                             "the descriptor's owner is %u:%u, the account is %u:%u",
                             (unsigned) s->owner_uid,
                             (unsigned) s->owner_gid,
                             (unsigned) d->uid,
                             (unsigned) d->gid);
        else if (strcmp(s->control_socket, d->paths.control_socket) ||
                 strcmp(s->docker_socket, d->paths.engine_socket))
                finding_fail(f, "the descriptor names sockets that are not this profile's");
        else {
                finding_pass(f, "the descriptor names this machine, account and sockets");
                return;
        }
        apply_again(d, f);
}

static void check_units(Doctor *d, Finding *f) {
        static const struct {
                const char *kind, *suffix;
        } units[] = {
                { "storage", "service" }, { "dockerd", "service" },  { "broker", "socket" },
                { "watchdog", "socket" }, { "watchdog", "service" },
        };

        for (size_t i = 0; i < N_ELEMENTS(units); i++) {
                char unit[96];

                snprintf(unit,
                         sizeof(unit),
                         "dindhost-%s@%s.%s",
                         units[i].kind,
                         d->alias,
                         units[i].suffix);
                if (!unit_is_active(unit, f))
                        return;
        }
        finding_pass(f, "%zu units are active", N_ELEMENTS(units));
}

static void check_enabled(Doctor *d, Finding *f) {
        CLEANUP(freep) char *state = NULL;
        char unit[64];
        int r;

        snprintf(unit, sizeof(unit), "dindhost@%s.target", d->alias);
        r = unit_text(unit, "Unit", "UnitFileState", &state);
        if (r >= 0 && text_has_prefix(state, "enabled")) {
                finding_pass(f, "%s is enabled", unit);
                return;
        }
        finding_fail(f, "%s is %s", unit, r < 0 ? strerror(-r) : *state ? state : "not there");
        finding_cure(f, "systemctl enable %s", unit);
}

/* Bound into every sandbox as its PID 1: nobody but root may be able to change it. */
static void check_supervisor(Doctor *d UNUSED, Finding *f) {
        struct stat st;

        if (lstat(SUPERVISOR_PATH, &st) < 0)
                finding_fail(f, "%s: %s", SUPERVISOR_PATH, strerror(errno));
        else if (!S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & 0022) ||
                 (st.st_mode & 0555) != 0555)
                finding_fail(f,
                             "%s has mode %04o and owner %u; must be a program of root's that all "
                             "may run and only root may write",
                             SUPERVISOR_PATH,
                             (unsigned) st.st_mode & 07777,
                             (unsigned) st.st_uid);
        else {
                finding_pass(f, "%s, %lld bytes", SUPERVISOR_PATH, (long long) st.st_size);
                return;
        }
        finding_cure(f, "install the package dindhost-supervisor again");
}

static void check_egress(Doctor *d, Finding *f) {
        CLEANUP(freep) char *note = egress_note(d->alias);

        finding_notyet(f, "%s", note ? note : "egress is not enforced");
}

/* clang-format off */
static const Check checks[] = {
        { "profile.file",            "the profile file is valid",                          NULL, check_file },
        { "profile.account",         "the daemon's account exists",                        NULL, check_account },
        { "profile.subordinate-ids", "the account has 65536 subordinate ids of its own",   "profile.account", check_subordinate_ids },
        { "profile.access-group",    "the access group exists",                            NULL, check_access_group },
        { "profile.linger",          "the account's user manager starts at boot",          "profile.account", check_linger },
        { "profile.user-manager",    "the account's user manager runs",                    "host.systemd profile.account", check_user_manager },
        { "profile.descriptor",      "the published descriptor is valid and only root's",  NULL, check_descriptor },
        { "profile.staged",          "the service serves what is published",               "profile.descriptor", check_staged },
        { "profile.identity",        "the descriptor names this machine and account",      "profile.account profile.descriptor", check_identity },
        { "profile.units",           "the profile's units are active",                     "host.systemd", check_units },
        { "profile.enabled",         "the profile starts at boot",                         "host.systemd", check_enabled },
        { "profile.supervisor",      "the supervisor is there and only root's",            NULL, check_supervisor },
        { "network.egress",          "the egress policy is enforced",                      NULL, check_egress },
};
/* clang-format on */

const CheckTable checks_profile = { checks, N_ELEMENTS(checks) };
