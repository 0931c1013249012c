/* SPDX-License-Identifier: MIT */
#include "supervisor/spawn.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "supervisor/fd.h"
#include "supervisor/say.h"

#define DAEMON_ARGS 8 /* besides those of the options */

pid_t spawn_fork(const sigset_t *mask) {
        pid_t pid = fork();

        if (pid < 0)
                return -errno;
        if (pid == 0) {
                say_reset();
                (void) setsid();
                (void) sigprocmask(SIG_SETMASK, mask, NULL);
        }
        return pid;
}

static NORETURN void exec_or_say(char *const *argv) {
        int error;

        (void) execvp(argv[0], argv);
        error = errno;
        say("cannot run ", argv[0], ": ", strerror(error), NULL);
        _exit(error == ENOENT ? 127 : 126);
}

/*
 * A predecessor in the same container file system left these; nobody of it lives any more, since we
 * are PID 1. With a fresh tmpfs there are none.
 */
static void remove_stale(void) {
        static const char *const files[] = {
                DOCKER_SOCKET,
                "/run/docker.pid",
                "/run/docker/containerd/containerd.pid",
        };

        for (size_t i = 0; i < N_ELEMENTS(files); i++)
                (void) unlink(files[i]);
}

static NORETURN void run_daemon(const Options *o) {
        const char *argv[DAEMON_ARGS + DOCKERD_ARGS_MAX + 1] = {
                "dockerd",
                ("--host=unix://" DOCKER_SOCKET), /* one string, not a lost comma */
                "--group=docker",
                "--shutdown-timeout=2",
                "--exec-root=/run/docker",
                "--pidfile=/run/docker.pid",
        };
        char driver[128];
        Text t = TEXT(driver);
        size_t n = 6;

        if (strcmp(o->storage_driver, "auto")) {
                text_join(&t, "--storage-driver=", o->storage_driver, NULL);
                argv[n++] = driver;
        }
        for (size_t i = 0; i < o->n_dockerd_args; i++)
                argv[n++] = o->dockerd_args[i];
        exec_or_say((char *const *) argv);
}

int spawn_daemon(const Options *o, const sigset_t *mask, pid_t *ret_pid, int *ret_log) {
        int ends[2];
        pid_t pid;

        remove_stale();
        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        pid = spawn_fork(mask);
        if (pid == 0) {
                int null = open("/dev/null", O_RDONLY);

                if (null > STDIN_FILENO)
                        (void) dup2(null, STDIN_FILENO);
                (void) dup2(ends[1], STDOUT_FILENO);
                (void) dup2(ends[1], STDERR_FILENO);
                fd_close_from(STDERR_FILENO + 1);
                run_daemon(o);
        }
        (void) fd_close(ends[1]);
        if (pid < 0) {
                (void) fd_close(ends[0]);
                return pid;
        }
        (void) fcntl(ends[0], F_SETFL, O_NONBLOCK); /* this end is a description of its own */
        *ret_pid = pid;
        *ret_log = ends[0];
        return 0;
}

/*
 * Copies the log until its end. It stands still when the container's output does; that is why it is
 * a process of its own. SIGTERM is ignored, so that the last lines of a stopping daemon come
 * through.
 */
static NORETURN void run_builtin_keepalive(int stream) {
        char data[4096];
        ssize_t n;

        (void) prctl(PR_SET_NAME, "dindhost-keep", 0, 0, 0);
        (void) signal(SIGTERM, SIG_IGN);
        (void) signal(SIGPIPE, SIG_IGN);
        (void) dup2(stream, STDIN_FILENO);
        fd_close_from(STDERR_FILENO + 1);
        while ((n = read(STDIN_FILENO, data, sizeof(data))) != 0) {
                if (n < 0 && errno != EINTR)
                        _exit(1);
                for (ssize_t done = 0, k; done < n; done += k) {
                        k = write(STDOUT_FILENO, data + done, (size_t) (n - done));
                        if (k < 0)
                                break; /* nobody reads: the sandbox lives on */
                }
        }
        _exit(0);
}

static int spawn_builtin(const sigset_t *mask, pid_t *ret_pid, int *ret_stream) {
        int ends[2];
        pid_t pid;

        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        pid = spawn_fork(mask);
        if (pid == 0)
                run_builtin_keepalive(ends[0]);
        (void) fd_close(ends[0]);
        if (pid < 0) {
                (void) fd_close(ends[1]);
                return pid;
        }
        (void) fcntl(ends[1], F_SETFL, O_NONBLOCK);
        *ret_pid = pid;
        *ret_stream = ends[1];
        return 0;
}

int spawn_keepalive(const Options *o, const sigset_t *mask, pid_t *ret_pid, int *ret_stream) {
        pid_t pid;

        if (!o->keepalive)
                return spawn_builtin(mask, ret_pid, ret_stream);
        pid = spawn_fork(mask);
        if (pid < 0)
                return pid;
        if (pid == 0)
                exec_or_say(o->keepalive);
        *ret_pid = pid;
        *ret_stream = -EBADF;
        return 0;
}
