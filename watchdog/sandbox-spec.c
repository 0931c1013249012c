/* SPDX-License-Identifier: MIT */
#include "watchdog/sandbox-spec.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "watchdog/sandbox-tmpfs.h"

#define TMPFS_MAX 64
#define LIST_MAX 4096
#define IMAGE_MAX 512
#define QUOTED_MAX 150

void sandbox_spec_donep(SandboxSpec *s) {
        json_decref(s->create);
        *s = (SandboxSpec){ 0 };
}

int sandbox_spec_copy(const SandboxSpec *s, SandboxSpec *ret) {
        /* the object is never changed after it was checked, so a reference is a copy */
        *ret = *s;
        json_incref(ret->create);
        return 0;
}

typedef struct Refusal {
        const char **code;
        char *message;
        size_t n_message;
} Refusal;

static int refuse(Refusal *r, const char *code, const char *fmt, ...) PRINTF_FORMAT(3, 4);
static int refuse(Refusal *r, const char *code, const char *fmt, ...) {
        va_list ap;

        *r->code = code;
        va_start(ap, fmt);
        vsnprintf(r->message, r->n_message, fmt, ap);
        va_end(ap);
        return -EINVAL;
}

static int invalid(Refusal *r, const char *what) {
        return refuse(r, "container-create-invalid", "%s", what);
}

/* Text that the Engine takes as one C string. */
static bool plain_text(const json_t *v) {
        return json_is_string(v) && strlen(json_string_value(v)) == json_string_length(v);
}

static bool filled_text(const json_t *v) {
        return plain_text(v) && json_string_length(v) > 0;
}

/*
 * What could be a reference at all. The Engine knows the whole grammar; this keeps what looks like
 * an option from reaching anything, and from leaving a network behind.
 */
static bool image_name(const json_t *v) {
        static const char alnum[] =
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        const char *name = json_string_value(v);

        if (!filled_text(v) || json_string_length(v) > IMAGE_MAX)
                return false;
        /* '[' begins a registry's IPv6 address */
        return (strchr(alnum, name[0]) || name[0] == '[') &&
                        name[strspn(name,
                                    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                    "._-/:@[]")] == 0;
}

static bool text_list(const json_t *v) {
        if (!json_is_array(v) || json_array_size(v) > LIST_MAX)
                return false;
        for (size_t i = 0; i < json_array_size(v); i++)
                if (!plain_text(json_array_get(v, i)))
                        return false;
        return true;
}

/* How many bytes of a client's text go into a message: whole characters, so that it stays UTF-8. */
static int clip(const char *text) {
        size_t n = strlen(text);

        if (n > QUOTED_MAX) {
                n = QUOTED_MAX;
                while (n > 0 && ((unsigned char) text[n] & 0xc0) == 0x80)
                        n--;
        }
        return (int) n;
}

static int check_mount(const char *target, const json_t *options, Refusal *r) {
        char clean[TMPFS_TARGET_MAX];
        bool sized;

        if (!tmpfs_normalise(target, clean, sizeof(clean)))
                return refuse(r,
                              "container-create-invalid",
                              "tmpfs target '%.*s' must be absolute, not '/', and without '..'",
                              clip(target),
                              target);
        if (tmpfs_covers(clean))
                return refuse(r,
                              "container-create-invalid",
                              "tmpfs target '%.*s' would cover or reach into %s",
                              clip(target),
                              target,
                              tmpfs_covers(clean));
        if (strcmp(clean, target))
                return refuse(r,
                              "container-create-invalid",
                              "tmpfs target '%.*s' is not normalised: write '%.*s'",
                              clip(target),
                              target,
                              clip(clean),
                              clean);
        if (!plain_text(options) || !tmpfs_options_valid(json_string_value(options), &sized))
                return refuse(r,
                              "container-create-invalid",
                              "options of tmpfs '%.*s' must be known ones of tmpfs(5), such as "
                              "'rw,nosuid,nodev,size=64m,mode=0755'",
                              clip(target),
                              target);
        return 0;
}

static int check_tmpfs(const json_t *tmpfs, Refusal *r) {
        const char *target;
        json_t *options;
        int k;

        if (!json_is_object(tmpfs) || json_object_size(tmpfs) > TMPFS_MAX)
                return invalid(r, "tmpfs must be an object of at most 64 targets");
        json_object_foreach((json_t *) tmpfs, target, options) {
                k = check_mount(target, options, r);
                if (k < 0)
                        return k;
        }
        return 0;
}

/* Only these keys exist; whatever else a client sends is a wish about the host. */
static int check_keys(const json_t *create, Refusal *r) {
        static const char *const known[] = { "image",      "command", "entrypoint", "environment",
                                             "workingDir", "user",    "tmpfs",      "attemptId" };
        const char *key;
        json_t *value;

        json_object_foreach((json_t *) create, key, value) {
                bool ok = false;

                for (size_t i = 0; i < N_ELEMENTS(known); i++)
                        ok = ok || !strcmp(known[i], key);
                if (!ok)
                        return refuse(r,
                                      "container-create-host-input",
                                      "'%.*s' is not for clients to choose",
                                      clip(key),
                                      key);
        }
        return 0;
}

static int check_values(const json_t *create, Refusal *r) {
        static const char *const optional[] = { "entrypoint", "workingDir", "user" };
        json_t *tmpfs = json_object_get(create, "tmpfs");

        if (!image_name(json_object_get(create, "image")))
                return invalid(r,
                               "image must be the name of an image: letters, digits and ./:@_-, "
                               "beginning with a letter or digit");
        if (!filled_text(json_object_get(create, "attemptId")))
                return invalid(r, "attemptId must be text");
        if (json_string_length(json_object_get(create, "attemptId")) > ID_MAX)
                return invalid(r, "attemptId is too long");
        if (!text_list(json_object_get(create, "command")))
                return invalid(r, "command must be an array of strings");
        if (!text_list(json_object_get(create, "environment")))
                return invalid(r, "environment must be an array of strings");
        for (size_t i = 0; i < N_ELEMENTS(optional); i++) {
                const json_t *v = json_object_get(create, optional[i]);

                if (v && !json_is_null(v) && !plain_text(v))
                        return refuse(r,
                                      "container-create-invalid",
                                      "%s must be text",
                                      optional[i]);
        }
        return tmpfs && !json_is_null(tmpfs) ? check_tmpfs(tmpfs, r) : 0;
}

static const char *text_of(const SandboxSpec *s, const char *key) {
        const char *v = json_string_value(json_object_get(s->create, key));

        return v && *v ? v : NULL;
}

/* PID 1 is our supervisor when the client says so, or says nothing about what to run. */
static bool is_supervised(const SandboxSpec *s) {
        const char *entrypoint = text_of(s, "entrypoint");

        if (entrypoint)
                return !strcmp(entrypoint, SUPERVISOR_IN_SANDBOX);
        return json_array_size(json_object_get(s->create, "command")) == 0;
}

int sandbox_spec_parse(const json_t *create,
                       SandboxSpec *ret,
                       const char **ret_code,
                       char *message,
                       size_t n_message) {
        Refusal refusal = { ret_code, message, n_message };
        CLEANUP(sandbox_spec_donep) SandboxSpec s = { 0 };
        int r;

        if (!json_is_object(create))
                return invalid(&refusal, "create must be an object");
        r = check_keys(create, &refusal);
        if (r >= 0)
                r = check_values(create, &refusal);
        if (r < 0)
                return r;
        s.create = json_incref((json_t *) create);
        memcpy(s.digest, "sha256:", 7);
        r = json_digest(create, s.digest + 7);
        if (r < 0) {
                *ret_code = "internal";
                snprintf(message, n_message, "out of memory");
                return r;
        }
        s.attempt_id = text_of(&s, "attemptId");
        s.supervised = is_supervised(&s);
        *ret = s;
        s = (SandboxSpec){ 0 };
        return 0;
}
