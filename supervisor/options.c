/* SPDX-License-Identifier: MIT */
#include "supervisor/options.h"

#include <string.h>

typedef enum Kind {
        KIND_NAME,    /* a word: letters, digits and ._- */
        KIND_PATH,    /* absolute, of bounded length */
        KIND_SECONDS, /* a whole number, 0 where it means "none" */
        KIND_PAUSE,   /* a whole number, at least 1 */
        KIND_WORDS,   /* one word an option; several in the variable */
        KIND_FLAG,    /* no value; 1 or 0 in the variable */
        _KIND_MAX
} Kind;

typedef struct Option {
        const char *name;
        const char *variable;
        Kind kind;
        size_t at;
        const char *value; /* as the help names it */
        const char *help;
} Option;

#define AT(member) offsetof(Options, member)

/* clang-format off */
static const Option options[] = {
        { "user",           "DINDHOST_READY_USER",     KIND_NAME,    AT(user),              "NAME",    "user of the image that must be able to use the daemon before\nit counts as ready (default: root)" },
        { "ready-timeout",  "DINDHOST_READY_TIMEOUT",  KIND_SECONDS, AT(ready_timeout_sec), "SECONDS", "give up when not ready by then; 0 waits for ever (default: 120)" },
        { "lifetime",       "DINDHOST_LIFETIME",       KIND_SECONDS, AT(lifetime_sec),      "SECONDS", "stop everything after this time; 0 is no limit (default: 0)" },
        { "stop-timeout",   "DINDHOST_STOP_TIMEOUT",   KIND_PAUSE,   AT(stop_timeout_sec),  "SECONDS", "time the daemon gets to stop its containers (default: 2)" },
        { "kill-timeout",   "DINDHOST_KILL_TIMEOUT",   KIND_PAUSE,   AT(kill_timeout_sec),  "SECONDS", "time that killed processes get to vanish (default: 3)" },
        { "storage-driver", "DINDHOST_STORAGE_DRIVER", KIND_NAME,    AT(storage_driver),    "NAME",    "storage driver of the daemon; auto lets it choose\n(default: overlay2)" },
        { "dockerd-arg",    "DINDHOST_DOCKERD_ARGS",   KIND_WORDS,   0,                     "ARG",     "further argument for dockerd, repeatable; in the variable\nseveral, separated by blanks" },
        { "state-dir",      "DINDHOST_STATE_DIR",      KIND_PATH,    AT(state_dir),         "PATH",    "where ready, not-ready and cause.json are written\n(default: /run/dindhost)" },
        { "log",            "DINDHOST_LOG",            KIND_PATH,    AT(log),               "PATH",    "log file of the daemon, at most 256 KiB and as much again in\nPATH.1 (default: dockerd.log in the state dir)" },
        { "cgroup-root",    "DINDHOST_CGROUP_ROOT",    KIND_PATH,    AT(cgroup_root),       "PATH",    "where cgroup v2 is mounted (default: /sys/fs/cgroup)" },
        { "no-cgroup",      "DINDHOST_NO_CGROUP",      KIND_FLAG,    AT(no_cgroup),         NULL,      "go on without cgroups: limits of inner containers do not hold" },
};
/* clang-format on */

static const Options defaults = {
        .user = "root",
        .state_dir = "/run/dindhost",
        .storage_driver = "overlay2",
        .cgroup_root = "/sys/fs/cgroup",
        .ready_timeout_sec = 120,
        .stop_timeout_sec = 2,
        .kill_timeout_sec = 3,
};

/* Each of these takes one value: NULL when it is right, else what it must be. */
typedef const char *(*Setter)(Options *o, const Option *option, char *value);

static const char *set_name(Options *o, const Option *option, char *value) {
        static const char good[] =
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
        size_t n = strlen(value);

        if (n == 0 || n > 64 || value[0] == '-' || strspn(value, good) != n)
                return "a name of at most 64 letters, digits and ._-";
        *(const char **) ((char *) o + option->at) = value;
        return NULL;
}

static const char *set_path(Options *o, const Option *option, char *value) {
        if (value[0] != '/' || strlen(value) > OPTION_PATH_MAX)
                return "an absolute path of at most 200 bytes";
        *(const char **) ((char *) o + option->at) = value;
        return NULL;
}

static const char *set_seconds(Options *o, const Option *option, char *value) {
        uint64_t v;

        if (!text_to_number(value, strlen(value), OPTION_SECONDS_MAX, &v))
                return "a whole number of seconds, at most ten years";
        *(uint64_t *) ((char *) o + option->at) = v;
        return NULL;
}

static const char *set_pause(Options *o, const Option *option, char *value) {
        uint64_t v;

        if (!text_to_number(value, strlen(value), 86400, &v) || v == 0)
                return "a whole number of seconds from 1 to 86400";
        *(uint64_t *) ((char *) o + option->at) = v;
        return NULL;
}

static const char *set_word(Options *o, const Option *option, char *value) {
        (void) option;
        if (value[0] == 0)
                return "an argument for dockerd, not empty";
        if (o->n_dockerd_args == DOCKERD_ARGS_MAX)
                return "given at most 32 times";
        o->dockerd_args[o->n_dockerd_args++] = value;
        return NULL;
}

static const char *set_words(Options *o, const Option *option, char *value) {
        static const char blanks[] = " \t\n";

        for (char *word = value + strspn(value, blanks); *word;) {
                char *end = word + strcspn(word, blanks);
                char *next = end + strspn(end, blanks);
                const char *wrong;

                *end = 0;
                wrong = set_word(o, option, word);
                if (wrong)
                        return wrong;
                word = next;
        }
        return NULL;
}

static const char *set_flag(Options *o, const Option *option, char *value) {
        if (strcmp(value, "0") && strcmp(value, "1"))
                return "1 or 0";
        *(bool *) ((char *) o + option->at) = value[0] == '1';
        return NULL;
}

static const Setter argument_setters[] = {
        [KIND_NAME] = set_name,   [KIND_PATH] = set_path,  [KIND_SECONDS] = set_seconds,
        [KIND_PAUSE] = set_pause, [KIND_WORDS] = set_word, [KIND_FLAG] = set_flag,
};
static_assert(N_ELEMENTS(argument_setters) == _KIND_MAX, "one setter a kind");

static int wrong_value(Text *error, const char *what, const char *name, const char *rule) {
        text_join(error, what, name, " must be ", rule, NULL);
        return OPTIONS_WRONG;
}

static int read_environment(Options *o, OptionsGetenv get, Text *error) {
        for (size_t i = 0; i < N_ELEMENTS(options); i++) {
                const Option *option = &options[i];
                char *value = get(option->variable);
                Setter set = argument_setters[option->kind];
                const char *rule;

                if (!value || !*value)
                        continue; /* the only way to take back a variable of the image */
                if (option->kind == KIND_WORDS)
                        set = set_words;
                rule = set(o, option, value);
                if (rule)
                        return wrong_value(error, "", option->variable, rule);
        }
        return OPTIONS_GO;
}

static const Option *find_option(const char *name, size_t n) {
        for (size_t i = 0; i < N_ELEMENTS(options); i++)
                if (strlen(options[i].name) == n && !memcmp(options[i].name, name, n))
                        return &options[i];
        return NULL;
}

/* One argument that begins with "--"; *next is the one after it, and is set to NULL when used. */
static int read_argument(Options *o, char *argument, char **next, bool *first, Text *error) {
        char *name = argument + 2;
        size_t n = strcspn(name, "=");
        const Option *option = find_option(name, n);
        char *value = name[n] == '=' ? name + n + 1 : NULL;
        static char set[] = "1";
        const char *rule;

        if (!option) {
                text_join(error, "unknown option ", argument, "; --help lists them", NULL);
                return OPTIONS_WRONG;
        }
        if (option->kind == KIND_FLAG) {
                if (value) {
                        text_join(error, "--", option->name, " takes no value", NULL);
                        return OPTIONS_WRONG;
                }
                value = set;
        } else if (!value) {
                value = *next;
                *next = NULL;
        }
        if (!value) {
                text_join(error, "--", option->name, " needs a value: ", option->value, NULL);
                return OPTIONS_WRONG;
        }
        if (option->kind == KIND_WORDS && *first) {
                o->n_dockerd_args = 0; /* the command line wins over the variable */
                *first = false;
        }
        rule = argument_setters[option->kind](o, option, value);
        return rule ? wrong_value(error, "--", option->name, rule) : OPTIONS_GO;
}

int options_parse(int argc, char **argv, OptionsGetenv get, Options *ret, Text *error) {
        Options o = defaults;
        bool first_word = true;
        int r;

        /* Help must work whatever the environment says. */
        for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
                if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
                        return OPTIONS_HELP;
                if (!strcmp(argv[i], "--version"))
                        return OPTIONS_VERSION;
        }
        r = read_environment(&o, get, error);
        if (r != OPTIONS_GO)
                return r;
        for (int i = 1; i < argc; i++) {
                char *next = i + 1 < argc ? argv[i + 1] : NULL;
                bool has_next = next != NULL;

                if (!strcmp(argv[i], "--")) {
                        if (has_next)
                                o.keepalive = argv + i + 1;
                        break;
                }
                if (strncmp(argv[i], "--", 2)) {
                        text_join(error,
                                  "unexpected argument ",
                                  argv[i],
                                  "; a keepalive command comes after --",
                                  NULL);
                        return OPTIONS_WRONG;
                }
                r = read_argument(&o, argv[i], &next, &first_word, error);
                if (r != OPTIONS_GO)
                        return r;
                if (has_next && !next)
                        i++;
        }
        *ret = o;
        return OPTIONS_GO;
}

/* Pads to the column where the help text stands. */
static void pad(Text *t, size_t n) {
        static const char blanks[] = "                            ";

        if (n < sizeof(blanks) - 1)
                text_add_n(t, blanks, sizeof(blanks) - 1 - n);
}

static void add_help(Text *t, const char *option, const char *value, const char *help) {
        size_t begin = t->n;

        text_join(t, "  --", option, value ? "=" : "", value ? value : "", NULL);
        pad(t, t->n - begin);
        for (size_t n; *help; help += n) {
                n = strcspn(help, "\n");
                text_add_n(t, help, n);
                text_add(t, "\n");
                if (help[n] == '\n') {
                        pad(t, 0);
                        n++;
                }
        }
}

void options_help(Text *t) {
        text_add(t,
                 "Usage: dindhost-supervisor [OPTION]... [-- KEEPALIVE [ARG]...]\n\n"
                 "PID 1 of a Docker-in-Docker container: starts dockerd on unix:///var/run/docker.sock\n"
                 "and a keepalive, says when an ordinary user can use the daemon, and stops everything\n"
                 "when one of the two ends, on SIGTERM, or when the lifetime is over. Without a\n"
                 "KEEPALIVE command a built-in one copies the daemon's log to standard output.\n\n"
                 "Options, each also as a variable of the environment:\n");
        for (size_t i = 0; i < N_ELEMENTS(options); i++) {
                add_help(t, options[i].name, options[i].value, options[i].help);
                pad(t, 0);
                text_join(t, "[", options[i].variable, "]\n", NULL);
        }
        add_help(t, "help", NULL, "show this text");
        add_help(t, "version", NULL, "show the version and how it was built");
        text_add(t,
                 "\nExit status: 0 stop asked or lifetime over; 2 wrong use, or the image or the\n"
                 "container does not fit; 69 not ready in time; 70 dockerd exited; 71 the system\n"
                 "refused a child; else the keepalive's own status (128 + N for signal N).\n"
                 "See dindhost-supervisor(8).\n");
}
