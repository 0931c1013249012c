/* SPDX-License-Identifier: MIT */
/*
 * Options
 *
 * Every option can be given on the command line or by an environment variable, because some who
 * start a sandbox can set only one of the two; the command line wins. One table holds name,
 * variable, kind and help of each. Nothing is copied: the result points into argv and the
 * environment, which live as long as the process.
 */
#pragma once

#include "supervisor/text.h"

#define DOCKERD_ARGS_MAX 32
#define OPTION_PATH_MAX 200 /* bytes: names are put together from these in fixed buffers */
#define OPTION_SECONDS_MAX (UINT64_C(10) * 365 * 86400)

typedef struct Options {
        const char *user;
        const char *state_dir;
        const char *log; /* NULL: dockerd.log in the state dir */
        const char *storage_driver;
        const char *cgroup_root;
        uint64_t lifetime_sec;      /* 0: none */
        uint64_t ready_timeout_sec; /* 0: none */
        uint64_t stop_timeout_sec;
        uint64_t kill_timeout_sec;
        bool no_cgroup;
        const char *dockerd_args[DOCKERD_ARGS_MAX];
        size_t n_dockerd_args;
        char **keepalive; /* NULL: the built-in one */
} Options;

enum { OPTIONS_GO, OPTIONS_HELP, OPTIONS_VERSION, OPTIONS_WRONG, _OPTIONS_MAX };

/* Reads a variable of the environment, as getenv() does. */
typedef char *(*OptionsGetenv)(const char *name);

/* Anything but OPTIONS_GO leaves *ret alone; OPTIONS_WRONG says why in error. Words of
 * DINDHOST_DOCKERD_ARGS are separated in place. */
int options_parse(int argc, char **argv, OptionsGetenv get, Options *ret, Text *error);

void options_help(Text *t);
