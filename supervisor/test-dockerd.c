/* SPDX-License-Identifier: MIT */
/*
 * A scripted dockerd for tests of the supervisor
 *
 * Takes the real one's options, listens where it is told to, and answers /_ping and /info. What it
 * does wrong is given by --fake=WHAT, any number of times:
 *      exit=N        say why, and exit with N
 *      slow=SECONDS  listen only after a while
 *      error         answer 500 to /info
 *      mute          take connections, answer nothing
 *      deaf          ignore SIGTERM
 *      stop          stop oneself (SIGSTOP) once somebody asked for /info
 *      talk=KIB      write so much before listening
 *      orphans=N     leave N processes to PID 1 that ignore SIGTERM
 *      zombies=N     leave N processes to PID 1 that end at once
 *      args          write the arguments, a line each, to /run/fake-args
 */
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *fake_value(int argc, char **argv, const char *what) {
        size_t n = strlen(what);

        for (int i = 1; i < argc; i++) {
                const char *arg = argv[i] + 7;

                if (strncmp(argv[i], "--fake=", 7) || strncmp(arg, what, n))
                        continue;
                if (arg[n] == '=')
                        return arg + n + 1;
                if (arg[n] == 0)
                        return "1";
        }
        return NULL;
}

static unsigned fake_number(int argc, char **argv, const char *what) {
        const char *value = fake_value(argc, argv, what);

        return value ? (unsigned) strtoul(value, NULL, 10) : 0;
}

/* The grandchild's parent ends, so that PID 1 inherits it. */
static void leave_orphans(unsigned n, bool lives) {
        for (unsigned i = 0; i < n; i++) {
                pid_t pid = fork();

                if (pid == 0) {
                        if (fork() != 0)
                                _exit(0);
                        (void) setsid();
                        (void) signal(SIGTERM, SIG_IGN);
                        while (lives)
                                (void) pause();
                        _exit(0);
                }
                if (pid > 0)
                        (void) waitpid(pid, NULL, 0);
        }
}

static void talk(unsigned kib) {
        static char line[1024];

        memset(line, 'x', sizeof(line));
        line[sizeof(line) - 1] = '\n';
        for (unsigned i = 0; i < kib; i++) {
                int n = snprintf(line, 32, "line %u ", i);

                line[n] = 'x';
                (void) !write(STDOUT_FILENO, line, sizeof(line));
        }
}

static void note_args(int argc, char **argv) {
        FILE *f = fopen("/run/fake-args", "w");

        for (int i = 1; f && i < argc; i++)
                fprintf(f, "%s\n", argv[i]);
        if (f)
                fclose(f);
}

static int listen_at(const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        struct group *docker = getgrnam("docker");
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
        (void) umask(0117);
        if (fd < 0 || bind(fd, (struct sockaddr *) &address, sizeof(address)) < 0 ||
            chown(path, 0, docker ? docker->gr_gid : 0) < 0 || listen(fd, 16) < 0) {
                fprintf(stderr, "fake dockerd: %s: %s\n", path, strerror(errno));
                exit(3);
        }
        return fd;
}

static void answer(int fd, bool error, bool mute, bool stop) {
        static const char ping[] = "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nOK";
        static const char info[] =
                        "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{\"ID\":\"fake\"}\n";
        static const char bad[] = "HTTP/1.0 500 Internal Server Error\r\nContent-Type: "
                                  "application/json\r\n\r\n{\"message\":\"no such luck\"}\n";
        char request[4096] = "";
        ssize_t n = read(fd, request, sizeof(request) - 1);

        if (n > 0 && !mute) {
                bool is_info = strstr(request, "GET /info") != NULL;
                const char *reply = !is_info ? ping : error ? bad : info;

                if (is_info && stop)
                        (void) raise(SIGSTOP);
                (void) !write(fd, reply, strlen(reply));
        }
        if (!mute)
                close(fd);
}

static void end(int sig) {
        (void) sig;
        (void) !write(STDOUT_FILENO, "fake dockerd: bye\n", 18);
        _exit(0);
}

int main(int argc, char *argv[]) {
        const char *socket_path = NULL;
        int fd;

        for (int i = 1; i < argc; i++)
                if (!strncmp(argv[i], "--host=unix://", 14))
                        socket_path = argv[i] + 14;
        printf("fake dockerd starts\n");
        fflush(stdout);
        if (fake_value(argc, argv, "args"))
                note_args(argc, argv);
        if (fake_value(argc, argv, "exit")) {
                fprintf(stderr, "fake dockerd: failed to start: told so\n");
                return (int) fake_number(argc, argv, "exit");
        }
        (void) signal(SIGTERM, fake_value(argc, argv, "deaf") ? SIG_IGN : end);
        talk(fake_number(argc, argv, "talk"));
        leave_orphans(fake_number(argc, argv, "orphans"), true);
        leave_orphans(fake_number(argc, argv, "zombies"), false);
        sleep(fake_number(argc, argv, "slow"));
        if (!socket_path)
                return 3;
        fd = listen_at(socket_path);
        for (;;) {
                int client = accept(fd, NULL, NULL);

                if (client >= 0)
                        answer(client,
                               fake_value(argc, argv, "error"),
                               fake_value(argc, argv, "mute"),
                               fake_value(argc, argv, "stop"));
        }
}
