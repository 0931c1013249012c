/* SPDX-License-Identifier: MIT */
#include "selftest/engine/rules.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"

#define RULES_MAX 64

typedef struct Rule {
        char verb[16], pattern[128];
        unsigned long skip, times, seen;
        Verdict verdict;
} Rule;

struct Rules {
        char *path;
        struct stat read; /* of the file whose rules these are */
        Rule rules[RULES_MAX];
        size_t n;
};

Rules *rules_new(const char *path) {
        Rules *r = calloc(1, sizeof(*r));

        if (r && path)
                r->path = strdup(path);
        return r;
}

Rules *rules_free(Rules *r) {
        if (r)
                free(r->path);
        free(r);
        return NULL;
}

static bool read_action(const char *word, Verdict *v) {
        static const struct {
                const char *name;
                Action action;
        } actions[] = {
                { "hang", ACTION_HANG },    { "drop", ACTION_DROP },  { "half", ACTION_HALF },
                { "delay=", ACTION_DELAY }, { "late=", ACTION_LATE }, { "fail=", ACTION_FAIL },
        };

        for (size_t i = 0; i < N_ELEMENTS(actions); i++) {
                size_t n = strlen(actions[i].name);

                if (strncmp(word, actions[i].name, n))
                        continue;
                v->action = actions[i].action;
                v->value = strtol(word + n, NULL, 10);
                return true;
        }
        return false;
}

/* A line that is not understood ends the program: a test with a misspelt rule must not pass. */
static void read_line(Rules *r, char *line) {
        Rule rule = { .times = (unsigned long) -1 };
        char *save = NULL, *word;

        line[strcspn(line, "#\n")] = 0;
        word = strtok_r(line, " \t", &save);
        if (!word)
                return;
        snprintf(rule.verb, sizeof(rule.verb), "%s", word);
        word = strtok_r(NULL, " \t", &save);
        if (word)
                snprintf(rule.pattern, sizeof(rule.pattern), "%s", word);
        while ((word = strtok_r(NULL, " \t", &save))) {
                if (text_has_prefix(word, "skip="))
                        rule.skip = strtoul(word + 5, NULL, 10);
                else if (text_has_prefix(word, "times="))
                        rule.times = strtoul(word + 6, NULL, 10);
                else if (!strcmp(word, "after"))
                        rule.verdict.after = true;
                else if (!read_action(word, &rule.verdict)) {
                        fprintf(stderr, "%s: rule not understood: '%s'\n", r->path, word);
                        exit(2);
                }
        }
        if (rule.verdict.action == ACTION_NONE || r->n == RULES_MAX) {
                fprintf(stderr, "%s: a rule without an action, or too many rules\n", r->path);
                exit(2);
        }
        r->rules[r->n++] = rule;
}

static void refresh(Rules *r) {
        struct stat now = { 0 };
        char line[512];
        FILE *f;

        if (!r->path)
                return;
        f = fopen(r->path, "re");
        if (!f || fstat(fileno(f), &now) < 0)
                now = (struct stat){ 0 };
        if (now.st_ino != r->read.st_ino || now.st_size != r->read.st_size ||
            now.st_mtim.tv_sec != r->read.st_mtim.tv_sec ||
            now.st_mtim.tv_nsec != r->read.st_mtim.tv_nsec) {
                r->n = 0;
                r->read = now;
                while (f && fgets(line, sizeof(line), f))
                        read_line(r, line);
        }
        if (f)
                fclose(f);
}

Verdict rules_judge(Rules *r, const char *verb, const char *subject) {
        refresh(r);
        for (size_t i = 0; i < r->n; i++) {
                Rule *rule = r->rules + i;

                if ((strcmp(rule->verb, "*") && strcmp(rule->verb, verb)) ||
                    fnmatch(rule->pattern, subject, 0))
                        continue;
                rule->seen++;
                if (rule->seen > rule->skip && rule->seen - rule->skip <= rule->times)
                        return rule->verdict;
        }
        return (Verdict){ .action = ACTION_NONE };
}
