/* SPDX-License-Identifier: MIT */
#include "profile/egress-note.h"

#include <string.h>

#include "base/text.h"
#include "profile/paths.h"

bool egress_note_due(const Descriptor *d) {
        return !strcmp(d->security_level, "managed-rootless/v1") &&
                        text_has_prefix(d->control_socket, RUN_DIR "/");
}

char *egress_note(const char *alias) {
        return text_format("egress of '%s' is not enforced: sandboxes reach whatever this host's "
                           "network lets them reach ([Network] Egress=unenforced)",
                           alias);
}
