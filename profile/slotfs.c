/* SPDX-License-Identifier: MIT */
#include "profile/slotfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <libmount.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#ifndef PRJQUOTA
#        define PRJQUOTA 2
#endif
#define QUOTA_BLOCK 1024 /* unit of dqb_bhardlimit: quotactl(2) */

/* 1 empty, 0 not, -errno. */
static int is_empty(int dir_fd) {
        CLEANUP(fd_closep) int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct dirent *d;
        int empty = 1;
        DIR *dir;

        if (fd < 0)
                return -errno;
        dir = fdopendir(fd);
        if (!dir)
                return -errno;
        (void) TAKE_FD(fd);
        errno = 0;
        while (empty && (d = readdir(dir)))
                if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
                        empty = 0;
        if (errno)
                empty = -errno;
        closedir(dir);
        return empty;
}

static int read_quota(const char *device, uint32_t project_id, SlotFacts *f) {
        struct dqblk q = { 0 };

        if (quotactl(QCMD(Q_GETQUOTA, PRJQUOTA), device, (int) project_id, (caddr_t) &q) < 0)
                return -errno;
        f->limit_bytes = q.dqb_bhardlimit * QUOTA_BLOCK;
        f->limit_inodes = q.dqb_ihardlimit;
        f->used_bytes = q.dqb_curspace;
        f->used_inodes = q.dqb_curinodes;
        return 0;
}

int slotfs_facts(int dir_fd, const char *device, SlotFacts *ret) {
        SlotFacts f = { 0 };
        struct fsxattr x;
        struct stat st;
        int r;

        if (fstat(dir_fd, &st) < 0 || ioctl(dir_fd, FS_IOC_FSGETXATTR, &x) < 0)
                return -errno;
        f.uid = st.st_uid;
        f.gid = st.st_gid;
        f.mode = st.st_mode & 07777;
        f.project_id = x.fsx_projid;
        f.project_inherit = x.fsx_xflags & FS_XFLAG_PROJINHERIT;
        r = is_empty(dir_fd);
        if (r < 0)
                return r;
        f.empty = r;
        r = read_quota(device, f.project_id, &f);
        if (r < 0)
                return r;
        *ret = f;
        return 0;
}

int slotfs_set_project(int dir_fd, uint32_t project_id) {
        struct fsxattr x;

        if (ioctl(dir_fd, FS_IOC_FSGETXATTR, &x) < 0)
                return -errno;
        if (x.fsx_projid == project_id && (x.fsx_xflags & FS_XFLAG_PROJINHERIT))
                return 0;
        x.fsx_projid = project_id;
        x.fsx_xflags |= FS_XFLAG_PROJINHERIT;
        return ioctl(dir_fd, FS_IOC_FSSETXATTR, &x) < 0 ? -errno : 0;
}

int slotfs_set_limits(const char *device, uint32_t project_id, uint64_t bytes, uint64_t inodes) {
        struct dqblk q = {
                .dqb_bhardlimit = bytes / QUOTA_BLOCK,
                .dqb_ihardlimit = inodes,
                .dqb_valid = QIF_LIMITS,
        };

        return quotactl(QCMD(Q_SETQUOTA, PRJQUOTA), device, (int) project_id, (caddr_t) &q) < 0
                        ? -errno
                        : 0;
}

int slotfs_quota_on(const char *device) {
        struct dqinfo info;
        int format;

        if (quotactl(QCMD(Q_GETFMT, PRJQUOTA), device, 0, (caddr_t) &format) < 0)
                return errno == ESRCH ? 0 : -errno;
        return quotactl(QCMD(Q_GETINFO, PRJQUOTA), device, 0, (caddr_t) &info) < 0 ? -errno : 1;
}

int slotfs_device(const char *mount_path, char **ret) {
        struct libmnt_table *table = mnt_new_table_from_file("/proc/self/mountinfo");
        struct libmnt_fs *fs;
        const char *source = NULL;
        int r = -ENOMEM;

        if (!table)
                return -ENOMEM;
        fs = mnt_table_find_target(table, mount_path, MNT_ITER_BACKWARD);
        if (fs)
                source = mnt_fs_get_source(fs);
        if (!source)
                r = -ENOENT;
        else if ((*ret = strdup(source)))
                r = 0;
        mnt_unref_table(table);
        return r;
}
