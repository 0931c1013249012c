/* SPDX-License-Identifier: MIT */
/* After the give-back: that nothing of the sandbox is left, asked of those who would know. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "profile/procs.h"
#include "profile/slotfs.h"
#include "profile/smoke-internal.h"

static void left_over(const Doctor *d, Finding *f) {
        finding_cure(f,
                     "journalctl -u dindhost-watchdog@%s tells why; systemctl restart "
                     "dindhost@%s.target ends every sandbox of the profile",
                     d->alias,
                     d->alias);
}

/* Lists what carries this reservation's label; false with the finding made. */
static bool none_labelled(Doctor *d, const char *list, Finding *f) {
        CLEANUP(freep)
        char *text = text_format("{\"label\":[\"niceeval.reservation-id=%s\"]}",
                                 d->smoke->reservation_id);
        CLEANUP(freep) char *filter = text ? engine_escape(text) : NULL;
        CLEANUP(freep) char *path = filter ? text_format("%sfilters=%s", list, filter) : NULL;
        CLEANUP(json_decrefp) json_t *found = NULL;
        long status;

        if (!path || !smoke_engine(d, "GET", path, d->conf.engine_timeout_usec, &status, &found, f))
                return false;
        if (status != 200 || !json_is_array(found)) {
                finding_fail(f, "GET %s: status %ld; nothing is proven", path, status);
                left_over(d, f);
                return false;
        }
        if (json_array_size(found) == 0)
                return true;
        finding_fail(f,
                     "GET %s still finds %zu with this reservation's label",
                     list,
                     json_array_size(found));
        left_over(d, f);
        return false;
}

static bool is_absent(Doctor *d, const char *kind, const char *id, Finding *f) {
        CLEANUP(freep) char *path = text_format("/%s/%s", kind, id);
        long status;

        if (!path || !smoke_engine(d, "GET", path, d->conf.engine_timeout_usec, &status, NULL, f))
                return false;
        if (status == 404)
                return true;
        finding_fail(f, "GET %s: status %ld, must be 404", path, status);
        left_over(d, f);
        return false;
}

void smoke_check_gone_objects(Doctor *d, Finding *f) {
        CLEANUP(freep) char *container = text_format("%s/json", d->smoke->container_id);

        if (container && is_absent(d, "containers", container, f) &&
            is_absent(d, "networks", d->smoke->network_id, f) &&
            none_labelled(d, "/containers/json?all=1&", f) && none_labelled(d, "/networks?", f))
                finding_pass(f, "neither by id nor by label is anything found");
}

void smoke_check_gone_processes(Doctor *d, Finding *f) {
        CLEANUP(freep) char *dir = text_format("/sys/fs/cgroup%s", d->smoke->scope);

        if (dir && access(dir, F_OK) < 0 && errno == ENOENT) {
                finding_pass(f,
                             "the cgroup %s is gone, and with it every process in it",
                             d->smoke->scope);
                return;
        }
        finding_fail(f, "%s is still there", dir ? dir : d->smoke->scope);
        left_over(d, f);
}

/* mountinfo(5): id, parent, device, root within the file system, mount point, ... */
bool mountinfo_has_root(const char *text, const char *root, char *ret, size_t n) {
        size_t k = strlen(root);

        while (*text) {
                char from[4096], at[4096];

                if (sscanf(text, "%*s %*s %*s %4095s %4095s", from, at) == 2 &&
                    !strncmp(from, root, k) && (from[k] == 0 || from[k] == '/')) {
                        snprintf(ret, n, "%s", at);
                        return true;
                }
                text += strcspn(text, "\n");
                text += *text == '\n';
        }
        return false;
}

typedef struct MountSearch {
        const Doctor *d;
        char root[64], at[512];
        Proc found;
} MountSearch;

static bool look_for_mount(void *userdata, const Proc *p) {
        CLEANUP(freep) char *text = NULL;
        MountSearch *s = userdata;
        char path[64];

        if (p->pid != getpid() && p->uids[1] != s->d->uid &&
            (p->uids[1] < s->d->subuid_first ||
             p->uids[1] - s->d->subuid_first >= s->d->subuid_count))
                return true;
        snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int) p->pid);
        if (file_read(path, 16 * 1024 * 1024, &text, NULL) < 0 ||
            !mountinfo_has_root(text, s->root, s->at, sizeof(s->at)))
                return true; /* a process that ended meanwhile holds nothing */
        s->found = *p;
        return false;
}

/* In the host's mount namespace and in those of every process of the profile. */
void smoke_check_gone_mounts(Doctor *d, Finding *f) {
        MountSearch s = { .d = d };
        int r;

        if (geteuid() != 0) {
                finding_fail(f, "only root sees the mounts of the profile's processes");
                finding_cure(f, "run as root");
                return;
        }
        snprintf(s.root,
                 sizeof(s.root),
                 "%s/%s",
                 d->paths.slots_dir + strlen(d->paths.mount),
                 d->smoke->slot_id);
        r = procs_each(look_for_mount, &s);
        if (r < 0)
                finding_fail(f, "the processes cannot be listed: %s", strerror(-r));
        else if (s.found.pid)
                finding_fail(f,
                             "process %d (%s) still has %s mounted at %s",
                             (int) s.found.pid,
                             s.found.comm,
                             d->smoke->slot_id,
                             s.at);
        else {
                finding_pass(f,
                             "no process of the profile or the host has %s mounted",
                             d->smoke->slot_id);
                return;
        }
        left_over(d, f);
}

static const json_t *find_by_id(const json_t *list, const char *key, const char *id) {
        for (size_t i = 0; i < json_array_size(list); i++) {
                const char *text = json_string_value(json_object_get(json_array_get(list, i), key));

                if (text && !strcmp(text, id))
                        return json_array_get(list, i);
        }
        return NULL;
}

/* What the service says of the slot; false with the finding made. */
static bool slot_is_free_again(Doctor *d, Finding *f) {
        CLEANUP(json_decrefp) json_t *status = NULL;
        const Smoke *s = d->smoke;
        const json_t *slot;
        const char *state;
        json_int_t generation;

        if (!smoke_call(d, "status", NULL, d->conf.engine_timeout_usec, &status, NULL, f))
                return false;
        slot = find_by_id(json_object_get(status, "slots"), "slotId", s->slot_id);
        state = json_string_value(json_object_get(slot, "state"));
        generation = json_integer_value(json_object_get(slot, "generation"));
        if (!find_by_id(json_object_get(status, "reservations"),
                        "reservationId",
                        s->reservation_id) &&
            state && !strcmp(state, "free") && generation == s->slot_generation + 1)
                return true;
        /* a busy profile may have given it to somebody else by now: that needs the next generation,
         * too */
        if (state && strcmp(state, "free") && strcmp(state, "quarantined") &&
            generation > s->slot_generation) {
                finding_pass(f,
                             "%s is in use again, generation %lld",
                             s->slot_id,
                             (long long) generation);
                return false;
        }
        finding_fail(f,
                     "%s is %s, generation %lld (was %lld)",
                     s->slot_id,
                     state ? state : "unknown",
                     (long long) generation,
                     (long long) s->slot_generation);
        left_over(d, f);
        return false;
}

void smoke_check_gone_content(Doctor *d, Finding *f) {
        CLEANUP(freep) char *path = text_format("%s/%s", d->paths.slots_dir, d->smoke->slot_id);
        CLEANUP(freep) char *device = NULL;
        CLEANUP(fd_closep) int fd = -EBADF;
        SlotFacts s;
        int r;

        if (!path || !slot_is_free_again(d, f))
                return;
        fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        r = fd < 0 ? -errno : slotfs_device(d->paths.mount, &device);
        if (r >= 0)
                r = slotfs_facts(fd, device, &s);
        if (r < 0) {
                finding_fail(f, "%s: %s", path, strerror(-r));
                finding_cure(f, r == -EACCES || r == -EPERM ? "run as root" : "see storage.mount");
        } else if (!s.empty || s.used_inodes > 1) {
                finding_fail(f,
                             "%s is said to be free, but holds %llu inodes and %llu bytes",
                             d->smoke->slot_id,
                             (unsigned long long) s.used_inodes,
                             (unsigned long long) s.used_bytes);
                left_over(d, f);
        } else
                finding_pass(f,
                             "%s is empty and free, generation %lld",
                             d->smoke->slot_id,
                             (long long) d->smoke->slot_generation + 1);
}
