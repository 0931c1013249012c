/* SPDX-License-Identifier: MIT */
/* Unit tests: cmocka with TAP on standard output, as `make check` reads it. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define RUN_TAP(tests)                                                                             \
        (cmocka_set_message_output(CM_OUTPUT_TAP), cmocka_run_group_tests((tests), NULL, NULL))
