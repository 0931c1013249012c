/* SPDX-License-Identifier: MIT */
#include "supervisor/http.h"

#include <string.h>

void http_request(Text *t, const char *path) {
        text_join(t, "GET ", path, " HTTP/1.0\r\nHost: docker\r\nConnection: close\r\n\r\n", NULL);
}

int http_reply(const char *data, size_t n, HttpReply *ret) {
        static const char start[] = "HTTP/1.";
        static const size_t n_start = sizeof(start) - 1;
        const char *end;
        uint64_t status;

        if (memcmp(data, start, MIN(n, n_start)))
                return HTTP_E_NOT_HTTP;
        end = memmem(data, n, "\r\n\r\n", 4);
        if (!end)
                return HTTP_E_MORE;
        /* "HTTP/1.x NNN" */
        if (end - data < 12 || data[n_start + 1] != ' ' ||
            !text_to_number(data + n_start + 2, 3, 599, &status))
                return HTTP_E_NOT_HTTP;
        *ret = (HttpReply){
                .status = (unsigned) status,
                .body = end + 4,
                .n_body = n - (size_t) (end + 4 - data),
        };
        return 0;
}
