/* SPDX-License-Identifier: MIT */
/* Descriptor, services, attestation, and publication as the last step. */
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/engine.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "profile/control-client.h"
#include "profile/provision.h"

/* ---- descriptor ---- */

static int filesystem_identity(Apply *a, char ret[static 64]) {
        struct stat st;

        if (stat(a->p.mount, &st) < 0)
                return apply_fail(a, -errno, "%s: %s", a->p.mount, strerror(errno));
        snprintf(ret,
                 64,
                 "dev=%llu:ino=%llu",
                 (unsigned long long) st.st_dev,
                 (unsigned long long) st.st_ino);
        return 0;
}

int step_descriptor(void *ctx) {
        Apply *a = ctx;
        CLEANUP(json_decrefp) json_t *root = NULL;
        CLEANUP(freep) char *group = NULL, *aggregate = NULL, *text = NULL;
        DescriptorFacts facts = { .alias = a->p.alias,
                                  .machine_identity = a->machine_identity,
                                  .account_uid = a->uid,
                                  .account_gid = a->gid };
        char identity[64], unit[64];
        int r;

        /* the path is systemd's word: a dash in a slice's name means nesting */
        snprintf(unit, sizeof(unit), "user-%u.slice", (unsigned) a->uid);
        group = unit_property(unit, "ControlGroup");
        if (!group || group[0] != '/')
                return apply_fail(a, -ENOENT, "systemd has no cgroup for %s", unit);
        aggregate = text_format("/sys/fs/cgroup%s", group);
        r = aggregate ? filesystem_identity(a, identity) : -ENOMEM;
        if (r < 0)
                return r;
        facts.aggregate_path = aggregate;
        facts.filesystem_identity = identity;
        r = descriptor_build(&a->c, &a->p, &facts, &root);
        if (r >= 0)
                r = json_canonical(root, &text, NULL);
        if (r < 0)
                return apply_fail(a, r, "cannot build the descriptor: %s", strerror(-r));
        r = apply_file(a, a->p.descriptor, text, MADE_DESCRIPTOR);
        a->descriptor_changed = r > 0;
        return r;
}

void undo_descriptor(void *ctx) {
        Apply *a = ctx;

        if (a->made & MADE_DESCRIPTOR)
                (void) unlink(a->p.descriptor);
}

/* ---- services ---- */

static void unit_name(const Apply *a, const char *kind, const char *suffix, char ret[static 96]) {
        snprintf(ret, 96, "dindhost-%s@%s.%s", kind, a->p.alias, suffix);
}

static int start_unit(Apply *a, const char *kind, const char *suffix, bool restart) {
        char unit[96];
        bool active;

        unit_name(a, kind, suffix, unit);
        active = unit_active(unit);
        if (active && !restart)
                return 0;
        if (!active)
                a->made |= MADE_SERVICES_RUNNING;
        return apply_run(a, 300, "systemctl", active ? "restart" : "start", unit, NULL) < 0 ? -EIO
                                                                                            : 1;
}

/* Has the profile file, the table or the descriptor changed since the watchdog was started? */
static bool watchdog_is_stale(const Apply *a) {
        CLEANUP(freep) char *since = NULL;
        char unit[96];
        struct stat st;
        long long started;

        if (a->descriptor_changed || a->table_changed)
                return true;
        unit_name(a, "watchdog", "service", unit);
        since = unit_property(unit, "ActiveEnterTimestampMonotonic");
        started = since ? strtoll(since, NULL, 10) : 0;
        if (started <= 0 || stat(a->p.conf, &st) < 0)
                return false;
        started += (long long) (realtime_usec() - clock_usec(CLOCK_MONOTONIC));
        return (long long) st.st_mtim.tv_sec * 1000000 > started;
}

int step_services(void *ctx) {
        Apply *a = ctx;
        int r, changed = 0;
        bool stale = watchdog_is_stale(a);

        r = start_unit(a, "broker", "socket", false);
        if (r >= 0) {
                changed |= r;
                r = start_unit(a, "watchdog", "socket", false);
        }
        if (r >= 0) {
                changed |= r;
                r = start_unit(a, "watchdog", "service", stale);
        }
        return r < 0 ? r : changed | r;
}

void undo_services(void *ctx) {
        static const char *const units[][2] = { { "watchdog", "service" },
                                                { "watchdog", "socket" },
                                                { "broker", "service" },
                                                { "broker", "socket" } };
        Apply *a = ctx;

        if (!(a->made & MADE_SERVICES_RUNNING))
                return;
        for (size_t i = 0; i < N_ELEMENTS(units); i++) {
                char unit[96];

                unit_name(a, units[i][0], units[i][1], unit);
                undo_run("systemctl", "stop", unit, NULL);
        }
        if (a->made & MADE_STATE)
                undo_run("rm", "-rf", "--one-file-system", "--", a->p.ledger_dir, NULL);
}

/* ---- attestation ---- */

static int challenge(Apply *a, const Descriptor *d, const char *digest) {
        CLEANUP(json_decrefp) json_t *request = NULL, *reply = NULL;
        uint64_t end = boottime_usec() + a->c.daemon_start_timeout_usec;
        ControlError error = { 0 };
        char nonce[48];
        int r = random_token(24, nonce, sizeof(nonce));

        if (r < 0)
                return r;
        request = json_pack("{s:s, s:s}", "kind", "challenge", "clientNonce", nonce);
        for (;;) {
                const char *got;

                r = control_call(a->p.control_socket, request, 30 * USEC_PER_SEC, &reply, &error);
                if (r != 0)
                        return apply_fail(
                                        a, -EIO, "the watchdog does not attest: %s", error.message);
                got = json_string_value(json_object_get(reply, "descriptorDigest"));
                if (!got || strcmp(got, digest))
                        return apply_fail(a,
                                          -EIO,
                                          "the watchdog serves another descriptor (%s)",
                                          got ? got : "none");
                got = json_string_value(json_object_get(reply, "clientNonce"));
                if (!got || strcmp(got, nonce))
                        return apply_fail(a, -EIO, "the watchdog did not echo the nonce");
                got = json_string_value(json_object_get(reply, "profileId"));
                if (!got || strcmp(got, d->profile_id))
                        return apply_fail(a, -EIO, "the watchdog serves another profile");
                if (json_is_true(json_object_get(reply, "admissionOpen")))
                        return 0;
                if (boottime_usec() > end)
                        return apply_fail(
                                        a,
                                        -ETIMEDOUT,
                                        "the watchdog keeps admission closed; see 'dindhost status %s'",
                                        a->p.alias);
                json_decref(reply);
                reply = NULL;
                usleep(200000);
        }
}

int step_attest(void *ctx) {
        Apply *a = ctx;
        CLEANUP(descriptor_freep) Descriptor *d = NULL;
        DescriptorError error;
        char digest[72];
        int r;

        r = descriptor_load(a->p.descriptor, &d, &error);
        if (r < 0)
                return apply_fail(a, r, "%s: %s", a->p.descriptor, error.message);
        r = descriptor_digest(d->root, digest);
        /* that the daemon is rootless, on cgroup v2, ... is the watchdog's own condition for
         * admission */
        return r < 0 ? r : challenge(a, d, digest);
}

/* ---- enable, publish ---- */

int step_enable(void *ctx) {
        Apply *a = ctx;
        CLEANUP(freep) char *state = NULL;
        char unit[96];
        bool active, enabled;

        snprintf(unit, sizeof(unit), "dindhost@%s.target", a->p.alias);
        state = unit_property(unit, "UnitFileState");
        enabled = state && !strcmp(state, "enabled");
        active = unit_active(unit);
        if (enabled && active)
                return 0;
        a->made |= (enabled ? 0 : MADE_ENABLED) | (active ? 0 : MADE_TARGET_RUNNING);
        return apply_run(a, 300, "systemctl", "enable", "--now", unit, NULL) < 0 ? -EIO : 1;
}

void undo_enable(void *ctx) {
        Apply *a = ctx;
        char unit[96];

        snprintf(unit, sizeof(unit), "dindhost@%s.target", a->p.alias);
        if (a->made & MADE_ENABLED)
                undo_run("systemctl", "disable", unit, NULL);
        /* its services stop with it: only when they are this run's own */
        if ((a->made & MADE_TARGET_RUNNING) && (a->made & MADE_SERVICES_RUNNING))
                undo_run("systemctl", "stop", unit, NULL);
}

/* A folder of root's, noted by bit when it was not there; one that is there is left as it is. */
static int make_folder(Apply *a, const char *path, uint32_t bit) {
        int r;

        if (access(path, F_OK) == 0)
                return 0;
        r = dir_make(path, 0755, 0, 0);
        if (r < 0)
                return apply_fail(a, r, "%s: %s", path, strerror(-r));
        a->made |= bit;
        return 1;
}

static int make_registry(Apply *a) {
        CLEANUP(freep) char *copy = strdup(REGISTRY_DIR);
        int r;

        if (!copy)
                return -ENOMEM;
        r = make_folder(a, dirname(copy), MADE_REGISTRY_PARENT);
        return r < 0 ? r : make_folder(a, REGISTRY_DIR, MADE_REGISTRY_DIR);
}

int step_publish(void *ctx) {
        Apply *a = ctx;
        CLEANUP(freep) char *text = NULL;
        int r = make_registry(a);

        if (r >= 0)
                r = file_read(a->p.descriptor, DESCRIPTOR_MAX, &text, NULL);
        if (r < 0)
                return a->message[0] ? r
                                     : apply_fail(a, r, "%s: %s", a->p.descriptor, strerror(-r));
        return apply_file(a, a->p.registry_file, text, MADE_PUBLISHED);
}

void undo_publish(void *ctx) {
        Apply *a = ctx;
        char copy[] = REGISTRY_DIR;

        if (a->made & MADE_PUBLISHED)
                (void) unlink(a->p.registry_file);
        if (a->made & MADE_REGISTRY_DIR)
                (void) rmdir(REGISTRY_DIR);
        if (a->made & MADE_REGISTRY_PARENT)
                (void) rmdir(dirname(copy));
}
