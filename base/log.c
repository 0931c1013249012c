/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>

static const char *log_name = "dindhost";
static bool log_debug_on = false;

void log_set_name(const char *name) {
        log_name = name;
}

void log_set_debug(bool on) {
        log_debug_on = on;
}

/*
 * JOURNAL_STREAM names device and inode of the journal's socket, and is inherited: only when our
 * standard error is that socket does the journal read our lines (systemd.exec(5)).
 */
static bool stderr_is_journal(void) {
        const char *stream = getenv("JOURNAL_STREAM");
        unsigned long long dev, ino;
        struct stat st;

        return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 && fstat(2, &st) == 0 &&
                        st.st_dev == dev && st.st_ino == ino;
}

static void PRINTF_FORMAT(3, 0) log_line(int priority, int error, const char *fmt, va_list ap) {
        CLEANUP(freep) char *text = NULL;
        int saved = errno;

        if (vasprintf(&text, fmt, ap) < 0)
                text = NULL;
        if (stderr_is_journal())
                fprintf(stderr, "<%d>", priority);
        else
                fprintf(stderr, "%s: ", log_name);
        if (error < 0)
                fprintf(stderr, "%s: %s\n", text ? text : fmt, strerror(-error));
        else
                fprintf(stderr, "%s\n", text ? text : fmt);
        errno = saved;
}

int log_error(int error, const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        log_line(LOG_ERR, error, fmt, ap);
        va_end(ap);
        return error;
}

int log_warning(int error, const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        log_line(LOG_WARNING, error, fmt, ap);
        va_end(ap);
        return error;
}

void log_info(const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        log_line(LOG_INFO, 0, fmt, ap);
        va_end(ap);
}

void log_debug(const char *fmt, ...) {
        va_list ap;

        if (!log_debug_on)
                return;
        va_start(ap, fmt);
        log_line(LOG_DEBUG, 0, fmt, ap);
        va_end(ap);
}
