/* SPDX-License-Identifier: MIT */
/*
 * The slot table: which slots a profile has and what each must be
 *
 * Written by `profile apply` as root to ProfilePaths.slot_table, read by the broker (which takes
 * paths from nowhere else) and by the watchdog (ids only). Slot numbers start at 1; the id is
 * "slot-%04u" and at the same time the name of its folder in ProfilePaths.slots_dir.
 */
#pragma once

#include <sys/types.h>

#include "base/macros.h"

#define SLOT_ID_SIZE 16

typedef struct SlotEntry {
        uint32_t number;                    /* 1.. */
        char id[SLOT_ID_SIZE];              /* slot-0001 */
        uint32_t project_id;                /* project quota id, unique on this host */
        uint64_t limit_bytes, limit_inodes; /* hard limits */
        uid_t uid;                          /* owner when free: the daemon's account */
        gid_t gid;
        mode_t mode; /* 0700 */
} SlotEntry;

typedef struct SlotTable {
        SlotEntry *slots;
        size_t n_slots;
        char *slots_dir; /* folder of the slots */
        char *mount;     /* mount point of the pool */
} SlotTable;

/* CLEANUP(slot_table_donep) */
void slot_table_donep(SlotTable *t);

/* 0; -ENOENT; -EINVAL with a message (owned by the caller) that names file and rule. */
int slot_table_load(const char *path, SlotTable *ret, char **ret_message);
/* Text of the file in new memory. 0 or -ENOMEM. */
int slot_table_format(const SlotTable *t, char **ret);

void slot_id_format(char ret[static SLOT_ID_SIZE], uint32_t number);
/* The number in a well-formed id, or 0. */
uint32_t slot_id_parse(const char *id);
