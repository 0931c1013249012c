/* SPDX-License-Identifier: MIT */
/* File descriptors and small files: opened once, read and written through that descriptor. */
#pragma once

#include <sys/types.h>

#include "base/macros.h"

/* CLEANUP(fd_closep): closes when >= 0. */
void fd_closep(int *fd);

/* Writes all n bytes. 0 or -errno; EINTR is retried. */
int fd_write_all(int fd, const void *data, size_t n);

/*
 * Reads to the end, at most max bytes, into a new NUL-terminated buffer (owned by the caller).
 * -EFBIG when there is more. The length is without the added NUL.
 */
int fd_read_all(int fd, size_t max, char **ret, size_t *ret_n);

/* Opens path for reading without following a link in the last component, then fd_read_all(). */
int file_read(const char *path, size_t max, char **ret, size_t *ret_n);

/*
 * Replaces path as one step that survives a crash: temporary file beside it, mode and owner set,
 * fsync, rename, fsync of the folder. uid/gid of (uid_t) -1 leave the owner alone. Nothing is left
 * behind on failure.
 */
int file_write_atomic(
                const char *path, const void *data, size_t n, mode_t mode, uid_t uid, gid_t gid);

/* True when path is a regular file with just these n bytes. */
bool file_equals(const char *path, const void *data, size_t n);

/*
 * Makes one folder, or takes an existing one (which must be a folder, not a link), and sets owner
 * and mode. Returns 1 when it was made or changed, 0 when it was already so, or -errno.
 */
int dir_make(const char *path, mode_t mode, uid_t uid, gid_t gid);
