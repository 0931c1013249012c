#!/bin/bash
# SPDX-License-Identifier: MIT
# apply is a transaction: made to fail after each of its first 17 steps in turn, it leaves the host as
# it was; a second run changes nothing; remove undoes it.
# state: installed
# timeout: 1500
set -u
. "$(dirname "$0")/lib.sh"

# All that apply may touch, as text: accounts, configuration, data, mounts, our units.
host_state() {
    getent passwd
    getent group
    cat /etc/subuid /etc/subgid /etc/projects /etc/projid 2>/dev/null
    find /etc/systemd /etc/tmpfiles.d /etc/niceeval /etc/dindhost /var/lib/dindhost /run/dindhost \
        /var/lib/systemd/linger -printf '%p %y %m %u %g %s\n' 2>/dev/null | grep -v '^/[^ ]* d .* [0-9]*$' | sort
    find /etc/systemd /etc/tmpfiles.d /etc/niceeval /var/lib/dindhost /run/dindhost -type d 2>/dev/null | sort
    grep dindhost /proc/mounts
    systemctl list-units --all --plain --no-legend 'dindhost*@*' | awk '$3 == "active" { print $1 }'
    pgrep -a dockerd
}

init_profile >/dev/null || exit 1
: "${faulty:=$here/dindhost-faulty}"
before=$(host_state)
steps=$("$faulty" profile apply --help >/dev/null && DINDHOST_FAULT_STEP=-1 "$faulty" profile apply "$alias" 2>&1 | grep -c FAILED)
is "$steps" 1 "the seam makes a step fail"
# Up to the daemon's configuration; the later steps start services, see the README's list of limits.
for n in $(seq 17); do
    out=$(DINDHOST_FAULT_STEP=$n "$faulty" profile apply "$alias" 2>&1)
    ok $((1 - $?)) "step $n is made to fail"
    title=$(grep FAILED <<<"$out" | cut -c 15-58 | sed 's, *$,,')
    after=$(host_state)
    is "$after" "$before" "a failure after step $n ($title) leaves nothing"
    [ "$after" = "$before" ] || { diff <(echo "$before") <(echo "$after") | head -20 | sed 's/^/# /'; break; }
done

try "without a fault it is applied" dindhost profile apply "$alias"
try "then the profile is applied" test -e "$descriptor"
out=$(dindhost profile apply "$alias" 2>/dev/null)
ok $? "a second run succeeds"
is "$(grep -cE '^ *[0-9]+  done ' <<<"$out")" 0 "and changes nothing"
grep -q 'nothing was changed' <<<"$out"
ok $? "and says so"

try "remove" dindhost profile remove "$alias" --delete-data
is "$(getent passwd "dindhost-$alias")" "" "its account is gone"
is "$(ls /var/lib/dindhost)" "" "its data is gone"
is "$(grep dindhost /proc/mounts)" "" "its mount is gone"

tap_done
