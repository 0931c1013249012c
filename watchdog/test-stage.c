/* SPDX-License-Identifier: MIT */
#include "watchdog/test-stage.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"

static void stage_path(Stage *s, const char *name, char *buf, size_t n) {
        assert_true(snprintf(buf, n, "%s/%s", s->dir, name) < (int) n);
}

static void make_dir(Stage *s, const char *name) {
        char path[256];

        stage_path(s, name, path, sizeof(path));
        assert_int_equal(mkdir(path, 0755), 0);
}

static void make_slots(Stage *s) {
        SlotTable t = { .n_slots = STAGE_SLOTS, .slots_dir = NULL };
        CLEANUP(freep) char *text = NULL;
        SlotEntry entries[STAGE_SLOTS];
        char slots[256], path[256];

        make_dir(s, "slots");
        stage_path(s, "slots", slots, sizeof(slots));
        for (uint32_t i = 0; i < STAGE_SLOTS; i++) {
                entries[i] = (SlotEntry){
                        .number = i + 1,
                        .project_id = 7000 + i,
                        .limit_bytes = 1 << 30,
                        .limit_inodes = 1000,
                        .uid = getuid(),
                        .gid = getgid(),
                        .mode = 0700,
                };
                slot_id_format(entries[i].id, i + 1);
                snprintf(path, sizeof(path), "slots/%s", entries[i].id);
                make_dir(s, path);
        }
        t.slots = entries;
        t.slots_dir = slots;
        t.mount = s->dir;
        assert_int_equal(slot_table_format(&t, &text), 0);
        stage_path(s, "slots.json", path, sizeof(path));
        assert_int_equal(file_write_atomic(path, text, strlen(text), 0644, (uid_t) -1, (gid_t) -1),
                         0);
}

static pid_t start(Stage *s, const char *program, const char *const extra[]) {
        const char *top = getenv("top_builddir");
        const char *argv[24] = { NULL };
        char path[512], socket[256], rules[256], log[256], name[64];
        size_t n = 0;
        pid_t pid;

        snprintf(path, sizeof(path), "%s/selftest/engine/scripted-%s", top ? top : ".", program);
        snprintf(name, sizeof(name), "%s.sock", program);
        stage_path(s, name, socket, sizeof(socket));
        snprintf(name, sizeof(name), "%s.rules", program);
        stage_path(s, name, rules, sizeof(rules));
        snprintf(name, sizeof(name), "%s.log", program);
        stage_path(s, name, log, sizeof(log));
        const char *first[] = { path, "--socket", socket, "--rules", rules, "--log", log };

        for (size_t i = 0; i < N_ELEMENTS(first); i++)
                argv[n++] = first[i];
        for (; *extra; extra++)
                argv[n++] = *extra;
        (void) unlink(socket);
        pid = fork();
        if (pid == 0) {
                execv(path, (char **) argv);
                perror(path);
                _exit(127);
        }
        assert_true(pid > 0);
        for (int i = 0; access(socket, F_OK) < 0; i++) {
                assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
                assert_true(i < 6000);
                usleep(10000);
        }
        return pid;
}

static void stop(pid_t *pid) {
        if (*pid > 0) {
                kill(*pid, SIGTERM);
                (void) waitpid(*pid, NULL, 0);
        }
        *pid = 0;
}

void stage_start_engine(Stage *s) {
        char state[256], scopes[256];

        stage_path(s, "engine.state", state, sizeof(state));
        snprintf(scopes,
                 sizeof(scopes),
                 "%s/user@%u.service/user.slice",
                 s->aggregate,
                 (unsigned) getuid());
        s->engine = start(s,
                          "engine",
                          (const char *const[]){ "--state",
                                                 state,
                                                 "--root-dir",
                                                 STAGE_ROOT_DIR,
                                                 "--cgroup-dir",
                                                 scopes,
                                                 "--info",
                                                 s->info ? s->info : "{}",
                                                 s->ignore_filters ? "--ignore-filters" : NULL,
                                                 "1",
                                                 NULL });
}

void stage_stop_engine(Stage *s) {
        stop(&s->engine);
}

void stage_start_broker(Stage *s) {
        char table[256];

        stage_path(s, "slots.json", table, sizeof(table));
        s->broker = start(s, "broker", (const char *const[]){ "--table", table, NULL });
}

void stage_stop_broker(Stage *s) {
        stop(&s->broker);
}

void stage_new(Stage *s) {
        char path[256];

        *s = (Stage){ .dir = "/tmp/dindhost-stage-XXXXXX" };
        assert_non_null(mkdtemp(s->dir));
        stage_path(s, "engine.sock", s->engine_socket, sizeof(s->engine_socket));
        stage_path(s, "broker.sock", s->broker_socket, sizeof(s->broker_socket));
        make_slots(s);
        make_dir(s, "aggregate");
        s->aggregate = text_format("%s/aggregate", s->dir);
        assert_non_null(s->aggregate);
        snprintf(path, sizeof(path), "aggregate/user@%u.service", (unsigned) getuid());
        make_dir(s, path);
        strcat(path, "/user.slice");
        make_dir(s, path);
        stage_start_engine(s);
        stage_start_broker(s);
}

void stage_done(Stage *s) {
        char command[128];

        stage_close(s);
        stage_stop_engine(s);
        stage_stop_broker(s);
        snprintf(command, sizeof(command), "rm -rf %s", s->dir);
        assert_int_equal(system(command), 0);
        free(s->aggregate);
        *s = (Stage){ 0 };
}

void stage_rules(Stage *s, const char *who, const char *text) {
        char name[32], path[256];

        snprintf(name, sizeof(name), "%s.rules", who);
        stage_path(s, name, path, sizeof(path));
        assert_int_equal(file_write_atomic(path, text, strlen(text), 0644, (uid_t) -1, (gid_t) -1),
                         0);
}

size_t stage_logged(Stage *s, const char *who, const char *prefix) {
        char name[32], path[256], line[1024];
        size_t n = 0;
        FILE *f;

        snprintf(name, sizeof(name), "%s.log", who);
        stage_path(s, name, path, sizeof(path));
        f = fopen(path, "re");
        while (f && fgets(line, sizeof(line), f))
                n += text_has_prefix(line, prefix);
        if (f)
                fclose(f);
        return n;
}

long stage_engine(
                Stage *s, const char *method, const char *path, const json_t *body, json_t **ret) {
        CLEANUP(engine_reply_donep) EngineReply reply = { 0 };

        assert_int_equal(engine_request(s->engine_socket,
                                        method,
                                        path,
                                        body,
                                        60 * USEC_PER_SEC,
                                        &reply),
                         0);
        if (ret) {
                *ret = json_loadb(reply.body, reply.n_body, JSON_DECODE_ANY, NULL);
                assert_non_null(*ret);
        }
        return reply.status;
}

size_t stage_count(Stage *s, const char *path) {
        CLEANUP(json_decrefp) json_t *list = NULL;

        assert_int_equal(stage_engine(s, "GET", path, NULL, &list), 200);
        return json_array_size(list);
}

static void fill_conf(ProfileConf *c) {
        c->engine_timeout_usec = 2 * USEC_PER_SEC;
        c->create_timeout_usec = 2 * USEC_PER_SEC;
        c->stop_timeout_usec = USEC_PER_SEC;
        c->broker_timeout_usec = 2 * USEC_PER_SEC;
        c->ready_timeout_usec = 60 * USEC_PER_SEC;
        c->sandbox_lifetime_usec = 3600 * USEC_PER_SEC;
        c->quarantine_retry_max_usec = 3 * USEC_PER_SEC;
        c->lease_grace_usec = 15 * USEC_PER_SEC;
}

static void open_ledger(Stage *s) {
        char path[256], *why = NULL;
        Watchdog *w = &s->w;

        stage_path(s, "ledger.db", path, sizeof(path));
        assert_int_equal(ledger_open(path, w->event, &w->ledger, &why), 0);
        assert_int_equal(ledger_change_begin(w->ledger), 0);
        assert_int_equal(ledger_slots_sync(w->ledger, &w->slot_table), 0);
        assert_int_equal(ledger_change_end(w->ledger, true), 0);
        assert_int_equal(ledger_commit(w->ledger), 0);
}

void stage_open(Stage *s) {
        Watchdog *w = &s->w;
        char path[256], *why = NULL;

        *w = (Watchdog){ 0 };
        assert_int_equal(profile_paths("stage", &w->paths), 0);
        snprintf(w->paths.engine_socket, sizeof(w->paths.engine_socket), "%s", s->engine_socket);
        fill_conf(&w->conf);
        s->dns[0] = "9.9.9.9";
        s->descriptor = (Descriptor){
                .profile_id = "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
                .aggregate_path = s->aggregate,
                .owner_uid = getuid(),
                .docker_root_dir = STAGE_ROOT_DIR,
                .dns_servers = s->dns,
        };
        w->descriptor = &s->descriptor;
        stage_path(s, "slots.json", path, sizeof(path));
        assert_int_equal(slot_table_load(path, &w->slot_table, &why), 0);
        assert_int_equal(sd_event_new(&w->event), 0);
        open_ledger(s);
        assert_int_equal(engine_new(w->event, s->engine_socket, &w->engine), 0);
        assert_int_equal(broker_link_new(w->event,
                                         s->broker_socket,
                                         w->conf.broker_timeout_usec,
                                         &w->broker),
                         0);
}

void stage_close(Stage *s) {
        Watchdog *w = &s->w;

        if (!w->event)
                return;
        w->broker = broker_link_free(w->broker);
        w->engine = engine_free(w->engine);
        w->ledger = ledger_free(w->ledger);
        slot_table_donep(&w->slot_table);
        free(w->generation);
        free(w->admission_closed_reason);
        sd_event_unref(w->event);
        *w = (Watchdog){ 0 };
}

bool stage_turn(Stage *s) {
        int r = sd_event_run(s->w.event, 10 * USEC_PER_MSEC);

        assert_true(r >= 0);
        return r > 0;
}

bool stage_run(Stage *s, const bool *done, unsigned sec) {
        uint64_t end = boottime_usec() + sec * USEC_PER_SEC;

        while (!*done && boottime_usec() < end)
                (void) stage_turn(s);
        return *done;
}

void stage_file(Stage *s, const char *slot_and_name) {
        char name[128], path[256];

        snprintf(name, sizeof(name), "slots/%s", slot_and_name);
        stage_path(s, name, path, sizeof(path));
        assert_int_equal(file_write_atomic(path, "x", 1, 0644, (uid_t) -1, (gid_t) -1), 0);
}

bool stage_has_file(Stage *s, const char *slot_and_name) {
        char name[128], path[256];

        snprintf(name, sizeof(name), "slots/%s", slot_and_name);
        stage_path(s, name, path, sizeof(path));
        return access(path, F_OK) == 0;
}

static sqlite3_stmt *ask_ledger(Stage *s, const char *sql) {
        char path[256];
        sqlite3 *db = NULL;
        sqlite3_stmt *q = NULL;

        stage_path(s, "ledger.db", path, sizeof(path));
        assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
        return q;
}

static void end_ask(sqlite3_stmt *q) {
        sqlite3 *db = sqlite3_db_handle(q);

        sqlite3_finalize(q);
        sqlite3_close(db);
}

size_t stage_events(Stage *s, const char *kind) {
        sqlite3_stmt *q = ask_ledger(s, "SELECT count(*) FROM events WHERE kind = ?1");
        size_t n;

        sqlite3_bind_text(q, 1, kind, -1, SQLITE_STATIC);
        assert_int_equal(sqlite3_step(q), SQLITE_ROW);
        n = (size_t) sqlite3_column_int64(q, 0);
        end_ask(q);
        return n;
}

char *stage_event_kinds(Stage *s) {
        sqlite3_stmt *q = ask_ledger(s,
                                     "SELECT group_concat(kind || ' ', '') FROM "
                                     "(SELECT kind FROM events ORDER BY sequence)");
        char *text;

        assert_int_equal(sqlite3_step(q), SQLITE_ROW);
        text = strdup((const char *) sqlite3_column_text(q, 0));
        end_ask(q);
        return text;
}
