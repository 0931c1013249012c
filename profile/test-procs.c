/* SPDX-License-Identifier: MIT */
/* The processes of this host, for real: this test itself, and sockets that it holds. */
#include "profile/procs.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "selftest/cmocka-tap.h"

typedef struct Search {
        size_t n;
        Proc self;
} Search;

static bool look(void *userdata, const Proc *p) {
        Search *s = userdata;

        s->n++;
        if (p->pid == getpid())
                s->self = *p;
        return true;
}

static bool stop_at_once(void *userdata, const Proc *p UNUSED) {
        ++*(size_t *) userdata;
        return false;
}

static void test_each(void **state UNUSED) {
        Search s = { 0 };
        size_t n = 0;
        int r = procs_each(look, &s);

        if (r == -EBADMSG)
                skip(); /* no cgroup v2 hierarchy at all on this host */
        assert_int_equal(r, 0);
        assert_true(s.n >= 1);
        assert_int_equal(s.self.pid, getpid());
        assert_int_equal(s.self.uids[0], getuid());
        assert_int_equal(s.self.uids[1], geteuid());
        assert_int_equal(strncmp(s.self.comm, "test-procs", 10), 0);
        assert_int_equal(s.self.cgroup[0], '/');
        assert_int_equal(procs_each(stop_at_once, &n), 0);
        assert_int_equal(n, 1);
}

static int tcp_socket(int family) {
        union {
                struct sockaddr any;
                struct sockaddr_in v4;
                struct sockaddr_in6 v6;
        } addr = { 0 };
        int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

        addr.any.sa_family = (sa_family_t) family;
        if (family == AF_INET)
                addr.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        else
                addr.v6.sin6_addr = in6addr_loopback;
        if (fd >= 0 &&
            bind(fd, &addr.any, family == AF_INET ? sizeof(addr.v4) : sizeof(addr.v6)) < 0)
                fd_closep(&fd);
        return fd;
}

static void test_tcp(void **state UNUSED) {
        static const int families[] = { AF_INET, AF_INET6 };

        assert_int_equal(proc_listens_on_tcp(getpid()), 0);
        for (size_t i = 0; i < N_ELEMENTS(families); i++) {
                CLEANUP(fd_closep) int fd = tcp_socket(families[i]);

                if (fd < 0)
                        continue; /* this host has no such family */
                assert_int_equal(proc_listens_on_tcp(getpid()), 0); /* bound only */
                assert_int_equal(listen(fd, 1), 0);
                assert_int_equal(proc_listens_on_tcp(getpid()), 1);
        }
        assert_int_equal(proc_listens_on_tcp(getpid()), 0);
}

static void test_unix_sockets_do_not_count(void **state UNUSED) {
        int fds[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        assert_int_equal(proc_listens_on_tcp(getpid()), 0);
        close(fds[0]);
        close(fds[1]);
}

static void test_ended(void **state UNUSED) {
        assert_int_equal(proc_listens_on_tcp(0x3fffffff), 0); /* above the largest pid */
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_each),
                cmocka_unit_test(test_tcp),
                cmocka_unit_test(test_unix_sockets_do_not_count),
                cmocka_unit_test(test_ended),
        };

        return RUN_TAP(tests);
}
