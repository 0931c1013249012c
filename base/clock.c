/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <stdio.h>

char *format_iso_utc(char *buf, size_t n, uint64_t realtime) {
        time_t sec = (time_t) (realtime / USEC_PER_SEC);
        struct tm tm;
        char date[24] = "";

        if (gmtime_r(&sec, &tm))
                strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
        snprintf(buf, n, "%s.%06uZ", date, (unsigned) (realtime % USEC_PER_SEC));
        return buf;
}
