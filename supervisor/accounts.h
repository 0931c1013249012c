/* SPDX-License-Identifier: MIT */
/*
 * passwd(5) and group(5) from memory
 *
 * A static program must not use the C library's look-ups, which load modules; and the image's files
 * are not to be trusted to be well formed. Lines that are not understood are passed over, as the C
 * library does.
 */
#pragma once

#include "supervisor/macros.h"

enum { _ACCOUNT_E_OK, ACCOUNT_E_NONE, ACCOUNT_E_TOO_MANY, _ACCOUNT_E_MAX };

typedef struct Account {
        uint32_t uid;
        uint32_t gid;
} Account;

int account_find(const char *passwd, size_t n, const char *name, Account *ret);

int group_find(const char *group, size_t n, const char *name, uint32_t *ret);

/* The groups that list the name as a member, without duplicates. */
int group_memberships(const char *group,
                      size_t n,
                      const char *name,
                      size_t max,
                      uint32_t *ret,
                      size_t *ret_n);
