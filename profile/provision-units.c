/* SPDX-License-Identifier: MIT */
/* Slice, user manager, socket folders, the daemon's configuration, and starting it. */
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/engine.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/provision.h"

#define UNITS "/etc/systemd/system"

static int reload_manager(Apply *a) {
        return apply_run(a, 120, "systemctl", "daemon-reload", NULL);
}

/* UNITS/UNIT.d/50-dindhost.conf. 1 written, 0 same. */
static int apply_dropin(Apply *a, const char *unit, const char *text, uint32_t bit) {
        CLEANUP(freep) char *dir = text_format(UNITS "/%s.d", unit);
        CLEANUP(freep) char *file = text_format(UNITS "/%s.d/50-dindhost.conf", unit);
        int r;

        if (!dir || !file)
                return -ENOMEM;
        r = dir_make(dir, 0755, 0, 0);
        if (r < 0)
                return apply_fail(a, r, "%s: %s", dir, strerror(-r));
        r = apply_file(a, file, text, bit);
        if (r <= 0)
                return r;
        return reload_manager(a) < 0 ? -EIO : 1;
}

static void remove_dropin(const char *unit) {
        CLEANUP(freep) char *dir = text_format(UNITS "/%s.d", unit);
        CLEANUP(freep) char *file = text_format(UNITS "/%s.d/50-dindhost.conf", unit);

        if (dir && file) {
                (void) unlink(file);
                (void) rmdir(dir);
        }
        undo_run("systemctl", "daemon-reload", NULL);
}

/* ---- slice ---- */

static void slice_unit(const Apply *a, char ret[static 64]) {
        snprintf(ret, 64, "user-%u.slice", (unsigned) a->uid);
}

int step_slice(void *ctx) {
        Apply *a = ctx;
        CLEANUP(freep) char *text = NULL;
        char unit[64];
        int r;

        text = text_format(
                        "# Written by 'dindhost profile apply %s': the aggregate limits of the profile.\n"
                        "[Slice]\nCPUQuota=%llu.%llu%%\nMemoryMax=%llu\nMemorySwapMax=0\nTasksMax=%llu\n"
                        "CPUAccounting=yes\nMemoryAccounting=yes\nTasksAccounting=yes\nIOAccounting=yes\n",
                        a->p.alias,
                        (unsigned long long) (a->c.aggregate_cpus_milli / 10),
                        (unsigned long long) (a->c.aggregate_cpus_milli % 10),
                        (unsigned long long) a->c.aggregate_memory_bytes,
                        (unsigned long long) a->c.aggregate_pids);
        if (!text)
                return -ENOMEM;
        slice_unit(a, unit);
        r = apply_dropin(a, unit, text, MADE_SLICE);
        return r;
}

void undo_slice(void *ctx) {
        Apply *a = ctx;
        char unit[64];

        slice_unit(a, unit);
        if (a->made & MADE_SLICE)
                remove_dropin(unit);
}

/* ---- user manager ---- */

static void manager_unit(const Apply *a, char ret[static 64]) {
        snprintf(ret, 64, "user@%u.service", (unsigned) a->uid);
}

static bool bus_is_there(const Apply *a) {
        char path[64];
        struct stat st;

        snprintf(path, sizeof(path), "/run/user/%u/bus", (unsigned) a->uid);
        return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

static bool lingers(const Apply *a) {
        char path[128];

        snprintf(path, sizeof(path), "/var/lib/systemd/linger/%s", a->p.account);
        return access(path, F_OK) == 0;
}

static int wait_for_bus(Apply *a) {
        uint64_t end = boottime_usec() + a->c.daemon_start_timeout_usec;

        while (!bus_is_there(a)) {
                if (boottime_usec() > end)
                        return apply_fail(
                                        a,
                                        -ETIMEDOUT,
                                        "the user manager of %s has no bus at /run/user/%u/bus; install dbus-user-session and libpam-systemd, or raise [Docker] StartTimeout=",
                                        a->p.account,
                                        (unsigned) a->uid);
                usleep(100000);
        }
        return 0;
}

int step_user_manager(void *ctx) {
        Apply *a = ctx;
        static const char text[] =
                        "# Written by 'dindhost profile apply': rootless Docker limits its containers with these.\n"
                        "[Service]\nDelegate=cpu cpuset io memory pids\n";
        char unit[64];
        int r, changed;

        manager_unit(a, unit);
        changed = apply_dropin(a, unit, text, MADE_USER_MANAGER);
        if (changed < 0)
                return changed;
        if (!lingers(a)) {
                r = apply_run(a, 120, "loginctl", "enable-linger", a->p.account, NULL);
                if (r < 0)
                        return r;
                a->made |= MADE_LINGER;
                changed = 1;
        }
        if (!bus_is_there(a)) {
                /* lingering that was there before does not start a manager that somebody stopped */
                r = apply_run(a, 300, "systemctl", "start", unit, NULL);
                if (r >= 0)
                        r = wait_for_bus(a);
                if (r < 0)
                        return r;
                changed = 1;
        }
        return changed;
}

void undo_user_manager(void *ctx) {
        Apply *a = ctx;
        char unit[64];

        manager_unit(a, unit);
        if (a->made & MADE_LINGER) {
                undo_run("loginctl", "disable-linger", a->p.account, NULL);
                undo_run("systemctl", "stop", unit, NULL);
        }
        if (a->made & MADE_USER_MANAGER)
                remove_dropin(unit);
}

/* ---- socket folders ---- */

static char *tmpfiles_path(const Apply *a) {
        return text_format("/etc/tmpfiles.d/dindhost-%s.conf", a->p.alias);
}

int step_run_dir(void *ctx) {
        Apply *a = ctx;
        CLEANUP(freep) char *path = tmpfiles_path(a);
        CLEANUP(freep) char *text = NULL;
        bool there = access(a->p.engine_dir, F_OK) == 0;
        int r;

        /* The default ACL lets the access group use the socket that dockerd makes; see
         * docs/design.md. */
        text = text_format("# Written by 'dindhost profile apply %s'.\n"
                           "d %s 0755 root root -\n"
                           "d %s 0750 %s %s -\n"
                           "a+ %s - - - - g:%s:x,d:g:%s:rw\n",
                           a->p.alias,
                           a->p.run,
                           a->p.engine_dir,
                           a->p.account,
                           a->p.account,
                           a->p.engine_dir,
                           a->p.access_group,
                           a->p.access_group);
        if (!path || !text)
                return -ENOMEM;
        r = apply_file(a, path, text, MADE_TMPFILES);
        if (r < 0 || (r == 0 && there))
                return r;
        return apply_run(a, 60, "systemd-tmpfiles", "--create", path, NULL) < 0 ? -EIO : 1;
}

void undo_run_dir(void *ctx) {
        Apply *a = ctx;
        CLEANUP(freep) char *path = tmpfiles_path(a);

        if (!(a->made & MADE_TMPFILES) || !path)
                return;
        (void) unlink(path);
        (void) rmdir(a->p.engine_dir);
        (void) rmdir(a->p.run);
}

/* ---- configuration of the daemon ---- */

static json_t *daemon_config(const Apply *a) {
        CLEANUP(freep) char *host = text_format("unix://%s", a->p.engine_socket);

        if (!host)
                return NULL;
        return json_pack(
                        "{s:s, s:[s], s:[s], s:s, s:b, s:b, s:[{s:s, s:i}], s:s, s:{s:s, s:s}, s:s, s:{s:{s:s}}, s:s}",
                        "data-root",
                        a->p.docker_root,
                        "hosts",
                        host,
                        "exec-opts",
                        "native.cgroupdriver=systemd",
                        "bridge",
                        "none",
                        "ipv6",
                        0,
                        "userland-proxy",
                        0,
                        /* away from the addresses that daemons inside sandboxes choose */
                        "default-address-pools",
                        "base",
                        "10.201.0.0/16",
                        "size",
                        28,
                        "log-driver",
                        "json-file",
                        "log-opts",
                        "max-size",
                        "1m",
                        "max-file",
                        "2",
                        "default-runtime",
                        "dindhost",
                        /* crun puts what is executed in a sandbox into the sandbox's own cgroup
                         * also when that one has children; rootless runc leaves it in the daemon's
                         */
                        "runtimes",
                        "dindhost",
                        "path",
                        a->c.runtime,
                        "storage-driver",
                        "overlay2");
}

static char *daemon_env_path(const Apply *a) {
        return text_format("%s/dockerd.env", a->p.state);
}

static int write_env(Apply *a) {
        CLEANUP(freep) char *path = daemon_env_path(a);
        CLEANUP(freep)
        char *text = text_format(
                        "HOME=%s\nDINDHOST_ROOTLESS_SCRIPT=%s\n", a->p.home, a->c.rootless_script);

        return path && text ? apply_file(a, path, text, MADE_DAEMON_CONFIG) : -ENOMEM;
}

static void daemon_unit(const Apply *a, char ret[static 96]) {
        snprintf(ret, 96, "dindhost-dockerd@%s.service", a->p.alias);
}

int step_daemon_config(void *ctx) {
        Apply *a = ctx;
        CLEANUP(json_decrefp) json_t *config = daemon_config(a);
        CLEANUP(freep) char *text = NULL, *dropin = NULL;
        char unit[96];
        int r, changed;

        if (!config)
                return -ENOMEM;
        r = json_canonical(config, &text, NULL);
        if (r < 0)
                return r;
        changed = apply_file(a, a->p.daemon_config, text, MADE_DAEMON_CONFIG);
        if (changed < 0)
                return changed;
        r = write_env(a);
        if (r < 0)
                return r;
        a->daemon_changed = changed | r;
        dropin = text_format(
                        "# Written by 'dindhost profile apply %s'.\n"
                        "[Unit]\nRequires=user@%u.service\nAfter=user@%u.service\n"
                        "[Service]\nEnvironment=XDG_RUNTIME_DIR=/run/user/%u\nTimeoutStartSec=%llus\nTimeoutStopSec=%llus\n",
                        a->p.alias,
                        (unsigned) a->uid,
                        (unsigned) a->uid,
                        (unsigned) a->uid,
                        (unsigned long long) (a->c.daemon_start_timeout_usec / USEC_PER_SEC) + 1,
                        (unsigned long long) (a->c.daemon_start_timeout_usec / USEC_PER_SEC) + 1);
        if (!dropin)
                return -ENOMEM;
        daemon_unit(a, unit);
        r = apply_dropin(a, unit, dropin, MADE_DAEMON_DROPIN);
        return r < 0 ? r : r | (int) a->daemon_changed;
}

void undo_daemon_config(void *ctx) {
        Apply *a = ctx;
        CLEANUP(freep) char *env = daemon_env_path(a);
        char unit[96];

        daemon_unit(a, unit);
        if (a->made & MADE_DAEMON_DROPIN)
                remove_dropin(unit);
        if (a->made & MADE_DAEMON_CONFIG) {
                (void) unlink(a->p.daemon_config);
                if (env)
                        (void) unlink(env);
        }
}

/* ---- daemon ---- */

/* The last lines of the daemon, for the message. */
static int daemon_failed(Apply *a, const char *what) {
        return apply_fail(a,
                          -EIO,
                          "%s; its log: journalctl _SYSTEMD_USER_UNIT=dindhost-dockerd@%s.service",
                          what,
                          a->p.alias);
}

static int wait_for_engine(Apply *a) {
        uint64_t end = boottime_usec() + a->c.daemon_start_timeout_usec;

        for (;;) {
                EngineReply reply = { 0 };
                int r = engine_request(a->p.engine_socket,
                                       "GET",
                                       "/_ping",
                                       NULL,
                                       5 * USEC_PER_SEC,
                                       &reply);
                bool ok = r >= 0 && reply.status == 200;

                engine_reply_donep(&reply);
                if (ok)
                        return 0;
                if (boottime_usec() > end)
                        return daemon_failed(
                                        a,
                                        "the daemon does not answer on its socket in [Docker] StartTimeout=");
                usleep(200000);
        }
}

int step_daemon(void *ctx) {
        Apply *a = ctx;
        char unit[96];
        bool active;
        int r;

        daemon_unit(a, unit);
        active = unit_active(unit);
        if (active && !a->daemon_changed)
                return wait_for_engine(a);
        if (!active)
                a->made |= MADE_DAEMON_RUNNING;
        r = apply_run(a,
                      (unsigned) (a->c.daemon_start_timeout_usec / USEC_PER_SEC) + 30,
                      "systemctl",
                      active ? "restart" : "start",
                      unit,
                      NULL);
        if (r < 0)
                return daemon_failed(a, "the rootless daemon did not start");
        r = wait_for_engine(a);
        return r < 0 ? r : 1;
}

void undo_daemon(void *ctx) {
        Apply *a = ctx;
        char unit[96];

        daemon_unit(a, unit);
        if (a->made & MADE_DAEMON_RUNNING)
                undo_run("systemctl", "stop", unit, NULL);
}
