/* SPDX-License-Identifier: MIT */
/*
 * What the kernel says about a slot: project id, quota, owner, content
 *
 * quotactl(2) with project quota and FS_IOC_FS[GS]ETXATTR (ioctl_xflags), on descriptors that were
 * opened without following links. Kernel facts: a project quota holds against root of a user
 * namespace only, and ext4 lets CAP_SYS_RESOURCE of the initial one pass; the project id and its
 * inherit flag can be changed only from the initial user namespace.
 */
#pragma once

#include <sys/types.h>

#include "base/macros.h"

typedef struct SlotFacts {
        uint32_t project_id;
        bool project_inherit;               /* FS_XFLAG_PROJINHERIT */
        uint64_t limit_bytes, limit_inodes; /* hard limits, 0 = none */
        uint64_t used_bytes, used_inodes;
        uid_t uid;
        gid_t gid;
        mode_t mode; /* permission bits */
        bool empty;
} SlotFacts;

/* Facts of the folder dir_fd, which lies on the file system of block device `device`. 0 or -errno.
 */
int slotfs_facts(int dir_fd, const char *device, SlotFacts *ret);
/* Sets project id and inherit flag of an empty folder. */
int slotfs_set_project(int dir_fd, uint32_t project_id);
/* Sets the hard limits of a project (soft limits 0). */
int slotfs_set_limits(const char *device, uint32_t project_id, uint64_t bytes, uint64_t inodes);
/* Is project quota accounted and enforced on the device? 1, 0 or -errno. */
int slotfs_quota_on(const char *device);
/* The block device mounted at path ("/dev/loop0"), from mountinfo; owned by the caller. */
int slotfs_device(const char *mount_path, char **ret);
