/* SPDX-License-Identifier: MIT */
/*
 * Provisioning: what `profile apply` makes and `profile remove` takes away
 *
 * apply is a transaction of steps (steps.h). The order follows what needs what: account, disk,
 * slots, limits, user manager, daemon, services; then attestation, and only then is the descriptor
 * published. It adopts nothing that it cannot prove is its own: an account, an image, a mount of
 * that name which this program did not make is refused. Programs of the system (useradd, mkfs.ext4,
 * systemctl, ...) are run from argument vectors.
 */
#pragma once

#include <sys/types.h>

#include "profile/conf.h"
#include "profile/descriptor.h"
#include "profile/paths.h"
#include "profile/steps.h"

/* What this run made: the notes that undo goes by. */
enum {
        MADE_REGISTRY_DIR = 1 << 0,
        MADE_ACCESS_GROUP = 1 << 1,
        MADE_GROUP = 1 << 2,
        MADE_ACCOUNT = 1 << 3,
        MADE_STATE = 1 << 4,
        MADE_HOME = 1 << 5,
        MADE_MARKER = 1 << 6,
        MADE_IMAGE = 1 << 7,
        MADE_MOUNT = 1 << 8,
        MADE_DOCKER_ROOT = 1 << 9,
        MADE_PROJECTS = 1 << 10,
        MADE_SLOT_TABLE = 1 << 11,
        MADE_SLICE = 1 << 12,
        MADE_USER_MANAGER = 1 << 13,
        MADE_LINGER = 1 << 14,
        MADE_TMPFILES = 1 << 15,
        MADE_DAEMON_CONFIG = 1 << 16,
        MADE_DAEMON_DROPIN = 1 << 17,
        MADE_DAEMON_RUNNING = 1 << 18,
        MADE_DESCRIPTOR = 1 << 19,
        MADE_SERVICES_RUNNING = 1 << 20,
        MADE_ENABLED = 1 << 21,
        MADE_PUBLISHED = 1 << 22,
        MADE_SLOTS_DIR = 1 << 23,
        MADE_TARGET_RUNNING = 1 << 24,
        MADE_REGISTRY_PARENT = 1 << 25,
};

typedef struct Apply {
        ProfilePaths p;
        ProfileConf c;
        uint32_t made;
        bool fresh; /* the profile was not there before this run */
        uid_t uid;  /* of the account */
        gid_t gid;
        char machine_identity[33];
        uint32_t first_project; /* project id of the daemon; slots follow */
        uint64_t slots_made;    /* slots 1..N of this run, for undo */
        uint64_t first_slot_made;
        bool daemon_changed, descriptor_changed, table_changed;
        char message[1024]; /* why the failing step failed, and what to do */
        bool quiet;
} Apply;

void apply_done(Apply *a);

/* Steps in their order; *ret_n of them. */
const Step *apply_steps(size_t *ret_n);
/* Removes the profile. Data stays unless delete_data. 0 or -errno with a->message. */
int apply_remove(Apply *a, bool delete_data);

/* ---- shared by the provision-*.c files ---- */

/* Fills a->message and returns error. */
int apply_fail(Apply *a, int error, const char *fmt, ...) PRINTF_FORMAT(3, 4);
/* Runs a program, at most timeout seconds. 0, or -EIO/-errno with its output in a->message. */
int apply_run(Apply *a, unsigned timeout_sec, const char *program, ...) __attribute__((sentinel));
/* The same, silent, result ignored: for undo. */
void undo_run(const char *program, ...) __attribute__((sentinel));
/* Writes a root-owned file 0644 when it differs. 1 written, 0 same, -errno. bit is noted when it
 * was not there before. */
int apply_file(Apply *a, const char *path, const char *text, uint32_t bit);
/* Unit-manager facts: `systemctl show -P PROPERTY UNIT`, owned by the caller, NULL when it fails.
 */
char *unit_property(const char *unit, const char *property);
bool unit_active(const char *unit);

int step_preflight(void *ctx);
int step_egress(void *ctx);
int step_modules(void *ctx);
int step_access_group(void *ctx);
void undo_access_group(void *ctx);
int step_account(void *ctx);
void undo_account(void *ctx);
int step_subordinate_ids(void *ctx);
int step_access_users(void *ctx);
int step_state(void *ctx);
void undo_state(void *ctx);
int step_image(void *ctx);
void undo_image(void *ctx);
int step_mount(void *ctx);
void undo_mount(void *ctx);
int step_daemon_folder(void *ctx);
int step_slots(void *ctx);
void undo_slots(void *ctx);
int step_slot_table(void *ctx);
void undo_slot_table(void *ctx);
int step_slice(void *ctx);
void undo_slice(void *ctx);
int step_user_manager(void *ctx);
void undo_user_manager(void *ctx);
int step_run_dir(void *ctx);
void undo_run_dir(void *ctx);
int step_daemon_config(void *ctx);
void undo_daemon_config(void *ctx);
int step_daemon(void *ctx);
void undo_daemon(void *ctx);
int step_descriptor(void *ctx);
void undo_descriptor(void *ctx);
int step_services(void *ctx);
void undo_services(void *ctx);
int step_attest(void *ctx);
int step_enable(void *ctx);
void undo_enable(void *ctx);
int step_publish(void *ctx);
void undo_publish(void *ctx);

/* This profile's lines in /etc/projects and /etc/projid are taken out. */
int projects_remove(Apply *a);
/* Finds uid and gid of the account; -ENOENT. */
int apply_find_account(Apply *a);
