#!/bin/bash
# SPDX-License-Identifier: MIT
# The finished static program: needs nothing of the image, is small, and cannot allocate.
. "$top_srcdir/selftest/tap.sh"

program=$top_builddir/dindhost-supervisor
libc=$("$program" --version | sed -n 's/.*(\(.*\))/\1/p')
case $libc in musl) limit=65536 ;; *) limit=1048576 ;; esac

! readelf -lW "$program" | grep -q INTERP
ok $? "needs no loader"
! readelf -dW "$program" | grep -q NEEDED
ok $? "needs no library"
[ "$(stat -c %s "$program")" -lt $limit ]
ok $? "smaller than $limit bytes with $libc: $(stat -c %s "$program")"
readelf -nW "$program" | grep -q 'Build ID: [0-9a-f]\{40\}'
ok $? "has a build id"
! readelf -lW "$program" | grep GNU_STACK | grep -q E
ok $? "has no executable stack"
readelf -lW "$program" | grep -q GNU_RELRO
ok $? "has a read-only relocation table"
nm "$program.debug" | grep -q ' __stack_chk_fail$'
ok $? "checks its stack"
if [ "$libc" = musl ]; then # the other one always brings them along
    is "$(nm "$program.debug" | grep -E ' (malloc|calloc|realloc|free|printf|vfprintf|getpwnam|opendir)$')" "" \
        "has no allocator, stdio or look-ups in it"
fi
if [ "$(id -u)" = 0 ]; then
    empty=$(mktemp -d)
    cp "$program" "$empty/supervisor"
    try "runs in an empty file system" chroot "$empty" /supervisor --version
    rm -r "$empty"
else
    skip "runs in an empty file system" "needs root, for chroot"
fi
"$program" >/dev/null 2>&1
is $? 2 "refuses to run as anything but PID 1"
tap_done
