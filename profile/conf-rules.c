/* SPDX-License-Identifier: MIT */
/*
 * Rules between the values of a profile file
 *
 * The pool is an ext4 file system of PoolSize bytes with one inode for each 16K (mkfs.ext4's
 * ordinary ratio). Its own data (inode tables 1/64, journal up to 1G on large pools, bitmaps,
 * superblock copies) is counted as PoolSize/16 + 64M, so that
 *
 *         Slots * SlotSize + DaemonSize + PoolSize/16 + 64M <= PoolSize
 *         Slots * SlotInodes + DaemonSize/16K               <= PoolSize/16K
 *
 * make every hard limit one that is really there to be used: the pool is never oversold. The
 * descriptor's capacity.ephemeralDiskBytes is Slots * SlotSize.
 */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "profile/conf-keys.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define INODE_RATIO UINT64_C(16384)

#define DAEMON_MEMORY_MIN (128 * MIB)
#define DAEMON_PIDS_MIN 256

uint64_t conf_pool_overhead(uint64_t pool_bytes) {
        return pool_bytes / 16 + 64 * MIB;
}

uint64_t conf_pool_for(uint64_t content_bytes) {
        uint64_t pool = (content_bytes + 64 * MIB) / 15 * 16 + 16;

        return (pool + MIB - 1) / MIB * MIB;
}

static bool broken(const ConfKey **ret_key, const char *section, const char *name) {
        *ret_key = conf_key_find(section, name);
        assert(*ret_key);
        return false;
}

static bool check_aggregate(const ProfileConf *c, const ConfKey **ret_key, char rule[static 256]) {
        if (c->aggregate_cpus_milli < c->cpus_milli) {
                snprintf(rule, 256, "must be at least [Capacity] CPUs=");
                return broken(ret_key, "Aggregate", "CPUs");
        }
        if (c->aggregate_memory_bytes < c->memory_bytes + DAEMON_MEMORY_MIN) {
                snprintf(rule, 256, "must be at least [Capacity] Memory= and 128M for the daemon");
                return broken(ret_key, "Aggregate", "Memory");
        }
        if (c->aggregate_pids < c->pids + DAEMON_PIDS_MIN) {
                snprintf(rule,
                         256,
                         "must be at least [Capacity] PIDs= and %d for the daemon",
                         DAEMON_PIDS_MIN);
                return broken(ret_key, "Aggregate", "PIDs");
        }
        return true;
}

/* Values are within their ranges, so no sum or product here reaches 2^63. */
static bool check_pool(const ProfileConf *c, const ConfKey **ret_key, char rule[static 256]) {
        uint64_t content = c->slots * c->slot_bytes + c->daemon_bytes;
        uint64_t inodes = c->slots * c->slot_inodes + c->daemon_bytes / INODE_RATIO;
        char a[32], b[32];

        if (c->slots < c->max_containers) {
                snprintf(rule, 256, "must be at least [Capacity] MaxContainers=");
                return broken(ret_key, "Storage", "Slots");
        }
        if (content + conf_pool_overhead(c->pool_bytes) > c->pool_bytes) {
                snprintf(rule,
                         256,
                         "is too small: Slots= times SlotSize=, and DaemonSize=, are %s, and the "
                         "file system needs 1/16 and 64M for itself; make it %s",
                         format_size_human(a, sizeof(a), content),
                         format_size(b, sizeof(b), conf_pool_for(content)));
                return broken(ret_key, "Storage", "PoolSize");
        }
        if (c->slot_inodes < 1024) {
                snprintf(rule, 256, "must be at least 1024 (or 0: one for each 16K of SlotSize=)");
                return broken(ret_key, "Storage", "SlotInodes");
        }
        if (inodes > c->pool_bytes / INODE_RATIO) {
                snprintf(rule,
                         256,
                         "is too high: the pool has %llu inodes (one for each 16K), the slots and "
                         "the daemon would need %llu",
                         (unsigned long long) (c->pool_bytes / INODE_RATIO),
                         (unsigned long long) inodes);
                return broken(ret_key, "Storage", "SlotInodes");
        }
        return true;
}

static bool check_watchdog(const ProfileConf *c, const ConfKey **ret_key, char rule[static 256]) {
        if (c->connections_per_user_max > c->connections_max) {
                snprintf(rule, 256, "must be at most ConnectionsMax=");
                return broken(ret_key, "Watchdog", "ConnectionsPerUserMax");
        }
        return true;
}

bool conf_check(const ProfileConf *c, const ConfKey **ret_key, char ret_rule[static 256]) {
        return check_aggregate(c, ret_key, ret_rule) && check_pool(c, ret_key, ret_rule) &&
                        check_watchdog(c, ret_key, ret_rule);
}
