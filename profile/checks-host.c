/* SPDX-License-Identifier: MIT */
/*
 * Host checks: what a profile needs of the machine, also before anything is installed
 *
 * None of them needs another, so that an unfit host hears of everything that is missing at once.
 */
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/conf-keys.h"
#include "profile/doctor.h"
#include "profile/kernel-text.h"
#include "profile/sizing.h"

#define CONTROLLERS "cpu memory pids"
#define DEFAULT_SCRIPT "/usr/share/docker.io/contrib/dockerd-rootless.sh"
#define BOOT_CURE "boot with systemd.unified_cgroup_hierarchy=1 on the kernel's command line"

/* Appends a word to a space-separated list that is cut when it is full. */
static void add_word(char *list, size_t n, const char *word) {
        size_t used = strlen(list);

        snprintf(list + used, n - used, "%s%s", used ? " " : "", word);
}

static void check_systemd(Doctor *d, Finding *f) {
        CLEANUP(freep) char *comm = NULL;

        if (d->kernel.systemd) {
                finding_pass(f, "PID 1 is systemd");
                return;
        }
        if (file_read("/proc/1/comm", 64, &comm, NULL) >= 0)
                comm[strcspn(comm, "\n")] = 0;
        finding_fail(f, "PID 1 is '%s', not systemd", comm ? comm : "unknown");
        finding_cure(f,
                     "use a machine that is booted with systemd (not a container); a virtual "
                     "machine will do");
}

static void check_run_systemd(Doctor *d UNUSED, Finding *f) {
        static const char *const needed[] = { "/run/systemd/system", "/run/systemd/private" };

        for (size_t i = 0; i < N_ELEMENTS(needed); i++)
                if (access(needed[i], F_OK) < 0) {
                        finding_fail(f, "%s is not there", needed[i]);
                        finding_cure(f, "boot this machine with systemd as PID 1");
                        return;
                }
        finding_pass(f, "/run/systemd is the service manager's");
}

static void check_cgroup_v2(Doctor *d, Finding *f) {
        if (d->kernel.cgroup_v2) {
                finding_pass(f, "cgroup v2 alone is mounted at /sys/fs/cgroup");
                return;
        }
        finding_fail(f,
                     "%s%s",
                     d->kernel.cgroup_text,
                     access("/sys/fs/cgroup/unified/cgroup.controllers", F_OK) == 0
                                     ? " (hybrid: v2 is at /sys/fs/cgroup/unified)"
                                     : "");
        finding_cure(f, BOOT_CURE);
}

/* Without it root of a sandbox could raise its own limits through its cgroup files. */
static void check_nsdelegate(Doctor *d, Finding *f) {
        if (d->kernel.nsdelegate) {
                finding_pass(f, "cgroup2 is mounted with nsdelegate");
                return;
        }
        finding_fail(f, "cgroup2 is not mounted at /sys/fs/cgroup with nsdelegate");
        finding_cure(f,
                     d->kernel.cgroup_v2 ? "mount -o remount,nsdelegate /sys/fs/cgroup; systemd "
                                           "does it at boot"
                                         : BOOT_CURE);
}

static void check_controllers(Doctor *d, Finding *f) {
        CLEANUP(freep) char *text = NULL;
        char bound[128] = "";

        if (d->kernel.controllers) {
                finding_pass(f, "at the root of cgroup v2: %s", d->kernel.controllers_text);
                return;
        }
        if (file_read("/proc/cgroups", 64 * 1024, &text, NULL) >= 0 &&
            cgroup_v1_bound(text, CONTROLLERS, bound, sizeof(bound)) > 0) {
                finding_fail(f, "controllers bound to hierarchies of version 1: %s", bound);
                finding_cure(f, BOOT_CURE);
                return;
        }
        finding_fail(f,
                     "cgroup v2 offers '%s' at its root; %s are needed",
                     d->kernel.controllers_text,
                     CONTROLLERS);
        finding_cure(f,
                     "use a kernel with CONFIG_CGROUP_SCHED, CONFIG_MEMCG and CONFIG_CGROUP_PIDS, "
                     "without cgroup_disable= on its command line");
}

static void check_project_quota(Doctor *d, Finding *f) {
        struct utsname u;

        if (d->kernel.project_quota) {
                finding_pass(f, "the kernel has quota of format v2, and so ext4's project quota");
                return;
        }
        finding_fail(f,
                     "the kernel %s has no quota of format v2, so ext4 cannot limit projects",
                     uname(&u) == 0 ? u.release : "");
        finding_cure(f,
                     "use a kernel with CONFIG_QUOTA and CONFIG_QFMT_V2 (every distribution's "
                     "generic one; the module is quota_v2)");
}

static void check_user_namespaces(Doctor *d, Finding *f) {
        if (d->kernel.user_namespaces) {
                finding_pass(f, "ordinary users may make user namespaces");
                return;
        }
        finding_fail(f, "user namespaces are forbidden: %s", d->kernel.user_namespaces_text);
        if (strstr(d->kernel.user_namespaces_text, "apparmor"))
                finding_cure(f,
                             "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor "
                             "profile with 'userns,' for rootlesskit");
        else
                finding_cure(f,
                             "set it with sysctl, and in /etc/sysctl.d/ for the next boot "
                             "(user.max_user_namespaces to some thousands, "
                             "kernel.unprivileged_userns_clone to 1)");
}

typedef enum ModuleState { MODULE_ABSENT, MODULE_LOADABLE, MODULE_THERE } ModuleState;

/*
 * Loaded modules are folders of /sys/module; of built-in ones only those with parameters are, so
 * for the others modules.builtin is asked, and where that file is missing, a symbol that the module
 * cannot be without (kallsyms gives names to everybody, even where it hides addresses).
 */
static bool has_symbol(const char *prefix) {
        FILE *file = fopen("/proc/kallsyms", "re");
        char *line = NULL;
        bool found = false;
        size_t room = 0;

        while (file && !found && getline(&line, &room, file) > 0) {
                const char *name = strrchr(line, ' ');

                found = name && text_has_prefix(name + 1, prefix);
        }
        free(line);
        if (file)
                fclose(file);
        return found;
}

static bool is_listed(const char *file, const char *module) {
        CLEANUP(freep) char *path = NULL, *text = NULL;
        struct utsname u;

        if (uname(&u) < 0 || !(path = text_format("/lib/modules/%s/%s", u.release, file)))
                return false;
        return file_read(path, 64 * 1024 * 1024, &text, NULL) >= 0 &&
                        module_is_listed(text, module);
}

static ModuleState module_state(const char *module, const char *symbol) {
        char path[128];

        snprintf(path, sizeof(path), "/sys/module/%s", module);
        if (access(path, F_OK) == 0 || is_listed("modules.builtin", module) || has_symbol(symbol))
                return MODULE_THERE;
        return is_listed("modules.dep", module) ? MODULE_LOADABLE : MODULE_ABSENT;
}

static void check_modules(Doctor *d UNUSED, Finding *f) {
        static const struct {
                const char *name, *symbol;
        } modules[] = {
                { "overlay", "ovl_get_root" }, { "bridge", "br_handle_frame" },
                { "veth", "veth_xmit" },       { "br_netfilter", "br_nf_pre_routing" },
                { "tun", "tun_chr_open" },
        };
        char absent[128] = "", loadable[128] = "", there[128] = "";

        for (size_t i = 0; i < N_ELEMENTS(modules); i++) {
                ModuleState s = module_state(modules[i].name, modules[i].symbol);

                add_word(s == MODULE_THERE                      ? there
                                         : s == MODULE_LOADABLE ? loadable
                                                                : absent,
                         sizeof(there),
                         modules[i].name);
        }
        if (absent[0]) {
                finding_fail(f, "not in this kernel: %s", absent);
                if (loadable[0])
                        finding_add(f, "not loaded: %s", loadable);
                finding_cure(f,
                             "use a kernel that has them: every distribution's generic one does");
        } else if (loadable[0]) {
                finding_fail(f, "not loaded: %s; a user namespace cannot load modules", loadable);
                finding_cure(f,
                             "modprobe -a %s; the package's modules-load.d file does it at boot",
                             loadable);
        } else
                finding_pass(f, "there: %s", there);
}

/* The package that brings it, for the cure. */
static const struct {
        const char *program, *package;
} programs[] = {
        { "dockerd", "docker.io" },
        { "containerd", "containerd" },
        { "runc", "runc" },
        { "crun", "crun" },
        { "rootlesskit", "rootlesskit" },
        { "slirp4netns", "slirp4netns" },
        { "newuidmap", "uidmap" },
        { "newgidmap", "uidmap" },
        { "mkfs.ext4", "e2fsprogs" },
        { "useradd", "passwd" },
        { "systemctl", "systemd" },
        { "loginctl", "systemd" },
};

static void check_programs(Doctor *d UNUSED, Finding *f) {
        char missing[256] = "", packages[256] = "";

        for (size_t i = 0; i < N_ELEMENTS(programs); i++) {
                if (program_in_path(programs[i].program))
                        continue;
                add_word(missing, sizeof(missing), programs[i].program);
                if (!has_word(packages, programs[i].package))
                        add_word(packages, sizeof(packages), programs[i].package);
        }
        if (!missing[0]) {
                finding_pass(f, "all %zu are installed", N_ELEMENTS(programs));
                return;
        }
        finding_fail(f, "missing: %s", missing);
        finding_cure(f, "apt-get install %s", packages);
}

static void check_rootless_script(Doctor *d, Finding *f) {
        const ProfileConf *c = &d->conf;
        const char *path = c->rootless_script ? c->rootless_script : DEFAULT_SCRIPT;

        if (access(path, X_OK) == 0) {
                finding_pass(f, "%s", path);
                return;
        }
        finding_fail(f, "%s is not there or cannot be run", path);
        finding_cure(f,
                     "install docker.io (or docker-ce-rootless-extras), or name the program in the "
                     "profile file: [Docker] RootlessScript=");
}

/* newuidmap must be able to write id maps: set-uid root, or with file capabilities. */
static void check_newuidmap(Doctor *d UNUSED, Finding *f) {
        static const char *const names[] = { "/usr/bin/newuidmap", "/usr/bin/newgidmap" };

        for (size_t i = 0; i < N_ELEMENTS(names); i++) {
                struct stat st;

                if (stat(names[i], &st) < 0) {
                        finding_fail(f, "%s is not there", names[i]);
                        finding_cure(f, "apt-get install uidmap");
                        return;
                }
                if ((st.st_uid == 0 && (st.st_mode & S_ISUID)) ||
                    getxattr(names[i], "security.capability", NULL, 0) > 0)
                        continue;
                finding_fail(f,
                             "%s is neither set-uid root nor has it file capabilities",
                             names[i]);
                finding_cure(f, "apt-get install --reinstall uidmap");
                return;
        }
        finding_pass(f, "newuidmap and newgidmap have their privilege");
}

/* Rootless Docker asks its user's service manager for cgroups, over that manager's bus. */
static void check_user_bus(Doctor *d UNUSED, Finding *f) {
        static const char *const places[] = { "/usr/lib/systemd/user/dbus.socket",
                                              "/lib/systemd/user/dbus.socket",
                                              "/etc/systemd/user/dbus.socket" };

        for (size_t i = 0; i < N_ELEMENTS(places); i++)
                if (access(places[i], F_OK) == 0) {
                        finding_pass(f, "%s", places[i]);
                        return;
                }
        finding_fail(f, "there is no dbus.socket for user managers");
        finding_cure(f, "apt-get install dbus-user-session libpam-systemd");
}

static void check_service_user(Doctor *d UNUSED, Finding *f) {
        const struct passwd *pw = getpwnam(SERVICE_USER);

        if (pw && pw->pw_uid != 0) {
                finding_pass(f, "user '%s' has uid %u", SERVICE_USER, (unsigned) pw->pw_uid);
                return;
        }
        finding_fail(f, pw ? "user '%s' is root" : "there is no user '%s'", SERVICE_USER);
        finding_cure(f,
                     "install the package dindhost, or run systemd-sysusers with its sysusers.d file");
}

static void check_machine_id(Doctor *d UNUSED, Finding *f) {
        char id[33];
        int r = machine_identity(id);

        if (r >= 0) {
                finding_pass(f, "/etc/machine-id is set");
                return;
        }
        finding_fail(f, "/etc/machine-id cannot be used: %s", strerror(-r));
        finding_cure(f, "systemd-machine-id-setup");
}

static void check_disk(Doctor *d, Finding *f) {
        CLEANUP(profile_conf_donep) ProfileConf c = { 0 };
        CLEANUP(freep) char *message = NULL;
        char size[32];
        HostFacts host;
        int r;

        /* a profile that is there has its disk already */
        if (d->alias && access(d->paths.pool_image, F_OK) == 0) {
                finding_pass(f, "the pool image is there");
                return;
        }
        r = host_facts(STATE_DIR, &host);
        if (r >= 0)
                r = conf_set_defaults(&c);
        if (r >= 0)
                r = sizing_propose(&host, &(SizingWish){ 0 }, &c, &message);
        if (r >= 0) {
                finding_pass(f,
                             "%s free for %s",
                             format_size_human(size, sizeof(size), host.disk_bytes),
                             STATE_DIR);
                return;
        }
        finding_fail(f, "no profile fits: %s", message ? message : strerror(-r));
        finding_cure(f, "free disk space, or put another disk at %s", STATE_DIR);
}

/* clang-format off */
static const Check checks[] = {
        { "host.systemd",         "systemd is PID 1",                                     NULL, check_systemd },
        { "host.run-systemd",     "the service manager's run folder is there",            NULL, check_run_systemd },
        { "host.cgroup-v2",       "cgroup v2 is mounted alone",                           NULL, check_cgroup_v2 },
        { "host.nsdelegate",      "cgroup namespaces are delegation borders",             NULL, check_nsdelegate },
        { "host.controllers",     "cpu, memory and pids are controllers of cgroup v2",    NULL, check_controllers },
        { "host.project-quota",   "the kernel can limit projects on ext4",                NULL, check_project_quota },
        { "host.user-namespaces", "user namespaces are allowed",                          NULL, check_user_namespaces },
        { "host.modules",         "kernel modules that a user namespace cannot load",     NULL, check_modules },
        { "host.programs",        "programs that dindhost runs",                          NULL, check_programs },
        { "host.rootless-script", "the program that starts the rootless daemon",          NULL, check_rootless_script },
        { "host.newuidmap",       "id maps can be written for ordinary users",            NULL, check_newuidmap },
        { "host.user-bus",        "user managers have a bus",                             NULL, check_user_bus },
        { "host.service-user",    "the watchdog's user exists",                           NULL, check_service_user },
        { "host.machine-id",      "the machine has an identity",                          NULL, check_machine_id },
        { "host.disk",            "there is room for a profile",                          NULL, check_disk },
};
/* clang-format on */

const CheckTable checks_host = { checks, N_ELEMENTS(checks) };
