/* SPDX-License-Identifier: MIT */
/*
 * Names and places that follow from a profile's alias
 *
 * One function builds them all, so that no other file composes a path or an account name. The
 * alias is checked first: it becomes part of account names (at most 32 characters, so 16 are left
 * for it), unit instances and paths.
 */
#pragma once

#include "base/macros.h"

#define ALIAS_MAX 16
#define PROFILE_DIR SYSCONFDIR "/dindhost/profiles"
#define STATE_DIR LOCALSTATEDIR "/lib/dindhost"
#define RUN_DIR "/run/dindhost"
#define SERVICE_USER "dindhost"                           /* whom the watchdog runs as */
#define SUPERVISOR_PATH LIBEXECDIR "/dindhost-supervisor" /* on the host */
#define SUPERVISOR_IN_SANDBOX "/sbin/dindhost-supervisor"

/* [a-z][a-z0-9-]{0,15}, not ending in '-'. */
bool alias_valid(const char *alias);

typedef struct ProfilePaths ProfilePaths;
struct ProfilePaths {
        char alias[ALIAS_MAX + 1];
        char account[32 + 1];      /* dindhost-ALIAS: the daemon's user and group */
        char access_group[32 + 1]; /* dindhost-ALIAS-access */
        char conf[256];            /* /etc/dindhost/profiles/ALIAS.conf */
        char registry_file[256];   /* REGISTRY_DIR/ALIAS.json */
        char state[256];           /* /var/lib/dindhost/ALIAS */
        char home[256];            /* STATE/home */
        char pool_image[256];      /* STATE/pool.img */
        char mount[256];           /* STATE/data */
        char docker_root[256];     /* STATE/data/docker */
        char slots_dir[256];       /* STATE/data/slots */
        char descriptor[256];      /* STATE/descriptor.json (staged) */
        char slot_table[256];      /* STATE/slots.json */
        char daemon_config[256];   /* STATE/dockerd.json */
        char ledger_dir[256];      /* STATE/watchdog */
        char ledger[256];          /* STATE/watchdog/ledger.db */
        char run[256];             /* /run/dindhost/ALIAS */
        char control_socket[108];  /* RUN/control.sock */
        char broker_socket[108];   /* RUN/broker.sock */
        char engine_dir[256];      /* RUN/engine */
        char engine_socket[108];   /* RUN/engine/docker.sock */
};

/* 0, or -EINVAL when the alias is not valid. */
int profile_paths(const char *alias, ProfilePaths *ret);
