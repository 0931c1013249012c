/* SPDX-License-Identifier: MIT */
#include "profile/slots.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"

#define SLOT_TABLE_MAX (4 * 1024 * 1024)

void slot_table_donep(SlotTable *t) {
        free(t->slots);
        free(t->slots_dir);
        free(t->mount);
        *t = (SlotTable){ 0 };
}

void slot_id_format(char ret[static SLOT_ID_SIZE], uint32_t number) {
        snprintf(ret, SLOT_ID_SIZE, "slot-%04u", number);
}

uint32_t slot_id_parse(const char *id) {
        char again[SLOT_ID_SIZE];
        unsigned number;

        if (sscanf(id, "slot-%9u", &number) != 1 || number == 0)
                return 0;
        slot_id_format(again, number);
        return !strcmp(again, id) ? number : 0;
}

/* One slot; what is not named in the format is an error ("!"). */
static int read_slot(json_t *v, SlotEntry *ret) {
        json_int_t project, bytes, inodes, uid, gid, mode;
        const char *id;
        SlotEntry e = { 0 };

        if (json_unpack(v,
                        "{s:s, s:I, s:I, s:I, s:I, s:I, s:I !}",
                        "slotId",
                        &id,
                        "projectId",
                        &project,
                        "limitBytes",
                        &bytes,
                        "limitInodes",
                        &inodes,
                        "ownerUid",
                        &uid,
                        "ownerGid",
                        &gid,
                        "mode",
                        &mode) < 0)
                return -EINVAL;
        e.number = slot_id_parse(id);
        if (!e.number || project <= 0 || project > UINT32_MAX || bytes <= 0 || inodes <= 0 ||
            uid < 0 || uid >= UINT32_MAX || gid < 0 || gid >= UINT32_MAX || mode < 0 ||
            mode > 07777)
                return -EINVAL;
        slot_id_format(e.id, e.number);
        e.project_id = (uint32_t) project;
        e.limit_bytes = (uint64_t) bytes;
        e.limit_inodes = (uint64_t) inodes;
        e.uid = (uid_t) uid;
        e.gid = (gid_t) gid;
        e.mode = (mode_t) mode;
        *ret = e;
        return 0;
}

/* Two slots of one project would share one quota. */
static bool project_taken(const SlotTable *t, uint32_t project_id) {
        for (size_t i = 0; i < t->n_slots; i++)
                if (t->slots[i].project_id == project_id)
                        return true;
        return false;
}

static int read_table(json_t *root, SlotTable *t, char *why, size_t n_why) {
        const char *slots_dir, *mount;
        json_t *slots;
        int version;

        if (json_unpack(root,
                        "{s:i, s:s, s:s, s:o !}",
                        "schemaVersion",
                        &version,
                        "mount",
                        &mount,
                        "slotsDir",
                        &slots_dir,
                        "slots",
                        &slots) < 0 ||
            version != 1 || !json_is_array(slots)) {
                snprintf(why, n_why, "not a slot table of version 1");
                return -EINVAL;
        }
        t->slots_dir = strdup(slots_dir);
        t->mount = strdup(mount);
        t->slots = calloc(json_array_size(slots) + 1, sizeof(*t->slots));
        if (!t->slots_dir || !t->mount || !t->slots)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(slots); i++) {
                if (read_slot(json_array_get(slots, i), t->slots + i) < 0 ||
                    t->slots[i].number != i + 1) {
                        snprintf(why, n_why, "slots[%zu] is not a slot, or out of order", i);
                        return -EINVAL;
                }
                if (project_taken(t, t->slots[i].project_id)) {
                        snprintf(why, n_why, "slots[%zu] shares its project id with another", i);
                        return -EINVAL;
                }
                t->n_slots++;
        }
        return 0;
}

int slot_table_load(const char *path, SlotTable *ret, char **ret_message) {
        CLEANUP(slot_table_donep) SlotTable t = { 0 };
        CLEANUP(json_decrefp) json_t *root = NULL;
        CLEANUP(freep) char *text = NULL;
        char why[256] = "";
        size_t n = 0;
        int r;

        r = file_read(path, SLOT_TABLE_MAX, &text, &n);
        if (r >= 0)
                r = json_read(text, n, &root, why, sizeof(why));
        if (r >= 0)
                r = read_table(root, &t, why, sizeof(why));
        if (r < 0) {
                *ret_message = text_format("%s: %s; run 'dindhost profile apply' again",
                                           path,
                                           why[0] ? why : strerror(-r));
                return r;
        }
        *ret = t;
        t = (SlotTable){ 0 };
        return 0;
}

int slot_table_format(const SlotTable *t, char **ret) {
        CLEANUP(json_decrefp) json_t *slots = json_array(), *root = NULL;

        for (size_t i = 0; i < t->n_slots; i++) {
                const SlotEntry *e = t->slots + i;

                if (json_array_append_new(slots,
                                          json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I}",
                                                    "slotId",
                                                    e->id,
                                                    "projectId",
                                                    (json_int_t) e->project_id,
                                                    "limitBytes",
                                                    (json_int_t) e->limit_bytes,
                                                    "limitInodes",
                                                    (json_int_t) e->limit_inodes,
                                                    "ownerUid",
                                                    (json_int_t) e->uid,
                                                    "ownerGid",
                                                    (json_int_t) e->gid,
                                                    "mode",
                                                    (json_int_t) e->mode)) < 0)
                        return -ENOMEM;
        }
        root = json_pack("{s:i, s:s, s:s, s:O}",
                         "schemaVersion",
                         1,
                         "mount",
                         t->mount,
                         "slotsDir",
                         t->slots_dir,
                         "slots",
                         slots);
        return root ? json_canonical(root, ret, NULL) : -ENOMEM;
}
