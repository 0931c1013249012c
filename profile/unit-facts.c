/* SPDX-License-Identifier: MIT */
#include "profile/unit-facts.h"

#include <string.h>
#include <systemd/sd-bus.h>

#include "base/text.h"

#define MANAGER "org.freedesktop.systemd1"

int unit_text(const char *unit, const char *interface, const char *property, char **ret) {
        CLEANUP(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        CLEANUP(freep) char *path = NULL, *name = NULL;
        int r = sd_bus_open_system(&bus);

        if (r < 0)
                return r;
        name = text_format(MANAGER ".%s", interface);
        r = name ? sd_bus_path_encode("/org/freedesktop/systemd1/unit", unit, &path) : -ENOMEM;
        if (r < 0)
                return r;
        r = sd_bus_get_property_string(bus, MANAGER, path, name, property, NULL, ret);
        return r < 0 ? r : 0;
}
