/* SPDX-License-Identifier: MIT */
/* Between descriptor.c and descriptor-schema.c. */
#pragma once

#include "profile/descriptor.h"

/* The ranges a managed profile denies, in the order that the protocol fixes. */
#define DESCRIPTOR_DENY_CIDRS                                                                       \
        "[\"0.0.0.0/8\",\"10.0.0.0/8\",\"100.64.0.0/10\",\"127.0.0.0/8\",\"169.254.0.0/16\","       \
        "\"172.16.0.0/12\",\"192.0.0.0/24\",\"192.0.2.0/24\",\"192.168.0.0/16\",\"198.18.0.0/15\"," \
        "\"198.51.100.0/24\",\"203.0.113.0/24\",\"224.0.0.0/4\",\"240.0.0.0/4\",\"::/0\"]"

/* Fills the error (code without its common prefix) and returns -EINVAL. */
int descriptor_refuse(DescriptorError *e, const char *code, const char *path, const char *fmt, ...)
                PRINTF_FORMAT(4, 5);
/* Fields, types and literals; then the order of the protocol goes on in descriptor_parse(). */
int descriptor_check_shape(json_t *root, DescriptorError *e);
/* A number that ECMAScript takes for a safe integer (8.0 is one). */
bool json_safe_integer(const json_t *v, int64_t *ret);
/* A string that is not blank and holds no NUL. */
bool json_text(const json_t *v);
/* Is there nothing but white space, as ECMAScript's trim() knows it? */
bool text_is_blank(const char *text);
