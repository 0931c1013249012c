/* SPDX-License-Identifier: MIT */
#include "supervisor/log.h"

#include <fcntl.h>
#include <stdio.h> /* rename() is declared there */
#include <string.h>
#include <unistd.h>

#include "supervisor/fd.h"
#include "supervisor/options.h"
#include "supervisor/say.h"

#define READ_SIZE 4096
#define READS_PER_TURN 64 /* a daemon that never stops talking must not hold up signals */
#define TAIL_SIZE (8 * 1024)

static int open_file(const char *path) {
        int fd = open(path,
                      O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                      0640);

        return fd < 0 ? -errno : fd;
}

void log_open(Log *l, const char *path) {
        l->path = path;
        l->file = open_file(path);
        if (l->file < 0) {
                say("cannot write ",
                    path,
                    ": ",
                    strerror(-l->file),
                    "; only memory keeps the log",
                    NULL);
                l->file = -EBADF;
        }
}

static void rotate(Log *l) {
        char old[OPTION_PATH_MAX + 32];
        Text t = TEXT(old);

        text_join(&t, l->path, ".1", NULL);
        l->file = fd_close(l->file);
        (void) rename(l->path, old); /* when that fails the file begins anew all the same */
        l->file = open_file(l->path);
        l->n_file = 0;
}

static void to_file(Log *l, const char *data, size_t n) {
        ssize_t k;

        if (l->n_file + n > LOG_FILE_MAX)
                rotate(l);
        k = l->file >= 0 ? write(l->file, data, n) : 0;
        if (k < 0)
                k = 0;
        l->n_file += (uint64_t) k;
        l->dropped += n - (size_t) k;
}

static void to_stream(Log *l, const char *data, size_t n) {
        ssize_t k = write(l->stream, data, n);

        if (k < 0)
                k = 0;
        l->dropped += n - (size_t) k;
}

static void take(Log *l, const char *data, size_t n) {
        ring_add(&l->ring, data, n);
        if (l->path)
                to_file(l, data, n);
        if (l->stream >= 0)
                to_stream(l, data, n);
}

void log_read(Log *l) {
        char data[READ_SIZE];

        for (int i = 0; i < READS_PER_TURN && l->source >= 0; i++) {
                ssize_t n = read(l->source, data, sizeof(data));

                if (n < 0 && (errno == EAGAIN || errno == EINTR))
                        return;
                if (n <= 0)
                        l->source = fd_close(l->source);
                else
                        take(l, data, (size_t) n);
        }
}

void log_end_stream(Log *l) {
        log_read(l);
        l->stream = fd_close(l->stream);
}

void log_say_tail(const Log *l) {
        Span tail[2];

        if (l->ring.total == 0)
                return;
        ring_tail(&l->ring, TAIL_SIZE, tail);
        say("the end of dockerd's log:", NULL);
        say_bytes(tail[0].data, tail[0].n);
        say_bytes(tail[1].data, tail[1].n);
        if (l->ring.data[(l->ring.total - 1) % RING_SIZE] != '\n')
                say_bytes("\n", 1);
}
