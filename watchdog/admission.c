/* SPDX-License-Identifier: MIT */
#include "watchdog/admission.h"

/* clang-format off */
static const struct {
        const char *name;
        size_t offset;
} dimensions[] = {
        { "cpus",               offsetof(Vector, cpus_milli)   },
        { "memoryBytes",        offsetof(Vector, memory_bytes) },
        { "pids",               offsetof(Vector, pids)         },
        { "containers",         offsetof(Vector, containers)   },
        { "builds",             offsetof(Vector, builds)       },
        { "ephemeralDiskBytes", offsetof(Vector, disk_bytes)   },
};
/* clang-format on */
static_assert(sizeof(Vector) == N_ELEMENTS(dimensions) * sizeof(uint64_t),
              "every dimension is judged");

static uint64_t *dimension(const Vector *v, size_t i) {
        return (uint64_t *) ((char *) v + dimensions[i].offset);
}

bool vector_add(Vector *a, const Vector *b) {
        Vector sum = *a;

        for (size_t i = 0; i < N_ELEMENTS(dimensions); i++)
                if (__builtin_add_overflow(*dimension(a, i), *dimension(b, i), dimension(&sum, i)))
                        return false;
        *a = sum;
        return true;
}

bool admission_fits(const Limits *l,
                    const Vector *charged,
                    const Vector *want,
                    const char **ret_field) {
        for (size_t i = 0; i < N_ELEMENTS(dimensions); i++) {
                uint64_t sum;

                if (__builtin_add_overflow(*dimension(charged, i), *dimension(want, i), &sum) ||
                    (*dimension(want, i) > 0 && sum > *dimension(&l->capacity, i))) {
                        if (ret_field)
                                *ret_field = dimensions[i].name;
                        return false;
                }
        }
        return true;
}

const char *admission_never_fits(const Limits *l, const Vector *want) {
        const char *field = NULL;

        if (!admission_fits(l, &(Vector){ 0 }, want, &field))
                return field;
        return want->containers > 0 && want->disk_bytes > l->slot_bytes ? "ephemeralDiskBytes"
                                                                        : NULL;
}
