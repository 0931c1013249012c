/* SPDX-License-Identifier: MIT */
#include "supervisor/check.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/say.h"

static void complain(Text *reason, const char *sentence) {
        say_line(sentence, NULL);
        if (reason->n == 0)
                text_add(reason, sentence);
}

static bool in_path(const char *path, const char *tool) {
        while (*path) {
                size_t n = strcspn(path, ":");
                char file[PATH_MAX];
                Text t = TEXT(file);
                struct stat st;

                text_add_n(&t, path, n);
                text_join(&t, n > 0 ? "/" : "./", tool, NULL);
                if (!t.cut && stat(file, &st) == 0 && S_ISREG(st.st_mode) &&
                    access(file, X_OK) == 0)
                        return true;
                path += n + (path[n] ? 1 : 0);
        }
        return false;
}

bool check_image(Text *reason) {
        static const char *const tools[] = { "dockerd", "containerd", "runc", "iptables" };
        const char *path = getenv("PATH");
        bool ok = true;

        if (!path)
                return true; /* another check's matter */
        for (size_t i = 0; i < N_ELEMENTS(tools); i++) {
                char sentence[128];
                Text t = TEXT(sentence);

                if (in_path(path, tools[i]))
                        continue;
                text_join(&t, "dind-image-incompatible: missing ", tools[i], NULL);
                complain(reason, sentence);
                ok = false;
        }
        return ok;
}

static bool check_variables(Text *reason) {
        static const char *const forbidden[] = { "DOCKER_HOST", "DOCKER_CONTEXT" };
        bool ok = true;

        for (size_t i = 0; i < N_ELEMENTS(forbidden); i++) {
                const char *value = getenv(forbidden[i]);
                char sentence[64];
                Text t = TEXT(sentence);

                if (!value || !*value)
                        continue;
                text_join(&t, forbidden[i], " must be unset", NULL);
                complain(reason, sentence);
                ok = false;
        }
        if (!getenv("PATH")) {
                complain(reason, "PATH must be set");
                ok = false;
        }
        return ok;
}

static bool complain_place(Text *reason, const char *path, int error, const char *cure) {
        char sentence[256];
        Text t = TEXT(sentence);

        text_join(&t, path, " is not writable (", strerror(error), "): ", cure, NULL);
        complain(reason, sentence);
        return false;
}

static bool check_places(Text *reason) {
        static const struct {
                const char *path, *cure;
        } places[] = {
                { "/run", "declare a tmpfs there" },
                { "/tmp", "declare a tmpfs there" },
                { "/var/lib/docker", "mount a volume of a real file system there" },
        };
        struct stat run, var_run;
        bool ok = true;

        for (size_t i = 0; i < N_ELEMENTS(places); i++)
                if (access(places[i].path, W_OK | X_OK) < 0)
                        ok = complain_place(reason, places[i].path, errno, places[i].cure);
        /* dockerd listens below /var/run, where clients look: a link to /run, or a place of its own
         */
        if (stat("/run", &run) == 0 && stat("/var/run", &var_run) == 0 &&
            run.st_dev == var_run.st_dev && run.st_ino == var_run.st_ino)
                return ok;
        if (access("/var/run", W_OK | X_OK) < 0)
                ok = complain_place(
                                reason,
                                "/var/run",
                                errno,
                                "it is not a link to /run in this image, so declare a tmpfs there "
                                "too, for /var/run/docker.sock");
        return ok;
}

bool check_environment(Text *reason) {
        bool ok = true;

        if (geteuid() != 0) {
                complain(reason,
                         "the supervisor must run as root of the container: set its user to root");
                ok = false;
        }
        if (!check_variables(reason))
                ok = false;
        if (!check_places(reason))
                ok = false;
        return ok;
}
