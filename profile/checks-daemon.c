/* SPDX-License-Identifier: MIT */
/*
 * Daemon checks: both sockets as a client sees them, the service's word, the daemon's word, and
 * that neither can be reached over TCP
 */
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/digest.h"
#include "base/engine.h"
#include "base/json.h"
#include "profile/control-client.h"
#include "profile/doctor.h"
#include "profile/engine-judge.h"
#include "profile/kernel-text.h"
#include "profile/procs.h"

static void restart_unit(const Doctor *d, Finding *f, const char *kind, const char *suffix) {
        finding_cure(f,
                     "systemctl restart dindhost-%s@%s.%s; if that does not help: dindhost profile "
                     "apply %s",
                     kind,
                     d->alias,
                     suffix,
                     d->alias);
}

/* What a client checks before it speaks to a socket. */
static bool socket_is_safe(const char *path, uid_t owner, struct stat *ret, Finding *f) {
        if (lstat(path, ret) < 0)
                finding_fail(f, "%s: %s", path, strerror(errno));
        else if (!S_ISSOCK(ret->st_mode))
                finding_fail(f, "%s is not a socket", path);
        else if (ret->st_uid != owner)
                finding_fail(f,
                             "%s belongs to uid %u, must be %u",
                             path,
                             (unsigned) ret->st_uid,
                             (unsigned) owner);
        else if (ret->st_mode & 0002)
                finding_fail(f,
                             "%s has mode %04o: everybody may write",
                             path,
                             (unsigned) ret->st_mode & 07777);
        else
                return true;
        return false;
}

static void check_control_socket(Doctor *d, Finding *f) {
        const char *path = d->descriptor->control_socket;
        struct stat st;

        if (socket_is_safe(path, d->descriptor->control_socket_uid, &st, f)) {
                if (st.st_gid == d->access_gid && (st.st_mode & 07777) == 0660) {
                        finding_pass(f, "%s, %s may use it", path, d->paths.access_group);
                        return;
                }
                finding_fail(f,
                             "%s has gid %u and mode %04o, must have %u and 0660",
                             path,
                             (unsigned) st.st_gid,
                             (unsigned) st.st_mode & 07777,
                             (unsigned) d->access_gid);
        }
        restart_unit(d, f, "watchdog", "socket");
}

/* Permissions of the access group on a path, by its ACL. */
static bool acl_gives(const char *path, gid_t gid, unsigned wanted, Finding *f) {
        char acl[4096];
        unsigned given = 0;
        ssize_t n = getxattr(path, "system.posix_acl_access", acl, sizeof(acl));

        if (n < 0) {
                finding_fail(f, "%s has no ACL: %s", path, strerror(errno));
                return false;
        }
        if (!acl_group_permissions(acl, (size_t) n, gid, &given) || (given & wanted) != wanted) {
                finding_fail(f,
                             "%s: the ACL gives the access group %s%s%s%s",
                             path,
                             given & 4 ? "r" : "",
                             given & 2 ? "w" : "",
                             given & 1 ? "x" : "",
                             given ? "" : "nothing");
                return false;
        }
        return true;
}

static void check_engine_socket(Doctor *d, Finding *f) {
        const char *path = d->descriptor->docker_socket;
        struct stat st;

        if (socket_is_safe(path, d->descriptor->docker_socket_uid, &st, f) &&
            acl_gives(d->paths.engine_dir, d->access_gid, 1, f) &&
            acl_gives(path, d->access_gid, 6, f)) {
                finding_pass(f, "%s, %s may use it", path, d->paths.access_group);
                return;
        }
        restart_unit(d, f, "dockerd", "service");
}

static void check_broker_socket(Doctor *d, Finding *f) {
        const struct passwd *pw = getpwnam(SERVICE_USER);
        const char *path = d->paths.broker_socket;
        struct stat st;

        if (socket_is_safe(path, pw ? pw->pw_uid : 0, &st, f)) {
                if ((st.st_mode & 0077) == 0) {
                        finding_pass(f, "%s, only '%s' may use it", path, SERVICE_USER);
                        return;
                }
                finding_fail(f,
                             "%s has mode %04o: others than '%s' may use it",
                             path,
                             (unsigned) st.st_mode & 07777,
                             SERVICE_USER);
        }
        restart_unit(d, f, "broker", "socket");
}

static bool ask_service(Doctor *d, json_t *request, json_t **ret, Finding *f) {
        ControlError error;
        int r = request ? control_call(d->descriptor->control_socket,
                                       request,
                                       d->conf.engine_timeout_usec,
                                       ret,
                                       &error)
                        : -ENOMEM;

        if (r == 0)
                return true;
        finding_fail(f, "%s", r == -ENOMEM ? strerror(ENOMEM) : error.message);
        if (r == -EACCES || r == -EPERM)
                finding_cure(f,
                             "run as root or as a member of the group %s",
                             d->paths.access_group);
        else
                finding_cure(f,
                             "systemctl restart dindhost-watchdog@%s.service; its log: journalctl -u "
                             "dindhost-watchdog@%s",
                             d->alias,
                             d->alias);
        return false;
}

/* The first thing in which the service's answer is not what the descriptor and we say, or NULL. */
static const char *challenge_mismatch(const Doctor *d, const json_t *answer, const char *nonce) {
        const struct {
                const char *key, *wanted;
        } texts[] = {
                { "protocol", CONTROL_PROTOCOL },
                { "profileId", d->descriptor->profile_id },
                { "descriptorDigest", d->digest },
                { "hostMachineIdentity", d->descriptor->host_machine_identity },
                { "backendMachineIdentity", d->descriptor->backend_machine_identity },
                { "clientNonce", nonce },
        };

        for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
                const char *text = json_string_value(json_object_get(answer, texts[i].key));

                if (!text || strcmp(text, texts[i].wanted))
                        return texts[i].key;
        }
        return NULL;
}

static void check_challenge(Doctor *d, Finding *f) {
        CLEANUP(json_decrefp) json_t *request = NULL, *answer = NULL;
        const char *generation, *wrong;
        char nonce[64];

        if (random_token(24, nonce, sizeof(nonce)) >= 0)
                request = json_pack("{s:s, s:s}", "kind", "challenge", "clientNonce", nonce);
        if (!ask_service(d, request, &answer, f))
                return;
        wrong = challenge_mismatch(d, answer, nonce);
        if (wrong) {
                finding_fail(f,
                             "the service answers with another %s than the descriptor has",
                             wrong);
                finding_cure(f, "systemctl restart dindhost-watchdog@%s.service", d->alias);
                return;
        }
        generation = json_string_value(json_object_get(answer, "daemonGeneration"));
        snprintf(d->generation, sizeof(d->generation), "%s", generation ? generation : "");
        finding_pass(f, "same digest, ids and nonce; generation %s", d->generation);
}

static void check_status(Doctor *d, Finding *f) {
        CLEANUP(json_decrefp) json_t *request = json_pack("{s:s}", "kind", "status");

        if (ask_service(d, request, &d->status, f))
                finding_pass(f,
                             "%lld of %zu slots free, %zu leases, %zu waiting",
                             (long long) json_integer_value(
                                             json_object_get(d->status, "availableQuotaSlots")),
                             json_array_size(json_object_get(d->status, "slots")),
                             json_array_size(json_object_get(d->status, "leases")),
                             json_array_size(json_object_get(d->status, "queue")));
}

static void check_admission(Doctor *d, Finding *f) {
        const json_t *degraded = json_object_get(d->status, "degraded");
        const char *reason = json_string_value(json_array_get(degraded, 0));
        bool open = json_is_true(json_object_get(d->status, "admissionOpen"));

        if (open && json_array_size(degraded) == 0) {
                finding_pass(f, "admission is open, nothing is degraded");
                return;
        }
        finding_fail(f,
                     "%s: %s",
                     open ? "degraded" : "admission is closed",
                     reason ? reason : "no reason is given");
        finding_cure(f,
                     "the service tries again by itself; journalctl -u dindhost-watchdog@%s tells "
                     "more",
                     d->alias);
}

static void check_answers(Doctor *d, Finding *f) {
        CLEANUP(engine_reply_donep) EngineReply reply = { 0 };
        const char *id, *version;
        char text[512];
        int r;

        r = engine_request(d->descriptor->docker_socket,
                           "GET",
                           "/info",
                           NULL,
                           d->conf.engine_timeout_usec,
                           &reply);
        if (r < 0)
                finding_fail(f, "%s: %s", d->descriptor->docker_socket, strerror(-r));
        else if (reply.status != 200)
                finding_fail(f, "GET /info: %s", engine_error_text(&reply, text, sizeof(text)));
        else if (json_read(reply.body, reply.n_body, &d->info, text, sizeof(text)) < 0)
                finding_fail(f, "GET /info is not JSON: %s", text);
        else {
                id = json_string_value(json_object_get(d->info, "ID"));
                version = json_string_value(json_object_get(d->info, "ServerVersion"));
                if (id && *id) {
                        finding_pass(f, "Docker %s, ID %s", version ? version : "?", id);
                        return;
                }
                finding_fail(f, "the daemon has no ID");
        }
        finding_cure(f,
                     "systemctl restart dindhost-dockerd@%s.service; its log: journalctl "
                     "_SYSTEMD_USER_UNIT=dindhost-dockerd@%s.service",
                     d->alias,
                     d->alias);
}

static void check_rootless(Doctor *d, Finding *f) {
        if (engine_is_rootless(d->info)) {
                finding_pass(f, "container root is an unprivileged user of this host");
                return;
        }
        finding_fail(f, "no security option of the daemon says 'rootless'");
        finding_cure(f,
                     "something else listens at the socket: find it with 'ss -xlp'; then apply again");
}

static void check_cgroup_driver(Doctor *d, Finding *f) {
        const char *version = json_string_value(json_object_get(d->info, "CgroupVersion"));
        const char *driver = json_string_value(json_object_get(d->info, "CgroupDriver"));

        if (version && !strcmp(version, "2") && driver && !strcmp(driver, "systemd")) {
                finding_pass(f, "version 2, driver systemd");
                return;
        }
        finding_fail(f,
                     "version %s, driver %s: containers would run without limits",
                     version ? version : "unknown",
                     driver ? driver : "unknown");
        finding_cure(f,
                     "the account's user manager must run first: systemctl start user@%u.service; "
                     "systemctl restart dindhost-dockerd@%s.service",
                     (unsigned) d->uid,
                     d->alias);
}

static void check_root_dir(Doctor *d, Finding *f) {
        const char *root = json_string_value(json_object_get(d->info, "DockerRootDir"));

        if (root && !strcmp(root, d->descriptor->docker_root_dir)) {
                finding_pass(f, "%s", root);
                return;
        }
        finding_fail(f,
                     "%s, published is %s",
                     root ? root : "none",
                     d->descriptor->docker_root_dir);
        finding_cure(f, "dindhost profile apply %s", d->alias);
}

/* Warnings about limits count; others (bridge filters, storage) are shown. */
static void check_daemon_limits(Doctor *d, Finding *f) {
        char missing[128], warnings[768];

        if (engine_missing_limits(d->info, missing, sizeof(missing)) > 0) {
                finding_fail(f, "the daemon cannot limit: %s", missing);
                finding_cure(f,
                             "dindhost profile apply %s; systemctl restart user@%u.service (this "
                             "ends its sandboxes)",
                             d->alias,
                             (unsigned) d->uid);
                return;
        }
        finding_pass(f, "memory, swap, CPU and pids can be limited");
        if (engine_warnings(d->info, warnings, sizeof(warnings)) > 0)
                finding_add(f, "the daemon warns: %s", warnings);
}

typedef struct TcpSearch {
        const Doctor *d;
        size_t n;
        int error;
        Proc found; /* pid 0: none */
} TcpSearch;

/*
 * Every process of the account but those of containers, which have network namespaces of their own:
 * dockerd, rootlesskit, containerd, the network helper, whatever else.
 */
static bool look_for_tcp(void *userdata, const Proc *p) {
        TcpSearch *s = userdata;
        int r;

        if (p->uids[1] != s->d->uid || cgroup_in_container(p->cgroup))
                return true;
        s->n++;
        r = proc_listens_on_tcp(p->pid);
        if (r > 0)
                s->found = *p;
        if (r < 0)
                s->error = r;
        return r == 0;
}

static void check_no_tcp(Doctor *d, Finding *f) {
        TcpSearch s = { .d = d };
        int r = procs_each(look_for_tcp, &s);

        if (r >= 0)
                r = s.error;
        if (r < 0) {
                finding_fail(f, "sockets of the daemon cannot be seen: %s", strerror(-r));
                finding_cure(f, "run as root");
        } else if (s.found.pid) {
                finding_fail(f, "process %d (%s) listens on TCP", (int) s.found.pid, s.found.comm);
                finding_cure(f,
                             "take 'tcp://' out of the daemon's hosts, DOCKER_HOST and arguments; "
                             "then 'dindhost profile apply %s'",
                             d->alias);
        } else if (s.n == 0) {
                finding_fail(f, "no process of '%s' can be seen", d->paths.account);
                finding_cure(f,
                             "run as root; then see 'systemctl status dindhost@%s.target'",
                             d->alias);
        } else
                finding_pass(f, "none of %zu processes listens on TCP", s.n);
}

/* clang-format off */
static const Check checks[] = {
        { "socket.control",     "the control socket is safe and open to the access group", "profile.descriptor profile.access-group", check_control_socket },
        { "socket.engine",      "the Docker socket is safe and open to the access group",  "profile.descriptor profile.access-group", check_engine_socket },
        { "socket.broker",      "the broker's socket is open to the watchdog alone",       "host.service-user", check_broker_socket },
        { "control.challenge",  "the service proves the published descriptor",             "profile.file profile.descriptor socket.control", check_challenge },
        { "control.status",     "the service tells its state",                             "control.challenge", check_status },
        { "control.admission",  "the service takes leases and nothing is degraded",        "control.status", check_admission },
        { "daemon.answers",     "the outer daemon answers and has an identity",            "profile.file profile.descriptor socket.engine", check_answers },
        { "daemon.rootless",    "the outer daemon is rootless",                            "daemon.answers", check_rootless },
        { "daemon.cgroup",      "the outer daemon uses cgroup v2 through systemd",         "profile.account daemon.answers", check_cgroup_driver },
        { "daemon.root-dir",    "the outer daemon's data is where it is published",        "daemon.answers", check_root_dir },
        { "daemon.limits",      "the outer daemon can set every limit",                    "profile.account daemon.answers", check_daemon_limits },
        { "daemon.no-tcp",      "the outer daemon has no TCP listener",                    "profile.account", check_no_tcp },
};
/* clang-format on */

const CheckTable checks_daemon = { checks, N_ELEMENTS(checks) };
