/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/macros.h"

/*
 * Deletes everything in the folder dir_fd, which stays. Content is hostile: no link is followed, no
 * other file system is entered (-EXDEV), names are taken one component at a time through
 * descriptors, and depth costs no stack and no open descriptors: each folder is moved up to the top
 * before it is emptied. 0 or -errno; what could be deleted is gone either way.
 */
int tree_empty(int dir_fd);
