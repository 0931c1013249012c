/* SPDX-License-Identifier: MIT */
/*
 * Ownership made visible
 *
 * Every owner of a resource is declared with CLEANUP(fn) and a harmless start value; handing over
 * is a word in the code (TAKE_PTR, TAKE_FD). Cleanup functions take a pointer to the variable,
 * accept the start value, and never change errno.
 */
#pragma once

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define CLEANUP(fn) __attribute__((cleanup(fn)))
#define PRINTF_FORMAT(fmt, args) __attribute__((format(printf, fmt, args)))
#define UNUSED __attribute__((unused))
#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

/* Hands a pointer over: the variable is NULL afterwards. */
#define TAKE_PTR(p)                                                                                \
        ({                                                                                         \
                __typeof__(p) *_take_p = &(p);                                                     \
                __typeof__(p) _taken = *_take_p;                                                   \
                *_take_p = NULL;                                                                   \
                _taken;                                                                            \
        })

/* Hands a file descriptor over: the variable is -EBADF afterwards. */
#define TAKE_FD(fd)                                                                                \
        ({                                                                                         \
                int *_take_fd = &(fd);                                                             \
                int _taken = *_take_fd;                                                            \
                *_take_fd = -EBADF;                                                                \
                _taken;                                                                            \
        })

/* CLEANUP(freep): for anything that free() takes. */
static inline void freep(void *p) {
        int saved = errno;

        free(*(void **) p);
        errno = saved;
}
