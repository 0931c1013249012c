# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# For tests in the test machine: TAP (ok, is, try, skip, tap_done), the admin's steps, and helpers.
# A test is guest/t-NAME.sh; comment lines at its head may say
#   # state: base | installed | applied   the machine it starts from (applied)
#   # timeout: SECONDS                    its deadline (900)
#   # cold: yes                           boot that state's disk anew instead of going on
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
debs=$here
# shellcheck source=../../tap.sh
. "$here/tap.sh"
# shellcheck source=host-steps.sh
. "$here/host-steps.sh"
rundir=/run/dindhost/$alias
statedir=/var/lib/dindhost/$alias
account=dindhost-$alias
access=dindhost-$alias-access
control=$rundir/control.sock
descriptor=/etc/niceeval/docker-profiles/$alias.json

note() { printf '# [%s] %s\n' "$(cut -d' ' -f1 /proc/uptime)" "$*"; }

# within SECONDS COMMAND...: until it succeeds
within() {
    local end=$(($(date +%s) + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$(date +%s)" -lt "$end" ] || return 1
        sleep 0.5
    done
}

# fails COMMAND...: succeeds when the command fails
fails() { ! "$@"; }

runner() { as_runner python3 "$here/runner.py" "$@"; }

engine() { docker -H "unix://$docker_socket" "$@"; }

# json EXPRESSION: python expression on d, the JSON of standard input
json() { python3 -c 'import json,sys; d = json.load(sys.stdin); v = eval(sys.argv[1]); print(v if isinstance(v, str) else json.dumps(v))' "$1"; }

status() { runner call "$alias" status; }

# free_slots: how many the watchdog would grant now
free_slots() { status | json 'd["availableQuotaSlots"]'; }
