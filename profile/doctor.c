/* SPDX-License-Identifier: MIT */
#include "profile/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "profile/smoke.h"

static void finding_set(Finding *f, CheckStatus status, const char *fmt, va_list ap)
                PRINTF_FORMAT(3, 0);
static void finding_set(Finding *f, CheckStatus status, const char *fmt, va_list ap) {
        f->status = status;
        vsnprintf(f->observed, sizeof(f->observed), fmt, ap);
}

void finding_pass(Finding *f, const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        finding_set(f, CHECK_PASS, fmt, ap);
        va_end(ap);
}

void finding_notyet(Finding *f, const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        finding_set(f, CHECK_NOTYET, fmt, ap);
        va_end(ap);
}

void finding_fail(Finding *f, const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        finding_set(f, CHECK_FAIL, fmt, ap);
        va_end(ap);
}

void finding_cure(Finding *f, const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(f->cure, sizeof(f->cure), fmt, ap);
        va_end(ap);
}

void finding_add(Finding *f, const char *fmt, ...) {
        size_t n = strlen(f->observed);
        va_list ap;

        if (n > 0 && n + 2 < sizeof(f->observed))
                n += (size_t) snprintf(f->observed + n, sizeof(f->observed) - n, "; ");
        va_start(ap, fmt);
        vsnprintf(f->observed + n, sizeof(f->observed) - n, fmt, ap);
        va_end(ap);
}

void doctor_done(Doctor *d) {
        smoke_free(d->smoke);
        free(d->device);
        slot_table_donep(&d->slots);
        json_decref(d->info);
        json_decref(d->status);
        registry_donep(&d->registry);
        profile_conf_donep(&d->conf);
}

void report_donep(Report *r) {
        free(r->rows);
        *r = (Report){ 0 };
}

static Row *report_append(Report *r) {
        if (r->n == r->room) {
                size_t room = r->room ? r->room * 2 : 64;
                Row *rows = realloc(r->rows, room * sizeof(*rows));

                if (!rows)
                        return NULL;
                r->rows = rows;
                r->room = room;
        }
        r->rows[r->n] = (Row){ 0 };
        return r->rows + r->n++;
}

static bool has_passed(const Report *r, const char *id, size_t n) {
        for (size_t i = 0; i < r->n; i++)
                if (strlen(r->rows[i].check->id) == n && !strncmp(r->rows[i].check->id, id, n))
                        return r->rows[i].finding.status == CHECK_PASS;
        return false;
}

/* The first prerequisite that did not pass, or NULL. */
static const char *unmet(const Report *r, const char *needs, size_t *ret_n) {
        while (needs && *needs) {
                size_t n = strcspn(needs, " ");

                if (!has_passed(r, needs, n)) {
                        *ret_n = n;
                        return needs;
                }
                needs += n + strspn(needs + n, " ");
        }
        return NULL;
}

int doctor_run(Doctor *d,
               const CheckTable *table,
               Report *report,
               doctor_row_fn fn,
               void *userdata) {
        for (size_t i = 0; i < table->n; i++) {
                const Check *check = table->checks + i;
                Finding finding = { 0 };
                const char *id;
                size_t n;
                Row *row;

                id = unmet(report, check->needs, &n);
                if (id) {
                        finding_fail(&finding, "not checked: needs %.*s", (int) n, id);
                        finding_cure(&finding, "see %.*s", (int) n, id);
                } else
                        check->run(d, &finding);
                row = report_append(report);
                if (!row)
                        return -ENOMEM;
                *row = (Row){ .check = check, .finding = finding };
                if (fn)
                        fn(userdata, row);
        }
        return 0;
}

bool report_failed(const Report *r) {
        for (size_t i = 0; i < r->n; i++)
                if (r->rows[i].finding.status == CHECK_FAIL)
                        return true;
        return false;
}
