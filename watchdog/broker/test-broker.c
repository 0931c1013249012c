/* SPDX-License-Identifier: MIT */
/*
 * The whole broker as a process: started with its socket as systemd does, on a slot table whose
 * pool is a small tmpfs in a mount namespace of its own. There is no project quota on it, so the
 * verbs end in the kernel's refusal; what is tested here is what comes before: who may ask,
 * malformed packets, slots that are not there, and that a slot in use is named and left alone.
 */
#include "selftest/cmocka-tap.h"

#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "profile/slots.h"
#include "watchdog/broker/wire.h"

#define REPLY_SECONDS 120

typedef struct Stage {
        char top[64];
        char slots[80], slot[96], table[96];
        struct sockaddr_un address;
        pid_t broker;
} Stage;

static int write_table(const Stage *s) {
        SlotEntry entry = { .number = 1,
                            .id = "slot-0001",
                            .project_id = 7,
                            .limit_bytes = 1 << 20,
                            .limit_inodes = 100,
                            .mode = 0700 };
        SlotTable t = { .slots = &entry,
                        .n_slots = 1,
                        .slots_dir = (char *) s->slots,
                        .mount = (char *) s->top };
        CLEANUP(freep) char *text = NULL;
        int r = slot_table_format(&t, &text);

        return r < 0 ? r : file_write_atomic(s->table, text, strlen(text), 0644, 0, 0);
}

/* In the child: descriptor 3 is the socket, as sd_listen_fds(3) has it. */
static void be_broker(int socket_fd, const Stage *s, const char *peer) {
        CLEANUP(freep) char *program = text_format("%s/dindhost-broker", getenv("top_builddir"));
        CLEANUP(freep) char *table = text_format("--table=%s", s->table);
        CLEANUP(freep) char *user = text_format("--peer=%s", peer);
        char pid[16];

        snprintf(pid, sizeof(pid), "%d", (int) getpid());
        if (dup2(socket_fd, 3) != 3 || setenv("LISTEN_PID", pid, 1) < 0 ||
            setenv("LISTEN_FDS", "1", 1) < 0)
                _exit(127);
        execl(program, program, "--serve=test", table, user, (char *) NULL);
        _exit(127);
}

static int start(Stage *s, const char *peer) {
        CLEANUP(fd_closep) int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0); /* for the broker */

        *s = (Stage){ .top = "/tmp/dindhost-broker.XXXXXX", .address.sun_family = AF_UNIX };
        if (fd < 0 || !mkdtemp(s->top) || mount("none", s->top, "tmpfs", 0, NULL) < 0)
                return -1;
        snprintf(s->slots, sizeof(s->slots), "%s/slots", s->top);
        snprintf(s->slot, sizeof(s->slot), "%s/slot-0001", s->slots);
        snprintf(s->table, sizeof(s->table), "%s/slots.json", s->top);
        snprintf(s->address.sun_path, sizeof(s->address.sun_path), "%s/broker.sock", s->top);
        if (mkdir(s->slots, 0711) < 0 || mkdir(s->slot, 0700) < 0 || write_table(s) < 0 ||
            bind(fd, (struct sockaddr *) &s->address, sizeof(s->address)) < 0 || listen(fd, 16) < 0)
                return -1;
        s->broker = fork();
        if (s->broker == 0)
                be_broker(fd, s, peer);
        return s->broker < 0 ? -1 : 0;
}

static int set_up(void **state) {
        static Stage s;

        *state = &s;
        return start(&s, "root");
}

static int tear_down(void **state) {
        Stage *s = *state;
        int status, r = 0;

        kill(s->broker, SIGTERM);
        if (waitpid(s->broker, &status, 0) != s->broker || !WIFEXITED(status) ||
            WEXITSTATUS(status))
                r = -1; /* it was killed by something, or does not end cleanly */
        (void) umount2(s->top, MNT_DETACH);
        return rmdir(s->top) < 0 ? -1 : r;
}

static int connect_to(const Stage *s) {
        struct timeval limit = { .tv_sec = REPLY_SECONDS };
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
        assert_int_equal(connect(fd, (const struct sockaddr *) &s->address, sizeof(s->address)), 0);
        return fd;
}

static BrokerReply ask(int fd, BrokerRequest request) {
        BrokerReply reply;

        assert_int_equal(send(fd, &request, sizeof(request), MSG_NOSIGNAL), sizeof(request));
        assert_int_equal(recv(fd, &reply, sizeof(reply), 0), sizeof(reply));
        assert_int_equal(reply.version, BROKER_WIRE_VERSION);
        assert_int_equal(reply.id, request.id);
        if (reply.error < 0)
                assert_true(strnlen(reply.message, sizeof(reply.message)) > 0);
        assert_true(strnlen(reply.message, sizeof(reply.message)) < sizeof(reply.message));
        return reply;
}

static BrokerReply verb(int fd, uint32_t what, uint32_t slot) {
        static uint64_t id = 1;

        return ask(fd, (BrokerRequest){ BROKER_WIRE_VERSION, what, id++, slot, 0 });
}

static bool hung_up(int fd) {
        char byte;

        return recv(fd, &byte, 1, 0) == 0;
}

static void unknown_verbs_and_versions_are_refused(void **state) {
        int fd = connect_to(*state);

        assert_int_equal(verb(fd, 0, 1).error, -EOPNOTSUPP);
        assert_int_equal(verb(fd, _BROKER_VERB_MAX, 1).error, -EOPNOTSUPP);
        assert_int_equal(verb(fd, UINT32_MAX, 1).error, -EOPNOTSUPP);
        assert_int_equal(ask(fd, (BrokerRequest){ 99, BROKER_VERIFY, 5, 1, 0 }).error, -EOPNOTSUPP);
        close(fd);
}

static void only_slots_of_the_table_are_touched(void **state) {
        static const uint32_t numbers[] = { 0, 2, 4096, UINT32_MAX };
        int fd = connect_to(*state);

        for (uint32_t v = BROKER_VERIFY; v < _BROKER_VERB_MAX; v++)
                for (size_t i = 0; i < N_ELEMENTS(numbers); i++)
                        assert_int_equal(verb(fd, v, numbers[i]).error, -ENOENT);
        close(fd);
}

static void packets_of_another_size_end_the_connection(void **state) {
        static const size_t sizes[] = {
                1, sizeof(BrokerRequest) - 1, sizeof(BrokerRequest) + 1, 4000
        };
        Stage *s = *state;
        char junk[4000] = { 0 };

        for (size_t i = 0; i < N_ELEMENTS(sizes); i++) {
                int fd = connect_to(s);

                assert_int_equal(send(fd, junk, sizes[i], MSG_NOSIGNAL), sizes[i]);
                assert_true(hung_up(fd));
                close(fd);
        }
        /* and the broker goes on for others */
        int fd = connect_to(s);

        assert_int_equal(verb(fd, BROKER_VERIFY, 2).error, -ENOENT);
        close(fd);
}

static void a_slot_in_use_is_named_and_left_alone(void **state) {
        Stage *s = *state;
        CLEANUP(freep) char *file = text_format("%s/precious", s->slot);
        char me[64];
        BrokerReply reply;
        int fd = connect_to(s), held = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        assert_true(held >= 0);
        reply = verb(fd, BROKER_RESET, 1);
        assert_int_equal(reply.error, -EBUSY);
        snprintf(me, sizeof(me), "process %d (", (int) getpid());
        assert_non_null(strstr(reply.message, "slot-0001"));
        assert_non_null(strstr(reply.message, me));
        assert_int_equal(access(file, F_OK), 0);
        close(held);
        /* unused now: emptied, and then without quota it cannot be what the table says */
        reply = verb(fd, BROKER_RESET, 1);
        assert_true(reply.error < 0 && reply.error != -EBUSY);
        assert_int_equal(access(file, F_OK), -1);
        close(fd);
}

static void a_link_in_place_of_a_slot_is_refused(void **state) {
        Stage *s = *state;
        int fd = connect_to(s);

        assert_int_equal(rmdir(s->slot), 0);
        assert_int_equal(symlink("/tmp", s->slot), 0);
        for (uint32_t v = BROKER_VERIFY; v < _BROKER_VERB_MAX; v++)
                assert_true(verb(fd, v, 1).error < 0);
        assert_int_equal(unlink(s->slot), 0);
        close(fd);
}

static void others_may_not_ask(void **state UNUSED) {
        Stage s;
        int fd;

        assert_int_equal(start(&s, "nobody"), 0);
        fd = connect_to(&s); /* as root, who is not that user */
        assert_true(hung_up(fd));
        close(fd);
        void *p = &s;

        assert_int_equal(tear_down(&p), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(
                                unknown_verbs_and_versions_are_refused, set_up, tear_down),
                cmocka_unit_test_setup_teardown(
                                only_slots_of_the_table_are_touched, set_up, tear_down),
                cmocka_unit_test_setup_teardown(
                                packets_of_another_size_end_the_connection, set_up, tear_down),
                cmocka_unit_test_setup_teardown(
                                a_slot_in_use_is_named_and_left_alone, set_up, tear_down),
                cmocka_unit_test_setup_teardown(
                                a_link_in_place_of_a_slot_is_refused, set_up, tear_down),
                cmocka_unit_test(others_may_not_ask),
        };

        if (geteuid() != 0 || !getpwnam("nobody") || unshare(CLONE_NEWNS) < 0 ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
                printf("1..1\nok 1 # SKIP needs root and a mount namespace\n");
                return 0;
        }
        return RUN_TAP(tests);
}
