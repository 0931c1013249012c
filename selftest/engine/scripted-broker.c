/* SPDX-License-Identifier: MIT */
/*
 * A broker for tests, on a real SOCK_SEQPACKET socket: slots are plain folders, quotas are believed
 *
 *         scripted-broker --socket PATH --table SLOTS.JSON [--rules FILE] [--log FILE]
 *
 * verify and facts look whether the slot's folder is empty, reset empties it (one level, which is
 * what tests put there); everything else is said to be as the table has it. A slot whose folder
 * holds a file "in-use" is busy. Rules (rules.h) have the verbs verify, facts, reset; fail=NUMBER
 * answers with that errno and a message. Needs no privilege.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "profile/slots.h"
#include "selftest/engine/rules.h"
#include "watchdog/broker/wire.h"

#define CLIENTS_MAX 16

static volatile sig_atomic_t stop_asked;

static void on_signal(int signo UNUSED) {
        stop_asked = 1;
}

static const char *const verb_names[_BROKER_VERB_MAX] = {
        [BROKER_VERIFY] = "verify",
        [BROKER_FACTS] = "facts",
        [BROKER_RESET] = "reset",
};

/* Calls for each entry of the folder; unlinks them when asked. Returns how many there were. */
static int count_entries(const char *path, bool delete, bool *ret_in_use) {
        DIR *d = opendir(path);
        int n = 0;

        *ret_in_use = false;
        if (!d)
                return -errno;
        for (struct dirent *e; (e = readdir(d));) {
                if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
                        continue;
                n++;
                if (!strcmp(e->d_name, "in-use"))
                        *ret_in_use = true;
                if (delete &&unlinkat(dirfd(d), e->d_name, 0) < 0)
                        (void) unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
        }
        closedir(d);
        return n;
}

static void refuse(BrokerReply *reply, int error, const char *message) {
        reply->error = error;
        snprintf(reply->message, sizeof(reply->message), "%s", message);
}

static void carry_out(const SlotTable *t, const BrokerRequest *q, BrokerReply *reply) {
        const SlotEntry *e;
        bool in_use;
        char path[512];
        int n;

        if (q->slot == 0 || q->slot > t->n_slots || q->verb == 0 || q->verb >= _BROKER_VERB_MAX) {
                refuse(reply, -EINVAL, "no such slot or verb");
                return;
        }
        e = t->slots + q->slot - 1;
        snprintf(path, sizeof(path), "%s/%s", t->slots_dir, e->id);
        n = count_entries(path, false, &in_use);
        if (q->verb != BROKER_FACTS && in_use) {
                refuse(reply, -EBUSY, "the slot is in use");
                return;
        }
        if (q->verb == BROKER_RESET && n > 0) {
                (void) count_entries(path, true, &in_use);
                n = count_entries(path, false, &in_use);
        }
        if (n < 0) {
                refuse(reply, n, "the slot's folder cannot be read");
                return;
        }
        if (q->verb == BROKER_VERIFY && n > 0)
                refuse(reply, -EUCLEAN, "the slot is not empty");
        reply->has_facts = 1;
        reply->facts = (SlotFacts){
                .project_id = e->project_id,
                .project_inherit = true,
                .limit_bytes = e->limit_bytes,
                .limit_inodes = e->limit_inodes,
                .used_bytes = 4096,
                .used_inodes = 1,
                .uid = e->uid,
                .gid = e->gid,
                .mode = e->mode,
                .empty = n == 0,
        };
}

static void log_request(const char *file, const BrokerRequest *q, const char *what, int error) {
        FILE *f = file ? fopen(file, "ae") : NULL;

        if (!f)
                return;
        fprintf(f, "%s slot-%04u %d\n", what, q->slot, error);
        fclose(f);
}

/* One request. False: the connection is over. */
static bool serve(int fd, const SlotTable *t, Rules *rules, const char *log) {
        BrokerRequest q;
        BrokerReply reply = { .version = BROKER_WIRE_VERSION };
        char slot[SLOT_ID_SIZE];
        const char *verb;
        ssize_t n = recv(fd, &q, sizeof(q), 0);
        Verdict v;

        if (n != (ssize_t) sizeof(q) || q.version != BROKER_WIRE_VERSION)
                return false;
        slot_id_format(slot, q.slot);
        verb = q.verb < _BROKER_VERB_MAX && verb_names[q.verb] ? verb_names[q.verb] : "?";
        v = rules_judge(rules, verb, slot);
        reply.id = q.id;
        if (v.action == ACTION_FAIL && !v.after)
                refuse(&reply, (int) -labs(v.value), "scripted failure");
        else if (v.action == ACTION_NONE || v.action == ACTION_DELAY || v.after)
                carry_out(t, &q, &reply);
        log_request(log, &q, verb, reply.error);
        switch (v.action) {
        case ACTION_HANG:
        case ACTION_LATE:
                return true;
        case ACTION_DROP:
                return false;
        case ACTION_HALF:
                (void) send(fd, &reply, sizeof(reply) / 2, MSG_NOSIGNAL);
                return false;
        case ACTION_DELAY:
                (void) poll(NULL, 0, (int) v.value);
                break;
        case ACTION_FAIL:
                if (v.after)
                        refuse(&reply, (int) -labs(v.value), "scripted failure");
                break;
        case ACTION_NONE:
                break;
        }
        return send(fd, &reply, sizeof(reply), MSG_NOSIGNAL) == (ssize_t) sizeof(reply);
}

static int listen_at(const char *path) {
        struct sockaddr_un a = { .sun_family = AF_UNIX };
        int fd;

        if (snprintf(a.sun_path, sizeof(a.sun_path), "%s.new", path) >= (int) sizeof(a.sun_path))
                return -ENAMETOOLONG;
        (void) unlink(a.sun_path);
        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (fd < 0 || bind(fd, (struct sockaddr *) &a, sizeof(a)) < 0 || listen(fd, 16) < 0 ||
            rename(a.sun_path, path) < 0)
                return -errno;
        return fd;
}

static void loop(int listener, const SlotTable *t, Rules *rules, const char *log) {
        struct pollfd fds[CLIENTS_MAX + 1];

        for (size_t i = 0; i <= CLIENTS_MAX; i++)
                fds[i] = (struct pollfd){ .fd = i ? -1 : listener, .events = POLLIN };
        while (!stop_asked) {
                if (poll(fds, CLIENTS_MAX + 1, -1) < 0)
                        continue;
                for (size_t i = 1; i <= CLIENTS_MAX; i++)
                        if (fds[i].fd >= 0 && fds[i].revents && !serve(fds[i].fd, t, rules, log)) {
                                close(fds[i].fd);
                                fds[i].fd = -1;
                        }
                if (!fds[0].revents)
                        continue;
                for (size_t i = 1; i <= CLIENTS_MAX; i++)
                        if (fds[i].fd < 0) {
                                fds[i].fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
                                break;
                        }
        }
}

int main(int argc, char *argv[]) {
        const char *socket_path = NULL, *table = NULL, *rules_path = NULL, *log = NULL;
        CLEANUP(slot_table_donep) SlotTable t = { 0 };
        CLEANUP(freep) char *why = NULL;
        struct sigaction sa = { .sa_handler = on_signal };
        Rules *rules;
        int fd;

        for (int i = 1; i + 1 < argc; i += 2)
                if (!strcmp(argv[i], "--socket"))
                        socket_path = argv[i + 1];
                else if (!strcmp(argv[i], "--table"))
                        table = argv[i + 1];
                else if (!strcmp(argv[i], "--rules"))
                        rules_path = argv[i + 1];
                else if (!strcmp(argv[i], "--log"))
                        log = argv[i + 1];
        if (!socket_path || !table || argc % 2 == 0) {
                fprintf(stderr,
                        "usage: scripted-broker --socket PATH --table FILE [--OPTION VALUE]...\n");
                return 2;
        }
        if (slot_table_load(table, &t, &why) < 0) {
                fprintf(stderr, "%s\n", why);
                return 1;
        }
        sigaction(SIGTERM, &sa, NULL);
        sigaction(SIGINT, &sa, NULL);
        rules = rules_new(rules_path);
        fd = listen_at(socket_path);
        if (fd < 0 || !rules) {
                fprintf(stderr, "%s: %s\n", socket_path, strerror(-fd));
                return 1;
        }
        loop(fd, &t, rules, log);
        (void) unlink(socket_path);
        close(fd);
        rules_free(rules);
        return 0;
}
