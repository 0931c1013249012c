/* SPDX-License-Identifier: MIT */
#include "profile/cgroup-limits.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/kernel-text.h"

#define PAGE_MAX_BYTES (64 * 1024) /* largest page of the architectures that run Docker */

static const char *const files[] = { "cpu.max", "memory.max", "memory.swap.max", "pids.max" };

static bool parse_one(size_t i, const char *text, CgroupLimits *l) {
        uint64_t *const fields[] = { NULL, &l->memory_bytes, &l->swap_bytes, &l->pids };

        return i == 0 ? cpu_max_parse(text, &l->cpus_milli) : limit_parse(text, fields[i]);
}

bool cgroup_limits_parse(const char *text, CgroupLimits *ret) {
        CgroupLimits l = { 0 };

        for (size_t i = 0; i < N_ELEMENTS(files); i++) {
                size_t n = strcspn(text, "\n");
                char line[64];

                if (n == 0 || n >= sizeof(line))
                        return false;
                snprintf(line, sizeof(line), "%.*s", (int) n, text);
                if (!parse_one(i, line, &l))
                        return false;
                text += n + (text[n] == '\n');
        }
        if (*text)
                return false;
        *ret = l;
        return true;
}

int cgroup_limits_read(const char *dir, CgroupLimits *ret) {
        CgroupLimits l = { 0 };

        for (size_t i = 0; i < N_ELEMENTS(files); i++) {
                CLEANUP(freep) char *path = text_format("%s/%s", dir, files[i]);
                CLEANUP(freep) char *text = NULL;
                int r = path ? file_read(path, 256, &text, NULL) : -ENOMEM;

                if (r < 0)
                        return r;
                if (!parse_one(i, text, &l))
                        return -EBADMSG;
        }
        *ret = l;
        return 0;
}

static uint64_t lower(uint64_t a, uint64_t b) {
        return a < b ? a : b;
}

int cgroup_limits_effective(const char *scope_dir, CgroupLimits *ret) {
        CLEANUP(freep) char *below = text_format("%s/container", scope_dir);
        CgroupLimits scope, inner;
        int r = below ? cgroup_limits_read(scope_dir, &scope) : -ENOMEM;

        if (r < 0)
                return r;
        r = cgroup_limits_read(below, &inner);
        if (r < 0 && r != -ENOENT)
                return r;
        if (r >= 0)
                scope = (CgroupLimits){
                        .cpus_milli = lower(scope.cpus_milli, inner.cpus_milli),
                        .memory_bytes = lower(scope.memory_bytes, inner.memory_bytes),
                        .swap_bytes = lower(scope.swap_bytes, inner.swap_bytes),
                        .pids = lower(scope.pids, inner.pids),
                };
        *ret = scope;
        return 0;
}

static const char *limit_text(char *buf, size_t n, size_t i, uint64_t v) {
        if (v == LIMIT_NONE)
                return "max";
        if (i == 0)
                return format_cpus(buf, n, v);
        if (i < 3)
                return format_size(buf, n, v);
        snprintf(buf, n, "%llu", (unsigned long long) v);
        return buf;
}

bool cgroup_limits_match(const CgroupLimits *want, const CgroupLimits *got, char *ret, size_t n) {
        const uint64_t w[] = { want->cpus_milli, want->memory_bytes, want->swap_bytes, want->pids };
        const uint64_t g[] = { got->cpus_milli, got->memory_bytes, got->swap_bytes, got->pids };

        for (size_t i = 0; i < N_ELEMENTS(files); i++) {
                const uint64_t slack = i == 1 ? PAGE_MAX_BYTES - 1 : 0;
                char is[32], must[32];

                if (g[i] <= w[i] && w[i] - g[i] <= slack)
                        continue;
                snprintf(ret,
                         n,
                         "%s is %s, must be %s",
                         files[i],
                         limit_text(is, sizeof(is), i, g[i]),
                         limit_text(must, sizeof(must), i, w[i]));
                return false;
        }
        return true;
}

char *cgroup_limits_format(char *buf, size_t n, const CgroupLimits *l) {
        char cpus[32], memory[32], swap[32], pids[32];

        snprintf(buf,
                 n,
                 "cpu.max %s, memory.max %s, memory.swap.max %s, pids.max %s",
                 limit_text(cpus, sizeof(cpus), 0, l->cpus_milli),
                 limit_text(memory, sizeof(memory), 1, l->memory_bytes),
                 limit_text(swap, sizeof(swap), 2, l->swap_bytes),
                 limit_text(pids, sizeof(pids), 3, l->pids));
        return buf;
}
