#!/bin/bash
# SPDX-License-Identifier: MIT
# A runner's whole way through: its sandbox, a container in it, its end, and what a kill leaves.
set -u
. "$(dirname "$0")/lib.sh"
all_free() { [ "$(free_slots)" = 2 ]; }

try "an ordinary user runs a container in a sandbox" runner sandbox "$alias" "$image_name"
try "every slot is free again" all_free
is "$(engine ps -aq)" "" "no container is left"

as_runner python3 "$here/runner.py" hold "$alias" "$image_name" "/var/lib/$runner_user/held" >/dev/null 2>&1 &
try "a runner holds a sandbox" within 300 test -e "/var/lib/$runner_user/held"
container=$(json 'd["containerId"]' <"/var/lib/$runner_user/held")
is "$(free_slots)" 1 "its slot is taken"
pkill -KILL -u "$runner_user" -f runner.py
try "after its kill the slot is free again" within 300 all_free
try "and the container is gone" fails engine inspect "$container"
try "and the slot is empty" test -z "$(find "$statedir/data/slots" -mindepth 2 | head -n 1)"
tap_done
