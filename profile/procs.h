/* SPDX-License-Identifier: MIT */
/* The processes of this host, one at a time. */
#pragma once

#include <sys/types.h>

#include "base/macros.h"

typedef struct Proc {
        pid_t pid;
        uid_t uids[4]; /* real, effective, saved, file system */
        char comm[64];
        char cgroup[1024]; /* in the unified hierarchy */
} Proc;

/*
 * Calls fn for each process until it returns false. One that ends meanwhile is passed over. 0 or
 * -errno (-EBADMSG: a process whose cgroup cannot be told).
 */
int procs_each(bool (*fn)(void *userdata, const Proc *p), void *userdata);

/*
 * Is one of the process's sockets a listening TCP socket? 1, 0 (also when it has ended), or -errno
 * (-EACCES: only root may look at its descriptors).
 */
int proc_listens_on_tcp(pid_t pid);
