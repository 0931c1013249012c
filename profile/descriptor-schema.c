/* SPDX-License-Identifier: MIT */
/*
 * The shape of a descriptor as tables: each object lists its keys, and no other key may be there
 *
 * Numbers are judged as ECMAScript does: 8.0 is the integer 8, and integers end at 2^53 - 1.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "profile/descriptor-schema.h"
#include "profile/public-ip.h"

typedef enum Type {
        TEXT, /* not blank, no NUL */
        PATH, /* text that starts with '/' */
        INT_FROM_0,
        INT_FROM_1,
        NUMBER_ABOVE_0,
        EXACTLY, /* equal to the JSON in `value` */
        ONE_OF,  /* one of the JSON array in `value` */
        SERVERS, /* list of public IPs, not empty */
        OBJECT,
} Type;

typedef struct Field Field;
struct Field {
        const char *key;
        Type type;
        const char *value;
        const Field *fields; /* OBJECT; ends with a NULL key */
};

/* clang-format off */
static const Field docker_socket[] = {
        { "path", PATH, NULL, NULL }, { "peerUid", INT_FROM_0, NULL, NULL }, { 0 },
};
static const Field control_socket[] = {
        { "path",     PATH,       NULL, NULL },
        { "peerUid",  INT_FROM_0, NULL, NULL },
        { "protocol", EXACTLY,    "\"" CONTROL_PROTOCOL "\"", NULL },
        { 0 },
};
static const Field transport[] = {
        { "kind",                EXACTLY, "\"unix\"", NULL },
        { "hostMachineIdentity", TEXT,    NULL, NULL },
        { "dockerSocket",        OBJECT,  NULL, docker_socket },
        { "controlSocket",       OBJECT,  NULL, control_socket },
        { 0 },
};
static const Field owner[] = {
        { "uid", INT_FROM_0, NULL, NULL }, { "gid", INT_FROM_0, NULL, NULL }, { 0 },
};
static const Field pool[] = {
        { "count",              INT_FROM_1, NULL, NULL },
        { "bytesPerAllocation", INT_FROM_1, NULL, NULL },
        { "attestation",        EXACTLY,    "\"linux-project-quota/v1\"", NULL },
        { 0 },
};
static const Field filesystem[] = {
        { "identity",       TEXT,       NULL, NULL },
        { "mountPath",      PATH,       NULL, NULL },
        { "dockerRootDir",  PATH,       NULL, NULL },
        { "limitBytes",     INT_FROM_1, NULL, NULL },
        { "dockerDataPool", OBJECT,     NULL, pool },
        { 0 },
};
static const Field cgroup[] = {
        { "aggregatePath",  PATH,    NULL, NULL },
        { "policyRevision", TEXT,    NULL, NULL },
        { "controllers",    EXACTLY, "[\"cpu\",\"memory\",\"pids\"]", NULL },
        { 0 },
};
static const Field backend[] = {
        { "kind",            ONE_OF, "[\"local-systemd\",\"dedicated-linux-vm\"]", NULL },
        { "machineIdentity", TEXT,   NULL, NULL },
        { "owner",           OBJECT, NULL, owner },
        { "filesystem",      OBJECT, NULL, filesystem },
        { "cgroup",          OBJECT, NULL, cgroup },
        { 0 },
};
static const Field aggregate[] = {
        { "cpus",            NUMBER_ABOVE_0, NULL, NULL },
        { "memoryBytes",     INT_FROM_1,     NULL, NULL },
        { "pids",            INT_FROM_1,     NULL, NULL },
        { "memorySwapBytes", EXACTLY,        "0", NULL },
        { 0 },
};
static const Field capacity[] = {
        { "cpus",               NUMBER_ABOVE_0, NULL, NULL },
        { "memoryBytes",        INT_FROM_1,     NULL, NULL },
        { "pids",               INT_FROM_1,     NULL, NULL },
        { "maxContainers",      INT_FROM_1,     NULL, NULL },
        { "maxBuilds",          INT_FROM_1,     NULL, NULL },
        { "ephemeralDiskBytes", INT_FROM_1,     NULL, NULL },
        { "memorySwapBytes",    EXACTLY,        "0", NULL },
        { "aggregate",          OBJECT,         NULL, aggregate },
        { 0 },
};
static const Field raw_policy[] = {
        { "level",                 EXACTLY, "\"raw-dind-storage/v1\"", NULL },
        { "privilegedTranslation", EXACTLY, "\"host-daemon\"", NULL },
        { "dockerData",            EXACTLY, "\"private-project-quota-allocation/v1\"", NULL },
        { 0 },
};
static const Field dns[] = {
        { "mode",    EXACTLY, "\"explicit\"", NULL },
        { "servers", SERVERS, NULL, NULL },
        { 0 },
};
static const Field egress[] = {
        { "mode",                         EXACTLY, "\"rootless-nat\"", NULL },
        { "allowedProtocols",             EXACTLY, "[\"dns\",\"https\"]", NULL },
        { "denyPrivateNetworks",          EXACTLY, "true", NULL },
        { "denySiblingSyntheticEndpoints", EXACTLY, "true", NULL },
        { "denyCidrs",                    EXACTLY, DESCRIPTOR_DENY_CIDRS, NULL },
        { "ipv6",                         EXACTLY, "\"disabled\"", NULL },
        { "disableHostLoopback",          EXACTLY, "true", NULL },
        { "portDriver",                   EXACTLY, "\"none\"", NULL },
        { "daemonBridge",                 EXACTLY, "\"none\"", NULL },
        { "exclusiveNetwork",             EXACTLY, "true", NULL },
        { "icc",                          EXACTLY, "false", NULL },
        { 0 },
};
static const Field network[] = {
        { "version", EXACTLY, "1",  NULL },
        { "dns",     OBJECT,  NULL, dns },
        { "egress",  OBJECT,  NULL, egress },
        { 0 },
};
static const Field managed_policy[] = {
        { "level",                 EXACTLY, "\"managed-rootless/v1\"", NULL },
        { "hostLoopback",          EXACTLY, "false", NULL },
        { "tcpDockerEndpoint",     EXACTLY, "false", NULL },
        { "outerSocketInjection",  EXACTLY, "false", NULL },
        { "privilegedTranslation", EXACTLY, "\"rootless-userns\"", NULL },
        { "writableRoot",          EXACTLY, "\"declared-tmpfs-only\"", NULL },
        { "dockerData",            EXACTLY, "\"private-project-quota-allocation/v1\"", NULL },
        { "network",               OBJECT,  NULL, network },
        { 0 },
};
static const Field descriptor_managed[] = {
        { "schemaVersion",          EXACTLY, "1",  NULL },
        { "profileId",              TEXT,    NULL, NULL },
        { "securityLevel",          TEXT,    NULL, NULL },
        { "semanticPolicyRevision", TEXT,    NULL, NULL },
        { "transport",              OBJECT,  NULL, transport },
        { "backend",                OBJECT,  NULL, backend },
        { "capacity",               OBJECT,  NULL, capacity },
        { "policy",                 OBJECT,  NULL, managed_policy },
        { 0 },
};
static const Field descriptor_raw[] = {
        { "schemaVersion",          EXACTLY, "1",  NULL },
        { "profileId",              TEXT,    NULL, NULL },
        { "securityLevel",          TEXT,    NULL, NULL },
        { "semanticPolicyRevision", TEXT,    NULL, NULL },
        { "transport",              OBJECT,  NULL, transport },
        { "backend",                OBJECT,  NULL, backend },
        { "capacity",               OBJECT,  NULL, capacity },
        { "policy",                 OBJECT,  NULL, raw_policy },
        { 0 },
};
/* clang-format on */

int descriptor_refuse(
                DescriptorError *e, const char *code, const char *path, const char *fmt, ...) {
        va_list ap;

        snprintf(e->code, sizeof(e->code), "sandbox.docker-profile-%s", code);
        snprintf(e->path, sizeof(e->path), "%s", path);
        va_start(ap, fmt);
        vsnprintf(e->message, sizeof(e->message), fmt, ap);
        va_end(ap);
        return -EINVAL;
}

bool json_safe_integer(const json_t *v, int64_t *ret) {
        const double max = 9007199254740991.0;
        double d;

        if (!json_is_number(v))
                return false;
        d = json_number_value(v);
        if (!(d >= -max && d <= max) || d != floor(d))
                return false;
        *ret = (int64_t) d;
        return true;
}

bool text_is_blank(const char *text) {
        /* beyond ASCII: no-break space, Ogham space, U+2000..200A, line and paragraph separator,
         * narrow and mathematical space, ideographic space, byte order mark */
        static const char *const wide[] = {
                "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004",
                "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a", "\u2028",
                "\u2029", "\u202f", "\u205f", "\u3000", "\ufeff",
        };

        while (*text) {
                size_t n = strspn(text, " \t\r\n\v\f");

                for (size_t i = 0; n == 0 && i < N_ELEMENTS(wide); i++)
                        if (text_has_prefix(text, wide[i]))
                                n = strlen(wide[i]);
                if (n == 0)
                        return false;
                text += n;
        }
        return true;
}

bool json_text(const json_t *v) {
        const char *s = json_string_value(v);

        return s && strlen(s) == json_string_length(v) && !text_is_blank(s);
}

/* Equal as ECMAScript values: 1 and 1.0 are. */
static bool same(const json_t *a, const json_t *b) {
        int64_t x, y;

        if (json_safe_integer(a, &x) && json_safe_integer(b, &y))
                return x == y;
        return json_equal(a, b);
}

static bool is_one_of(const json_t *v, const json_t *list) {
        for (size_t i = 0; i < json_array_size(list); i++)
                if (same(v, json_array_get(list, i)))
                        return true;
        return false;
}

static bool is_servers(const json_t *v) {
        if (!json_is_array(v) || json_array_size(v) == 0)
                return false;
        for (size_t i = 0; i < json_array_size(v); i++) {
                const json_t *item = json_array_get(v, i);

                if (!json_text(item) || !public_ip(json_string_value(item)))
                        return false;
        }
        return true;
}

static bool fits(const Field *f, const json_t *v) {
        CLEANUP(json_decrefp) json_t *value = NULL;
        int64_t i;

        switch (f->type) {
        case TEXT:
                return json_text(v);
        case PATH:
                return json_text(v) && json_string_value(v)[0] == '/';
        case INT_FROM_0:
                return json_safe_integer(v, &i) && i >= 0;
        case INT_FROM_1:
                return json_safe_integer(v, &i) && i > 0;
        case NUMBER_ABOVE_0:
                return json_is_number(v) && isfinite(json_number_value(v)) &&
                                json_number_value(v) > 0;
        case EXACTLY:
        case ONE_OF:
                value = json_loads(f->value, JSON_DECODE_ANY, NULL);
                assert(value);
                return f->type == EXACTLY ? same(v, value) : is_one_of(v, value);
        case SERVERS:
                return is_servers(v);
        case OBJECT:
                return json_is_object(v);
        }
        return false;
}

static const Field *find(const Field *fields, const char *key) {
        for (; fields->key; fields++)
                if (!strcmp(fields->key, key))
                        return fields;
        return NULL;
}

static int check_object(json_t *v, const Field *fields, const char *path, DescriptorError *e) {
        const char *key;
        json_t *item;

        json_object_foreach(v, key, item) if (!find(fields, key)) return descriptor_refuse(
                        e, "schema-invalid", path, "%s.%s is not a known field", path, key);
        for (const Field *f = fields; f->key; f++) {
                char below[128];
                int r;

                item = json_object_get(v, f->key);
                snprintf(below, sizeof(below), "%s.%s", path, f->key);
                if (!item)
                        return descriptor_refuse(
                                        e, "schema-invalid", below, "%s is missing", below);
                if (!fits(f, item))
                        return descriptor_refuse(
                                        e, "schema-invalid", below, "%s has a wrong value", below);
                if (f->type != OBJECT)
                        continue;
                r = check_object(item, f->fields, below, e);
                if (r < 0)
                        return r;
        }
        return 0;
}

int descriptor_check_shape(json_t *root, DescriptorError *e) {
        const json_t *version = json_object_get(root, "schemaVersion");
        const char *level = json_string_value(json_object_get(root, "securityLevel"));
        const char *policy = json_string_value(
                        json_object_get(json_object_get(root, "policy"), "level"));
        int64_t v;

        if (!json_is_object(root) || !version)
                return descriptor_refuse(e,
                                         "schema-invalid",
                                         "profile.schemaVersion",
                                         "not an object with a schemaVersion");
        if (!json_safe_integer(version, &v) || v != 1)
                return descriptor_refuse(e,
                                         "unknown-version",
                                         "profile.schemaVersion",
                                         "only schemaVersion 1 is known");
        if (!level ||
            (strcmp(level, "managed-rootless/v1") && strcmp(level, "raw-dind-storage/v1")))
                return descriptor_refuse(e,
                                         "security-level-unsupported",
                                         "profile.securityLevel",
                                         "securityLevel must be managed-rootless/v1 or "
                                         "raw-dind-storage/v1");
        /* the policy is judged by its own level first; that both levels agree is a later rule */
        return check_object(root,
                            policy && !strcmp(policy, "raw-dind-storage/v1") ? descriptor_raw
                                                                             : descriptor_managed,
                            "profile",
                            e);
}
