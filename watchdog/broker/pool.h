/* SPDX-License-Identifier: MIT */
/* Mounting the pool image: `dindhost-broker --mount ALIAS`, in dindhost-storage@ALIAS.service. */
#pragma once

#include "profile/paths.h"

/* Mounts the image by a loop device with prjquota, nodev, nosuid, noatime. 1: it was mounted
 * already, 0, -errno (said on stderr). */
int pool_mount(const ProfilePaths *p);
/* 0 also when it is not mounted. */
int pool_unmount(const ProfilePaths *p);
