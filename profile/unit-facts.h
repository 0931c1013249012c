/* SPDX-License-Identifier: MIT */
/* What the system's service manager says about a unit, over its bus (sd-bus). */
#pragma once

#include "base/macros.h"

/*
 * A string property of a unit, owned by the caller: interface is "Unit", "Slice", ... (the last
 * part of its D-Bus name). A unit that is not loaded has ActiveState "inactive". 0 or -errno.
 */
int unit_text(const char *unit, const char *interface, const char *property, char **ret);
