/* SPDX-License-Identifier: MIT */
/* Cgroup checks: the aggregate limits, and that nothing of the profile is outside of them. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/text.h"
#include "profile/cgroup-limits.h"
#include "profile/doctor.h"
#include "profile/kernel-text.h"
#include "profile/procs.h"
#include "profile/unit-facts.h"

#define CGROUP_ROOT "/sys/fs/cgroup"

static void apply_again(const Doctor *d, Finding *f) {
        finding_cure(f, "dindhost profile apply %s", d->alias);
}

/* The path is systemd's word: a dash in a slice's name means nesting. */
static void check_aggregate(Doctor *d, Finding *f) {
        CLEANUP(freep) char *group = NULL;
        const char *published = d->descriptor->aggregate_path;
        char unit[64];
        int r;

        snprintf(unit, sizeof(unit), "user-%u.slice", (unsigned) d->uid);
        r = unit_text(unit, "Slice", "ControlGroup", &group);
        if (r < 0 || group[0] != '/') {
                finding_fail(f,
                             "%s has no cgroup%s%s",
                             unit,
                             r < 0 ? ": " : "",
                             r < 0 ? strerror(-r) : "");
                finding_cure(f, "systemctl start user@%u.service", (unsigned) d->uid);
                return;
        }
        if (!text_has_prefix(published, CGROUP_ROOT "/") ||
            strcmp(published + strlen(CGROUP_ROOT), group)) {
                finding_fail(f,
                             "%s is at %s%s, published is %s",
                             unit,
                             CGROUP_ROOT,
                             group,
                             published);
                apply_again(d, f);
                return;
        }
        snprintf(d->aggregate, sizeof(d->aggregate), "%s", group);
        finding_pass(f, "%s", published);
}

static void check_limits(Doctor *d, Finding *f) {
        const CgroupLimits want = {
                .cpus_milli = d->conf.aggregate_cpus_milli,
                .memory_bytes = d->conf.aggregate_memory_bytes,
                .pids = d->conf.aggregate_pids,
        };
        char dir[512], text[256];
        CgroupLimits got;
        int r;

        snprintf(dir, sizeof(dir), CGROUP_ROOT "%s", d->aggregate);
        r = cgroup_limits_read(dir, &got);
        if (r < 0)
                finding_fail(f, "%s: %s", dir, strerror(-r));
        else if (!cgroup_limits_match(&want, &got, text, sizeof(text)))
                finding_fail(f, "%s: %s", dir, text);
        else {
                finding_pass(f, "%s", cgroup_limits_format(text, sizeof(text), &got));
                return;
        }
        apply_again(d, f);
}

/* Are cpu, memory and pids in the file? Names what is missing. */
static bool has_controllers(const char *dir, const char *file, Finding *f) {
        static const char *const needed[] = { "cpu", "memory", "pids" };
        CLEANUP(freep) char *path = text_format("%s/%s", dir, file);
        CLEANUP(freep) char *text = NULL;
        int r = path ? file_read(path, 4096, &text, NULL) : -ENOMEM;

        if (r < 0) {
                finding_fail(f, "%s/%s: %s", dir, file, strerror(-r));
                return false;
        }
        text[strcspn(text, "\n")] = 0;
        for (size_t i = 0; i < N_ELEMENTS(needed); i++)
                if (!has_word(text, needed[i])) {
                        finding_fail(f, "%s/%s has no %s, only '%s'", dir, file, needed[i], text);
                        return false;
                }
        return true;
}

static void check_delegated(Doctor *d, Finding *f) {
        char dir[512];
        struct stat st;

        snprintf(dir,
                 sizeof(dir),
                 CGROUP_ROOT "%s/user@%u.service",
                 d->aggregate,
                 (unsigned) d->uid);
        if (has_controllers(dir, "cgroup.controllers", f) &&
            has_controllers(dir, "cgroup.subtree_control", f)) {
                if (stat(dir, &st) < 0)
                        finding_fail(f, "%s: %s", dir, strerror(errno));
                else if (st.st_uid != d->uid)
                        finding_fail(f, "%s belongs to uid %u", dir, (unsigned) st.st_uid);
                else {
                        finding_pass(f, "cpu, memory and pids are delegated to %s", dir);
                        return;
                }
        }
        finding_cure(f,
                     "dindhost profile apply %s; systemctl restart user@%u.service (this ends its "
                     "sandboxes)",
                     d->alias,
                     (unsigned) d->uid);
}

typedef struct Census {
        const Doctor *d;
        size_t n;
        Proc outside;
} Census;

static bool is_of_profile(const Doctor *d, const Proc *p) {
        for (size_t i = 0; i < N_ELEMENTS(p->uids); i++)
                if (p->uids[i] == d->uid ||
                    (p->uids[i] >= d->subuid_first &&
                     p->uids[i] - d->subuid_first < d->subuid_count))
                        return true;
        return false;
}

static bool count_process(void *userdata, const Proc *p) {
        Census *c = userdata;

        if (!is_of_profile(c->d, p))
                return true;
        c->n++;
        if (cgroup_is_below(p->cgroup, c->d->aggregate))
                return true;
        c->outside = *p;
        return false;
}

static void check_processes(Doctor *d, Finding *f) {
        Census c = { .d = d };
        int r = procs_each(count_process, &c);

        if (r < 0) {
                finding_fail(f, "the processes cannot be listed: %s", strerror(-r));
                finding_cure(f, "run as root, with /proc mounted without hidepid");
        } else if (c.outside.pid) {
                finding_fail(f,
                             "process %d (%s) of the profile is in %s, outside %s",
                             (int) c.outside.pid,
                             c.outside.comm,
                             c.outside.cgroup,
                             d->aggregate);
                finding_cure(f,
                             "end it (kill %d) and find out what started it; only the profile's own "
                             "units may run as %s",
                             (int) c.outside.pid,
                             d->paths.account);
        } else if (c.n == 0) {
                finding_fail(f, "no process of the profile can be seen");
                finding_cure(f,
                             "run as root; then see 'systemctl status dindhost@%s.target'",
                             d->alias);
        } else
                finding_pass(f, "all %zu processes are strictly below %s", c.n, d->aggregate);
}

/* clang-format off */
static const Check checks[] = {
        { "cgroup.aggregate", "the account's slice is the published aggregate",         "host.systemd profile.account profile.descriptor", check_aggregate },
        { "cgroup.limits",    "the kernel holds the aggregate limits",                  "profile.file cgroup.aggregate", check_limits },
        { "cgroup.delegated", "controllers are delegated to the account's manager",     "cgroup.aggregate", check_delegated },
        { "cgroup.processes", "every process of the profile is below the aggregate",    "profile.subordinate-ids cgroup.aggregate", check_processes },
};
/* clang-format on */

const CheckTable checks_cgroup = { checks, N_ELEMENTS(checks) };
