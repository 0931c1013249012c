/* SPDX-License-Identifier: MIT */
/* What a client may say about its container, and the Engine requests that are made of it. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "selftest/cmocka-tap.h"
#include "watchdog/sandbox-spec.h"
#include "watchdog/sandbox-tmpfs.h"

#define BASE "\"image\":\"img\",\"command\":[],\"environment\":[],\"attemptId\":\"a\""

static json_t *read_json(const char *text) {
        json_t *v = NULL;
        char why[256];

        if (json_read(text, strlen(text), &v, why, sizeof(why)) < 0)
                fail_msg("the test's own JSON: %s in %s", why, text);
        return v;
}

/* The error code, or "" when accepted. */
static const char *parse(const char *text, SandboxSpec *ret) {
        CLEANUP(json_decrefp) json_t *create = read_json(text);
        CLEANUP(sandbox_spec_donep) SandboxSpec spec = { 0 };
        const char *code = NULL;
        char message[512] = "";
        int r = sandbox_spec_parse(create, &spec, &code, message, sizeof(message));

        if (r < 0) {
                CLEANUP(json_decrefp) json_t *as_text = json_string(message);

                assert_int_equal(r, -EINVAL);
                assert_true(strlen(message) > 0);
                assert_non_null(as_text); /* valid UTF-8, for the reply */
                return code;
        }
        if (ret) {
                *ret = spec;
                spec = (SandboxSpec){ 0 };
        }
        return "";
}

static void expect(const char *text, const char *code) {
        const char *got = parse(text, NULL);

        if (strcmp(got, code))
                fail_msg("%s: got '%s', wanted '%s'", text, got, code);
}

static void good_objects(void **state UNUSED) {
        static const char *const table[] = {
                "{" BASE "}",
                "{" BASE ",\"entrypoint\":null,\"workingDir\":null,\"user\":null,\"tmpfs\":{}}",
                "{" BASE
                ",\"entrypoint\":\"sh\",\"workingDir\":\"/home/sandbox/workspace\",\"user\":\"root\"}",
                "{\"image\":\"d.io/d/docker:26-dind\",\"command\":[\"-c\",\"x\\ny\",\"\"],\"environment\":[\"A=b\",\"C\"],\"attemptId\":\"eval/1 \\u00e4\"}",
                "{\"image\":\"sha256:0123\",\"command\":[],\"environment\":[],\"attemptId\":\"a\"}",
                "{\"image\":\"[::1]:5000/x@sha256:00\",\"command\":[],\"environment\":[],\"attemptId\":\"a\"}",
        };

        for (size_t i = 0; i < N_ELEMENTS(table); i++)
                expect(table[i], "");
}

static void bad_objects(void **state UNUSED) {
        static const struct {
                const char *text, *code;
        } table[] = {
                /* not an object, or a part missing or of another type */
                { "null", "container-create-invalid" },
                { "[]", "container-create-invalid" },
                { "\"x\"", "container-create-invalid" },
                { "{}", "container-create-invalid" },
                { "{\"image\":\"img\",\"command\":[],\"environment\":[]}",
                  "container-create-invalid" },
                { "{\"image\":\"img\",\"command\":[],\"environment\":[],\"attemptId\":\"\"}",
                  "container-create-invalid" },
                { "{\"image\":\"img\",\"command\":[],\"environment\":[],\"attemptId\":1}",
                  "container-create-invalid" },
                { "{\"image\":\"\",\"command\":[],\"environment\":[],\"attemptId\":\"a\"}",
                  "container-create-invalid" },
                { "{\"image\":[\"img\"],\"command\":[],\"environment\":[],\"attemptId\":\"a\"}",
                  "container-create-invalid" },
                { "{\"image\":\"img\",\"command\":\"sh\",\"environment\":[],\"attemptId\":\"a\"}",
                  "container-create-invalid" },
                { "{\"image\":\"img\",\"command\":[1],\"environment\":[],\"attemptId\":\"a\"}",
                  "container-create-invalid" },
                { "{\"image\":\"img\",\"command\":[null],\"environment\":[],\"attemptId\":\"a\"}",
                  "container-create-invalid" },
                { "{\"image\":\"img\",\"command\":[[\"x\"]],\"environment\":[],\"attemptId\":\"a\"}",
                  "container-create-invalid" },
                { "{\"image\":\"img\",\"command\":[],\"environment\":{},\"attemptId\":\"a\"}",
                  "container-create-invalid" },
                { "{\"image\":\"img\",\"command\":[],\"environment\":[true],\"attemptId\":\"a\"}",
                  "container-create-invalid" },
                { "{" BASE ",\"entrypoint\":[\"sh\"]}", "container-create-invalid" },
                { "{" BASE ",\"user\":0}", "container-create-invalid" },
                { "{" BASE ",\"workingDir\":{}}", "container-create-invalid" },
                { "{" BASE ",\"tmpfs\":[]}", "container-create-invalid" },
                { "{" BASE ",\"tmpfs\":{\"/x\":1}}", "container-create-invalid" },
                { "{" BASE ",\"tmpfs\":{\"/x\":null}}", "container-create-invalid" },
                /* image names that look like something else */
                { "{\"image\":\"--volume=/:/host\",\"command\":[],\"environment\":[],\"attemptId\":\"a\"}",
                  "container-create-invalid" },
                { "{\"image\":\"-v\",\"command\":[],\"environment\":[],\"attemptId\":\"a\"}",
                  "container-create-invalid" },
                { "{\"image\":\"img --privileged\",\"command\":[],\"environment\":[],\"attemptId\":\"a\"}",
                  "container-create-invalid" },
                { "{\"image\":\"../../etc\",\"command\":[],\"environment\":[],\"attemptId\":\"a\"}",
                  "container-create-invalid" },
                { "{\"image\":\"img?fromImage=x\",\"command\":[],\"environment\":[],\"attemptId\":\"a\"}",
                  "container-create-invalid" },
                { "{\"image\":\"img\\n\",\"command\":[],\"environment\":[],\"attemptId\":\"a\"}",
                  "container-create-invalid" },
                /* wishes about the host */
                { "{" BASE ",\"binds\":[]}", "container-create-host-input" },
                { "{" BASE ",\"mounts\":[]}", "container-create-host-input" },
                { "{" BASE ",\"volumes\":{}}", "container-create-host-input" },
                { "{" BASE ",\"hostConfig\":{}}", "container-create-host-input" },
                { "{" BASE ",\"devices\":[]}", "container-create-host-input" },
                { "{" BASE ",\"networkMode\":\"host\"}", "container-create-host-input" },
                { "{" BASE ",\"ports\":[]}", "container-create-host-input" },
                { "{" BASE ",\"extraHosts\":[]}", "container-create-host-input" },
                { "{" BASE ",\"privileged\":true}", "container-create-host-input" },
                { "{" BASE ",\"Image\":\"img\"}", "container-create-host-input" },
                { "{" BASE ",\"\":0}", "container-create-host-input" },
        };

        for (size_t i = 0; i < N_ELEMENTS(table); i++)
                expect(table[i].text, table[i].code);
}

static void texts_with_a_nul_are_refused(void **state UNUSED) {
        CLEANUP(json_decrefp) json_t *create = read_json("{" BASE "}");
        CLEANUP(sandbox_spec_donep) SandboxSpec spec = { 0 };
        const char *code = NULL;
        char message[512];

        json_array_append_new(json_object_get(create, "command"), json_stringn("a\0b", 3));
        assert_int_equal(sandbox_spec_parse(create, &spec, &code, message, sizeof(message)),
                         -EINVAL);
        assert_string_equal(code, "container-create-invalid");
}

static void long_texts_are_quoted_whole(void **state UNUSED) {
        char text[4096] = "{" BASE ",\"tmpfs\":{\"x", key[4096] = "{" BASE ",\"";

        for (int i = 0; i < 400; i++) {
                strcat(text, "\xc3\xa4");
                strcat(key, "\xe2\x82\xac");
        }
        strcat(text, "\":\"\"}}");
        strcat(key, "\":1}");
        expect(text, "container-create-invalid");
        expect(key, "container-create-host-input");
}

static void tmpfs_targets(void **state UNUSED) {
        static const struct {
                const char *target;
                bool good;
        } table[] = {
                { "/run", true },
                { "/tmp", true },
                { "/home/sandbox", true },
                { "/dev/shm", true },
                { "/var/run", true },
                { "/var/lib/dockers", true },
                { "/var/lib/docker2", true },
                { "/...", true },
                { "/a..b", true },
                { "/procs", true },
                { "/var/tmp", true },
                { "", false },
                { "/", false },
                { "//", false },
                { "/.", false },
                { "run", false },
                { "./run", false },
                { "/run/", false },
                { "//run", false },
                { "/run/.", false },
                { "/run//x", false },
                { "/./run", false },
                { "/..", false },
                { "/run/..", false },
                { "/run/../var/lib/docker", false },
                { "/x/../../var/lib/docker", false },
                { "/var/lib/docker", false },
                { "//var/lib/docker", false },
                { "/var/lib/docker/", false },
                { "/var/lib/docker/.", false },
                { "/var/./lib/docker", false },
                { "/var/lib//docker", false },
                { "/var/lib/docker/overlay2", false },
                { "/var/lib/docker//x", false },
                { "/var/lib/../lib/docker", false },
                { "/./var/lib/docker/./", false },
                { "/proc", false },
                { "/proc/sys", false },
                { "/sys", false },
                { "/sys/fs/cgroup", false },
                { "/dev", false },
                { "/dev/pts", false },
                { "/dev/shm/x", false },
                { "/sbin", false },
                { "/sbin/dindhost-supervisor", false },
                { "/sbin/dindhost-supervisor/x", false },
                { "/usr", false },
                { "/usr/sbin", false },
                { "/usr/sbin/dindhost-supervisor", false },
                { "/sbin/dindhost-supervisor2", true },
        };

        for (size_t i = 0; i < N_ELEMENTS(table); i++) {
                char text[512];

                snprintf(text, sizeof(text), "{" BASE ",\"tmpfs\":{\"%s\":\"\"}}", table[i].target);
                expect(text, table[i].good ? "" : "container-create-invalid");
        }
}

static void tmpfs_options(void **state UNUSED) {
        static const struct {
                const char *options;
                bool good;
        } table[] = {
                { "", true },
                /* the forms that NiceEval sends */
                { "rw,exec,nosuid,nodev,size=67108864", true },
                { "rw,noexec,nosuid,nodev,size=67108864,mode=0755", true },
                { "rw,exec,nosuid,nodev,size=1,mode=01777,uid=1000,gid=1000", true },
                { "rw,noexec,nosuid,nodev,size=9007199254740991,uid=0,gid=0", false },
                { "rw,noexec,nosuid,nodev,size=900719925474099,uid=0,gid=0", true },
                { "size=64m", true },
                { "size=64M", true },
                { "size=1g", true },
                { "mode=755", true },
                { "ro", true },
                { "nr_inodes=1k", true },
                { "size=0", false },
                { "size=000", false },
                { "size=", false },
                { "size=50%", false },
                { "size=-1", false },
                { "size=1mb", false },
                { "size=1e9", false },
                { "size=0x10", false },
                { "nr_inodes=0", false },
                { "mode=", false },
                { "mode=0888", false },
                { "mode=777777", false },
                { "mode=17777", false },
                { "uid=-1", false },
                { "uid=root", false },
                { "uid=4294967295", false },
                { "gid=4294967296", false },
                { "uid=", false },
                { "huge=always", false },
                { "mpol=bind:0", false },
                { "rw,,exec", false },
                { ",", false },
                { "rw,", false },
                { " rw", false },
                { "rw exec", false },
                { "bind", false },
                { "rshared", false },
                { "remount", false },
                { "size=1m,lowerdir=/", false },
                { "RW", false },
        };

        for (size_t i = 0; i < N_ELEMENTS(table); i++) {
                char text[512];

                snprintf(text,
                         sizeof(text),
                         "{" BASE ",\"tmpfs\":{\"/x\":\"%s\"}}",
                         table[i].options);
                expect(text, table[i].good ? "" : "container-create-invalid");
        }
}

static void who_is_pid_one(void **state UNUSED) {
        static const struct {
                const char *text;
                bool supervised;
        } table[] = {
                { "{" BASE "}", true },
                { "{" BASE ",\"entrypoint\":\"\"}", true },
                { "{" BASE ",\"entrypoint\":\"/sbin/dindhost-supervisor\"}", true },
                { "{\"image\":\"i\",\"command\":[\"--lifetime=1\"],\"environment\":[],\"attemptId\":\"a\","
                  "\"entrypoint\":\"/sbin/dindhost-supervisor\"}",
                  true },
                { "{" BASE ",\"entrypoint\":\"sh\"}", false },
                { "{\"image\":\"i\",\"command\":[\"sh\"],\"environment\":[],\"attemptId\":\"a\"}",
                  false },
        };

        for (size_t i = 0; i < N_ELEMENTS(table); i++) {
                CLEANUP(sandbox_spec_donep) SandboxSpec spec = { 0 };

                assert_string_equal(parse(table[i].text, &spec), "");
                assert_int_equal(spec.supervised, table[i].supervised);
        }
}

/* The digest is over what is meant, not over how it was spelt. */
static void digests(void **state UNUSED) {
        CLEANUP(sandbox_spec_donep) SandboxSpec a = { 0 }, b = { 0 }, c = { 0 };

        assert_string_equal(parse("{" BASE "}", &a), "");
        assert_string_equal(
                        parse("{\"attemptId\": \"\\u0061\", \"environment\": [], \"command\": [], \"image\":\"img\"}",
                              &b),
                        "");
        assert_string_equal(parse("{" BASE ",\"tmpfs\":{}}", &c), "");
        assert_string_equal(a.digest, b.digest);
        assert_string_not_equal(a.digest, c.digest);
        assert_int_equal(strlen(a.digest), 71);
        assert_string_equal(a.attempt_id, "a");
}

/* ---- bodies ---- */

static const char *servers[] = { "9.9.9.9", "1.1.1.1", NULL };
static Descriptor descriptor = { .profile_id = "p", .dns_servers = servers };
static SlotTable table = { .slots_dir = (char *) "/pool/slots" };
static Reservation reservation = {
        .reservation_id = (char *) "r",
        .invocation_id = (char *) "i",
        .provision_token = "0123456789abcdefghijklmnopqrstuv",
        .slot = 3,
        .slot_generation = 9,
        .resources = { .cpus_milli = 1500, .memory_bytes = 1 << 30, .pids = 256 },
};

static Watchdog watchdog(void) {
        Watchdog w = { .descriptor = &descriptor, .slot_table = table };

        assert_int_equal(profile_paths("default", &w.paths), 0);
        w.conf.stop_timeout_usec = 10 * UINT64_C(1000000);
        w.conf.sandbox_lifetime_usec = 3600 * UINT64_C(1000000);
        w.conf.ready_timeout_usec = 60 * UINT64_C(1000000);
        return w;
}

static void assert_body(json_t *body, const char *expected) {
        CLEANUP(json_decrefp) json_t *want = read_json(expected);
        CLEANUP(freep) char *a = NULL, *b = NULL;

        assert_non_null(body);
        assert_int_equal(json_canonical(body, &a, NULL), 0);
        assert_int_equal(json_canonical(want, &b, NULL), 0);
        assert_string_equal(a, b);
        json_decref(body);
}

#define LABELS                                                                                     \
        "{\"niceeval.profile-id\":\"p\",\"niceeval.invocation-id\":\"i\","                         \
        "\"niceeval.reservation-id\":\"r\","                                                       \
        "\"niceeval.provision-token\":\"0123456789abcdefghijklmnopqrstuv\","                       \
        "\"niceeval.attempt-id\":\"a\",\"dindhost.profile-id\":\"p\","                             \
        "\"dindhost.alias\":\"default\",\"dindhost.slot-id\":\"slot-0003\","                       \
        "\"dindhost.generation\":\"9\"}"

#define HOST_CONFIG(tmpfs)                                                                            \
        "{\"NetworkMode\":\"net\",\"Privileged\":true,\"ReadonlyRootfs\":true,"                       \
        "\"CgroupnsMode\":\"private\",\"Memory\":1073741824,\"MemorySwap\":1073741824,"               \
        "\"PidsLimit\":256,\"NanoCpus\":1500000000,\"Dns\":[\"9.9.9.9\",\"1.1.1.1\"],"                \
        "\"LogConfig\":{\"Type\":\"json-file\",\"Config\":{\"max-size\":\"1m\",\"max-file\":\"2\"}}," \
        "\"Mounts\":[{\"Type\":\"bind\",\"Source\":\"/pool/slots/slot-0003\","                        \
        "\"Target\":\"/var/lib/docker\",\"BindOptions\":{\"Propagation\":\"rprivate\"}},"             \
        "{\"Type\":\"bind\",\"Source\":\"" SUPERVISOR_PATH "\",\"ReadOnly\":true,"                    \
        "\"Target\":\"/sbin/dindhost-supervisor\",\"BindOptions\":{\"Propagation\":\"rprivate\"}}],"  \
        "\"Tmpfs\":" tmpfs "}"

static void network_body(void **state UNUSED) {
        CLEANUP(sandbox_spec_donep) SandboxSpec spec = { 0 };
        Watchdog w = watchdog();

        assert_string_equal(parse("{" BASE "}", &spec), "");
        assert_body(sandbox_network_body(&w, &reservation, &spec),
                    "{\"Name\":\"niceeval-0123456789abcdefghij\",\"Driver\":\"bridge\","
                    "\"CheckDuplicate\":true,\"Internal\":false,\"EnableIPv6\":false,"
                    "\"Options\":{\"com.docker.network.bridge.enable_icc\":\"false\"},"
                    "\"Labels\":" LABELS "}");
}

/* As NiceEval starts its own: its words in its fields, and all else as the profile has it. */
static void container_body_of_a_client(void **state UNUSED) {
        CLEANUP(sandbox_spec_donep) SandboxSpec spec = { 0 };
        Watchdog w = watchdog();

        assert_string_equal(
                        parse("{\"image\":\"img:1\",\"command\":[\"-c\",\"--privileged\"],"
                              "\"entrypoint\":\"sh\",\"environment\":[\"A=b\"],\"user\":\"root\","
                              "\"workingDir\":\"/w\",\"attemptId\":\"a\","
                              "\"tmpfs\":{\"/tmp\":\"rw,size=5\",\"/x\":\"\",\"/y\":\"ro\"}}",
                              &spec),
                        "");
        assert_body(sandbox_container_body(&w, &reservation, &spec, "net"),
                    "{\"Image\":\"img:1\",\"Cmd\":[\"-c\",\"--privileged\"],\"Entrypoint\":[\"sh\"],"
                    "\"Env\":[\"A=b\"],\"User\":\"root\",\"WorkingDir\":\"/w\",\"StopTimeout\":10,"
                    "\"Labels\":" LABELS ",\"HostConfig\":" HOST_CONFIG(
                                    "{\"/tmp\":\"rw,size=5\",\"/x\":\"size=1073741824\","
                                    "\"/y\":\"ro,size=1073741824\"}") "}");
}

static void container_body_with_our_supervisor(void **state UNUSED) {
        CLEANUP(sandbox_spec_donep) SandboxSpec spec = { 0 };
        Watchdog w = watchdog();

        assert_string_equal(
                        parse("{\"image\":\"img:1\",\"command\":[],\"environment\":[\"A=b\"],"
                              "\"user\":\"sandbox\",\"attemptId\":\"a\",\"tmpfs\":{\"/run\":\"size=7\"}}",
                              &spec),
                        "");
        assert_body(sandbox_container_body(&w, &reservation, &spec, "net"),
                    "{\"Image\":\"img:1\",\"Cmd\":[],\"Entrypoint\":[\"/sbin/dindhost-supervisor\"],"
                    "\"Env\":[\"DINDHOST_READY_TIMEOUT=60\",\"DINDHOST_LIFETIME=3600\",\"A=b\"],"
                    "\"User\":\"0:0\",\"StopSignal\":\"SIGTERM\",\"StopTimeout\":10,"
                    "\"Labels\":" LABELS ",\"HostConfig\":" HOST_CONFIG(
                                    "{\"/run\":\"size=7\","
                                    "\"/tmp\":\"rw,exec,nosuid,nodev,mode=1777,size=268435456\"}") "}");
}

static void filters(void **state UNUSED) {
        Watchdog w = watchdog();
        CLEANUP(freep) char *filter = sandbox_filter(&w, &reservation);

        assert_non_null(filter);
        assert_non_null(strstr(filter, "niceeval.reservation-id%3Dr%22"));
        assert_null(strchr(filter, '&'));
        assert_null(strchr(filter, '"'));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(good_objects),
                cmocka_unit_test(bad_objects),
                cmocka_unit_test(texts_with_a_nul_are_refused),
                cmocka_unit_test(long_texts_are_quoted_whole),
                cmocka_unit_test(tmpfs_targets),
                cmocka_unit_test(tmpfs_options),
                cmocka_unit_test(who_is_pid_one),
                cmocka_unit_test(digests),
                cmocka_unit_test(network_body),
                cmocka_unit_test(container_body_of_a_client),
                cmocka_unit_test(container_body_with_our_supervisor),
                cmocka_unit_test(filters),
        };

        return RUN_TAP(tests);
}
