/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "profile/slots.h"
#include "selftest/cmocka-tap.h"

static void test_ids(void **state UNUSED) {
        static const char *const bad[] = {
                "",           "slot-",      "slot-0000",   "slot-1",    "slot-00001",
                "slot-0001 ", " slot-0001", "slot-0001x",  "Slot-0001", "slot--001",
                "slot-+001",  "slot-0x01",  "../slot-0001"
        };
        char id[SLOT_ID_SIZE];

        slot_id_format(id, 7);
        assert_string_equal(id, "slot-0007");
        assert_int_equal(slot_id_parse(id), 7);
        slot_id_format(id, 12345);
        assert_int_equal(slot_id_parse(id), 12345);
        for (size_t i = 0; i < N_ELEMENTS(bad); i++)
                if (slot_id_parse(bad[i]))
                        fail_msg("'%s' is accepted", bad[i]);
}

static char *make_text(void) {
        SlotEntry slots[2] = { { .project_id = 71001,
                                 .limit_bytes = UINT64_C(1) << 30,
                                 .limit_inodes = 65536,
                                 .uid = 990,
                                 .gid = 991,
                                 .mode = 0700 } };
        const SlotTable t = { .slots = slots,
                              .n_slots = 2,
                              .slots_dir = (char *) "/data/slots",
                              .mount = (char *) "/data" };
        char *text = NULL;

        slots[1] = slots[0];
        slots[1].project_id++;
        for (uint32_t i = 0; i < 2; i++)
                slot_id_format(slots[i].id, slots[i].number = i + 1);
        assert_int_equal(slot_table_format(&t, &text), 0);
        return text;
}

static int load_text(const char *text, SlotTable *t, char **message) {
        char path[] = "/tmp/dindhost-slots-XXXXXX";
        int fd = mkstemp(path), r;

        assert_true(fd >= 0);
        assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
        close(fd);
        r = slot_table_load(path, t, message);
        unlink(path);
        return r;
}

static void test_round_trip(void **state UNUSED) {
        CLEANUP(slot_table_donep) SlotTable t = { 0 };
        CLEANUP(freep) char *text = make_text(), *again = NULL, *message = NULL;

        if (load_text(text, &t, &message) < 0)
                fail_msg("%s", message);
        assert_int_equal(t.n_slots, 2);
        assert_string_equal(t.slots_dir, "/data/slots");
        assert_string_equal(t.slots[1].id, "slot-0002");
        assert_int_equal(t.slots[1].number, 2);
        assert_int_equal(t.slots[1].project_id, 71002);
        assert_int_equal(t.slots[0].mode, 0700);
        assert_int_equal(slot_table_format(&t, &again), 0);
        assert_string_equal(text, again);
}

static void check_refused(const char *was, const char *now) {
        CLEANUP(slot_table_donep) SlotTable t = { 0 };
        CLEANUP(freep) char *text = make_text(), *message = NULL;
        char changed[2048], *at = strstr(text, was);

        assert_non_null(at);
        snprintf(changed,
                 sizeof(changed),
                 "%.*s%s%s",
                 (int) (at - text),
                 text,
                 now,
                 at + strlen(was));
        if (load_text(changed, &t, &message) != -EINVAL)
                fail_msg("%s is accepted", changed);
        assert_non_null(strstr(message, "profile apply"));
}

static void test_refused(void **state UNUSED) {
        check_refused("\"schemaVersion\":1", "\"schemaVersion\":2");
        check_refused("\"schemaVersion\":1", "\"schemaVersion\":1,\"extra\":1");
        check_refused("slot-0002", "slot-0003");
        check_refused("slot-0002", "slot-0001");
        check_refused("slot-0001", "../../etc");
        check_refused("\"projectId\":71001", "\"projectId\":0");
        check_refused("\"projectId\":71001", "\"projectId\":4294967296");
        check_refused("\"projectId\":71001", "\"projectId\":\"x\"");
        check_refused("\"limitBytes\":1073741824", "\"limitBytes\":0");
        check_refused("\"ownerUid\":990", "\"ownerUid\":-1");
        check_refused("\"ownerUid\":990", "\"ownerUid\":4294967295");
        check_refused("\"mode\":448", "\"mode\":65536");
        check_refused("\"mode\":448", "\"mode\":448,\"path\":\"/etc\"");
        check_refused("{", "");
}

static void test_same_project(void **state UNUSED) {
        check_refused("\"projectId\":71002", "\"projectId\":71001");
}

static void test_missing(void **state UNUSED) {
        CLEANUP(freep) char *message = NULL;
        SlotTable t;

        assert_int_equal(slot_table_load("/no/such/file", &t, &message), -ENOENT);
        assert_non_null(strstr(message, "/no/such/file"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_ids),     cmocka_unit_test(test_round_trip),
                cmocka_unit_test(test_refused), cmocka_unit_test(test_same_project),
                cmocka_unit_test(test_missing),
        };

        return RUN_TAP(tests);
}
