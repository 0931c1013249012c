/* SPDX-License-Identifier: MIT */
#include "watchdog/broker/pool.h"

#include <fcntl.h>
#include <libmount.h>
#include <linux/loop.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "profile/slotfs.h"

/* discard would punch holes into the image, and the slots' promise is that it is allocated in full
 */
#define POOL_OPTIONS "loop,prjquota,nodev,nosuid,noatime,nodiscard"

/* Is what is mounted there our image? 1, 0, -errno. */
static int is_our_mount(const ProfilePaths *p, const char *device) {
        CLEANUP(fd_closep) int fd = open(device, O_RDONLY | O_CLOEXEC);
        struct loop_info64 info;
        struct stat st;

        if (fd < 0 || stat(p->pool_image, &st) < 0)
                return -errno;
        if (ioctl(fd, LOOP_GET_STATUS64, &info) < 0)
                return errno == ENXIO || errno == ENOTTY ? 0 : -errno;
        return info.lo_device == st.st_dev && info.lo_inode == st.st_ino;
}

static int do_mount(const ProfilePaths *p) {
        struct libmnt_context *c = mnt_new_context();
        char why[256] = "";
        int code, r = 0;

        if (!c)
                return -ENOMEM;
        mnt_context_set_source(c, p->pool_image);
        mnt_context_set_target(c, p->mount);
        mnt_context_set_fstype(c, "ext4");
        mnt_context_set_options(c, POOL_OPTIONS);
        code = mnt_context_mount(c);
        if (mnt_context_get_excode(c, code, why, sizeof(why)) != 0) {
                log_error(0, "cannot mount %s at %s: %s", p->pool_image, p->mount, why);
                r = -EIO;
        }
        mnt_free_context(c);
        return r;
}

int pool_mount(const ProfilePaths *p) {
        CLEANUP(freep) char *device = NULL;
        int r = slotfs_device(p->mount, &device);

        if (r == -ENOENT)
                return do_mount(p);
        if (r < 0)
                return log_error(r, "cannot read the mount table");
        r = is_our_mount(p, device);
        if (r <= 0)
                return log_error(-EBUSY,
                                 "%s is mounted at %s, not our %s; unmount it",
                                 device,
                                 p->mount,
                                 p->pool_image);
        return 1;
}

int pool_unmount(const ProfilePaths *p) {
        CLEANUP(freep) char *device = NULL;
        int r = slotfs_device(p->mount, &device);

        if (r == -ENOENT)
                return 0;
        if (r < 0)
                return log_error(r, "cannot read the mount table");
        if (umount2(p->mount, UMOUNT_NOFOLLOW) < 0)
                return log_error(-errno, "cannot unmount %s", p->mount);
        return 0;
}
