/* SPDX-License-Identifier: MIT */
/* dindhost profile init: writes a commented profile file from what the machine has. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/conf-keys.h"
#include "profile/paths.h"
#include "profile/sizing.h"
#include "profile/verbs.h"

#define COMMAND "profile init"

typedef struct InitOptions {
        const char *alias;
        SizingWish wish;
        bool force, print, unenforced;
} InitOptions;

static int help(void) {
        printf("Usage: dindhost profile init [OPTION...]\n\n"
               "Writes " PROFILE_DIR "/ALIAS.conf with values that fit this machine.\n"
               "Nothing else is changed; 'dindhost profile apply ALIAS' makes it real.\n\n"
               "  --alias=A          name of the profile (default: default)\n"
               "  --force            replace a file that is there\n"
               "  --print            write to standard output instead\n"
               "  --egress=WORD      enforced (default) or unenforced\n"
               "  --slots=N          number of slots\n"
               "  --slot-size=SIZE   size of a slot, such as 6G\n"
               "  --pool-size=SIZE   size of the pool image\n"
               "  --memory=SIZE      memory that reservations may hold together\n"
               "  --cpus=N           CPUs that reservations may hold together\n"
               "  --help             this text\n");
        return EXIT_OK;
}

enum {
        OPT_ALIAS = 256,
        OPT_FORCE,
        OPT_PRINT,
        OPT_EGRESS,
        OPT_SLOTS,
        OPT_SLOT_SIZE,
        OPT_POOL_SIZE,
        OPT_MEMORY,
        OPT_CPUS,
        OPT_HELP
};

/* One wish, judged as the key of the profile file that it becomes. */
static int parse_wish(const char *section, const char *name, const char *option, uint64_t *ret) {
        const ConfKey *key = conf_key_find(section, name);
        ProfileConf scratch = { 0 };
        char rule[256];

        assert(key);
        if (conf_key_set(key, optarg, &scratch, rule) < 0)
                return usage_error(COMMAND, "%s=%s: %s", option, optarg, rule);
        *ret = *(uint64_t *) ((char *) &scratch + key->offset);
        return EXIT_OK;
}

static int parse_egress(InitOptions *o) {
        if (strcmp(optarg, "enforced") && strcmp(optarg, "unenforced"))
                return usage_error(COMMAND, "--egress=%s: must be enforced or unenforced", optarg);
        o->unenforced = !strcmp(optarg, "unenforced");
        return EXIT_OK;
}

static int parse_alias(InitOptions *o) {
        if (!alias_valid(optarg))
                return usage_error(COMMAND,
                                   "--alias=%s: a letter, then at most 15 of a-z, 0-9 and '-', not "
                                   "ending in '-'",
                                   optarg);
        o->alias = optarg;
        return EXIT_OK;
}

static int parse_option(int c, char *argv[], InitOptions *o) {
        switch (c) {
        case OPT_ALIAS:
                return parse_alias(o);
        case OPT_FORCE:
                o->force = true;
                return EXIT_OK;
        case OPT_PRINT:
                o->print = true;
                return EXIT_OK;
        case OPT_EGRESS:
                return parse_egress(o);
        case OPT_SLOTS:
                return parse_wish("Storage", "Slots", "--slots", &o->wish.slots);
        case OPT_SLOT_SIZE:
                return parse_wish("Storage", "SlotSize", "--slot-size", &o->wish.slot_bytes);
        case OPT_POOL_SIZE:
                return parse_wish("Storage", "PoolSize", "--pool-size", &o->wish.pool_bytes);
        case OPT_MEMORY:
                return parse_wish("Capacity", "Memory", "--memory", &o->wish.memory_bytes);
        case OPT_CPUS:
                return parse_wish("Capacity", "CPUs", "--cpus", &o->wish.cpus_milli);
        default:
                return usage_bad_option(COMMAND, c, argv);
        }
}

/* -1: go on; else the exit code. */
static int parse_argv(int argc, char *argv[], InitOptions *o) {
        static const struct option options[] = {
                { "alias", required_argument, NULL, OPT_ALIAS },
                { "force", no_argument, NULL, OPT_FORCE },
                { "print", no_argument, NULL, OPT_PRINT },
                { "egress", required_argument, NULL, OPT_EGRESS },
                { "slots", required_argument, NULL, OPT_SLOTS },
                { "slot-size", required_argument, NULL, OPT_SLOT_SIZE },
                { "pool-size", required_argument, NULL, OPT_POOL_SIZE },
                { "memory", required_argument, NULL, OPT_MEMORY },
                { "cpus", required_argument, NULL, OPT_CPUS },
                { "help", no_argument, NULL, OPT_HELP },
                { 0 },
        };
        int c, r;

        optind = 0;
        opterr = 0;
        while ((c = getopt_long(argc, argv, ":", options, NULL)) >= 0) {
                if (c == OPT_HELP)
                        return help();
                r = parse_option(c, argv, o);
                if (r != EXIT_OK)
                        return r;
        }
        if (optind < argc)
                return usage_error(COMMAND,
                                   "unexpected '%s' (an alias is given as --alias=%s)",
                                   argv[optind],
                                   argv[optind]);
        return -1;
}

static char *file_head(const InitOptions *o, const HostFacts *host) {
        char memory[32], disk[32];

        return text_format(
                        "# Profile '%s' of dindhost; every key is described in dindhost-profile(5).\n"
                        "# Written for %llu CPUs, %s of memory and %s of free disk. Lines that begin\n"
                        "# with '#' and a key show its default.\n%s",
                        o->alias,
                        (unsigned long long) host->cpus,
                        format_size_human(memory, sizeof(memory), host->memory_bytes),
                        format_size_human(disk, sizeof(disk), host->disk_bytes),
                        o->unenforced ? ""
                                      : "#\n"
                                        "# This release cannot enforce an egress policy yet: apply\n"
                                        "# publishes a profile only when [Network] says\n"
                                        "# Egress=unenforced. Sandboxes then reach whatever this\n"
                                        "# host reaches, and list, doctor and status say so.\n");
}

static int make_text(const InitOptions *o, char **ret) {
        CLEANUP(profile_conf_donep) ProfileConf conf = { 0 };
        CLEANUP(freep) char *message = NULL, *head = NULL;
        HostFacts host;
        int r = host_facts(STATE_DIR, &host);

        if (r < 0)
                return log_error(r, "cannot find out what this machine has");
        r = conf_set_defaults(&conf);
        if (r < 0)
                return log_error(r, "cannot set the defaults");
        conf.egress_enforced = !o->unenforced;
        r = sizing_propose(&host, &o->wish, &conf, &message);
        if (r < 0)
                return log_error(0, "%s", message ? message : "no memory"), r;
        head = file_head(o, &host);
        r = head ? conf_format(&conf, head, ret) : -ENOMEM;
        return r < 0 ? log_error(r, "cannot write the profile file") : 0;
}

/* /etc/dindhost is made by the package; a build that runs from its folder has none yet. */
static int make_folder(void) {
        if ((mkdir(SYSCONFDIR "/dindhost", 0755) < 0 && errno != EEXIST) ||
            (mkdir(PROFILE_DIR, 0755) < 0 && errno != EEXIST))
                return -errno;
        return 0;
}

static int write_file(const InitOptions *o, const char *text) {
        ProfilePaths paths;
        int r = profile_paths(o->alias, &paths);

        if (r < 0)
                return log_error(r, "profile '%s'", o->alias);
        if (!o->force && access(paths.conf, F_OK) == 0)
                return log_error(0,
                                 "%s is there already; --force replaces it, --alias= names another "
                                 "profile",
                                 paths.conf),
                       -EEXIST;
        r = make_folder();
        if (r >= 0)
                r = file_write_atomic(paths.conf, text, strlen(text), 0644, (uid_t) -1, (gid_t) -1);
        if (r < 0)
                return log_error(r,
                                 "cannot write %s%s",
                                 paths.conf,
                                 r == -EACCES ? " (run as root)" : "");
        printf("%s is written; look at it, then: dindhost profile apply %s\n",
               paths.conf,
               o->alias);
        return 0;
}

int verb_init(int argc, char *argv[]) {
        InitOptions o = { .alias = "default" };
        CLEANUP(freep) char *text = NULL;
        int r = parse_argv(argc, argv, &o);

        if (r >= 0)
                return r;
        if (make_text(&o, &text) < 0)
                return EXIT_FAILED;
        if (!o.print)
                return write_file(&o, text) < 0 ? EXIT_FAILED : EXIT_OK;
        fputs(text, stdout);
        return EXIT_OK;
}
