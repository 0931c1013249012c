/* SPDX-License-Identifier: MIT */
/*
 * dindhost-broker: the small privileged process beside the watchdog
 *
 * Root with few capabilities (caps.h). Takes slot numbers and fixed verbs from its socket, whose
 * peer must be the watchdog's user; what a slot is, it reads from the root-owned slot table. A verb
 * that takes long runs in a child, so that other requests go on. Started by its socket; also the
 * helper that mounts the pool (--mount), which systemd runs without this confinement.
 */
#include <fcntl.h>
#include <getopt.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "profile/paths.h"
#include "profile/slots.h"
#include "watchdog/broker/caps.h"
#include "watchdog/broker/pool.h"
#include "watchdog/broker/slot.h"

#define PEERS_MAX 8

typedef struct Broker Broker;

typedef struct Peer {
        Broker *broker; /* NULL: this place is free */
        int fd;
        sd_event_source *io;
} Peer;

struct Broker {
        sd_event *event;
        SlotTable table;
        char table_path[256];
        uid_t peer_uid;
        Peer peers[PEERS_MAX];
};

static const char *arg_alias, *arg_table, *arg_peer;
static enum { SERVE, MOUNT, UNMOUNT } arg_action = SERVE;

static void help(void) {
        printf("usage: dindhost-broker --serve ALIAS | --mount ALIAS | --unmount ALIAS\n\n"
               "The privileged helper of a profile. Started by systemd; see dindhost-broker(8).\n\n"
               "  --serve=ALIAS    answer the watchdog on systemd's socket\n"
               "  --mount=ALIAS    mount the profile's pool image\n"
               "  --unmount=ALIAS  unmount it\n"
               "  --table=FILE     the slot table, instead of the alias's own\n"
               "  --peer=USER      who may ask, instead of the user dindhost\n"
               "  --help           this text\n"
               "  --version        the version\n");
}

static int parse_argv(int argc, char *argv[]) {
        static const struct option options[] = {
                { "serve", required_argument, NULL, 's' },
                { "mount", required_argument, NULL, 'm' },
                { "unmount", required_argument, NULL, 'u' },
                { "table", required_argument, NULL, 't' },
                { "peer", required_argument, NULL, 'p' },
                { "help", no_argument, NULL, 'h' },
                { "version", no_argument, NULL, 'V' },
                { 0 },
        };
        int c;

        while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0)
                switch (c) {
                case 's':
                case 'm':
                case 'u':
                        arg_alias = optarg;
                        arg_action = c == 'm' ? MOUNT : c == 'u' ? UNMOUNT : SERVE;
                        break;
                case 't':
                        arg_table = optarg;
                        break;
                case 'p':
                        arg_peer = optarg;
                        break;
                case 'h':
                        help();
                        return 0;
                case 'V':
                        printf("dindhost-broker %s\n", PACKAGE_VERSION);
                        return 0;
                default:
                        return -EINVAL;
                }
        if (!arg_alias || optind < argc) {
                fprintf(stderr, "usage: dindhost-broker --serve ALIAS; see --help\n");
                return -EINVAL;
        }
        return 1;
}

static void send_reply(int fd, const BrokerReply *reply) {
        if (send(fd, reply, sizeof(*reply), MSG_NOSIGNAL) < 0)
                log_warning(-errno, "a reply was not taken");
}

/* In a child: a reset of a large slot must not hold up a verify. */
static void serve_in_child(Peer *p, const BrokerRequest *request) {
        BrokerReply reply;
        pid_t pid = fork();

        if (pid == 0) {
                slot_serve(&p->broker->table, request, &reply);
                send_reply(p->fd, &reply);
                _exit(0);
        }
        if (pid < 0) {
                reply = (BrokerReply){ .version = BROKER_WIRE_VERSION,
                                       .id = request->id,
                                       .error = -errno };
                send_reply(p->fd, &reply);
        }
}

static void peer_done(Peer *p) {
        if (!p->broker)
                return;
        sd_event_source_disable_unref(p->io);
        close(p->fd);
        *p = (Peer){ 0 };
}

/* A free place, or NULL. */
static Peer *peer_place(Broker *b) {
        for (size_t i = 0; i < N_ELEMENTS(b->peers); i++)
                if (!b->peers[i].broker)
                        return b->peers + i;
        return NULL;
}

static int
on_request(sd_event_source *source UNUSED, int fd, uint32_t revents UNUSED, void *userdata) {
        Peer *p = userdata;
        BrokerRequest request;
        BrokerReply reply;
        ssize_t n = recv(fd, &request, sizeof(request), MSG_DONTWAIT | MSG_TRUNC);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n != (ssize_t) sizeof(request)) {
                if (n > 0)
                        log_warning(0, "a request of %zd bytes is not of this protocol", n);
                peer_done(p);
                return 0;
        }
        if (slot_verb_is_long(request.verb))
                serve_in_child(p, &request);
        else {
                slot_serve(&p->broker->table, &request, &reply);
                send_reply(fd, &reply);
        }
        return 0;
}

/* `profile apply` may have written a new table since the last connection. */
static int reload_table(Broker *b) {
        CLEANUP(freep) char *message = NULL;
        SlotTable t = { 0 };
        int r = slot_table_load(b->table_path, &t, &message);

        if (r < 0)
                return log_error(0, "%s", message), r;
        slot_table_donep(&b->table);
        b->table = t;
        return 0;
}

static int
on_accept(sd_event_source *source UNUSED, int listen_fd, uint32_t revents UNUSED, void *userdata) {
        CLEANUP(fd_closep) int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
        Broker *b = userdata;
        struct ucred peer;
        socklen_t n = sizeof(peer);
        Peer *p;

        if (fd < 0)
                return 0;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0 || peer.uid != b->peer_uid) {
                log_warning(0, "uid %d may not ask the broker", (int) peer.uid);
                return 0;
        }
        p = peer_place(b);
        if (!p || reload_table(b) < 0)
                return 0;
        *p = (Peer){ .broker = b, .fd = TAKE_FD(fd) };
        if (sd_event_add_io(b->event, &p->io, p->fd, EPOLLIN, on_request, p) < 0)
                peer_done(p);
        return 0;
}

static int on_child(sd_event_source *source UNUSED,
                    const struct signalfd_siginfo *si UNUSED,
                    void *userdata UNUSED) {
        while (waitpid(-1, NULL, WNOHANG) > 0)
                ;
        return 0;
}

static int find_peer(uid_t *ret) {
        const struct passwd *pw = getpwnam(arg_peer ? arg_peer : SERVICE_USER);

        if (!pw)
                return log_error(-ENOENT,
                                 "there is no user '%s'",
                                 arg_peer ? arg_peer : SERVICE_USER);
        *ret = pw->pw_uid;
        return 0;
}

static int set_up(Broker *b) {
        sigset_t mask;
        int r;

        sigemptyset(&mask);
        sigaddset(&mask, SIGTERM);
        sigaddset(&mask, SIGINT);
        sigaddset(&mask, SIGCHLD);
        if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0)
                return -errno;
        r = sd_event_new(&b->event);
        if (r >= 0)
                r = sd_event_add_signal(b->event, NULL, SIGTERM, NULL, NULL);
        if (r >= 0)
                r = sd_event_add_signal(b->event, NULL, SIGINT, NULL, NULL);
        if (r >= 0)
                r = sd_event_add_signal(b->event, NULL, SIGCHLD, on_child, b);
        if (r >= 0)
                r = sd_event_set_watchdog(b->event, true);
        if (r >= 0)
                r = sd_event_add_io(b->event, NULL, SD_LISTEN_FDS_START, EPOLLIN, on_accept, b);
        return r;
}

static void broker_done(Broker *b) {
        for (size_t i = 0; i < N_ELEMENTS(b->peers); i++)
                peer_done(b->peers + i);
        slot_table_donep(&b->table);
        sd_event_unref(b->event);
}

static int serve(const ProfilePaths *paths) {
        CLEANUP(broker_done) Broker b = { 0 };
        int r;

        snprintf(b.table_path,
                 sizeof(b.table_path),
                 "%s",
                 arg_table ? arg_table : paths->slot_table);
        if (sd_listen_fds(true) != 1 ||
            sd_is_socket_unix(SD_LISTEN_FDS_START, SOCK_SEQPACKET, 1, NULL, 0) <= 0)
                return log_error(-EBADF,
                                 "no socket: start me by dindhost-broker@%s.socket",
                                 arg_alias);
        r = find_peer(&b.peer_uid);
        if (r < 0)
                return r;
        r = broker_caps_keep();
        if (r < 0)
                return log_error(r, "cannot drop capabilities");
        r = reload_table(&b);
        if (r < 0)
                return r;
        r = set_up(&b);
        if (r < 0)
                return log_error(r, "cannot set up the event loop");
        (void) sd_notify(0, "READY=1");
        r = sd_event_loop(b.event);
        return r < 0 ? log_error(r, "the event loop failed") : 0;
}

static int run(int argc, char *argv[]) {
        ProfilePaths paths;
        int r = parse_argv(argc, argv);

        if (r <= 0)
                return r;
        r = profile_paths(arg_alias, &paths);
        if (r < 0)
                return log_error(0, "'%s' is not a profile alias", arg_alias), r;
        switch (arg_action) {
        case MOUNT:
                return pool_mount(&paths);
        case UNMOUNT:
                return pool_unmount(&paths);
        case SERVE:
                break;
        }
        return serve(&paths);
}

int main(int argc, char *argv[]) {
        int r;

        log_set_name("dindhost-broker");
        r = run(argc, argv);
        return r >= 0 ? EXIT_SUCCESS : r == -EINVAL ? 2 : EXIT_FAILURE;
}
