/* SPDX-License-Identifier: MIT */
/*
 * A Docker Engine for tests: real HTTP over a real Unix socket, objects in memory, misbehaviour by
 * script (rules.h), so that whole programs are tested natively where no rootless Docker can run.
 *
 *         scripted-engine --socket PATH [--rules FILE] [--state FILE] [--log FILE]
 *                         [--root-dir DIR] [--cgroup-dir DIR] [--info JSON]
 *                         [--ignore-filters 1]
 *
 * --state keeps the objects over a restart of this program, as Docker's data folder does; its ID is
 * a new one each time. SIGHUP is a restart of the daemon: every connection is dropped, the socket
 * is made again, the ID changes. --log gets "METHOD PATH STATUS" for each request that was
 * answered, "-" for one that was not. --info replaces members of the /info reply. With
 * --ignore-filters lists hold everything. The socket is made under a temporary name and renamed, so
 * that a test may wait for its file.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "selftest/engine/objects.h"
#include "selftest/engine/rules.h"

#define CONNECTIONS_MAX 256
#define LATE_MAX 16
#define REQUEST_MAX (4 << 20)

typedef struct Connection {
        int fd; /* -1: place is free */
        char *in;
        size_t n_in;
        char *out; /* an answer that is delayed */
        size_t n_out;
        uint64_t due_usec; /* when it is sent; 0: nothing waits */
        bool parked;       /* no answer any more: hang, or an event stream */
} Connection;

/* A request that is carried out later, whether anybody still waits for it or not. */
typedef struct Late {
        uint64_t due_usec; /* 0: place is free */
        char *method, *path, *query;
        json_t *body;
} Late;

typedef struct Server {
        int listener;
        Connection connections[CONNECTIONS_MAX];
        Late late[LATE_MAX];
        Objects objects;
        Rules *rules;
        const char *socket, *log;
} Server;

static volatile sig_atomic_t stop_asked, restart_asked;

static void on_signal(int signo) {
        if (signo == SIGHUP)
                restart_asked = 1;
        else
                stop_asked = 1;
}

static void die(const char *what) {
        perror(what);
        exit(1);
}

static void hang_up(Connection *c) {
        if (c->fd >= 0)
                close(c->fd);
        free(c->in);
        free(c->out);
        *c = (Connection){ .fd = -1 };
}

static void listen_at(Server *s) {
        struct sockaddr_un a = { .sun_family = AF_UNIX };

        if (snprintf(a.sun_path, sizeof(a.sun_path), "%s.new", s->socket) >=
            (int) sizeof(a.sun_path)) {
                fprintf(stderr, "socket path is too long\n");
                exit(2);
        }
        (void) unlink(a.sun_path);
        s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (s->listener < 0 || bind(s->listener, (struct sockaddr *) &a, sizeof(a)) < 0 ||
            listen(s->listener, 128) < 0 || rename(a.sun_path, s->socket) < 0)
                die(s->socket);
}

static void log_request(const Server *s, const char *method, const char *path, int status) {
        FILE *f = s->log ? fopen(s->log, "ae") : NULL;

        if (!f)
                return;
        if (status)
                fprintf(f, "%s %s %d\n", method, path, status);
        else
                fprintf(f, "%s %s -\n", method, path);
        fclose(f);
}

/* The whole answer in new memory. */
static char *format_answer(int status, const json_t *body, size_t *ret_n) {
        CLEANUP(freep) char *text = body ? json_dumps(body, JSON_COMPACT) : strdup("");
        char *answer = text_format("HTTP/1.1 %d %s\r\n"
                                   "Api-Version: 1.41\r\nContent-Type: application/json\r\n"
                                   "Content-Length: %zu\r\n\r\n%s",
                                   status,
                                   status < 300 ? "OK" : "Other",
                                   strlen(text),
                                   text);

        if (!answer)
                abort();
        *ret_n = strlen(answer);
        return answer;
}

/* Answers are small: a peer that does not take one at once is hung up on. */
static void send_now(Connection *c, const char *data, size_t n) {
        while (n > 0) {
                ssize_t k = send(c->fd, data, n, MSG_NOSIGNAL);

                if (k < 0 && errno == EAGAIN) {
                        struct pollfd p = { .fd = c->fd, .events = POLLOUT };

                        if (poll(&p, 1, 1000) == 1)
                                continue;
                }
                if (k < 0) {
                        hang_up(c);
                        return;
                }
                data += k;
                n -= (size_t) k;
        }
}

static void answer(Connection *c, const Verdict *v, int status, const json_t *body) {
        CLEANUP(freep) char *text = NULL;
        size_t n;

        text = format_answer(status, body, &n);
        switch (v->action) {
        case ACTION_HANG:
        case ACTION_LATE:
                c->parked = true;
                return;
        case ACTION_DROP:
                hang_up(c);
                return;
        case ACTION_HALF:
                /* of the body where there is one, so that the head promises more than comes */
                send_now(c, text, body ? n - 1 - json_object_size(body) / 2 - 8 : n / 2);
                hang_up(c);
                return;
        case ACTION_DELAY:
                c->out = TAKE_PTR(text);
                c->n_out = n;
                c->due_usec = boottime_usec() + (uint64_t) v->value * USEC_PER_MSEC;
                return;
        case ACTION_NONE:
        case ACTION_FAIL:
                send_now(c, text, n);
                return;
        }
}

static void stream(Connection *c) {
        static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                   "Transfer-Encoding: chunked\r\n\r\n";

        c->parked = true;
        send_now(c, head, strlen(head));
}

static char *dup_or_null(const char *text) {
        return text ? strdup(text) : NULL;
}

static void put_off(Server *s,
                    const char *method,
                    const char *path,
                    const char *query,
                    const json_t *body,
                    long msec) {
        for (size_t i = 0; i < LATE_MAX; i++)
                if (!s->late[i].due_usec) {
                        s->late[i] = (Late){
                                .due_usec = boottime_usec() + (uint64_t) msec * USEC_PER_MSEC,
                                .method = strdup(method),
                                .path = strdup(path),
                                .query = dup_or_null(query),
                                .body = json_deep_copy(body),
                        };
                        return;
                }
}

static void late_done(Late *l) {
        free(l->method);
        free(l->path);
        free(l->query);
        json_decref(l->body);
        *l = (Late){ 0 };
}

static void carry_out_late(Server *s, Late *l) {
        json_t *ignored = NULL;

        log_request(s,
                    l->method,
                    l->path,
                    objects_do(&s->objects, l->method, l->path, l->query, l->body, &ignored));
        json_decref(ignored);
        late_done(l);
}

static void serve(Server *s,
                  Connection *c,
                  const char *method,
                  char *target,
                  const char *body_text,
                  size_t n_body) {
        CLEANUP(json_decrefp) json_t *body = NULL, *reply = NULL;
        char *query = strchr(target, '?'), *path = target, why[128];
        int status = 0;
        Verdict v;

        if (query)
                *query++ = 0;
        if (text_has_prefix(path, "/v1."))
                path += 1 + strcspn(path + 1, "/");
        v = rules_judge(s->rules, method, path);
        if (n_body && json_read(body_text, n_body, &body, why, sizeof(why)) < 0) {
                status = 400;
                reply = json_pack("{s:s}", "message", why);
        } else if (v.action == ACTION_FAIL && !v.after) {
                status = (int) v.value;
                reply = json_pack("{s:s}", "message", "scripted failure");
        } else if (v.action == ACTION_NONE && !strcmp(path, "/events")) {
                log_request(s, method, path, 200);
                stream(c);
                return;
        } else if (v.action == ACTION_NONE || v.action == ACTION_DELAY || v.action == ACTION_HALF ||
                   v.after) {
                status = objects_do(&s->objects, method, path, query, body, &reply);
                if (v.action == ACTION_FAIL) {
                        json_decref(reply);
                        status = (int) v.value;
                        reply = json_pack("{s:s}", "message", "scripted failure");
                }
        }
        if (v.action == ACTION_LATE)
                put_off(s, method, path, query, body, v.value);
        log_request(s,
                    method,
                    path,
                    v.action == ACTION_HANG || v.action == ACTION_DROP || v.action == ACTION_LATE
                                    ? 0
                                    : status);
        answer(c, &v, status, reply);
}

/* Serves one request if a whole one is there. */
static bool take_request(Server *s, Connection *c) {
        char method[16], target[8192], *end, *length;
        size_t n_head, n_body = 0;

        if (c->parked || c->due_usec || !c->in)
                return false;
        end = strstr(c->in, "\r\n\r\n");
        if (!end)
                return false;
        n_head = (size_t) (end - c->in) + 4;
        *end = 0;
        length = strcasestr(c->in, "\r\nContent-Length:");
        if (length)
                n_body = strtoul(length + 17, NULL, 10);
        *end = '\r';
        if (c->n_in < n_head + n_body)
                return false;
        if (sscanf(c->in, "%15s %8191s", method, target) != 2) {
                hang_up(c);
                return false;
        }
        CLEANUP(freep) char *body = strndup(c->in + n_head, n_body);

        c->n_in -= n_head + n_body;
        memmove(c->in, c->in + n_head + n_body, c->n_in + 1);
        serve(s, c, method, target, body, n_body);
        return true;
}

static void receive(Server *s, Connection *c) {
        char data[65536], *p;
        ssize_t n = recv(c->fd, data, sizeof(data), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n <= 0 || c->n_in + (size_t) n > REQUEST_MAX) {
                hang_up(c);
                return;
        }
        p = realloc(c->in, c->n_in + (size_t) n + 1);
        if (!p)
                abort();
        c->in = p;
        memcpy(c->in + c->n_in, data, (size_t) n);
        c->n_in += (size_t) n;
        c->in[c->n_in] = 0;
        while (take_request(s, c))
                ;
}

static void welcome(Server *s) {
        int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0)
                return;
        for (size_t i = 0; i < CONNECTIONS_MAX; i++)
                if (s->connections[i].fd < 0) {
                        s->connections[i] = (Connection){ .fd = fd };
                        return;
                }
        close(fd);
}

static void restart(Server *s) {
        for (size_t i = 0; i < CONNECTIONS_MAX; i++)
                hang_up(s->connections + i);
        close(s->listener);
        (void) unlink(s->socket);
        objects_new_id(&s->objects);
        listen_at(s);
}

/* Sends what is due; returns the milliseconds until the next, or -1. */
static int send_due(Server *s) {
        uint64_t now = boottime_usec(), next = UINT64_MAX;

        for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
                Connection *c = s->connections + i;

                if (c->fd < 0 || !c->due_usec)
                        continue;
                if (c->due_usec <= now) {
                        CLEANUP(freep) char *out = TAKE_PTR(c->out);

                        c->due_usec = 0;
                        send_now(c, out, c->n_out);
                        while (c->fd >= 0 && take_request(s, c))
                                ;
                } else if (c->due_usec < next)
                        next = c->due_usec;
        }
        for (size_t i = 0; i < LATE_MAX; i++) {
                Late *l = s->late + i;

                if (l->due_usec && l->due_usec <= now)
                        carry_out_late(s, l);
                else if (l->due_usec && l->due_usec < next)
                        next = l->due_usec;
        }
        return next == UINT64_MAX ? -1 : (int) ((next - now) / USEC_PER_MSEC + 1);
}

static void loop(Server *s, const sigset_t *waiting_mask) {
        while (!stop_asked) {
                struct pollfd fds[CONNECTIONS_MAX + 1] = { { .fd = s->listener,
                                                             .events = POLLIN } };
                int msec = send_due(s);
                struct timespec ts = { .tv_sec = msec / 1000, .tv_nsec = msec % 1000 * 1000000L };

                for (size_t i = 0; i < CONNECTIONS_MAX; i++)
                        fds[i + 1] = (struct pollfd){ .fd = s->connections[i].fd,
                                                      .events = POLLIN };
                if (ppoll(fds, CONNECTIONS_MAX + 1, msec < 0 ? NULL : &ts, waiting_mask) < 0 &&
                    errno != EINTR)
                        die("ppoll");
                if (restart_asked) {
                        restart_asked = 0;
                        restart(s);
                        continue;
                }
                for (size_t i = 0; i < CONNECTIONS_MAX; i++)
                        if (s->connections[i].fd >= 0 && fds[i + 1].revents)
                                receive(s, s->connections + i);
                if (fds[0].revents)
                        welcome(s);
        }
}

static void catch_signals(sigset_t *ret_before) {
        struct sigaction sa = { .sa_handler = on_signal };
        sigset_t block;

        sigemptyset(&block);
        sigaddset(&block, SIGHUP);
        sigaddset(&block, SIGTERM);
        sigaddset(&block, SIGINT);
        sigprocmask(SIG_BLOCK, &block, ret_before);
        sigaction(SIGHUP, &sa, NULL);
        sigaction(SIGTERM, &sa, NULL);
        sigaction(SIGINT, &sa, NULL);
}

static json_t *make_info(const char *root_dir, const char *patch) {
        json_t *info = json_pack("{s:s, s:s, s:s, s:[s,s,s], s:s, s:s, s:s}",
                                 "DockerRootDir",
                                 root_dir,
                                 "CgroupVersion",
                                 "2",
                                 "CgroupDriver",
                                 "systemd",
                                 "SecurityOptions",
                                 "name=seccomp,profile=builtin",
                                 "name=rootless",
                                 "name=cgroupns",
                                 "OSType",
                                 "linux",
                                 "Architecture",
                                 "x86_64",
                                 "ServerVersion",
                                 "26.1.5");
        CLEANUP(json_decrefp) json_t *more = NULL;
        char why[128];

        if (patch && json_read(patch, strlen(patch), &more, why, sizeof(why)) < 0) {
                fprintf(stderr, "--info: %s\n", why);
                exit(2);
        }
        json_object_update(info, more);
        return info;
}

int main(int argc, char *argv[]) {
        static Server s;
        const char *rules = NULL, *root_dir = "/nowhere", *info = NULL;
        const struct {
                const char *name, **value;
        } options[] = {
                { "--socket", &s.socket },
                { "--rules", &rules },
                { "--state", &s.objects.state_file },
                { "--log", &s.log },
                { "--root-dir", &root_dir },
                { "--cgroup-dir", &s.objects.cgroup_dir },
                { "--info", &info },
                { "--ignore-filters", &s.objects.ignore_filters },
        };
        sigset_t before;

        for (int i = 1; i + 1 < argc; i += 2) {
                bool known = false;

                for (size_t k = 0; k < N_ELEMENTS(options); k++)
                        if (!strcmp(argv[i], options[k].name)) {
                                *options[k].value = argv[i + 1];
                                known = true;
                        }
                if (!known) {
                        fprintf(stderr, "unknown option '%s'\n", argv[i]);
                        return 2;
                }
        }
        if (!s.socket || argc % 2 == 0) {
                fprintf(stderr, "usage: scripted-engine --socket PATH [--OPTION VALUE]...\n");
                return 2;
        }
        for (size_t i = 0; i < CONNECTIONS_MAX; i++)
                s.connections[i].fd = -1;
        s.objects.info = make_info(root_dir, info);
        s.rules = rules_new(rules);
        if (!s.rules || objects_load(&s.objects) < 0) {
                fprintf(stderr, "cannot read the state file\n");
                return 1;
        }
        catch_signals(&before);
        listen_at(&s);
        loop(&s, &before);
        (void) unlink(s.socket);
        for (size_t i = 0; i < CONNECTIONS_MAX; i++)
                hang_up(s.connections + i);
        for (size_t i = 0; i < LATE_MAX; i++)
                late_done(s.late + i);
        close(s.listener);
        rules_free(s.rules);
        json_decref(s.objects.info);
        json_decref(s.objects.networks);
        json_decref(s.objects.containers);
        return 0;
}
