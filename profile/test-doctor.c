/* SPDX-License-Identifier: MIT */
/* How findings become a report: prerequisites, both formats, and what the tables promise. */
#include "profile/doctor.h"

#include <string.h>

#include "base/json.h"
#include "selftest/cmocka-tap.h"

static int n_run;

static void passes(Doctor *d UNUSED, Finding *f) {
        n_run++;
        finding_pass(f, "seen %d", 7);
}

static void fails(Doctor *d UNUSED, Finding *f) {
        n_run++;
        finding_fail(f, "broken: \"x\"\n\x1b[31mred");
        finding_cure(f, "mend it");
}

static void not_yet(Doctor *d UNUSED, Finding *f) {
        n_run++;
        finding_notyet(f, "later");
        finding_add(f, "but %s", "soon");
}

static void says_nothing(Doctor *d UNUSED, Finding *f UNUSED) {
        n_run++;
}

static const Check sample[] = {
        { "a.good", "good", NULL, passes },
        { "a.bad", "bad", NULL, fails },
        { "a.later", "later", "a.good", not_yet },
        { "b.needs-both", "both", "a.good a.bad", passes },
        { "b.needs-later", "later", "a.later", passes },
        { "b.needs-skipped", "skipped", "b.needs-both", passes },
        { "b.needs-good", "good", "a.good", passes },
        { "b.needs-prefix", "prefix", "a.goo", passes },
};
static const CheckTable sample_table = { sample, N_ELEMENTS(sample) };

static void count(void *userdata, const Row *row UNUSED) {
        ++*(size_t *) userdata;
}

static void run_sample(Report *report) {
        size_t told = 0;
        Doctor d = { 0 };

        n_run = 0;
        assert_int_equal(doctor_run(&d, &sample_table, report, count, &told), 0);
        assert_int_equal(told, N_ELEMENTS(sample));
}

static void test_prerequisites(void **state UNUSED) {
        CLEANUP(report_donep) Report report = { 0 };

        run_sample(&report);
        assert_int_equal(n_run, 4);
        assert_int_equal(report.n, N_ELEMENTS(sample));
        assert_int_equal(report.rows[0].finding.status, CHECK_PASS);
        assert_int_equal(report.rows[3].finding.status, CHECK_FAIL);
        assert_string_equal(report.rows[3].finding.observed, "not checked: needs a.bad");
        assert_string_equal(report.rows[3].finding.cure, "see a.bad");
        assert_string_equal(report.rows[4].finding.observed, "not checked: needs a.later");
        assert_string_equal(report.rows[5].finding.observed, "not checked: needs b.needs-both");
        assert_int_equal(report.rows[6].finding.status, CHECK_PASS);
        assert_int_equal(report.rows[7].finding.status, CHECK_FAIL);
        assert_true(report_failed(&report));
}

static void test_silence_is_no_pass(void **state UNUSED) {
        static const Check checks[] = { { "x", "x", NULL, says_nothing } };
        static const CheckTable table = { checks, 1 };
        CLEANUP(report_donep) Report report = { 0 };
        Doctor d = { 0 };

        assert_int_equal(doctor_run(&d, &table, &report, NULL, NULL), 0);
        assert_true(report_failed(&report));
}

static void test_notyet_is_no_failure(void **state UNUSED) {
        static const Check checks[] = { { "x", "x", NULL, not_yet } };
        static const CheckTable table = { checks, 1 };
        CLEANUP(report_donep) Report report = { 0 };
        Doctor d = { 0 };

        assert_int_equal(doctor_run(&d, &table, &report, NULL, NULL), 0);
        assert_false(report_failed(&report));
}

static void test_text(void **state UNUSED) {
        static const char *const lines[] = {
                "PASS    a.good                    seen 7\n",
                "FAIL    a.bad                     broken: \"x\"  [31mred\n        cure: mend it\n",
                "NOTYET  a.later                   later; but soon\n",
        };
        CLEANUP(report_donep) Report report = { 0 };

        run_sample(&report);
        for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
                CLEANUP(freep) char *text = row_format(report.rows + i);

                assert_string_equal(text, lines[i]);
        }
}

static void test_json(void **state UNUSED) {
        static const char golden[] =
                        "{\"alias\":\"default\",\"checks\":["
                        "{\"cure\":null,\"id\":\"a.good\",\"observed\":\"seen 7\",\"status\":\"PASS\",\"title\":\"good\"},"
                        "{\"cure\":\"mend it\",\"id\":\"a.bad\",\"observed\":\"broken: \\\"x\\\"\\n\\u001b[31mred\",\"status\":\"FAIL\",\"title\":\"bad\"},"
                        "{\"cure\":null,\"id\":\"a.later\",\"observed\":\"later; but soon\",\"status\":\"NOTYET\",\"title\":\"later\"}"
                        "],\"egress\":\"unenforced\",\"format\":\"dindhost.doctor\",\"schemaVersion\":1}";
        CLEANUP(report_donep) Report report = { 0 };
        CLEANUP(json_decrefp) json_t *root = NULL;
        CLEANUP(freep) char *text = NULL;

        run_sample(&report);
        report.n = 3;
        assert_int_equal(report_json(&report, "default", "unenforced", &root), 0);
        assert_int_equal(json_canonical(root, &text, NULL), 0);
        assert_string_equal(text, golden);
}

static void test_json_of_the_host(void **state UNUSED) {
        CLEANUP(report_donep) Report report = { 0 };
        CLEANUP(json_decrefp) json_t *root = NULL;

        assert_int_equal(report_json(&report, NULL, NULL, &root), 0);
        assert_true(json_is_null(json_object_get(root, "alias")));
        assert_true(json_is_null(json_object_get(root, "egress")));
        assert_int_equal(json_array_size(json_object_get(root, "checks")), 0);
}

/* A text that was cut within a character, or was never UTF-8, still makes a document. */
static void test_json_of_bad_text(void **state UNUSED) {
        static const char *const texts[] = { "a\xc3", "\xff long", "\xe2\x82" };
        static const char *const shown[] = { "a", "(not UTF-8)", "" };

        for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
                Row row = { .check = sample, .finding = { .status = CHECK_PASS } };
                Report report = { .rows = &row, .n = 1 };
                CLEANUP(json_decrefp) json_t *root = NULL;
                json_t *checks;

                strcpy(row.finding.observed, texts[i]);
                assert_int_equal(report_json(&report, NULL, NULL, &root), 0);
                checks = json_object_get(root, "checks");
                assert_string_equal(json_string_value(json_object_get(json_array_get(checks, 0),
                                                                      "observed")),
                                    shown[i]);
        }
}

/* Ids are unique, and what a check needs stands before it. */
static void test_tables(void **state UNUSED) {
        const CheckTable *const tables[] = { &checks_host,   &checks_profile, &checks_daemon,
                                             &checks_cgroup, &checks_storage, &checks_smoke };
        const char *ids[128];
        size_t n = 0;

        for (size_t t = 0; t < N_ELEMENTS(tables); t++)
                for (size_t i = 0; i < tables[t]->n; i++) {
                        const Check *c = tables[t]->checks + i;

                        for (const char *p = c->needs; p && *p; p += strspn(p, " ")) {
                                size_t k = strcspn(p, " "), j = 0;

                                while (j < n && (strlen(ids[j]) != k || strncmp(ids[j], p, k)))
                                        j++;
                                if (j == n)
                                        fail_msg("%s needs %.*s, which does not come before it",
                                                 c->id,
                                                 (int) k,
                                                 p);
                                p += k;
                        }
                        for (size_t j = 0; j < n; j++)
                                assert_string_not_equal(ids[j], c->id);
                        assert_true(n < N_ELEMENTS(ids));
                        assert_non_null(c->run);
                        assert_true(c->title && *c->title);
                        ids[n++] = c->id;
                }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_prerequisites),
                cmocka_unit_test(test_silence_is_no_pass),
                cmocka_unit_test(test_notyet_is_no_failure),
                cmocka_unit_test(test_text),
                cmocka_unit_test(test_json),
                cmocka_unit_test(test_json_of_the_host),
                cmocka_unit_test(test_json_of_bad_text),
                cmocka_unit_test(test_tables),
        };

        return RUN_TAP(tests);
}
