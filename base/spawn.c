/* SPDX-License-Identifier: MIT */
#include "base/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

static char *const spawn_env[] = {
        (char *) "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        (char *) "LC_ALL=C.UTF-8",
        NULL,
};

static int spawn_start(char *const argv[], int out, pid_t *ret) {
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attr;
        sigset_t none, defaults;
        int r;

        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, out, 1);
        posix_spawn_file_actions_adddup2(&actions, out, 2);
        posix_spawnattr_init(&attr);
        sigemptyset(&none);
        sigfillset(&defaults);
        posix_spawnattr_setsigmask(&attr, &none);
        posix_spawnattr_setsigdefault(&attr, &defaults);
        posix_spawnattr_setpgroup(&attr, 0);
        posix_spawnattr_setflags(&attr,
                                 POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                 POSIX_SPAWN_SETPGROUP);
        r = posix_spawnp(ret, argv[0], &actions, &attr, argv, spawn_env);
        posix_spawnattr_destroy(&attr);
        posix_spawn_file_actions_destroy(&actions);
        return -r;
}

/* Reads until the other end is closed or the deadline; keeps the first SPAWN_OUTPUT_MAX bytes. */
static int collect(int fd, uint64_t deadline, char *buf, size_t *n) {
        for (;;) {
                struct pollfd p = { .fd = fd, .events = POLLIN };
                uint64_t now = boottime_usec();
                char drop[4096];
                ssize_t k;

                if (now >= deadline)
                        return -ETIMEDOUT;
                if (poll(&p, 1, (int) ((deadline - now) / USEC_PER_MSEC) + 1) <= 0)
                        continue;
                if (*n < SPAWN_OUTPUT_MAX)
                        k = read(fd, buf + *n, SPAWN_OUTPUT_MAX - *n);
                else
                        k = read(fd, drop, sizeof(drop));
                if (k < 0 && errno == EINTR)
                        continue;
                if (k <= 0)
                        return k < 0 ? -errno : 0;
                if (*n < SPAWN_OUTPUT_MAX)
                        *n += (size_t) k;
        }
}

int spawn_wait(char *const argv[], uint64_t timeout_usec, char **ret_output) {
        CLEANUP(freep) char *buf = malloc(SPAWN_OUTPUT_MAX + 1);
        CLEANUP(fd_closep) int in = -EBADF, out = -EBADF;
        int pipes[2], status = 0, r;
        size_t n = 0;
        pid_t pid;

        if (!buf)
                return -ENOMEM;
        if (pipe2(pipes, O_CLOEXEC) < 0)
                return -errno;
        in = pipes[0];
        out = pipes[1];
        r = spawn_start(argv, out, &pid);
        if (r < 0)
                return r;
        close(TAKE_FD(out));
        r = collect(in, boottime_usec() + timeout_usec, buf, &n);
        if (r < 0)
                (void) kill(-pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;
        while (n > 0 && buf[n - 1] == '\n')
                n--;
        buf[n] = 0;
        if (ret_output)
                *ret_output = TAKE_PTR(buf);
        if (r < 0)
                return r;
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
