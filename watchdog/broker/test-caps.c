/* SPDX-License-Identifier: MIT */
/* The broker's capability list: the unit's is the same, and what is dropped is gone for good. */
#include "selftest/cmocka-tap.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "watchdog/broker/caps.h"

#define UNIT "systemd/dindhost-broker@.service.in"
#define LINE "\nCapabilityBoundingSet="

static bool in_list(const char *name) {
        for (size_t i = 0; i < n_broker_caps; i++)
                if (!strcmp(broker_caps[i].name, name))
                        return true;
        return false;
}

static void names_and_reasons_are_right(void **state UNUSED) {
        for (size_t i = 0; i < n_broker_caps; i++) {
                cap_value_t cap;

                assert_int_equal(cap_from_name(broker_caps[i].name, &cap), 0);
                assert_int_equal(cap, broker_caps[i].cap);
                assert_true(strlen(broker_caps[i].reason) > 10);
        }
}

/* CAP_SETPCAP is in the unit only: it is what dropping the others takes, and goes last. */
static void the_unit_has_the_same_list(void **state UNUSED) {
        const char *top = getenv("top_srcdir");
        CLEANUP(freep) char *path = text_format("%s/" UNIT, top ? top : ".");
        CLEANUP(freep) char *text = NULL;
        char *save = NULL, *line;
        size_t n = 0;

        assert_int_equal(file_read(path, 65536, &text, NULL), 0);
        line = strstr(text, LINE);
        assert_non_null(line);
        line += strlen(LINE);
        assert_null(strstr(line, LINE));
        line[strcspn(line, "\n")] = 0;
        for (char *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
                if (!strcmp(word, "CAP_SETPCAP"))
                        continue;
                n++;
                if (!in_list(word))
                        fail_msg("%s of the unit is not in caps.c", word);
        }
        assert_int_equal(n, n_broker_caps);
}

/* Runs in a child, since it is for good. 0 ok, else the number of the broken promise. */
static int drop_and_look(void) {
        cap_flag_value_t on;
        cap_value_t setpcap = CAP_SETPCAP;
        cap_t now;

        if (broker_caps_keep() < 0)
                return 1;
        for (cap_value_t cap = 0; CAP_IS_SUPPORTED(cap); cap++) {
                bool keep = false;

                for (size_t i = 0; i < n_broker_caps; i++)
                        keep |= broker_caps[i].cap == cap;
                if (!keep && cap_get_bound(cap) != 0)
                        return 2;
        }
        now = cap_get_proc();
        if (!now || cap_get_flag(now, setpcap, CAP_PERMITTED, &on) < 0 || on != CAP_CLEAR)
                return 3;
        if (cap_get_flag(now, CAP_CHOWN, CAP_EFFECTIVE, &on) < 0 || on != CAP_SET)
                return 4;
        /* and cannot be taken back */
        if (cap_set_flag(now, CAP_PERMITTED, 1, &setpcap, CAP_SET) < 0 || cap_set_proc(now) == 0)
                return 5;
        cap_free(now);
        return 0;
}

static void what_is_dropped_is_gone(void **state UNUSED) {
        int status;
        pid_t pid;

        for (size_t i = 0; i < n_broker_caps; i++)
                if (geteuid() != 0 || cap_get_bound(broker_caps[i].cap) <= 0) {
                        print_message("# needs root with %s\n", broker_caps[i].name);
                        skip();
                }
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
                _exit(drop_and_look());
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(names_and_reasons_are_right),
                cmocka_unit_test(the_unit_has_the_same_list),
                cmocka_unit_test(what_is_dropped_is_gone),
        };

        return RUN_TAP(tests);
}
