/* SPDX-License-Identifier: MIT */
/*
 * The two children that are guarded
 *
 * Each gets a session of its own and the signal mask that PID 1 was started with.
 */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "supervisor/options.h"

#define DOCKER_SOCKET "/var/run/docker.sock"

/* Forks: 0 in the child, which has its own session and the mask. */
pid_t spawn_fork(const sigset_t *mask);

/* *ret_log is the end of the pipe that the daemon's output comes from, without blocking. */
int spawn_daemon(const Options *o, const sigset_t *mask, pid_t *ret_pid, int *ret_log);

/* *ret_stream is where the built-in keepalive reads from, without blocking; -EBADF when a command
 * was given. */
int spawn_keepalive(const Options *o, const sigset_t *mask, pid_t *ret_pid, int *ret_stream);
