/* SPDX-License-Identifier: MIT */
/*
 * What the kernel and the system write as text or as small tables, read without any I/O
 *
 * For the doctor's checks: callers read the file, these functions judge its content, unit tests
 * feed them with samples.
 */
#pragma once

#include <sys/types.h>

#include "base/macros.h"

/* "max" in a limit file. */
#define LIMIT_NONE UINT64_MAX

/* /proc/PID/cgroup: the path in the unified hierarchy ("0::PATH"). */
bool cgroup_path_parse(const char *text, char *ret, size_t n);
/* Is path strictly below the other? Both begin with '/'; "/a/bc" is not below "/a/b". */
bool cgroup_is_below(const char *path, const char *above);
/* The part of path up to and with its component "docker-ID.scope", or false. */
bool cgroup_container_scope(const char *path, const char *container_id, char *ret, size_t n);
/* Does path run through the scope of any container? */
bool cgroup_in_container(const char *path);

/* memory.max, memory.swap.max, pids.max. */
bool limit_parse(const char *text, uint64_t *ret);
/* cpu.max "QUOTA PERIOD" as milli-CPU, rounded down. */
bool cpu_max_parse(const char *text, uint64_t *ret_milli);

/*
 * /proc/cgroups: those of the space-separated controllers that are bound to a hierarchy of
 * version 1, space-separated, into ret. Returns their number.
 */
size_t cgroup_v1_bound(const char *text, const char *controllers, char *ret, size_t n);

/* Calls fn with the inode of each socket that listens, of /proc/PID/net/tcp or tcp6. */
void tcp_listeners(const char *text, void (*fn)(void *userdata, uint64_t inode), void *userdata);

/* /proc/PID/status: real, effective, saved and file system uid. */
bool status_uids(const char *text, uid_t ret[static 4]);

typedef struct SubIds {
        uint64_t first, count; /* the account's largest range; count 0: it has none */
        const char *overlap;   /* in text: line of somebody else's range that overlaps, or NULL */
        int n_overlap;         /* its length */
} SubIds;

/* /etc/subuid or /etc/subgid: lines NAME:FIRST:COUNT. */
void subids_parse(const char *text, const char *account, SubIds *ret);

/*
 * The extended attribute system.posix_acl_access: permissions (r 4, w 2, x 1) of a named group
 * after the mask. False when it has no entry for the group, or is no ACL.
 */
bool acl_group_permissions(const void *acl, size_t n, gid_t gid, unsigned *ret);

/* modules.builtin or modules.dep: is there a line for the module ("kernel/net/bridge/bridge.ko")?
 */
bool module_is_listed(const char *text, const char *module);
