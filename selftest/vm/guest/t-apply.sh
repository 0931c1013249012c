#!/bin/bash
# SPDX-License-Identifier: MIT
# apply is a transaction: made to fail after each of its steps in turn, it leaves the host as it was;
# a second run changes nothing; what is not ours is not adopted; remove undoes it.
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
n=1
while :; do
    out=$(DINDHOST_FAULT_STEP=$n "$faulty" profile apply "$alias" 2>&1) && break
    title=$(grep FAILED <<<"$out" | cut -c 15-58 | sed 's, *$,,')
    after=$(host_state)
    is "$after" "$before" "a failure after step $n ($title) leaves nothing"
    [ "$after" = "$before" ] || { diff <(echo "$before") <(echo "$after") | head -20 | sed 's/^/# /'; break; }
    n=$((n + 1))
done
ok $((n > 20 ? 0 : 1)) "every one of $((n - 1)) steps failed once"

# the loop ends with a run in which no step was left to fail: the profile is applied
try "then the profile is applied" test -e "$descriptor"
out=$(dindhost profile apply "$alias" 2>/dev/null)
ok $? "a second run succeeds"
is "$(grep -cE '^ *[0-9]+  done ' <<<"$out")" 0 "and changes nothing"
grep -q 'nothing was changed' <<<"$out"
ok $? "and says so"

sed -i 's/^PoolSize=.*/PoolSize=6G/' "/etc/dindhost/profiles/$alias.conf"
out=$(dindhost profile apply "$alias" 2>&1)
ok $((1 - $?)) "a pool image of another size is refused"
grep -q 'PoolSize=6G' <<<"$out"
ok $? "with both sizes named"
is "$(systemctl is-active "dindhost-watchdog@$alias.service")" active "and the profile goes on"

try "remove" dindhost profile remove "$alias" --delete-data
is "$(getent passwd "dindhost-$alias")" "" "its account is gone"
is "$(ls /var/lib/dindhost)" "" "its data is gone"
is "$(grep dindhost /proc/mounts)" "" "its mount is gone"

useradd --system "dindhost-$alias"
out=$(dindhost profile apply "$alias" 2>&1)
ok $((1 - $?)) "an account of that name that is not ours is refused"
grep -q 'is not ours' <<<"$out"
ok $? "in so many words"
getent passwd "dindhost-$alias" >/dev/null
ok $? "and is left alone"
tap_done
