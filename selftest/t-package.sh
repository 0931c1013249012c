#!/bin/bash
# SPDX-License-Identifier: MIT
# The finished packages (make check-deb): what is in them, that their scripts leave running profiles
# alone, and lintian as a gate.
. "$top_srcdir/selftest/tap.sh"
deb=$top_builddir/deb
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

host=$(find "$deb" -name 'dindhost_*.deb' | head -n 1)
supervisor=$(find "$deb" -name 'dindhost-supervisor_*.deb' | head -n 1)
if [ -z "$host" ] || [ -z "$supervisor" ]; then
    echo "Bail out! no packages in $deb: run make deb"
    exit 1
fi

# Files with their modes, the folder of units under one name (it moved between Debian releases).
contents() { # PACKAGE
    dpkg-deb -c "$1" | awk '$1 !~ /^d/ { print $1, $2, $6 }' | sed -E 's| \./(usr/)?lib/systemd/system/| UNITS/|; s| \./| /|' | sort -k3
}

is "$(contents "$host")" "$(sort -k3 <<'LIST'
-rw-r--r-- root/root UNITS/dindhost-broker@.service
-rw-r--r-- root/root UNITS/dindhost-broker@.socket
-rw-r--r-- root/root UNITS/dindhost-dockerd@.service
-rw-r--r-- root/root UNITS/dindhost-storage@.service
-rw-r--r-- root/root UNITS/dindhost-watchdog@.service
-rw-r--r-- root/root UNITS/dindhost-watchdog@.socket
-rw-r--r-- root/root UNITS/dindhost@.target
-rw-r--r-- root/root /usr/lib/modules-load.d/dindhost.conf
-rw-r--r-- root/root /usr/lib/systemd/user/dindhost-dockerd@.service
-rw-r--r-- root/root /usr/lib/sysusers.d/dindhost.conf
-rw-r--r-- root/root /usr/lib/tmpfiles.d/dindhost.conf
-rwxr-xr-x root/root /usr/libexec/dindhost/dindhost-broker
-rwxr-xr-x root/root /usr/libexec/dindhost/dindhost-watchdog
-rwxr-xr-x root/root /usr/sbin/dindhost
-rw-r--r-- root/root /usr/share/doc/dindhost/changelog.Debian.gz
-rw-r--r-- root/root /usr/share/doc/dindhost/copyright
-rw-r--r-- root/root /usr/share/lintian/overrides/dindhost
-rw-r--r-- root/root /usr/share/man/man5/dindhost-profile.5.gz
-rw-r--r-- root/root /usr/share/man/man8/dindhost-broker.8.gz
-rw-r--r-- root/root /usr/share/man/man8/dindhost-watchdog.8.gz
-rw-r--r-- root/root /usr/share/man/man8/dindhost.8.gz
LIST
)" "the host package holds these files and no others"

is "$(contents "$supervisor")" "$(sort -k3 <<'LIST'
-rwxr-xr-x root/root /usr/libexec/dindhost/dindhost-supervisor
-rw-r--r-- root/root /usr/share/doc/dindhost-supervisor/changelog.Debian.gz
-rw-r--r-- root/root /usr/share/doc/dindhost-supervisor/copyright
-rw-r--r-- root/root /usr/share/lintian/overrides/dindhost-supervisor
-rw-r--r-- root/root /usr/share/man/man8/dindhost-supervisor.8.gz
LIST
)" "the supervisor's package holds these files and no others"

is "$(dpkg-deb -f "$supervisor" Depends)" "" "the supervisor's package needs nothing"
is "$(dpkg-deb -f "$supervisor" Multi-Arch)" foreign "and serves every architecture"
is "$(dpkg-deb -f "$host" Depends | tr ',' '\n' | sed 's/^ //' | grep '^dindhost-supervisor ')" \
    "dindhost-supervisor (= $(dpkg-deb -f "$host" Version))" "host and supervisor are of one version"
is "$(dpkg-deb -f "$host" Depends | grep -oE 't64')" "" "no dependency on a library name that another release renamed"

# A stopped slice or unit would end every sandbox of a profile.
dpkg-deb -e "$host" "$work/host"
dpkg-deb -e "$supervisor" "$work/supervisor"
is "$(cat "$work"/*/{pre,post}{inst,rm} 2>/dev/null | grep -vE '^ *#' | grep -E '\b(start|stop|restart|enable|disable|deb-systemd-invoke|invoke-rc\.d)\b')" "" \
    "no script of the packages starts, stops or enables anything"
grep -q 'systemd-sysusers\|adduser' "$work/host/postinst"
ok $? "the service user is made at installation"
is "$(cd "$work" && ls host/conffiles supervisor/conffiles 2>/dev/null)" "" "no file of the admin's is shipped"

if command -v lintian >/dev/null; then
    out=$(lintian --allow-root -I --fail-on error,warning,info "$deb"/*.changes 2>&1)
    ok $? "lintian finds nothing"
    grep -E '^[EWI]:' <<<"$out" | head -20 | sed 's/^/# /'
else
    skip "lintian finds nothing" "lintian is missing"
fi
tap_done
