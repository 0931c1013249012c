/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"
#include "base/text.h"
#include "profile/paths.h"
#include "profile/verbs.h"

int usage_error(const char *command, const char *fmt, ...) {
        CLEANUP(freep) char *text = NULL;
        va_list ap;

        va_start(ap, fmt);
        if (vasprintf(&text, fmt, ap) < 0)
                text = NULL;
        va_end(ap);
        log_error(0,
                  "%s; see 'dindhost %s%s--help'",
                  text ? text : fmt,
                  command ? command : "",
                  command ? " " : "");
        return EXIT_USAGE;
}

int usage_bad_option(const char *command, int c, char *argv[]) {
        const char *option = argv[optind - 1];

        if (c == ':')
                return usage_error(command, "option '%s' needs a value", option);
        if (optopt && text_has_prefix(option, "--"))
                return usage_error(command, "option '%s' takes no value", option);
        if (optopt)
                return usage_error(command, "unknown option '-%c'", optopt);
        return usage_error(command, "unknown option '%s'", option);
}

const char *usage_alias(const char *command, int argc, char *argv[]) {
        if (optind == argc) {
                usage_error(command, "which profile? Its alias is missing");
                return NULL;
        }
        if (argc - optind > 1) {
                usage_error(command, "'%s' is one alias too many", argv[optind + 1]);
                return NULL;
        }
        if (!alias_valid(argv[optind])) {
                usage_error(command,
                            "'%s' cannot be an alias: a letter, then at most 15 of a-z, 0-9 and "
                            "'-', not ending in '-'",
                            argv[optind]);
                return NULL;
        }
        return argv[optind];
}
