/* SPDX-License-Identifier: MIT */
/*
 * The one list of the profile file's keys: for the loader, for `profile init`, for the page's test
 *
 * Every value is judged alone by its row (type and range), then together by conf_check().
 */
#pragma once

#include "profile/conf.h"

typedef enum ConfType {
        CONF_UINT,
        CONF_SIZE,
        CONF_DURATION,
        CONF_CPUS,
        CONF_WORD,  /* no white space, not starting with '-' */
        CONF_PATH,  /* absolute */
        CONF_USERS, /* list of account names */
        CONF_DNS,   /* list of public addresses */
        CONF_EGRESS,
} ConfType;

typedef struct ConfKey {
        const char *section, *name;
        ConfType type;
        size_t offset;     /* in ProfileConf */
        const char *value; /* default; NULL: must be given */
        uint64_t min, max; /* of numbers, in the unit that ProfileConf holds */
        const char *help;  /* one line */
} ConfKey;

extern const ConfKey conf_keys[];
extern const size_t n_conf_keys;

bool conf_section_known(const char *section);
/* NULL when there is no such key. */
const ConfKey *conf_key_find(const char *section, const char *name);
/* Sets the field from text. 0, -ENOMEM, or -EINVAL and a sentence about what the value must be. */
int conf_key_set(const ConfKey *key, const char *text, ProfileConf *c, char rule[static 256]);
/* The field as the file writes it, in new memory; NULL when memory is out. */
char *conf_key_format(const ConfKey *key, const ProfileConf *c);
/* All defaults; -ENOMEM. c must be zeroed. */
int conf_set_defaults(ProfileConf *c);

/*
 * The rules between values (profile/conf-rules.c). True when all hold; else the key to blame and
 * the rule. Every value must be within its own range.
 */
bool conf_check(const ProfileConf *c, const ConfKey **ret_key, char ret_rule[static 256]);

/* Bytes of a pool that its file system needs for itself. */
uint64_t conf_pool_overhead(uint64_t pool_bytes);
/* The smallest pool, in whole MiB, whose file system can hold content_bytes. */
uint64_t conf_pool_for(uint64_t content_bytes);

/* The text of a profile file with a line of help for each key. 0 or -ENOMEM. */
int conf_format(const ProfileConf *c, const char *head, char **ret);
