/* SPDX-License-Identifier: MIT */
/* SHA-256, random tokens and base64url, by nettle and getrandom(2). */
#pragma once

#include "base/macros.h"

#define SHA256_HEX_SIZE 65

/* Lower-case hex of SHA-256 over n bytes, NUL-terminated; returns ret. */
char *sha256_hex(const void *data, size_t n, char ret[static SHA256_HEX_SIZE]);

/*
 * n random bytes as base64url without padding: 32 bytes give 43 characters, 24 give 32.
 * n <= 64; ret must hold (4 * n + 2) / 3 + 1 bytes. 0 or -errno.
 */
int random_token(size_t n, char *ret, size_t ret_size);

/* Compares two strings in a time that depends on the length of b alone. */
bool equal_constant_time(const char *a, const char *b);
