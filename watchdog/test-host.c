/* SPDX-License-Identifier: MIT */
#include "watchdog/test-host.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"

static const char profile_file[] = "[Profile]\nAccessUsers=\n"
                                   "[Capacity]\nCPUs=4\nMemory=2G\nPIDs=1024\nMaxContainers=2\n"
                                   "[Aggregate]\nCPUs=5\nMemory=3G\nPIDs=2048\n"
                                   "[Storage]\nPoolSize=8G\nSlots=2\nSlotSize=1G\nDaemonSize=1G\n"
                                   "[Network]\nEgress=unenforced\n"
                                   "[Watchdog]\n";

static void write_file(const char *path, const char *text) {
        assert_int_equal(file_write_atomic(path, text, strlen(text), 0644, (uid_t) -1, (gid_t) -1),
                         0);
}

void host_configure(Host *h, const char *more) {
        CLEANUP(freep) char *text = text_format("%s%s", profile_file, more ? more : "");

        assert_non_null(text);
        write_file(h->conf, text);
}

static void write_descriptor(Host *h) {
        CLEANUP(profile_conf_donep) ProfileConf conf = { 0 };
        CLEANUP(json_decrefp) json_t *root = NULL;
        CLEANUP(freep) char *why = NULL;
        CLEANUP(freep) char *text = NULL;
        ProfilePaths paths;
        DescriptorFacts facts = {
                .alias = "stage",
                .machine_identity = "machine-of-the-test",
                .account_uid = getuid(),
                .account_gid = getgid(),
                .filesystem_identity = "dev=1:ino=2",
                .aggregate_path = h->stage.aggregate,
        };

        if (profile_conf_load(h->conf, &conf, &why) < 0)
                fail_msg("%s", why);
        assert_int_equal(profile_paths("stage", &paths), 0);
        snprintf(paths.docker_root, sizeof(paths.docker_root), "%s", STAGE_ROOT_DIR);
        assert_int_equal(descriptor_build(&conf, &paths, &facts, &root), 0);
        assert_int_equal(json_canonical(root, &text, NULL), 0);
        write_file(h->descriptor, text);
        h->profile_id = strdup(json_string_value(json_object_get(root, "profileId")));
}

void host_new(Host *h, const char *more) {
        *h = (Host){ 0 };
        stage_new(&h->stage);
        snprintf(h->control, sizeof(h->control), "%s/control.sock", h->stage.dir);
        snprintf(h->conf, sizeof(h->conf), "%s/stage.conf", h->stage.dir);
        snprintf(h->descriptor, sizeof(h->descriptor), "%s/descriptor.json", h->stage.dir);
        host_configure(h, more);
        write_descriptor(h);
        host_start(h);
        host_wait_open(h);
}

/* Runs the program; its output goes to output_fd when that is not -1. */
static pid_t spawn_watchdog(Host *h, int output_fd) {
        const char *top = getenv("top_builddir"), *dir = h->stage.dir;
        char program[512], options[7][300];
        pid_t pid;

        snprintf(program, sizeof(program), "%s/dindhost-watchdog", top ? top : ".");
        snprintf(options[0], sizeof(options[0]), "--conf=%s", h->conf);
        snprintf(options[1], sizeof(options[1]), "--descriptor=%s", h->descriptor);
        snprintf(options[2], sizeof(options[2]), "--slot-table=%s/slots.json", dir);
        snprintf(options[3], sizeof(options[3]), "--ledger=%s/ledger.db", dir);
        snprintf(options[4], sizeof(options[4]), "--control-socket=%s", h->control);
        snprintf(options[5], sizeof(options[5]), "--engine-socket=%s", h->stage.engine_socket);
        snprintf(options[6], sizeof(options[6]), "--broker-socket=%s", h->stage.broker_socket);
        (void) unlink(h->control);
        pid = fork();
        assert_true(pid >= 0);
        if (pid > 0)
                return pid;
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nothing behind */
        if (output_fd >= 0) {
                (void) dup2(output_fd, STDOUT_FILENO);
                (void) dup2(output_fd, STDERR_FILENO);
        }
        execl(program,
              program,
              "--alias=stage",
              options[0],
              options[1],
              options[2],
              options[3],
              options[4],
              options[5],
              options[6],
              (char *) NULL);
        perror(program);
        _exit(127);
}

static bool can_connect(Host *h) {
        CLEANUP(fd_closep) int fd = host_connect(h);

        return fd >= 0;
}

void host_start(Host *h) {
        h->watchdog = spawn_watchdog(h, -1);
        for (int i = 0; !can_connect(h); i++) {
                assert_int_equal(waitpid(h->watchdog, NULL, WNOHANG), 0);
                assert_true(i < HOST_PATIENCE_SEC * 100);
                usleep(10000);
        }
}

int host_stop(Host *h, int signo) {
        int status = 0;

        if (h->watchdog > 0) {
                kill(h->watchdog, signo);
                assert_int_equal(waitpid(h->watchdog, &status, 0), h->watchdog);
        }
        h->watchdog = 0;
        return status;
}

int host_refuses(Host *h, char **ret_output) {
        int pipe_fd[2], status;
        pid_t pid;

        assert_int_equal(pipe2(pipe_fd, O_CLOEXEC), 0);
        pid = spawn_watchdog(h, pipe_fd[1]);
        close(pipe_fd[1]);
        assert_int_equal(fd_read_all(pipe_fd[0], 65536, ret_output, NULL), 0);
        close(pipe_fd[0]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

/* A watchdog that ends in order says so: with a sanitizer also that nothing was leaked. */
void host_done(Host *h) {
        int status = host_stop(h, SIGTERM); /* 0 also when it is stopped already */

        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        stage_done(&h->stage);
        free(h->profile_id);
}

/* ---- requests ---- */

int host_connect(Host *h) {
        struct sockaddr_un a = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        snprintf(a.sun_path, sizeof(a.sun_path), "%s", h->control);
        if (connect(fd, (struct sockaddr *) &a, sizeof(a)) < 0) {
                close(fd);
                return -errno;
        }
        return fd;
}

static char *read_reply(int fd) {
        size_t n = 0, room = 1 << 22;
        char *text = malloc(room);

        assert_non_null(text);
        for (;;) {
                struct pollfd p = { .fd = fd, .events = POLLIN };
                ssize_t k;

                if (poll(&p, 1, HOST_PATIENCE_SEC * 1000) != 1)
                        fail_msg("no reply");
                k = recv(fd, text + n, room - 1 - n, 0);
                if (k < 0)
                        fail_msg("the reply ends with: %s", strerror(errno));
                if (k == 0)
                        break;
                n += (size_t) k;
                assert_true(n < room - 1);
        }
        text[n] = 0;
        return text;
}

char *host_exchange(Host *h, const void *data, size_t n, bool half_close) {
        CLEANUP(fd_closep) int fd = host_connect(h);
        size_t sent = 0;

        assert_true(fd >= 0);
        while (sent < n) {
                ssize_t k = send(fd, (const char *) data + sent, n - sent, MSG_NOSIGNAL);

                if (k < 0)
                        break; /* refused early: the reply says why */
                sent += (size_t) k;
        }
        if (half_close)
                (void) shutdown(fd, SHUT_WR);
        return read_reply(fd);
}

/* Every reply, whatever was asked, is one compact object and LF, of one of two shapes. */
static json_t *parse_reply(const char *text) {
        size_t n = strlen(text);
        char why[256];
        json_t *reply = NULL, *error;

        if (n < 2 || text[n - 1] != '\n' || memchr(text, '\n', n - 1))
                fail_msg("not one line: '%.200s'", text);
        if (json_read(text, n - 1, &reply, why, sizeof(why)) < 0)
                fail_msg("%s: '%.200s'", why, text);
        error = json_object_get(reply, "error");
        assert_int_equal(json_object_size(reply), 2);
        if (json_is_true(json_object_get(reply, "ok")))
                assert_non_null(json_object_get(reply, "result"));
        else {
                assert_true(json_is_false(json_object_get(reply, "ok")));
                assert_int_equal(json_object_size(error), 2);
                assert_true(json_string_length(json_object_get(error, "code")) > 0);
                assert_true(json_string_length(json_object_get(error, "message")) > 0);
        }
        return reply;
}

static const char *code_of(const json_t *reply) {
        return json_is_true(json_object_get(reply, "ok"))
                        ? "ok"
                        : json_string_value(
                                          json_object_get(json_object_get(reply, "error"), "code"));
}

void host_code(Host *h, const char *line, size_t n, char ret[static 64]) {
        CLEANUP(json_decrefp) json_t *reply = NULL;
        CLEANUP(freep) char *text = host_exchange(h, line, n, true);

        reply = parse_reply(text);
        snprintf(ret, 64, "%s", code_of(reply));
}

json_t *host_ask(Host *h, const char *code, json_t *request) {
        CLEANUP(json_decrefp) json_t *owned = request, *reply = NULL;
        CLEANUP(freep) char *text = NULL, *line = NULL, *answer = NULL;

        assert_non_null(owned);
        assert_int_equal(json_canonical(owned, &text, NULL), 0);
        line = text_format("%s\n", text);
        answer = host_exchange(h, line, strlen(line), true);
        reply = parse_reply(answer);
        if (strcmp(code_of(reply), code ? code : "ok"))
                fail_msg("wanted %s: %.300s -> %.600s", code ? code : "ok", text, answer);
        return code ? NULL : json_incref(json_object_get(reply, "result"));
}

json_t *host_status(Host *h) {
        return host_ask(h, NULL, json_pack("{s:s}", "kind", "status"));
}

void host_wait_open(Host *h) {
        for (int i = 0; i < HOST_PATIENCE_SEC * 50; i++) {
                CLEANUP(json_decrefp) json_t *status = host_status(h);

                if (json_is_true(json_object_get(status, "admissionOpen")))
                        return;
                usleep(20000);
        }
        fail_msg("admission stays closed");
}

void host_wait_idle(Host *h) {
        CLEANUP(freep) char *text = NULL;

        for (int i = 0; i < HOST_PATIENCE_SEC * 50; i++) {
                CLEANUP(json_decrefp) json_t *status = host_status(h);
                json_t *slots = json_object_get(status, "availableQuotaSlots");
                size_t held = json_array_size(json_object_get(status, "leases")) +
                                json_array_size(json_object_get(status, "reservations")) +
                                json_array_size(json_object_get(status, "queue")) +
                                json_array_size(json_object_get(status, "degraded"));

                if (held == 0 && json_integer_value(slots) == STAGE_SLOTS)
                        return;
                free(text);
                text = json_dumps(status, JSON_COMPACT);
                usleep(20000);
        }
        fail_msg("not idle: %s", text);
}

/* ---- a client ---- */

void client_new(Host *h, Client *c, const char *id) {
        CLEANUP(json_decrefp) json_t *status = host_status(h), *lease = NULL;

        lease = host_ask(h,
                         NULL,
                         json_pack("{s:s, s:s, s:s, s:O}",
                                   "kind",
                                   "lease.create",
                                   "profileId",
                                   h->profile_id,
                                   "invocationId",
                                   id,
                                   "daemonGeneration",
                                   json_object_get(status, "generation")));
        snprintf(c->id, sizeof(c->id), "%s", id);
        snprintf(c->token,
                 sizeof(c->token),
                 "%s",
                 json_string_value(json_object_get(lease, "leaseToken")));
}

json_t *client_request(const Client *c, const char *kind, json_t *more) {
        json_t *request = json_pack("{s:s, s:s, s:s}",
                                    "kind",
                                    kind,
                                    "invocationId",
                                    c->id,
                                    "leaseToken",
                                    c->token);

        assert_non_null(request);
        if (more)
                assert_int_equal(json_object_update(request, more), 0);
        json_decref(more);
        return request;
}

json_t *client_ask(Host *h, const Client *c, const char *code, const char *kind, json_t *more) {
        return host_ask(h, code, client_request(c, kind, more));
}

json_t *wish(const char *reservation_id, double cpus) {
        return json_pack("{s:s, s:s, s:{s:f, s:I, s:i, s:i, s:I}}",
                         "reservationId",
                         reservation_id,
                         "reservationKind",
                         "container",
                         "resources",
                         "cpus",
                         cpus,
                         "memoryBytes",
                         (json_int_t) (64 * MIB),
                         "pids",
                         64,
                         "containers",
                         1,
                         "ephemeralDiskBytes",
                         (json_int_t) (256 * MIB));
}

void client_hold(Host *h, const Client *c, const char *reservation_id, double cpus) {
        CLEANUP(json_decrefp)
        json_t *record = client_ask(h, c, NULL, "reservation.acquire", wish(reservation_id, cpus));

        assert_string_equal(json_string_value(json_object_get(record, "state")), "granted");
}

json_t *create_of(const char *reservation_id, json_t *create) {
        return json_pack("{s:s, s:o}", "reservationId", reservation_id, "create", create);
}

json_t *plain_create(void) {
        return json_pack("{s:s, s:s, s:[], s:[s]}",
                         "image",
                         "docker:dind",
                         "attemptId",
                         "attempt-1",
                         "command",
                         "environment",
                         "LANG=C");
}
