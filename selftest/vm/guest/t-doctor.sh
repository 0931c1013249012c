#!/bin/bash
# SPDX-License-Identifier: MIT
# timeout: 1500
# The doctor on a real profile: it passes as applied, names each thing that was tampered with, and
# passes again when it was put right; the whole smoke at the end.
set -u
. "$(dirname "$0")/lib.sh"
slots=$statedir/data/slots
uid=$(id -u "$account")
slice=/sys/fs/cgroup/user.slice/user-$uid.slice
report=/tmp/doctor

examine() { dindhost profile doctor "$alias" >$report; }

# names ID WORDS: the last report has a FAIL there, with these words and a cure
names() {
    grep -A1 "^FAIL  *$1 .*$2" $report | grep -q '^        cure: ..'
    ok $? "$1 fails: $2"
    grep "$1 " $report | sed 's/^/# /'
}

# clean WHEN: nothing fails
clean() {
    examine
    is "$?:$(grep '^FAIL' $report)" "0:" "nothing fails $1"
}

clean "as applied"
grep -q '^NOTYET  network.egress .*not enforced' $report
ok $? "egress is said not to be enforced"

note "slots, limits, a process outside, a TCP listener"
project=$(lsattr -pd "$slots/slot-0001" | awk '{ print $1 }')
chattr -p 4242 "$slots/slot-0001"
chmod 0755 "$slots/slot-0002"
touch "$slots/slot-0002/left-over"
memory=$(cat "$slice/memory.max")
echo max >"$slice/memory.max"
setpriv --reuid "$account" --regid "$account" --clear-groups python3 -c '
import socket, time
s = socket.create_server(("127.0.0.1", 0))
open("/tmp/listening", "w").close()
time.sleep(3600)' &
outside=$!
within 60 test -e /tmp/listening
fails examine
ok $? "the doctor fails"
names storage.slot-projects "slot-0001 has project 4242"
names storage.slot-owners "slot-0002 belongs to .* mode 0755"
names storage.slots-empty "slot-0002 is said to be free"
names cgroup.limits "memory.max is max"
names cgroup.processes "process $outside .* outside"
names daemon.no-tcp "process $outside .* listens on TCP"
kill "$outside"
wait "$outside" 2>/dev/null
echo "$memory" >"$slice/memory.max"
rm "$slots/slot-0002/left-over"
chmod 0700 "$slots/slot-0002"
chattr -p "$project" "$slots/slot-0001"
clean "when that is put right"

note "control socket, staged descriptor, a hole in the pool"
chmod 0666 "$control"
cp -p "$statedir/descriptor.json" /tmp/descriptor.json
echo >>"$statedir/descriptor.json"
end=$(($(stat -c %s "$statedir/pool.img") - 65536))
fallocate --punch-hole --offset $end --length 65536 "$statedir/pool.img"
fails examine
ok $? "the doctor fails"
names socket.control "everybody may write"
names control.challenge "not checked: needs socket.control"
names profile.staged "differ"
names storage.image "sparse"
fallocate --offset $end --length 65536 "$statedir/pool.img"
cp -p /tmp/descriptor.json "$statedir/descriptor.json"
chmod 0660 "$control"
clean "when that is put right"

note "published descriptor, units"
chmod 0664 "$descriptor"
systemctl stop "dindhost-watchdog@$alias.socket" "dindhost-watchdog@$alias.service"
fails examine
ok $? "the doctor fails"
names profile.descriptor "registry-mode-invalid"
names profile.units "dindhost-watchdog@$alias.socket is inactive"
systemctl start "dindhost-watchdog@$alias.socket" "dindhost-watchdog@$alias.service"
chmod 0644 "$descriptor"
clean_soon() { dindhost profile doctor "$alias" >$report; }
try "nothing fails when that is put right" within 120 clean_soon

note "an ordinary user of the access group"
as_runner dindhost profile doctor "$alias" >$report
is "$(grep -A1 '^FAIL' $report | grep '^        cure' | grep -vE 'run as root|see (storage|cgroup)\.')" "" \
    "what an ordinary user cannot see is the only thing that fails for him"
grep -q '^PASS  *control.challenge' $report && grep -q '^PASS  *daemon.answers' $report
ok $? "he may ask service and daemon"

note "the smoke"
json=$(dindhost profile doctor "$alias" --smoke --json)
is "$?" 0 "the smoke passes"
is "$(json 'sorted({c["status"] for c in d["checks"]})' <<<"$json")" '["NOTYET", "PASS"]' "and so does every check"
is "$(json '[d["format"], d["schemaVersion"], d["alias"], d["egress"]]' <<<"$json")" \
    "[\"dindhost.doctor\", 1, \"$alias\", \"unenforced\"]" "JSON says what it is"
json '"\n".join("# " + c["id"] + "  " + c["observed"] for c in d["checks"] if c["id"].startswith("smoke."))' <<<"$json"
is "$(engine ps -aq)" "" "no container is left"
tap_done
