/* SPDX-License-Identifier: MIT */
/*
 * The daemon's log
 *
 * What dockerd and its children write goes three ways: into a ring in memory, of which the end is
 * printed when the daemon fails; into a file of at most 256 KiB, with as much again in FILE.1; and
 * through a pipe to the built-in keepalive, which copies it to the container's output. Neither a
 * full disk nor a reader that stopped holds anything up: what does not fit there is dropped and
 * counted.
 */
#pragma once

#include "supervisor/ring.h"

#define LOG_FILE_MAX RING_SIZE

typedef struct Log {
        Ring ring;
        const char *path;
        int source;       /* read end of the daemon's pipe; -EBADF at its end */
        int file;         /* -EBADF: none */
        int stream;       /* write end of the keepalive's pipe; -EBADF: none */
        uint64_t n_file;  /* bytes in the file */
        uint64_t dropped; /* bytes that the file or the stream did not take */
} Log;

/* Without a file the ring remains; says why. */
void log_open(Log *l, const char *path);

/* Takes what there is from the source, but not for ever. */
void log_read(Log *l);

void log_end_stream(Log *l);

/* Prints the last lines. */
void log_say_tail(const Log *l);
