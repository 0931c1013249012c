/* SPDX-License-Identifier: MIT */
/*
 * Helper programs (mkfs.ext4, useradd, ...)
 *
 * Started from an argument vector, never through a shell, with a clean environment (PATH and
 * LC_ALL=C.UTF-8 only), standard input from /dev/null. Output (both streams together) is captured
 * up to SPAWN_OUTPUT_MAX bytes; what is over is read and dropped. When the time is over the
 * program's process group is killed.
 */
#pragma once

#include "base/macros.h"

#define SPAWN_OUTPUT_MAX (64 * 1024)

/*
 * Runs argv and waits. Returns the exit status (0..255), 128+N when signal N ended it, or -errno
 * when it could not be started (-ENOENT: not found in PATH; -ETIMEDOUT: killed at the deadline).
 * ret_output (may be NULL) is set whenever the program was started: owned by the caller,
 * NUL-terminated, without trailing newlines.
 */
int spawn_wait(char *const argv[], uint64_t timeout_usec, char **ret_output);
