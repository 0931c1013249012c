/* SPDX-License-Identifier: MIT */
/*
 * The descriptor: the pure-data JSON that publishes a profile to clients
 *
 * One module reads, checks, makes and digests it. Unknown keys are errors at every level, missing
 * ones too. The semantic policy revision and the digest are over canonical JSON (base/json.h),
 * re-serialised from values, so that 8.0 and 8 in a file give one digest.
 * This release writes and accepts: level managed-rootless/v1, pool attestation
 * linux-project-quota/v1. The raw level is read and digested (clients may meet one), never written.
 */
#pragma once

#include <jansson.h>
#include <sys/types.h>

#include "base/macros.h"

#define DESCRIPTOR_MAX (1024 * 1024) /* bytes of a file */
#define CONTROL_PROTOCOL "niceeval-docker-profile-control/v1"

typedef struct Descriptor {
        json_t *root; /* the whole document; strings below point into it */
        const char *profile_id, *security_level, *semantic_policy_revision;
        const char *host_machine_identity, *backend_machine_identity;
        const char *docker_socket, *control_socket;
        uid_t docker_socket_uid, control_socket_uid; /* (uid_t) -1: no uid of this system */
        uid_t owner_uid;
        gid_t owner_gid;
        const char *filesystem_identity, *mount_path, *docker_root_dir;
        uint64_t limit_bytes, pool_count, bytes_per_allocation;
        const char *attestation;
        const char *aggregate_path;
        uint64_t cpus_milli, memory_bytes, pids, max_containers, max_builds, disk_bytes;
        double cpus; /* as published; cpus_milli is rounded down */
        uint64_t aggregate_cpus_milli, aggregate_memory_bytes, aggregate_pids;
        const char **dns_servers; /* NULL-terminated array; managed level, else empty */
} Descriptor;

/* What is wrong with a descriptor or registry entry, in the protocol's words. */
typedef struct DescriptorError {
        char code[64];     /* sandbox.docker-profile-... */
        char path[128];    /* profile.capacity, ... */
        char message[512]; /* sentence for people */
} DescriptorError;

Descriptor *descriptor_free(Descriptor *d);
void descriptor_freep(Descriptor **d);

/* Checks root (not consumed) by all rules in the protocol's order. -EINVAL with *error filled. */
int descriptor_parse(json_t *root, Descriptor **ret, DescriptorError *error);
/* Reads JSON text, then descriptor_parse(). What is no JSON gets the code schema-invalid. */
int descriptor_parse_text(const char *text, size_t n, Descriptor **ret, DescriptorError *error);
/* Reads and parses a file (O_NOFOLLOW). No rules about owner, mode, parents: see registry.h. */
int descriptor_load(const char *path, Descriptor **ret, DescriptorError *error);

/* First 8 hex digits over the semantic part of root. 0 or -errno. */
int descriptor_semantic_revision(const json_t *root, char ret[static 9]);
/* "sha256:" + 64 hex over the whole document; ret of 72 bytes. */
int descriptor_digest(const json_t *root, char ret[static 72]);

/* Facts that `apply` found, for making a descriptor. */
typedef struct DescriptorFacts {
        const char *alias, *machine_identity;
        uid_t account_uid;
        gid_t account_gid;
        const char *filesystem_identity; /* "dev=N:ino=N" of the mount point */
        const char *aggregate_path;      /* /sys/fs/cgroup/user.slice/user-UID.slice */
} DescriptorFacts;

struct ProfileConf;
struct ProfilePaths;
/* Builds a managed descriptor; the caller owns *ret. 0 or -errno. */
int descriptor_build(const struct ProfileConf *conf,
                     const struct ProfilePaths *paths,
                     const DescriptorFacts *facts,
                     json_t **ret);
/* First 32 hex of sha256("niceeval-docker-profile-v1:ALIAS:MACHINE"). */
void descriptor_profile_id(const char *alias, const char *machine_identity, char ret[static 33]);
