/* SPDX-License-Identifier: MIT */
/* Opening, transactions and commit callbacks; the rows are in ledger-rows.c. */
#include "watchdog/ledger.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "base/fd.h"
#include "base/text.h"
#include "watchdog/ledger-internal.h"
#include "watchdog/ledger-schema.h"

/* A loop turn with more waiting callbacks than this is committed at once: bounded delay under load.
 */
#define CALLBACKS_MAX 256

int ledger_errno(int code) {
        switch (code & 0xff) {
        case SQLITE_OK:
        case SQLITE_ROW:
        case SQLITE_DONE:
                return 0;
        case SQLITE_CONSTRAINT:
                return -EEXIST;
        case SQLITE_FULL:
                return -ENOSPC;
        case SQLITE_NOMEM:
                return -ENOMEM;
        case SQLITE_READONLY:
        case SQLITE_CANTOPEN:
                return -EROFS;
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
                return -EBUSY;
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
                return -EBADMSG;
        default:
                return -EIO;
        }
}

int ledger_exec(Ledger *l, const char *sql) {
        return ledger_errno(sqlite3_exec(l->db, sql, NULL, NULL, NULL));
}

static int query_int(Ledger *l, const char *sql, int64_t *ret) {
        sqlite3_stmt *s = NULL;
        int code = sqlite3_prepare_v2(l->db, sql, -1, &s, NULL);

        if (code == SQLITE_OK)
                code = sqlite3_step(s);
        if (code == SQLITE_ROW)
                *ret = sqlite3_column_int64(s, 0);
        sqlite3_finalize(s);
        return code == SQLITE_ROW ? 0 : ledger_errno(code == SQLITE_DONE ? SQLITE_CORRUPT : code);
}

/* quick_check reads the whole file but is linear: part of the start-up budget of a second. */
static int check_whole(Ledger *l, char **ret_message) {
        sqlite3_stmt *s = NULL;
        int code = sqlite3_prepare_v2(l->db, "PRAGMA quick_check(1)", -1, &s, NULL);
        int r = -EBADMSG;

        if (code == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW) {
                const char *text = (const char *) sqlite3_column_text(s, 0);

                if (text && !strcmp(text, "ok"))
                        r = 0;
                else
                        *ret_message = text_format("the ledger is damaged: %s", text ? text : "?");
        } else
                *ret_message = text_format("the ledger is damaged: %s", sqlite3_errmsg(l->db));
        sqlite3_finalize(s);
        return r;
}

static int make_schema(Ledger *l) {
        char stamp[128];
        int r;

        snprintf(stamp,
                 sizeof(stamp),
                 "PRAGMA application_id = %d; PRAGMA user_version = %d;",
                 LEDGER_APPLICATION_ID,
                 LEDGER_SCHEMA_VERSION);
        r = ledger_exec(l, "BEGIN IMMEDIATE");
        if (r >= 0)
                r = ledger_exec(l, ledger_schema);
        if (r >= 0)
                r = ledger_exec(l, stamp);
        if (r >= 0)
                return ledger_exec(l, "COMMIT");
        (void) ledger_exec(l, "ROLLBACK");
        return r;
}

static int check_schema(Ledger *l, char **ret_message) {
        int64_t version = 0, application = 0, tables = 0;
        int r;

        r = query_int(l, "PRAGMA user_version", &version);
        if (r >= 0)
                r = query_int(l, "PRAGMA application_id", &application);
        if (r >= 0)
                r = query_int(l, "SELECT count(*) FROM sqlite_schema", &tables);
        if (r < 0)
                return r;
        if (version == 0 && tables == 0)
                return make_schema(l);
        if (application != LEDGER_APPLICATION_ID) {
                *ret_message = text_format("the file is not a ledger of dindhost; move it away");
                return -EINVAL;
        }
        if (version > LEDGER_SCHEMA_VERSION) {
                *ret_message = text_format(
                                "the ledger has schema %lld, this program knows up to %d: it was "
                                "written by a newer dindhost; install that one again",
                                (long long) version,
                                LEDGER_SCHEMA_VERSION);
                return -EINVAL;
        }
        return check_whole(l, ret_message);
}

static int set_pragmas(Ledger *l) {
        return ledger_exec(l,
                           "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                           "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;"
                           "PRAGMA cache_size = -1024; PRAGMA wal_autocheckpoint = 1000;");
}

static int trim_events(Ledger *l) {
        int64_t newest = 0;
        int r = query_int(l, "SELECT coalesce(max(sequence), 0) FROM events", &newest);

        return r < 0 ? r : ledger_trim_events(l, (uint64_t) newest);
}

static int on_turn_end(sd_event_source *source UNUSED, void *userdata) {
        /* A failed commit was told to everybody who waited for it; the loop goes on. */
        (void) ledger_commit(userdata);
        return 0;
}

static int add_turn_end(Ledger *l) {
        int r = sd_event_add_defer(l->event, &l->turn_end, on_turn_end, l);

        if (r < 0)
                return r;
        /* after the sources of clients, links and timers, so that they share a flush */
        r = sd_event_source_set_priority(l->turn_end, SD_EVENT_PRIORITY_IDLE);
        if (r < 0)
                return r;
        return sd_event_source_set_enabled(l->turn_end, SD_EVENT_OFF);
}

/*
 * SQLite keeps two writers from mixing transactions, not two watchdogs from granting one slot. The
 * lock ends with the process, however it ends.
 */
static int lock_out_others(Ledger *l, const char *path, char **ret_message) {
        CLEANUP(freep) char *lock = text_format("%s.lock", path);

        if (!lock)
                return -ENOMEM;
        l->lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (l->lock_fd < 0) {
                int saved = errno;

                *ret_message = text_format("cannot open %s: %s", lock, strerror(saved));
                return -saved;
        }
        if (flock(l->lock_fd, LOCK_EX | LOCK_NB) < 0) {
                *ret_message = text_format("another dindhost-watchdog uses it");
                return -EBUSY;
        }
        return 0;
}

static int open_and_check(Ledger *l, const char *path, char **ret_message) {
        int r = lock_out_others(l, path, ret_message);

        if (r < 0)
                return r;
        r = ledger_errno(sqlite3_open_v2(path,
                                         &l->db,
                                         SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                                                         SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX,
                                         NULL));
        if (r < 0)
                return r;
        sqlite3_extended_result_codes(l->db, 1);
        /* one writer: another one holding the file is a mistake, not something to wait for */
        sqlite3_busy_timeout(l->db, 0);
        r = set_pragmas(l);
        if (r < 0)
                return r;
        r = check_schema(l, ret_message);
        if (r < 0)
                return r;
        r = ledger_prepare(l);
        if (r < 0)
                return r;
        r = trim_events(l);
        return r < 0 ? r : 0;
}

int ledger_open(const char *path, sd_event *event, Ledger **ret, char **ret_message) {
        CLEANUP(ledger_freep) Ledger *l = calloc(1, sizeof(*l));
        char *why = NULL;
        int r;

        if (!l)
                return -ENOMEM;
        l->lock_fd = -EBADF;
        r = open_and_check(l, path, &why);
        if (r >= 0 && event) {
                l->event = sd_event_ref(event);
                r = add_turn_end(l);
        }
        if (r < 0) {
                *ret_message = text_format("%s: %s",
                                           path,
                                           why                     ? why
                                                           : l->db ? sqlite3_errmsg(l->db)
                                                                   : strerror(-r));
                free(why);
                return r;
        }
        *ret = TAKE_PTR(l);
        return 0;
}

Ledger *ledger_free(Ledger *l) {
        if (!l)
                return NULL;
        sd_event_source_disable_unref(l->turn_end);
        sd_event_unref(l->event);
        ledger_finalize(l);
        /* closing undoes what was not committed: nobody was told of it */
        sqlite3_close(l->db);
        fd_closep(&l->lock_fd);
        free(l->waiting.items);
        free(l);
        return NULL;
}

void ledger_freep(Ledger **l) {
        ledger_free(*l);
}

/* Some errors (disk full, I/O) end the whole transaction by themselves: sqlite3_get_autocommit(3).
 */
void ledger_note_error(Ledger *l, int error) {
        if (error < 0 && l->open && sqlite3_get_autocommit(l->db)) {
                l->open = false;
                l->lost = error;
        }
}

int ledger_change_begin(Ledger *l) {
        int r;

        assert(!l->changing);
        if (l->lost < 0)
                return l->lost;
        if (!l->open) {
                /* left over when even a rollback failed */
                if (!sqlite3_get_autocommit(l->db))
                        (void) ledger_exec(l, "ROLLBACK");
                r = ledger_exec(l, "BEGIN IMMEDIATE");
                if (r < 0)
                        return r;
                l->open = true;
        }
        r = ledger_exec(l, "SAVEPOINT change");
        if (r < 0) {
                ledger_note_error(l, r);
                return r;
        }
        l->changing = true;
        if (l->turn_end)
                (void) sd_event_source_set_enabled(l->turn_end, SD_EVENT_ONESHOT);
        return 0;
}

int ledger_change_end(Ledger *l, bool keep) {
        int r;

        assert(l->changing);
        l->changing = false;
        if (l->lost < 0)
                return keep ? l->lost : 0;
        r = ledger_exec(l, keep ? "RELEASE change" : "ROLLBACK TO change; RELEASE change");
        if (r < 0) {
                /* half a change must never be committed: the whole turn is lost */
                (void) ledger_exec(l, "ROLLBACK");
                l->open = false;
                l->lost = r;
        }
        return r;
}

int ledger_on_commit(Ledger *l, ledger_commit_fn fn, void *userdata) {
        Callbacks *c = &l->waiting;

        if (c->n == c->room) {
                size_t room = c->room ? c->room * 2 : 16;
                Callback *p = reallocarray(c->items, room, sizeof(*p));

                if (!p)
                        return -ENOMEM;
                c->items = p;
                c->room = room;
        }
        c->items[c->n++] = (Callback){ fn, userdata };
        if (l->turn_end) {
                (void) sd_event_source_set_enabled(l->turn_end, SD_EVENT_ONESHOT);
                if (c->n >= CALLBACKS_MAX)
                        (void) sd_event_source_set_priority(l->turn_end,
                                                            SD_EVENT_PRIORITY_IMPORTANT);
        }
        return 0;
}

static void forget_in(Callbacks *c, void *userdata) {
        for (size_t i = 0; i < c->n; i++)
                if (c->items[i].userdata == userdata)
                        c->items[i].fn = NULL;
}

void ledger_forget(Ledger *l, void *userdata) {
        forget_in(&l->waiting, userdata);
        if (l->running)
                forget_in(l->running, userdata);
}

int ledger_commit(Ledger *l) {
        Callbacks now = l->waiting;
        int r = l->lost;

        assert(!l->changing && !l->running);
        if (r >= 0 && l->open) {
                r = ledger_exec(l, "COMMIT");
                if (r < 0 && !sqlite3_get_autocommit(l->db))
                        (void) ledger_exec(l, "ROLLBACK");
        }
        l->open = false;
        l->lost = 0;
        l->waiting = (Callbacks){ 0 };
        if (l->turn_end) {
                (void) sd_event_source_set_enabled(l->turn_end, SD_EVENT_OFF);
                (void) sd_event_source_set_priority(l->turn_end, SD_EVENT_PRIORITY_IDLE);
        }
        l->running = &now;
        for (size_t i = 0; i < now.n; i++)
                if (now.items[i].fn)
                        now.items[i].fn(now.items[i].userdata, r);
        l->running = NULL;
        free(now.items);
        return r;
}
