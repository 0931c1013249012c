/* SPDX-License-Identifier: MIT */
#include "profile/engine-judge.h"

#include <stdio.h>
#include <string.h>

bool engine_is_rootless(const json_t *info) {
        const json_t *options = json_object_get(info, "SecurityOptions");

        for (size_t i = 0; i < json_array_size(options); i++) {
                const char *text = json_string_value(json_array_get(options, i));

                if (text && strstr(text, "rootless"))
                        return true;
        }
        return false;
}

static size_t add(char *ret, size_t n, size_t used, const char *separator, const char *text) {
        if (used < n)
                used += (size_t) snprintf(
                                ret + used, n - used, "%s%s", used ? separator : "", text);
        return used;
}

size_t engine_missing_limits(const json_t *info, char *ret, size_t n) {
        static const struct {
                const char *key, *name;
        } limits[] = { { "MemoryLimit", "memory" },
                       { "SwapLimit", "swap" },
                       { "CpuCfsQuota", "cpu-quota" },
                       { "CpuCfsPeriod", "cpu-period" },
                       { "PidsLimit", "pids" } };
        size_t found = 0, used = 0;

        ret[0] = 0;
        for (size_t i = 0; i < N_ELEMENTS(limits); i++) {
                if (json_is_true(json_object_get(info, limits[i].key)))
                        continue;
                used = add(ret, n, used, " ", limits[i].name);
                found++;
        }
        return found;
}

size_t engine_warnings(const json_t *info, char *ret, size_t n) {
        const json_t *list = json_object_get(info, "Warnings");
        size_t used = 0;

        ret[0] = 0;
        for (size_t i = 0; i < json_array_size(list); i++) {
                const char *text = json_string_value(json_array_get(list, i));

                if (text && !strncmp(text, "WARNING: ", 9))
                        text += 9;
                used = add(ret, n, used, "; ", text ? text : "?");
        }
        return json_array_size(list);
}
