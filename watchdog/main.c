/* SPDX-License-Identifier: MIT */
/*
 * dindhost-watchdog: one process a profile, the owner of admission, ledger and sandboxes
 *
 * One thread, one event loop, no blocking call in it but the ledger's commits. Runs as the user
 * dindhost; what needs privilege is asked of the broker. See docs/design.md.
 */
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "watchdog/watchdog.h"

#define EXIT_USAGE 2

static const char *arg_alias;
/* Places that tests choose; by default all follow from the alias. */
static const char *arg_conf, *arg_descriptor, *arg_slot_table, *arg_ledger, *arg_control,
                *arg_engine, *arg_broker;

/* clang-format off */
static const struct {
        const char *name, *metavar, *text;
        const char **value;     /* NULL: takes no argument */
        size_t offset, size;    /* in ProfilePaths; size 0: not there */
} options[] = {
#define PLACE(field) offsetof(ProfilePaths, field), sizeof(((ProfilePaths *) NULL)->field)
        { "alias",          "ALIAS", "the profile",                                &arg_alias,      0, 0                  },
        { "conf",           "FILE",  "its profile file",                           &arg_conf,       PLACE(conf)           },
        { "descriptor",     "FILE",  "its descriptor",                             &arg_descriptor, PLACE(descriptor)     },
        { "slot-table",     "FILE",  "its slots",                                  &arg_slot_table, PLACE(slot_table)     },
        { "ledger",         "FILE",  "its ledger",                                 &arg_ledger,     PLACE(ledger)         },
        { "control-socket", "PATH",  "listen here instead of on systemd's socket", &arg_control,    PLACE(control_socket) },
        { "engine-socket",  "PATH",  "the Docker daemon's socket",                 &arg_engine,     PLACE(engine_socket)  },
        { "broker-socket",  "PATH",  "the broker's socket",                        &arg_broker,     PLACE(broker_socket)  },
        { "help",           NULL,    "this text",                                  NULL,            0, 0                  },
        { "version",        NULL,    "the version",                                NULL,            0, 0                  },
#undef PLACE
};
/* clang-format on */

static void help(void) {
        printf("usage: dindhost-watchdog --alias ALIAS [options]\n\n"
               "Serves the control socket of a profile. Started by systemd\n"
               "(dindhost-watchdog@ALIAS.service); see dindhost-watchdog(8).\n\n");
        for (size_t i = 0; i < N_ELEMENTS(options); i++) {
                char left[64];

                snprintf(left,
                         sizeof(left),
                         "--%s%s%s",
                         options[i].name,
                         options[i].metavar ? "=" : "",
                         options[i].metavar ? options[i].metavar : "");
                printf("  %-24s %s\n", left, options[i].text);
        }
}

/* < 0 wrong, 0 nothing left to do, > 0 go on */
static int parse_argv(int argc, char *argv[]) {
        struct option table[N_ELEMENTS(options) + 1] = { 0 };
        int c, i;

        for (size_t k = 0; k < N_ELEMENTS(options); k++)
                table[k] = (struct option){
                        .name = options[k].name,
                        .has_arg = options[k].metavar ? required_argument : no_argument,
                };
        while ((c = getopt_long(argc, argv, "", table, &i)) >= 0) {
                if (c == '?')
                        return -EINVAL;
                if (options[i].value)
                        *options[i].value = optarg;
                else if (!strcmp(options[i].name, "help"))
                        return help(), 0;
                else
                        return printf("dindhost-watchdog %s\n", PACKAGE_VERSION), 0;
        }
        if (!arg_alias || optind < argc) {
                fprintf(stderr, "usage: dindhost-watchdog --alias ALIAS; see --help\n");
                return -EINVAL;
        }
        return 1;
}

static int find_places(ProfilePaths *ret) {
        int r = profile_paths(arg_alias, ret);

        if (r < 0)
                return log_error(0, "'%s' is not a profile alias", arg_alias), r;
        for (size_t i = 0; i < N_ELEMENTS(options); i++) {
                const char *given = options[i].value ? *options[i].value : NULL;

                if (!given || options[i].size == 0)
                        continue;
                if (strlen(given) >= options[i].size)
                        return log_error(-ENAMETOOLONG, "--%s=%s", options[i].name, given);
                strcpy((char *) ret + options[i].offset, given);
        }
        return 0;
}

static int listen_at(const char *path) {
        struct sockaddr_un a = { .sun_family = AF_UNIX };
        CLEANUP(fd_closep) int fd = -EBADF;

        strcpy(a.sun_path, path); /* the field of ProfilePaths has its size */
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        (void) unlink(path);
        if (bind(fd, (struct sockaddr *) &a, sizeof(a)) < 0 || listen(fd, SOMAXCONN) < 0)
                return -errno;
        return TAKE_FD(fd);
}

/* systemd's socket has owner, group and mode from its first instant; tests bind their own. */
static int control_fd(const ProfilePaths *paths) {
        int fd, flags;

        if (arg_control) {
                fd = listen_at(paths->control_socket);
                return fd < 0 ? log_error(fd, "cannot listen on %s", arg_control) : fd;
        }
        if (sd_listen_fds(true) != 1 ||
            sd_is_socket_unix(SD_LISTEN_FDS_START, SOCK_STREAM, 1, NULL, 0) <= 0)
                return log_error(0,
                                 "no control socket; start me by dindhost-watchdog@%s.socket",
                                 arg_alias),
                       -EBADF;
        fd = SD_LISTEN_FDS_START;
        flags = fcntl(fd, F_GETFL);
        if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
                return log_error(-errno, "cannot use the control socket");
        return fd;
}

static int run(int argc, char *argv[]) {
        CLEANUP(watchdog_freep) Watchdog *w = NULL;
        ProfilePaths paths;
        int r;

        r = parse_argv(argc, argv);
        if (r <= 0)
                return r < 0 ? EXIT_USAGE : EXIT_SUCCESS;
        if (find_places(&paths) < 0)
                return EXIT_USAGE;
        if (watchdog_new(&paths, &w) < 0)
                return EXIT_FAILURE;
        r = control_fd(&paths);
        if (r < 0 || watchdog_start(w, r) < 0)
                return EXIT_FAILURE;

        (void) sd_notifyf(0, "READY=1\nSTATUS=serving profile %s", paths.alias);
        r = sd_event_loop(w->event);
        (void) sd_notify(0, "STOPPING=1");
        if (r < 0)
                return log_error(r, "the event loop failed"), EXIT_FAILURE;
        return EXIT_SUCCESS;
}

int main(int argc, char *argv[]) {
        log_set_name("dindhost-watchdog");
        umask(0077);
        return run(argc, argv);
}
