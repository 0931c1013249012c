/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/types.h>

#include "base/macros.h"

/*
 * Who still uses the folder `path` on device `dev`: a mount of it (or of something in it) in any
 * mount namespace, or a process whose working directory, root, executable or open file lies in it.
 * Reads /proc; needs CAP_SYS_PTRACE for other users' processes. What is only in flight in a socket
 * is not seen by anybody (such a descriptor also has no process to name). 1 and a sentence when
 * somebody does, 0, -errno.
 */
int holders_find(const char *path, dev_t dev, const char *fs_root, char *ret_who, size_t n);
