/* SPDX-License-Identifier: MIT */
/* The queries of the ledger, each prepared once, and the handling that all rows share. */
#include <string.h>

#include "watchdog/ledger-internal.h"

/* Place of a word in a table; the CHECKs of the schema let no other word in. */
int query_word(const char *const table[], size_t n, const char *word) {
        for (size_t i = 0; i < n; i++)
                if (word && !strcmp(table[i], word))
                        return (int) i;
        return -EBADMSG;
}

#define LEASE_COLUMNS "invocation_id, token_digest, generation, uid, created_at, state"
#define RESERVATION_COLUMNS                                                                         \
        "reservation_id, invocation_id, provision_token, kind, cpus_milli, memory_bytes, pids, "    \
        "containers, builds, disk_bytes, resources_json, state, sequence, created_at, granted_at, " \
        "slot, slot_generation, attempt_id, create_spec_digest, network_id, container_id, "         \
        "quarantine_reason"
#define SLOT_SELECT                                                                                \
        "SELECT s.number, s.state, s.generation, s.quarantine_reason, r.reservation_id "           \
        "FROM slots s LEFT JOIN reservations r ON r.slot = s.number "

static const char *const queries[] = {
        [META_GET] = "SELECT value FROM meta WHERE key = ?1",
        [META_SET] = "INSERT INTO meta VALUES (?1, ?2) "
                     "ON CONFLICT (key) DO UPDATE SET value = ?2",
        [LEASE_INSERT] = "INSERT INTO leases (" LEASE_COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        [LEASE_GET] = "SELECT " LEASE_COLUMNS " FROM leases WHERE invocation_id = ?1",
        [LEASE_SET_STATE] = "UPDATE leases SET state = ?2 WHERE invocation_id = ?1",
        [LEASE_DELETE] = "DELETE FROM leases WHERE invocation_id = ?1",
        [LEASE_LIST] = "SELECT " LEASE_COLUMNS " FROM leases ORDER BY created_at, invocation_id",
        [LEASE_COUNT_OF] = "SELECT count(*) FROM leases WHERE uid = ?1",
        [RESERVATION_INSERT] =
                        "INSERT INTO reservations (reservation_id, invocation_id, provision_token,"
                        " kind, cpus_milli, memory_bytes, pids, containers, builds, disk_bytes,"
                        " resources_json, state, created_at, granted_at, slot, slot_generation)"
                        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, 0, NULL, 0)",
        [RESERVATION_GET] = "SELECT " RESERVATION_COLUMNS
                            " FROM reservations WHERE reservation_id = ?1",
        [RESERVATION_UPDATE] = "UPDATE reservations SET state = ?2, granted_at = ?3, slot = ?4,"
                               " slot_generation = ?5, attempt_id = ?6, create_spec_digest = ?7,"
                               " network_id = ?8, container_id = ?9, quarantine_reason = ?10"
                               " WHERE reservation_id = ?1",
        [RESERVATION_DELETE] = "DELETE FROM reservations WHERE reservation_id = ?1",
        [RESERVATION_LIST] = "SELECT " RESERVATION_COLUMNS " FROM reservations ORDER BY sequence",
        [RESERVATION_LIST_OF] = "SELECT " RESERVATION_COLUMNS
                                " FROM reservations WHERE invocation_id = ?1 ORDER BY sequence",
        [RESERVATION_COUNT_OF] = "SELECT count(*) FROM reservations WHERE invocation_id = ?1",
        [QUEUE_NEXT] = "SELECT " RESERVATION_COLUMNS " FROM reservations"
                       " WHERE state = 'queued' AND sequence > ?1 ORDER BY sequence LIMIT 1",
        [QUEUE_COUNT] = "SELECT count(*) FROM reservations WHERE state = 'queued'",
        [CHARGED] = "SELECT coalesce(sum(cpus_milli), 0), coalesce(sum(memory_bytes), 0),"
                    " coalesce(sum(pids), 0), coalesce(sum(containers), 0),"
                    " coalesce(sum(builds), 0), coalesce(sum(disk_bytes), 0)"
                    " FROM reservations WHERE state <> 'queued'",
        [SLOT_INSERT] = "INSERT INTO slots (number, state, generation) VALUES (?1, 'free', 1) "
                        "ON CONFLICT (number) DO NOTHING",
        [SLOT_DELETE] = "DELETE FROM slots WHERE number = ?1",
        [SLOT_GET] = SLOT_SELECT "WHERE s.number = ?1",
        [SLOT_UPDATE] = "UPDATE slots SET state = ?2, generation = ?3, quarantine_reason = ?4 "
                        "WHERE number = ?1",
        [SLOT_LIST] = SLOT_SELECT "ORDER BY s.number",
        [SLOT_NEXT_FREE] = SLOT_SELECT "WHERE s.state = 'free' AND s.number > ?1"
                                       " ORDER BY s.number LIMIT 1",
        [EVENT_INSERT] = "INSERT INTO events (at, kind, detail) VALUES (?1, ?2, ?3)",
        [EVENT_TRIM] = "DELETE FROM events WHERE sequence <= ?1",
};
static_assert(N_ELEMENTS(queries) == _QUERY_MAX, "a text a query");

int ledger_prepare(Ledger *l) {
        for (size_t i = 0; i < _QUERY_MAX; i++) {
                int code = sqlite3_prepare_v3(l->db,
                                              queries[i],
                                              -1,
                                              SQLITE_PREPARE_PERSISTENT,
                                              &l->queries[i],
                                              NULL);

                if (code != SQLITE_OK)
                        return ledger_errno(code);
        }
        return 0;
}

void ledger_finalize(Ledger *l) {
        for (size_t i = 0; i < _QUERY_MAX; i++)
                sqlite3_finalize(l->queries[i]);
}

void query_bind_text(sqlite3_stmt *s, int i, const char *text) {
        if (text)
                sqlite3_bind_text(s, i, text, -1, SQLITE_TRANSIENT);
        else
                sqlite3_bind_null(s, i);
}

void query_bind_uint(sqlite3_stmt *s, int i, uint64_t v) {
        sqlite3_bind_int64(s, i, (sqlite3_int64) v);
}

/* Runs a query that gives no rows. Returns how many rows it changed, or -errno. */
int query_run(Ledger *l, Query query) {
        sqlite3_stmt *s = l->queries[query];
        int code = sqlite3_step(s), r;

        r = code == SQLITE_DONE ? sqlite3_changes(l->db) : ledger_errno(code);
        sqlite3_reset(s);
        sqlite3_clear_bindings(s);
        if (r < 0)
                ledger_note_error(l, r);
        return r;
}

/* The same where just one row must be there. */
int query_run_on_one(Ledger *l, Query query) {
        int r = query_run(l, query);

        return r < 0 ? r : r == 0 ? -ENOENT : 0;
}

int query_copy_text(sqlite3_stmt *s, int column, char **ret) {
        const char *text = (const char *) sqlite3_column_text(s, column);

        if (!text) {
                *ret = NULL;
                return sqlite3_column_type(s, column) == SQLITE_NULL ? 0 : -ENOMEM;
        }
        *ret = strdup(text);
        return *ret ? 0 : -ENOMEM;
}

void query_copy_fixed(sqlite3_stmt *s, int column, char *ret, size_t n) {
        const char *text = (const char *) sqlite3_column_text(s, column);

        ret[0] = 0;
        if (text)
                strncat(ret, text, n - 1);
}

uint64_t query_column_uint(sqlite3_stmt *s, int column) {
        return (uint64_t) sqlite3_column_int64(s, column);
}

/* One row or -ENOENT. */
int query_get_row(Ledger *l, Query query, read_row_fn read, row_done_fn done, void *ret) {
        sqlite3_stmt *s = l->queries[query];
        int code = sqlite3_step(s), r;

        if (code == SQLITE_ROW) {
                r = read(s, ret);
                if (r < 0)
                        done(ret);
        } else
                r = code == SQLITE_DONE ? -ENOENT : ledger_errno(code);
        sqlite3_reset(s);
        sqlite3_clear_bindings(s);
        return r;
}

/* All rows as a new array of elements of `size` bytes. */
int query_list_rows(Ledger *l,
                    Query query,
                    size_t size,
                    read_row_fn read,
                    row_done_fn done,
                    void **ret,
                    size_t *ret_n) {
        sqlite3_stmt *s = l->queries[query];
        size_t n = 0, room = 8;
        char *rows = calloc(room, size);
        int code = SQLITE_NOMEM, r = rows ? 0 : -ENOMEM;

        while (r >= 0 && (code = sqlite3_step(s)) == SQLITE_ROW) {
                if (n == room) {
                        char *p = reallocarray(rows, room * 2, size);

                        if (!p) {
                                r = -ENOMEM;
                                break;
                        }
                        rows = p;
                        room *= 2;
                        memset(rows + n * size, 0, (room - n) * size);
                }
                r = read(s, rows + n * size);
                n++; /* also a half-read row is to be freed */
        }
        if (r >= 0 && code != SQLITE_DONE)
                r = ledger_errno(code);
        sqlite3_reset(s);
        sqlite3_clear_bindings(s);
        if (r < 0) {
                for (size_t i = 0; i < n; i++)
                        done(rows + i * size);
                free(rows);
                return r;
        }
        *ret = rows;
        *ret_n = n;
        return 0;
}

int query_read_uint(sqlite3_stmt *s, void *ret) {
        *(uint64_t *) ret = query_column_uint(s, 0);
        return 0;
}

void query_nothing_done(void *row UNUSED) {
}
