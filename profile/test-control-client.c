/* SPDX-License-Identifier: MIT */
/* The client against a server that answers once, in a child process, with given bytes. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "profile/control-client.h"
#include "selftest/cmocka-tap.h"

#define LONG (60 * USEC_PER_SEC)

typedef struct Server {
        char dir[64], path[96];
        pid_t pid;
} Server;

enum { ANSWER, CLOSE_AT_ONCE, STAY_SILENT, TRICKLE };

/* The request must be one line, ended by the client's half-close. */
static void serve(int listener, int manner, const char *answer) {
        int fd = accept(listener, NULL, NULL);
        CLEANUP(freep) char *request = NULL;
        size_t n = 0;

        if (fd < 0 || manner == CLOSE_AT_ONCE)
                _exit(1);
        if (fd_read_all(fd, 10 << 20, &request, &n) < 0 || n == 0 || request[n - 1] != '\n')
                _exit(2);
        for (int i = 0; manner == STAY_SILENT || manner == TRICKLE; i++) {
                if (manner == TRICKLE && write(fd, " ", 1) < 0)
                        _exit(3);
                usleep(100000);
        }
        (void) fd_write_all(fd, answer, strlen(answer));
        _exit(0);
}

static void start(Server *s, int manner, const char *answer) {
        struct sockaddr_un a = { .sun_family = AF_UNIX };
        int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        strcpy(s->dir, "/tmp/dindhost-client-XXXXXX");
        assert_non_null(mkdtemp(s->dir));
        snprintf(s->path, sizeof(s->path), "%s/s", s->dir);
        strcpy(a.sun_path, s->path);
        assert_int_equal(bind(listener, (struct sockaddr *) &a, sizeof(a)), 0);
        assert_int_equal(listen(listener, 1), 0);
        s->pid = fork();
        assert_true(s->pid >= 0);
        if (s->pid == 0)
                serve(listener, manner, answer);
        close(listener);
}

static void stop(Server *s) {
        kill(s->pid, SIGKILL);
        waitpid(s->pid, NULL, 0);
        unlink(s->path);
        rmdir(s->dir);
}

static int
call(int manner, const char *answer, uint64_t timeout, json_t **result, ControlError *e) {
        CLEANUP(json_decrefp) json_t *request = json_pack("{s:s}", "kind", "status");
        Server s;
        int r;

        start(&s, manner, answer);
        r = control_call(s.path, request, timeout, result, e);
        stop(&s);
        return r;
}

static void test_result(void **state UNUSED) {
        CLEANUP(json_decrefp) json_t *result = NULL;
        ControlError e;

        assert_int_equal(call(ANSWER, "{\"ok\":true,\"result\":{\"a\":1}}\n", LONG, &result, &e),
                         0);
        assert_int_equal(json_integer_value(json_object_get(result, "a")), 1);
}

static void test_refusals(void **state UNUSED) {
        json_t *result = NULL;
        ControlError e;

        assert_int_equal(call(ANSWER,
                              "{\"ok\":false,\"error\":{\"code\":\"lease-not-found\","
                              "\"message\":\"who?\"}}\n",
                              LONG,
                              &result,
                              &e),
                         1);
        assert_string_equal(e.code, "lease-not-found");
        assert_string_equal(e.message, "who?");
        assert_int_equal(call(ANSWER, "{\"ok\":true}\n", LONG, &result, &e), 1);
        assert_string_equal(e.code, "control-error");
        assert_string_equal(e.message, "invalid control reply");
        assert_int_equal(call(ANSWER, "{\"ok\":1,\"result\":{}}\n", LONG, &result, &e), 1);
        assert_int_equal(call(ANSWER, "[]", LONG, &result, &e), 1);
        assert_null(result);
}

static void test_no_reply(void **state UNUSED) {
        CLEANUP(json_decrefp) json_t *request = json_object();
        json_t *result = NULL;
        ControlError e;
        char path[300];

        assert_int_equal(call(ANSWER, "", LONG, &result, &e), -ECONNRESET);
        assert_true(call(CLOSE_AT_ONCE, "", LONG, &result, &e) == -ECONNRESET);
        assert_int_equal(call(ANSWER, "nonsense", LONG, &result, &e), -EBADMSG);
        assert_true(*e.message);
        assert_int_equal(control_call("/no/such/socket", request, LONG, &result, &e), -ENOENT);
        assert_non_null(strstr(e.message, "/no/such/socket: the control socket is not there"));
        memset(path, 'x', sizeof(path));
        path[0] = '/';
        path[sizeof(path) - 1] = 0;
        assert_int_equal(control_call(path, request, LONG, &result, &e), -ENAMETOOLONG);
        assert_null(result);
}

/* Neither silence nor a byte now and then holds the caller longer than it said. */
static void test_deadline(void **state UNUSED) {
        uint64_t begin = boottime_usec();
        json_t *result = NULL;
        ControlError e;

        assert_int_equal(call(STAY_SILENT, "", USEC_PER_SEC, &result, &e), -ETIMEDOUT);
        assert_int_equal(call(TRICKLE, "", USEC_PER_SEC, &result, &e), -ETIMEDOUT);
        assert_true(boottime_usec() - begin < 60 * USEC_PER_SEC);
}

static void test_large(void **state UNUSED) {
        size_t n = 1 << 20;
        CLEANUP(freep) char *answer = malloc(n + 64);
        CLEANUP(json_decrefp) json_t *result = NULL;
        ControlError e;

        strcpy(answer, "{\"ok\":true,\"result\":\"");
        memset(answer + strlen(answer), 'x', n);
        strcpy(answer + strlen("{\"ok\":true,\"result\":\"") + n, "\"}\n");
        assert_int_equal(call(ANSWER, answer, LONG, &result, &e), 0);
        assert_int_equal(json_string_length(result), n);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_result),   cmocka_unit_test(test_refusals),
                cmocka_unit_test(test_no_reply), cmocka_unit_test(test_deadline),
                cmocka_unit_test(test_large),
        };

        return RUN_TAP(tests);
}
