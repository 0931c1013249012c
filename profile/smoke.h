/* SPDX-License-Identifier: MIT */
/*
 * --smoke: one real sandbox, on the way that every client goes
 *
 * Lease, reservation, container.create through the control socket; start and programs inside
 * through the Engine socket; release and drain; then a look whether anything is left. Each part is
 * a check of the doctor's. When one fails, those that need it are not run, but what was taken is
 * given back all the same: give-back needs nothing but that it was taken.
 */
#pragma once

#include "profile/doctor.h"

Smoke *smoke_free(Smoke *s);

/* What the smoke asks for: its wish, cut to what the profile's pool and slots allow. Pure. */
typedef struct SmokeSize {
        uint64_t cpus_milli, memory_bytes, pids, disk_bytes;
        bool reduced;
} SmokeSize;

void smoke_size(const Descriptor *d, SmokeSize *ret);
/* The line of a program's output that tells of a full disk or quota, into ret; false: none does. */
bool smoke_find_refusal(const char *output, char *ret, size_t n);
/*
 * /proc/PID/mountinfo: is there a mount whose root within its file system is `root` or below it?
 * Then ret gets where it is mounted.
 */
bool mountinfo_has_root(const char *text, const char *root, char *ret, size_t n);
