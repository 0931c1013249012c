/* SPDX-License-Identifier: MIT */
/* Shared by the ledger's own files: transactions (ledger.c), queries, rows. */
#pragma once

#include <sqlite3.h>

#include "watchdog/ledger.h"

typedef struct Callback {
        ledger_commit_fn fn; /* NULL: forgotten */
        void *userdata;
} Callback;

typedef struct Callbacks {
        Callback *items;
        size_t n, room;
} Callbacks;

/* Events that are kept, and how many more there may be before old ones are deleted. */
#define EVENTS_KEPT 100000
#define EVENTS_BATCH 1000

/* Each has its text in ledger-queries.c. */
typedef enum Query {
        META_GET,
        META_SET,
        LEASE_INSERT,
        LEASE_GET,
        LEASE_SET_STATE,
        LEASE_DELETE,
        LEASE_LIST,
        LEASE_COUNT_OF,
        RESERVATION_INSERT,
        RESERVATION_GET,
        RESERVATION_UPDATE,
        RESERVATION_DELETE,
        RESERVATION_LIST,
        RESERVATION_LIST_OF,
        RESERVATION_COUNT_OF,
        QUEUE_NEXT,
        QUEUE_COUNT,
        CHARGED,
        SLOT_INSERT,
        SLOT_DELETE,
        SLOT_GET,
        SLOT_UPDATE,
        SLOT_LIST,
        SLOT_NEXT_FREE,
        EVENT_INSERT,
        EVENT_TRIM,
        _QUERY_MAX
} Query;

struct Ledger {
        sqlite3 *db;
        int lock_fd;
        sqlite3_stmt *queries[_QUERY_MAX];
        sd_event *event;
        sd_event_source *turn_end;
        bool open;     /* a transaction of this turn is open */
        bool changing; /* between change_begin and change_end */
        int lost;      /* < 0: SQLite ended the transaction of this turn with this error */
        Callbacks waiting;
        Callbacks *running; /* being called just now */
};

int ledger_errno(int code);
int ledger_exec(Ledger *l, const char *sql);
void ledger_note_error(Ledger *l, int error);
int ledger_prepare(Ledger *l);
void ledger_finalize(Ledger *l);
int ledger_trim_events(Ledger *l, uint64_t newest);

/* Place of a word in a table, or -EBADMSG; the CHECKs of the schema let no other word in. */
int query_word(const char *const table[], size_t n, const char *word);
void query_bind_text(sqlite3_stmt *s, int i, const char *text);
void query_bind_uint(sqlite3_stmt *s, int i, uint64_t v);
int query_copy_text(sqlite3_stmt *s, int column, char **ret);
void query_copy_fixed(sqlite3_stmt *s, int column, char *ret, size_t n);
uint64_t query_column_uint(sqlite3_stmt *s, int column);

/* Runs a query that gives no rows. Returns how many rows it changed, or -errno. */
int query_run(Ledger *l, Query query);
/* The same where just one row must be there: 0, -ENOENT. */
int query_run_on_one(Ledger *l, Query query);

typedef int (*read_row_fn)(sqlite3_stmt *s, void *ret);
typedef void (*row_done_fn)(void *row);
/* One row or -ENOENT. */
int query_get_row(Ledger *l, Query query, read_row_fn read, row_done_fn done, void *ret);
/* All rows as a new array of elements of `size` bytes. */
int query_list_rows(Ledger *l,
                    Query query,
                    size_t size,
                    read_row_fn read,
                    row_done_fn done,
                    void **ret,
                    size_t *ret_n);
/* For a query of one number. */
int query_read_uint(sqlite3_stmt *s, void *ret);
void query_nothing_done(void *row);
