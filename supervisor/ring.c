/* SPDX-License-Identifier: MIT */
#include "supervisor/ring.h"

#include <string.h>

void ring_add(Ring *r, const char *data, size_t n) {
        if (n > RING_SIZE) {
                r->total += n - RING_SIZE;
                data += n - RING_SIZE;
                n = RING_SIZE;
        }
        while (n > 0) {
                size_t at = r->total % RING_SIZE;
                size_t part = MIN(n, RING_SIZE - at);

                memcpy(r->data + at, data, part);
                r->total += part;
                data += part;
                n -= part;
        }
}

static char ring_at(const Ring *r, uint64_t position) {
        return r->data[position % RING_SIZE];
}

void ring_tail(const Ring *r, size_t n, Span ret[2]) {
        uint64_t held = MIN(r->total, (uint64_t) RING_SIZE);
        uint64_t from = r->total - MIN(held, (uint64_t) n);
        size_t at, length;

        if (from > 0) {
                uint64_t line = from;
                bool at_line = from > r->total - held && ring_at(r, from - 1) == '\n';

                while (!at_line && line < r->total && ring_at(r, line) != '\n')
                        line++;
                if (!at_line && line + 1 < r->total)
                        from = line + 1;
        }
        at = from % RING_SIZE;
        length = (size_t) (r->total - from);
        ret[0] = (Span){ r->data + at, MIN(length, RING_SIZE - at) };
        ret[1] = (Span){ r->data, length - ret[0].n };
}
