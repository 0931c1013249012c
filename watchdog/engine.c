/* SPDX-License-Identifier: MIT */
/*
 * libcurl names the sockets it waits for and the time of its next timeout; both become sd-event
 * sources, and what they report is handed back to it. Results are collected after each of these
 * hand-backs, outside libcurl, so that a call-back may start new calls.
 *
 * Each call has a connection of its own. libcurl would silently send a request again when a kept
 * connection turns out to be dead, and a create that was sent twice makes two containers.
 */
#include "watchdog/engine.h"

#include <string.h>

#include "base/clock.h"
#include "base/engine-prepare.h"

typedef struct Call Call;
struct Call {
        EngineExchange x;
        Engine *engine;
        engine_fn fn; /* NULL: forgotten */
        void *userdata;
        Call *next;
        engine_data_fn data_fn; /* streams only */
};

struct Engine {
        sd_event *event;
        CURLM *multi;
        sd_event_source *timer;
        char *socket_path;
        Call *calls;
        Call *failed; /* could not even be started; called back from the loop */
        sd_event_source *failed_source;
};

static void call_free(Call *c) {
        engine_exchange_donep(&c->x);
        free(c);
}

static void unlink_call(Engine *e, Call *c) {
        for (Call **p = &e->calls; *p; p = &(*p)->next)
                if (*p == c) {
                        *p = c->next;
                        return;
                }
}

/* Tells the caller of one finished call, after the call has left all lists: it may start others. */
static void finish(Engine *e, Call *c, CURLcode code) {
        EngineReply reply = { 0 };
        int r = engine_errno(c->x.curl, code);

        curl_multi_remove_handle(e->multi, c->x.curl);
        unlink_call(e, c);
        if (r >= 0)
                r = engine_take_reply(&c->x, &reply);
        if (c->fn)
                c->fn(c->userdata, r, r < 0 ? NULL : &reply);
        engine_reply_donep(&reply);
        call_free(c);
}

static void collect(Engine *e) {
        for (;;) {
                int left;
                CURLMsg *m = curl_multi_info_read(e->multi, &left);
                Call *c = NULL;

                if (!m)
                        return;
                if (m->msg != CURLMSG_DONE)
                        continue;
                curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **) &c);
                finish(e, c, m->data.result);
        }
}

static int on_io(sd_event_source *source UNUSED, int fd, uint32_t revents, void *userdata) {
        Engine *e = userdata;
        int flags = 0, running;

        if (revents & (EPOLLIN | EPOLLHUP | EPOLLERR))
                flags |= CURL_CSELECT_IN;
        if (revents & EPOLLOUT)
                flags |= CURL_CSELECT_OUT;
        if (revents & EPOLLERR)
                flags |= CURL_CSELECT_ERR;
        curl_multi_socket_action(e->multi, fd, flags, &running);
        collect(e);
        return 0;
}

static int on_timer(sd_event_source *source UNUSED, uint64_t usec UNUSED, void *userdata) {
        Engine *e = userdata;
        int running;

        curl_multi_socket_action(e->multi, CURL_SOCKET_TIMEOUT, 0, &running);
        collect(e);
        return 0;
}

static int socket_callback(CURL *easy UNUSED, curl_socket_t fd, int what, void *userdata, void *p) {
        Engine *e = userdata;
        sd_event_source *source = p;
        uint32_t events = 0;

        if (what == CURL_POLL_REMOVE) {
                sd_event_source_disable_unref(source);
                curl_multi_assign(e->multi, fd, NULL);
                return 0;
        }
        if (what & CURL_POLL_IN)
                events |= EPOLLIN;
        if (what & CURL_POLL_OUT)
                events |= EPOLLOUT;
        if (source)
                return sd_event_source_set_io_events(source, events) < 0 ? -1 : 0;
        if (sd_event_add_io(e->event, &source, fd, events, on_io, e) < 0)
                return -1;
        curl_multi_assign(e->multi, fd, source);
        return 0;
}

static int timer_callback(CURLM *multi UNUSED, long msec, void *userdata) {
        Engine *e = userdata;

        if (msec < 0)
                return sd_event_source_set_enabled(e->timer, SD_EVENT_OFF) < 0 ? -1 : 0;
        if (sd_event_source_set_time_relative(e->timer, (uint64_t) msec * USEC_PER_MSEC) < 0)
                return -1;
        return sd_event_source_set_enabled(e->timer, SD_EVENT_ONESHOT) < 0 ? -1 : 0;
}

/* Calls that failed before they began still call back from the loop, like all others. */
static int on_failed(sd_event_source *source UNUSED, void *userdata) {
        Engine *e = userdata;

        while (e->failed) {
                Call *c = e->failed;

                e->failed = c->next;
                if (c->fn)
                        c->fn(c->userdata, -ENOMEM, NULL);
                call_free(c);
        }
        return 0;
}

static int set_up(Engine *e) {
        int r;

        e->multi = curl_multi_init();
        if (!e->multi)
                return -ENOMEM;
        curl_multi_setopt(e->multi, CURLMOPT_SOCKETFUNCTION, socket_callback);
        curl_multi_setopt(e->multi, CURLMOPT_SOCKETDATA, e);
        curl_multi_setopt(e->multi, CURLMOPT_TIMERFUNCTION, timer_callback);
        curl_multi_setopt(e->multi, CURLMOPT_TIMERDATA, e);
        r = sd_event_add_time_relative(e->event, &e->timer, CLOCK_MONOTONIC, 0, 0, on_timer, e);
        if (r < 0)
                return r;
        r = sd_event_source_set_enabled(e->timer, SD_EVENT_OFF);
        if (r < 0)
                return r;
        r = sd_event_add_defer(e->event, &e->failed_source, on_failed, e);
        if (r < 0)
                return r;
        return sd_event_source_set_enabled(e->failed_source, SD_EVENT_OFF);
}

int engine_new(sd_event *event, const char *socket_path, Engine **ret) {
        CLEANUP(engine_freep) Engine *e = calloc(1, sizeof(*e));
        int r;

        if (!e)
                return -ENOMEM;
        /* no TLS: only a Unix socket is spoken to */
        if (curl_global_init(CURL_GLOBAL_NOTHING) != CURLE_OK)
                return -ENOMEM;
        e->event = sd_event_ref(event);
        e->socket_path = strdup(socket_path);
        if (!e->socket_path)
                return -ENOMEM;
        r = set_up(e);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(e);
        return 0;
}

Engine *engine_free(Engine *e) {
        if (!e)
                return NULL;
        while (e->calls) {
                Call *c = e->calls;

                e->calls = c->next;
                curl_multi_remove_handle(e->multi, c->x.curl);
                call_free(c);
        }
        while (e->failed) {
                Call *c = e->failed;

                e->failed = c->next;
                call_free(c);
        }
        if (e->multi)
                curl_multi_cleanup(e->multi);
        sd_event_source_disable_unref(e->timer);
        sd_event_source_disable_unref(e->failed_source);
        sd_event_unref(e->event);
        free(e->socket_path);
        free(e);
        return NULL;
}

void engine_freep(Engine **e) {
        engine_free(*e);
}

/* Body bytes of a stream go to its reader and are not kept. */
static size_t stream_data(char *data, size_t size, size_t n, void *userdata) {
        Call *c = userdata;

        if (c->fn)
                c->data_fn(c->userdata, data, size * n);
        return size * n;
}

static int start(Engine *e,
                 Call *c,
                 const char *method,
                 const char *path,
                 const json_t *body,
                 uint64_t timeout_usec) {
        int r = engine_prepare(&c->x, e->socket_path, method, path, body, timeout_usec);

        if (r < 0)
                return r;
        curl_easy_setopt(c->x.curl, CURLOPT_PRIVATE, c);
        curl_easy_setopt(c->x.curl, CURLOPT_FRESH_CONNECT, 1L);
        curl_easy_setopt(c->x.curl, CURLOPT_FORBID_REUSE, 1L);
        if (c->data_fn) {
                curl_easy_setopt(c->x.curl, CURLOPT_WRITEFUNCTION, stream_data);
                curl_easy_setopt(c->x.curl, CURLOPT_WRITEDATA, c);
        }
        if (curl_multi_add_handle(e->multi, c->x.curl) != CURLM_OK)
                return -ENOMEM;
        c->next = e->calls;
        e->calls = c;
        return 0;
}

static int engine_start(Engine *e,
                        const char *method,
                        const char *path,
                        const json_t *body,
                        uint64_t timeout_usec,
                        engine_data_fn data_fn,
                        engine_fn fn,
                        void *userdata) {
        Call *c = calloc(1, sizeof(*c));

        if (!c)
                return -ENOMEM;
        c->engine = e;
        c->fn = fn;
        c->data_fn = data_fn;
        c->userdata = userdata;
        if (start(e, c, method, path, body, timeout_usec) < 0) {
                c->next = e->failed;
                e->failed = c;
                return sd_event_source_set_enabled(e->failed_source, SD_EVENT_ONESHOT);
        }
        return 0;
}

int engine_call(Engine *e,
                const char *method,
                const char *path,
                const json_t *body,
                uint64_t timeout_usec,
                engine_fn fn,
                void *userdata) {
        return engine_start(e, method, path, body, timeout_usec, NULL, fn, userdata);
}

int engine_stream(Engine *e, const char *path, engine_data_fn data, engine_fn end, void *userdata) {
        return engine_start(e, "GET", path, NULL, 0, data, end, userdata);
}

/* A request is left to end by itself, so that it is not cut in the middle; a stream would never
 * end. */
static void forget(Engine *e, Call *c) {
        c->fn = NULL;
        if (!c->data_fn)
                return;
        curl_multi_remove_handle(e->multi, c->x.curl);
        unlink_call(e, c);
        call_free(c);
}

void engine_forget(Engine *e, void *userdata) {
        for (Call *c = e->calls, *next; c; c = next) {
                next = c->next;
                if (c->userdata == userdata)
                        forget(e, c);
        }
        for (Call *c = e->failed; c; c = c->next)
                if (c->userdata == userdata)
                        c->fn = NULL;
}
