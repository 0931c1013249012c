/* SPDX-License-Identifier: MIT */
#include "base/digest.h"

#include <nettle/base64.h>
#include <nettle/memops.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

char *sha256_hex(const void *data, size_t n, char ret[static SHA256_HEX_SIZE]) {
        struct sha256_ctx ctx;
        uint8_t raw[SHA256_DIGEST_SIZE];

        sha256_init(&ctx);
        sha256_update(&ctx, n, data);
        sha256_digest(&ctx, sizeof(raw), raw);
        for (size_t i = 0; i < sizeof(raw); i++)
                sprintf(ret + 2 * i, "%02x", raw[i]);
        return ret;
}

int random_token(size_t n, char *ret, size_t ret_size) {
        char text[BASE64_ENCODE_LENGTH(64) + BASE64_ENCODE_FINAL_LENGTH];
        uint8_t raw[64];
        struct base64_encode_ctx ctx;
        size_t k;

        assert(n <= sizeof(raw));
        /* up to 256 bytes come whole or not at all: getrandom(2) */
        if (getrandom(raw, n, 0) != (ssize_t) n)
                return -errno;
        base64url_encode_init(&ctx);
        k = base64_encode_update(&ctx, text, n, raw);
        k += base64_encode_final(&ctx, text + k);
        while (k > 0 && text[k - 1] == '=')
                k--;
        assert(k < ret_size);
        memcpy(ret, text, k);
        ret[k] = 0;
        return 0;
}

bool equal_constant_time(const char *a, const char *b) {
        size_t n = strlen(b);

        return strlen(a) == n && memeql_sec(a, b, n);
}
