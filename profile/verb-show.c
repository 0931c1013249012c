/* SPDX-License-Identifier: MIT */
/*
 * dindhost profile show: descriptor, digest, revision, places and slots of one profile
 *
 * Looks at the published descriptor, else at the staged one that apply left; a profile that has
 * neither still has its places.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/egress-note.h"
#include "profile/paths.h"
#include "profile/registry.h"
#include "profile/slots.h"
#include "profile/verbs.h"

#define COMMAND "profile show"

static int help(void) {
        printf("Usage: dindhost profile show [--json] ALIAS\n\n"
               "Descriptor, digest, policy revision, places and slots of a profile.\n\n"
               "  --json   one line of JSON\n"
               "  --help   this text\n");
        return EXIT_OK;
}

typedef struct Shown {
        ProfilePaths paths;
        Registry registry; /* owns the published descriptor */
        Descriptor *staged;
        const Descriptor *descriptor; /* one of both, or NULL */
        char digest[72];
        bool published;
        SlotTable slots;
} Shown;

static void shown_donep(Shown *s) {
        registry_donep(&s->registry);
        descriptor_free(s->staged);
        slot_table_donep(&s->slots);
}

static int find_descriptor(Shown *s) {
        const RegistryEntry *entry;
        DescriptorError error;
        int r = registry_load(REGISTRY_DIR, 0, &s->registry);

        if (r < 0 && r != -ENOENT)
                return log_error(r, "cannot read the registry %s", REGISTRY_DIR);
        entry = registry_find(&s->registry, s->paths.alias);
        if (entry && !entry->descriptor)
                return log_error(0,
                                 "%s: %s: %s; 'dindhost profile apply %s' writes it anew",
                                 entry->error.code,
                                 entry->path,
                                 entry->error.message,
                                 s->paths.alias),
                       -EINVAL;
        if (entry) {
                s->published = true;
                s->descriptor = entry->descriptor;
                memcpy(s->digest, entry->digest, sizeof(s->digest));
                return 0;
        }
        r = descriptor_load(s->paths.descriptor, &s->staged, &error);
        if (r == -ENOENT || r == -EACCES)
                return 0;
        if (r < 0)
                return log_error(0, "%s: %s", s->paths.descriptor, error.message), r;
        s->descriptor = s->staged;
        return descriptor_digest(s->staged->root, s->digest);
}

static int load_shown(const char *alias, Shown *s) {
        CLEANUP(freep) char *message = NULL;
        int r = profile_paths(alias, &s->paths);

        if (r < 0)
                return log_error(r, "profile '%s'", alias);
        r = find_descriptor(s);
        if (r < 0)
                return r;
        if (!s->descriptor && access(s->paths.conf, F_OK) < 0)
                return log_error(0,
                                 "no profile '%s': neither %s nor a descriptor of it is there; "
                                 "'dindhost profile init --alias=%s' begins one",
                                 alias,
                                 s->paths.conf,
                                 alias),
                       -ENOENT;
        r = slot_table_load(s->paths.slot_table, &s->slots, &message);
        if (r < 0 && r != -ENOENT && r != -EACCES)
                return log_error(0, "%s", message ? message : "no memory"), r;
        return 0;
}

typedef struct Place {
        const char *name, *value;
} Place;

#define N_PLACES 13

static void list_places(const ProfilePaths *p, Place places[static N_PLACES]) {
        const Place all[] = {
                { "profileFile", p->conf },
                { "registryFile", p->registry_file },
                { "account", p->account },
                { "accessGroup", p->access_group },
                { "stateDir", p->state },
                { "poolImage", p->pool_image },
                { "mountPath", p->mount },
                { "dockerRootDir", p->docker_root },
                { "slotsDir", p->slots_dir },
                { "slotTable", p->slot_table },
                { "controlSocket", p->control_socket },
                { "dockerSocket", p->engine_socket },
                { "ledger", p->ledger },
        };

        static_assert(N_ELEMENTS(all) == N_PLACES, "the count is in the prototype");
        memcpy(places, all, sizeof(all));
}

static json_t *slots_json(const SlotTable *t) {
        CLEANUP(json_decrefp) json_t *list = json_array();

        for (size_t i = 0; i < t->n_slots; i++)
                if (json_array_append_new(list,
                                          json_pack("{s:s, s:I, s:I, s:I}",
                                                    "slotId",
                                                    t->slots[i].id,
                                                    "projectId",
                                                    (json_int_t) t->slots[i].project_id,
                                                    "limitBytes",
                                                    (json_int_t) t->slots[i].limit_bytes,
                                                    "limitInodes",
                                                    (json_int_t) t->slots[i].limit_inodes)) < 0)
                        return NULL;
        return TAKE_PTR(list);
}

static json_t *notes_json(const Shown *s) {
        CLEANUP(json_decrefp) json_t *notes = json_array();
        CLEANUP(freep) char *note = NULL;

        if (s->descriptor && egress_note_due(s->descriptor)) {
                note = egress_note(s->paths.alias);
                if (!note || json_array_append_new(notes, json_string(note)) < 0)
                        return NULL;
        }
        return TAKE_PTR(notes);
}

static int print_json(const Shown *s) {
        CLEANUP(json_decrefp) json_t *root = NULL, *paths = json_object();
        CLEANUP(freep) char *text = NULL;
        Place places[N_PLACES];

        list_places(&s->paths, places);
        for (size_t i = 0; i < N_PLACES; i++)
                if (json_object_set_new(paths, places[i].name, json_string(places[i].value)) < 0)
                        return log_error(-ENOMEM, "cannot show '%s'", s->paths.alias);
        root = json_pack("{s:s, s:i, s:s, s:b, s:O?, s:s?, s:s?, s:O, s:o, s:o}",
                         "format",
                         "dindhost.profile",
                         "schemaVersion",
                         1,
                         "alias",
                         s->paths.alias,
                         "published",
                         s->published,
                         "descriptor",
                         s->descriptor ? s->descriptor->root : NULL,
                         "descriptorDigest",
                         s->descriptor ? s->digest : NULL,
                         "semanticPolicyRevision",
                         s->descriptor ? s->descriptor->semantic_policy_revision : NULL,
                         "paths",
                         paths,
                         "slots",
                         slots_json(&s->slots),
                         "notes",
                         notes_json(s));
        if (!root || json_canonical(root, &text, NULL) < 0)
                return log_error(-ENOMEM, "cannot show '%s'", s->paths.alias);
        puts(text);
        return 0;
}

static void print_slots(const SlotTable *t) {
        for (size_t i = 0; i < t->n_slots; i++) {
                char size[32];

                printf("  %s  project %u, %s, %llu inodes\n",
                       t->slots[i].id,
                       t->slots[i].project_id,
                       format_size(size, sizeof(size), t->slots[i].limit_bytes),
                       (unsigned long long) t->slots[i].limit_inodes);
        }
}

static int print_text(const Shown *s) {
        CLEANUP(freep) char *document = NULL;
        const Descriptor *d = s->descriptor;
        Place places[N_PLACES];

        if (d) {
                document = json_dumps(d->root,
                                      JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(15));
                if (!document)
                        return log_error(-ENOMEM, "cannot show '%s'", s->paths.alias);
        }
        printf("%s: %s\n",
               s->paths.alias,
               s->published        ? "published"
                               : d ? "applied, not published"
                                   : "not applied");
        if (d)
                printf("  profileId               %s\n  descriptorDigest        %s\n"
                       "  semanticPolicyRevision  %s\n",
                       d->profile_id,
                       s->digest,
                       d->semantic_policy_revision);
        list_places(&s->paths, places);
        for (size_t i = 0; i < N_PLACES; i++)
                printf("  %-22s  %s\n", places[i].name, places[i].value);
        print_slots(&s->slots);
        if (document)
                puts(document);
        if (d && egress_note_due(d)) {
                CLEANUP(freep) char *note = egress_note(s->paths.alias);

                log_info("note: %s", note ? note : "egress is not enforced");
        }
        return 0;
}

int verb_show(int argc, char *argv[]) {
        static const struct option options[] = {
                { "json", no_argument, NULL, 'j' },
                { "help", no_argument, NULL, 'h' },
                { 0 },
        };
        CLEANUP(shown_donep) Shown s = { 0 };
        const char *alias;
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
        alias = usage_alias(COMMAND, argc, argv);
        if (!alias)
                return EXIT_USAGE;
        if (load_shown(alias, &s) < 0)
                return EXIT_FAILED;
        return (json ? print_json(&s) : print_text(&s)) < 0 ? EXIT_FAILED : EXIT_OK;
}
