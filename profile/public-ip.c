/* SPDX-License-Identifier: MIT */
#include "profile/public-ip.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

static bool public_ipv4(const unsigned char a[static 4]) {
        /* clang-format off */
        static const struct { unsigned char net[4]; int bits; } denied[] = {
                { { 0 }, 8 },              { { 10 }, 8 },             { { 127 }, 8 },
                { { 100, 64 }, 10 },       { { 169, 254 }, 16 },      { { 172, 16 }, 12 },
                { { 192, 168 }, 16 },      { { 192, 0, 0 }, 24 },     { { 192, 0, 2 }, 24 },
                { { 198, 18 }, 15 },       { { 198, 51, 100 }, 24 },  { { 203, 0, 113 }, 24 },
        };
        /* clang-format on */
        uint32_t addr = (uint32_t) a[0] << 24 | (uint32_t) a[1] << 16 | (uint32_t) a[2] << 8 | a[3];

        if (a[0] >= 224)
                return false;
        for (size_t i = 0; i < N_ELEMENTS(denied); i++) {
                const unsigned char *n = denied[i].net;
                uint32_t net = (uint32_t) n[0] << 24 | (uint32_t) n[1] << 16 |
                                (uint32_t) n[2] << 8 | n[3];

                if ((addr ^ net) >> (32 - denied[i].bits) == 0)
                        return false;
        }
        return true;
}

bool public_ip(const char *text) {
        static const char *const denied[] = { "fc",  "fd",  "fe8", "fe9",
                                              "fea", "feb", "ff",  "2001:db8:" };
        static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
        unsigned char a[16];

        if (inet_pton(AF_INET, text, a) == 1)
                return public_ipv4(a);
        if (inet_pton(AF_INET6, text, a) != 1)
                return false;
        if (!memcmp(a, mapped, sizeof(mapped)))
                return public_ipv4(a + 12);
        if (IN6_IS_ADDR_UNSPECIFIED((struct in6_addr *) a) ||
            IN6_IS_ADDR_LOOPBACK((struct in6_addr *) a))
                return false;
        /* by text, as the protocol words the rule */
        for (size_t i = 0; i < N_ELEMENTS(denied); i++)
                if (!strncasecmp(text, denied[i], strlen(denied[i])))
                        return false;
        return true;
}
