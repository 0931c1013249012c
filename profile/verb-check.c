/* SPDX-License-Identifier: MIT */
/* dindhost profile check: judges a profile file, changes nothing. */
#include <getopt.h>
#include <stdio.h>

#include "base/log.h"
#include "base/units.h"
#include "profile/conf.h"
#include "profile/paths.h"
#include "profile/verbs.h"

#define COMMAND "profile check"

static int help(void) {
        printf("Usage: dindhost profile check ALIAS\n"
               "       dindhost profile check --file FILE\n\n"
               "Reads a profile file with its drop-ins and checks every value and every rule\n"
               "between them. Changes nothing.\n\n"
               "  --file=FILE   this file instead of " PROFILE_DIR "/ALIAS.conf\n"
               "  --help        this text\n");
        return EXIT_OK;
}

static int check(const char *file) {
        CLEANUP(profile_conf_donep) ProfileConf c = { 0 };
        CLEANUP(freep) char *message = NULL;
        char slot[32], pool[32], memory[32], cpus[32];

        if (profile_conf_load(file, &c, &message) < 0) {
                log_error(0, "%s", message ? message : file);
                return EXIT_FAILED;
        }
        printf("%s is valid: %llu slots of %s in a pool of %s; %s CPUs and %s of memory to reserve\n",
               file,
               (unsigned long long) c.slots,
               format_size(slot, sizeof(slot), c.slot_bytes),
               format_size(pool, sizeof(pool), c.pool_bytes),
               format_cpus(cpus, sizeof(cpus), c.cpus_milli),
               format_size(memory, sizeof(memory), c.memory_bytes));
        if (c.egress_enforced)
                log_info("%s: apply will refuse [Network] Egress=enforced, which this release cannot "
                         "do yet; see dindhost-profile(5)",
                         file);
        return EXIT_OK;
}

int verb_check(int argc, char *argv[]) {
        static const struct option options[] = {
                { "file", required_argument, NULL, 'f' },
                { "help", no_argument, NULL, 'h' },
                { 0 },
        };
        const char *file = NULL, *alias;
        ProfilePaths paths;
        int c;

        optind = 0;
        opterr = 0;
        while ((c = getopt_long(argc, argv, ":", options, NULL)) >= 0) {
                if (c == 'h')
                        return help();
                if (c != 'f')
                        return usage_bad_option(COMMAND, c, argv);
                file = optarg;
        }
        if (file && optind < argc)
                return usage_error(COMMAND, "either an alias or --file, not both");
        if (file)
                return check(file);
        alias = usage_alias(COMMAND, argc, argv);
        if (!alias || profile_paths(alias, &paths) < 0)
                return EXIT_USAGE;
        return check(paths.conf);
}
