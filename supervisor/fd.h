/* SPDX-License-Identifier: MIT */
/* File descriptors: small helpers without state. */
#pragma once

#include "supervisor/macros.h"

/* Closes what is open; returns -EBADF, the value of a descriptor that is not there. */
int fd_close(int fd);

/* Closes everything from here on; for a child that does not exec. */
void fd_close_from(int first);

/* Reads a whole file; -EFBIG when it does not fit. */
int fd_read_file(int dir, const char *path, char *data, size_t size, size_t *ret_n);

/* Writes all of it to an existing file, in one call, as the kernel's files want it. */
int fd_write_file(int dir, const char *path, const char *data, size_t n);

/* Makes the file appear whole, by rename, below the folder. */
int fd_publish(int dir, const char *name, const char *data, size_t n);
