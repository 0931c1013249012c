/* SPDX-License-Identifier: MIT */
/*
 * dindhost profile doctor: every check in order, each FAIL with its cure
 *
 * In text, a line is printed as soon as its check is done: with --smoke on a slow machine the whole
 * takes minutes, and who waits wants to see where it is.
 */
#include <getopt.h>
#include <stdio.h>

#include "base/json.h"
#include "base/log.h"
#include "profile/doctor.h"
#include "profile/verbs.h"

#define COMMAND "profile doctor"

static int help(void) {
        printf("Usage: dindhost profile doctor [--smoke] [--json] [ALIAS]\n\n"
               "Checks this host, and with ALIAS that profile too: each check gives PASS, FAIL or\n"
               "NOTYET (not in this release), what was observed, and for a FAIL its cure.\n"
               "Exit code 1 when there is a FAIL. Some checks can only be made by root.\n\n"
               "  --smoke   then run one real sandbox with a container inside, and see it gone\n"
               "  --json    one line of JSON, at the end\n"
               "  --help    this text\n");
        return EXIT_OK;
}

static void print_row(void *userdata UNUSED, const Row *row) {
        CLEANUP(freep) char *text = row_format(row);

        if (text) {
                fputs(text, stdout);
                fflush(stdout);
        }
}

static int print_json(const Report *report, const char *alias) {
        CLEANUP(json_decrefp) json_t *root = NULL;
        CLEANUP(freep) char *text = NULL;
        int r = report_json(report, alias, alias ? "unenforced" : NULL, &root);

        if (r >= 0)
                r = json_canonical(root, &text, NULL);
        if (r >= 0)
                puts(text);
        return r;
}

static int examine(Doctor *d, bool smoke, bool json) {
        const CheckTable *const tables[] = { &checks_host,   &checks_profile, &checks_daemon,
                                             &checks_cgroup, &checks_storage, &checks_smoke };
        const size_t n = !d->alias ? 1 : N_ELEMENTS(tables) - !smoke;
        CLEANUP(report_donep) Report report = { 0 };
        int r = 0;

        kernel_facts(&d->kernel);
        for (size_t i = 0; r >= 0 && i < n; i++)
                r = doctor_run(d, tables[i], &report, json ? NULL : print_row, NULL);
        if (r >= 0 && json)
                r = print_json(&report, d->alias);
        if (r < 0) {
                log_error(r, "cannot finish the report");
                return EXIT_FAILED;
        }
        return report_failed(&report) ? EXIT_FAILED : EXIT_OK;
}

int verb_doctor(int argc, char *argv[]) {
        static const struct option options[] = {
                { "smoke", no_argument, NULL, 's' },
                { "json", no_argument, NULL, 'j' },
                { "help", no_argument, NULL, 'h' },
                { 0 },
        };
        CLEANUP(doctor_done) Doctor d = { 0 };
        bool smoke = false, json = false;
        int c;

        optind = 0;
        opterr = 0;
        while ((c = getopt_long(argc, argv, ":", options, NULL)) >= 0) {
                if (c == 'h')
                        return help();
                if (c == 's')
                        smoke = true;
                else if (c == 'j')
                        json = true;
                else
                        return usage_bad_option(COMMAND, c, argv);
        }
        if (optind < argc) {
                d.alias = usage_alias(COMMAND, argc, argv);
                if (!d.alias)
                        return EXIT_USAGE;
                if (profile_paths(d.alias, &d.paths) < 0)
                        return EXIT_USAGE; /* cannot be: the alias is valid */
        } else if (smoke)
                return usage_error(COMMAND, "--smoke needs a profile: name its alias");
        return examine(&d, smoke, json);
}
