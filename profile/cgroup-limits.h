/* SPDX-License-Identifier: MIT */
/* The four hard limits of a cgroup, as the kernel holds them. */
#pragma once

#include "base/macros.h"

typedef struct CgroupLimits {
        uint64_t cpus_milli, memory_bytes, swap_bytes, pids; /* LIMIT_NONE: no limit */
} CgroupLimits;

/* Content of cpu.max, memory.max, memory.swap.max and pids.max, a line each, in this order. */
bool cgroup_limits_parse(const char *text, CgroupLimits *ret);
/* Reads the files of a cgroup's folder. 0, -errno, or -EBADMSG. */
int cgroup_limits_read(const char *dir, CgroupLimits *ret);
/*
 * What holds for a container: its scope's limits, or those of the group below it that the runtime
 * made where they are lower (crun puts the container into SCOPE/container, and writes a swap limit
 * of memory and swap together to the scope, so that only the group below says 0).
 */
int cgroup_limits_effective(const char *scope_dir, CgroupLimits *ret);
/*
 * True when got is what was asked for: the kernel rounds memory down to pages. Else the first
 * difference is told ("memory.max is 1G, must be 512M").
 */
bool cgroup_limits_match(const CgroupLimits *want, const CgroupLimits *got, char *ret, size_t n);
/* "cpu.max 2, memory.max 512M, ..."; returns buf. */
char *cgroup_limits_format(char *buf, size_t n, const CgroupLimits *l);
