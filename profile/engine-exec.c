/* SPDX-License-Identifier: MIT */
#include "profile/engine-exec.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"

#define FRAME_HEAD 8
#define STREAM_MAX 2 /* 0 input, 1 output, 2 errors; 3 is the Engine's own trouble */

int engine_demux(const char *data, size_t n, char **ret) {
        CLEANUP(freep) char *out = malloc(n + 1);
        size_t used = 0;

        if (!out)
                return -ENOMEM;
        while (n > 0) {
                const unsigned char *h = (const unsigned char *) data;
                size_t k;

                if (n < FRAME_HEAD || h[0] > STREAM_MAX || h[1] || h[2] || h[3])
                        return -EBADMSG;
                k = (size_t) h[4] << 24 | (size_t) h[5] << 16 | (size_t) h[6] << 8 | h[7];
                if (k > n - FRAME_HEAD)
                        return -EBADMSG;
                memcpy(out + used, data + FRAME_HEAD, k);
                used += k;
                data += FRAME_HEAD + k;
                n -= FRAME_HEAD + k;
        }
        out[used] = 0;
        *ret = TAKE_PTR(out);
        return 0;
}

void engine_exec_result_donep(EngineExecResult *r) {
        free(r->output);
        *r = (EngineExecResult){ 0 };
}

typedef struct Call {
        const char *socket;
        uint64_t deadline;
        char *why;
        size_t n_why;
} Call;

/* One request within what is left of the deadline; whatever is not `status` is an error. */
static int call(const Call *c,
                const char *method,
                const char *path,
                const json_t *body,
                long status,
                EngineReply *ret) {
        CLEANUP(engine_reply_donep) EngineReply reply = { 0 };
        uint64_t now = boottime_usec();
        int r = now >= c->deadline
                        ? -ETIMEDOUT
                        : engine_request(c->socket, method, path, body, c->deadline - now, &reply);

        if (r < 0) {
                snprintf(c->why, c->n_why, "%s %s: %s", method, path, strerror(-r));
                return r;
        }
        if (reply.status != status) {
                engine_error_text(&reply, c->why, c->n_why);
                return -EIO;
        }
        *ret = reply;
        reply = (EngineReply){ 0 };
        return 0;
}

static int exec_create(const Call *c, const EngineExec *e, char **ret_id) {
        CLEANUP(json_decrefp) json_t *argv = json_array(), *body = NULL, *answer = NULL;
        CLEANUP(engine_reply_donep) EngineReply reply = { 0 };
        CLEANUP(freep) char *path = text_format("/containers/%s/exec", e->container);
        const char *id;
        int r;

        for (const char *const *a = e->argv; *a; a++)
                if (json_array_append_new(argv, json_string(*a)) < 0)
                        return -ENOMEM;
        body = json_pack("{s:b, s:b, s:O, s:s*}",
                         "AttachStdout",
                         1,
                         "AttachStderr",
                         1,
                         "Cmd",
                         argv,
                         "User",
                         e->user);
        if (!body || !path)
                return -ENOMEM;
        r = call(c, "POST", path, body, 201, &reply);
        if (r >= 0)
                r = json_read(reply.body, reply.n_body, &answer, c->why, c->n_why);
        if (r < 0)
                return r;
        id = json_string_value(json_object_get(answer, "Id"));
        if (!id) {
                snprintf(c->why, c->n_why, "the Engine gave no id for the program");
                return -EBADMSG;
        }
        *ret_id = strdup(id);
        return *ret_id ? 0 : -ENOMEM;
}

static int exec_start(const Call *c, const char *id, char **ret_output) {
        CLEANUP(json_decrefp) json_t *body = json_pack("{s:b, s:b}", "Detach", 0, "Tty", 0);
        CLEANUP(engine_reply_donep) EngineReply reply = { 0 };
        CLEANUP(freep) char *path = text_format("/exec/%s/start", id);
        int r = body && path ? call(c, "POST", path, body, 200, &reply) : -ENOMEM;

        if (r >= 0)
                r = engine_demux(reply.body, reply.n_body, ret_output);
        if (r == -EBADMSG)
                snprintf(c->why, c->n_why, "the Engine's output frames are damaged");
        return r;
}

/* The output's end may be seen a moment before the Engine notes that the program has ended. */
static int exec_exit_code(const Call *c, const char *id, int *ret) {
        CLEANUP(freep) char *path = text_format("/exec/%s/json", id);

        for (;;) {
                CLEANUP(engine_reply_donep) EngineReply reply = { 0 };
                CLEANUP(json_decrefp) json_t *state = NULL;
                json_t *code;
                int r = path ? call(c, "GET", path, NULL, 200, &reply) : -ENOMEM;

                if (r >= 0)
                        r = json_read(reply.body, reply.n_body, &state, c->why, c->n_why);
                if (r < 0)
                        return r;
                code = json_object_get(state, "ExitCode");
                if (json_is_integer(code) && !json_is_true(json_object_get(state, "Running"))) {
                        *ret = (int) json_integer_value(code);
                        return 0;
                }
                usleep(100 * USEC_PER_MSEC);
        }
}

int engine_exec(const EngineExec *e, EngineExecResult *ret, char *why, size_t n_why) {
        const Call c = { e->socket, boottime_usec() + e->timeout_usec, why, n_why };
        CLEANUP(freep) char *id = NULL, *output = NULL;
        int r, code = 0;

        snprintf(why, n_why, "out of memory");
        r = exec_create(&c, e, &id);
        if (r >= 0)
                r = exec_start(&c, id, &output);
        if (r >= 0)
                r = exec_exit_code(&c, id, &code);
        if (r < 0)
                return r;
        *ret = (EngineExecResult){ .exit_code = code, .output = TAKE_PTR(output) };
        return 0;
}

char *
engine_log_tail(const char *socket, const char *container, unsigned lines, uint64_t timeout_usec) {
        CLEANUP(engine_reply_donep) EngineReply reply = { 0 };
        char ignored[256], *text = NULL;
        const Call c = { socket, boottime_usec() + timeout_usec, ignored, sizeof(ignored) };
        CLEANUP(freep)
        char *path = text_format("/containers/%s/logs?stdout=1&stderr=1&tail=%u", container, lines);

        if (path && call(&c, "GET", path, NULL, 200, &reply) >= 0 &&
            engine_demux(reply.body, reply.n_body, &text) >= 0)
                return text;
        return strdup("");
}
