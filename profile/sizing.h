/* SPDX-License-Identifier: MIT */
/*
 * A first profile from what the machine has
 *
 * Pure arithmetic over a few facts, so that small and large machines are both tried in unit tests.
 * The host keeps 1/8 of its memory (at least 512M) and a quarter of the free disk; the outer
 * daemon gets 1/16 of the memory (at least 256M) and a fifth of the pool. CPUs are a weight more
 * than a fence and are offered whole. The rest goes into slots of equal size.
 */
#pragma once

#include "base/macros.h"
#include "profile/conf.h"

typedef struct HostFacts {
        uint64_t cpus;         /* online */
        uint64_t memory_bytes; /* MemTotal */
        uint64_t disk_bytes;   /* free where the pool will lie */
        uint64_t pids_max;     /* the kernel's */
} HostFacts;

/* What the admin asked for; 0: choose. */
typedef struct SizingWish {
        uint64_t slots, slot_bytes, pool_bytes, memory_bytes, cpus_milli;
} SizingWish;

/* disk_path need not be there yet: its nearest existing folder counts. 0 or -errno. */
int host_facts(const char *disk_path, HostFacts *ret);

/*
 * Fills the numbers of c (which has its defaults). 0, or -ENOSPC with a sentence in *ret_message
 * (owned by the caller) when no valid profile fits.
 */
int sizing_propose(const HostFacts *host,
                   const SizingWish *wish,
                   ProfileConf *c,
                   char **ret_message);
