/* SPDX-License-Identifier: MIT */
/*
 * The doctor: a fixed list of checks over host, profile and, with --smoke, one real sandbox
 *
 * A check has a stable id, looks at one thing, and ends in a finding: PASS, FAIL or NOTYET (a
 * promise that this release cannot keep yet, said openly), what was observed, and for a FAIL one
 * line of cure. A check whose prerequisites (`needs`) did not pass is not run: it is a FAIL too,
 * "not checked", so that nothing passes unseen. Checks read through the Doctor and leave what they
 * found there for those that need them; judging is done by pure functions (kernel-text.h), which
 * the unit tests feed.
 */
#pragma once

#include <jansson.h>
#include <sys/types.h>

#include "base/macros.h"
#include "profile/conf.h"
#include "profile/kernel-facts.h"
#include "profile/paths.h"
#include "profile/registry.h"
#include "profile/slots.h"

typedef enum CheckStatus { CHECK_FAIL, CHECK_PASS, CHECK_NOTYET, _CHECK_STATUS_MAX } CheckStatus;

const char *check_status_to_string(CheckStatus s);

/* A zeroed one is a FAIL without words, so a check that forgets to say something has not passed. */
typedef struct Finding {
        CheckStatus status;
        char observed[1024];
        char cure[512];
} Finding;

void finding_pass(Finding *f, const char *fmt, ...) PRINTF_FORMAT(2, 3);
void finding_notyet(Finding *f, const char *fmt, ...) PRINTF_FORMAT(2, 3);
/* Every FAIL says its cure as well: finding_cure() follows. */
void finding_fail(Finding *f, const char *fmt, ...) PRINTF_FORMAT(2, 3);
void finding_cure(Finding *f, const char *fmt, ...) PRINTF_FORMAT(2, 3);
/* Adds "; TEXT" to what was observed. */
void finding_add(Finding *f, const char *fmt, ...) PRINTF_FORMAT(2, 3);

typedef struct Smoke Smoke;

/* What checks have found so far. Fields are valid when the named check passed. */
typedef struct Doctor {
        const char *alias; /* NULL: the host alone is looked at */
        ProfilePaths paths;
        KernelFacts kernel; /* always */
        ProfileConf conf;   /* profile.file */
        uid_t uid;          /* profile.account */
        gid_t gid;
        uint64_t subuid_first, subuid_count; /* profile.subordinate-ids */
        gid_t access_gid;                    /* profile.access-group */
        Registry registry;
        const Descriptor *descriptor; /* profile.descriptor; in the registry */
        const char *digest;
        json_t *status;       /* control.status */
        char generation[128]; /* control.challenge */
        json_t *info;         /* daemon.answers */
        char aggregate[256];  /* cgroup.aggregate: below /sys/fs/cgroup, with leading '/' */
        SlotTable slots;      /* storage.slot-table */
        char *device;         /* storage.mount */
        Smoke *smoke;
} Doctor;

void doctor_done(Doctor *d);

typedef struct Check {
        const char *id;
        const char *title; /* for people: what holds when it passes */
        const char *needs; /* ids of earlier checks, separated by spaces */
        void (*run)(Doctor *d, Finding *f);
} Check;

typedef struct CheckTable {
        const Check *checks;
        size_t n;
} CheckTable;

extern const CheckTable checks_host, checks_profile, checks_daemon, checks_cgroup, checks_storage,
                checks_smoke;

/* One line of the report. */
typedef struct Row {
        const Check *check;
        Finding finding;
} Row;

typedef struct Report {
        Row *rows;
        size_t n, room;
} Report;

/* CLEANUP(report_donep) */
void report_donep(Report *r);

typedef void (*doctor_row_fn)(void *userdata, const Row *row);
/* Runs a table's checks in order, appends their rows and tells fn (may be NULL) of each. -ENOMEM.
 */
int doctor_run(Doctor *d,
               const CheckTable *table,
               Report *report,
               doctor_row_fn fn,
               void *userdata);
bool report_failed(const Report *r);

/* "STATUS  id  observed\n" and for a FAIL "        cure: ...\n", control characters replaced; in
 * new memory, NULL when memory is out. */
char *row_format(const Row *row);
/* The whole as one JSON document. 0 or -ENOMEM. */
int report_json(const Report *r, const char *alias, const char *egress, json_t **ret);
