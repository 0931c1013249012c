/* SPDX-License-Identifier: MIT */
/* The pool: image, mount, the daemon's folder, slots with their projects and limits. */
#include <blkid.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/provision.h"
#include "profile/slotfs.h"
#include "profile/slots.h"

#define PROJECT_FIRST 900000u /* far from what admins number by hand */

/* ---- image ---- */

/* The file system that is in the image, or "" (owned by the caller). */
static char *image_type(const char *path) {
        char *type = blkid_get_tag_value(NULL, "TYPE", path);

        return type ? type : strdup("");
}

/* An image that is there must be ours: size, allocation, file system and label. 0 or -errno. */
static int check_image(Apply *a) {
        CLEANUP(freep) char *type = image_type(a->p.pool_image);
        char want[32], have[32];
        struct stat st;

        if (lstat(a->p.pool_image, &st) < 0)
                return apply_fail(a, -errno, "%s: %s", a->p.pool_image, strerror(errno));
        if (!S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & 077))
                return apply_fail(a,
                                  -EEXIST,
                                  "%s is not a file of root alone; move it away",
                                  a->p.pool_image);
        if ((uint64_t) st.st_size != a->c.pool_bytes)
                return apply_fail(
                                a,
                                -EEXIST,
                                "%s has %s, the profile file says PoolSize=%s; set that back, or remove the profile with --delete-data",
                                a->p.pool_image,
                                format_size(have, sizeof(have), (uint64_t) st.st_size),
                                format_size(want, sizeof(want), a->c.pool_bytes));
        if (!type || strcmp(type, "ext4"))
                return apply_fail(a,
                                  -EEXIST,
                                  "%s holds '%s' and not the ext4 of a pool; move it away",
                                  a->p.pool_image,
                                  type ? type : "?");
        return 0;
}

/* Holes may have come from a discard: the room is promised, so it is allocated again. */
static int allocate_again(Apply *a) {
        CLEANUP(fd_closep) int fd = open(a->p.pool_image, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return apply_fail(a, -errno, "%s: %s", a->p.pool_image, strerror(errno));
        if ((uint64_t) st.st_blocks * 512 >= a->c.pool_bytes)
                return 0;
        if (fallocate(fd, 0, 0, (off_t) a->c.pool_bytes) < 0)
                return apply_fail(a, -errno, "%s: %s", a->p.pool_image, strerror(errno));
        return 1;
}

static int check_room(Apply *a) {
        char need[32], have[32];
        struct statvfs v;
        uint64_t room;

        if (statvfs(a->p.state, &v) < 0)
                return apply_fail(a, -errno, "%s: %s", a->p.state, strerror(errno));
        room = (uint64_t) v.f_bavail * v.f_frsize;
        if (room < a->c.pool_bytes)
                return apply_fail(a,
                                  -ENOSPC,
                                  "[Storage] PoolSize=%s does not fit: %s has %s free",
                                  format_size(need, sizeof(need), a->c.pool_bytes),
                                  a->p.state,
                                  format_size_human(have, sizeof(have), room));
        return 0;
}

static int fill_image(Apply *a, const char *path) {
        CLEANUP(fd_closep) int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        if (fd < 0 || fallocate(fd, 0, 0, (off_t) a->c.pool_bytes) < 0)
                return apply_fail(a, -errno, "%s: %s", path, strerror(errno));
        /*
         * nodiscard: mkfs would else give most of the room back at once. Nothing lazy: the kernel
         * would zero the rest later by way of the loop device, which punches holes for zeroes.
         */
        return apply_run(a,
                         600,
                         "mkfs.ext4",
                         "-q",
                         "-F",
                         "-m",
                         "0",
                         "-i",
                         "16384",
                         "-L",
                         "dindhost",
                         "-O",
                         "project,quota",
                         "-E",
                         "quotatype=prjquota,nodiscard,lazy_itable_init=0,lazy_journal_init=0",
                         path,
                         NULL);
}

int step_image(void *ctx) {
        Apply *a = ctx;
        CLEANUP(freep) char *tmp = text_format("%s.new", a->p.pool_image);
        int r;

        if (!tmp)
                return -ENOMEM;
        if (access(a->p.pool_image, F_OK) == 0) {
                r = check_image(a);
                return r < 0 ? r : allocate_again(a);
        }
        r = check_room(a);
        if (r < 0)
                return r;
        (void) unlink(tmp); /* of a run that was killed */
        r = fill_image(a, tmp);
        if (r >= 0 && rename(tmp, a->p.pool_image) < 0)
                r = apply_fail(a, -errno, "%s: %s", a->p.pool_image, strerror(errno));
        if (r < 0) {
                (void) unlink(tmp);
                return r;
        }
        a->made |= MADE_IMAGE;
        r = allocate_again(a);
        return r < 0 ? r : 1;
}

void undo_image(void *ctx) {
        Apply *a = ctx;

        if (a->made & MADE_IMAGE)
                (void) unlink(a->p.pool_image);
}

/* ---- mount ---- */

static void storage_unit(const Apply *a, char *ret, size_t n) {
        snprintf(ret, n, "dindhost-storage@%s.service", a->p.alias);
}

int step_mount(void *ctx) {
        Apply *a = ctx;
        CLEANUP(freep) char *device = NULL;
        char unit[96];
        int r, changed;

        changed = dir_make(a->p.mount, slotfs_device(a->p.mount, &device) >= 0 ? 0711 : 0700, 0, 0);
        if (changed < 0)
                return apply_fail(a, changed, "%s: %s", a->p.mount, strerror(-changed));
        storage_unit(a, unit, sizeof(unit));
        if (!device || !unit_active(unit)) {
                r = apply_run(a, 300, "systemctl", "start", unit, NULL);
                if (r < 0)
                        return r;
                a->made |= MADE_MOUNT;
                changed = 1;
                free(device);
                device = NULL;
                r = slotfs_device(a->p.mount, &device);
                if (r < 0)
                        return apply_fail(a,
                                          r,
                                          "%s started, but nothing is mounted at %s",
                                          unit,
                                          a->p.mount);
        }
        r = slotfs_quota_on(device);
        if (r <= 0)
                return apply_fail(a,
                                  r < 0 ? r : -EOPNOTSUPP,
                                  "project quota is not on for %s at %s",
                                  device,
                                  a->p.mount);
        r = dir_make(a->p.mount, 0711, 0, 0);
        return r < 0 ? apply_fail(a, r, "%s: %s", a->p.mount, strerror(-r)) : changed | r;
}

void undo_mount(void *ctx) {
        Apply *a = ctx;
        char unit[96];

        if (!(a->made & MADE_MOUNT))
                return;
        storage_unit(a, unit, sizeof(unit));
        undo_run("systemctl", "stop", unit, NULL);
        (void) rmdir(a->p.mount);
}

/* ---- projects ---- */

static bool id_is_taken(const char *file, uint32_t first, uint32_t n, const char *own) {
        CLEANUP(freep) char *text = NULL;
        char *save = NULL;

        if (file_read(file, 16 * 1024 * 1024, &text, NULL) < 0)
                return false;
        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                /* /etc/projects is ID:PATH, /etc/projid is NAME:ID */
                const char *number = text_has_suffix(file, "projid") ? strrchr(line, ':') : line;
                unsigned long id;

                if (!number || strstr(line, own))
                        continue;
                id = strtoul(number + (*number == ':'), NULL, 10);
                if (id >= first && id < (unsigned long) first + n)
                        return true;
        }
        return false;
}

/* What an earlier run took stays; else the first row of ids that nobody has registered. */
static int choose_projects(Apply *a) {
        CLEANUP(slot_table_donep) SlotTable t = { 0 };
        CLEANUP(freep) char *ignored = NULL;
        char own[64];

        if (slot_table_load(a->p.slot_table, &t, &ignored) >= 0 && t.n_slots > 0) {
                a->first_project = t.slots[0].project_id - 1;
                return 0;
        }
        snprintf(own, sizeof(own), "dindhost-%s-", a->p.alias);
        for (uint32_t first = PROJECT_FIRST; first < 4000000000u; first += SLOTS_MAX + 1)
                if (!id_is_taken("/etc/projects", first, SLOTS_MAX + 1, a->p.state) &&
                    !id_is_taken("/etc/projid", first, SLOTS_MAX + 1, own)) {
                        a->first_project = first;
                        return 0;
                }
        return apply_fail(a, -ENOSPC, "no project ids are free in /etc/projects and /etc/projid");
}

/* A folder with owner, project and limits as they must be. 1 changed, 0 was so, -errno. */
static int make_quota_folder(Apply *a,
                             const char *path,
                             uint32_t project,
                             uint64_t bytes,
                             uint64_t inodes,
                             mode_t mode) {
        CLEANUP(fd_closep) int fd = -EBADF;
        CLEANUP(freep) char *device = NULL;
        SlotFacts f = { 0 };
        int r, changed;

        changed = access(path, F_OK) < 0 ? dir_make(path, mode, a->uid, a->gid) : 0;
        if (changed < 0)
                return apply_fail(a, changed, "%s: %s", path, strerror(-changed));
        fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        r = fd < 0 ? -errno : slotfs_device(a->p.mount, &device);
        if (r >= 0)
                r = slotfs_facts(fd, device, &f);
        if (r < 0)
                return apply_fail(a, r, "%s: %s", path, strerror(-r));
        if (f.project_id != project || !f.project_inherit) {
                if (!f.empty)
                        return apply_fail(
                                        a,
                                        -EEXIST,
                                        "%s is not empty and not of project %u: not made by dindhost",
                                        path,
                                        project);
                r = slotfs_set_project(fd, project);
                changed = 1;
        }
        if (r >= 0 &&
            (f.limit_bytes != bytes || f.limit_inodes != inodes || f.project_id != project)) {
                r = slotfs_set_limits(device, project, bytes, inodes);
                changed = 1;
        }
        return r < 0 ? apply_fail(a, r, "%s: cannot set its quota: %s", path, strerror(-r))
                     : changed;
}

int step_daemon_folder(void *ctx) {
        Apply *a = ctx;
        int r = choose_projects(a);

        return r < 0 ? r
                     : make_quota_folder(a,
                                         a->p.docker_root,
                                         a->first_project,
                                         a->c.daemon_bytes,
                                         a->c.daemon_bytes / 16384,
                                         0710);
}

static void slot_entry(const Apply *a, uint32_t number, SlotEntry *ret) {
        *ret = (SlotEntry){
                .number = number,
                .project_id = a->first_project + number,
                .limit_bytes = a->c.slot_bytes,
                .limit_inodes = a->c.slot_inodes,
                .uid = a->uid,
                .gid = a->gid,
                .mode = 0700,
        };
        slot_id_format(ret->id, number);
}

int step_slots(void *ctx) {
        Apply *a = ctx;
        int r, changed;

        changed = dir_make(a->p.slots_dir, 0711, 0, 0);
        if (changed < 0)
                return apply_fail(a, changed, "%s: %s", a->p.slots_dir, strerror(-changed));
        for (uint32_t i = 1; i <= a->c.slots; i++) {
                CLEANUP(freep) char *path = NULL;
                SlotEntry e;

                slot_entry(a, i, &e);
                path = text_format("%s/%s", a->p.slots_dir, e.id);
                if (!path)
                        return -ENOMEM;
                if (access(path, F_OK) < 0 && !a->first_slot_made)
                        a->first_slot_made = i;
                if (a->first_slot_made)
                        a->slots_made = i;
                r = make_quota_folder(a, path, e.project_id, e.limit_bytes, e.limit_inodes, e.mode);
                if (r < 0)
                        return r;
                changed |= r;
        }
        return changed;
}

/* Slots that this run added to a pool that stays; a new pool goes as a whole. */
void undo_slots(void *ctx) {
        Apply *a = ctx;

        for (uint64_t i = a->first_slot_made; i && i <= a->slots_made; i++) {
                char path[300], id[SLOT_ID_SIZE];

                slot_id_format(id, (uint32_t) i);
                snprintf(path, sizeof(path), "%s/%s", a->p.slots_dir, id);
                (void) rmdir(path);
        }
}

/* ---- slot table, /etc/projects, /etc/projid ---- */

/* The file without the lines that hold `own`, and with `lines` at its end. */
static int rewrite_lines(const char *file, const char *own, const char *lines) {
        CLEANUP(freep) char *text = NULL, *out = NULL;
        size_t n = 0, k = 0;
        char *save = NULL;

        if (file_read(file, 16 * 1024 * 1024, &text, &n) < 0)
                text = strdup("");
        out = malloc(n + strlen(lines) + 2);
        if (!text || !out)
                return -ENOMEM;
        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
                if (!strstr(line, own))
                        k += (size_t) sprintf(out + k, "%s\n", line);
        k += (size_t) sprintf(out + k, "%s", lines);
        if (file_equals(file, out, k))
                return 0;
        if (k == 0 && unlink(file) == 0)
                return 1;
        return file_write_atomic(file, out, k, 0644, 0, 0) < 0 ? -EIO : 1;
}

static int register_projects(Apply *a, bool add) {
        CLEANUP(freep) char *projects = calloc(a->c.slots + 2, 320);
        CLEANUP(freep) char *names = calloc(a->c.slots + 2, 320);
        char own_path[300], own_name[64];
        size_t n = 0, k = 0;
        int r, e;

        if (!projects || !names)
                return -ENOMEM;
        snprintf(own_path, sizeof(own_path), ":%s/", a->p.mount);
        snprintf(own_name, sizeof(own_name), "dindhost-%s-project-", a->p.alias);
        for (uint32_t i = 0; add && i <= a->c.slots; i++) {
                char id[SLOT_ID_SIZE] = "docker";

                if (i > 0)
                        slot_id_format(id, i);
                n += (size_t) sprintf(projects + n,
                                      "%u:%s%s%s\n",
                                      a->first_project + i,
                                      a->p.mount,
                                      i > 0 ? "/slots/" : "/",
                                      id);
                k += (size_t) sprintf(names + k, "%s%s:%u\n", own_name, id, a->first_project + i);
        }
        r = rewrite_lines("/etc/projects", own_path, projects);
        e = rewrite_lines("/etc/projid", own_name, names);
        if (r < 0 || e < 0)
                return apply_fail(a, -EIO, "cannot write /etc/projects and /etc/projid");
        return r | e;
}

int projects_remove(Apply *a) {
        return register_projects(a, false);
}

int step_slot_table(void *ctx) {
        Apply *a = ctx;
        CLEANUP(slot_table_donep) SlotTable t = { 0 };
        CLEANUP(freep) char *text = NULL;
        int r, changed;

        t.slots = calloc(a->c.slots, sizeof(*t.slots));
        t.slots_dir = strdup(a->p.slots_dir);
        t.mount = strdup(a->p.mount);
        if (!t.slots || !t.slots_dir || !t.mount)
                return -ENOMEM;
        for (uint32_t i = 1; i <= a->c.slots; i++)
                slot_entry(a, i, t.slots + t.n_slots++);
        r = slot_table_format(&t, &text);
        if (r < 0)
                return r;
        changed = apply_file(a, a->p.slot_table, text, MADE_SLOT_TABLE);
        if (changed < 0)
                return changed;
        a->table_changed = changed;
        if (a->made & MADE_SLOT_TABLE)
                a->made |= MADE_PROJECTS;
        r = register_projects(a, true);
        return r < 0 ? r : changed | r;
}

void undo_slot_table(void *ctx) {
        Apply *a = ctx;

        if (a->made & MADE_PROJECTS)
                (void) register_projects(a, false);
        if (a->made & MADE_SLOT_TABLE)
                (void) unlink(a->p.slot_table);
}
