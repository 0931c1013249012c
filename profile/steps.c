/* SPDX-License-Identifier: MIT */
#include "profile/steps.h"

#include "base/clock.h"
#include "base/fault.h"

#define FAULT "DINDHOST_FAULT_STEP"

static int run_step(const Step *step, int number, void *ctx) {
        int r;

        if (fault_hit(FAULT, -number))
                return -ECANCELED;
        r = step->ensure(ctx);
        return r >= 0 && fault_hit(FAULT, number) ? -ECANCELED : r;
}

static void take_back(const Step *steps, size_t n, void *ctx, step_report_fn report) {
        while (n-- > 0) {
                uint64_t begin = boottime_usec();

                if (!steps[n].undo)
                        continue;
                steps[n].undo(ctx);
                report(ctx, steps + n, (int) n + 1, 0, true, boottime_usec() - begin);
        }
}

int steps_run(const Step *steps, size_t n, void *ctx, step_report_fn report) {
        int changed = 0;

        for (size_t i = 0; i < n; i++) {
                uint64_t begin = boottime_usec();
                int r = run_step(steps + i, (int) i + 1, ctx);

                report(ctx, steps + i, (int) i + 1, r, false, boottime_usec() - begin);
                if (r < 0) {
                        take_back(steps, i + 1, ctx, report);
                        return r;
                }
                changed |= r;
        }
        return changed;
}
