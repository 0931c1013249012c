/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "profile/conf-keys.h"
#include "profile/descriptor-samples.h"
#include "profile/descriptor.h"
#include "profile/paths.h"
#include "selftest/cmocka-tap.h"

#define CODE(name) "sandbox.docker-profile-" name

static json_t *sample(const char *text) {
        char quoted[8192], why[200];
        json_t *root = NULL;

        sample_quotes(quoted, sizeof(quoted), text);
        if (json_read(quoted, strlen(quoted), &root, why, sizeof(why)) < 0)
                fail_msg("%s", why);
        return root;
}

static void check_sample(const char *text, const char *revision, const char *digest) {
        CLEANUP(json_decrefp) json_t *root = sample(text);
        CLEANUP(descriptor_freep) Descriptor *d = NULL;
        DescriptorError e;
        char got_revision[9], got_digest[72];

        if (descriptor_parse(root, &d, &e) < 0)
                fail_msg("%s %s: %s", e.code, e.path, e.message);
        assert_int_equal(descriptor_semantic_revision(root, got_revision), 0);
        assert_string_equal(got_revision, revision);
        assert_int_equal(descriptor_digest(root, got_digest), 0);
        assert_string_equal(got_digest, digest);
}

static void test_samples(void **state UNUSED) {
        check_sample(sample_managed, SAMPLE_MANAGED_REVISION, SAMPLE_MANAGED_DIGEST);
        check_sample(sample_raw, SAMPLE_RAW_REVISION, SAMPLE_RAW_DIGEST);
}

static void test_fields(void **state UNUSED) {
        CLEANUP(json_decrefp) json_t *root = sample(sample_managed);
        CLEANUP(descriptor_freep) Descriptor *d = NULL;
        DescriptorError e;

        assert_int_equal(descriptor_parse(root, &d, &e), 0);
        assert_string_equal(d->profile_id, "0f1e2d3c4b5a69788796a5b4c3d2e1f0");
        assert_string_equal(d->security_level, "managed-rootless/v1");
        assert_string_equal(d->host_machine_identity, "machine-sample");
        assert_string_equal(d->docker_socket, "/run/example/ws/docker.sock");
        assert_string_equal(d->control_socket, "/run/example/ws/control.sock");
        assert_string_equal(d->mount_path, "/srv/example/ws");
        assert_string_equal(d->docker_root_dir, "/srv/example/ws/docker");
        assert_string_equal(d->aggregate_path, "/sys/fs/cgroup/example-ws.slice");
        assert_int_equal(d->limit_bytes, 34359738368);
        assert_int_equal(d->pool_count, 2);
        assert_int_equal(d->bytes_per_allocation, 8589934592);
        assert_int_equal(d->cpus_milli, 8000);
        assert_int_equal(d->memory_bytes, 12884901888);
        assert_int_equal(d->pids, 4096);
        assert_int_equal(d->max_containers, 2);
        assert_int_equal(d->max_builds, 1);
        assert_int_equal(d->disk_bytes, 17179869184);
        assert_int_equal(d->aggregate_cpus_milli, 12000);
        assert_string_equal(d->dns_servers[0], "9.9.9.9");
        assert_string_equal(d->dns_servers[1], "1.1.1.1");
        assert_null(d->dns_servers[2]);
}

/* "a.b.c" below root becomes the JSON value, or goes away ("-"). */
static void mutate(json_t *root, const char *path, const char *value) {
        const char *dot;
        char key[64];

        while ((dot = strchr(path, '.'))) {
                snprintf(key, sizeof(key), "%.*s", (int) (dot - path), path);
                root = json_object_get(root, key);
                path = dot + 1;
        }
        assert_non_null(root);
        if (!strcmp(value, "-"))
                assert_int_equal(json_object_del(root, path), 0);
        else {
                json_t *v = json_loads(value, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

                assert_non_null(v);
                assert_int_equal(json_object_set_new(root, path, v), 0);
        }
}

/* A change that keeps the revision right must be given it anew. */
static void renew_revision(json_t *root) {
        char revision[9];

        assert_int_equal(descriptor_semantic_revision(root, revision), 0);
        json_object_set_new(root, "semanticPolicyRevision", json_string(revision));
}

typedef struct Mutation {
        const char *path, *value, *code, *error_path;
} Mutation;

/* clang-format off */
static const Mutation mutations[] = {
        { "schemaVersion", "-", "schema-invalid", NULL },
        { "schemaVersion", "2", "unknown-version", NULL },
        { "schemaVersion", "\"1\"", "unknown-version", NULL },
        { "schemaVersion", "true", "unknown-version", NULL },
        { "securityLevel", "\"root/v1\"", "security-level-unsupported", NULL },
        { "securityLevel", "7", "security-level-unsupported", NULL },
        { "securityLevel", "-", "security-level-unsupported", NULL },
        { "extra", "1", "schema-invalid", NULL },
        { "profileId", "-", "schema-invalid", "profile.profileId" },
        { "profileId", "\"\"", "schema-invalid", NULL },
        { "profileId", "\" \\t\\u00a0\\u3000\"", "schema-invalid", NULL },
        { "profileId", "\"a\\u0000b\"", "schema-invalid", NULL },
        { "profileId", "1", "schema-invalid", NULL },
        { "transport", "[]", "schema-invalid", "profile.transport" },
        { "transport.kind", "\"tcp\"", "schema-invalid", NULL },
        { "transport.hostMachineIdentity", "null", "schema-invalid", NULL },
        { "transport.dockerSocket.path", "\"run/x\"", "schema-invalid", "profile.transport.dockerSocket.path" },
        { "transport.dockerSocket.peerUid", "-1", "schema-invalid", NULL },
        { "transport.dockerSocket.peerUid", "0.5", "schema-invalid", NULL },
        { "transport.dockerSocket.peerUid", "9007199254740992", "schema-invalid", NULL },
        { "transport.dockerSocket.mode", "0", "schema-invalid", NULL },
        { "transport.controlSocket.protocol", "\"niceeval-docker-profile-control/v2\"", "schema-invalid", NULL },
        { "transport.controlSocket.path", "-", "schema-invalid", NULL },
        { "backend.kind", "\"remote\"", "schema-invalid", NULL },
        { "backend.owner.gid", "\"0\"", "schema-invalid", NULL },
        { "backend.owner.name", "\"x\"", "schema-invalid", NULL },
        { "backend.filesystem.limitBytes", "0", "schema-invalid", NULL },
        { "backend.filesystem.mountPath", "\"\"", "schema-invalid", NULL },
        { "backend.filesystem.setupPrefix", "{}", "schema-invalid", NULL },
        { "backend.filesystem.dockerDataPool.attestation", "\"independent-fixed-filesystem/v1\"", "schema-invalid", NULL },
        { "backend.filesystem.dockerDataPool.count", "0", "schema-invalid", NULL },
        { "backend.filesystem.dockerDataPool.count", "1", "capacity-invalid", NULL },
        { "backend.filesystem.dockerDataPool.bytesPerAllocation", "8589934591", "capacity-invalid", NULL },
        { "backend.cgroup.controllers", "[\"cpu\",\"memory\"]", "schema-invalid", NULL },
        { "backend.cgroup.controllers", "[\"cpu\",\"pids\",\"memory\"]", "schema-invalid", NULL },
        { "backend.cgroup.aggregatePath", "\"user.slice\"", "schema-invalid", NULL },
        { "capacity.cpus", "0", "schema-invalid", NULL },
        { "capacity.cpus", "\"8\"", "schema-invalid", NULL },
        { "capacity.cpus", "12.001", "capacity-invalid", "profile.capacity" },
        { "capacity.memoryBytes", "17179869185", "capacity-invalid", "profile.capacity" },
        { "capacity.pids", "6145", "capacity-invalid", "profile.capacity" },
        { "capacity.pids", "4096.5", "schema-invalid", NULL },
        { "capacity.maxContainers", "3", "capacity-invalid", NULL },
        { "capacity.maxBuilds", "0", "schema-invalid", NULL },
        { "capacity.ephemeralDiskBytes", "17179869185", "capacity-invalid", NULL },
        { "capacity.memorySwapBytes", "1", "schema-invalid", NULL },
        { "capacity.memorySwapBytes", "-", "schema-invalid", NULL },
        { "capacity.aggregate.memorySwapBytes", "false", "schema-invalid", NULL },
        { "capacity.aggregate.cpus", "7.999", "capacity-invalid", NULL },
        { "capacity.aggregate.extra", "1", "schema-invalid", NULL },
        { "policy", "-", "schema-invalid", NULL },
        { "policy.level", "\"raw-dind-storage/v1\"", "schema-invalid", NULL },
        { "policy.hostLoopback", "true", "schema-invalid", NULL },
        { "policy.network.version", "2", "schema-invalid", NULL },
        { "policy.network.dns.mode", "\"host\"", "schema-invalid", NULL },
        { "policy.network.dns.servers", "[]", "schema-invalid", NULL },
        { "policy.network.dns.servers", "[\"10.0.0.1\"]", "schema-invalid", NULL },
        { "policy.network.dns.servers", "[\"9.9.9.9\", \"::1\"]", "schema-invalid", NULL },
        { "policy.network.dns.servers", "\"9.9.9.9\"", "schema-invalid", NULL },
        { "policy.network.egress.icc", "true", "schema-invalid", NULL },
        { "policy.network.egress.allowedProtocols", "[\"https\",\"dns\"]", "schema-invalid", NULL },
        { "policy.network.egress.denyCidrs", "[\"0.0.0.0/8\"]", "schema-invalid", NULL },
        { "policy.network.egress.proxy", "null", "schema-invalid", NULL },
        { "semanticPolicyRevision", "\"3ff431c6\"", "semantic-policy-mismatch", "profile.semanticPolicyRevision" },
        { "semanticPolicyRevision", "\"3ff431c51\"", "semantic-policy-mismatch", NULL },
        { "backend.cgroup.policyRevision", "\"other\"", "semantic-policy-mismatch", NULL },
        { "policy.network.dns.servers", "[\"8.8.8.8\"]", "semantic-policy-mismatch", NULL },
};

/* These stay valid; the second column may change the revision. */
static const Mutation harmless[] = {
        { "profileId", "\"x\"", NULL, NULL },
        { "transport.dockerSocket.path", "\"/var/run/../run/docker.sock\"", NULL, NULL },
        { "transport.dockerSocket.peerUid", "9007199254740991", NULL, NULL },
        { "backend.kind", "\"dedicated-linux-vm\"", NULL, NULL },
        { "backend.machineIdentity", "\"another\"", NULL, NULL },
        { "capacity.cpus", "0.25", NULL, NULL },
        { "capacity.cpus", "12", NULL, NULL },
        { "capacity.cpus", "8.0", NULL, NULL },
        { "capacity.memorySwapBytes", "0.0", NULL, NULL },
        { "schemaVersion", "1.0", NULL, NULL },
        { "backend.filesystem.dockerDataPool.bytesPerAllocation", "9007199254740991", NULL, NULL },
        { "policy.network.dns.servers", "[\"2620:fe::fe\", \"::ffff:9.9.9.9\"]", NULL, NULL },
};
/* clang-format on */

static void test_mutations(void **state UNUSED) {
        for (size_t i = 0; i < N_ELEMENTS(mutations); i++) {
                const Mutation *m = mutations + i;
                CLEANUP(json_decrefp) json_t *root = sample(sample_managed);
                CLEANUP(descriptor_freep) Descriptor *d = NULL;
                DescriptorError e;
                char code[64];

                mutate(root, m->path, m->value);
                if (descriptor_parse(root, &d, &e) != -EINVAL || d)
                        fail_msg("%s=%s is accepted", m->path, m->value);
                snprintf(code, sizeof(code), CODE("%s"), m->code);
                if (strcmp(e.code, code) || (m->error_path && strcmp(e.path, m->error_path)))
                        fail_msg("%s=%s: %s %s: %s", m->path, m->value, e.code, e.path, e.message);
                assert_true(*e.message && *e.path);
        }
}

static void test_harmless(void **state UNUSED) {
        for (size_t i = 0; i < N_ELEMENTS(harmless); i++) {
                const Mutation *m = harmless + i;
                CLEANUP(json_decrefp) json_t *root = sample(sample_managed);
                CLEANUP(descriptor_freep) Descriptor *d = NULL;
                DescriptorError e;

                mutate(root, m->path, m->value);
                renew_revision(root);
                if (descriptor_parse(root, &d, &e) < 0)
                        fail_msg("%s=%s: %s: %s", m->path, m->value, e.code, e.message);
        }
}

/* Rules between fields are judged in the protocol's order. */
static void test_order(void **state UNUSED) {
        CLEANUP(json_decrefp) json_t *root = sample(sample_managed), *raw = sample(sample_raw);
        Descriptor *d = NULL;
        DescriptorError e;

        /* revision wrong, levels differ, pool too small, structure broken: from last to first */
        json_object_set_new(root, "semanticPolicyRevision", json_string("00000000"));
        json_object_set(root, "policy", json_object_get(raw, "policy"));
        assert_int_equal(descriptor_parse(root, &d, &e), -EINVAL);
        assert_string_equal(e.code, CODE("security-level-unsupported"));
        mutate(root, "capacity.maxContainers", "3");
        assert_int_equal(descriptor_parse(root, &d, &e), -EINVAL);
        assert_string_equal(e.code, CODE("capacity-invalid"));
        assert_string_not_equal(e.path, "profile.capacity");
        mutate(root, "capacity.pids", "6145");
        assert_int_equal(descriptor_parse(root, &d, &e), -EINVAL);
        assert_string_equal(e.path, "profile.capacity");
        mutate(root, "capacity.extra", "1");
        assert_int_equal(descriptor_parse(root, &d, &e), -EINVAL);
        assert_string_equal(e.code, CODE("schema-invalid"));
        mutate(root, "schemaVersion", "9");
        assert_int_equal(descriptor_parse(root, &d, &e), -EINVAL);
        assert_string_equal(e.code, CODE("unknown-version"));
        assert_null(d);
}

static void test_not_an_object(void **state UNUSED) {
        static const char *const texts[] = { "[]", "null", "1", "\"x\"", "{}", "", "{", "x" };

        for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
                Descriptor *d = NULL;
                DescriptorError e;

                assert_int_equal(descriptor_parse_text(texts[i], strlen(texts[i]), &d, &e),
                                 -EINVAL);
                assert_string_equal(e.code, CODE("schema-invalid"));
                assert_null(d);
        }
}

/* An id that this system does not have must not become another one by being cut. */
static void test_large_ids(void **state UNUSED) {
        CLEANUP(json_decrefp) json_t *root = sample(sample_managed);
        CLEANUP(descriptor_freep) Descriptor *d = NULL;
        DescriptorError e;

        mutate(root, "transport.controlSocket.peerUid", "4294967296");
        mutate(root, "backend.owner.gid", "4294967295");
        assert_int_equal(descriptor_parse(root, &d, &e), 0);
        assert_int_equal(d->control_socket_uid, (uid_t) -1);
        assert_int_equal(d->owner_gid, (gid_t) -1);
}

/* 8.0 and 8 are one value and give one digest, however a file spells it. */
static void test_spelling(void **state UNUSED) {
        CLEANUP(json_decrefp) json_t *root = sample(sample_raw);
        char digest[72];

        json_object_set_new(json_object_get(root, "capacity"), "cpus", json_real(8.0));
        assert_int_equal(descriptor_digest(root, digest), 0);
        assert_string_equal(digest, SAMPLE_RAW_DIGEST);
}

static void fill_conf(ProfileConf *c) {
        assert_int_equal(conf_set_defaults(c), 0);
        c->cpus_milli = 7500;
        c->memory_bytes = UINT64_C(3) << 30;
        c->pids = 4096;
        c->max_containers = 2;
        c->slots = 3;
        c->slot_bytes = UINT64_C(2) << 30;
        c->pool_bytes = UINT64_C(10) << 30;
        c->aggregate_cpus_milli = 8000;
        c->aggregate_memory_bytes = UINT64_C(4) << 30;
        c->aggregate_pids = 5120;
}

static void test_build(void **state UNUSED) {
        const DescriptorFacts facts = {
                .alias = "default",
                .machine_identity = "0123456789abcdef0123456789abcdef",
                .account_uid = 990,
                .account_gid = 991,
                .filesystem_identity = "dev=1792:ino=2",
                .aggregate_path = "/sys/fs/cgroup/user.slice/user-990.slice"
        };
        CLEANUP(profile_conf_donep) ProfileConf conf = { 0 };
        CLEANUP(descriptor_freep) Descriptor *d = NULL;
        CLEANUP(json_decrefp) json_t *root = NULL;
        CLEANUP(freep) char *text = NULL;
        ProfilePaths paths;
        DescriptorError e;
        char id[33];

        fill_conf(&conf);
        assert_int_equal(profile_paths("default", &paths), 0);
        assert_int_equal(descriptor_build(&conf, &paths, &facts, &root), 0);
        if (descriptor_parse(root, &d, &e) < 0)
                fail_msg("%s %s: %s", e.code, e.path, e.message);
        descriptor_profile_id("default", facts.machine_identity, id);
        assert_string_equal(d->profile_id, id);
        assert_string_equal(d->docker_socket, paths.engine_socket);
        assert_string_equal(d->control_socket, paths.control_socket);
        assert_int_equal(d->docker_socket_uid, 990);
        assert_int_equal(d->control_socket_uid, 0);
        assert_int_equal(d->disk_bytes, UINT64_C(6) << 30);
        assert_int_equal(d->limit_bytes, UINT64_C(10) << 30);
        assert_int_equal(d->cpus_milli, 7500);
        assert_int_equal(json_canonical(root, &text, NULL), 0);
        assert_non_null(strstr(text, "\"cpus\":7.5,"));
        assert_non_null(strstr(text, "\"cpus\":8,"));
}

/* printf 'niceeval-docker-profile-v1:default:m1' | sha256sum | cut -c1-32 */
static void test_profile_id(void **state UNUSED) {
        char id[33];

        descriptor_profile_id("default", "m1", id);
        assert_string_equal(id, "e18afcaba1c4c09acede6207f76fdcaa");
}

static void test_load(void **state UNUSED) {
        char dir[] = "/tmp/dindhost-descriptor-XXXXXX", path[64], link_path[64], text[8192];
        CLEANUP(descriptor_freep) Descriptor *d = NULL;
        DescriptorError e;

        assert_non_null(mkdtemp(dir));
        snprintf(path, sizeof(path), "%s/d.json", dir);
        snprintf(link_path, sizeof(link_path), "%s/l.json", dir);
        assert_int_equal(descriptor_load(path, &d, &e), -ENOENT);
        sample_quotes(text, sizeof(text), sample_managed);
        assert_int_equal(file_write_atomic(path, text, strlen(text), 0644, -1, -1), 0);
        assert_int_equal(symlink(path, link_path), 0);
        assert_int_equal(descriptor_load(link_path, &d, &e), -ELOOP);
        assert_true(*e.message);
        assert_int_equal(descriptor_load(path, &d, &e), 0);
        unlink(path);
        unlink(link_path);
        rmdir(dir);
}

/* Garbage is refused or (a harmless change) accepted, never more; refusals always have a code. */
static void test_damaged(void **state UNUSED) {
        char text[8192], copy[8192];
        uint64_t seed = 11;
        size_t n;

        n = strlen(sample_quotes(text, sizeof(text), sample_managed));
        for (int i = 0; i < 6000; i++) {
                Descriptor *d = NULL;
                DescriptorError e;
                int r;

                memcpy(copy, text, n + 1);
                for (int k = 0; k <= i % 3; k++) {
                        seed = seed * 6364136223846793005U + 1442695040888963407U;
                        copy[(seed >> 33) % n] = (char) (i % 2 ? text[(seed >> 20) % n]
                                                               : (char) (seed >> 24));
                }
                r = descriptor_parse_text(copy, i % 7 ? n : (seed >> 40) % n, &d, &e);
                assert_true(r == 0 || r == -EINVAL);
                assert_true((r == 0) == (d != NULL));
                if (r < 0)
                        assert_int_equal(strncmp(e.code, CODE(""), strlen(CODE(""))), 0);
                descriptor_free(d);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_samples),   cmocka_unit_test(test_fields),
                cmocka_unit_test(test_mutations), cmocka_unit_test(test_harmless),
                cmocka_unit_test(test_order),     cmocka_unit_test(test_not_an_object),
                cmocka_unit_test(test_large_ids), cmocka_unit_test(test_spelling),
                cmocka_unit_test(test_build),     cmocka_unit_test(test_profile_id),
                cmocka_unit_test(test_load),      cmocka_unit_test(test_damaged),
        };

        return RUN_TAP(tests);
}
