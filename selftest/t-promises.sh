#!/bin/bash
# SPDX-License-Identifier: MIT
# What every program promises: help on standard output and exit 0, errors on standard error with
# standard output clean and exit 2, every long option of the help in the man page.
. "$top_srcdir/selftest/tap.sh"

promises() { # PROGRAM MANPAGE
    local p=$1 page=$2 name out opt missing=
    name=$(basename "$p")
    out=$("$p" --help 2>/dev/null)
    ok $? "$name --help exits 0"
    [ -n "$out" ]
    ok $? "$name --help prints something"
    is "$("$p" --help 2>&1 >/dev/null)" "" "$name --help is silent on standard error"
    "$p" --version 2>/dev/null | grep -q '[0-9]\.[0-9]'
    ok $? "$name --version names its version"
    is "$("$p" --no-such-option 2>/dev/null)" "" "$name: an unknown option leaves standard output clean"
    "$p" --no-such-option >/dev/null 2>&1
    is $? 2 "$name: an unknown option exits 2"
    for opt in $(grep -oE -- '--[a-z][a-z-]+' <<<"$out" | sort -u); do
        grep -qe "$opt" "$page" || missing+=" $opt"
    done
    is "$missing" "" "$name: every option of the help is in $(basename "$page")"
}

promises "$top_builddir/dindhost" "$top_srcdir/man/dindhost.8.scd"
promises "$top_builddir/dindhost-watchdog" "$top_srcdir/man/dindhost-watchdog.8.scd"
promises "$top_builddir/dindhost-broker" "$top_srcdir/man/dindhost-broker.8.scd"
promises "$top_builddir/dindhost-supervisor" "$top_srcdir/man/dindhost-supervisor.8.scd"
tap_done
