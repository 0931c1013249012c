/* SPDX-License-Identifier: MIT */
/*
 * Does the image fit, and the container?
 *
 * Every gap is said at once, each in an exact sentence that scripts may look for; the first one
 * becomes the reason.
 */
#pragma once

#include "supervisor/text.h"

/* The tools that dockerd needs are in PATH. */
bool check_image(Text *reason);

/* Identity, environment, and the places that dockerd writes to. */
bool check_environment(Text *reason);
