/* SPDX-License-Identifier: MIT */
/* How a report looks: lines for people, one document for programs. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "profile/doctor.h"

const char *check_status_to_string(CheckStatus s) {
        static const char *const names[_CHECK_STATUS_MAX] = {
                [CHECK_FAIL] = "FAIL",
                [CHECK_PASS] = "PASS",
                [CHECK_NOTYET] = "NOTYET",
        };

        return names[s];
}

/* What a daemon or a container said must neither end a line nor reach a terminal as a command. */
static void make_plain(char *text) {
        for (char *c = text; *c; c++)
                if ((unsigned char) *c < 0x20 || *c == 0x7f)
                        *c = ' ';
}

char *row_format(const Row *row) {
        Finding f = row->finding;

        make_plain(f.observed);
        make_plain(f.cure);
        return text_format("%-6s  %-24s  %s\n%s%s%s",
                           check_status_to_string(f.status),
                           row->check->id,
                           f.observed,
                           f.status == CHECK_FAIL ? "        cure: " : "",
                           f.status == CHECK_FAIL ? f.cure : "",
                           f.status == CHECK_FAIL ? "\n" : "");
}

/* Cut texts may end within a character; json_string() would refuse them. */
static json_t *json_text_of(const char *text) {
        size_t n = strlen(text);
        json_t *v = json_string(text);

        for (size_t cut = 1; !v && cut <= 3 && cut <= n; cut++)
                v = json_stringn(text, n - cut);
        return v ? v : json_string("(not UTF-8)");
}

static json_t *row_json(const Row *row) {
        const Finding *f = &row->finding;

        return json_pack("{s:s, s:s, s:s, s:o, s:o}",
                         "id",
                         row->check->id,
                         "title",
                         row->check->title,
                         "status",
                         check_status_to_string(f->status),
                         "observed",
                         json_text_of(f->observed),
                         "cure",
                         f->status == CHECK_FAIL ? json_text_of(f->cure) : json_null());
}

int report_json(const Report *r, const char *alias, const char *egress, json_t **ret) {
        CLEANUP(json_decrefp) json_t *checks = json_array();
        json_t *root;

        for (size_t i = 0; i < r->n; i++)
                if (json_array_append_new(checks, row_json(r->rows + i)) < 0)
                        return -ENOMEM;
        root = json_pack("{s:s, s:i, s:s?, s:s?, s:O}",
                         "format",
                         "dindhost.doctor",
                         "schemaVersion",
                         1,
                         "alias",
                         alias,
                         "egress",
                         egress,
                         "checks",
                         checks);
        if (!root)
                return -ENOMEM;
        *ret = root;
        return 0;
}
