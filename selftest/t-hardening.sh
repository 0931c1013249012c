#!/bin/bash
# SPDX-License-Identifier: MIT
# Asks the finished programs what the flags were meant to give: a flag that got lost is seen here.
. "$top_srcdir/selftest/tap.sh"

hardened() { # PROGRAM: position independent, RELRO, immediate binding, stack check
    local p=$1 name
    name=$(basename "$p")
    readelf -hW "$p" | grep -q 'Type:.*DYN'
    ok $? "$name is position independent"
    readelf -lW "$p" | grep -q GNU_RELRO
    ok $? "$name has a read-only relocation table"
    readelf -dW "$p" | grep -qE 'BIND_NOW|Flags:.*NOW'
    ok $? "$name binds at start"
    if [ -n "${SELFTEST_SANITIZED:-}" ]; then
        skip "$name checks its stack" "a sanitizer build"
    else
        readelf -sW "$p" | grep -q __stack_chk_fail
        ok $? "$name checks its stack"
    fi
    ! readelf -lW "$p" | grep -E 'GNU_STACK' | grep -q RWE
    ok $? "$name has no executable stack"
}

for p in dindhost dindhost-watchdog dindhost-broker; do
    hardened "$top_builddir/$p"
done
tap_done
