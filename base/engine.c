/* SPDX-License-Identifier: MIT */
#include "base/engine.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#include "base/engine-prepare.h"
#include "base/json.h"
#include "base/text.h"

void engine_reply_donep(EngineReply *reply) {
        free(reply->body);
        *reply = (EngineReply){ 0 };
}

int engine_errno(CURL *c, CURLcode code) {
        long os_errno = 0;

        switch ((int) code) {
        case CURLE_OK:
                return 0;
        case CURLE_OPERATION_TIMEDOUT:
                return -ETIMEDOUT;
        case CURLE_OUT_OF_MEMORY:
                return -ENOMEM;
        case CURLE_WRITE_ERROR: /* our own callback: the body is over its bound */
                return -EFBIG;
        case CURLE_COULDNT_CONNECT:
                if (curl_easy_getinfo(c, CURLINFO_OS_ERRNO, &os_errno) == CURLE_OK && os_errno > 0)
                        return (int) -os_errno;
                return -ECONNREFUSED;
        default:
                return -ECONNRESET;
        }
}

static size_t receive(char *data, size_t size, size_t n, void *userdata) {
        EngineExchange *x = userdata;
        size_t k = size * n;

        if (x->n + k > ENGINE_REPLY_MAX)
                return 0;
        if (x->n + k + 1 > x->room) {
                size_t room = (x->n + k + 1) * 2;
                char *p = realloc(x->body, room);

                if (!p)
                        return 0;
                x->body = p;
                x->room = room;
        }
        memcpy(x->body + x->n, data, k);
        x->n += k;
        x->body[x->n] = 0;
        return k;
}

void engine_exchange_donep(EngineExchange *x) {
        curl_easy_cleanup(x->curl);
        curl_slist_free_all(x->headers);
        free(x->url);
        free(x->request);
        free(x->body);
        *x = (EngineExchange){ 0 };
}

/* Appends to the list of headers; false when memory is out. */
static bool add_header(EngineExchange *x, const char *line) {
        struct curl_slist *list = curl_slist_append(x->headers, line);

        if (!list)
                return false;
        x->headers = list;
        return true;
}

static int prepare_body(EngineExchange *x, const char *method, const json_t *body) {
        int r;

        /* Replies may take long; a request body is small, so no "100 Continue" round trip. */
        if (!add_header(x, "Expect:"))
                return -ENOMEM;
        if (!body) {
                if (!strcmp(method, "POST"))
                        curl_easy_setopt(x->curl, CURLOPT_POSTFIELDS, "");
                return 0;
        }
        r = json_canonical(body, &x->request, NULL);
        if (r < 0)
                return r;
        if (!add_header(x, "Content-Type: application/json"))
                return -ENOMEM;
        curl_easy_setopt(x->curl, CURLOPT_POSTFIELDS, x->request);
        return 0;
}

int engine_prepare(EngineExchange *x,
                   const char *socket_path,
                   const char *method,
                   const char *path,
                   const json_t *body,
                   uint64_t timeout_usec) {
        /* to curl 0 means for ever, so what is less than its unit is rounded up */
        const long timeout_ms = (long) ((timeout_usec + 999) / 1000);
        int r;

        x->curl = curl_easy_init();
        x->url = text_format("http://engine" ENGINE_API "%s", path);
        if (!x->curl || !x->url)
                return -ENOMEM;
        curl_easy_setopt(x->curl, CURLOPT_UNIX_SOCKET_PATH, socket_path);
        curl_easy_setopt(x->curl, CURLOPT_URL, x->url);
        curl_easy_setopt(x->curl, CURLOPT_PROXY, ""); /* whatever the environment says */
        curl_easy_setopt(x->curl, CURLOPT_HTTP_VERSION, (long) CURL_HTTP_VERSION_1_1);
        curl_easy_setopt(x->curl, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(x->curl, CURLOPT_TIMEOUT_MS, timeout_ms);
        curl_easy_setopt(x->curl, CURLOPT_WRITEFUNCTION, receive);
        curl_easy_setopt(x->curl, CURLOPT_WRITEDATA, x);
        r = prepare_body(x, method, body);
        if (r < 0)
                return r;
        curl_easy_setopt(x->curl, CURLOPT_CUSTOMREQUEST, method); /* after what sets a method */
        curl_easy_setopt(x->curl, CURLOPT_HTTPHEADER, x->headers);
        return 0;
}

int engine_take_reply(EngineExchange *x, EngineReply *ret) {
        long status = 0;

        curl_easy_getinfo(x->curl, CURLINFO_RESPONSE_CODE, &status);
        if (!x->body && !(x->body = strdup("")))
                return -ENOMEM;
        *ret = (EngineReply){ .status = status, .body = TAKE_PTR(x->body), .n_body = x->n };
        return 0;
}

int engine_request(const char *socket_path,
                   const char *method,
                   const char *path,
                   const json_t *body,
                   uint64_t timeout_usec,
                   EngineReply *ret) {
        CLEANUP(engine_exchange_donep) EngineExchange x = { 0 };
        int r;

        r = engine_prepare(&x, socket_path, method, path, body, timeout_usec);
        if (r < 0)
                return r;
        r = engine_errno(x.curl, curl_easy_perform(x.curl));
        if (r < 0)
                return r;
        return engine_take_reply(&x, ret);
}

char *engine_error_text(const EngineReply *reply, char *buf, size_t n) {
        CLEANUP(json_decrefp) json_t *v = NULL;
        char ignored[128];
        const char *text = reply->body;

        if (json_read(reply->body, reply->n_body, &v, ignored, sizeof(ignored)) >= 0) {
                const char *message = json_string_value(json_object_get(v, "message"));

                if (message)
                        text = message;
        }
        snprintf(buf, n, "%s", text);
        return buf;
}

char *engine_escape(const char *text) {
        static const char plain[] =
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
        char *out = malloc(strlen(text) * 3 + 1), *p = out;

        if (!out)
                return NULL;
        for (; *text; text++)
                if (strchr(plain, *text))
                        *p++ = *text;
                else
                        p += sprintf(p, "%%%02X", (unsigned char) *text);
        *p = 0;
        return out;
}
