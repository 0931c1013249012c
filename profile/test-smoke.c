/* SPDX-License-Identifier: MIT */
/*
 * The smoke against a host that is played
 *
 * A child process serves a control socket and an Engine socket, as the watchdog and dockerd do, and
 * misbehaves at one point on demand. What is seen: which checks pass, which do not and why, and
 * that everything taken is given back however it went. What only a real kernel can tell (the
 * scope's limit files, the slot's quota) is expected to fail here: there is none.
 */
#include "profile/smoke.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "profile/conf-keys.h"
#include "profile/engine-exec.h"
#include "profile/heart.h"
#include "selftest/cmocka-tap.h"

typedef struct Played {
        /* how it misbehaves, written by the test before it starts */
        const char *fault;
        /* what it saw */
        unsigned heartbeats, leases, acquired, created, started, released, drained;
        bool running, wrong_token, wrong_create;
        char last_script[4096];
} Played;

typedef struct Host {
        char dir[64], control[108], engine[108];
        pid_t pid;
        Played *p; /* shared */
} Host;

static bool fault_is(const Played *p, const char *name) {
        return p->fault && !strcmp(p->fault, name);
}

/* ---- control ---- */

static json_t *refuse(const char *code) {
        return json_pack(
                        "{s:b, s:{s:s, s:s}}", "ok", 0, "error", "code", code, "message", "played");
}

static json_t *grant(json_t *result) {
        return json_pack("{s:b, s:o}", "ok", 1, "result", result);
}

static json_t *record(const Played *p) {
        return json_pack("{s:s, s:s, s:i}",
                         "state",
                         fault_is(p, "queued") ? "queued" : "granted",
                         "slotId",
                         "slot-0001",
                         "slotGeneration",
                         3);
}

static bool create_is_right(const json_t *request) {
        const json_t *c = json_object_get(request, "create");
        const char *user = json_string_value(json_array_get(json_object_get(c, "environment"), 0));

        return json_object_size(c) == 4 && json_array_size(json_object_get(c, "command")) == 0 &&
                        user && !strcmp(user, "DINDHOST_READY_USER=sandbox");
}

static json_t *status_answer(const Played *p) {
        return json_pack("{s:b, s:[{s:s, s:s, s:i}], s:[], s:[]}",
                         "admissionOpen",
                         1,
                         "slots",
                         "slotId",
                         "slot-0001",
                         "state",
                         fault_is(p, "quarantine") ? "quarantined" : "free",
                         "generation",
                         4,
                         "reservations",
                         "degraded");
}

static json_t *answer(Played *p, const json_t *request) {
        const char *kind = json_string_value(json_object_get(request, "kind"));
        const char *token = json_string_value(json_object_get(request, "leaseToken"));

        if (!kind || fault_is(p, kind))
                return refuse("played-fault");
        if (!strcmp(kind, "lease.create")) {
                p->leases++;
                return grant(json_pack("{s:s}", "leaseToken", "a-token"));
        }
        if (!strcmp(kind, "status"))
                return grant(status_answer(p));
        if (!token || strcmp(token, "a-token"))
                p->wrong_token = true;
        if (!strcmp(kind, "lease.heartbeat")) {
                p->heartbeats++;
                return grant(json_pack("{s:s}", "state", "active"));
        }
        if (!strcmp(kind, "reservation.acquire"))
                p->acquired++;
        if (!strcmp(kind, "reservation.acquire") || !strcmp(kind, "reservation.get"))
                return grant(record(p));
        if (!strcmp(kind, "container.create")) {
                p->created++;
                p->wrong_create = !create_is_right(request);
                return grant(json_pack("{s:s, s:s, s:s}",
                                       "containerId",
                                       "c0ffee",
                                       "networkId",
                                       "beef",
                                       "state",
                                       "active"));
        }
        if (!strcmp(kind, "reservation.release")) {
                p->released++;
                p->running = false;
                return grant(json_pack("{s:b}", "released", 1));
        }
        if (!strcmp(kind, "lease.drain")) {
                if (++p->drained > 1)
                        return refuse("lease-not-found");
                return grant(json_pack("{s:s}", "state", "draining"));
        }
        return refuse("request-unknown");
}

static void serve_control(Played *p, int fd) {
        CLEANUP(json_decrefp) json_t *request = NULL, *reply = NULL;
        CLEANUP(freep) char *text = NULL, *out = NULL;
        char why[128];
        size_t n;

        if (fd_read_all(fd, 65536, &text, &n) < 0 ||
            json_read(text, n, &request, why, sizeof(why)) < 0)
                return;
        reply = answer(p, request);
        if (reply && json_canonical(reply, &out, &n) >= 0) {
                (void) fd_write_all(fd, out, n);
                (void) fd_write_all(fd, "\n", 1);
        }
}

/* ---- Engine ---- */

static void respond(int fd, int status, const char *type, const char *body, size_t n) {
        CLEANUP(freep)
        char *head = text_format(
                        "HTTP/1.1 %d Played\r\nContent-Type: %s\r\nConnection: close\r\n\r\n",
                        status,
                        type);

        if (head)
                (void) fd_write_all(fd, head, strlen(head));
        (void) fd_write_all(fd, body, n);
}

static void respond_text(int fd, int status, const char *body) {
        respond(fd, status, "application/json", body, strlen(body));
}

/* What each of the smoke's scripts prints. */
static const char *output_of(const Played *p) {
        const char *s = p->last_script;

        if (strstr(s, "docker version"))
                return "warming up\n26.1.5\n";
        if (strstr(s, "docker run"))
                return "dindhost-supervisor 0.1.0\n";
        if (strstr(s, "cat cpu.max"))
                return fault_is(p, "limits") ? "max 100000\n536870912\n0\n256\n"
                                             : "200000 100000\n536870912\n0\n256\n";
        if (strstr(s, "dd if="))
                return fault_is(p, "no-quota")
                                ? "wrote it all\n"
                                : "dd: error writing: Disk quota exceeded\n1+0 records out\n";
        return "?\n";
}

static int exit_code_of(const Played *p) {
        const char *s = p->last_script;

        if (strstr(s, "docker version"))
                return fault_is(p, "root-user") ? 3 : fault_is(p, "never-ready") ? 1 : 0;
        if (strstr(s, "docker run"))
                return fault_is(p, "nested") ? 125 : 0;
        if (strstr(s, "dd if="))
                return fault_is(p, "no-quota") ? 0 : 1;
        return 0;
}

/* Two frames, one of each stream, to see both put together. */
static void respond_output(Played *p, int fd) {
        const char *text = output_of(p);
        unsigned char frames[1024];
        size_t n = strlen(text), half = n / 2;

        memset(frames, 0, 16);
        frames[0] = 1;
        frames[7] = (unsigned char) half;
        memcpy(frames + 8, text, half);
        memset(frames + 8 + half, 0, 8);
        frames[8 + half] = 2;
        frames[8 + half + 7] = (unsigned char) (n - half);
        memcpy(frames + 16 + half, text + half, n - half);
        if (fault_is(p, "frames"))
                frames[0] = 9;
        respond(fd, 200, "application/vnd.docker.raw-stream", (const char *) frames, n + 16);
}

static void remember_script(Played *p, const char *body) {
        CLEANUP(json_decrefp) json_t *v = NULL;
        const char *script;
        char why[128];

        if (json_read(body, strlen(body), &v, why, sizeof(why)) < 0)
                return;
        script = json_string_value(json_array_get(json_object_get(v, "Cmd"), 2));
        snprintf(p->last_script, sizeof(p->last_script), "%s", script ? script : "");
}

static void serve_path(Played *p, int fd, const char *method, const char *path, const char *body) {
        CLEANUP(freep) char *text = NULL;

        if (!strncmp(path, "/images/", 8) && !fault_is(p, "image"))
                respond_text(fd, 200, "{\"Id\":\"sha256:0123456789abcdef\"}");
        else if (!strcmp(path, "/containers/c0ffee/start")) {
                p->started++;
                p->running = !fault_is(p, "dies");
                respond_text(fd,
                             fault_is(p, "start") ? 500 : 204,
                             fault_is(p, "start") ? "{\"message\":\"no runtime\"}" : "");
        } else if (!strcmp(path, "/containers/c0ffee/exec")) {
                remember_script(p, body);
                respond_text(fd,
                             p->running ? 201 : 409,
                             p->running ? "{\"Id\":\"e1\"}" : "{\"message\":\"is not running\"}");
        } else if (!strcmp(path, "/exec/e1/start"))
                respond_output(p, fd);
        else if (!strcmp(path, "/exec/e1/json") &&
                 (text = text_format("{\"Running\":false,\"ExitCode\":%d}", exit_code_of(p))))
                respond_text(fd, 200, text);
        else if (!strncmp(path, "/containers/c0ffee/logs", 23))
                respond(fd, 200, "x", "\1\0\0\0\0\0\0\16dockerd: boom\n", 8 + 14);
        else if (!strcmp(path, "/containers/c0ffee/json") &&
                 (!p->released || fault_is(p, "stays")) &&
                 (text = text_format("{\"State\":{\"Running\":%s,\"ExitCode\":2,\"Pid\":%d}}",
                                     p->running ? "true" : "false",
                                     (int) getpid())))
                respond_text(fd, 200, text);
        else if (!strncmp(path, "/containers/json?", 17) || !strncmp(path, "/networks?", 10))
                respond_text(fd, 200, fault_is(p, "label") ? "[{}]" : "[]");
        else
                respond_text(fd, 404, "{\"message\":\"no such thing\"}");
        (void) method;
}

static void serve_engine(Played *p, int fd) {
        static char text[65536];
        char method[16], path[2048];
        size_t n = 0;
        char *end, *length;

        for (;;) {
                ssize_t k = read(fd, text + n, sizeof(text) - 1 - n);

                if (k <= 0)
                        return;
                n += (size_t) k;
                text[n] = 0;
                end = strstr(text, "\r\n\r\n");
                length = strstr(text, "Content-Length: ");
                if (end &&
                    n >= (size_t) (end + 4 - text) + (length ? strtoul(length + 16, NULL, 10) : 0))
                        break;
        }
        if (sscanf(text, "%15s /v1.41%2047s", method, path) == 2)
                serve_path(p, fd, method, path, end + 4);
}

/* ---- the host ---- */

static int listen_on(const char *path) {
        struct sockaddr_un addr = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
        assert_int_equal(bind(fd, (struct sockaddr *) &addr, sizeof(addr)), 0);
        assert_int_equal(listen(fd, 16), 0);
        return fd;
}

static void play(Played *p, int control, int engine) {
        struct pollfd fds[] = { { .fd = control, .events = POLLIN },
                                { .fd = engine, .events = POLLIN } };

        for (;;) {
                if (poll(fds, 2, -1) < 0)
                        continue;
                for (size_t i = 0; i < 2; i++) {
                        CLEANUP(fd_closep) int fd = -EBADF;

                        if (!(fds[i].revents & POLLIN))
                                continue;
                        fd = accept(fds[i].fd, NULL, NULL);
                        if (fd >= 0 && i == 0)
                                serve_control(p, fd);
                        else if (fd >= 0)
                                serve_engine(p, fd);
                }
        }
}

static void host_start(Host *h, const char *fault) {
        int control, engine;

        *h = (Host){ 0 };
        snprintf(h->dir, sizeof(h->dir), "/tmp/test-smoke.XXXXXX");
        assert_non_null(mkdtemp(h->dir));
        snprintf(h->control, sizeof(h->control), "%s/control.sock", h->dir);
        snprintf(h->engine, sizeof(h->engine), "%s/docker.sock", h->dir);
        control = listen_on(h->control);
        engine = listen_on(h->engine);
        h->p = mmap(NULL, sizeof(*h->p), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(h->p != MAP_FAILED);
        h->p->fault = fault;
        h->pid = fork();
        assert_true(h->pid >= 0);
        if (h->pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                signal(SIGPIPE, SIG_IGN);
                play(h->p, control, engine);
        }
        close(control);
        close(engine);
}

static void host_stop(Host *h) {
        kill(h->pid, SIGKILL);
        assert_int_equal(waitpid(h->pid, NULL, 0), h->pid);
        munmap(h->p, sizeof(*h->p));
        unlink(h->control);
        unlink(h->engine);
        rmdir(h->dir);
}

/* ---- the smoke ---- */

static void already_passed(Doctor *d UNUSED, Finding *f) {
        finding_pass(f, "played");
}

static const Check before[] = {
        { "profile.file", "", NULL, already_passed },
        { "profile.subordinate-ids", "", NULL, already_passed },
        { "daemon.answers", "", NULL, already_passed },
        { "control.challenge", "", NULL, already_passed },
};
static const CheckTable before_table = { before, N_ELEMENTS(before) };

static void run_smoke(Host *h, Report *report) {
        Descriptor descriptor = {
                .profile_id = "played",
                .docker_socket = h->engine,
                .control_socket = h->control,
                .cpus_milli = 4000,
                .memory_bytes = UINT64_C(4) << 30,
                .pids = 1000,
                .disk_bytes = UINT64_C(4) << 30,
                .bytes_per_allocation = UINT64_C(2) << 30,
        };
        CLEANUP(doctor_done)
        Doctor d = { .alias = "played", .descriptor = &descriptor, .digest = "sha256:played" };

        assert_int_equal(profile_paths(d.alias, &d.paths), 0);
        assert_int_equal(conf_set_defaults(&d.conf), 0);
        d.conf.ready_timeout_usec = 20 * USEC_PER_SEC;
        if (fault_is(h->p, "queued") || fault_is(h->p, "never-ready") || fault_is(h->p, "frames"))
                d.conf.ready_timeout_usec = 2 * USEC_PER_SEC;
        d.conf.lease_grace_usec = 300 * USEC_PER_MSEC;
        snprintf(d.generation, sizeof(d.generation), "1");
        d.uid = d.gid = 4000000000;
        assert_int_equal(doctor_run(&d, &before_table, report, NULL, NULL), 0);
        assert_int_equal(doctor_run(&d, &checks_smoke, report, NULL, NULL), 0);
}

static const Finding *find(const Report *r, const char *id) {
        for (size_t i = 0; i < r->n; i++)
                if (!strcmp(r->rows[i].check->id, id))
                        return &r->rows[i].finding;
        fail_msg("no check %s", id);
        return NULL;
}

static void assert_passes(const Report *r, const char *id) {
        const Finding *f = find(r, id);

        if (f->status != CHECK_PASS)
                fail_msg("%s: %s", id, f->observed);
}

/* It fails by itself, with these words and a cure. */
static void assert_fails(const Report *r, const char *id, const char *words) {
        const Finding *f = find(r, id);

        assert_int_equal(f->status, CHECK_FAIL);
        if (!strstr(f->observed, words))
                fail_msg("%s: '%s' does not say '%s'", id, f->observed, words);
        assert_true(*f->cure);
}

static void test_the_way_there_and_back(void **state UNUSED) {
        static const char *const pass[] = {
                "smoke.image",       "smoke.lease",      "smoke.reservation", "smoke.create",
                "smoke.start",       "smoke.ready",      "smoke.nested",      "smoke.limits-inside",
                "smoke.quota",       "smoke.heartbeats", "smoke.release",     "smoke.drain",
                "smoke.gone-objects"
        };
        CLEANUP(report_donep) Report report = { 0 };
        Host h;

        host_start(&h, NULL);
        run_smoke(&h, &report);
        for (size_t i = 0; i < N_ELEMENTS(pass); i++)
                assert_passes(&report, pass[i]);
        assert_non_null(strstr(find(&report, "smoke.ready")->observed, "26.1.5"));
        assert_non_null(strstr(find(&report, "smoke.quota")->observed, "Disk quota exceeded"));
        /* no kernel behind it, and each says so */
        assert_fails(&report, "smoke.limits-host", "no scope of its own");
        assert_fails(&report, "smoke.gone-content", "/slot-0001");
        assert_int_equal(h.p->leases, 1);
        assert_int_equal(h.p->acquired, 1);
        assert_int_equal(h.p->released, 1);
        assert_int_equal(h.p->drained, 2);
        assert_false(h.p->wrong_token);
        assert_false(h.p->wrong_create);
        host_stop(&h);
}

/* Whatever fails, and wherever: told once, with a cure, and what was taken is given back. */
static void test_faults(void **state UNUSED) {
        static const struct {
                const char *fault, *check, *words;
                unsigned released, drained; /* at least; 0: never */
        } faults[] = {
                { "image", "smoke.image", "no image", 0, 0 },
                { "lease.create", "smoke.lease", "played-fault", 0, 0 },
                { "reservation.acquire", "smoke.reservation", "played-fault", 0, 1 },
                { "queued", "smoke.reservation", "queued", 0, 1 },
                { "container.create", "smoke.create", "played-fault", 1, 1 },
                { "start", "smoke.start", "no runtime", 1, 1 },
                { "dies", "smoke.ready", "exit code 2: dockerd: boom", 1, 1 },
                { "root-user", "smoke.ready", "exit code 3", 1, 1 },
                /* what the last try said depends on when the time was over */
                { "never-ready", "smoke.ready", "", 1, 1 },
                { "frames", "smoke.ready", "frames are damaged", 1, 1 },
                { "nested", "smoke.nested", "exit code 125", 1, 1 },
                { "limits", "smoke.limits-inside", "cpu.max is max, must be 2", 1, 1 },
                { "no-quota", "smoke.quota", "more than 2048 MiB", 1, 1 },
                { "reservation.release", "smoke.release", "played-fault", 0, 1 },
                { "lease.drain", "smoke.drain", "played-fault", 1, 0 },
                { "stays", "smoke.gone-objects", "must be 404", 1, 1 },
                { "label", "smoke.gone-objects", "still finds 1", 1, 1 },
                { "quarantine", "smoke.gone-content", "quarantined", 1, 1 },
        };

        for (size_t i = 0; i < N_ELEMENTS(faults); i++) {
                CLEANUP(report_donep) Report report = { 0 };
                Host h;

                host_start(&h, faults[i].fault);
                run_smoke(&h, &report);
                assert_fails(&report, faults[i].check, faults[i].words);
                assert_true(h.p->released >= faults[i].released &&
                            (faults[i].released || !h.p->released));
                assert_true(h.p->drained >= faults[i].drained &&
                            (faults[i].drained || !h.p->drained));
                host_stop(&h);
        }
}

static void test_exec(void **state UNUSED) {
        const char *const argv[] = { "sh", "-c", "docker version", NULL };
        EngineExecResult result = { 0 };
        char why[256];
        Host h;
        EngineExec e = { .container = "c0ffee", .argv = argv, .timeout_usec = 20 * USEC_PER_SEC };

        host_start(&h, "frames");
        e.socket = h.engine;
        h.p->running = true;
        assert_int_equal(engine_exec(&e, &result, why, sizeof(why)), -EBADMSG);
        assert_string_equal(why, "the Engine's output frames are damaged");
        h.p->running = false;
        assert_int_equal(engine_exec(&e, &result, why, sizeof(why)), -EIO);
        assert_string_equal(why, "is not running");
        h.p->running = true;
        h.p->fault = "root-user";
        assert_int_equal(engine_exec(&e, &result, why, sizeof(why)), 0);
        assert_int_equal(result.exit_code, 3);
        assert_string_equal(result.output, "warming up\n26.1.5\n");
        engine_exec_result_donep(&result);
        host_stop(&h);
        e.socket = "/no/such/socket";
        assert_int_equal(engine_exec(&e, &result, why, sizeof(why)), -ENOENT);
}

static void test_demux(void **state UNUSED) {
        static const struct {
                const char *frames;
                size_t n;
                int r;
                const char *text;
        } samples[] = {
                { "", 0, 0, "" },
                { "\1\0\0\0\0\0\0\2ab\2\0\0\0\0\0\0\1c", 19, 0, "abc" },
                { "\1\0\0\0\0\0\0\0", 8, 0, "" },
                { "\1\0\0\0\0\0\0\3ab", 10, -EBADMSG, NULL }, /* cut */
                { "\1\0\0\0\0", 5, -EBADMSG, NULL },
                { "\3\0\0\0\0\0\0\1x", 9, -EBADMSG, NULL },
                { "\1\0\0\0\xff\xff\xff\xffx", 9, -EBADMSG, NULL },
                { "plain text", 10, -EBADMSG, NULL },
        };

        for (size_t i = 0; i < N_ELEMENTS(samples); i++) {
                CLEANUP(freep) char *text = NULL;

                assert_int_equal(engine_demux(samples[i].frames, samples[i].n, &text),
                                 samples[i].r);
                if (samples[i].text)
                        assert_string_equal(text, samples[i].text);
                else
                        assert_null(text);
        }
}

static void wait_for_beats(const Heart *heart, bool failed) {
        uint64_t deadline = boottime_usec() + 60 * USEC_PER_SEC;
        HeartBeats b;

        do {
                usleep(20000);
                b = heart_beats(heart);
        } while (!(failed ? b.failed : b.answered) && boottime_usec() < deadline);
        assert_true(failed ? b.failed > 0 : b.answered > 0);
}

static void test_heart(void **state UNUSED) {
        Heart *heart = NULL;
        Host h;

        host_start(&h, NULL);
        assert_int_equal(heart_start(h.control,
                                     "i",
                                     "a-token",
                                     30 * USEC_PER_MSEC,
                                     20 * USEC_PER_SEC,
                                     &heart),
                         0);
        wait_for_beats(heart, false);
        assert_int_equal(heart_beats(heart).failed, 0);
        h.p->fault = "lease.heartbeat";
        wait_for_beats(heart, true);
        assert_non_null(strstr(heart_beats(heart).message, "played"));
        assert_null(heart_stop(heart));
        assert_false(h.p->wrong_token);
        assert_true(h.p->heartbeats > 0);
        assert_null(heart_stop(NULL));
        host_stop(&h);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_demux),  cmocka_unit_test(test_exec),
                cmocka_unit_test(test_heart),  cmocka_unit_test(test_the_way_there_and_back),
                cmocka_unit_test(test_faults),
        };

        return RUN_TAP(tests);
}
