#!/bin/bash
# SPDX-License-Identifier: MIT
# The doctor on this host, whatever it is: what it says must be what plain commands say, each FAIL
# must carry a cure, and both formats and the exit code must agree.
. "${top_srcdir:?}/selftest/tap.sh"
dindhost=${top_builddir:?}/dindhost
alias=no-such-profile

text=$("$dindhost" profile doctor)
rc=$?
json=$("$dindhost" profile doctor --json)
rc_json=$?
whole=$("$dindhost" profile doctor "$alias" --smoke)
rc_whole=$?

status_of() { # ID
    awk -v id="$1" '$2 == id { print $1 }' <<<"$text"
}

# agrees ID COMMAND...: PASS when the command succeeds, FAIL when not
agrees() {
    local id=$1 want=FAIL
    shift
    if "$@" >/dev/null 2>&1; then want=PASS; fi
    is "$(status_of "$id")" "$want" "$id is $want on this host"
}

all_there() {
    local p
    for p in dockerd containerd runc crun rootlesskit slirp4netns newuidmap newgidmap mkfs.ext4 \
        useradd systemctl loginctl; do
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin command -v "$p" || return 1
    done
}
unified() { [ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ]; }
nsdelegate() { grep -E '^[^ ]+ /sys/fs/cgroup cgroup2 [^ ]*nsdelegate' /proc/self/mounts; }
controllers() {
    local c
    unified || return 1
    for c in cpu memory pids; do grep -qw "$c" /sys/fs/cgroup/cgroup.controllers || return 1; done
}

agrees host.systemd test -d /run/systemd/system
agrees host.cgroup-v2 unified
agrees host.nsdelegate nsdelegate
agrees host.controllers controllers
agrees host.programs all_there
agrees host.service-user getent passwd dindhost

if unified; then
    ! grep -q 'version 1' <<<"$text"
    ok $? "no hierarchy of version 1 is named"
else
    grep -q '^FAIL  *host.controllers .* memory' <<<"$text"
    ok $? "controllers that are bound to version 1 are named"
fi
# The kernel's own words where it tells them: a module or a built-in says so in its configuration.
if config=$(zcat /proc/config.gz 2>/dev/null || cat "/boot/config-$(uname -r)" 2>/dev/null); then
    agrees host.project-quota grep -qE '^CONFIG_QFMT_V2=[ym]' <<<"$config"
else
    echo "# the kernel's configuration is not readable here: host.project-quota stands alone"
fi
missing=$(PATH=/usr/sbin:/usr/bin:/sbin:/bin command -v slirp4netns >/dev/null || echo slirp4netns)
if [ -n "$missing" ]; then
    grep -A1 '^FAIL  *host.programs' <<<"$text" | grep -q "cure: apt-get install.* $missing"
    ok $? "a missing program's cure names its package"
else
    ! grep '^FAIL  *host.programs' <<<"$text" | grep -q slirp4netns
    ok $? "a program that is there is not missed"
fi

fails=$(grep -c '^FAIL ' <<<"$whole")
cures=$(grep -c '^        cure: ..' <<<"$whole")
is "$cures" "$fails" "each of $fails FAILs has a cure"
grep -q '^NOTYET  *network.egress .*not enforced' <<<"$whole"
ok $? "egress is said not to be enforced"
is "$rc_whole" 1 "a profile that is not there fails"
! grep -q '^PASS  *\(control\|daemon\|smoke\|storage\)' <<<"$whole"
ok $? "nothing of it passes"
is "$rc_json" "$rc" "both formats exit alike"
is "$(grep -c '^FAIL ' <<<"$text" | sed 's/^[1-9].*/1/')" "$rc" "the exit code tells of a FAIL"
is "$(grep -o '"id":"[^"]*","observed' <<<"$json" | cut -d'"' -f4)" \
    "$(awk '/^(PASS|FAIL|NOTYET) / { print $2 }' <<<"$text")" "both formats have the same ids in the same order"
grep -q '^{"alias":null,"checks":\[.*"egress":null,"format":"dindhost.doctor","schemaVersion":1}$' <<<"$json"
ok $? "JSON is one line with its format and version"
"$dindhost" profile doctor --smoke >/dev/null 2>&1
is $? 2 "--smoke without a profile is wrong usage"
"$dindhost" profile doctor 'Not_An_Alias' >/dev/null 2>&1
is $? 2 "a bad alias is wrong usage"
tap_done
