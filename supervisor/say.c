/* SPDX-License-Identifier: MIT */
#include "supervisor/say.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "supervisor/text.h"

#define PATIENCE_MSEC 500
#define LINE_SIZE 1024

static int say_fd = STDERR_FILENO;
static int patience_msec = PATIENCE_MSEC;

/*
 * O_NONBLOCK belongs to the open file, which others share, so a pipe is opened once more for
 * ourselves. Where that is impossible poll() is asked first and pieces are small enough that a pipe
 * with room takes them whole.
 */
void say_open(void) {
        struct stat st;
        int fd;

        if (fstat(STDERR_FILENO, &st) < 0 || !S_ISFIFO(st.st_mode))
                return;
        fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0)
                say_fd = fd;
}

void say_reset(void) {
        say_fd = STDERR_FILENO;
}

static int64_t now_msec(void) {
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t) ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static bool wait_for_room(void) {
        struct pollfd p = { .fd = say_fd, .events = POLLOUT };
        int64_t begin = now_msec();
        int r = poll(&p, 1, patience_msec);

        patience_msec -= (int) MIN(now_msec() - begin, (int64_t) patience_msec);
        return r > 0 && (p.revents & POLLOUT);
}

void say_bytes(const char *data, size_t n) {
        while (n > 0) {
                ssize_t k;

                if (!wait_for_room())
                        return;
                k = write(say_fd, data, MIN(n, (size_t) PIPE_BUF));
                if (k < 0 && (errno == EINTR || (errno == EAGAIN && patience_msec > 0)))
                        continue;
                if (k <= 0)
                        return;
                data += k;
                n -= (size_t) k;
        }
}

static void say_list(Text *t, const char *first, va_list args) {
        for (const char *s = first; s; s = va_arg(args, const char *))
                text_add(t, s);
        if (t->n == t->size - 1)
                t->n--; /* room for the end of the line */
        text_add(t, "\n");
        say_bytes(t->data, t->n);
}

void say(const char *first, ...) {
        char line[LINE_SIZE];
        Text t = TEXT(line);
        va_list args;

        text_add(&t, "dindhost-supervisor: ");
        va_start(args, first);
        say_list(&t, first, args);
        va_end(args);
}

void say_line(const char *first, ...) {
        char line[LINE_SIZE];
        Text t = TEXT(line);
        va_list args;

        va_start(args, first);
        say_list(&t, first, args);
        va_end(args);
}
