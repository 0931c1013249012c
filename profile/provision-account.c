/* SPDX-License-Identifier: MIT */
/* Preflight, groups, the daemon's account and its subordinate ids. */
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/kernel-facts.h"
#include "profile/provision.h"

#define SUBORDINATE_COUNT UINT64_C(65536)
#define SUBORDINATE_FIRST UINT64_C(1000000) /* above what useradd(8) gives to ordinary users */
#define SUBORDINATE_LAST UINT64_C(4000000000)

static int check_host(Apply *a) {
        KernelFacts k;

        if (geteuid() != 0)
                return apply_fail(a, -EPERM, "must be run as root");
        kernel_facts(&k);
        if (!k.systemd)
                return apply_fail(
                                a,
                                -EOPNOTSUPP,
                                "systemd is not PID 1; 'dindhost profile doctor' lists all that is missing");
        if (!k.cgroup_v2)
                return apply_fail(
                                a,
                                -EOPNOTSUPP,
                                "cgroup v2 is not mounted alone at /sys/fs/cgroup; boot with systemd.unified_cgroup_hierarchy=1");
        if (!k.controllers)
                return apply_fail(a,
                                  -EOPNOTSUPP,
                                  "cgroup v2 does not offer cpu, memory and pids at its root");
        if (!k.project_quota)
                return apply_fail(
                                a,
                                -EOPNOTSUPP,
                                "the kernel has no project quota for ext4 (CONFIG_QUOTA, CONFIG_QFMT_V2)");
        return 0;
}

static int check_programs(Apply *a) {
        static const char *const programs[] = { "useradd",     "groupadd",    "usermod",
                                                "newuidmap",   "newgidmap",   "mkfs.ext4",
                                                "systemctl",   "loginctl",    "systemd-tmpfiles",
                                                "slirp4netns", "rootlesskit", "dockerd" };
        char missing[512] = "";

        for (size_t i = 0; i < N_ELEMENTS(programs); i++)
                if (!program_in_path(programs[i])) {
                        strncat(missing, " ", sizeof(missing) - strlen(missing) - 1);
                        strncat(missing, programs[i], sizeof(missing) - strlen(missing) - 1);
                }
        if (access(a->c.rootless_script, X_OK) < 0)
                return apply_fail(
                                a,
                                -ENOENT,
                                "[Docker] RootlessScript=%s is not there; install docker.io or docker-ce-rootless-extras, or name the script",
                                a->c.rootless_script);
        if (access(a->c.runtime, X_OK) < 0)
                return apply_fail(a,
                                  -ENOENT,
                                  "[Docker] Runtime=%s is not there; install crun",
                                  a->c.runtime);
        if (missing[0])
                return apply_fail(
                                a,
                                -ENOENT,
                                "programs are missing:%s; install docker.io, rootlesskit, slirp4netns, uidmap, passwd, e2fsprogs",
                                missing);
        if (!getpwnam(SERVICE_USER))
                return apply_fail(a,
                                  -ENOENT,
                                  "there is no user '" SERVICE_USER "'; run systemd-sysusers");
        return 0;
}

int step_preflight(void *ctx) {
        Apply *a = ctx;
        int r = check_host(a);

        if (r >= 0)
                r = check_programs(a);
        if (r >= 0)
                r = machine_identity(a->machine_identity);
        if (r < 0 && !a->message[0])
                return apply_fail(a,
                                  r,
                                  "/etc/machine-id cannot be read; run systemd-machine-id-setup");
        return r < 0 ? r : 0;
}

int step_egress(void *ctx) {
        Apply *a = ctx;

        if (!a->c.egress_enforced)
                return 0;
        return apply_fail(
                        a,
                        -EOPNOTSUPP,
                        "NOTYET: this release cannot enforce the egress policy. Sandboxes would reach whatever the host's network reaches. If that is acceptable, say so: [Network] Egress=unenforced in %s",
                        a->p.conf);
}

/*
 * Modules that containers need and that neither the daemon nor anybody in its user namespace can
 * load. At boot systemd loads them from our modules-load.d file; now that is done by hand. A module
 * that is there counts; so does one that is built in, for which modprobe(8) succeeds.
 */
int step_modules(void *ctx) {
        static const char *const needed[] = { "bridge", "br_netfilter", "veth", "overlay" };
        Apply *a = ctx;
        int changed = 0;

        for (size_t i = 0; i < N_ELEMENTS(needed); i++) {
                char path[64];

                snprintf(path, sizeof(path), "/sys/module/%s", needed[i]);
                if (access(path, F_OK) == 0)
                        continue;
                if (apply_run(a, 60, "modprobe", needed[i], NULL) < 0)
                        return -EIO;
                changed |= access(path, F_OK) == 0;
        }
        /* the rest of the list differs between kernels: what is missing there is not needed here */
        if (changed)
                undo_run("systemctl", "restart", "systemd-modules-load.service", NULL);
        return changed;
}

int step_access_group(void *ctx) {
        Apply *a = ctx;
        int r;

        if (getgrnam(a->p.access_group))
                return 0;
        r = apply_run(a, 60, "groupadd", "--system", a->p.access_group, NULL);
        if (r < 0)
                return r;
        a->made |= MADE_ACCESS_GROUP;
        return 1;
}

void undo_access_group(void *ctx) {
        Apply *a = ctx;

        if (a->made & MADE_ACCESS_GROUP)
                undo_run("groupdel", a->p.access_group, NULL);
}

static void gecos(const Apply *a, char *ret, size_t n) {
        snprintf(ret, n, "dindhost profile %s", a->p.alias);
}

int apply_find_account(Apply *a) {
        const struct passwd *pw = getpwnam(a->p.account);
        char comment[64];

        if (!pw)
                return apply_fail(a,
                                  -ENOENT,
                                  "there is no account '%s': the profile was not applied",
                                  a->p.account);
        gecos(a, comment, sizeof(comment));
        if (strcmp(pw->pw_gecos, comment) || strcmp(pw->pw_dir, a->p.home) || pw->pw_uid == 0)
                return apply_fail(
                                a,
                                -EEXIST,
                                "the account '%s' is there and is not ours (its comment must be '%s', its home %s); remove or rename it",
                                a->p.account,
                                comment,
                                a->p.home);
        a->uid = pw->pw_uid;
        a->gid = pw->pw_gid;
        return 0;
}

int step_account(void *ctx) {
        Apply *a = ctx;
        char comment[64];
        int r;

        if (getpwnam(a->p.account))
                return apply_find_account(a);
        a->fresh = true;
        gecos(a, comment, sizeof(comment));
        if (!getgrnam(a->p.account)) {
                r = apply_run(a, 60, "groupadd", "--system", a->p.account, NULL);
                if (r < 0)
                        return r;
                a->made |= MADE_GROUP;
        }
        r = apply_run(a,
                      60,
                      "useradd",
                      "--system",
                      "--gid",
                      a->p.account,
                      "--home-dir",
                      a->p.home,
                      "--no-create-home",
                      "--shell",
                      "/usr/sbin/nologin",
                      "--comment",
                      comment,
                      a->p.account,
                      NULL);
        if (r < 0)
                return r;
        a->made |= MADE_ACCOUNT;
        r = apply_find_account(a);
        return r < 0 ? r : 1;
}

/* userdel(8) also takes the subordinate ids out. */
void undo_account(void *ctx) {
        Apply *a = ctx;

        if (a->made & MADE_ACCOUNT)
                undo_run("userdel", a->p.account, NULL);
        if (a->made & MADE_GROUP)
                undo_run("groupdel", a->p.account, NULL);
}

typedef struct Ranges {
        bool has_own;  /* the account has its 65536 already */
        uint64_t free; /* first id from which 65536 are free in what was read so far */
} Ranges;

/* One pass over /etc/subuid or /etc/subgid. Overlaps push `free` up; 1 when it moved. */
static int scan_ranges(const char *file, const char *account, Ranges *r) {
        CLEANUP(freep) char *text = NULL;
        char *save = NULL;
        int moved = 0;

        if (file_read(file, 16 * 1024 * 1024, &text, NULL) < 0)
                return 0;
        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                char name[256];
                unsigned long long first, count;

                if (sscanf(line, "%255[^:]:%llu:%llu", name, &first, &count) != 3)
                        continue;
                if (!strcmp(name, account) && count >= SUBORDINATE_COUNT)
                        r->has_own = true;
                if (first < r->free + SUBORDINATE_COUNT && r->free < first + count) {
                        r->free = first + count;
                        moved = 1;
                }
        }
        return moved;
}

/* Real accounts in the range would be owned by containers. */
static int skip_accounts(Ranges *r) {
        const struct passwd *pw;
        int moved = 0;

        setpwent();
        while ((pw = getpwent()))
                if (pw->pw_uid >= r->free && pw->pw_uid < r->free + SUBORDINATE_COUNT) {
                        r->free = (uint64_t) pw->pw_uid + 1;
                        moved = 1;
                }
        endpwent();
        return moved;
}

int step_subordinate_ids(void *ctx) {
        Apply *a = ctx;
        Ranges users = { .free = SUBORDINATE_FIRST }, groups = { .free = SUBORDINATE_FIRST };
        char range[64];

        (void) scan_ranges("/etc/subuid", a->p.account, &users);
        (void) scan_ranges("/etc/subgid", a->p.account, &groups);
        if (users.has_own && groups.has_own)
                return 0;
        if (users.has_own || groups.has_own)
                return apply_fail(
                                a,
                                -EEXIST,
                                "'%s' has subordinate ids in only one of /etc/subuid and /etc/subgid; take its line out",
                                a->p.account);
        /* one range for both, free in both files and among accounts */
        users.free = SUBORDINATE_FIRST;
        while (scan_ranges("/etc/subuid", a->p.account, &users) |
               scan_ranges("/etc/subgid", a->p.account, &users) | skip_accounts(&users))
                if (users.free > SUBORDINATE_LAST)
                        return apply_fail(
                                        a,
                                        -ENOSPC,
                                        "no 65536 subordinate ids are free in /etc/subuid and /etc/subgid");
        snprintf(range,
                 sizeof(range),
                 "%llu-%llu",
                 (unsigned long long) users.free,
                 (unsigned long long) (users.free + SUBORDINATE_COUNT - 1));
        /* usermod(8) locks both files; the account's removal takes them out again */
        if (apply_run(a,
                      60,
                      "usermod",
                      "--add-subuids",
                      range,
                      "--add-subgids",
                      range,
                      a->p.account,
                      NULL) < 0)
                return -EIO;
        return 1;
}

static bool is_member(const char *group, const char *user) {
        const struct group *g = getgrnam(group);

        for (char **m = g ? g->gr_mem : NULL; m && *m; m++)
                if (!strcmp(*m, user))
                        return true;
        return false;
}

int step_access_users(void *ctx) {
        Apply *a = ctx;
        int changed = 0;

        for (size_t i = 0; i < a->c.n_access_users; i++) {
                const char *user = a->c.access_users[i];
                int r;

                if (!getpwnam(user))
                        return apply_fail(
                                        a,
                                        -ENOENT,
                                        "[Profile] AccessUsers= names '%s', who is not a user of this host",
                                        user);
                if (is_member(a->p.access_group, user))
                        continue;
                r = apply_run(a,
                              60,
                              "usermod",
                              "--append",
                              "--groups",
                              a->p.access_group,
                              user,
                              NULL);
                if (r < 0)
                        return r;
                changed = 1;
        }
        return changed;
}

int step_state(void *ctx) {
        Apply *a = ctx;
        bool state = access(a->p.state, F_OK) == 0, home = access(a->p.home, F_OK) == 0;
        int r, changed = 0;

        r = dir_make(a->p.state, 0755, 0, 0);
        if (r >= 0) {
                a->made |= state ? 0 : MADE_STATE;
                changed |= r;
                r = dir_make(a->p.home, 0700, a->uid, a->gid);
        }
        if (r >= 0) {
                a->made |= home ? 0 : MADE_HOME;
                changed |= r;
        }
        if (r < 0)
                return apply_fail(a, r, "%s: %s", a->p.state, strerror(-r));
        return changed;
}

void undo_state(void *ctx) {
        Apply *a = ctx;

        /* what the daemon wrote into its home goes with it */
        if (a->made & MADE_HOME)
                undo_run("rm", "-rf", "--one-file-system", "--", a->p.home, NULL);
        if (a->made & MADE_STATE)
                undo_run("rm", "-rf", "--one-file-system", "--", a->p.state, NULL);
}
