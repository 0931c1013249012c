/* SPDX-License-Identifier: MIT */
/*
 * The registry: the folder of published descriptors
 *
 * A client trusts a descriptor because only root can have put it there: the file is no link, root
 * owns it, and neither it nor any folder above it can be written by others. Each file is opened
 * once and judged and read through that descriptor. One bad file is one invalid entry, with the
 * protocol's code and a reason; the others stay usable. (NiceEval's own client refuses the whole
 * folder then; that is why `list` shows it so plainly.)
 */
#pragma once

#include <sys/types.h>

#include "base/macros.h"
#include "profile/descriptor.h"

typedef struct RegistryEntry {
        char *alias; /* file name without ".json"; bytes that are no UTF-8 are U+FFFD */
        char *path;
        Descriptor *descriptor; /* NULL: invalid, and error says why */
        char digest[72];        /* of a valid one */
        DescriptorError error;
} RegistryEntry;

typedef struct Registry {
        RegistryEntry *entries; /* in order of their aliases' UTF-16 code units */
        size_t n;
} Registry;

/* CLEANUP(registry_donep) */
void registry_donep(Registry *r);

/*
 * Reads the folder. owner is whose files must be (0; tests: their own uid). 0; -ENOENT and other
 * -errno when the folder cannot be read.
 */
int registry_load(const char *dir, uid_t owner, Registry *ret);
/* The same, but folders above `top` are not looked at: for tests, whose folder lies in /tmp. */
int registry_load_below(const char *dir, uid_t owner, const char *top, Registry *ret);

/* Is this file name a candidate: NAME.json and not a companion file? */
bool registry_candidate(const char *name);

/* The entry of an alias, valid or not, or NULL. */
const RegistryEntry *registry_find(const Registry *r, const char *alias);
