/* SPDX-License-Identifier: MIT */
#include "profile/sizing.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/conf-keys.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

#define HOST_MEMORY_MIN (512 * MIB)
#define DAEMON_MEMORY_MIN (256 * MIB)
#define DAEMON_PIDS 1024
#define SLOT_PIDS 2048
#define SLOT_MEMORY GIB /* memory that a slot should find */
#define SLOT_SIZE_MAX (20 * GIB)
#define DAEMON_SIZE_MIN GIB
#define DAEMON_SIZE_MAX (40 * GIB)

static uint64_t max_of(uint64_t a, uint64_t b) {
        return a > b ? a : b;
}

static uint64_t min_of(uint64_t a, uint64_t b) {
        return a < b ? a : b;
}

/* Rounded down to what reads well: whole GiB when there is one, else whole 64 MiB. */
static uint64_t round_size(uint64_t bytes) {
        uint64_t unit = bytes >= GIB ? GIB : 64 * MIB;

        return bytes / unit * unit;
}

static uint64_t less(uint64_t a, uint64_t b) {
        return a > b ? a - b : 0;
}

static void propose_limits(const HostFacts *host, const SizingWish *wish, ProfileConf *c) {
        uint64_t host_memory = max_of(host->memory_bytes / 8, HOST_MEMORY_MIN);
        uint64_t daemon_memory = max_of(host->memory_bytes / 16, DAEMON_MEMORY_MIN);
        uint64_t memory = less(host->memory_bytes, host_memory + daemon_memory);

        c->cpus_milli = wish->cpus_milli ? wish->cpus_milli : host->cpus * 1000;
        c->aggregate_cpus_milli = c->cpus_milli;
        c->memory_bytes =
                        wish->memory_bytes ? wish->memory_bytes : memory / (64 * MIB) * (64 * MIB);
        c->aggregate_memory_bytes =
                        c->memory_bytes + (daemon_memory + 4 * MIB - 1) / (4 * MIB) * (4 * MIB);
}

static void propose_slots(const HostFacts *host, const SizingWish *wish, ProfileConf *c) {
        uint64_t pool = wish->pool_bytes ? wish->pool_bytes : host->disk_bytes / 4 * 3;
        uint64_t content = less(pool, conf_pool_overhead(pool));
        uint64_t daemon = max_of(DAEMON_SIZE_MIN, min_of(content / 5, DAEMON_SIZE_MAX));
        uint64_t room;

        c->daemon_bytes = round_size(daemon);
        room = less(content, c->daemon_bytes);
        c->slots = wish->slots             ? wish->slots
                        : wish->slot_bytes ? room / wish->slot_bytes
                                           : room / GIB;
        if (!wish->slots)
                c->slots = min_of(c->slots,
                                  min_of(max_of(host->cpus, 1),
                                         max_of(c->memory_bytes / SLOT_MEMORY, 1)));
        c->slots = max_of(c->slots, 1);
        c->slot_bytes = wish->slot_bytes ? wish->slot_bytes
                                         : min_of(round_size(room / c->slots), SLOT_SIZE_MAX);
        c->max_containers = c->slots;
        c->pool_bytes = wish->pool_bytes
                        ? wish->pool_bytes
                        : conf_pool_for(c->slots * c->slot_bytes + c->daemon_bytes);
}

static void propose_pids(const HostFacts *host, ProfileConf *c) {
        uint64_t room = less(host->pids_max / 4 * 3, DAEMON_PIDS);

        c->pids = min_of(c->slots * SLOT_PIDS, room);
        c->aggregate_pids = c->pids + DAEMON_PIDS;
}

/* Each number by its row's range, as the loader will judge it. */
static bool in_range(const ProfileConf *c, const ConfKey **ret_key, char rule[static 256]) {
        for (size_t i = 0; i < n_conf_keys; i++) {
                CLEANUP(freep) char *text = conf_key_format(conf_keys + i, c);
                CLEANUP(profile_conf_donep) ProfileConf again = { 0 };

                *ret_key = conf_keys + i;
                if (!text || conf_key_set(conf_keys + i, text, &again, rule) < 0)
                        return false;
        }
        return true;
}

int sizing_propose(const HostFacts *host,
                   const SizingWish *wish,
                   ProfileConf *c,
                   char **ret_message) {
        const ConfKey *key;
        char rule[256] = "", free_text[32], pool_text[32];
        ProfileConf resolved;

        propose_limits(host, wish, c);
        propose_slots(host, wish, c);
        propose_pids(host, c);
        if (c->pool_bytes > host->disk_bytes) {
                *ret_message = text_format(
                                "the pool would take %s, but only %s are free; ask for fewer or "
                                "smaller slots, or free some disk",
                                format_size_human(pool_text, sizeof(pool_text), c->pool_bytes),
                                format_size_human(free_text, sizeof(free_text), host->disk_bytes));
                return -ENOSPC;
        }
        resolved = *c;
        if (resolved.slot_inodes == 0)
                resolved.slot_inodes = resolved.slot_bytes / 16384;
        if (!in_range(c, &key, rule) || !conf_check(&resolved, &key, rule)) {
                *ret_message = text_format("no profile fits this machine so: [%s] %s= %s",
                                           key->section,
                                           key->name,
                                           rule);
                return -ENOSPC;
        }
        return 0;
}

/* "MemTotal:  3961234 kB" */
static int memory_total(uint64_t *ret) {
        CLEANUP(freep) char *text = NULL;
        unsigned long long kib;
        const char *line;
        int r = file_read("/proc/meminfo", 64 * 1024, &text, NULL);

        if (r < 0)
                return r;
        line = strstr(text, "MemTotal:");
        if (!line || sscanf(line, "MemTotal: %llu kB", &kib) != 1)
                return -EBADMSG;
        *ret = (uint64_t) kib * 1024;
        return 0;
}

static int pids_max(uint64_t *ret) {
        CLEANUP(freep) char *text = NULL;
        int r = file_read("/proc/sys/kernel/pid_max", 64, &text, NULL);

        return r < 0 ? r : parse_uint(text, UINT32_MAX, ret);
}

static int disk_free(const char *path, uint64_t *ret) {
        CLEANUP(freep) char *folder = strdup(path);
        struct statvfs st;

        if (!folder)
                return -ENOMEM;
        while (statvfs(*folder ? folder : "/", &st) < 0) {
                char *slash = strrchr(folder, '/');

                if (errno != ENOENT || !slash)
                        return -errno;
                *slash = 0;
        }
        *ret = (uint64_t) st.f_bavail * st.f_frsize;
        return 0;
}

int host_facts(const char *disk_path, HostFacts *ret) {
        HostFacts f = { 0 };
        long cpus = sysconf(_SC_NPROCESSORS_ONLN);
        int r;

        f.cpus = cpus > 0 ? (uint64_t) cpus : 1;
        r = memory_total(&f.memory_bytes);
        if (r >= 0)
                r = pids_max(&f.pids_max);
        if (r >= 0)
                r = disk_free(disk_path, &f.disk_bytes);
        if (r < 0)
                return r;
        *ret = f;
        return 0;
}
