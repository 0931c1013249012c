/* SPDX-License-Identifier: MIT */
#include "profile/paths.h"

#include <stdio.h>
#include <string.h>

bool alias_valid(const char *alias) {
        size_t n = strlen(alias);

        return n >= 1 && n <= ALIAS_MAX && alias[0] >= 'a' && alias[0] <= 'z' &&
                        strspn(alias, "abcdefghijklmnopqrstuvwxyz0123456789-") == n &&
                        alias[n - 1] != '-';
}

#define FILL(field, ...)                                                                           \
        do {                                                                                       \
                int _k = snprintf((field), sizeof(field), __VA_ARGS__);                            \
                if (_k < 0 || (size_t) _k >= sizeof(field))                                        \
                        return -ENAMETOOLONG;                                                      \
        } while (0)

int profile_paths(const char *alias, ProfilePaths *ret) {
        ProfilePaths p = { 0 };

        if (!alias_valid(alias))
                return -EINVAL;
        FILL(p.alias, "%s", alias);
        FILL(p.account, "dindhost-%s", alias);
        FILL(p.access_group, "dindhost-%s-access", alias);
        FILL(p.conf, "%s/%s.conf", PROFILE_DIR, alias);
        FILL(p.registry_file, "%s/%s.json", REGISTRY_DIR, alias);
        FILL(p.state, "%s/%s", STATE_DIR, alias);
        FILL(p.home, "%s/home", p.state);
        FILL(p.pool_image, "%s/pool.img", p.state);
        FILL(p.mount, "%s/data", p.state);
        FILL(p.docker_root, "%s/docker", p.mount);
        FILL(p.slots_dir, "%s/slots", p.mount);
        FILL(p.descriptor, "%s/descriptor.json", p.state);
        FILL(p.slot_table, "%s/slots.json", p.state);
        FILL(p.daemon_config, "%s/dockerd.json", p.state);
        FILL(p.ledger_dir, "%s/watchdog", p.state);
        FILL(p.ledger, "%s/ledger.db", p.ledger_dir);
        FILL(p.run, "%s/%s", RUN_DIR, alias);
        FILL(p.control_socket, "%s/control.sock", p.run);
        FILL(p.broker_socket, "%s/broker.sock", p.run);
        FILL(p.engine_dir, "%s/engine", p.run);
        FILL(p.engine_socket, "%s/docker.sock", p.engine_dir);
        *ret = p;
        return 0;
}
