/* SPDX-License-Identifier: MIT */
/*
 * dindhost status: what the services of the published profiles say about themselves
 *
 * Asked over the control socket like any client; what comes back is data of another process, so a
 * missing or odd field is shown as '?' and never trusted.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/control-client.h"
#include "profile/egress-note.h"
#include "profile/registry.h"
#include "profile/verbs.h"

#define COMMAND "status"
#define STATUS_TIMEOUT_USEC (60 * USEC_PER_SEC)

static int help(void) {
        printf("Usage: dindhost status [--json] [ALIAS]\n\n"
               "What each published profile (or this one) has granted, what waits, what is left\n"
               "and what is wrong, asked over its control socket.\n\n"
               "  --json   one line of JSON, the service's reply as it came\n"
               "  --help   this text\n");
        return EXIT_OK;
}

typedef struct Answer {
        const RegistryEntry *entry;
        json_t *status; /* NULL: no answer, and error says why */
        char error[512];
} Answer;

static void ask(Answer *a) {
        CLEANUP(json_decrefp) json_t *request = json_pack("{s:s}", "kind", "status");
        ControlError error;
        int r;

        if (!a->entry->descriptor) {
                snprintf(a->error,
                         sizeof(a->error),
                         "%s: %.400s",
                         a->entry->error.code,
                         a->entry->error.message);
                return;
        }
        r = request ? control_call(a->entry->descriptor->control_socket,
                                   request,
                                   STATUS_TIMEOUT_USEC,
                                   &a->status,
                                   &error)
                    : -ENOMEM;
        if (r > 0)
                snprintf(a->error, sizeof(a->error), "%s: %.400s", error.code, error.message);
        else if (r < 0)
                snprintf(a->error,
                         sizeof(a->error),
                         "%.500s",
                         request ? error.message : "no memory");
}

/* A field of used or capacity: a size, or a number as canonical JSON writes it. */
static const char *amount(const json_t *vector, const char *field, bool size, char *buf, size_t n) {
        const json_t *v = json_object_get(vector, field);
        double value = json_number_value(v);

        if (!json_is_number(v) || !(value >= 0 && value < 1e18))
                snprintf(buf, n, "?");
        else if (size)
                format_size_human(buf, n, (uint64_t) value);
        else
                json_format_double(buf, n, value);
        return buf;
}

static void print_capacity(const json_t *status) {
        static const struct {
                const char *field, *label;
                bool size;
        } rows[] = {
                { "cpus", "CPUs", false },     { "memoryBytes", "memory", true },
                { "pids", "PIDs", false },     { "containers", "containers", false },
                { "builds", "builds", false }, { "ephemeralDiskBytes", "slot disk", true },
        };
        const json_t *used = json_object_get(status, "used");
        const json_t *capacity = json_object_get(status, "capacity");

        for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
                char a[40], b[40];

                printf("  %-13s %s of %s\n",
                       rows[i].label,
                       amount(used, rows[i].field, rows[i].size, a, sizeof(a)),
                       amount(capacity, rows[i].field, rows[i].size, b, sizeof(b)));
        }
}

/* Text of another process: control characters stay out of the terminal. */
static void print_plain(const char *text) {
        for (const char *c = text ? text : "?"; *c; c++)
                putchar((unsigned char) *c < 0x20 || *c == 0x7f ? '?' : *c);
}

/* "slots  2 free, 1 active": how many of a list are in which state, in order of appearance. */
static void print_states(const char *label, const json_t *list) {
        const char *seen[16];
        size_t counts[16] = { 0 }, n = 0;

        for (size_t i = 0; i < json_array_size(list); i++) {
                const char *state = json_string_value(
                                json_object_get(json_array_get(list, i), "state"));
                size_t k = 0;

                state = state ? state : "?";
                while (k < n && strcmp(seen[k], state))
                        k++;
                if (k == N_ELEMENTS(seen))
                        continue; /* more states than the protocol has */
                seen[k] = state;
                counts[k]++;
                n = k == n ? n + 1 : n;
        }
        printf("  %-13s %zu", label, json_array_size(list));
        for (size_t k = 0; k < n; k++) {
                printf("%s%zu ", k ? ", " : ": ", counts[k]);
                print_plain(seen[k]);
        }
        putchar('\n');
}

static void print_answer(const Answer *a) {
        const json_t *degraded = json_object_get(a->status, "degraded");

        print_plain(a->entry->alias);
        if (!a->status) {
                printf("  no answer\n");
                return;
        }
        printf("  admission %s, generation ",
               json_is_true(json_object_get(a->status, "admissionOpen")) ? "open" : "closed");
        print_plain(json_string_value(json_object_get(a->status, "generation")));
        putchar('\n');
        print_capacity(a->status);
        print_states("leases", json_object_get(a->status, "leases"));
        print_states("reservations", json_object_get(a->status, "reservations"));
        printf("  %-13s %zu\n", "waiting", json_array_size(json_object_get(a->status, "queue")));
        print_states("slots", json_object_get(a->status, "slots"));
        for (size_t i = 0; i < json_array_size(degraded); i++) {
                printf("  degraded      ");
                print_plain(json_string_value(json_array_get(degraded, i)));
                putchar('\n');
        }
}

/* NULL: nothing to say or no memory; the caller knows which by egress_note_due(). */
static char *note_of(const Answer *a) {
        return a->entry->descriptor && egress_note_due(a->entry->descriptor)
                        ? egress_note(a->entry->alias)
                        : NULL;
}

static int print_json(const Answer *answers, size_t n) {
        CLEANUP(json_decrefp) json_t *root = NULL, *profiles = json_array(), *notes = json_array();
        CLEANUP(freep) char *text = NULL;
        int r = 0;

        for (size_t i = 0; r >= 0 && i < n; i++) {
                const Answer *a = answers + i;
                CLEANUP(freep) char *note = note_of(a);

                r = json_array_append_new(profiles,
                                          json_pack("{s:s, s:O?, s:s?}",
                                                    "alias",
                                                    a->entry->alias,
                                                    "status",
                                                    a->status,
                                                    "error",
                                                    a->status ? NULL : a->error));
                if (r >= 0 && note)
                        r = json_array_append_new(notes, json_string(note));
        }
        root = json_pack("{s:s, s:i, s:O, s:O}",
                         "format",
                         "dindhost.status",
                         "schemaVersion",
                         1,
                         "profiles",
                         profiles,
                         "notes",
                         notes);
        if (r < 0 || !root || json_canonical(root, &text, NULL) < 0)
                return log_error(-ENOMEM, "cannot make the status");
        puts(text);
        return 0;
}

static void print_text(const Answer *answers, size_t n) {
        for (size_t i = 0; i < n; i++)
                print_answer(answers + i);
        for (size_t i = 0; i < n; i++) {
                CLEANUP(freep) char *note = note_of(answers + i);

                if (note)
                        log_info("note: %s", note);
        }
}

/* The entries to ask: all, or the one with this alias. */
static int choose(const Registry *registry, const char *alias, Answer *answers, size_t *ret_n) {
        const RegistryEntry *one;

        if (!alias) {
                for (size_t i = 0; i < registry->n; i++)
                        answers[i].entry = registry->entries + i;
                *ret_n = registry->n;
                return 0;
        }
        one = registry_find(registry, alias);
        if (!one)
                return log_error(0,
                                 "no profile '%s' is published; see 'dindhost profile list'",
                                 alias),
                       -ENOENT;
        answers[0].entry = one;
        *ret_n = 1;
        return 0;
}

static int status(const char *alias, bool json) {
        CLEANUP(registry_donep) Registry registry = { 0 };
        CLEANUP(freep) Answer *answers = NULL;
        size_t n = 0;
        int r = registry_load(REGISTRY_DIR, 0, &registry), result = 0;

        if (r < 0 && r != -ENOENT)
                return log_error(r, "cannot read the registry %s", REGISTRY_DIR);
        answers = calloc(registry.n + 1, sizeof(*answers));
        if (!answers)
                return log_error(-ENOMEM, "cannot ask");
        r = choose(&registry, alias, answers, &n);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++) {
                ask(answers + i);
                if (!answers[i].status) {
                        log_error(0, "%s: %s", answers[i].entry->alias, answers[i].error);
                        result = -EIO;
                }
        }
        if (json)
                r = print_json(answers, n);
        else
                print_text(answers, n);
        if (n == 0)
                log_info("no profile is published in %s; 'dindhost profile init' begins one",
                         REGISTRY_DIR);
        for (size_t i = 0; i < n; i++)
                json_decref(answers[i].status);
        return r < 0 ? r : result;
}

int verb_status(int argc, char *argv[]) {
        static const struct option options[] = {
                { "json", no_argument, NULL, 'j' },
                { "help", no_argument, NULL, 'h' },
                { 0 },
        };
        bool json = false;
        int c;

        optind = 0;
        opterr = 0;
        while ((c = getopt_long(argc, argv, ":", options, NULL)) >= 0) {
                if (c == 'h')
                        return help();
                if (c != 'j')
                        return usage_bad_option(COMMAND, c, argv);
                json = true;
        }
        if (argc - optind > 1)
                return usage_error(COMMAND, "'%s' is one alias too many", argv[optind + 1]);
        return status(optind < argc ? argv[optind] : NULL, json) < 0 ? EXIT_FAILED : EXIT_OK;
}
