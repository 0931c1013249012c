/* SPDX-License-Identifier: MIT */
#include "profile/descriptor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/fd.h"
#include "base/json.h"
#include "profile/conf.h"
#include "profile/descriptor-schema.h"
#include "profile/paths.h"

Descriptor *descriptor_free(Descriptor *d) {
        if (!d)
                return NULL;
        json_decref(d->root);
        free(d->dns_servers);
        free(d);
        return NULL;
}

void descriptor_freep(Descriptor **d) {
        descriptor_free(*d);
}

int descriptor_digest(const json_t *root, char ret[static 72]) {
        memcpy(ret, "sha256:", 7);
        return json_digest(root, ret + 7);
}

int descriptor_semantic_revision(const json_t *root, char ret[static 9]) {
        const json_t *backend = json_object_get(root, "backend");
        const json_t *cgroup = json_object_get(backend, "cgroup");
        CLEANUP(json_decrefp)
        json_t *semantic = json_pack("{s:i, s:O, s:{s:O, s:{s:O, s:O}}, s:O}",
                                     "schemaVersion",
                                     1,
                                     "securityLevel",
                                     json_object_get(root, "securityLevel"),
                                     "backend",
                                     "kind",
                                     json_object_get(backend, "kind"),
                                     "cgroup",
                                     "policyRevision",
                                     json_object_get(cgroup, "policyRevision"),
                                     "controllers",
                                     json_object_get(cgroup, "controllers"),
                                     "policy",
                                     json_object_get(root, "policy"));
        char hex[SHA256_HEX_SIZE];
        int r;

        if (!semantic)
                return -EINVAL;
        r = json_digest(semantic, hex);
        if (r < 0)
                return r;
        memcpy(ret, hex, 8);
        ret[8] = 0;
        return 0;
}

void descriptor_profile_id(const char *alias, const char *machine_identity, char ret[static 33]) {
        char text[512], hex[SHA256_HEX_SIZE];

        snprintf(text, sizeof(text), "niceeval-docker-profile-v1:%s:%s", alias, machine_identity);
        sha256_hex(text, strlen(text), hex);
        memcpy(ret, hex, 32);
        ret[32] = 0;
}

/* "a.b.c" below root. */
static json_t *at(const json_t *root, const char *path) {
        char part[64];
        json_t *v = (json_t *) root;

        while (*path) {
                size_t n = strcspn(path, ".");

                snprintf(part, sizeof(part), "%.*s", (int) n, path);
                v = json_object_get(v, part);
                path += n + (path[n] == '.');
        }
        return v;
}

static const char *text_at(const json_t *root, const char *path) {
        return json_string_value(at(root, path));
}

static uint64_t uint_at(const json_t *root, const char *path) {
        int64_t v = 0;

        (void) json_safe_integer(at(root, path), &v);
        return (uint64_t) v;
}

/* The protocol allows integers that are no ids here; they become the id that nothing ever has. */
static uint32_t id_at(const json_t *root, const char *path) {
        uint64_t v = uint_at(root, path);

        return v < UINT32_MAX ? (uint32_t) v : UINT32_MAX;
}

static uint64_t milli_at(const json_t *root, const char *path) {
        double milli = json_number_value(at(root, path)) * 1000;

        /* a value such as 0.3 is not exact; the nearest milli-CPU is meant */
        return milli >= 9e15 ? UINT64_MAX / 4 : (uint64_t) floor(milli + 1e-6);
}

static int fill_servers(Descriptor *d) {
        json_t *servers = at(d->root, "policy.network.dns.servers");
        size_t n = json_array_size(servers);

        d->dns_servers = calloc(n + 1, sizeof(*d->dns_servers));
        if (!d->dns_servers)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                d->dns_servers[i] = json_string_value(json_array_get(servers, i));
        return 0;
}

static int fill(Descriptor *d) {
        const json_t *r = d->root;

        d->profile_id = text_at(r, "profileId");
        d->security_level = text_at(r, "securityLevel");
        d->semantic_policy_revision = text_at(r, "semanticPolicyRevision");
        d->host_machine_identity = text_at(r, "transport.hostMachineIdentity");
        d->backend_machine_identity = text_at(r, "backend.machineIdentity");
        d->docker_socket = text_at(r, "transport.dockerSocket.path");
        d->control_socket = text_at(r, "transport.controlSocket.path");
        d->docker_socket_uid = id_at(r, "transport.dockerSocket.peerUid");
        d->control_socket_uid = id_at(r, "transport.controlSocket.peerUid");
        d->owner_uid = id_at(r, "backend.owner.uid");
        d->owner_gid = id_at(r, "backend.owner.gid");
        d->filesystem_identity = text_at(r, "backend.filesystem.identity");
        d->mount_path = text_at(r, "backend.filesystem.mountPath");
        d->docker_root_dir = text_at(r, "backend.filesystem.dockerRootDir");
        d->limit_bytes = uint_at(r, "backend.filesystem.limitBytes");
        d->pool_count = uint_at(r, "backend.filesystem.dockerDataPool.count");
        d->bytes_per_allocation =
                        uint_at(r, "backend.filesystem.dockerDataPool.bytesPerAllocation");
        d->attestation = text_at(r, "backend.filesystem.dockerDataPool.attestation");
        d->aggregate_path = text_at(r, "backend.cgroup.aggregatePath");
        d->cpus = json_number_value(at(r, "capacity.cpus"));
        d->cpus_milli = milli_at(r, "capacity.cpus");
        d->memory_bytes = uint_at(r, "capacity.memoryBytes");
        d->pids = uint_at(r, "capacity.pids");
        d->max_containers = uint_at(r, "capacity.maxContainers");
        d->max_builds = uint_at(r, "capacity.maxBuilds");
        d->disk_bytes = uint_at(r, "capacity.ephemeralDiskBytes");
        d->aggregate_cpus_milli = milli_at(r, "capacity.aggregate.cpus");
        d->aggregate_memory_bytes = uint_at(r, "capacity.aggregate.memoryBytes");
        d->aggregate_pids = uint_at(r, "capacity.aggregate.pids");
        return fill_servers(d);
}

/* The rules between fields, in the protocol's order. */
static int check_rules(const Descriptor *d, DescriptorError *e) {
        uint64_t pool;
        char revision[9];

        if (json_number_value(at(d->root, "capacity.aggregate.cpus")) < d->cpus ||
            d->aggregate_memory_bytes < d->memory_bytes || d->aggregate_pids < d->pids)
                return descriptor_refuse(e,
                                         "capacity-invalid",
                                         "profile.capacity",
                                         "the aggregate is below what may be allocated");
        if (d->pool_count < d->max_containers ||
            (!__builtin_mul_overflow(d->pool_count, d->bytes_per_allocation, &pool) &&
             pool < d->disk_bytes))
                return descriptor_refuse(e,
                                         "capacity-invalid",
                                         "profile.backend.filesystem.dockerDataPool",
                                         "the slots hold less than the capacity promises");
        if (strcmp(text_at(d->root, "policy.level"), d->security_level))
                return descriptor_refuse(e,
                                         "security-level-unsupported",
                                         "profile.policy.level",
                                         "policy.level is %s, securityLevel is %s",
                                         text_at(d->root, "policy.level"),
                                         d->security_level);
        if (descriptor_semantic_revision(d->root, revision) < 0)
                return -ENOMEM;
        if (strcmp(revision, d->semantic_policy_revision))
                return descriptor_refuse(e,
                                         "semantic-policy-mismatch",
                                         "profile.semanticPolicyRevision",
                                         "expected %s, the file says %s",
                                         revision,
                                         d->semantic_policy_revision);
        return 0;
}

int descriptor_parse(json_t *root, Descriptor **ret, DescriptorError *error) {
        CLEANUP(descriptor_freep) Descriptor *d = NULL;
        int r;

        *error = (DescriptorError){ 0 };
        r = descriptor_check_shape(root, error);
        if (r < 0)
                return r;
        d = calloc(1, sizeof(*d));
        if (!d)
                return -ENOMEM;
        d->root = json_incref(root);
        r = fill(d);
        if (r < 0)
                return r;
        r = check_rules(d, error);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(d);
        return 0;
}

int descriptor_parse_text(const char *text, size_t n, Descriptor **ret, DescriptorError *error) {
        CLEANUP(json_decrefp) json_t *root = NULL;
        char why[256];
        int r;

        *error = (DescriptorError){ 0 };
        r = json_read(text, n, &root, why, sizeof(why));
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return descriptor_refuse(error, "schema-invalid", "profile", "not JSON: %s", why);
        return descriptor_parse(root, ret, error);
}

int descriptor_load(const char *path, Descriptor **ret, DescriptorError *error) {
        CLEANUP(freep) char *text = NULL;
        size_t n;
        int r;

        *error = (DescriptorError){ 0 };
        r = file_read(path, DESCRIPTOR_MAX, &text, &n);
        if (r < 0) {
                snprintf(error->message, sizeof(error->message), "%s: %s", path, strerror(-r));
                return r;
        }
        return descriptor_parse_text(text, n, ret, error);
}

/* Whole CPUs as an integer, so that the file shows 8 and not 8.0. */
static json_t *cpus_json(uint64_t milli) {
        return milli % 1000 ? json_real((double) milli / 1000)
                            : json_integer((json_int_t) (milli / 1000));
}

static json_t *build_policy(const ProfileConf *conf) {
        json_t *servers = json_array();

        for (size_t i = 0; i < conf->n_dns_servers; i++)
                json_array_append_new(servers, json_string(conf->dns_servers[i]));
        return json_pack("{s:s, s:b, s:b, s:b, s:s, s:s, s:s, s:{s:i, s:{s:s, s:o},"
                         " s:{s:s, s:o, s:b, s:b, s:o, s:s, s:b, s:s, s:s, s:b, s:b}}}",
                         "level",
                         "managed-rootless/v1",
                         "hostLoopback",
                         0,
                         "tcpDockerEndpoint",
                         0,
                         "outerSocketInjection",
                         0,
                         "privilegedTranslation",
                         "rootless-userns",
                         "writableRoot",
                         "declared-tmpfs-only",
                         "dockerData",
                         "private-project-quota-allocation/v1",
                         "network",
                         "version",
                         1,
                         "dns",
                         "mode",
                         "explicit",
                         "servers",
                         servers,
                         "egress",
                         "mode",
                         "rootless-nat",
                         "allowedProtocols",
                         json_loads("[\"dns\",\"https\"]", 0, NULL),
                         "denyPrivateNetworks",
                         1,
                         "denySiblingSyntheticEndpoints",
                         1,
                         "denyCidrs",
                         json_loads(DESCRIPTOR_DENY_CIDRS, 0, NULL),
                         "ipv6",
                         "disabled",
                         "disableHostLoopback",
                         1,
                         "portDriver",
                         "none",
                         "daemonBridge",
                         "none",
                         "exclusiveNetwork",
                         1,
                         "icc",
                         0);
}

static json_t *
build_backend(const ProfileConf *conf, const ProfilePaths *paths, const DescriptorFacts *facts) {
        return json_pack("{s:s, s:s, s:{s:I, s:I}, s:{s:s, s:s, s:s, s:I, s:{s:I, s:I, s:s}},"
                         " s:{s:s, s:s, s:[s, s, s]}}",
                         "kind",
                         "local-systemd",
                         "machineIdentity",
                         facts->machine_identity,
                         "owner",
                         "uid",
                         (json_int_t) facts->account_uid,
                         "gid",
                         (json_int_t) facts->account_gid,
                         "filesystem",
                         "identity",
                         facts->filesystem_identity,
                         "mountPath",
                         paths->mount,
                         "dockerRootDir",
                         paths->docker_root,
                         "limitBytes",
                         (json_int_t) conf->pool_bytes,
                         "dockerDataPool",
                         "count",
                         (json_int_t) conf->slots,
                         "bytesPerAllocation",
                         (json_int_t) conf->slot_bytes,
                         "attestation",
                         "linux-project-quota/v1",
                         "cgroup",
                         "aggregatePath",
                         facts->aggregate_path,
                         "policyRevision",
                         "managed-rootless-cgroup-v1",
                         "controllers",
                         "cpu",
                         "memory",
                         "pids");
}

static json_t *build_capacity(const ProfileConf *conf) {
        return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:i, s:{s:o, s:I, s:I, s:i}}",
                         "cpus",
                         cpus_json(conf->cpus_milli),
                         "memoryBytes",
                         (json_int_t) conf->memory_bytes,
                         "pids",
                         (json_int_t) conf->pids,
                         "maxContainers",
                         (json_int_t) conf->max_containers,
                         "maxBuilds",
                         (json_int_t) conf->max_builds,
                         "ephemeralDiskBytes",
                         (json_int_t) (conf->slots * conf->slot_bytes),
                         "memorySwapBytes",
                         0,
                         "aggregate",
                         "cpus",
                         cpus_json(conf->aggregate_cpus_milli),
                         "memoryBytes",
                         (json_int_t) conf->aggregate_memory_bytes,
                         "pids",
                         (json_int_t) conf->aggregate_pids,
                         "memorySwapBytes",
                         0);
}

static json_t *build_transport(const ProfilePaths *paths, const DescriptorFacts *facts) {
        return json_pack("{s:s, s:s, s:{s:s, s:I}, s:{s:s, s:i, s:s}}",
                         "kind",
                         "unix",
                         "hostMachineIdentity",
                         facts->machine_identity,
                         "dockerSocket",
                         "path",
                         paths->engine_socket,
                         "peerUid",
                         (json_int_t) facts->account_uid,
                         "controlSocket",
                         "path",
                         paths->control_socket,
                         "peerUid",
                         0,
                         "protocol",
                         CONTROL_PROTOCOL);
}

int descriptor_build(const ProfileConf *conf,
                     const ProfilePaths *paths,
                     const DescriptorFacts *facts,
                     json_t **ret) {
        CLEANUP(json_decrefp) json_t *root = NULL;
        char profile_id[33], revision[9];
        int r;

        descriptor_profile_id(facts->alias, facts->machine_identity, profile_id);
        root = json_pack("{s:i, s:s, s:s, s:o, s:o, s:o, s:o}",
                         "schemaVersion",
                         1,
                         "profileId",
                         profile_id,
                         "securityLevel",
                         "managed-rootless/v1",
                         "transport",
                         build_transport(paths, facts),
                         "backend",
                         build_backend(conf, paths, facts),
                         "capacity",
                         build_capacity(conf),
                         "policy",
                         build_policy(conf));
        if (!root)
                return -ENOMEM;
        r = descriptor_semantic_revision(root, revision);
        if (r < 0)
                return r;
        if (json_object_set_new(root, "semanticPolicyRevision", json_string(revision)) < 0)
                return -ENOMEM;
        *ret = TAKE_PTR(root);
        return 0;
}
