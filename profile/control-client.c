/* SPDX-License-Identifier: MIT */
#include "profile/control-client.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"

static int connect_to(const char *path, uint64_t timeout_usec, int *ret_fd) {
        struct sockaddr_un addr = { .sun_family = AF_UNIX };
        /* also bounds connect(2), which waits while the listener's backlog is full */
        struct timeval limit = { .tv_sec = (time_t) (timeout_usec / USEC_PER_SEC),
                                 .tv_usec = (suseconds_t) (timeout_usec % USEC_PER_SEC) };
        CLEANUP(fd_closep) int fd = -EBADF;

        if (strlen(path) >= sizeof(addr.sun_path))
                return -ENAMETOOLONG;
        strcpy(addr.sun_path, path);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -errno;
        if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
                return -errno;
        if (connect(fd, (struct sockaddr *) &addr, sizeof(addr)) < 0)
                return errno == EAGAIN ? -ETIMEDOUT : -errno;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

static int send_request(int fd, const json_t *request) {
        CLEANUP(freep) char *text = NULL;
        size_t n, sent = 0;
        int r = json_canonical(request, &text, &n);

        if (r < 0)
                return r;
        text[n++] = '\n'; /* in place of the NUL */
        while (sent < n) {
                ssize_t k = send(fd, text + sent, n - sent, MSG_NOSIGNAL);

                if (k >= 0)
                        sent += (size_t) k;
                else if (errno == EPIPE || errno == ECONNRESET)
                        break; /* refused early; the reason may be waiting to be read */
                else if (errno == EAGAIN)
                        return -ETIMEDOUT;
                else if (errno != EINTR)
                        return -errno;
        }
        (void) shutdown(fd, SHUT_WR);
        return 0;
}

typedef struct Reply {
        char *text;
        size_t n, room;
} Reply;

static int reply_grow(Reply *r) {
        size_t room = r->room ? r->room * 2 : 16 * 1024;
        char *p;

        if (r->n < r->room)
                return 0;
        if (room > CONTROL_REPLY_MAX)
                return -EFBIG;
        p = realloc(r->text, room);
        if (!p)
                return -ENOMEM;
        r->text = p;
        r->room = room;
        return 0;
}

/* To the end of the stream, which must come before the deadline whatever trickles in. */
static int receive(int fd, uint64_t deadline, Reply *reply) {
        for (;;) {
                struct pollfd p = { .fd = fd, .events = POLLIN };
                uint64_t now = boottime_usec(), wait;
                ssize_t k;
                int r = reply_grow(reply);

                if (r < 0)
                        return r;
                if (now >= deadline)
                        return -ETIMEDOUT;
                wait = (deadline - now) / USEC_PER_MSEC + 1;
                if (poll(&p, 1, wait > INT32_MAX ? INT32_MAX : (int) wait) <= 0)
                        continue;
                k = recv(fd, reply->text + reply->n, reply->room - reply->n, 0);
                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                if (k == 0)
                        return 0;
                reply->n += (size_t) k;
        }
}

static int exchange(const char *path, const json_t *request, uint64_t timeout_usec, json_t **ret) {
        uint64_t deadline = boottime_usec() + timeout_usec;
        CLEANUP(fd_closep) int fd = -EBADF;
        CLEANUP(freep) char *text = NULL;
        Reply reply = { 0 };
        char why[160];
        int r;

        r = connect_to(path, timeout_usec, &fd);
        if (r >= 0)
                r = send_request(fd, request);
        if (r >= 0)
                r = receive(fd, deadline, &reply);
        text = reply.text;
        if (r < 0)
                return r;
        if (reply.n == 0)
                return -ECONNRESET;
        r = json_read(text, reply.n, ret, why, sizeof(why));
        return r == -EINVAL ? -EBADMSG : r;
}

/* A sentence for a transport error, with the next step. */
static const char *sentence(int error) {
        switch (-error) {
        case ENOENT:
                return "the control socket is not there; is the profile applied? "
                       "See 'dindhost profile doctor ALIAS'";
        case ECONNREFUSED:
                return "nothing listens on the control socket; see "
                       "'systemctl status dindhost-watchdog@ALIAS.socket'";
        case EACCES:
        case EPERM:
                return "not permitted; only root and members of the profile's access group may ask";
        case ETIMEDOUT:
                return "no reply in time; see 'journalctl -u dindhost-watchdog@ALIAS'";
        case ECONNRESET:
                return "the service closed the connection without a reply; see "
                       "'journalctl -u dindhost-watchdog@ALIAS'";
        case EBADMSG:
                return "what came back is not a control reply";
        default:
                return strerror(-error);
        }
}

int control_call(const char *socket_path,
                 const json_t *request,
                 uint64_t timeout_usec,
                 json_t **ret_result,
                 ControlError *ret_error) {
        CLEANUP(json_decrefp) json_t *reply = NULL;
        const json_t *error;
        const char *code, *message;
        int r = exchange(socket_path, request, timeout_usec, &reply);

        *ret_error = (ControlError){ .code = "control-error" };
        if (r < 0) {
                snprintf(ret_error->message,
                         sizeof(ret_error->message),
                         "%s: %s",
                         socket_path,
                         sentence(r));
                return r;
        }
        if (json_is_true(json_object_get(reply, "ok")) && json_object_get(reply, "result")) {
                *ret_result = json_incref(json_object_get(reply, "result"));
                return 0;
        }
        error = json_object_get(reply, "error");
        code = json_string_value(json_object_get(error, "code"));
        message = json_string_value(json_object_get(error, "message"));
        if (code)
                snprintf(ret_error->code, sizeof(ret_error->code), "%s", code);
        snprintf(ret_error->message,
                 sizeof(ret_error->message),
                 "%s",
                 message ? message : "invalid control reply");
        return 1;
}
