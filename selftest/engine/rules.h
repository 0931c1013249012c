/* SPDX-License-Identifier: MIT */
/*
 * Scripted misbehaviour, for the scripted Engine and the scripted broker
 *
 * A rules file has one rule a line, read again whenever the file was replaced:
 *
 *         VERB PATTERN [skip=N] [times=N] [after] ACTION
 *
 * VERB is an HTTP method or a broker verb, or '*'. PATTERN is a shell pattern for the path without
 * "/v1.41" and query, or for the slot id. The rule leaves the first `skip` matching requests alone
 * and then acts on `times` of them (default: all). With `after` the request is carried out first.
 * Actions: hang (no answer, connection stays), drop (connection closed), half (half an answer, then
 * closed), delay=MSEC (answered late), late=MSEC (no answer, carried out that much later: the
 * Engine only), fail=NUMBER (an HTTP status, or an errno for the broker).
 * '#' begins a comment. The first rule that acts is the one.
 */
#pragma once

#include "base/macros.h"

typedef enum Action {
        ACTION_NONE,
        ACTION_HANG,
        ACTION_DROP,
        ACTION_HALF,
        ACTION_DELAY,
        ACTION_LATE,
        ACTION_FAIL,
} Action;

typedef struct Verdict {
        Action action;
        long value;
        bool after; /* carried out, and then the action */
} Verdict;

typedef struct Rules Rules;

/* path NULL: no rules. The file may come later. */
Rules *rules_new(const char *path);
Rules *rules_free(Rules *r);
Verdict rules_judge(Rules *r, const char *verb, const char *subject);
