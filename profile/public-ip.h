/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/macros.h"

/* Is text an IPv4 or IPv6 address outside private, special and documentation ranges, as the
 * protocol's descriptor rules list them? */
bool public_ip(const char *text);
