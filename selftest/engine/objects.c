/* SPDX-License-Identifier: MIT */
#include "selftest/engine/objects.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"

static void new_hex(char ret[static SHA256_HEX_SIZE]) {
        char token[48];

        if (random_token(32, token, sizeof(token)) < 0)
                abort();
        sha256_hex(token, strlen(token), ret);
}

void objects_new_id(Objects *o) {
        char hex[SHA256_HEX_SIZE];

        new_hex(hex);
        hex[32] = 0;
        json_object_set_new(o->info, "ID", json_string(hex));
}

int objects_load(Objects *o) {
        CLEANUP(json_decrefp) json_t *state = NULL;
        char why[128], *text = NULL;
        size_t n;

        o->networks = json_object();
        o->containers = json_object();
        if (!json_object_get(o->info, "ID"))
                objects_new_id(o);
        if (!o->state_file || file_read(o->state_file, 64 << 20, &text, &n) < 0)
                return 0;
        if (json_read(text, n, &state, why, sizeof(why)) < 0) {
                free(text);
                return -EINVAL;
        }
        free(text);
        json_object_update(o->networks, json_object_get(state, "networks"));
        json_object_update(o->containers, json_object_get(state, "containers"));
        return 0;
}

static void save(const Objects *o) {
        CLEANUP(json_decrefp)
        json_t *state = json_pack(
                        "{s:O, s:O}", "networks", o->networks, "containers", o->containers);
        CLEANUP(freep) char *text = NULL;
        size_t n;

        if (!o->state_file)
                return;
        if (json_canonical(state, &text, &n) < 0 ||
            file_write_atomic(o->state_file, text, n, 0600, (uid_t) -1, (gid_t) -1) < 0)
                abort();
}

static int say(json_t **ret, int status, const char *fmt, ...) PRINTF_FORMAT(3, 4);
static int say(json_t **ret, int status, const char *fmt, ...) {
        char text[1024];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(text, sizeof(text), fmt, ap);
        va_end(ap);
        *ret = json_pack("{s:s}", "message", text);
        return status;
}

static void decode(char *s) {
        char *to = s;

        for (; *s; s++) {
                unsigned byte;

                if (*s == '%' && sscanf(s + 1, "%2x", &byte) == 1) {
                        *to++ = (char) byte;
                        s += 2;
                } else
                        *to++ = *s;
        }
        *to = 0;
}

/* The decoded value of a query's key in new memory, or NULL. */
static char *query_value(const char *query, const char *key) {
        size_t n = strlen(key);

        while (query && *query) {
                if (!strncmp(query, key, n) && query[n] == '=') {
                        char *v = strndup(query + n + 1, strcspn(query + n + 1, "&"));

                        if (v)
                                decode(v);
                        return v;
                }
                query += strcspn(query, "&");
                query += *query == '&';
        }
        return NULL;
}

/* Does the object carry every "key=value" (or "key") of the label filter? */
static bool labelled(const json_t *labels, const json_t *wanted) {
        for (size_t i = 0; i < json_array_size(wanted); i++) {
                CLEANUP(freep) char *pair = strdup(json_string_value(json_array_get(wanted, i)));
                char *eq = strchr(pair, '=');
                const char *have;

                if (eq)
                        *eq = 0;
                have = json_string_value(json_object_get(labels, pair));
                if (!have || (eq && strcmp(have, eq + 1)))
                        return false;
        }
        return true;
}

static int
list(const Objects *o, const json_t *objects, const char *query, bool running_only, json_t **ret) {
        CLEANUP(freep) char *filters = query_value(query, "filters");
        CLEANUP(json_decrefp) json_t *f = NULL;
        const char *id;
        json_t *object;
        char why[128];

        if (filters && json_read(filters, strlen(filters), &f, why, sizeof(why)) < 0)
                return say(ret, 400, "invalid filter: %s", why);
        *ret = json_array();
        json_object_foreach((json_t *) objects, id, object) {
                const char *state = json_string_value(json_object_get(object, "State"));

                if (running_only && strcmp(state, "running"))
                        continue;
                if (o->ignore_filters ||
                    labelled(json_object_get(object, "Labels"), json_object_get(f, "label")))
                        json_array_append(*ret, object);
        }
        return 200;
}

static json_t *find(const json_t *objects, const char *name) {
        const char *id;
        json_t *object, *found = json_object_get(objects, name);

        if (found)
                return found;
        json_object_foreach((json_t *) objects, id, object) {
                const char *own = json_string_value(json_object_get(object, "Name"));

                if (own && !strcmp(own, name))
                        return object;
        }
        return NULL;
}

/* ---- networks ---- */

static int network_create(Objects *o, const json_t *body, json_t **ret) {
        const char *name = json_string_value(json_object_get(body, "Name"));
        char id[SHA256_HEX_SIZE];
        json_t *network;

        if (!name || !*name)
                return say(ret, 400, "network name is missing");
        if (find(o->networks, name))
                return say(ret, 409, "network with name %s already exists", name);
        new_hex(id);
        network = json_deep_copy(body);
        json_object_set_new(network, "Id", json_string(id));
        json_object_set_new(network, "Containers", json_object());
        json_object_set_new(o->networks, id, network);
        *ret = json_pack("{s:s, s:s}", "Id", id, "Warning", "");
        save(o);
        return 201;
}

static int network_delete(Objects *o, json_t *network, json_t **ret) {
        const char *name = json_string_value(json_object_get(network, "Name"));

        if (json_object_size(json_object_get(network, "Containers")))
                return say(ret, 403, "error while removing network: %s has active endpoints", name);
        json_object_del(o->networks, json_string_value(json_object_get(network, "Id")));
        save(o);
        return 204;
}

static int
network_attach(Objects *o, json_t *network, const char *verb, const json_t *body, json_t **ret) {
        const char *id = json_string_value(json_object_get(body, "Container"));
        json_t *endpoints = json_object_get(network, "Containers");

        if (!id)
                return say(ret, 400, "no container named");
        if (!strcmp(verb, "connect"))
                json_object_set_new(endpoints, id, json_object());
        else if (json_object_del(endpoints, id) < 0)
                return say(ret, 404, "container %s is not connected to the network", id);
        save(o);
        return 200;
}

static int networks(Objects *o,
                    const char *method,
                    char *rest,
                    const char *query,
                    const json_t *body,
                    json_t **ret) {
        char *verb = strchr(rest, '/');
        json_t *network;

        if (!*rest)
                return list(o, o->networks, query, false, ret);
        if (!strcmp(rest, "create"))
                return network_create(o, body, ret);
        if (verb)
                *verb++ = 0;
        network = find(o->networks, rest);
        if (!network)
                return say(ret, 404, "network %s not found", rest);
        if (verb)
                return network_attach(o, network, verb, body, ret);
        if (!strcmp(method, "DELETE"))
                return network_delete(o, network, ret);
        *ret = json_incref(network);
        return 200;
}

/* ---- containers ---- */

/* Roughly Docker's grammar of image references. */
static bool reference_valid(const char *image) {
        return isalnum((unsigned char) image[0]) &&
                        image[strspn(image,
                                     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                     "._-/:@")] == 0;
}

static int container_create(Objects *o, const json_t *body, const char *query, json_t **ret) {
        CLEANUP(freep) char *name = query_value(query, "name");
        const char *image = json_string_value(json_object_get(body, "Image"));
        char id[SHA256_HEX_SIZE];
        json_t *container;

        if (!image || !reference_valid(image))
                return say(ret, 400, "invalid reference format");
        if (strstr(image, "missing"))
                return say(ret, 404, "No such image: %s", image);
        if (name && find(o->containers, name))
                return say(ret,
                           409,
                           "Conflict. The container name \"/%s\" is already in use",
                           name);
        new_hex(id);
        container = json_deep_copy(body);
        json_object_set_new(container, "Id", json_string(id));
        json_object_set_new(container, "Name", name ? json_string(name) : json_null());
        json_object_set_new(container, "State", json_string("created"));
        json_object_set_new(o->containers, id, container);
        *ret = json_pack("{s:s, s:[]}", "Id", id, "Warnings");
        save(o);
        return 201;
}

/* A scope is a folder with the one file that is looked at. */
static void set_scope(const Objects *o, const char *id, bool running) {
        static const char populated[] = "populated 1\nfrozen 0\n";
        char folder[512], events[600];

        snprintf(folder, sizeof(folder), "%s/docker-%s.scope", o->cgroup_dir, id);
        snprintf(events, sizeof(events), "%s/cgroup.events", folder);
        if (!running) {
                (void) unlink(events);
                (void) rmdir(folder);
        } else if (mkdir(folder, 0755) < 0 ||
                   file_write_atomic(events,
                                     populated,
                                     strlen(populated),
                                     0644,
                                     (uid_t) -1,
                                     (gid_t) -1) < 0)
                abort();
}

/* Moves a container to a state, its network's endpoint and its scope with it. */
static void set_state(Objects *o, json_t *container, const char *state) {
        const char *id = json_string_value(json_object_get(container, "Id"));
        const char *mode = json_string_value(
                        json_object_get(json_object_get(container, "HostConfig"), "NetworkMode"));
        json_t *endpoints = json_object_get(mode ? find(o->networks, mode) : NULL, "Containers");
        const char *before = json_string_value(json_object_get(container, "State"));
        bool running = !strcmp(state, "running"), was_running = !strcmp(before, "running");

        json_object_set_new(container, "State", json_string(state));
        if (running && endpoints)
                json_object_set_new(endpoints, id, json_object());
        else if (endpoints)
                json_object_del(endpoints, id);
        if (o->cgroup_dir && (running || was_running))
                set_scope(o, id, running);
        save(o);
}

static int container_delete(Objects *o, json_t *container, const char *query, json_t **ret) {
        CLEANUP(freep) char *force = query_value(query, "force");
        const char *state = json_string_value(json_object_get(container, "State"));

        if (!strcmp(state, "running") &&
            !(force && (!strcmp(force, "1") || !strcmp(force, "true"))))
                return say(ret, 409, "cannot remove a running container");
        set_state(o, container, "removing");
        json_object_del(o->containers, json_string_value(json_object_get(container, "Id")));
        save(o);
        return 204;
}

static int container_verb(Objects *o, json_t *container, const char *verb, json_t **ret) {
        const char *id = json_string_value(json_object_get(container, "Id"));
        bool running = !strcmp(json_string_value(json_object_get(container, "State")), "running");

        if (!strcmp(verb, "json")) {
                *ret = json_deep_copy(container);
                json_object_set_new(*ret, "State", json_pack("{s:b}", "Running", running));
                return 200;
        }
        if (!strcmp(verb, "start")) {
                if (running)
                        return 304;
                set_state(o, container, "running");
                return 204;
        }
        if (!strcmp(verb, "stop") || !strcmp(verb, "kill")) {
                if (!running)
                        return !strcmp(verb, "stop")
                                        ? 304
                                        : say(ret, 409, "container %s is not running", id);
                set_state(o, container, "exited");
                return 204;
        }
        return say(ret, 404, "page not found");
}

static int containers(Objects *o,
                      const char *method,
                      char *rest,
                      const char *query,
                      const json_t *body,
                      json_t **ret) {
        char *verb = strchr(rest, '/');
        json_t *container;

        if (!strcmp(rest, "json")) {
                CLEANUP(freep) char *all = query_value(query, "all");

                return list(o,
                            o->containers,
                            query,
                            !all || (strcmp(all, "1") && strcmp(all, "true")),
                            ret);
        }
        if (!strcmp(rest, "create"))
                return container_create(o, body, query, ret);
        if (verb)
                *verb++ = 0;
        container = find(o->containers, rest);
        if (!container)
                return say(ret, 404, "No such container: %s", rest);
        if (verb)
                return container_verb(o, container, verb, ret);
        if (!strcmp(method, "DELETE"))
                return container_delete(o, container, query, ret);
        return say(ret, 404, "page not found");
}

int objects_do(Objects *o,
               const char *method,
               const char *path,
               const char *query,
               const json_t *body,
               json_t **ret) {
        CLEANUP(freep) char *copy = strdup(path);

        *ret = NULL;
        if (!strcmp(path, "/info")) {
                *ret = json_incref(o->info);
                return 200;
        }
        if (!strcmp(path, "/_ping"))
                return 200;
        if (text_has_prefix(path, "/networks"))
                return networks(o,
                                method,
                                copy + strlen("/networks") + (path[9] == '/'),
                                query,
                                body,
                                ret);
        if (text_has_prefix(path, "/containers/"))
                return containers(o, method, copy + strlen("/containers/"), query, body, ret);
        return say(ret, 404, "page not found");
}
