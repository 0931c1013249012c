/* SPDX-License-Identifier: MIT */
/*
 * The profile file: PROFILE_DIR/ALIAS.conf and its drop-ins ALIAS.conf.d/ *.conf (libeconf)
 *
 * conf_keys[] in conf-keys.c is the one list of sections, keys, types, defaults and help texts; the
 * loader, `profile init`, and the man page test follow it. Everything is checked when it is loaded:
 * an unknown section or key, a value that does not parse, and every rule between values is refused
 * with file, line and the rule.
 */
#pragma once

#include "base/macros.h"

#define DNS_SERVERS_MAX 8
#define ACCESS_USERS_MAX 64
#define SLOTS_MAX 4096

typedef struct ProfileConf ProfileConf;
struct ProfileConf {
        /* [Profile] */
        char *access_users[ACCESS_USERS_MAX]; /* AccessUsers=: put in the access group by apply */
        size_t n_access_users;
        /* [Capacity]: what reservations may hold together */
        uint64_t cpus_milli, memory_bytes, pids, max_containers, max_builds;
        /* [Aggregate]: the limits of the account's slice: capacity plus room for the daemon */
        uint64_t aggregate_cpus_milli, aggregate_memory_bytes, aggregate_pids;
        /* [Storage] */
        uint64_t pool_bytes, slots, slot_bytes, slot_inodes, daemon_bytes;
        /* [Network] */
        char *dns_servers[DNS_SERVERS_MAX];
        size_t n_dns_servers;
        bool egress_enforced; /* Egress=enforced|unenforced */
        /* [Docker] */
        char *rootless_script, *runtime;    /* RootlessScript=, Runtime= */
        char *smoke_image, *smoke_user;     /* SmokeImage=, SmokeUser= */
        uint64_t daemon_start_timeout_usec; /* StartTimeout= */
        /* [Watchdog], all in microseconds but the counts */
        uint64_t lease_grace_usec, engine_timeout_usec, create_timeout_usec, stop_timeout_usec,
                        broker_timeout_usec, client_timeout_usec, ready_timeout_usec,
                        sandbox_lifetime_usec, quarantine_retry_max_usec;
        uint64_t connections_max, connections_per_user_max, leases_per_user_max, queue_max;
};

/* CLEANUP(profile_conf_donep) */
void profile_conf_donep(ProfileConf *c);

/*
 * Loads and checks conf_path (normally ProfilePaths.conf) with its drop-ins. Returns 0; -ENOENT
 * (no such file), -EINVAL (refused), other -errno. On failure *ret_message (owned by the caller)
 * is a sentence for people, "FILE:LINE: ..." where a line is to blame.
 */
int profile_conf_load(const char *conf_path, ProfileConf *ret, char **ret_message);
