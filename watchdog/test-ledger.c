/* SPDX-License-Identifier: MIT */
/*
 * The ledger: what is on disk after a commit, after a death without one, after a failure; which
 * states cannot be stored; which files are refused.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/text.h"
#include "selftest/cmocka-tap.h"
#include "watchdog/ledger-internal.h"
#include "watchdog/ledger-schema.h"

#define SLOTS 3

typedef struct Bench {
        char dir[64], path[128];
        Ledger *l;
} Bench;

static void open_with(Bench *b, sd_event *event) {
        char *why = NULL;

        if (ledger_open(b->path, event, &b->l, &why) < 0)
                fail_msg("%s", why);
}

static void reopen(Bench *b) {
        b->l = ledger_free(b->l);
        open_with(b, NULL);
}

static void sync_slots(Bench *b, size_t n, int expected) {
        SlotEntry entries[SLOTS + 1];
        SlotTable t = { .slots = entries, .n_slots = n };

        for (uint32_t i = 0; i < n; i++)
                entries[i] = (SlotEntry){ .number = i + 1 };
        assert_int_equal(ledger_change_begin(b->l), 0);
        assert_int_equal(ledger_slots_sync(b->l, &t), expected);
        assert_int_equal(ledger_change_end(b->l, expected == 0), 0);
        assert_int_equal(ledger_commit(b->l), 0);
}

static int set_up(void **state) {
        static Bench b;

        b = (Bench){ .dir = "/tmp/dindhost-ledger-XXXXXX" };
        assert_non_null(mkdtemp(b.dir));
        snprintf(b.path, sizeof(b.path), "%s/ledger.db", b.dir);
        open_with(&b, NULL);
        sync_slots(&b, SLOTS, 0);
        *state = &b;
        return 0;
}

static int tear_down(void **state) {
        Bench *b = *state;
        char command[128];

        b->l = ledger_free(b->l);
        snprintf(command, sizeof(command), "rm -rf %s", b->dir);
        return system(command);
}

/* ---- short forms ---- */

static int insert_lease(Ledger *l, const char *id) {
        Lease lease = { .invocation_id = (char *) id,
                        .generation = (char *) "generation",
                        .uid = 1000,
                        .created_at = 1 };

        sha256_hex(id, strlen(id), lease.token_digest);
        return ledger_lease_insert(l, &lease);
}

static int insert_reservation(Ledger *l, const char *id, const char *lease) {
        Reservation r = { .reservation_id = (char *) id,
                          .invocation_id = (char *) lease,
                          .resources = { 1500, 1 << 20, 64, 1, 0, 1 << 30 },
                          .resources_json = (char *) "{}",
                          .created_at = 2 };

        assert_int_equal(random_token(24, r.provision_token, sizeof(r.provision_token)), 0);
        return ledger_reservation_insert(l, &r, NULL);
}

static void begin(Bench *b) {
        assert_int_equal(ledger_change_begin(b->l), 0);
}

static void end(Bench *b, bool keep) {
        assert_int_equal(ledger_change_end(b->l, keep), 0);
}

static void add(Bench *b, const char *lease, const char *reservation) {
        begin(b);
        assert_int_equal(insert_lease(b->l, lease), 0);
        if (reservation)
                assert_int_equal(insert_reservation(b->l, reservation, lease), 0);
        end(b, true);
}

/* Gives the reservation the slot, or tries to: what the update of the reservation said. */
static int take(Bench *b, const char *reservation, uint32_t number, ReservationState state) {
        CLEANUP(reservation_donep) Reservation r = { 0 };
        int k;

        assert_int_equal(ledger_reservation_get(b->l, reservation, &r), 0);
        r.state = state;
        r.slot = number;
        begin(b);
        k = ledger_reservation_update(b->l, &r);
        end(b, k >= 0);
        return k;
}

static int set_slot(Bench *b, uint32_t number, SlotState state, const char *reason) {
        CLEANUP(slot_donep) Slot s = { 0 };
        int k;

        assert_int_equal(ledger_slot_get(b->l, number, &s), 0);
        s.state = state;
        free(s.quarantine_reason);
        s.quarantine_reason = reason ? strdup(reason) : NULL;
        begin(b);
        k = ledger_slot_update(b->l, &s);
        end(b, k >= 0);
        return k;
}

static bool has_lease(Bench *b, const char *id) {
        CLEANUP(lease_donep) Lease lease = { 0 };

        return ledger_lease_get(b->l, id, &lease) == 0;
}

static size_t count_events(Bench *b) {
        sqlite3_stmt *s = NULL;
        size_t n;

        assert_int_equal(sqlite3_prepare_v2(b->l->db, "SELECT count(*) FROM events", -1, &s, NULL),
                         SQLITE_OK);
        assert_int_equal(sqlite3_step(s), SQLITE_ROW);
        n = (size_t) sqlite3_column_int64(s, 0);
        sqlite3_finalize(s);
        return n;
}

/* ---- rows ---- */

static void rows_come_back(void **state) {
        CLEANUP(reservation_donep) Reservation r = { 0 };
        CLEANUP(lease_donep) Lease lease = { 0 };
        CLEANUP(slot_donep) Slot slot = { 0 };
        Bench *b = *state;
        Vector charged;
        uint64_t n;

        add(b, "lease", "reservation");
        assert_int_equal(ledger_charged(b->l, &charged), 0);
        assert_int_equal(charged.cpus_milli, 0); /* a queued one costs nothing */
        assert_int_equal(take(b, "reservation", 2, RESERVATION_GRANTED), 0);
        assert_int_equal(set_slot(b, 2, SLOT_GRANTED, NULL), 0);
        assert_int_equal(ledger_commit(b->l), 0);
        reopen(b);
        assert_int_equal(ledger_lease_get(b->l, "lease", &lease), 0);
        assert_int_equal(lease.uid, 1000);
        assert_int_equal(lease.state, LEASE_ACTIVE);
        assert_string_equal(lease.generation, "generation");
        assert_int_equal(strlen(lease.token_digest), 64);
        assert_int_equal(ledger_reservation_get(b->l, "reservation", &r), 0);
        assert_int_equal(r.resources.disk_bytes, 1 << 30);
        assert_int_equal(r.state, RESERVATION_GRANTED);
        assert_int_equal(r.slot, 2);
        assert_int_equal(strlen(r.provision_token), 32);
        assert_int_equal(ledger_slot_get(b->l, 2, &slot), 0);
        assert_string_equal(slot.reservation_id, "reservation");
        assert_int_equal(ledger_charged(b->l, &charged), 0);
        assert_int_equal(charged.cpus_milli, 1500);
        assert_int_equal(charged.containers, 1);
        assert_int_equal(ledger_lease_count_of(b->l, 1000, &n), 0);
        assert_int_equal(n, 1);
        assert_int_equal(ledger_reservation_count_of(b->l, "lease", &n), 0);
        assert_int_equal(n, 1);
        assert_int_equal(ledger_lease_get(b->l, "other", &lease), -ENOENT);
}

static void the_queue_is_in_order(void **state) {
        CLEANUP(reservation_donep) Reservation r = { 0 };
        CLEANUP(slot_donep) Slot slot = { 0 };
        Bench *b = *state;
        uint64_t n;

        add(b, "lease", "z-first");
        begin(b);
        assert_int_equal(insert_reservation(b->l, "a-second", "lease"), 0);
        assert_int_equal(insert_reservation(b->l, "third", "lease"), 0);
        end(b, true);
        assert_int_equal(take(b, "a-second", 1, RESERVATION_GRANTED), 0);
        assert_int_equal(set_slot(b, 1, SLOT_GRANTED, NULL), 0);
        assert_int_equal(ledger_queue_count(b->l, &n), 0);
        assert_int_equal(n, 2);
        assert_int_equal(ledger_queue_next(b->l, 0, &r), 0);
        assert_string_equal(r.reservation_id, "z-first");
        n = r.sequence;
        reservation_donep(&r);
        assert_int_equal(ledger_queue_next(b->l, n, &r), 0);
        assert_string_equal(r.reservation_id, "third");
        n = r.sequence;
        reservation_donep(&r);
        assert_int_equal(ledger_queue_next(b->l, n, &r), -ENOENT);
        assert_int_equal(ledger_slot_next_free(b->l, 0, &slot), 0);
        assert_int_equal(slot.number, 2);
        assert_int_equal(ledger_slot_next_free(b->l, 3, &slot), -ENOENT);
}

static void impossible_states_are_refused(void **state) {
        Bench *b = *state;

        add(b, "lease", "one");
        begin(b);
        assert_int_equal(insert_lease(b->l, "lease"), -EEXIST);
        assert_int_equal(insert_reservation(b->l, "one", "lease"), -EEXIST);
        assert_int_equal(insert_reservation(b->l, "two", "nobody"), -EEXIST); /* no such lease */
        assert_int_equal(ledger_lease_delete(b->l, "lease"), -EEXIST);        /* it holds one */
        assert_int_equal(insert_reservation(b->l, "two", "lease"), 0);
        end(b, true);
        assert_int_equal(take(b, "one", 0, RESERVATION_GRANTED), -EEXIST); /* without a slot */
        assert_int_equal(take(b, "one", 1, RESERVATION_QUEUED), -EEXIST);  /* waiting with one */
        assert_int_equal(take(b, "one", 77, RESERVATION_GRANTED), -EEXIST);
        assert_int_equal(take(b, "one", 1, RESERVATION_GRANTED), 0);
        assert_int_equal(set_slot(b, 1, SLOT_GRANTED, NULL), 0);
        assert_int_equal(take(b, "two", 1, RESERVATION_GRANTED), -EEXIST); /* held by another */
        assert_int_equal(set_slot(b, 1, SLOT_FREE, NULL), -EEXIST);        /* while it is held */
        assert_int_equal(set_slot(b, 2, SLOT_QUARANTINED, NULL), -EEXIST); /* without a reason */
        assert_int_equal(set_slot(b, 2, SLOT_QUARANTINED, "why"), 0);
        assert_int_equal(take(b, "two", 2, RESERVATION_GRANTED), -EEXIST); /* not free */
        assert_int_equal(ledger_commit(b->l), 0);
}

static void slots_follow_the_table(void **state) {
        CLEANUP(slot_donep) Slot slot = { 0 };
        Bench *b = *state;

        sync_slots(b, SLOTS + 1, 0);
        assert_int_equal(ledger_slot_get(b->l, SLOTS + 1, &slot), 0);
        slot_donep(&slot);
        sync_slots(b, SLOTS, 0);
        assert_int_equal(ledger_slot_get(b->l, SLOTS + 1, &slot), -ENOENT);
        assert_int_equal(set_slot(b, SLOTS, SLOT_QUARANTINED, "why"), 0);
        sync_slots(b, SLOTS - 1, -EINVAL);
        assert_int_equal(ledger_slot_get(b->l, SLOTS, &slot), 0);
}

/* ---- transactions ---- */

typedef struct Heard {
        unsigned n;
        int error;
} Heard;

static void on_commit(void *userdata, int error) {
        Heard *h = userdata;

        h->n++;
        h->error = error;
}

static void a_change_alone_is_undone(void **state) {
        Bench *b = *state;

        add(b, "kept", NULL);
        begin(b);
        assert_int_equal(insert_lease(b->l, "dropped"), 0);
        assert_int_equal(ledger_event(b->l, "dropped", NULL), 0);
        end(b, false);
        assert_int_equal(ledger_commit(b->l), 0);
        reopen(b);
        assert_true(has_lease(b, "kept"));
        assert_false(has_lease(b, "dropped"));
        assert_int_equal(count_events(b), 0);
}

/* What was not committed is not there after a death; what was, is, to the last row. */
static void death_without_commit(void **state) {
        Bench *b = *state;
        int status;
        pid_t pid;

        b->l = ledger_free(b->l);
        pid = fork();
        if (pid == 0) {
                open_with(b, NULL);
                add(b, "committed", NULL);
                if (ledger_commit(b->l) < 0)
                        _exit(1);
                add(b, "not-committed", NULL);
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        open_with(b, NULL);
        assert_true(has_lease(b, "committed"));
        assert_false(has_lease(b, "not-committed"));
}

/* A full disk in the middle of a turn: everybody of that turn hears of it, nothing is half there,
 * and the next turn works as soon as there is room. */
static void a_full_disk_loses_the_turn_whole(void **state) {
        CLEANUP(freep) char *big = malloc(1 << 20);
        Heard first = { 0 }, second = { 0 };
        Bench *b = *state;
        int r, e;

        memset(big, 'x', (1 << 20) - 1);
        big[(1 << 20) - 1] = 0;
        add(b, "before", NULL);
        assert_int_equal(ledger_commit(b->l), 0);
        assert_int_equal(ledger_exec(b->l, "PRAGMA max_page_count = 40"), 0);
        add(b, "same-turn", NULL);
        assert_int_equal(ledger_on_commit(b->l, on_commit, &first), 0);
        begin(b);
        r = ledger_event(b->l, "too-big", json_pack("{s:s}", "text", big));
        assert_int_equal(r, -ENOSPC);
        e = ledger_change_end(b->l, false);
        assert_true(e == 0 || e == -ENOSPC);
        assert_int_equal(ledger_on_commit(b->l, on_commit, &second), 0);
        r = ledger_commit(b->l);
        assert_int_equal(first.n, 1);
        assert_int_equal(second.n, 1);
        assert_int_equal(first.error, r);
        assert_int_equal(second.error, r);
        assert_int_equal(has_lease(b, "same-turn"), r == 0);
        assert_true(has_lease(b, "before"));
        assert_int_equal(ledger_exec(b->l, "PRAGMA max_page_count = 1000000"), 0);
        add(b, "after", NULL);
        assert_int_equal(ledger_commit(b->l), 0);
        reopen(b);
        assert_true(has_lease(b, "after"));
        assert_int_equal(has_lease(b, "same-turn"), r == 0);
}

/* An error that ends the transaction (here: by hand) is met by every later change of the turn. */
static void an_ended_transaction_is_noticed(void **state) {
        Heard heard = { 0 };
        Bench *b = *state;

        add(b, "lost", NULL);
        assert_int_equal(ledger_on_commit(b->l, on_commit, &heard), 0);
        begin(b);
        assert_int_equal(ledger_exec(b->l, "ROLLBACK"), 0);
        ledger_note_error(b->l, -EIO);
        assert_int_equal(ledger_change_end(b->l, true), -EIO);
        assert_int_equal(ledger_change_begin(b->l), -EIO);
        assert_int_equal(ledger_commit(b->l), -EIO);
        assert_int_equal(heard.n, 1);
        assert_int_equal(heard.error, -EIO);
        assert_false(has_lease(b, "lost"));
        add(b, "next", NULL);
        assert_int_equal(ledger_commit(b->l), 0);
}

static void forgotten_callbacks_are_not_called(void **state) {
        Heard kept = { 0 }, forgotten = { 0 };
        Bench *b = *state;

        assert_int_equal(ledger_on_commit(b->l, on_commit, &forgotten), 0);
        assert_int_equal(ledger_on_commit(b->l, on_commit, &kept), 0);
        ledger_forget(b->l, &forgotten);
        assert_int_equal(ledger_commit(b->l), 0);
        assert_int_equal(kept.n, 1);
        assert_int_equal(kept.error, 0);
        assert_int_equal(forgotten.n, 0);
}

/* Another source that never rests must not keep commits waiting for ever. */
static int never_rests(sd_event_source *source UNUSED, void *userdata UNUSED) {
        return 0;
}

static unsigned told;

static void count_told(void *userdata, int error) {
        (void) userdata;
        assert_int_equal(error, 0);
        told++;
}

static void commits_are_shared_and_bounded(void **state) {
        CLEANUP(sd_event_unrefp) sd_event *event = NULL;
        sd_event_source *busy = NULL;
        Bench *b = *state;

        told = 0;
        b->l = ledger_free(b->l);
        assert_true(sd_event_new(&event) >= 0);
        open_with(b, event);
        /* many wait for one commit, which comes when nothing else is to be done */
        add(b, "lease", NULL);
        for (int i = 0; i < 20; i++)
                assert_int_equal(ledger_on_commit(b->l, count_told, b), 0);
        assert_int_equal(told, 0);
        assert_true(sd_event_run(event, 0) > 0);
        assert_int_equal(told, 20);
        assert_int_equal(sd_event_run(event, 0), 0); /* at rest again */
        /* under load it comes all the same, once enough of them wait */
        assert_true(sd_event_add_defer(event, &busy, never_rests, b) >= 0);
        assert_true(sd_event_source_set_enabled(busy, SD_EVENT_ON) >= 0);
        for (int i = 0; i < 300; i++) {
                assert_int_equal(ledger_on_commit(b->l, count_told, b), 0);
                assert_true(sd_event_run(event, 0) > 0);
        }
        assert_in_range(told, 20 + 256, 20 + 300);
        sd_event_source_disable_unref(busy);
        b->l = ledger_free(b->l);
}

/* ---- files ---- */

static void refused(Bench *b, int error, const char *expected) {
        CLEANUP(freep) char *why = NULL;
        Ledger *l = NULL;

        assert_int_equal(ledger_open(b->path, NULL, &l, &why), error);
        assert_null(l);
        assert_non_null(why);
        if (!strstr(why, expected) || !strstr(why, b->path))
                fail_msg("'%s' lacks '%s'", why, expected);
}

static void two_watchdogs_cannot_have_it(void **state) {
        refused(*state, -EBUSY, "another dindhost-watchdog");
}

static void newer_schemas_are_refused(void **state) {
        Bench *b = *state;
        char sql[64];

        snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", LEDGER_SCHEMA_VERSION + 1);
        assert_int_equal(ledger_exec(b->l, sql), 0);
        b->l = ledger_free(b->l);
        refused(b, -EINVAL, "newer dindhost");
}

static void other_files_are_refused(void **state) {
        static const char text[] = "This is a text of some length, and not a database at all.\n";
        char other[160];
        Bench *b = *state;

        assert_int_equal(ledger_exec(b->l, "PRAGMA application_id = 7"), 0);
        b->l = ledger_free(b->l);
        refused(b, -EINVAL, "not a ledger");
        assert_int_equal(file_write_atomic(
                                         b->path, text, strlen(text), 0600, (uid_t) -1, (gid_t) -1),
                         0);
        refused(b, -EBADMSG, "not a database");
        snprintf(other, sizeof(other), "%s/other", b->dir);
        assert_int_equal(rename(b->path, other), 0);
        assert_int_equal(symlink(other, b->path), 0);
        refused(b, -EROFS, "unable to open");
}

/* Bytes that changed in the middle of the file are found before anybody relies on them. */
static void damage_is_found(void **state) {
        Bench *b = *state;
        char page[4096];
        struct stat st;
        FILE *f;

        begin(b);
        for (int i = 0; i < 200; i++)
                assert_int_equal(ledger_event(b->l, "filler", json_pack("{s:i}", "i", i)), 0);
        end(b, true);
        assert_int_equal(ledger_commit(b->l), 0);
        b->l = ledger_free(b->l);
        memset(page, 0xa5, sizeof(page));
        assert_int_equal(stat(b->path, &st), 0);
        f = fopen(b->path, "r+e");
        assert_non_null(f);
        assert_int_equal(fseek(f, (st.st_size / 4096 - 1) * 4096, SEEK_SET), 0);
        assert_int_equal(fwrite(page, 1, sizeof(page), f), sizeof(page));
        assert_int_equal(fclose(f), 0);
        refused(b, -EBADMSG, "damaged");
}

static void events_are_bounded(void **state) {
        Bench *b = *state;

        begin(b);
        assert_int_equal(ledger_exec(b->l,
                                     "INSERT INTO events VALUES (1, 0, 'first', '{}'), "
                                     "(100999, 0, 'late', '{}')"),
                         0);
        assert_int_equal(ledger_event(b->l, "one-more", NULL), 0); /* number 101000 */
        end(b, true);
        assert_int_equal(count_events(b), 2);
}

/* Printed, not judged: time depends on the machine. */
static void ten_thousand_operations(void **state) {
        Bench *b = *state;
        struct stat st;
        uint64_t t;

        t = boottime_usec();
        for (int i = 0; i < 10000; i++) {
                char id[32];

                snprintf(id, sizeof(id), "lease-%d", i);
                begin(b);
                assert_int_equal(insert_lease(b->l, id), 0);
                assert_int_equal(insert_reservation(b->l, id, id), 0);
                assert_int_equal(ledger_event(b->l, "done", json_pack("{s:s}", "id", id)), 0);
                assert_int_equal(ledger_reservation_delete(b->l, id), 0);
                assert_int_equal(ledger_lease_delete(b->l, id), 0);
                end(b, true);
                if (i % 100 == 99)
                        assert_int_equal(ledger_commit(b->l), 0);
        }
        print_message("# 10000 operations in 100 commits: %.0f ms\n",
                      (double) (boottime_usec() - t) / 1000);
        b->l = ledger_free(b->l);
        assert_int_equal(stat(b->path, &st), 0);
        t = boottime_usec();
        open_with(b, NULL);
        print_message("# opened again (%lld KiB): %.1f ms\n",
                      (long long) st.st_size / 1024,
                      (double) (boottime_usec() - t) / 1000);
        assert_int_equal(count_events(b), 10000);
}

int main(void) {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
        const struct CMUnitTest tests[] = {
                TEST(rows_come_back),
                TEST(the_queue_is_in_order),
                TEST(impossible_states_are_refused),
                TEST(slots_follow_the_table),
                TEST(a_change_alone_is_undone),
                TEST(death_without_commit),
                TEST(a_full_disk_loses_the_turn_whole),
                TEST(an_ended_transaction_is_noticed),
                TEST(forgotten_callbacks_are_not_called),
                TEST(commits_are_shared_and_bounded),
                TEST(two_watchdogs_cannot_have_it),
                TEST(newer_schemas_are_refused),
                TEST(other_files_are_refused),
                TEST(damage_is_found),
                TEST(events_are_bounded),
                TEST(ten_thousand_operations),
        };

        return RUN_TAP(tests);
}
