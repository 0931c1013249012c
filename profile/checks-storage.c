/* SPDX-License-Identifier: MIT */
/* Storage checks: the pool is ours, really allocated, under quota, and each slot is as it must be.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/doctor.h"
#include "profile/slotfs.h"

static void apply_again(const Doctor *d, Finding *f) {
        finding_cure(f, "dindhost profile apply %s", d->alias);
}

static void check_mount(Doctor *d, Finding *f) {
        const char *mount = d->descriptor->mount_path;
        char identity[64];
        struct stat st;
        int r = slotfs_device(mount, &d->device);

        if (r < 0) {
                finding_fail(f,
                             r == -ENOENT ? "nothing is mounted at %s" : "%s cannot be looked up",
                             mount);
                finding_cure(f, "systemctl start dindhost-storage@%s.service", d->alias);
                return;
        }
        if (stat(mount, &st) < 0) {
                finding_fail(f, "%s: %s", mount, strerror(errno));
                apply_again(d, f);
                return;
        }
        snprintf(identity,
                 sizeof(identity),
                 "dev=%llu:ino=%llu",
                 (unsigned long long) st.st_dev,
                 (unsigned long long) st.st_ino);
        if (strcmp(identity, d->descriptor->filesystem_identity)) {
                finding_fail(f,
                             "%s is %s, published is %s",
                             mount,
                             identity,
                             d->descriptor->filesystem_identity);
                apply_again(d, f);
                return;
        }
        finding_pass(f, "%s at %s, %s", d->device, mount, identity);
}

/* What the kernel says lies behind the loop device, or NULL. */
static char *backing_file(const char *device) {
        CLEANUP(freep) char *path = NULL;
        char *text = NULL;

        if (!text_has_prefix(device, "/dev/loop"))
                return NULL;
        path = text_format("/sys/block/%s/loop/backing_file", device + strlen("/dev/"));
        if (!path || file_read(path, 4096, &text, NULL) < 0)
                return NULL;
        text[strcspn(text, "\n")] = 0;
        return text;
}

/* A hole in the image is space that others can take: the slots' promise would be a sparse one. */
static void check_image(Doctor *d, Finding *f) {
        CLEANUP(freep) char *backing = backing_file(d->device);
        const char *path = d->paths.pool_image;
        char size[32], holes[32];
        uint64_t allocated;
        struct stat st;

        if (lstat(path, &st) < 0) {
                finding_fail(f, "%s: %s", path, strerror(errno));
                apply_again(d, f);
                return;
        }
        allocated = (uint64_t) st.st_blocks * 512;
        format_size_human(size, sizeof(size), (uint64_t) st.st_size);
        if (!S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & 0077))
                finding_fail(f, "%s must be a file of root's alone", path);
        else if ((uint64_t) st.st_size != d->conf.pool_bytes)
                finding_fail(f,
                             "%s has %s, PoolSize= says %llu bytes",
                             path,
                             size,
                             (unsigned long long) d->conf.pool_bytes);
        else if (allocated < (uint64_t) st.st_size)
                finding_fail(f,
                             "%s is sparse: %s of its %s are not allocated",
                             path,
                             format_size_human(holes,
                                               sizeof(holes),
                                               (uint64_t) st.st_size - allocated),
                             size);
        else if (!backing || strcmp(backing, path))
                finding_fail(f, "%s is mounted, not %s", backing ? backing : d->device, path);
        else {
                finding_pass(f, "%s, %s, all allocated", path, size);
                return;
        }
        finding_cure(f,
                     "allocate it again (systemctl stop dindhost@%s.target; fallocate -l SIZE %s), "
                     "then 'dindhost profile apply %s'",
                     d->alias,
                     path,
                     d->alias);
}

static void check_quota(Doctor *d, Finding *f) {
        int r = slotfs_quota_on(d->device);

        if (r > 0) {
                finding_pass(f, "project quota is accounted and enforced on %s", d->device);
                return;
        }
        if (r == -EPERM || r == -EACCES) {
                finding_fail(f, "only root may ask for the quota of %s", d->device);
                finding_cure(f, "run as root");
                return;
        }
        finding_fail(f,
                     "project quota is off on %s%s%s",
                     d->device,
                     r < 0 ? ": " : "",
                     r < 0 ? strerror(-r) : "");
        finding_cure(f,
                     "mount it with prjquota: systemctl restart dindhost-storage@%s.service",
                     d->alias);
}

/* Facts of a folder on the pool. */
static bool folder_facts(const Doctor *d, const char *path, SlotFacts *ret, Finding *f) {
        CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int r = fd < 0 ? -errno : slotfs_facts(fd, d->device, ret);

        if (r >= 0)
                return true;
        finding_fail(f, "%s: %s", path, strerror(-r));
        if (r == -EACCES || r == -EPERM)
                finding_cure(f, "run as root");
        else
                apply_again(d, f);
        return false;
}

/* Images of the outer daemon must not eat the slots' room. */
static void check_daemon_folder(Doctor *d, Finding *f) {
        const char *path = d->paths.docker_root;
        char text[32];
        SlotFacts s;

        if (!folder_facts(d, path, &s, f))
                return;
        if (s.project_id == 0 || !s.project_inherit)
                finding_fail(f, "%s has no project of its own", path);
        else if (s.limit_bytes != d->conf.daemon_bytes)
                finding_fail(f,
                             "%s is limited to %llu bytes, DaemonSize= says %llu",
                             path,
                             (unsigned long long) s.limit_bytes,
                             (unsigned long long) d->conf.daemon_bytes);
        else if (s.uid != d->uid)
                finding_fail(f, "%s belongs to uid %u", path, (unsigned) s.uid);
        else {
                finding_pass(f,
                             "project %u, %s used of %llu MiB",
                             s.project_id,
                             format_size_human(text, sizeof(text), s.used_bytes),
                             (unsigned long long) s.limit_bytes >> 20);
                return;
        }
        apply_again(d, f);
}

static void check_slot_table(Doctor *d, Finding *f) {
        CLEANUP(freep) char *message = NULL;
        int r = slot_table_load(d->paths.slot_table, &d->slots, &message);

        if (r < 0)
                finding_fail(f, "%s", message ? message : strerror(-r));
        else if (d->slots.n_slots != d->descriptor->pool_count || d->slots.n_slots != d->conf.slots)
                finding_fail(f,
                             "%zu slots in the table, %llu published, Slots= says %llu",
                             d->slots.n_slots,
                             (unsigned long long) d->descriptor->pool_count,
                             (unsigned long long) d->conf.slots);
        else {
                finding_pass(f, "%zu slots", d->slots.n_slots);
                return;
        }
        apply_again(d, f);
}

/* What a slot's check says of one slot: false and words of what is wrong. */
typedef bool
SlotJudge(const Doctor *d, const SlotEntry *e, const SlotFacts *s, char *why, size_t n);

static void each_slot(Doctor *d, SlotJudge *judge, const char *holds, Finding *f) {
        char why[512];

        for (size_t i = 0; i < d->slots.n_slots; i++) {
                const SlotEntry *e = d->slots.slots + i;
                CLEANUP(freep) char *path = text_format("%s/%s", d->slots.slots_dir, e->id);
                SlotFacts s;

                if (!path || !folder_facts(d, path, &s, f))
                        return;
                if (!judge(d, e, &s, why, sizeof(why))) {
                        finding_fail(f, "%s %s", e->id, why);
                        finding_cure(f,
                                     "dindhost profile apply %s; a slot that is in quarantine is "
                                     "retried by the service: dindhost status %s",
                                     d->alias,
                                     d->alias);
                        return;
                }
        }
        finding_pass(f, "%zu slots: %s", d->slots.n_slots, holds);
}

static bool
judge_project(const Doctor *d UNUSED, const SlotEntry *e, const SlotFacts *s, char *why, size_t n) {
        if (s->project_id == e->project_id && s->project_inherit)
                return true;
        snprintf(why,
                 n,
                 "has project %u%s, must have %u and hand it down",
                 s->project_id,
                 s->project_inherit ? "" : " and does not hand it down",
                 e->project_id);
        return false;
}

static void check_slot_projects(Doctor *d, Finding *f) {
        each_slot(d, judge_project, "each has its own project and hands it down", f);
}

static bool
judge_limits(const Doctor *d UNUSED, const SlotEntry *e, const SlotFacts *s, char *why, size_t n) {
        if (s->limit_bytes == e->limit_bytes && s->limit_inodes == e->limit_inodes)
                return true;
        snprintf(why,
                 n,
                 "is limited to %llu bytes and %llu inodes, must be %llu and %llu",
                 (unsigned long long) s->limit_bytes,
                 (unsigned long long) s->limit_inodes,
                 (unsigned long long) e->limit_bytes,
                 (unsigned long long) e->limit_inodes);
        return false;
}

static void check_slot_limits(Doctor *d, Finding *f) {
        each_slot(d, judge_limits, "each has its hard limits of bytes and inodes", f);
}

/* State of a slot in the service's words, or NULL. */
static const char *slot_state(const Doctor *d, const char *id) {
        const json_t *list = json_object_get(d->status, "slots");

        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *slot = json_array_get(list, i);
                const char *name = json_string_value(json_object_get(slot, "slotId"));

                if (name && !strcmp(name, id))
                        return json_string_value(json_object_get(slot, "state"));
        }
        return NULL;
}

static bool slot_is_free(const Doctor *d, const char *id) {
        const char *state = slot_state(d, id);

        return state && !strcmp(state, "free");
}

/* While a sandbox uses a slot its root may change owner and mode; free ones must be as they were.
 */
static bool
judge_owner(const Doctor *d, const SlotEntry *e, const SlotFacts *s, char *why, size_t n) {
        if (!slot_is_free(d, e->id) || (s->uid == e->uid && s->gid == e->gid && s->mode == e->mode))
                return true;
        snprintf(why,
                 n,
                 "belongs to %u:%u with mode %04o, must be %u:%u and %04o",
                 (unsigned) s->uid,
                 (unsigned) s->gid,
                 (unsigned) s->mode,
                 (unsigned) e->uid,
                 (unsigned) e->gid,
                 (unsigned) e->mode);
        return false;
}

static void check_slot_owners(Doctor *d, Finding *f) {
        each_slot(d, judge_owner, "free ones have the right owner and mode", f);
}

static bool
judge_empty(const Doctor *d, const SlotEntry *e, const SlotFacts *s, char *why, size_t n) {
        const char *state = slot_state(d, e->id);

        if (!state) {
                snprintf(why, n, "is not known to the service");
                return false;
        }
        if (strcmp(state, "free") || (s->empty && s->used_inodes <= 1))
                return true;
        snprintf(why,
                 n,
                 "is said to be free, but holds %llu inodes and %llu bytes",
                 (unsigned long long) s->used_inodes,
                 (unsigned long long) s->used_bytes);
        return false;
}

static void check_slots_empty(Doctor *d, Finding *f) {
        each_slot(d, judge_empty, "free ones are empty", f);
}

/* clang-format off */
static const Check checks[] = {
        { "storage.mount",         "the pool is mounted and is the published file system",  "profile.descriptor", check_mount },
        { "storage.image",         "the pool image is ours and allocated in full",          "profile.file storage.mount", check_image },
        { "storage.quota",         "project quota is on",                                   "storage.mount", check_quota },
        { "storage.daemon",        "the outer daemon's data has a limit of its own",        "profile.file profile.account storage.quota", check_daemon_folder },
        { "storage.slot-table",    "the slot table is what is published",                   "profile.file profile.descriptor", check_slot_table },
        { "storage.slot-projects", "each slot has its project",                             "storage.quota storage.slot-table", check_slot_projects },
        { "storage.slot-limits",   "each slot has its hard limits",                         "storage.quota storage.slot-table", check_slot_limits },
        { "storage.slot-owners",   "each free slot has its owner and mode",                 "control.status storage.quota storage.slot-table", check_slot_owners },
        { "storage.slots-empty",   "each free slot is empty",                               "control.status storage.quota storage.slot-table", check_slots_empty },
};
/* clang-format on */

const CheckTable checks_storage = { checks, N_ELEMENTS(checks) };
