/* SPDX-License-Identifier: MIT */
/* What this host offers, for apply's preflight and the doctor's host checks. */
#pragma once

#include "base/macros.h"

typedef struct KernelFacts {
        bool systemd;     /* is PID 1 */
        bool cgroup_v2;   /* mounted alone at /sys/fs/cgroup */
        bool nsdelegate;  /* cgroup2 is mounted with it */
        bool controllers; /* cpu, memory, pids at the root */
        char controllers_text[256];
        char cgroup_text[256]; /* what is mounted instead */
        bool project_quota;    /* ext4 can account and enforce project quota */
        bool user_namespaces;
        char user_namespaces_text[128]; /* which setting forbids them */
} KernelFacts;

void kernel_facts(KernelFacts *ret);
bool program_in_path(const char *name);
/* Application-specific machine id, 32 hex digits: machine-id(5) asks not to show the id itself. */
int machine_identity(char ret[static 33]);
/* Words in a white-space separated list. */
bool has_word(const char *list, const char *word);
