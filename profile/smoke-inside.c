/* SPDX-License-Identifier: MIT */
/* What the smoke does inside its sandbox, by programs executed there. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "profile/kernel-text.h"
#include "profile/smoke-internal.h"

#define MiB (UINT64_C(1024) * 1024)
#define READY_POLL_USEC USEC_PER_SEC
#define ROOT_USER "0"

/* Runs a shell line with arguments $1.. in the sandbox. -errno with a FAIL made when it cannot. */
static int inside(Doctor *d,
                  const char *user,
                  const char *script,
                  const char *const *args,
                  uint64_t timeout_usec,
                  EngineExecResult *ret,
                  Finding *f) {
        const char *argv[8] = { "sh", "-c", script, "dindhost-smoke" };
        EngineExec e = {
                .socket = d->descriptor->docker_socket,
                .container = d->smoke->container_id,
                .user = user,
                .argv = argv,
                .timeout_usec = timeout_usec,
        };
        char why[512];
        int r;

        for (size_t i = 0; args && args[i] && i + 5 < N_ELEMENTS(argv); i++)
                argv[4 + i] = args[i];
        r = engine_exec(&e, ret, why, sizeof(why));
        if (r >= 0)
                return 0;
        finding_fail(f, "a program cannot be run in the sandbox: %s", why);
        finding_cure(f,
                     "see docker -H unix://%s logs %.12s; the image must have 'sh', and the time-outs "
                     "in the profile file must suit this host",
                     d->descriptor->docker_socket,
                     d->smoke->container_id);
        return r;
}

/* The last line of a text, without its end. */
static const char *last_line(char *text) {
        size_t n = strlen(text);
        char *p;

        while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
                text[--n] = 0;
        p = strrchr(text, '\n');
        return p ? p + 1 : text;
}

/* Has the sandbox ended? Then the finding tells how, with the end of its log. */
static bool has_ended(Doctor *d, Finding *f) {
        CLEANUP(freep) char *path = text_format("/containers/%s/json", d->smoke->container_id);
        CLEANUP(json_decrefp) json_t *container = NULL;
        CLEANUP(freep) char *log = NULL;
        const json_t *state;
        long status;

        if (!path ||
            !smoke_engine(d, "GET", path, d->conf.engine_timeout_usec, &status, &container, f))
                return false;
        state = json_object_get(container, "State");
        if (status != 200 || json_is_true(json_object_get(state, "Running")))
                return false;
        log = engine_log_tail(d->descriptor->docker_socket,
                              d->smoke->container_id,
                              5,
                              d->conf.engine_timeout_usec);
        finding_fail(f,
                     "the sandbox ended with exit code %lld: %s",
                     (long long) json_integer_value(json_object_get(state, "ExitCode")),
                     log && *log ? log : "its log is empty");
        finding_cure(f,
                     "the image '%s' must have dockerd and its programs; see dindhost-supervisor(8)",
                     d->conf.smoke_image);
        return true;
}

/*
 * Who an agent in the sandbox is: an ordinary user, whose Docker is the daemon beside it and
 * nothing that an environment points to.
 */
static const char ready_script[] =
                "test \"$(id -u)\" != 0 || { echo 'this user is root'; exit 3; }\n"
                "test -z \"$DOCKER_HOST$DOCKER_CONTEXT\" || "
                "{ echo 'DOCKER_HOST or DOCKER_CONTEXT is set'; exit 3; }\n"
                "v=$(docker version --format '{{.Server.Version}}') && test -n \"$v\" && echo \"$v\"\n";

void smoke_check_ready(Doctor *d, Finding *f) {
        uint64_t begin = boottime_usec(), deadline = begin + d->conf.ready_timeout_usec;

        for (;;) {
                CLEANUP(engine_exec_result_donep) EngineExecResult result = { 0 };
                int r = inside(d,
                               d->conf.smoke_user,
                               ready_script,
                               NULL,
                               d->conf.ready_timeout_usec,
                               &result,
                               f);

                if (r >= 0 && result.exit_code == 0) {
                        finding_pass(f,
                                     "after %.1f s user '%s' has Docker %s",
                                     (double) (boottime_usec() - begin) / USEC_PER_SEC,
                                     d->conf.smoke_user,
                                     last_line(result.output));
                        return;
                }
                if (has_ended(d, f))
                        return;
                if (r >= 0) {
                        finding_fail(f,
                                     "user '%s': %s (exit code %d)",
                                     d->conf.smoke_user,
                                     last_line(result.output),
                                     result.exit_code);
                        finding_cure(f,
                                     "'%s' must be an ordinary user of the image, in its group docker "
                                     "([Docker] SmokeUser=); ReadyTimeout= must suit this host",
                                     d->conf.smoke_user);
                }
                if ((r >= 0 && result.exit_code == 3) || boottime_usec() > deadline)
                        return;
                usleep(READY_POLL_USEC);
        }
}

/* An image without a registry: our own static supervisor is the only program in it. */
static const char nested_script[] =
                "set -e\n"
                "tar -C /sbin -cf - dindhost-supervisor | docker import - dindhost-smoke >/dev/null\n"
                "exec docker run --rm dindhost-smoke /dindhost-supervisor --version\n";

void smoke_check_nested(Doctor *d, Finding *f) {
        CLEANUP(engine_exec_result_donep) EngineExecResult result = { 0 };
        uint64_t begin = boottime_usec();

        if (inside(d,
                   d->conf.smoke_user,
                   nested_script,
                   NULL,
                   2 * d->conf.ready_timeout_usec,
                   &result,
                   f) < 0)
                return;
        if (result.exit_code == 0 && *result.output) {
                finding_pass(f,
                             "docker run as '%s' printed '%s' after %.1f s",
                             d->conf.smoke_user,
                             last_line(result.output),
                             (double) (boottime_usec() - begin) / USEC_PER_SEC);
                return;
        }
        finding_fail(f,
                     "docker run as '%s': exit code %d: %s",
                     d->conf.smoke_user,
                     result.exit_code,
                     result.output);
        finding_cure(f,
                     "the image needs tar, runc and iptables; host modules: see host.modules; the "
                     "inner daemon's log: docker -H unix://%s logs CONTAINER",
                     d->descriptor->docker_socket);
}

static void judge_limits(const Doctor *d, const CgroupLimits *got, Finding *f) {
        const CgroupLimits want = smoke_limits(d->smoke);
        char text[256];

        if (cgroup_limits_match(&want, got, text, sizeof(text))) {
                finding_pass(f, "%s", cgroup_limits_format(text, sizeof(text), got));
                return;
        }
        finding_fail(f, "%s", text);
        finding_cure(f,
                     "see cgroup.delegated and daemon.limits; then systemctl restart "
                     "user@%u.service (this ends the profile's sandboxes)",
                     (unsigned) d->uid);
}

void smoke_check_limits_inside(Doctor *d, Finding *f) {
        /* what is executed must be in the sandbox's own cgroup, or no limit holds for it: a path
         * that leads out of the cgroup namespace begins with "/.." */
        static const char script[] =
                        "if grep -q ':/\\.\\.' /proc/self/cgroup; then\n"
                        "echo 'what is executed in it lands outside of its cgroup'; exit 1; fi\n"
                        "cd /sys/fs/cgroup && cat cpu.max memory.max memory.swap.max pids.max";
        CLEANUP(engine_exec_result_donep) EngineExecResult result = { 0 };
        CgroupLimits got;

        if (inside(d, ROOT_USER, script, NULL, d->conf.ready_timeout_usec, &result, f) < 0)
                return;
        if (result.exit_code == 0 && cgroup_limits_parse(result.output, &got)) {
                judge_limits(d, &got, f);
                return;
        }
        finding_fail(f,
                     "the limits of what is executed in the sandbox are not known: %s",
                     result.output);
        finding_cure(f,
                     "/sys/fs/cgroup must be mounted in the sandbox (cgroup v2, private namespace), and "
                     "the daemon must be a unit of the account's user manager with crun as runtime: "
                     "dindhost profile apply %s",
                     d->alias);
}

/* The scope of the container, by its PID 1; deeper groups are made by what runs inside. */
static bool find_scope(Doctor *d, Finding *f) {
        CLEANUP(freep) char *path = text_format("/containers/%s/json", d->smoke->container_id);
        CLEANUP(freep) char *text = NULL;
        CLEANUP(json_decrefp) json_t *container = NULL;
        char proc[64], group[1024];
        json_int_t pid;
        long status;

        if (!path ||
            !smoke_engine(d, "GET", path, d->conf.engine_timeout_usec, &status, &container, f) ||
            status != 200)
                return false;
        pid = json_integer_value(json_object_get(json_object_get(container, "State"), "Pid"));
        snprintf(proc, sizeof(proc), "/proc/%lld/cgroup", (long long) pid);
        if (pid > 0 && file_read(proc, 64 * 1024, &text, NULL) >= 0 &&
            cgroup_path_parse(text, group, sizeof(group)) &&
            cgroup_container_scope(group,
                                   d->smoke->container_id,
                                   d->smoke->scope,
                                   sizeof(d->smoke->scope)))
                return true;
        finding_fail(f, "process %lld of the sandbox is in no scope of its own", (long long) pid);
        finding_cure(f, "the outer daemon must use the systemd cgroup driver: see daemon.cgroup");
        return false;
}

void smoke_check_limits_host(Doctor *d, Finding *f) {
        CgroupLimits got;
        char dir[1100];
        int r;

        if (!find_scope(d, f))
                return;
        if (*d->aggregate && !cgroup_is_below(d->smoke->scope, d->aggregate)) {
                finding_fail(f,
                             "the sandbox is in %s, outside the aggregate %s",
                             d->smoke->scope,
                             d->aggregate);
                finding_cure(f, "dindhost profile apply %s", d->alias);
                return;
        }
        snprintf(dir, sizeof(dir), "/sys/fs/cgroup%s", d->smoke->scope);
        r = cgroup_limits_effective(dir, &got);
        if (r >= 0) {
                judge_limits(d, &got, f);
                return;
        }
        finding_fail(f, "%s: %s", dir, strerror(-r));
        finding_cure(f, "see cgroup.delegated");
}

/* Root of the sandbox tries to raise each limit, and the kernel's own files tell whether it could.
 */
void smoke_check_limits_hold(Doctor *d, Finding *f) {
        static const char script[] =
                        "cd /sys/fs/cgroup; s=1\n"
                        "for x in memory.max memory.swap.max pids.max cpu.max; do\n"
                        "(echo max > $x) 2>/dev/null && { echo \"$x was raised\"; s=0; }\n"
                        "done; exit $s\n";
        CLEANUP(engine_exec_result_donep) EngineExecResult result = { 0 };
        const CgroupLimits want = smoke_limits(d->smoke);
        char dir[1100], text[256];
        CgroupLimits got;
        int r;

        if (inside(d, ROOT_USER, script, NULL, d->conf.ready_timeout_usec, &result, f) < 0)
                return;
        snprintf(dir, sizeof(dir), "/sys/fs/cgroup%s", d->smoke->scope);
        r = cgroup_limits_effective(dir, &got);
        if (r < 0)
                finding_fail(f, "%s: %s", dir, strerror(-r));
        else if (!cgroup_limits_match(&want, &got, text, sizeof(text)))
                finding_fail(f, "root of the sandbox raised a limit: %s", text);
        else if (result.exit_code == 0)
                finding_fail(f, "root of the sandbox may write its limit files: %s", result.output);
        else {
                finding_pass(f, "root of the sandbox tried to raise all four and was refused");
                return;
        }
        finding_cure(f, "mount cgroup2 with nsdelegate: see host.nsdelegate");
}

bool smoke_find_refusal(const char *output, char *ret, size_t n) {
        static const char *const words[] = { "quota exceeded", "No space left" };

        while (*output) {
                size_t k = strcspn(output, "\n");

                snprintf(ret, n, "%.*s", (int) k, output);
                for (size_t i = 0; i < N_ELEMENTS(words); i++)
                        if (strstr(ret, words[i]))
                                return true;
                output += k + (output[k] == '\n');
        }
        return false;
}

/*
 * Most of a large slot is taken by allocation, which the quota counts like writing, and the rest is
 * really written until the refusal; never more than the slot's limit and a little.
 */
static const char fill_script[] =
                "f=/var/lib/docker/dindhost-smoke-fill\n"
                "test $1 = 0 || fallocate -l $1 $f.1 2>/dev/null\n"
                "LC_ALL=C dd if=/dev/zero of=$f.2 bs=1048576 count=$2 2>&1; s=$?\n"
                "rm -f $f.1 $f.2; exit $s\n";

void smoke_check_quota(Doctor *d, Finding *f) {
        const uint64_t limit = d->descriptor->bytes_per_allocation;
        CLEANUP(engine_exec_result_donep) EngineExecResult result = { 0 };
        char allocate[32], count[32], line[256];
        const char *const args[] = { allocate, count, NULL };
        /* one second for each MiB is slower than any disk; the wait for the start comes on top */
        uint64_t timeout = d->conf.ready_timeout_usec + limit / MiB * USEC_PER_SEC;

        snprintf(allocate,
                 sizeof(allocate),
                 "%llu",
                 (unsigned long long) (limit > 512 * MiB ? limit - 256 * MiB : 0));
        snprintf(count, sizeof(count), "%llu", (unsigned long long) (limit / MiB + 16));
        if (inside(d, ROOT_USER, fill_script, args, timeout, &result, f) < 0)
                return;
        if (result.exit_code != 0 && smoke_find_refusal(result.output, line, sizeof(line))) {
                finding_pass(f, "root of the sandbox was refused: %s", line);
                return;
        }
        finding_fail(f,
                     result.exit_code == 0
                                     ? "more than %llu MiB could be written to the slot: %s"
                                     : "writing ended without a refusal of the quota (limit %llu MiB): %s",
                     (unsigned long long) (limit / MiB),
                     result.output);
        finding_cure(f, "see storage.quota, storage.slot-projects and storage.slot-limits");
}
