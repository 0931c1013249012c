/* SPDX-License-Identifier: MIT */
#include "selftest/cmocka-tap.h"

#include <string.h>

#include "supervisor/options.h"

/* The environment of a test: pairs up to a NULL. */
static char *variables[8][2];

static char *get_variable(const char *name) {
        for (size_t i = 0; i < N_ELEMENTS(variables) && variables[i][0]; i++)
                if (!strcmp(variables[i][0], name))
                        return variables[i][1];
        return NULL;
}

#define ARGS_MAX 80

static char error[512];

/* Parses the arguments of one line; words are separated by one blank each. */
static int parse(char *line, Options *ret) {
        static char *argv[ARGS_MAX];
        Text t = TEXT(error);
        int argc = 0;

        error[0] = 0;
        argv[argc++] = (char *) "dindhost-supervisor";
        for (char *word = strtok(line, " "); word; word = strtok(NULL, " "))
                argv[argc++] = word;
        argv[argc] = NULL;
        return options_parse(argc, argv, get_variable, ret, &t);
}

static int setup(void **state) {
        (void) state;
        memset(variables, 0, sizeof(variables));
        return 0;
}

static void defaults_are_sane(void **state) {
        Options o;

        (void) state;
        assert_int_equal(parse((char[]){ "" }, &o), OPTIONS_GO);
        assert_string_equal(o.user, "root");
        assert_string_equal(o.state_dir, "/run/dindhost");
        assert_string_equal(o.cgroup_root, "/sys/fs/cgroup");
        assert_string_equal(o.storage_driver, "overlay2");
        assert_null(o.log);
        assert_null(o.keepalive);
        assert_int_equal(o.lifetime_sec, 0);
        assert_int_equal(o.ready_timeout_sec, 120);
        assert_int_equal(o.stop_timeout_sec, 2);
        assert_int_equal(o.kill_timeout_sec, 3);
        assert_false(o.no_cgroup);
        assert_int_equal(o.n_dockerd_args, 0);
}

static void options_are_read(void **state) {
        char line[] = "--user=agent --lifetime 60 --ready-timeout=0 --stop-timeout=9 --kill-timeout=8 "
                      "--state-dir=/s --log=/l --storage-driver=vfs --cgroup-root=/c --no-cgroup "
                      "--dockerd-arg=--mtu=1400 --dockerd-arg -D -- run --user=x --";
        Options o;

        (void) state;
        assert_int_equal(parse(line, &o), OPTIONS_GO);
        assert_string_equal(o.user, "agent");
        assert_int_equal(o.lifetime_sec, 60);
        assert_int_equal(o.ready_timeout_sec, 0);
        assert_int_equal(o.stop_timeout_sec, 9);
        assert_int_equal(o.kill_timeout_sec, 8);
        assert_string_equal(o.state_dir, "/s");
        assert_string_equal(o.log, "/l");
        assert_string_equal(o.storage_driver, "vfs");
        assert_string_equal(o.cgroup_root, "/c");
        assert_true(o.no_cgroup);
        assert_int_equal(o.n_dockerd_args, 2);
        assert_string_equal(o.dockerd_args[0], "--mtu=1400");
        assert_string_equal(o.dockerd_args[1], "-D");
        assert_string_equal(o.keepalive[0], "run");
        assert_string_equal(o.keepalive[1], "--user=x");
        assert_string_equal(o.keepalive[2], "--");
        assert_null(o.keepalive[3]);
}

static void environment_comes_second(void **state) {
        char words[] = "  --a\t--b \n--c";
        Options o;

        (void) state;
        variables[0][0] = (char *) "DINDHOST_READY_USER";
        variables[0][1] = (char *) "ann";
        variables[1][0] = (char *) "DINDHOST_LIFETIME";
        variables[1][1] = (char *) "50";
        variables[2][0] = (char *) "DINDHOST_DOCKERD_ARGS";
        variables[2][1] = words;
        variables[3][0] = (char *) "DINDHOST_NO_CGROUP";
        variables[3][1] = (char *) "1";
        variables[4][0] = (char *) "DINDHOST_STATE_DIR";
        variables[4][1] = (char *) ""; /* as good as unset */
        assert_int_equal(parse((char[]){ "--user=bob" }, &o), OPTIONS_GO);
        assert_string_equal(o.user, "bob");
        assert_int_equal(o.lifetime_sec, 50);
        assert_true(o.no_cgroup);
        assert_string_equal(o.state_dir, "/run/dindhost");
        assert_int_equal(o.n_dockerd_args, 3);
        assert_string_equal(o.dockerd_args[0], "--a");
        assert_string_equal(o.dockerd_args[2], "--c");

        strcpy(words, "--x --y");
        assert_int_equal(parse((char[]){ "--dockerd-arg=--z" }, &o), OPTIONS_GO);
        assert_int_equal(o.n_dockerd_args, 1);
        assert_string_equal(o.dockerd_args[0], "--z");
}

static void wrong_use_is_named(void **state) {
        static const struct {
                const char *line, *said;
        } rows[] = {
                { "--what", "unknown option --what; --help lists them" },
                { "--us=x", "unknown option --us=x; --help lists them" },
                { "--=x", "unknown option --=x; --help lists them" },
                { "-x", "unexpected argument -x; a keepalive command comes after --" },
                { "run", "unexpected argument run; a keepalive command comes after --" },
                { "--user", "--user needs a value: NAME" },
                { "--user=", "--user must be a name of at most 64 letters, digits and ._-" },
                { "--user=a/b", "--user must be a name of at most 64 letters, digits and ._-" },
                { "--user=-a", "--user must be a name of at most 64 letters, digits and ._-" },
                { "--lifetime=-1",
                  "--lifetime must be a whole number of seconds, at most ten years" },
                { "--lifetime=1h",
                  "--lifetime must be a whole number of seconds, at most ten years" },
                { "--lifetime=99999999999",
                  "--lifetime must be a whole number of seconds, at most ten years" },
                { "--stop-timeout=0",
                  "--stop-timeout must be a whole number of seconds from 1 to 86400" },
                { "--state-dir=run", "--state-dir must be an absolute path of at most 200 bytes" },
                { "--no-cgroup=1", "--no-cgroup takes no value" },
                { "--dockerd-arg=", "--dockerd-arg must be an argument for dockerd, not empty" },
        };

        (void) state;
        for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
                Options o = { .user = "untouched" };
                char line[128];

                strcpy(line, rows[i].line);
                assert_int_equal(parse(line, &o), OPTIONS_WRONG);
                assert_string_equal(error, rows[i].said);
                assert_string_equal(o.user, "untouched");
        }
}

static void wrong_variables_are_named(void **state) {
        Options o;

        (void) state;
        variables[0][0] = (char *) "DINDHOST_LIFETIME";
        variables[0][1] = (char *) "soon";
        assert_int_equal(parse((char[]){ "--lifetime=3" }, &o), OPTIONS_WRONG);
        assert_string_equal(
                        error,
                        "DINDHOST_LIFETIME must be a whole number of seconds, at most ten years");
        variables[0][0] = (char *) "DINDHOST_NO_CGROUP";
        variables[0][1] = (char *) "yes";
        assert_int_equal(parse((char[]){ "" }, &o), OPTIONS_WRONG);
        assert_string_equal(error, "DINDHOST_NO_CGROUP must be 1 or 0");
        /* help is needed most then */
        assert_int_equal(parse((char[]){ "--help" }, &o), OPTIONS_HELP);
        assert_int_equal(parse((char[]){ "--version" }, &o), OPTIONS_VERSION);
        assert_int_equal(parse((char[]){ "-- --help" }, &o), OPTIONS_WRONG);
}

static void arguments_are_bounded(void **state) {
        char line[DOCKERD_ARGS_MAX * 20 + 40] = "";
        Options o;

        (void) state;
        for (int i = 0; i < DOCKERD_ARGS_MAX; i++)
                strcat(line, "--dockerd-arg=-D ");
        assert_int_equal(parse((char[sizeof(line)]){ "" }, &o), OPTIONS_GO);
        {
                char copy[sizeof(line)];

                strcpy(copy, line);
                assert_int_equal(parse(copy, &o), OPTIONS_GO);
                assert_int_equal(o.n_dockerd_args, DOCKERD_ARGS_MAX);
        }
        strcat(line, "--dockerd-arg=-D");
        assert_int_equal(parse(line, &o), OPTIONS_WRONG);
        assert_string_equal(error, "--dockerd-arg must be given at most 32 times");
}

static void long_paths_are_refused(void **state) {
        char line[OPTION_PATH_MAX + 32] = "--state-dir=/";
        Options o;

        (void) state;
        memset(line + strlen(line), 'p', OPTION_PATH_MAX - 1);
        assert_int_equal(parse(line, &o), OPTIONS_GO);
        strcpy(line, "--log=/");
        memset(line + strlen(line), 'p', OPTION_PATH_MAX);
        line[7 + OPTION_PATH_MAX] = 0;
        assert_int_equal(parse(line, &o), OPTIONS_WRONG);
}

static void help_is_whole(void **state) {
        char data[4096]; /* as in main.c */
        Text t = TEXT(data);

        (void) state;
        options_help(&t);
        assert_false(t.cut);
        assert_non_null(strstr(data, "  --no-cgroup "));
        assert_non_null(strstr(data, "[DINDHOST_READY_USER]"));
        for (const char *line = data; *line; line += strcspn(line, "\n") + 1)
                assert_true(strcspn(line, "\n") <= 100);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(defaults_are_sane, setup),
                cmocka_unit_test_setup(options_are_read, setup),
                cmocka_unit_test_setup(environment_comes_second, setup),
                cmocka_unit_test_setup(wrong_use_is_named, setup),
                cmocka_unit_test_setup(wrong_variables_are_named, setup),
                cmocka_unit_test_setup(arguments_are_bounded, setup),
                cmocka_unit_test_setup(long_paths_are_refused, setup),
                cmocka_unit_test_setup(help_is_whole, setup),
        };

        return RUN_TAP(tests);
}
