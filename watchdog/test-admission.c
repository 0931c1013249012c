/* SPDX-License-Identifier: MIT */
/* The arithmetic of admission, at its edges. */
#include <string.h>

#include "selftest/cmocka-tap.h"
#include "watchdog/admission.h"

static const Limits limits = {
        .capacity = { .cpus_milli = 7500,
                      .memory_bytes = 1000,
                      .pids = 100,
                      .containers = 2,
                      .builds = 1,
                      .disk_bytes = 2000 },
        .slot_bytes = 1000,
};

static void sums_do_not_wrap(void **state) {
        Vector a = { .cpus_milli = 1, .disk_bytes = UINT64_MAX - 1 }, before = a;

        (void) state;
        assert_true(vector_add(&a, &(Vector){ .cpus_milli = 2, .disk_bytes = 1 }));
        assert_int_equal(a.cpus_milli, 3);
        assert_true(a.disk_bytes == UINT64_MAX);
        before = a;
        assert_false(vector_add(&a, &(Vector){ .cpus_milli = 2, .disk_bytes = 1 }));
        assert_memory_equal(&a, &before, sizeof(a));
}

/* Each dimension by itself: exactly all of it fits, one more does not, and it is named. */
static void each_field_counts(void **state) {
        static const char *const names[] = { "cpus",       "memoryBytes", "pids",
                                             "containers", "builds",      "ephemeralDiskBytes" };

        (void) state;
        for (size_t i = 0; i < N_ELEMENTS(names); i++) {
                Vector want = { 0 }, charged = { 0 };
                const char *field = NULL;
                uint64_t all = ((const uint64_t *) &limits.capacity)[i];
                uint64_t *w = (uint64_t *) &want + i, *c = (uint64_t *) &charged + i;

                *w = all;
                assert_true(admission_fits(&limits, &charged, &want, &field));
                assert_null(admission_never_fits(&limits, &want));
                *w = all + 1;
                assert_false(admission_fits(&limits, &charged, &want, &field));
                assert_string_equal(field, names[i]);
                assert_string_equal(admission_never_fits(&limits, &want), names[i]);
                *w = 1;
                *c = all;
                assert_false(admission_fits(&limits, &charged, &want, &field));
                assert_string_equal(field, names[i]);
                *c = UINT64_MAX;
                assert_false(admission_fits(&limits, &charged, &want, NULL));
                /* what is not asked for is not missed, even when others have more than all of it */
                *w = 0;
                assert_true(admission_fits(&limits, &charged, &want, &field));
        }
}

static void one_slot_bounds_a_container(void **state) {
        Vector want = { .cpus_milli = 1, .containers = 1, .disk_bytes = 1000 };

        (void) state;
        assert_null(admission_never_fits(&limits, &want));
        want.disk_bytes = 1001;
        assert_string_equal(admission_never_fits(&limits, &want), "ephemeralDiskBytes");
        want.containers = 0;
        assert_null(admission_never_fits(&limits, &want));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(sums_do_not_wrap),
                cmocka_unit_test(each_field_counts),
                cmocka_unit_test(one_slot_bounds_a_container),
        };

        return RUN_TAP(tests);
}
