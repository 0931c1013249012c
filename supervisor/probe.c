/* SPDX-License-Identifier: MIT */
#include "supervisor/probe.h"

#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "supervisor/accounts.h"
#include "supervisor/fd.h"
#include "supervisor/http.h"
#include "supervisor/spawn.h"

#define FILE_MAX (64 * 1024) /* of /etc/passwd and /etc/group */
#define GROUPS_MAX 64
#define REPLY_MAX 4096 /* more of a reply is read and thrown away */

/* clang-format off */
static const char *const stage_names[] = {
        [PROBE_NONE]            = "not-tried",
        [PROBE_NO_USER]         = "no-such-user",
        [PROBE_NO_IDENTITY]     = "no-identity",
        [PROBE_DAEMON_STARTING] = "daemon-starting",
        [PROBE_NO_ACCESS]       = "no-access",
        [PROBE_NO_ANSWER]       = "no-answer",
        [PROBE_DAEMON_ERROR]    = "daemon-error",
        [PROBE_PASSED]          = "passed",
};
static_assert(N_ELEMENTS(stage_names) == _PROBE_MAX, "one name per stage");
/* clang-format on */

const char *probe_stage_name(ProbeStage stage) {
        return stage_names[stage];
}

/* What the child knows. */
typedef struct Child {
        const char *user;
        int report;
        Account account;
        uint32_t groups[GROUPS_MAX];
        size_t n_groups;
} Child;

static void report(const Child *c, ProbeStage stage, const char *text, const char *more) {
        ProbeReport r = { .stage = stage, .uid = c->account.uid };
        Text t = TEXT(r.text);

        text_join(&t, text, more, NULL);
        /* short enough to go through a pipe in one piece, and few enough to fit into it */
        (void) !write(c->report, &r, sizeof(r));
}

static void report_errno(const Child *c, ProbeStage stage, const char *what, int error) {
        char text[200];
        Text t = TEXT(text);

        text_join(&t, what, ": ", strerror(error), NULL);
        report(c, stage, text, "");
}

static bool look_up(Child *c) {
        static char data[FILE_MAX];
        size_t n;
        int r;

        r = fd_read_file(AT_FDCWD, "/etc/passwd", data, sizeof(data), &n);
        if (r < 0) {
                report_errno(c, PROBE_NO_USER, "/etc/passwd cannot be read", -r);
                return false;
        }
        if (account_find(data, n, c->user, &c->account) != 0) {
                report(c, PROBE_NO_USER, "/etc/passwd of the image has no user ", c->user);
                return false;
        }
        r = fd_read_file(AT_FDCWD, "/etc/group", data, sizeof(data), &n);
        if (r < 0) {
                report_errno(c, PROBE_NO_USER, "/etc/group cannot be read", -r);
                return false;
        }
        r = group_memberships(data, n, c->user, GROUPS_MAX, c->groups, &c->n_groups);
        if (r == ACCOUNT_E_TOO_MANY)
                report(c, PROBE_NO_USER, "too many groups (more than 64) list the user ", c->user);
        return r == 0;
}

static bool become_user(const Child *c) {
        gid_t groups[GROUPS_MAX];

        for (size_t i = 0; i < c->n_groups; i++)
                groups[i] = c->groups[i];
        if (setgroups(c->n_groups, groups) < 0 ||
            setresgid(c->account.gid, c->account.gid, c->account.gid) < 0 ||
            setresuid(c->account.uid, c->account.uid, c->account.uid) < 0) {
                report_errno(c, PROBE_NO_IDENTITY, "cannot become the user", errno);
                return false;
        }
        return true;
}

static void report_no_access(const Child *c) {
        struct stat st;
        char text[240];
        Text t = TEXT(text);

        text_join(&t, "user ", c->user, " may not use " DOCKER_SOCKET, NULL);
        if (stat(DOCKER_SOCKET, &st) == 0) {
                bool member = st.st_gid == c->account.gid;

                for (size_t i = 0; i < c->n_groups; i++)
                        member = member || c->groups[i] == st.st_gid;
                if (!member) {
                        text_add(&t, ": it is not in the socket's group, ");
                        text_add_number(&t, st.st_gid);
                        text_add(&t,
                                 st.st_gid == 0 ? "; has the image a group docker?"
                                                : "; add it to the image's group docker");
                }
        }
        report(c, PROBE_NO_ACCESS, text, "");
}

static int connect_daemon(const Child *c) {
        struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = DOCKER_SOCKET };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0) {
                report_errno(c, PROBE_DAEMON_STARTING, "cannot make a socket", errno);
                return -1;
        }
        if (connect(fd, (const struct sockaddr *) &address, sizeof(address)) == 0)
                return fd;
        if (errno == EACCES || errno == EPERM)
                report_no_access(c);
        else
                report_errno(c,
                             PROBE_DAEMON_STARTING,
                             "the daemon does not listen yet on " DOCKER_SOCKET,
                             errno);
        close(fd);
        return -1;
}

/* Reads to the end of the stream; keeps the beginning. */
static ssize_t read_reply(int fd, char *data, size_t size) {
        char rest[REPLY_MAX];
        size_t n = 0;

        for (;;) {
                bool full = n == size;
                ssize_t k = read(fd, full ? rest : data + n, full ? sizeof(rest) : size - n);

                if (k < 0)
                        return -errno;
                if (k == 0)
                        return (ssize_t) n;
                if (!full)
                        n += (size_t) k;
        }
}

/* A wrong reply's first line goes into the report: mostly it is Docker's JSON message. */
static void report_reply(const Child *c, const char *path, const HttpReply *reply) {
        char text[240];
        Text t = TEXT(text);
        size_t n = 0;

        while (n < MIN(reply->n_body, (size_t) 160) && reply->body[n] != '\n' && reply->body[n])
                n++;
        text_join(&t, "GET ", path, " gave status ", NULL);
        text_add_number(&t, reply->status);
        text_add(&t, ": ");
        text_add_n(&t, reply->body, n);
        report(c, PROBE_DAEMON_ERROR, text, "");
}

/* One request, one reply; true when it is as it should be. */
static bool ask(const Child *c, const char *path, const char *begin) {
        char request[128], data[REPLY_MAX];
        Text t = TEXT(request);
        HttpReply reply;
        ssize_t n;
        int fd = connect_daemon(c);

        if (fd < 0)
                return false;
        report(c,
               PROBE_NO_ANSWER,
               "the daemon accepts connections, but does not answer GET ",
               path);
        http_request(&t, path);
        n = send(fd, request, t.n, MSG_NOSIGNAL) < 0 ? -errno : read_reply(fd, data, sizeof(data));
        close(fd);
        if (n < 0) {
                report_errno(c, PROBE_NO_ANSWER, "the daemon hung up", (int) -n);
                return false;
        }
        if (http_reply(data, (size_t) n, &reply) != 0) {
                report(c, PROBE_DAEMON_ERROR, "the daemon's answer is not HTTP: GET ", path);
                return false;
        }
        if (reply.status != 200 || reply.n_body < strlen(begin) ||
            memcmp(reply.body, begin, strlen(begin))) {
                report_reply(c, path, &reply);
                return false;
        }
        return true;
}

static NORETURN void run_child(const Options *o, int fd) {
        Child c = { .user = o->user, .report = fd };

        (void) prctl(PR_SET_NAME, "dindhost-probe", 0, 0, 0);
        if (!look_up(&c) || !become_user(&c) || !ask(&c, "/_ping", "OK") || !ask(&c, "/info", "{"))
                _exit(1);
        report(&c, PROBE_PASSED, "", "");
        _exit(0);
}

int probe_start(Probe *p, const Options *o, const sigset_t *mask) {
        int ends[2];
        pid_t pid;

        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        pid = spawn_fork(mask);
        if (pid == 0) {
                (void) dup2(ends[1], STDIN_FILENO);
                fd_close_from(STDERR_FILENO + 1);
                run_child(o, STDIN_FILENO);
        }
        (void) fd_close(ends[1]);
        if (pid < 0) {
                (void) fd_close(ends[0]);
                return pid;
        }
        p->pid = pid;
        p->fd = ends[0];
        return 0;
}

void probe_take(Probe *p) {
        ProbeReport r;

        while (read(p->fd, &r, sizeof(r)) == (ssize_t) sizeof(r)) {
                r.text[sizeof(r.text) - 1] = 0;
                if (r.stage < _PROBE_MAX)
                        p->last = r;
        }
}

void probe_finish(Probe *p) {
        probe_take(p);
        p->fd = fd_close(p->fd);
        p->pid = 0;
}
