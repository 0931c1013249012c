/* SPDX-License-Identifier: MIT */
#include "watchdog/broker-link.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

typedef struct Pending Pending;
struct Pending {
        BrokerLink *link;
        uint64_t id;
        broker_fn fn; /* NULL: forgotten */
        void *userdata;
        sd_event_source *deadline;
        int error; /* < 0: to be reported by the next turn */
        Pending *next;
};

struct BrokerLink {
        sd_event *event;
        char *path;
        uint64_t timeout_usec;
        int fd;
        sd_event_source *io;
        uint64_t last_id;
        Pending *pending;
};

static void pending_free(Pending *p) {
        sd_event_source_disable_unref(p->deadline);
        free(p);
}

static Pending *take(BrokerLink *b, uint64_t id) {
        for (Pending **p = &b->pending; *p; p = &(*p)->next)
                if ((*p)->id == id) {
                        Pending *found = *p;

                        *p = found->next;
                        return found;
                }
        return NULL;
}

static void report(BrokerLink *b, uint64_t id, int error, const BrokerReply *reply) {
        Pending *p = take(b, id);

        if (!p)
                return; /* it timed out before */
        if (p->fn)
                p->fn(p->userdata, error, reply);
        pending_free(p);
}

static int on_deadline(sd_event_source *source UNUSED, uint64_t usec UNUSED, void *userdata) {
        Pending *p = userdata;

        report(p->link, p->id, p->error < 0 ? p->error : -ETIMEDOUT, NULL);
        return 0;
}

/* The connection is over: what was open is reported, one by one since reports may call again. */
static void hang_up(BrokerLink *b) {
        uint64_t until = b->last_id;

        b->io = sd_event_source_disable_unref(b->io);
        if (b->fd >= 0)
                close(TAKE_FD(b->fd));
        for (bool found = true; found;) {
                found = false;
                for (Pending *p = b->pending; p && !found; p = p->next)
                        if (p->id <= until && p->error == 0) {
                                found = true;
                                report(b, p->id, -ECONNRESET, NULL);
                                break;
                        }
        }
}

static int on_io(sd_event_source *source UNUSED, int fd, uint32_t revents, void *userdata) {
        BrokerLink *b = userdata;
        BrokerReply reply;
        ssize_t n;

        if (!(revents & EPOLLIN)) {
                hang_up(b);
                return 0;
        }
        n = recv(fd, &reply, sizeof(reply), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n != (ssize_t) sizeof(reply) || reply.version != BROKER_WIRE_VERSION) {
                hang_up(b);
                return 0;
        }
        reply.message[sizeof(reply.message) - 1] = 0;
        report(b, reply.id, reply.error < 0 ? reply.error : 0, &reply);
        return 0;
}

static int connect_broker(BrokerLink *b) {
        CLEANUP(fd_closep) int fd = -EBADF;
        struct sockaddr_un a = { .sun_family = AF_UNIX };
        int r;

        if (b->fd >= 0)
                return 0;
        if (strlen(b->path) >= sizeof(a.sun_path))
                return -ENAMETOOLONG;
        strcpy(a.sun_path, b->path);
        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        if (connect(fd, (struct sockaddr *) &a, sizeof(a)) < 0)
                return -errno;
        r = sd_event_add_io(b->event, &b->io, fd, EPOLLIN, on_io, b);
        if (r < 0)
                return r;
        b->fd = TAKE_FD(fd);
        return 0;
}

int broker_link_new(sd_event *event,
                    const char *socket_path,
                    uint64_t timeout_usec,
                    BrokerLink **ret) {
        CLEANUP(broker_link_freep) BrokerLink *b = calloc(1, sizeof(*b));

        if (!b)
                return -ENOMEM;
        b->fd = -EBADF;
        b->event = sd_event_ref(event);
        b->timeout_usec = timeout_usec;
        b->path = strdup(socket_path);
        if (!b->path)
                return -ENOMEM;
        *ret = TAKE_PTR(b);
        return 0;
}

BrokerLink *broker_link_free(BrokerLink *b) {
        if (!b)
                return NULL;
        while (b->pending) {
                Pending *p = b->pending;

                b->pending = p->next;
                pending_free(p);
        }
        sd_event_source_disable_unref(b->io);
        fd_closep(&b->fd);
        sd_event_unref(b->event);
        free(b->path);
        free(b);
        return NULL;
}

void broker_link_freep(BrokerLink **b) {
        broker_link_free(*b);
}

static int send_request(BrokerLink *b, BrokerVerb verb, uint32_t slot, uint64_t id) {
        BrokerRequest request = {
                .version = BROKER_WIRE_VERSION, .verb = verb, .id = id, .slot = slot
        };
        int r = connect_broker(b);

        if (r < 0)
                return r;
        if (send(b->fd, &request, sizeof(request), MSG_DONTWAIT | MSG_NOSIGNAL) !=
            (ssize_t) sizeof(request))
                return errno == EPIPE ? -ECONNRESET : -errno;
        return 0;
}

int broker_call(BrokerLink *b, BrokerVerb verb, uint32_t slot, broker_fn fn, void *userdata) {
        Pending *p = calloc(1, sizeof(*p));
        int r;

        if (!p)
                return -ENOMEM;
        *p = (Pending){ .link = b, .id = ++b->last_id, .fn = fn, .userdata = userdata };
        p->error = send_request(b, verb, slot, p->id);
        /* a request that could not be sent is reported by the next turn, like all others */
        r = sd_event_add_time_relative(b->event,
                                       &p->deadline,
                                       CLOCK_BOOTTIME,
                                       p->error < 0 ? 0 : b->timeout_usec,
                                       0,
                                       on_deadline,
                                       p);
        if (r < 0) {
                free(p);
                return r;
        }
        p->next = b->pending;
        b->pending = p;
        return 0;
}

void broker_forget(BrokerLink *b, void *userdata) {
        for (Pending *p = b->pending; p; p = p->next)
                if (p->userdata == userdata)
                        p->fn = NULL;
}
