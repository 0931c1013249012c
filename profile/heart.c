/* SPDX-License-Identifier: MIT */
#include "profile/heart.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "profile/control-client.h"

struct Heart {
        pid_t pid;
        int fd;            /* write end: closing it ends the child */
        HeartBeats *beats; /* shared with the child, which alone writes */
};

static void
beat(const char *control_socket, const json_t *request, uint64_t timeout_usec, HeartBeats *b) {
        CLEANUP(json_decrefp) json_t *result = NULL;
        ControlError error;

        if (control_call(control_socket, request, timeout_usec, &result, &error) == 0) {
                b->answered++;
                return;
        }
        snprintf(b->message, sizeof(b->message), "%s", error.message);
        b->failed++;
}

static _Noreturn void child(int fd,
                            const char *control_socket,
                            const json_t *request,
                            uint64_t period_usec,
                            uint64_t timeout_usec,
                            HeartBeats *b) {
        for (;;) {
                struct pollfd p = { .fd = fd, .events = POLLIN };

                if (poll(&p, 1, (int) (period_usec / USEC_PER_MSEC)) > 0)
                        _exit(0);
                beat(control_socket, request, timeout_usec, b);
        }
}

Heart *heart_stop(Heart *h) {
        if (!h)
                return NULL;
        fd_closep(&h->fd);
        if (h->pid > 0)
                while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
                        ;
        if (h->beats)
                munmap(h->beats, sizeof(*h->beats));
        free(h);
        return NULL;
}

static void heart_stopp(Heart **h) {
        heart_stop(*h);
}

int heart_start(const char *control_socket,
                const char *invocation_id,
                const char *lease_token,
                uint64_t period_usec,
                uint64_t timeout_usec,
                Heart **ret) {
        CLEANUP(json_decrefp)
        json_t *request = json_pack("{s:s, s:s, s:s}",
                                    "kind",
                                    "lease.heartbeat",
                                    "invocationId",
                                    invocation_id,
                                    "leaseToken",
                                    lease_token);
        CLEANUP(heart_stopp) Heart *h = calloc(1, sizeof(*h));
        CLEANUP(fd_closep) int read_end = -EBADF;
        int fds[2];
        void *p;

        if (!h || !request)
                return -ENOMEM;
        h->fd = -EBADF;
        p = mmap(NULL,
                 sizeof(*h->beats),
                 PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS,
                 -1,
                 0);
        if (p == MAP_FAILED)
                return -errno;
        h->beats = p;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        read_end = fds[0];
        h->fd = fds[1];
        h->pid = fork();
        if (h->pid < 0)
                return -errno;
        if (h->pid == 0) {
                close(h->fd);
                child(read_end, control_socket, request, period_usec, timeout_usec, h->beats);
        }
        *ret = TAKE_PTR(h);
        return 0;
}

HeartBeats heart_beats(const Heart *h) {
        return *h->beats;
}
