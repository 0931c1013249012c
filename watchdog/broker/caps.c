/* SPDX-License-Identifier: MIT */
#include "watchdog/broker/caps.h"

#include <sys/prctl.h>

/* clang-format off */
const BrokerCap broker_caps[] = {
        { CAP_CHOWN,           "CAP_CHOWN",           "give an emptied slot back to the daemon's account"                    },
        { CAP_DAC_OVERRIDE,    "CAP_DAC_OVERRIDE",    "delete what subordinate ids left in a slot"                           },
        { CAP_FOWNER,          "CAP_FOWNER",          "set mode and project of a slot, delete in sticky folders"             },
        { CAP_SYS_ADMIN,       "CAP_SYS_ADMIN",       "set quota limits (quotactl(2))"                                       },
        { CAP_SYS_PTRACE,      "CAP_SYS_PTRACE",      "read /proc of the daemon's processes: who still uses a slot"          },
        { CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", "look into folders of subordinate ids"                                 },
};
/* clang-format on */
const size_t n_broker_caps = N_ELEMENTS(broker_caps);

static bool kept(cap_value_t cap) {
        for (size_t i = 0; i < N_ELEMENTS(broker_caps); i++)
                if (broker_caps[i].cap == cap)
                        return true;
        return false;
}

int broker_caps_keep(void) {
        cap_value_t list[N_ELEMENTS(broker_caps)];
        cap_t caps;
        int r = 0;

        for (cap_value_t cap = 0; CAP_IS_SUPPORTED(cap); cap++)
                if (!kept(cap) && cap_get_bound(cap) > 0 && cap_drop_bound(cap) < 0)
                        return -errno;
        for (size_t i = 0; i < N_ELEMENTS(broker_caps); i++)
                list[i] = broker_caps[i].cap;
        caps = cap_init();
        if (!caps)
                return -ENOMEM;
        if (cap_set_flag(caps, CAP_PERMITTED, N_ELEMENTS(list), list, CAP_SET) < 0 ||
            cap_set_flag(caps, CAP_EFFECTIVE, N_ELEMENTS(list), list, CAP_SET) < 0 ||
            cap_set_proc(caps) < 0)
                r = -errno;
        cap_free(caps);
        if (r >= 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                r = -errno;
        return r;
}
