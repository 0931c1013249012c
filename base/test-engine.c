/* SPDX-License-Identifier: MIT */
/*
 * Engine requests against a server that answers one connection with prepared bytes
 *
 * The server is a child process on a real Unix socket; what it was sent comes back through a pipe.
 */
#include "base/engine.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "selftest/cmocka-tap.h"

#define LONG_ENOUGH (60 * USEC_PER_SEC)
#define SHORT (300 * USEC_PER_MSEC)
#define SILENCE "" /* accepts, reads, says nothing and keeps the connection */

typedef struct Server {
        char dir[64], path[108];
        int listener, heard; /* pipe: the request as it came in */
        pid_t pid;
} Server;

static int listen_on(const char *path) {
        struct sockaddr_un addr = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
        assert_int_equal(bind(fd, (struct sockaddr *) &addr, sizeof(addr)), 0);
        assert_int_equal(listen(fd, 4), 0);
        return fd;
}

/* Headers, and the body when its length is told. */
static size_t read_request(int fd, char *buf, size_t size) {
        size_t n = 0;

        for (;;) {
                ssize_t k = read(fd, buf + n, size - 1 - n);
                char *end, *length;

                if (k <= 0)
                        return n;
                n += (size_t) k;
                buf[n] = 0;
                end = strstr(buf, "\r\n\r\n");
                length = strstr(buf, "Content-Length: ");
                if (end &&
                    n >= (size_t) (end + 4 - buf) + (length ? strtoul(length + 16, NULL, 10) : 0))
                        return n;
        }
}

static void serve_one(int listener, int heard, const char *reply, size_t n) {
        static char request[65536];
        int fd = accept(listener, NULL, NULL);
        size_t k;

        if (fd < 0)
                _exit(1);
        k = read_request(fd, request, sizeof(request));
        (void) fd_write_all(heard, request, k);
        close(heard);
        if (n == 0)
                for (;;)
                        pause();
        (void) fd_write_all(fd, reply, n);
        _exit(0);
}

static void server_start(Server *s, const char *reply, size_t n) {
        int pipe_fds[2];

        snprintf(s->dir, sizeof(s->dir), "/tmp/test-engine.XXXXXX");
        assert_non_null(mkdtemp(s->dir));
        snprintf(s->path, sizeof(s->path), "%s/docker.sock", s->dir);
        s->listener = listen_on(s->path);
        assert_int_equal(pipe(pipe_fds), 0);
        s->pid = fork();
        assert_true(s->pid >= 0);
        if (s->pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                signal(SIGPIPE, SIG_IGN);
                close(pipe_fds[0]);
                serve_one(s->listener, pipe_fds[1], reply, n);
        }
        close(s->listener); /* the child's alone now: when it is gone, connections are refused */
        close(pipe_fds[1]);
        s->heard = pipe_fds[0];
}

static void server_stop(Server *s) {
        kill(s->pid, SIGKILL);
        assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
        close(s->heard);
        unlink(s->path);
        rmdir(s->dir);
}

/* One request against one prepared reply. */
static int exchange(const char *reply, uint64_t timeout_usec, EngineReply *ret) {
        Server s = { 0 };
        int r;

        server_start(&s, reply, strlen(reply));
        r = engine_request(s.path, "GET", "/info", NULL, timeout_usec, ret);
        server_stop(&s);
        return r;
}

static void test_chunked(void **state UNUSED) {
        CLEANUP(engine_reply_donep) EngineReply reply = { 0 };

        assert_int_equal(exchange("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                  "6\r\n{\"ID\":\r\n4\r\n\"x\"}\r\n0\r\n\r\n",
                                  LONG_ENOUGH,
                                  &reply),
                         0);
        assert_int_equal(reply.status, 200);
        assert_string_equal(reply.body, "{\"ID\":\"x\"}");
        assert_int_equal(reply.n_body, 10);
}

static void test_until_closed(void **state UNUSED) {
        CLEANUP(engine_reply_donep) EngineReply reply = { 0 };

        /* what an exec's output looks like: no length, the end is the end of the connection */
        assert_int_equal(exchange("HTTP/1.1 200 OK\r\nContent-Type: "
                                  "application/vnd.docker.raw-stream\r\n\r\nbytes",
                                  LONG_ENOUGH,
                                  &reply),
                         0);
        assert_string_equal(reply.body, "bytes");
}

static void test_no_content(void **state UNUSED) {
        CLEANUP(engine_reply_donep) EngineReply reply = { 0 };

        assert_int_equal(exchange("HTTP/1.1 204 No Content\r\n\r\n", LONG_ENOUGH, &reply), 0);
        assert_int_equal(reply.status, 204);
        assert_string_equal(reply.body, "");
}

static void test_error_text(void **state UNUSED) {
        CLEANUP(engine_reply_donep) EngineReply reply = { 0 };
        char text[64];

        assert_int_equal(exchange("HTTP/1.1 404 Not Found\r\nContent-Length: 33\r\n\r\n"
                                  "{\"message\":\"No such image: nope\"}",
                                  LONG_ENOUGH,
                                  &reply),
                         0);
        assert_int_equal(reply.status, 404);
        assert_string_equal(engine_error_text(&reply, text, sizeof(text)), "No such image: nope");
        assert_string_equal(engine_error_text(&reply, text, 8), "No such");
}

static void test_error_text_plain(void **state UNUSED) {
        EngineReply reply = { .status = 500, .body = (char[]){ "page not found\n" }, .n_body = 15 };
        char text[64];

        assert_string_equal(engine_error_text(&reply, text, sizeof(text)), "page not found\n");
}

static void test_half_a_reply(void **state UNUSED) {
        EngineReply reply = { .status = 7 };

        assert_int_equal(exchange("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"ID\"",
                                  LONG_ENOUGH,
                                  &reply),
                         -ECONNRESET);
        assert_int_equal(reply.status, 7); /* untouched */
        assert_int_equal(exchange("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n{\"I",
                                  LONG_ENOUGH,
                                  &reply),
                         -ECONNRESET);
        assert_int_equal(exchange("HTTP/1.1 20", LONG_ENOUGH, &reply), -ECONNRESET);
}

static void test_not_http(void **state UNUSED) {
        EngineReply reply = { 0 };

        assert_int_equal(exchange("SSH-2.0-Open\r\n", LONG_ENOUGH, &reply), -ECONNRESET);
}

static void test_silence(void **state UNUSED) {
        EngineReply reply = { 0 };

        assert_int_equal(exchange(SILENCE, SHORT, &reply), -ETIMEDOUT);
}

static void test_too_large(void **state UNUSED) {
        static const char head[] = "HTTP/1.1 200 OK\r\n\r\n";
        const size_t n = sizeof(head) - 1 + ENGINE_REPLY_MAX + 1;
        CLEANUP(freep) char *text = malloc(n);
        EngineReply reply = { 0 };
        Server s = { 0 };

        assert_non_null(text);
        memset(text, 'x', n);
        memcpy(text, head, sizeof(head) - 1);
        server_start(&s, text, n);
        assert_int_equal(engine_request(s.path, "GET", "/info", NULL, LONG_ENOUGH, &reply), -EFBIG);
        server_stop(&s);

        /* and the largest that is allowed */
        server_start(&s, text, n - 1);
        assert_int_equal(engine_request(s.path, "GET", "/info", NULL, LONG_ENOUGH, &reply), 0);
        server_stop(&s);
        assert_int_equal(reply.n_body, ENGINE_REPLY_MAX);
        engine_reply_donep(&reply);
}

static void test_no_server(void **state UNUSED) {
        EngineReply reply = { 0 };
        Server s = { 0 };

        assert_int_equal(engine_request("/tmp/no-such-folder/docker.sock",
                                        "GET",
                                        "/info",
                                        NULL,
                                        LONG_ENOUGH,
                                        &reply),
                         -ENOENT);
        server_start(&s, SILENCE, 0);
        kill(s.pid, SIGKILL);
        assert_int_equal(waitpid(s.pid, NULL, 0), s.pid);
        assert_int_equal(engine_request(s.path, "GET", "/info", NULL, LONG_ENOUGH, &reply),
                         -ECONNREFUSED);
        close(s.heard);
        if (geteuid() == 0) {
                unlink(s.path);
                rmdir(s.dir);
                return; /* no mode keeps root out */
        }
        assert_int_equal(chmod(s.path, 0), 0);
        assert_int_equal(engine_request(s.path, "GET", "/info", NULL, LONG_ENOUGH, &reply),
                         -EACCES);
        unlink(s.path);
        rmdir(s.dir);
}

static void test_what_is_sent(void **state UNUSED) {
        static const char reply_text[] = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";
        CLEANUP(json_decrefp) json_t *body = json_pack("{s:s}", "Image", "--volume=/:/host");
        CLEANUP(engine_reply_donep) EngineReply reply = { 0 };
        CLEANUP(freep) char *heard = NULL;
        Server s = { 0 };

        /* a proxy of the environment is for others */
        assert_int_equal(setenv("http_proxy", "http://192.0.2.1:9", 1), 0);
        server_start(&s, reply_text, strlen(reply_text));
        assert_int_equal(engine_request(s.path,
                                        "POST",
                                        "/containers/create",
                                        body,
                                        LONG_ENOUGH,
                                        &reply),
                         0);
        assert_int_equal(fd_read_all(s.heard, 65536, &heard, NULL), 0);
        server_stop(&s);
        unsetenv("http_proxy");
        assert_int_equal(strncmp(heard, "POST /v1.41/containers/create HTTP/1.1\r\n", 40), 0);
        assert_non_null(strstr(heard, "Content-Type: application/json\r\n"));
        assert_null(strstr(heard, "Expect:"));
        assert_non_null(strstr(heard, "\r\n\r\n{\"Image\":\"--volume=/:/host\"}"));
}

static void test_methods(void **state UNUSED) {
        static const char *const methods[] = { "DELETE", "POST" };
        static const char reply_text[] = "HTTP/1.1 204 No Content\r\n\r\n";

        for (size_t i = 0; i < N_ELEMENTS(methods); i++) {
                CLEANUP(engine_reply_donep) EngineReply reply = { 0 };
                CLEANUP(freep) char *heard = NULL;
                Server s = { 0 };

                server_start(&s, reply_text, strlen(reply_text));
                assert_int_equal(engine_request(s.path,
                                                methods[i],
                                                "/containers/x?force=1",
                                                NULL,
                                                LONG_ENOUGH,
                                                &reply),
                                 0);
                assert_int_equal(fd_read_all(s.heard, 65536, &heard, NULL), 0);
                server_stop(&s);
                assert_int_equal(strncmp(heard, methods[i], strlen(methods[i])), 0);
                assert_non_null(strstr(heard, " /v1.41/containers/x?force=1 HTTP/1.1\r\n"));
        }
}

static void test_escape(void **state UNUSED) {
        static const struct {
                const char *text, *escaped;
        } samples[] = {
                { "docker:dind", "docker%3Adind" },
                { "a/b", "a%2Fb" },
                { "{\"label\":[\"x=y\"]}", "%7B%22label%22%3A%5B%22x%3Dy%22%5D%7D" },
                { "\xc3\xa4 ?&#", "%C3%A4%20%3F%26%23" },
                { "-._~09azAZ", "-._~09azAZ" },
                { "", "" },
        };

        for (size_t i = 0; i < N_ELEMENTS(samples); i++) {
                CLEANUP(freep) char *text = engine_escape(samples[i].text);

                assert_string_equal(text, samples[i].escaped);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_chunked),          cmocka_unit_test(test_until_closed),
                cmocka_unit_test(test_no_content),       cmocka_unit_test(test_error_text),
                cmocka_unit_test(test_error_text_plain), cmocka_unit_test(test_half_a_reply),
                cmocka_unit_test(test_not_http),         cmocka_unit_test(test_silence),
                cmocka_unit_test(test_too_large),        cmocka_unit_test(test_no_server),
                cmocka_unit_test(test_what_is_sent),     cmocka_unit_test(test_methods),
                cmocka_unit_test(test_escape),
        };

        return RUN_TAP(tests);
}
