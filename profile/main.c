/* SPDX-License-Identifier: MIT */
/*
 * dindhost: the command of the host's admin
 *
 * A table of verbs; each parses its own options. Data goes to standard output, sentences to
 * standard error. Exit code 0: done; 1: not done, or a check found a failure; 2: wrong usage.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "profile/verbs.h"

typedef struct Verb {
        const char *group; /* NULL: stands alone */
        const char *name, *args, *help;
        int (*run)(int argc, char *argv[]);
} Verb;

/* clang-format off */
static const Verb verbs[] = {
        { "profile", "init",   "[OPTION...]",         "write a profile file from what this machine has", verb_init },
        { "profile", "check",  "ALIAS | --file FILE", "check a profile file, change nothing",            verb_check },
        { "profile", "apply",  "ALIAS",               "make the profile real, then publish it",          verb_apply },
        { "profile", "remove", "ALIAS",               "undo apply; data stays unless --delete-data",     verb_remove },
        { "profile", "list",   "",                    "published profiles and their health",             verb_list },
        { "profile", "show",   "ALIAS",               "descriptor, digest, places and slots",            verb_show },
        { "profile", "doctor", "[ALIAS]",             "check host and profile, each gap with its cure",  verb_doctor },
        { NULL,      "status", "[ALIAS]",             "what is granted, waiting and left",               verb_status },
};
/* clang-format on */

static int help(const char *group) {
        if (group)
                printf("Usage: dindhost %s VERB [--help] ...\n\n", group);
        else
                printf("Usage: dindhost COMMAND [--help] ...\n\n"
                       "Bounded, disposable, rootless Docker-in-Docker sandboxes.\n\n");
        for (size_t i = 0; i < N_ELEMENTS(verbs); i++) {
                const Verb *v = verbs + i;
                char text[128];

                if (group && (!v->group || strcmp(v->group, group)))
                        continue;
                snprintf(text,
                         sizeof(text),
                         "%s%s%s %s",
                         v->group ? v->group : "",
                         v->group ? " " : "",
                         v->name,
                         v->args);
                printf("  %-36s %s\n", text, v->help);
        }
        printf("\nOptions:\n"
               "  --help       this text; after a verb, its own\n"
               "  --version    the version\n\n"
               "Verbs that print data do it as JSON with --json. Exit code: 0 done, 1 not done or a\n"
               "check failed, 2 wrong usage. See dindhost(8) and dindhost-profile(5).\n");
        return EXIT_OK;
}

static const Verb *find_verb(const char *group, const char *name) {
        for (size_t i = 0; i < N_ELEMENTS(verbs); i++) {
                const Verb *v = verbs + i;

                if (!strcmp(v->name, name) &&
                    (group ? v->group && !strcmp(v->group, group) : !v->group))
                        return v;
        }
        return NULL;
}

static bool is_group(const char *name) {
        for (size_t i = 0; i < N_ELEMENTS(verbs); i++)
                if (verbs[i].group && !strcmp(verbs[i].group, name))
                        return true;
        return false;
}

static int run(int argc, char *argv[]) {
        const char *group = NULL;
        const Verb *verb;
        int i = 1;

        if (i < argc && is_group(argv[i]))
                group = argv[i++];
        if (i == argc)
                return usage_error(group, "a command is missing");
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
                return help(group);
        if (!group && !strcmp(argv[i], "--version")) {
                printf("dindhost %s\nregistry: %s\n", PACKAGE_VERSION, REGISTRY_DIR);
                return EXIT_OK;
        }
        if (argv[i][0] == '-')
                return usage_error(group, "unknown option '%s'", argv[i]);
        verb = find_verb(group, argv[i]);
        if (!verb)
                return usage_error(group, "unknown command '%s'", argv[i]);
        return verb->run(argc - i, argv + i);
}

int main(int argc, char *argv[]) {
        int code;

        umask(022);
        code = run(argc, argv);
        if (fflush(stdout) != 0 || ferror(stdout)) {
                log_error(-errno, "cannot write the output");
                return EXIT_FAILED;
        }
        return code;
}
