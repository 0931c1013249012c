/* SPDX-License-Identifier: MIT */
#include "profile/kernel-facts.h"

#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

#define CGROUP2_MAGIC 0x63677270 /* linux/magic.h: CGROUP2_SUPER_MAGIC */
#define TMPFS_MAGIC_NUMBER 0x01021994

bool has_word(const char *list, const char *word) {
        size_t n = strlen(word);

        while (*list) {
                size_t k;

                list += strspn(list, " \t\n");
                k = strcspn(list, " \t\n");
                if (k == n && !strncmp(list, word, n))
                        return true;
                list += k;
        }
        return false;
}

bool program_in_path(const char *name) {
        static const char *const dirs[] = { "/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                            "/usr/bin",        "/sbin",          "/bin" };
        char path[256];

        for (size_t i = 0; i < N_ELEMENTS(dirs); i++) {
                snprintf(path, sizeof(path), "%s/%s", dirs[i], name);
                if (access(path, X_OK) == 0)
                        return true;
        }
        return false;
}

int machine_identity(char ret[static 33]) {
        /* made for this program alone, with systemd-id128 new */
        static const sd_id128_t app = SD_ID128_MAKE(
                        71, 51, b6, 04, f9, e3, 43, b5, 9d, b0, 4e, 1a, 65, e9, e0, f7);
        sd_id128_t id;
        int r = sd_id128_get_machine_app_specific(app, &id);

        if (r < 0)
                return r;
        sd_id128_to_string(id, ret);
        return 0;
}

static void look_at_cgroups(KernelFacts *k) {
        CLEANUP(freep) char *mounts = NULL, *controllers = NULL;
        struct statfs fs;
        char *line;

        if (statfs("/sys/fs/cgroup", &fs) < 0)
                snprintf(k->cgroup_text,
                         sizeof(k->cgroup_text),
                         "nothing is mounted at /sys/fs/cgroup");
        else if (fs.f_type == TMPFS_MAGIC_NUMBER)
                snprintf(k->cgroup_text,
                         sizeof(k->cgroup_text),
                         "hierarchies of version 1, or hybrid, are mounted below /sys/fs/cgroup");
        else
                k->cgroup_v2 = fs.f_type == CGROUP2_MAGIC;
        if (file_read("/sys/fs/cgroup/cgroup.controllers", 4096, &controllers, NULL) >= 0) {
                snprintf(k->controllers_text, sizeof(k->controllers_text), "%s", controllers);
                k->controllers_text[strcspn(k->controllers_text, "\n")] = 0;
                k->controllers = has_word(controllers, "cpu") && has_word(controllers, "memory") &&
                                has_word(controllers, "pids");
        }
        if (file_read("/proc/self/mounts", 16 * 1024 * 1024, &mounts, NULL) < 0)
                return;
        line = strstr(mounts, " /sys/fs/cgroup cgroup2 ");
        if (line) {
                line[strcspn(line, "\n")] = 0;
                k->nsdelegate = strstr(line, "nsdelegate") != NULL;
        }
}

/* Does a line of the file hold the word? Files of /proc have no size, so they are read line by
 * line. */
static bool file_mentions(const char *path, const char *word) {
        CLEANUP(freep) char *line = NULL;
        FILE *f = fopen(path, "re");
        bool found = false;
        size_t room = 0;

        while (f && !found && getline(&line, &room, f) > 0)
                found = strstr(line, word) != NULL;
        if (f)
                fclose(f);
        return found;
}

/*
 * Quota at all: fs/quota/dquot.c registers /proc/sys/fs/quota. The format that ext4 needs
 * (fs/quota/quota_v2.c) is loaded, built in, or a module of the running kernel.
 */
static bool has_project_quota(void) {
        CLEANUP(freep) char *dep = NULL, *builtin = NULL;
        struct utsname u;

        if (access("/proc/sys/fs/quota", F_OK) < 0 || uname(&u) < 0)
                return false;
        dep = text_format("/lib/modules/%s/modules.dep", u.release);
        builtin = text_format("/lib/modules/%s/modules.builtin", u.release);
        return file_mentions("/proc/modules", "quota_v2 ") ||
                        (dep && file_mentions(dep, "/quota_v2.ko")) ||
                        (builtin && file_mentions(builtin, "/quota_v2.ko")) ||
                        file_mentions("/proc/kallsyms", " v2_check_quota_file");
}

static bool read_number(const char *path, long *ret) {
        CLEANUP(freep) char *text = NULL;

        if (file_read(path, 64, &text, NULL) < 0)
                return false;
        *ret = strtol(text, NULL, 10);
        return true;
}

static void look_at_user_namespaces(KernelFacts *k) {
        static const struct {
                const char *path;
                long forbids;
        } settings[] = {
                { "/proc/sys/kernel/unprivileged_userns_clone", 0 },
                { "/proc/sys/user/max_user_namespaces", 0 },
                { "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1 },
        };

        k->user_namespaces = access("/proc/self/ns/user", F_OK) == 0;
        if (!k->user_namespaces)
                snprintf(k->user_namespaces_text,
                         sizeof(k->user_namespaces_text),
                         "the kernel has none");
        for (size_t i = 0; i < N_ELEMENTS(settings); i++) {
                long v;

                if (!read_number(settings[i].path, &v) || v != settings[i].forbids)
                        continue;
                k->user_namespaces = false;
                snprintf(k->user_namespaces_text,
                         sizeof(k->user_namespaces_text),
                         "%s is %ld",
                         settings[i].path,
                         v);
        }
}

void kernel_facts(KernelFacts *ret) {
        *ret = (KernelFacts){ .systemd = sd_booted() > 0 };
        look_at_cgroups(ret);
        ret->project_quota = has_project_quota();
        look_at_user_namespaces(ret);
}
