/* SPDX-License-Identifier: MIT */
/*
 * Running a program in a container of the outer daemon, over the Engine API
 *
 * create, start (the reply is the output), then the exit code. Without a terminal the Engine sends
 * output as frames: a stream number, three zero bytes, the length in big-endian order, the bytes.
 */
#pragma once

#include "base/engine.h"

/*
 * Takes the frames apart: the bytes of both streams in their order, in new memory, NUL-terminated.
 * 0, -ENOMEM, or -EBADMSG: not frames, or cut within one.
 */
int engine_demux(const char *data, size_t n, char **ret);

typedef struct EngineExec {
        const char *socket, *container;
        const char *user;        /* NULL: the container's */
        const char *const *argv; /* NULL-terminated */
        uint64_t timeout_usec;   /* for the whole */
} EngineExec;

typedef struct EngineExecResult {
        int exit_code;
        char *output; /* both streams */
} EngineExecResult;

/* CLEANUP(engine_exec_result_donep) */
void engine_exec_result_donep(EngineExecResult *r);

/* 0 and *ret; else -errno (-EIO: the Engine said no) and a sentence in why. */
int engine_exec(const EngineExec *e, EngineExecResult *ret, char *why, size_t n_why);

/* The last lines of a container's log, in new memory; "" when there are none or they cannot be had.
 */
char *
engine_log_tail(const char *socket, const char *container, unsigned lines, uint64_t timeout_usec);
