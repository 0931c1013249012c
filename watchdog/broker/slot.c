/* SPDX-License-Identifier: MIT */
#include "watchdog/broker/slot.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "watchdog/broker/holders.h"
#include "watchdog/broker/tree.h"

/* An empty folder holds one block and one inode of its project. */
#define EMPTY_BYTES_MAX (64 * 1024)
#define EMPTY_INODES 1

typedef struct SlotAccess {
        const SlotEntry *entry;
        int fd;
        char *device;
        char path[4096];
        char fs_root[4096]; /* from the root of the pool's file system */
        dev_t dev;
} SlotAccess;

static void slot_access_done(SlotAccess *a) {
        fd_closep(&a->fd);
        free(a->device);
}

static int say(BrokerReply *reply, int error, const char *fmt, ...) PRINTF_FORMAT(3, 4);
static int say(BrokerReply *reply, int error, const char *fmt, ...) {
        va_list ap;

        reply->error = error;
        va_start(ap, fmt);
        vsnprintf(reply->message, sizeof(reply->message), fmt, ap);
        va_end(ap);
        return error;
}

static const SlotEntry *find_entry(const SlotTable *t, uint32_t number) {
        return number >= 1 && number <= t->n_slots ? t->slots + number - 1 : NULL;
}

/* The pool must be mounted where the table says: else we would work on the root file system. */
static int open_slot(const SlotTable *t, uint32_t number, SlotAccess *a, BrokerReply *reply) {
        CLEANUP(fd_closep) int dir = -EBADF;
        struct stat st, mount;
        int r;

        a->entry = find_entry(t, number);
        if (!a->entry)
                return say(reply, -ENOENT, "there is no slot %u", number);
        r = slotfs_device(t->mount, &a->device);
        if (r < 0)
                return say(reply, -ENODEV, "the pool is not mounted at %s", t->mount);
        dir = open(t->slots_dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (dir >= 0)
                a->fd = openat(dir, a->entry->id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (a->fd < 0)
                return say(reply, -errno, "%s/%s: %s", t->slots_dir, a->entry->id, strerror(errno));
        if (fstat(a->fd, &st) < 0 || stat(t->mount, &mount) < 0)
                return say(reply, -errno, "%s: %s", a->entry->id, strerror(errno));
        if (st.st_dev != mount.st_dev)
                return say(reply, -EXDEV, "%s is not on the pool's file system", a->entry->id);
        a->dev = st.st_dev;
        snprintf(a->path, sizeof(a->path), "%s/%s", t->slots_dir, a->entry->id);
        snprintf(a->fs_root, sizeof(a->fs_root), "%s", a->path + strlen(t->mount));
        return 0;
}

static int read_facts(SlotAccess *a, BrokerReply *reply) {
        int r = slotfs_facts(a->fd, a->device, &reply->facts);

        if (r < 0)
                return say(reply,
                           r,
                           "%s: the kernel does not tell its quota: %s",
                           a->entry->id,
                           strerror(-r));
        reply->has_facts = 1;
        return 0;
}

/* Compares the facts with the table; the first difference is told. */
static int judge(const SlotAccess *a, BrokerReply *reply) {
        const SlotEntry *e = a->entry;
        const SlotFacts *f = &reply->facts;

        if (f->project_id != e->project_id || !f->project_inherit)
                return say(reply,
                           -EUCLEAN,
                           "%s has project %u%s, must have %u, inherited",
                           e->id,
                           f->project_id,
                           f->project_inherit ? "" : " not inherited",
                           e->project_id);
        if (f->limit_bytes != e->limit_bytes || f->limit_inodes != e->limit_inodes)
                return say(reply,
                           -EUCLEAN,
                           "%s is limited to %llu bytes and %llu inodes, must be %llu and %llu",
                           e->id,
                           (unsigned long long) f->limit_bytes,
                           (unsigned long long) f->limit_inodes,
                           (unsigned long long) e->limit_bytes,
                           (unsigned long long) e->limit_inodes);
        if (f->uid != e->uid || f->gid != e->gid || f->mode != e->mode)
                return say(reply,
                           -EUCLEAN,
                           "%s belongs to %u:%u with mode %04o, must be %u:%u and %04o",
                           e->id,
                           (unsigned) f->uid,
                           (unsigned) f->gid,
                           (unsigned) f->mode,
                           (unsigned) e->uid,
                           (unsigned) e->gid,
                           (unsigned) e->mode);
        if (!f->empty)
                return say(reply, -EUCLEAN, "%s is not empty", e->id);
        if (f->used_bytes > EMPTY_BYTES_MAX || f->used_inodes > EMPTY_INODES)
                return say(reply,
                           -EUCLEAN,
                           "%s is empty but %llu bytes and %llu inodes are charged to its project: a deleted file is still held open",
                           e->id,
                           (unsigned long long) f->used_bytes,
                           (unsigned long long) f->used_inodes);
        return 0;
}

static int verify(SlotAccess *a, BrokerReply *reply) {
        int r = read_facts(a, reply);

        return r < 0 ? r : judge(a, reply);
}

/* Whoever uses the slot is named and nothing is touched. */
static int refuse_when_used(SlotAccess *a, BrokerReply *reply) {
        char who[256];
        int r = holders_find(a->path, a->dev, a->fs_root, who, sizeof(who));

        if (r < 0)
                return say(reply, r, "cannot find out who uses %s: %s", a->entry->id, strerror(-r));
        return r > 0 ? say(reply, -EBUSY, "%s is in use: %s", a->entry->id, who) : 0;
}

static int restore(SlotAccess *a, BrokerReply *reply) {
        const SlotEntry *e = a->entry;
        int r;

        if (fchown(a->fd, e->uid, e->gid) < 0 || fchmod(a->fd, e->mode) < 0)
                return say(reply,
                           -errno,
                           "%s: cannot restore owner and mode: %s",
                           e->id,
                           strerror(errno));
        r = slotfs_set_project(a->fd, e->project_id);
        if (r >= 0)
                r = slotfs_set_limits(a->device, e->project_id, e->limit_bytes, e->limit_inodes);
        if (r < 0)
                return say(reply, r, "%s: cannot restore its project: %s", e->id, strerror(-r));
        /* usage is exact only after delayed allocation is settled */
        return syncfs(a->fd) < 0 ? say(reply, -errno, "%s: syncfs: %s", e->id, strerror(errno)) : 0;
}

static int reset(SlotAccess *a, BrokerReply *reply) {
        int r = refuse_when_used(a, reply);

        if (r < 0)
                return r;
        r = tree_empty(a->fd);
        if (r < 0)
                return say(reply, r, "%s cannot be emptied: %s", a->entry->id, strerror(-r));
        r = restore(a, reply);
        return r < 0 ? r : verify(a, reply);
}

bool slot_verb_is_long(uint32_t verb) {
        return verb == BROKER_RESET;
}

void slot_serve(const SlotTable *table, const BrokerRequest *request, BrokerReply *reply) {
        CLEANUP(slot_access_done) SlotAccess a = { .fd = -EBADF };

        *reply = (BrokerReply){ .version = BROKER_WIRE_VERSION, .id = request->id };
        if (request->version != BROKER_WIRE_VERSION || request->verb == 0 ||
            request->verb >= _BROKER_VERB_MAX) {
                (void) say(reply,
                           -EOPNOTSUPP,
                           "version %u verb %u is not known",
                           request->version,
                           request->verb);
                return;
        }
        if (open_slot(table, request->slot, &a, reply) < 0)
                return;
        switch ((BrokerVerb) request->verb) {
        case BROKER_VERIFY:
                (void) verify(&a, reply);
                break;
        case BROKER_FACTS:
                (void) read_facts(&a, reply);
                break;
        case BROKER_RESET:
                (void) reset(&a, reply);
                break;
        case _BROKER_VERB_MAX:
                break;
        }
}
