/* SPDX-License-Identifier: MIT */
/*
 * Verbs of the dindhost command
 *
 * argv[0] is the verb's name; the value is the exit code of the program. Data goes to standard
 * output, and only when it is complete; everything else goes to standard error.
 */
#pragma once

#include "base/macros.h"

enum {
        EXIT_OK = 0,
        EXIT_FAILED = 1, /* could not be done, or a check found a FAIL */
        EXIT_USAGE = 2,
};

int verb_init(int argc, char *argv[]);
int verb_check(int argc, char *argv[]);
int verb_apply(int argc, char *argv[]);
int verb_remove(int argc, char *argv[]);
int verb_list(int argc, char *argv[]);
int verb_show(int argc, char *argv[]);
int verb_doctor(int argc, char *argv[]);
int verb_status(int argc, char *argv[]);

/*
 * Wrong usage, told on standard error with where help is; all return EXIT_USAGE (or NULL). command
 * is what follows "dindhost" ("profile list"), NULL for the program itself.
 */
int usage_error(const char *command, const char *fmt, ...) PRINTF_FORMAT(2, 3);
/* c: what getopt_long() with a leading ':' in its options returned. */
int usage_bad_option(const char *command, int c, char *argv[]);
/* The one alias that must be left after the options. */
const char *usage_alias(const char *command, int argc, char *argv[]);
