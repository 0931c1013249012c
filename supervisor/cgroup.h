/* SPDX-License-Identifier: MIT */
/*
 * The container's part of the cgroup v2 tree
 *
 * Seen from the container's cgroup namespace its own cgroup is the root. A cgroup with processes
 * cannot hand controllers down, so everything that runs at the start moves to a leaf, "init"; then
 * the root enables all controllers for its children, and the limits that the inner daemon sets on
 * its containers really hold.
 */
#pragma once

#include "supervisor/text.h"

typedef struct Cgroup {
        int root;              /* -EBADF: cgroups are not used */
        char controllers[128]; /* those handed down, separated by blanks */
} Cgroup;

/* Prepares the tree at the path; on failure error says what is wrong and what helps. Controllers
 * that cannot be handed down are no failure; a warning is said. */
int cgroup_prepare(Cgroup *c, const char *path, Text *error);

/* Kills everything below the root, but not the leaf with PID 1. Nothing is lost when it fails: the
 * caller kills all processes one by one as well. */
void cgroup_kill(const Cgroup *c);
