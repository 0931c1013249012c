/* SPDX-License-Identifier: MIT */
/*
 * dindhost profile list
 *
 * NiceEval's list of the registry (its columns and JSON keys, in that order), with one more column
 * and key: whether the profile's service answers. An invalid entry is shown with its code and
 * reason, in JSON in an array of its own, so that a reader of "profiles" never meets one.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "profile/control-client.h"
#include "profile/egress-note.h"
#include "profile/registry.h"
#include "profile/verbs.h"

#define COMMAND "profile list"
#define SERVICE_TIMEOUT_USEC (30 * USEC_PER_SEC)

static int help(void) {
        printf("Usage: dindhost profile list [--json]\n\n"
               "Published profiles in " REGISTRY_DIR ": alias, profile id, security level,\n"
               "policy revision, what is wrong with the descriptor if anything, and the service:\n"
               "open, closed (takes no new leases now), stale (serves another descriptor),\n"
               "no-access (you are not in the access group) or unreachable.\n\n"
               "  --json   one line of JSON\n"
               "  --help   this text\n");
        return EXIT_OK;
}

/* Asks the service who it is; the answer's digest must be that of the published file. */
static const char *service_health(const RegistryEntry *e) {
        CLEANUP(json_decrefp)
        json_t *request = json_pack("{s:s, s:s}", "kind", "challenge", "clientNonce", "list");
        CLEANUP(json_decrefp) json_t *result = NULL;
        ControlError error;
        const char *digest;
        int r;

        if (!request)
                return "unreachable";
        r = control_call(e->descriptor->control_socket,
                         request,
                         SERVICE_TIMEOUT_USEC,
                         &result,
                         &error);
        if (r == -EACCES || r == -EPERM)
                return "no-access";
        if (r != 0)
                return "unreachable";
        digest = json_string_value(json_object_get(result, "descriptorDigest"));
        if (!digest || strcmp(digest, e->digest))
                return "stale";
        return json_is_true(json_object_get(result, "admissionOpen")) ? "open" : "closed";
}

/* Control characters of a hostile file name must not reach a terminal. */
static void print_plain(const char *text) {
        for (const char *c = text; *c; c++)
                putchar((unsigned char) *c < 0x20 || *c == 0x7f ? '?' : *c);
}

static void print_text(const Registry *r, const char *const health[]) {
        for (size_t i = 0; i < r->n; i++) {
                const RegistryEntry *e = r->entries + i;

                print_plain(e->alias);
                if (!e->descriptor) {
                        printf("\t-\t-\t-\tinvalid\t%s\t", e->error.code);
                        print_plain(e->error.message);
                        putchar('\n');
                        continue;
                }
                putchar('\t');
                printf("%.12s\t%s\tpolicy %.12s\tdescriptor-valid\t%s\n",
                       e->descriptor->profile_id,
                       e->descriptor->security_level,
                       e->descriptor->semantic_policy_revision,
                       health[i]);
        }
}

static json_t *valid_json(const RegistryEntry *e, const char *health) {
        return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}",
                         "alias",
                         e->alias,
                         "profileId",
                         e->descriptor->profile_id,
                         "securityLevel",
                         e->descriptor->security_level,
                         "semanticPolicyRevision",
                         e->descriptor->semantic_policy_revision,
                         "endpointKind",
                         "unix",
                         "health",
                         "descriptor-valid",
                         "service",
                         health);
}

static json_t *invalid_json(const RegistryEntry *e) {
        return json_pack("{s:s, s:s, s:s, s:s, s:s}",
                         "alias",
                         e->alias,
                         "health",
                         "invalid",
                         "code",
                         e->error.code,
                         "path",
                         e->error.path,
                         "reason",
                         e->error.message);
}

static int print_json(const Registry *r, const char *const health[], json_t *notes) {
        CLEANUP(json_decrefp) json_t *root = NULL;
        CLEANUP(freep) char *text = NULL;
        json_t *profiles = json_array(), *invalid = json_array();
        int k = profiles && invalid ? 0 : -1;

        for (size_t i = 0; k == 0 && i < r->n; i++) {
                const RegistryEntry *e = r->entries + i;

                k = e->descriptor ? json_array_append_new(profiles, valid_json(e, health[i]))
                                  : json_array_append_new(invalid, invalid_json(e));
        }
        root = json_pack("{s:s, s:i, s:o, s:o, s:O}",
                         "format",
                         "niceeval.docker-profiles",
                         "schemaVersion",
                         1,
                         "profiles",
                         profiles,
                         "invalid",
                         invalid,
                         "notes",
                         notes);
        if (k < 0 || !root || json_canonical(root, &text, NULL) < 0)
                return log_error(-ENOMEM, "cannot make the list");
        puts(text);
        return 0;
}

/* What must be said beside the list; NULL when memory is out. */
static json_t *make_notes(const Registry *r) {
        CLEANUP(json_decrefp) json_t *notes = json_array();

        for (size_t i = 0; i < r->n; i++) {
                const RegistryEntry *e = r->entries + i;
                CLEANUP(freep) char *note = NULL;

                if (!e->descriptor || !egress_note_due(e->descriptor))
                        continue;
                note = egress_note(e->alias);
                if (!note || json_array_append_new(notes, json_string(note)) < 0)
                        return NULL;
        }
        return TAKE_PTR(notes);
}

static int list(bool json) {
        CLEANUP(registry_donep) Registry registry = { 0 };
        CLEANUP(json_decrefp) json_t *notes = NULL;
        CLEANUP(freep) const char **health = NULL;
        int r = registry_load(REGISTRY_DIR, 0, &registry);

        if (r < 0 && r != -ENOENT)
                return log_error(r, "cannot read the registry %s", REGISTRY_DIR);
        health = calloc(registry.n + 1, sizeof(*health));
        notes = make_notes(&registry);
        if (!health || !notes)
                return log_error(-ENOMEM, "cannot make the list");
        for (size_t i = 0; i < registry.n; i++)
                if (registry.entries[i].descriptor)
                        health[i] = service_health(registry.entries + i);
        if (json)
                return print_json(&registry, health, notes);
        print_text(&registry, health);
        if (registry.n == 0)
                log_info("no profile is published in %s; 'dindhost profile init' begins one",
                         REGISTRY_DIR);
        for (size_t i = 0; i < json_array_size(notes); i++)
                log_info("note: %s", json_string_value(json_array_get(notes, i)));
        return 0;
}

int verb_list(int argc, char *argv[]) {
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
        if (optind < argc)
                return usage_error(COMMAND, "unexpected '%s'", argv[optind]);
        return list(json) < 0 ? EXIT_FAILED : EXIT_OK;
}
