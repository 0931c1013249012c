/* SPDX-License-Identifier: MIT */
/* Between smoke.c (the way there and back), smoke-inside.c and smoke-gone.c. */
#pragma once

#include "profile/cgroup-limits.h"
#include "profile/engine-exec.h"
#include "profile/heart.h"
#include "profile/smoke.h"

struct Smoke {
        char invocation_id[64], reservation_id[64];
        char *lease_token;
        SmokeSize size;
        Heart *heart;
        char slot_id[SLOT_ID_SIZE];
        json_int_t slot_generation;
        char *container_id, *network_id;
        char scope[1024]; /* cgroup of the container, below /sys/fs/cgroup */
};

/*
 * A request of this lease, with the members of `more` (consumed; may be NULL). True and *ret (may
 * be NULL); else the finding is a FAIL with the service's words and *ret_code (may be NULL) its
 * code.
 */
bool smoke_call(Doctor *d,
                const char *kind,
                json_t *more,
                uint64_t timeout_usec,
                json_t **ret,
                char ret_code[64],
                Finding *f);
/* GET of the Engine. True: status and JSON body (NULL when it is none). */
bool smoke_engine(Doctor *d,
                  const char *method,
                  const char *path,
                  uint64_t timeout_usec,
                  long *ret_status,
                  json_t **ret,
                  Finding *f);
/* The limits that the container must have. */
CgroupLimits smoke_limits(const Smoke *s);

/* smoke-inside.c */
void smoke_check_ready(Doctor *d, Finding *f);
void smoke_check_nested(Doctor *d, Finding *f);
void smoke_check_limits_inside(Doctor *d, Finding *f);
void smoke_check_limits_host(Doctor *d, Finding *f);
void smoke_check_limits_hold(Doctor *d, Finding *f);
void smoke_check_quota(Doctor *d, Finding *f);
/* smoke-gone.c */
void smoke_check_gone_objects(Doctor *d, Finding *f);
void smoke_check_gone_processes(Doctor *d, Finding *f);
void smoke_check_gone_mounts(Doctor *d, Finding *f);
void smoke_check_gone_content(Doctor *d, Finding *f);
