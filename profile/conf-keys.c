/* SPDX-License-Identifier: MIT */
#include "profile/conf-keys.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/public-ip.h"

#define K UINT64_C(1024)
#define M (K * K)
#define T (M * M)
#define MSEC USEC_PER_MSEC
#define SEC USEC_PER_SEC
#define DAY (86400 * SEC)
#define PIDS_MAX UINT64_C(4194304) /* what pid_max can be at most on 64 bits */

/* clang-format off */
#define AT(field) offsetof(ProfileConf, field)
const ConfKey conf_keys[] = {
        { "Profile",   "AccessUsers",        CONF_USERS,    AT(access_users),              "",   0, 0, "users who may use the profile; apply puts them in its access group" },
        { "Capacity",  "CPUs",               CONF_CPUS,     AT(cpus_milli),                NULL, 1, 4096000, "CPUs that all reservations together may hold" },
        { "Capacity",  "Memory",             CONF_SIZE,     AT(memory_bytes),              NULL, 64 * M, 64 * T, "memory that all reservations together may hold" },
        { "Capacity",  "PIDs",               CONF_UINT,     AT(pids),                      NULL, 64, PIDS_MAX, "processes and threads that all reservations together may hold" },
        { "Capacity",  "MaxContainers",      CONF_UINT,     AT(max_containers),            NULL, 1, SLOTS_MAX, "sandboxes at the same time" },
        { "Capacity",  "MaxBuilds",          CONF_UINT,     AT(max_builds),                "1",  1, SLOTS_MAX, "builds at the same time" },
        { "Aggregate", "CPUs",               CONF_CPUS,     AT(aggregate_cpus_milli),      NULL, 1, 4096000, "kernel limit of the whole profile, its Docker daemon included" },
        { "Aggregate", "Memory",             CONF_SIZE,     AT(aggregate_memory_bytes),    NULL, 64 * M, 65 * T, "kernel limit of the whole profile, its Docker daemon included; swap is 0" },
        { "Aggregate", "PIDs",               CONF_UINT,     AT(aggregate_pids),            NULL, 64, PIDS_MAX, "kernel limit of the whole profile, its Docker daemon included" },
        { "Storage",   "PoolSize",           CONF_SIZE,     AT(pool_bytes),                NULL, 128 * M, 1024 * T, "size of the pool image, allocated in full" },
        { "Storage",   "Slots",              CONF_UINT,     AT(slots),                     NULL, 1, SLOTS_MAX, "number of slots; one sandbox uses one" },
        { "Storage",   "SlotSize",           CONF_SIZE,     AT(slot_bytes),                NULL, 64 * M, 64 * T, "hard limit of a slot's data" },
        { "Storage",   "SlotInodes",         CONF_UINT,     AT(slot_inodes),               "0",  0, UINT32_MAX, "hard limit of a slot's files; 0: one for each 16K of SlotSize" },
        { "Storage",   "DaemonSize",         CONF_SIZE,     AT(daemon_bytes),              NULL, 64 * M, 64 * T, "hard limit of the outer daemon's own data, most of it images" },
        { "Network",   "DNS",                CONF_DNS,      AT(dns_servers),               "9.9.9.9 1.1.1.1", 0, 0, "name servers of sandboxes; public addresses only" },
        { "Network",   "Egress",             CONF_EGRESS,   AT(egress_enforced),           "enforced", 0, 0, "enforced, or unenforced: sandboxes reach whatever the host reaches" },
        { "Docker",    "RootlessScript",     CONF_PATH,     AT(rootless_script),           "/usr/share/docker.io/contrib/dockerd-rootless.sh", 0, 0, "program that starts the rootless daemon" },
        { "Docker",    "Runtime",            CONF_PATH,     AT(runtime),                   "/usr/bin/crun", 0, 0, "OCI runtime of the outer daemon" },
        { "Docker",    "SmokeImage",         CONF_WORD,     AT(smoke_image),               "docker:dind", 0, 0, "image that 'profile doctor --smoke' runs" },
        { "Docker",    "SmokeUser",          CONF_WORD,     AT(smoke_user),                "sandbox", 0, 0, "ordinary user of that image, in its group docker" },
        { "Docker",    "StartTimeout",       CONF_DURATION, AT(daemon_start_timeout_usec), "90s", SEC, DAY, "until the outer daemon must answer" },
        { "Watchdog",  "LeaseGrace",         CONF_DURATION, AT(lease_grace_usec),          "15s", SEC, DAY, "silence of a runner after which its sandboxes are taken down" },
        { "Watchdog",  "EngineTimeout",      CONF_DURATION, AT(engine_timeout_usec),       "30s", 100 * MSEC, DAY, "one call to the outer daemon" },
        { "Watchdog",  "CreateTimeout",      CONF_DURATION, AT(create_timeout_usec),       "1min", 100 * MSEC, DAY, "creating a container" },
        { "Watchdog",  "StopTimeout",        CONF_DURATION, AT(stop_timeout_usec),         "10s", 100 * MSEC, DAY, "time a sandbox has to stop by itself before it is killed" },
        { "Watchdog",  "BrokerTimeout",      CONF_DURATION, AT(broker_timeout_usec),       "5min", 100 * MSEC, DAY, "one request to the broker; a reset deletes a slot's content" },
        { "Watchdog",  "ClientTimeout",      CONF_DURATION, AT(client_timeout_usec),       "30s", 100 * MSEC, DAY, "a connection that sends nothing for this long is closed" },
        { "Watchdog",  "ReadyTimeout",       CONF_DURATION, AT(ready_timeout_usec),        "1min", 100 * MSEC, DAY, "from a sandbox's start until its daemon must be ready" },
        { "Watchdog",  "SandboxLifetime",    CONF_DURATION, AT(sandbox_lifetime_usec),     "4h", 60 * SEC, 30 * DAY, "longest life of a sandbox that our supervisor runs" },
        { "Watchdog",  "QuarantineRetryMax", CONF_DURATION, AT(quarantine_retry_max_usec), "10min", SEC, DAY, "longest pause between two tries to free a quarantined slot" },
        { "Watchdog",  "ConnectionsMax",     CONF_UINT,     AT(connections_max),           "512", 1, 65536, "connections to the control socket" },
        { "Watchdog",  "ConnectionsPerUserMax", CONF_UINT,  AT(connections_per_user_max),  "256", 1, 65536, "connections of one user" },
        { "Watchdog",  "LeasesPerUserMax",   CONF_UINT,     AT(leases_per_user_max),       "1024", 1, 1048576, "leases of one user" },
        { "Watchdog",  "QueueMax",           CONF_UINT,     AT(queue_max),                 "10000", 1, 1048576, "reservations that wait" },
};
/* clang-format on */
const size_t n_conf_keys = N_ELEMENTS(conf_keys);

bool conf_section_known(const char *section) {
        for (size_t i = 0; i < n_conf_keys; i++)
                if (!strcmp(conf_keys[i].section, section))
                        return true;
        return false;
}

const ConfKey *conf_key_find(const char *section, const char *name) {
        for (size_t i = 0; i < n_conf_keys; i++)
                if (!strcmp(conf_keys[i].section, section) && !strcmp(conf_keys[i].name, name))
                        return conf_keys + i;
        return NULL;
}

typedef bool ItemCheck(const char *item);

/* What useradd(8) makes, and never an option of a command line. */
static bool user_name(const char *s) {
        static const char start[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
        size_t n = strlen(s);

        return n >= 1 && n <= 32 && strchr(start, s[0]) &&
                        strspn(s,
                               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") ==
                        n;
}

/* Replaces a list by the words of text. */
static int set_list(const char *text, ItemCheck *ok, size_t max, char **list, size_t *n) {
        CLEANUP(freep) char *copy = strdup(text);
        char *save = NULL;

        if (!copy)
                return -ENOMEM;
        while (*n > 0)
                free(list[--*n]);
        for (char *word = strtok_r(copy, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
                if (*n == max || !ok(word))
                        return -EINVAL;
                list[*n] = strdup(word);
                if (!list[*n])
                        return -ENOMEM;
                ++*n;
        }
        return 0;
}

static int set_text(const char *text, bool path, char **field) {
        char *copy;

        if (!*text || text[0] == '-' || (path && text[0] != '/') || strpbrk(text, " \t"))
                return -EINVAL;
        copy = strdup(text);
        if (!copy)
                return -ENOMEM;
        free(*field);
        *field = copy;
        return 0;
}

static int parse_number(ConfType type, const char *text, uint64_t *ret) {
        switch ((int) type) {
        case CONF_SIZE:
                return parse_size(text, ret);
        case CONF_DURATION:
                return parse_duration(text, ret);
        case CONF_CPUS:
                return parse_cpus(text, ret);
        default:
                return parse_uint(text, UINT64_MAX, ret);
        }
}

static char *format_duration(char *buf, size_t n, uint64_t usec) {
        static const struct {
                uint64_t usec;
                const char *name;
        } units[] = { { DAY, "d" }, { 3600 * SEC, "h" }, { 60 * SEC, "min" },
                      { SEC, "s" }, { MSEC, "ms" },      { 1, "us" } };
        size_t i = 0;

        while (i < N_ELEMENTS(units) - 1 && (usec == 0 || usec % units[i].usec))
                i++;
        snprintf(buf, n, "%llu%s", (unsigned long long) (usec / units[i].usec), units[i].name);
        return buf;
}

static char *format_number(ConfType type, char *buf, size_t n, uint64_t v) {
        switch ((int) type) {
        case CONF_SIZE:
                return format_size(buf, n, v);
        case CONF_DURATION:
                return format_duration(buf, n, v);
        case CONF_CPUS:
                return format_cpus(buf, n, v);
        default:
                snprintf(buf, n, "%llu", (unsigned long long) v);
                return buf;
        }
}

static const char *number_words(ConfType type) {
        switch ((int) type) {
        case CONF_SIZE:
                return "a size (512M, 28G; whole 4K blocks)";
        case CONF_DURATION:
                return "a duration (15s, 5min)";
        case CONF_CPUS:
                return "a number with at most three decimal places";
        default:
                return "a whole number";
        }
}

static int
set_number(const ConfKey *key, const char *text, uint64_t *field, char rule[static 256]) {
        char min[32], max[32];
        uint64_t v;
        int r = parse_number(key->type, text, &v);

        if (r >= 0 && v >= key->min && v <= key->max &&
            (key->type != CONF_SIZE || v % (4 * K) == 0)) {
                *field = v;
                return 0;
        }
        snprintf(rule,
                 256,
                 "must be %s from %s to %s",
                 number_words(key->type),
                 format_number(key->type, min, sizeof(min), key->min),
                 format_number(key->type, max, sizeof(max), key->max));
        return -EINVAL;
}

int conf_key_set(const ConfKey *key, const char *text, ProfileConf *c, char rule[static 256]) {
        void *field = (char *) c + key->offset;
        int r = -EINVAL;

        switch (key->type) {
        case CONF_UINT:
        case CONF_SIZE:
        case CONF_DURATION:
        case CONF_CPUS:
                return set_number(key, text, field, rule);
        case CONF_WORD:
                snprintf(rule, 256, "must be one word, not starting with '-'");
                return set_text(text, false, field);
        case CONF_PATH:
                snprintf(rule, 256, "must be an absolute path without spaces");
                return set_text(text, true, field);
        case CONF_USERS:
                snprintf(rule, 256, "must be at most %d user names", ACCESS_USERS_MAX);
                return set_list(text,
                                user_name,
                                ACCESS_USERS_MAX,
                                c->access_users,
                                &c->n_access_users);
        case CONF_DNS:
                snprintf(rule,
                         256,
                         "must be 1 to %d public IP addresses (no private, loopback, link-local or "
                         "documentation range)",
                         DNS_SERVERS_MAX);
                r = set_list(text, public_ip, DNS_SERVERS_MAX, c->dns_servers, &c->n_dns_servers);
                return r == 0 && c->n_dns_servers == 0 ? -EINVAL : r;
        case CONF_EGRESS:
                snprintf(rule, 256, "must be 'enforced' or 'unenforced'");
                if (strcmp(text, "enforced") && strcmp(text, "unenforced"))
                        return -EINVAL;
                c->egress_enforced = !strcmp(text, "enforced");
                return 0;
        }
        return r;
}

static char *join(char *const list[], size_t n) {
        char *text = strdup("");

        for (size_t i = 0; text && i < n; i++) {
                char *more = text_format("%s%s%s", text, i ? " " : "", list[i]);

                free(text);
                text = more;
        }
        return text;
}

char *conf_key_format(const ConfKey *key, const ProfileConf *c) {
        const void *field = (const char *) c + key->offset;
        char buf[64];

        switch (key->type) {
        case CONF_UINT:
        case CONF_SIZE:
        case CONF_DURATION:
        case CONF_CPUS:
                return strdup(format_number(
                                key->type, buf, sizeof(buf), *(const uint64_t *) field));
        case CONF_WORD:
        case CONF_PATH:
                return strdup(*(char *const *) field);
        case CONF_USERS:
                return join(c->access_users, c->n_access_users);
        case CONF_DNS:
                return join(c->dns_servers, c->n_dns_servers);
        case CONF_EGRESS:
                return strdup(c->egress_enforced ? "enforced" : "unenforced");
        }
        return NULL;
}

int conf_set_defaults(ProfileConf *c) {
        char rule[256];

        for (size_t i = 0; i < n_conf_keys; i++) {
                int r = conf_keys[i].value
                                ? conf_key_set(conf_keys + i, conf_keys[i].value, c, rule)
                                : 0;
                if (r < 0)
                        return r;
        }
        return 0;
}

/*
 * A key that has its default stands there as a comment, so that a later default still counts. What
 * is promised about egress is the admin's own word and never left to a default.
 */
static char *format_key(const ConfKey *key, const ProfileConf *c) {
        CLEANUP(freep) char *value = conf_key_format(key, c);
        bool hidden = value && key->value && key->type != CONF_EGRESS && !strcmp(key->value, value);

        if (!value)
                return NULL;
        return text_format("# %s\n%s%s=%s\n", key->help, hidden ? "#" : "", key->name, value);
}

int conf_format(const ProfileConf *c, const char *head, char **ret) {
        CLEANUP(freep) char *text = strdup(head);
        const char *section = "";

        for (size_t i = 0; i < n_conf_keys; i++) {
                const ConfKey *key = conf_keys + i;
                CLEANUP(freep) char *line = format_key(key, c);
                bool next = strcmp(section, key->section) != 0;
                char *more;

                if (!line || !text)
                        return -ENOMEM;
                more = text_format("%s%s%s%s%s",
                                   text,
                                   next ? "\n[" : "",
                                   next ? key->section : "",
                                   next ? "]\n" : "",
                                   line);
                free(text);
                text = more;
                section = key->section;
        }
        if (!text)
                return -ENOMEM;
        *ret = TAKE_PTR(text);
        return 0;
}
