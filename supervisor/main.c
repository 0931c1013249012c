/* SPDX-License-Identifier: MIT */
/*
 * dindhost-supervisor: PID 1 of a Docker-in-Docker sandbox
 *
 * Signals are blocked before anything else, so that one that comes during the start is not lost: it
 * waits for the loop. Faults keep their default action, which ends us and with us the whole PID
 * namespace.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/say.h"
#include "supervisor/supervisor.h"

#ifdef __GLIBC__
#        define LIBC "glibc"
#else
#        define LIBC "musl"
#endif

static void take_signals(sigset_t *ret_mask) {
        static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS };
        sigset_t all;

        sigfillset(&all);
        for (size_t i = 0; i < N_ELEMENTS(faults); i++)
                sigdelset(&all, faults[i]);
        (void) sigprocmask(SIG_SETMASK, &all, ret_mask);
        /* an ignored SIGCHLD would take the children's statuses away, and children inherit it all
         */
        for (int i = 1; i < 32; i++)
                (void) signal(i, SIG_DFL);
}

/* A pipe of ours must not become somebody's standard output. */
static void fill_standard_fds(void) {
        int fd;

        do
                fd = open("/dev/null", O_RDWR);
        while (fd >= 0 && fd <= STDERR_FILENO);
        if (fd > STDERR_FILENO)
                close(fd);
}

static int print_help(void) {
        char data[4096];
        Text t = TEXT(data);

        options_help(&t);
        return write(STDOUT_FILENO, t.data, t.n) == (ssize_t) t.n ? 0 : 1;
}

static int print_version(void) {
        static const char version[] = "dindhost-supervisor " PACKAGE_VERSION " (" LIBC ")\n";

        return write(STDOUT_FILENO, version, sizeof(version) - 1) < 0 ? 1 : 0;
}

static int refuse(const char *why) {
        say(why, NULL);
        return cause_exit_status(CAUSE_USAGE, 0);
}

int main(int argc, char *argv[]) {
        static Supervisor supervisor;
        static Options options;
        char error[512] = "";
        Text t = TEXT(error);
        sigset_t mask;

        take_signals(&mask);
        fill_standard_fds();
        say_open();
        (void) umask(022);
        switch (options_parse(argc, argv, getenv, &options, &t)) {
        case OPTIONS_HELP:
                return print_help();
        case OPTIONS_VERSION:
                return print_version();
        case OPTIONS_WRONG:
                return refuse(error);
        default:
                break;
        }
        /* it ends with SIGKILL for every process it can reach */
        if (getpid() != 1)
                return refuse("must be PID 1 of a container: make it the entrypoint, without --init");
        return supervisor_run(&supervisor, &options, &mask);
}
