/* SPDX-License-Identifier: MIT */
#include "supervisor/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "supervisor/check.h"
#include "supervisor/fd.h"
#include "supervisor/say.h"
#include "supervisor/spawn.h"

#define PROBE_PAUSE_MIN (50 * USEC_PER_MSEC)
#define PROBE_PAUSE_MAX (500 * USEC_PER_MSEC)
#define KILL_PAUSE (100 * USEC_PER_MSEC)

#ifndef __WALL
#        define __WALL 0x40000000
#endif

static uint64_t clock_usec(clockid_t clock) {
        struct timespec ts;

        clock_gettime(clock, &ts);
        return (uint64_t) ts.tv_sec * USEC_PER_SEC + (uint64_t) ts.tv_nsec / 1000;
}

static uint64_t now(void) {
        return clock_usec(CLOCK_BOOTTIME);
}

static int64_t msec_since(uint64_t begin, uint64_t end) {
        return (int64_t) ((end - begin) / USEC_PER_MSEC);
}

static void set_timer(Supervisor *s, Timer timer, uint64_t usec) {
        s->deadlines[timer] = now() + usec;
}

/* The sentence of the first cause. */
static void set_reason(Supervisor *s, const char *first, const char *second) {
        Text t = TEXT(s->reason);

        if (!s->reason[0])
                text_join(&t, first, second, NULL);
}

static void publish(Supervisor *s, const char *name, const Text *t) {
        int r = s->state_dir < 0 ? 0 : fd_publish(s->state_dir, name, t->data, t->n);

        if (r < 0)
                say("cannot write ", s->options->state_dir, "/", name, ": ", strerror(-r), NULL);
}

/* Effects */

static void start_probe(Supervisor *s) {
        int r;

        if (s->probe.pid != 0)
                return;
        r = probe_start(&s->probe, s->options, &s->mask);
        if (r < 0) {
                /* the pids limit, perhaps: it may pass */
                say("cannot start a readiness probe: ", strerror(-r), NULL);
                set_timer(s, TIMER_PROBE, PROBE_PAUSE_MAX);
        }
}

static void probe_later(Supervisor *s) {
        set_timer(s, TIMER_PROBE, s->probe_pause_usec);
        s->probe_pause_usec = MIN(s->probe_pause_usec * 2, PROBE_PAUSE_MAX);
}

static void end_probing(Supervisor *s) {
        if (s->probe.pid != 0)
                (void) kill(s->probe.pid, SIGKILL);
        s->deadlines[TIMER_PROBE] = 0;
        s->deadlines[TIMER_READY] = 0;
}

static void publish_ready(Supervisor *s) {
        char data[1024], after[32];
        Text t = TEXT(data), a = TEXT(after);
        ReadyReport r = {
                .user = s->options->user,
                .uid = s->probe.last.uid,
                .ready_at_msec = (int64_t) (clock_usec(CLOCK_REALTIME) / USEC_PER_MSEC),
                .controllers = s->cgroup.controllers,
        };

        s->ready_usec = now();
        r.ready_after_msec = msec_since(s->began_usec, s->ready_usec);
        report_ready(&t, &r);
        publish(s, "ready", &t);
        if (s->state_dir >= 0)
                (void) unlinkat(s->state_dir, "not-ready", 0);
        text_add_number(&a, r.ready_after_msec);
        say("ready after ", after, " ms: user ", r.user, " can use the daemon", NULL);
}

static void publish_not_ready(Supervisor *s, const ProbeReport *r) {
        char data[4096];
        Text t = TEXT(data);

        report_not_ready(&t, s->options->user, probe_stage_name(r->stage), r->text);
        publish(s, "not-ready", &t);
        say("not ready yet: ", r->text, NULL);
}

static void terminate(Guarded *g) {
        if (g->pid == 0)
                return;
        (void) kill(g->pid, SIGTERM);
        (void) kill(g->pid, SIGCONT); /* a stopped one would not see it */
}

static void kill_everything(Supervisor *s) {
        cgroup_kill(&s->cgroup);
        (void) kill(-1, SIGKILL); /* all of our PID namespace but ourselves */
        set_timer(s, TIMER_KILL_AGAIN, KILL_PAUSE);
}

static void apply(Supervisor *s, unsigned effects) {
        if (effects & EFFECT_PROBE_END)
                end_probing(s);
        if (effects & EFFECT_PROBE)
                start_probe(s);
        if (effects & EFFECT_PROBE_LATER)
                probe_later(s);
        if (effects & EFFECT_PUBLISH_READY)
                publish_ready(s);
        if (effects & EFFECT_STOP_TIMER) {
                s->stop_usec = now();
                set_timer(s, TIMER_STOP, s->options->stop_timeout_sec * USEC_PER_SEC);
        }
        if (effects & EFFECT_TERM_DAEMON)
                terminate(&s->daemon);
        if (effects & EFFECT_TERM_KEEPALIVE)
                terminate(&s->keepalive);
        if (effects & EFFECT_END_STREAM)
                log_end_stream(&s->log);
        if (effects & EFFECT_KILL_TIMER) {
                s->stop_usec = s->stop_usec ? s->stop_usec : now();
                set_timer(s, TIMER_KILL, s->options->kill_timeout_sec * USEC_PER_SEC);
        }
        if (effects & EFFECT_KILL)
                kill_everything(s);
}

static void step(Supervisor *s, Event event) {
        State before = s->machine.state;

        machine_step(&s->machine, event);
        if (s->machine.state == STATE_STOPPING && before != STATE_STOPPING)
                say("stopping: ", s->reason, NULL);
        apply(s, s->machine.effects);
}

/* Sources of events */

static void probe_ended(Supervisor *s, int status) {
        ProbeStage before = s->probe.last.stage;
        bool passed;

        probe_finish(&s->probe);
        passed = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (!passed && s->machine.state == STATE_STARTING && s->probe.last.stage != before)
                publish_not_ready(s, &s->probe.last);
        step(s, passed ? EVENT_PROBE_PASSED : EVENT_PROBE_FAILED);
}

static void guarded_ended(Supervisor *s, Guarded *g, const char *name, int status, Event event) {
        char how[64];
        Text t = TEXT(how);

        g->pid = 0;
        g->ending = (Ending){ .ended = true, .status = status };
        ending_describe(&t, &g->ending);
        if (s->machine.state < STATE_STOPPING)
                set_reason(s, name, how);
        step(s, event);
}

/* Reaps all that is dead, whoever's child it was. */
static void reap(Supervisor *s) {
        int status;
        pid_t pid;

        while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
                if (pid == s->daemon.pid)
                        guarded_ended(s, &s->daemon, "dockerd ", status, EVENT_DAEMON_GONE);
                else if (pid == s->keepalive.pid)
                        guarded_ended(s,
                                      &s->keepalive,
                                      "the keepalive ",
                                      status,
                                      EVENT_KEEPALIVE_GONE);
                else if (pid == s->probe.pid)
                        probe_ended(s, status);
        }
        if (pid < 0 && errno == ECHILD)
                step(s, EVENT_ALL_GONE);
}

static bool is_stop_signal(uint32_t signo) {
        /* 37 is SIGRTMIN+3 as Docker and systemd count; an image for systemd may ask for it */
        return signo == SIGTERM || signo == SIGINT || signo == SIGQUIT || signo == 37;
}

static void read_signals(Supervisor *s) {
        struct signalfd_siginfo info;

        while (read(s->signal_fd, &info, sizeof(info)) == (ssize_t) sizeof(info)) {
                char number[24];
                Text t = TEXT(number);

                if (!is_stop_signal(info.ssi_signo))
                        continue; /* SIGCHLD only wakes us: reap() asks the kernel */
                text_add_number(&t, info.ssi_signo);
                set_reason(s, "stop asked by signal ", number);
                step(s, EVENT_STOP_ASKED);
        }
}

static void fire_timers(Supervisor *s) {
        static const struct {
                Event event;
                const char *reason;
        } timers[] = {
                [TIMER_PROBE] = { EVENT_PROBE_DUE, NULL },
                [TIMER_READY] = { EVENT_READY_TIMEOUT, NULL },
                [TIMER_LIFETIME] = { EVENT_LIFETIME_OVER, "the lifetime is over" },
                [TIMER_STOP] = { EVENT_STOP_TIMEOUT, NULL },
                [TIMER_KILL_AGAIN] = { EVENT_KILL_DUE, NULL },
                [TIMER_KILL] = { EVENT_KILL_TIMEOUT, NULL },
        };
        static_assert(N_ELEMENTS(timers) == _TIMER_MAX, "one row a timer");
        uint64_t t = now();

        for (size_t i = 0; i < _TIMER_MAX; i++) {
                if (s->deadlines[i] == 0 || s->deadlines[i] > t)
                        continue;
                s->deadlines[i] = 0;
                if (i == TIMER_READY) {
                        probe_take(&s->probe); /* one that hangs has said where */
                        set_reason(s, "not ready in time: ", s->probe.last.text);
                } else if (timers[i].reason)
                        set_reason(s, timers[i].reason, "");
                step(s, timers[i].event);
        }
}

static void arm(Supervisor *s) {
        struct itimerspec when = { 0 };
        uint64_t first = UINT64_MAX;

        for (size_t i = 0; i < _TIMER_MAX; i++)
                if (s->deadlines[i] > 0)
                        first = MIN(first, s->deadlines[i]);
        if (first < UINT64_MAX) {
                when.it_value.tv_sec = (time_t) (first / USEC_PER_SEC);
                when.it_value.tv_nsec = (long) (first % USEC_PER_SEC * 1000) + 1;
        }
        (void) timerfd_settime(s->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void loop(Supervisor *s) {
        for (;;) {
                struct pollfd fds[] = {
                        { .fd = s->signal_fd, .events = POLLIN },
                        { .fd = s->timer_fd, .events = POLLIN },
                        { .fd = -1, .events = POLLIN },
                };
                uint64_t expirations;

                /* what the dead said comes before the news of their death */
                log_read(&s->log);
                reap(s);
                fire_timers(s);
                if (s->machine.state == STATE_ENDED)
                        return;
                arm(s);
                fds[2].fd = s->log.source;
                if (poll(fds, N_ELEMENTS(fds), -1) < 0)
                        continue;
                (void) !read(s->timer_fd, &expirations, sizeof(expirations));
                read_signals(s);
        }
}

/* Start and end */

static bool open_events(Supervisor *s) {
        sigset_t all;

        sigfillset(&all);
        s->signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
        s->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
        if (s->signal_fd >= 0 && s->timer_fd >= 0)
                return true;
        s->machine.cause = CAUSE_START_FAILED;
        set_reason(s, "cannot listen to signals or timers: ", strerror(errno));
        return false;
}

static bool open_state_dir(Supervisor *s) {
        static const char *const names[] = { "ready", "not-ready", "cause.json" };
        const char *path = s->options->state_dir;

        if (mkdir(path, 0755) < 0 && errno != EEXIST)
                s->state_dir = -errno;
        else {
                s->state_dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (s->state_dir < 0)
                        s->state_dir = -errno;
        }
        if (s->state_dir < 0) {
                say("cannot use ",
                    path,
                    ": ",
                    strerror(-s->state_dir),
                    "; name another place with --state-dir",
                    NULL);
                set_reason(s, "cannot use the state dir ", path);
                return false;
        }
        for (size_t i = 0; i < N_ELEMENTS(names); i++)
                (void) unlinkat(s->state_dir, names[i], 0);
        return true;
}

static bool prepare_cgroup(Supervisor *s) {
        Text error = TEXT(s->reason);

        if (s->options->no_cgroup) {
                say("warning: --no-cgroup: limits of inner containers DO NOT HOLD", NULL);
                return true;
        }
        if (s->reason[0] || cgroup_prepare(&s->cgroup, s->options->cgroup_root, &error) == 0)
                return true;
        say_line(s->reason, NULL);
        return false;
}

/* Says all that does not fit, and not only the first. */
static bool check_all(Supervisor *s) {
        Text reason = TEXT(s->reason);
        bool image = check_image(&reason);
        bool environment = check_environment(&reason);
        bool state = open_state_dir(s);
        bool cgroup = prepare_cgroup(s);

        if (image && environment && state && cgroup)
                return true;
        s->machine.cause = image ? CAUSE_ENVIRONMENT_INCOMPATIBLE : CAUSE_IMAGE_INCOMPATIBLE;
        return false;
}

static void start_children(Supervisor *s) {
        Text t = TEXT(s->log_path);
        int r;

        if (!s->options->log)
                text_join(&t, s->options->state_dir, "/dockerd.log", NULL);
        log_open(&s->log, s->options->log ? s->options->log : s->log_path);
        r = spawn_daemon(s->options, &s->mask, &s->daemon.pid, &s->log.source);
        if (r == 0)
                r = spawn_keepalive(s->options, &s->mask, &s->keepalive.pid, &s->log.stream);
        if (r < 0) {
                set_reason(s, "cannot start a child: ", strerror(-r));
                say(s->reason, NULL);
                step(s, EVENT_START_FAILED);
                return;
        }
        set_timer(s, TIMER_PROBE, PROBE_PAUSE_MIN);
        if (s->options->ready_timeout_sec > 0)
                set_timer(s, TIMER_READY, s->options->ready_timeout_sec * USEC_PER_SEC);
        if (s->options->lifetime_sec > 0)
                set_timer(s, TIMER_LIFETIME, s->options->lifetime_sec * USEC_PER_SEC);
}

/* The last word: the file, the log's end when the daemon failed, and one line. */
static int finish(Supervisor *s) {
        char data[4096];
        Text t = TEXT(data);
        uint64_t end = now();
        CauseReport r = {
                .cause = cause_name(s->machine.cause),
                .exit_status = cause_exit_status(s->machine.cause,
                                                 ending_exit_status(&s->keepalive.ending)),
                .reason = s->reason,
                .started_at_msec = s->began_at_msec,
                .ready_after_msec = s->ready_usec ? msec_since(s->began_usec, s->ready_usec) : -1,
                .ended_after_msec = msec_since(s->began_usec, end),
                .stop_took_msec = s->stop_usec ? msec_since(s->stop_usec, end) : -1,
                .daemon = s->daemon.ending,
                .keepalive = s->keepalive.ending,
                .leftovers = s->machine.leftovers,
                .log_bytes = (int64_t) s->log.ring.total,
                .log_dropped_bytes = (int64_t) s->log.dropped,
        };

        report_cause(&t, &r);
        publish(s, "cause.json", &t);
        if (cause_is_failure(s->machine.cause))
                log_say_tail(&s->log);
        say_bytes(t.data, t.n);
        return r.exit_status;
}

int supervisor_run(Supervisor *s, const Options *options, const sigset_t *mask) {
        s->options = options;
        s->mask = *mask;
        s->cgroup.root = s->log.source = s->log.file = s->log.stream = s->probe.fd = -EBADF;
        s->signal_fd = s->timer_fd = s->state_dir = -EBADF;
        s->probe_pause_usec = PROBE_PAUSE_MIN;
        s->began_usec = now();
        s->began_at_msec = (int64_t) (clock_usec(CLOCK_REALTIME) / USEC_PER_MSEC);
        strcpy(s->probe.last.text, "no probe has ended yet");
        if (open_events(s) && check_all(s)) {
                start_children(s);
                loop(s);
        }
        return finish(s);
}
