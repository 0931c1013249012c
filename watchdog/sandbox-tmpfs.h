/* SPDX-License-Identifier: MIT */
/*
 * Rules for the tmpfs mounts that a client may ask for (pure)
 *
 * A target must be spelt in the one normal way, so that what is compared here is what the Engine
 * mounts; it may not cover or replace what the sandbox rests on. Options are those of tmpfs(5)
 * alone, each with a value that is bounded: size=0 and nr_inodes=0 mean "no limit" there.
 */
#pragma once

#include "base/macros.h"

#define TMPFS_TARGET_MAX 1024
#define TMPFS_OPTIONS_MAX 256

/* Writes the normal form of an absolute path. False: relative, "/", too long, or with a ".." part.
 */
bool tmpfs_normalise(const char *path, char *ret, size_t n);
/* What a mount at this (normal) target would cover or reach into; NULL: nothing. */
const char *tmpfs_covers(const char *target);
/* Comma-separated options; *ret_size: size= is among them. */
bool tmpfs_options_valid(const char *options, bool *ret_size);
