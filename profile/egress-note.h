/* SPDX-License-Identifier: MIT */
/*
 * What must be said about egress in every output
 *
 * This release enforces no egress policy, whatever a profile file says (`apply` publishes only a
 * profile that says so itself: [Network] Egress=unenforced). The descriptor cannot say it, its
 * policy object is fixed; so `list`, `doctor` and `status` do.
 */
#pragma once

#include "base/macros.h"
#include "profile/descriptor.h"

/* The sentence about one profile in new memory, or NULL (memory is out). */
char *egress_note(const char *alias);
/*
 * Is the sentence due for this descriptor? Raw profiles promise no policy, so none is missing; of
 * another service's profiles in the registry nothing is known.
 */
bool egress_note_due(const Descriptor *d);
