/* SPDX-License-Identifier: MIT */
#include "watchdog/control.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/log.h"
#include "watchdog/methods.h"

#define ACCEPT_PAUSE_USEC (500 * USEC_PER_MSEC)

/* READING -> WORKING -> SENDING -> LINGERING; the peer may go in each (fd -1 while WORKING). */
typedef enum Phase {
        PHASE_READING,   /* the line is not complete */
        PHASE_WORKING,   /* handed on; the answer, or its commit, is not there yet */
        PHASE_SENDING,   /* the reply is on disk and on its way */
        PHASE_LINGERING, /* all is sent; the peer's end is awaited */
} Phase;

typedef struct Connection Connection;
struct Connection {
        Request request; /* first: a Request pointer is its connection */
        Server *server;
        Phase phase;
        int fd;
        sd_event_source *io, *deadline;
        char *in;
        size_t n_in, room_in;
        char *out; /* the reply, once there is one */
        size_t n_out, sent;
        bool answered;
        Connection *next, **link;
};

struct Server {
        Watchdog *w;
        int fd;
        sd_event_source *io, *pause;
        Connection *connections;
        uint64_t n;
};

static void connection_free(Connection *c) {
        *c->link = c->next;
        if (c->next)
                c->next->link = c->link;
        c->server->n--;
        ledger_forget(c->server->w->ledger, c);
        sd_event_source_disable_unref(c->io);
        sd_event_source_disable_unref(c->deadline);
        fd_closep(&c->fd);
        json_decref(c->request.message);
        free(c->request.subject);
        free(c->in);
        free(c->out);
        free(c);
}

/* The peer is gone, served, or too slow. Somebody may still be working on the request. */
static void hang_up(Connection *c) {
        c->io = sd_event_source_disable_unref(c->io);
        c->deadline = sd_event_source_disable_unref(c->deadline);
        if (c->fd >= 0)
                close(TAKE_FD(c->fd));
        if (c->phase != PHASE_WORKING)
                connection_free(c);
}

static int on_deadline(sd_event_source *source UNUSED, uint64_t usec UNUSED, void *userdata) {
        hang_up(userdata);
        return 0;
}

/* A whole new time for what the peer has to do next. */
static int start_deadline(Connection *c) {
        c->deadline = sd_event_source_disable_unref(c->deadline);
        return sd_event_add_time_relative(c->server->w->event,
                                          &c->deadline,
                                          CLOCK_BOOTTIME,
                                          c->server->w->conf.client_timeout_usec,
                                          0,
                                          on_deadline,
                                          c);
}

/* ---- the reply ---- */

/*
 * Closing a Unix socket with unread bytes in it is a reset for the peer, which then may never see
 * the reply. So what the peer sends too much is read and dropped until it closes its side, too.
 */
static void drop_input(Connection *c) {
        char dropped[16384];
        ssize_t k = recv(c->fd, dropped, sizeof(dropped), MSG_DONTWAIT);

        if (k == 0 || (k < 0 && errno != EAGAIN && errno != EINTR))
                hang_up(c);
}

static void start_lingering(Connection *c) {
        c->phase = PHASE_LINGERING;
        (void) shutdown(c->fd, SHUT_WR);
        (void) sd_event_source_set_io_events(c->io, EPOLLIN);
        drop_input(c);
}

static void send_out(Connection *c) {
        while (c->sent < c->n_out) {
                ssize_t k = send(c->fd,
                                 c->out + c->sent,
                                 c->n_out - c->sent,
                                 MSG_NOSIGNAL | MSG_DONTWAIT);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0 && errno == EAGAIN) {
                        (void) sd_event_source_set_io_events(c->io, EPOLLOUT);
                        return;
                }
                if (k < 0) {
                        hang_up(c);
                        return;
                }
                c->sent += (size_t) k;
        }
        start_lingering(c);
}

static void on_commit(void *userdata, int error) {
        static const char lost[] =
                        "{\"error\":{\"code\":\"internal\",\"message\":\"the ledger cannot be "
                        "written; nothing was changed\"},\"ok\":false}\n";
        Connection *c = userdata;

        c->phase = PHASE_SENDING;
        if (error < 0) {
                free(c->out);
                c->out = strdup(lost);
                c->n_out = c->out ? strlen(lost) : 0;
        }
        if (c->fd < 0)
                connection_free(c);
        else if (start_deadline(c) < 0)
                hang_up(c);
        else
                send_out(c);
}

/* Takes the reply document (consumed), to be sent when all it may tell of is on disk. */
static void answer(Request *r, json_t *reply) {
        Connection *c = (Connection *) r;

        assert(c->phase == PHASE_WORKING && !c->answered);
        c->answered = true;
        if (!reply || json_canonical(reply, &c->out, &c->n_out) < 0)
                c->n_out = 0;
        else
                c->out[c->n_out++] = '\n'; /* in place of the NUL */
        json_decref(reply);
        if (ledger_on_commit(r->w->ledger, on_commit, c) < 0) {
                c->phase = PHASE_SENDING;
                hang_up(c);
        }
}

void request_reply(Request *r, json_t *result) {
        if (!result) {
                request_fail_errno(r, -ENOMEM);
                return;
        }
        answer(r, json_pack("{s:b, s:o}", "ok", 1, "result", result));
}

void request_fail(Request *r, const char *code, const char *fmt, ...) {
        char text[4096];
        json_t *message;
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(text, sizeof(text), fmt, ap);
        va_end(ap);
        message = json_string(text);
        if (!message)
                message = json_string("?"); /* a cut inside a character, or not UTF-8 */
        answer(r,
               json_pack("{s:b, s:{s:s, s:o}}",
                         "ok",
                         0,
                         "error",
                         "code",
                         code,
                         "message",
                         message));
}

void request_fail_errno(Request *r, int error) {
        log_error(error, "a control request failed");
        request_fail(r, "internal", "%s", strerror(-error));
}

/* ---- the line ---- */

/* From here on the request is worked on: the peer's silence is no longer its fault. */
static void start_working(Connection *c) {
        c->phase = PHASE_WORKING;
        c->deadline = sd_event_source_disable_unref(c->deadline);
        /* extra lines are left alone; a hang-up is told whatever is asked for */
        (void) sd_event_source_set_io_events(c->io, 0);
}

static void handle_line(Connection *c, size_t n) {
        char why[256];
        int r;

        start_working(c);
        r = json_read(c->in, n, &c->request.message, why, sizeof(why));
        free(TAKE_PTR(c->in));
        if (r < 0)
                request_fail(&c->request, "internal", "not JSON: %s", why);
        else if (!json_is_object(c->request.message))
                request_fail(&c->request, "request-invalid", "a request is a JSON object");
        else
                methods_dispatch(&c->request);
}

static void refuse_line(Connection *c, const char *why) {
        start_working(c);
        free(TAKE_PTR(c->in));
        request_fail(&c->request, "request-invalid", "%s", why);
}

static int grow(Connection *c) {
        size_t room = c->room_in ? c->room_in * 2 : 4096;
        char *p = realloc(c->in, room);

        if (!p)
                return -ENOMEM;
        c->in = p;
        c->room_in = room;
        return 0;
}

static void read_some(Connection *c) {
        ssize_t k;
        char *lf;

        if (c->n_in == c->room_in && grow(c) < 0) {
                hang_up(c);
                return;
        }
        k = recv(c->fd, c->in + c->n_in, c->room_in - c->n_in, MSG_DONTWAIT);
        if (k < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (k < 0 || (k == 0 && c->n_in == 0)) {
                hang_up(c);
                return;
        }
        lf = memchr(c->in + c->n_in, '\n', (size_t) k);
        c->n_in += (size_t) k;
        if (lf)
                handle_line(c, (size_t) (lf - c->in));
        else if (c->n_in >= CONTROL_LINE_MAX)
                refuse_line(c, "a request line has at most 1048576 bytes");
        else if (k == 0)
                refuse_line(c, "the request line does not end with LF");
}

static int on_io(sd_event_source *source UNUSED, int fd UNUSED, uint32_t revents, void *userdata) {
        Connection *c = userdata;

        switch (c->phase) {
        case PHASE_READING:
                read_some(c);
                break;
        case PHASE_WORKING:
                if (revents & (EPOLLERR | EPOLLHUP))
                        hang_up(c);
                break;
        case PHASE_SENDING:
                send_out(c);
                break;
        case PHASE_LINGERING:
                drop_input(c);
                break;
        }
        return 0;
}

/* ---- connections ---- */

static int connection_new(Server *s, int fd, uid_t uid) {
        Connection *c = calloc(1, sizeof(*c));
        int r;

        if (!c) {
                close(fd);
                return -ENOMEM;
        }
        *c = (Connection){ .request = { .w = s->w, .uid = uid }, .server = s, .fd = fd };
        c->next = s->connections;
        c->link = &s->connections;
        if (c->next)
                c->next->link = &c->next;
        s->connections = c;
        s->n++;
        r = sd_event_add_io(s->w->event, &c->io, fd, EPOLLIN, on_io, c);
        if (r >= 0)
                r = start_deadline(c);
        if (r < 0)
                connection_free(c);
        return r;
}

static uint64_t connections_of(const Server *s, uid_t uid) {
        uint64_t n = 0;

        for (const Connection *c = s->connections; c; c = c->next)
                n += c->request.uid == uid;
        return n;
}

static bool is_over_limit(const Server *s, uid_t uid) {
        return s->n >= s->w->conf.connections_max ||
                        connections_of(s, uid) >= s->w->conf.connections_per_user_max;
}

/* Said once into the empty buffer of a new socket, and closed: a flood costs next to nothing. */
static void turn_away(int fd) {
        static const char text[] =
                        "{\"error\":{\"code\":\"connection-limit\",\"message\":\"too many open "
                        "connections ([Watchdog] ConnectionsMax=, ConnectionsPerUserMax=)\"},"
                        "\"ok\":false}\n";

        char dropped[4096];

        (void) send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
        (void) recv(fd, dropped, sizeof(dropped), MSG_DONTWAIT); /* see drop_input() */
        close(fd);
}

static int on_accept_pause(sd_event_source *source UNUSED, uint64_t usec UNUSED, void *userdata) {
        Server *s = userdata;

        s->pause = sd_event_source_disable_unref(s->pause);
        (void) sd_event_source_set_enabled(s->io, SD_EVENT_ON);
        return 0;
}

/* Out of file descriptors or memory: without a pause the waiting peer would make the loop spin. */
static void pause_accepting(Server *s, int error) {
        log_error(error, "cannot take a connection; pausing");
        if (sd_event_add_time_relative(s->w->event,
                                       &s->pause,
                                       CLOCK_BOOTTIME,
                                       ACCEPT_PAUSE_USEC,
                                       0,
                                       on_accept_pause,
                                       s) >= 0)
                (void) sd_event_source_set_enabled(s->io, SD_EVENT_OFF);
}

static int
on_accept(sd_event_source *source UNUSED, int listen_fd, uint32_t revents UNUSED, void *userdata) {
        Server *s = userdata;
        struct ucred peer;
        socklen_t n = sizeof(peer);
        int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), r;

        if (fd < 0) {
                if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                        pause_accepting(s, -errno);
                return 0;
        }
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0) {
                close(fd);
                return 0;
        }
        if (is_over_limit(s, peer.uid)) {
                turn_away(fd);
                return 0;
        }
        r = connection_new(s, fd, peer.uid);
        if (r < 0)
                pause_accepting(s, r);
        return 0;
}

int server_new(Watchdog *w, int listen_fd, Server **ret) {
        Server *s = calloc(1, sizeof(*s));
        int r;

        if (!s) {
                close(listen_fd);
                return -ENOMEM;
        }
        *s = (Server){ .w = w, .fd = listen_fd };
        r = sd_event_add_io(w->event, &s->io, listen_fd, EPOLLIN, on_accept, s);
        if (r < 0) {
                server_free(s);
                return r;
        }
        *ret = s;
        return 0;
}

Server *server_free(Server *s) {
        if (!s)
                return NULL;
        while (s->connections)
                connection_free(s->connections);
        sd_event_source_disable_unref(s->io);
        sd_event_source_disable_unref(s->pause);
        fd_closep(&s->fd);
        free(s);
        return NULL;
}

void server_freep(Server **s) {
        server_free(*s);
}
