#!/bin/bash
# SPDX-License-Identifier: MIT
# Unit files, users, folders and modules as they are installed: systemd accepts them, their exposure
# stays under its bar, and sysusers and tmpfiles make what the rest counts on, in a root of our own.
. "$top_srcdir/selftest/tap.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
units=$work/units
mkdir -p "$units"

# The programs lie in the build folder here, and verify(1) looks whether they are there.
for u in "$top_builddir"/systemd/dindhost*@.*; do
    sed -E "s|^(Exec[A-Za-z]*=)/[^ ]*/dindhost/|\\1$top_builddir/|" "$u" >"$units/$(basename "$u")"
done

verified() { # UNIT: not a word from verify
    local out
    out=$(SYSTEMD_UNIT_PATH="$units:" systemd-analyze verify --man=no "$units/$1" 2>&1 | grep -F dindhost)
    is "$out" "" "systemd has nothing to say about $1"
}

exposure() { # UNIT LIMIT
    local out
    if out=$(systemd-analyze security --offline=true --threshold="$2" "$units/$1" 2>&1); then
        ok 0 "exposure of $1 is at most $2 of 100"
    else
        ok 1 "exposure of $1 is at most $2 of 100"
        grep -F 'exposure level' <<<"$out" | sed 's/^/# /'
    fi
}

if command -v systemd-analyze >/dev/null; then
    for u in dindhost-storage@default.service dindhost-dockerd@default.service \
        dindhost-broker@default.socket dindhost-broker@default.service \
        dindhost-watchdog@default.socket dindhost-watchdog@default.service dindhost@default.target; do
        verified "$u"
    done
    exposure dindhost-watchdog@.service 30
    exposure dindhost-broker@.service 60
else
    skip "units" "systemd-analyze is missing: install systemd"
fi

# What the design promises and no exposure figure shows.
grep -qx 'User=dindhost' "$units/dindhost-watchdog@.service"
ok $? "the watchdog is not root"
grep -qx 'SocketMode=0660' "$units/dindhost-watchdog@.socket" && grep -qx 'SocketGroup=dindhost-%i-access' "$units/dindhost-watchdog@.socket"
ok $? "the control socket is the access group's from its first instant"
grep -qx 'SocketUser=dindhost' "$units/dindhost-broker@.socket" && grep -qx 'SocketMode=0600' "$units/dindhost-broker@.socket"
ok $? "the broker's socket is the watchdog's alone"
! grep -qE '^Slice=' "$units"/dindhost-watchdog@.service "$units"/dindhost-broker@.service
ok $? "watchdog and broker are outside the aggregate slice"

if command -v systemd-sysusers >/dev/null && command -v systemd-tmpfiles >/dev/null; then
    mkdir -p "$work/root/etc"
    try "sysusers accepts its file" systemd-sysusers --root="$work/root" - <"$top_builddir/systemd/sysusers/dindhost.conf"
    is "$(cut -d: -f1,6,7 "$work/root/etc/passwd" | grep '^dindhost:')" "dindhost:/:/usr/sbin/nologin" \
        "the service user has no home and no shell"
    if [ "$(id -u)" = 0 ]; then
        try "tmpfiles accepts its file" systemd-tmpfiles --root="$work/root" --create - <"$top_builddir/systemd/tmpfiles/dindhost.conf"
        # where they are follows from how it was configured: distcheck has a prefix of its own
        folders=$(awk '$1 == "d" { print $2 }' "$top_builddir/systemd/tmpfiles/dindhost.conf")
        is "$(wc -w <<<"$folders")" 4 "it makes four folders"
        for d in $folders; do
            is "$(stat -c '%a %u %g' "$work/root$d" 2>&1)" "755 0 0" "$d is root's alone to write"
        done
    else
        skip "folders" "needs root"
    fi
else
    skip "users and folders" "systemd-sysusers or systemd-tmpfiles is missing: install systemd"
fi

is "$(grep -vxE '#.*|[a-z0-9_A-Z]+' "$top_builddir/systemd/modules-load/dindhost.conf")" "" "the module list holds names only"
for m in bridge br_netfilter veth overlay loop quota_v2; do
    grep -qx "$m" "$top_builddir/systemd/modules-load/dindhost.conf"
    ok $? "module $m is loaded at boot"
done
tap_done
