#!/bin/bash
# SPDX-License-Identifier: MIT
# The command as a whole: usage, profile files, and the registry in a mount namespace of its own.
: "${top_srcdir:?}" "${top_builddir:?}"
. "$top_srcdir/selftest/tap.sh"

dindhost=$top_builddir/dindhost
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# fails STATUS PATTERN NAME ARGUMENT...: exit code, a message on standard error, nothing on standard output
fails() {
    local status=$1 pattern=$2 name=$3 got=0
    shift 3
    "$dindhost" "$@" >"$tmp/out" 2>"$tmp/err" || got=$?
    if [ "$got" = "$status" ] && [ ! -s "$tmp/out" ] && grep -q -e "$pattern" "$tmp/err"; then
        ok 0 "$name"
    else
        ok 1 "$name"
        sed 's/^/# /' "$tmp/out" "$tmp/err"
        echo "# exit code $got"
    fi
}

verbs="profile init|profile check|profile apply|profile remove|profile list|profile show|profile doctor|status"
IFS='|'
for verb in $verbs; do
    IFS=' '
    # shellcheck disable=SC2086 # a verb may be two words
    set -- $verb
    "$dindhost" "$@" --help >"$tmp/out" 2>"$tmp/err"
    ok $? "$verb --help exits 0"
    [ -s "$tmp/out" ] && [ ! -s "$tmp/err" ]
    ok $? "$verb --help prints on standard output alone"
    missing=
    while read -r option; do
        grep -qe "$option" "$top_srcdir/man/dindhost.8.scd" || missing+=" $option"
    done < <(grep -oE -- '--[a-z][a-z-]+' "$tmp/out" | sort -u)
    is "$missing" "" "every option of $verb is in dindhost(8)"
    fails 2 "unknown option '--nonsense'" "$verb refuses an unknown option" "$@" --nonsense
    IFS='|'
done
unset IFS

fails 2 "a command is missing" "no command"
fails 2 "a command is missing" "no verb" profile
fails 2 "unknown command 'nonsense'" "unknown command" nonsense
fails 2 "unknown command 'list'" "a verb of a group does not stand alone" list
fails 2 "unknown command 'nonsense'" "unknown verb" profile nonsense
fails 2 "unknown option '--nonsense'" "unknown option" profile --nonsense
fails 2 "which profile" "an alias is missing" profile show
fails 2 "cannot be an alias" "an alias that is a path" profile show ../etc
fails 2 "one alias too many" "two aliases" profile show a b
fails 2 "takes no value" "a value too many" profile list --json=yes
fails 2 "needs a value" "a value missing" profile check --file
fails 2 "not both" "alias and file" profile check --file "$tmp/x" default
fails 2 "unexpected 'x'" "init takes no operand" profile init x
fails 2 "must be a whole number from 1" "init: no slots" profile init --print --slots=0
fails 2 "must be a size" "init: no size" profile init --print --slot-size=big
fails 2 "must be enforced or unenforced" "init: no such egress" profile init --print --egress=maybe
fails 1 "no profile fits\|are free" "init: more than the disk" profile init --print --slots=4000 --slot-size=64T
fails 1 "No such file" "check: no file" profile check --file "$tmp/none"
fails 1 "no profile 'nonesuch'" "show: no such profile" profile show nonesuch
fails 1 "no profile 'nonesuch' is published" "status: no such profile" status nonesuch

# What init proposes is valid, at least with sizes that any machine has.
small=(--slots=2 --slot-size=64M --memory=128M --cpus=1)
"$dindhost" profile init --print --egress=unenforced "${small[@]}" >"$tmp/p.conf" 2>"$tmp/err"
status=$?
if [ "$status" = 1 ] && grep -q "are free" "$tmp/err"; then
    skip "init --print" "hardly any disk is free"
else
    is "$status" 0 "init --print"
    grep -qx "Egress=unenforced" "$tmp/p.conf"
    ok $? "init --egress=unenforced writes it"
    try "what init prints is valid" "$dindhost" profile check --file "$tmp/p.conf"
    grep -q "cannot enforce" "$tmp/p.conf"
    is $? 1 "nothing is said about an egress that was chosen"
    "$dindhost" profile init --print "${small[@]}" >"$tmp/q.conf"
    grep -qx "Egress=enforced" "$tmp/q.conf" && grep -q "cannot enforce an egress policy yet" "$tmp/q.conf"
    ok $? "without a choice: Egress=enforced, and the file says what that means"
    sed 's/^Slots=2/Slots=two/' "$tmp/p.conf" >"$tmp/bad.conf"
    line=$(grep -n '^Slots=' "$tmp/bad.conf" | cut -d: -f1)
    fails 1 "bad.conf:$line: \[Storage\] Slots=two must be a whole number" "check names file, line and rule" \
        profile check --file "$tmp/bad.conf"

    # Every key is in dindhost-profile(5), and every key there is one.
    keys=$(grep -oE '^#?[A-Z][A-Za-z]+=' "$tmp/p.conf" | tr -d '#' | sort -u)
    is "$(grep -oE '^\*[A-Z][A-Za-z]+=\*' "$top_srcdir/man/dindhost-profile.5.scd" | tr -d '*' | sort -u)" \
        "$keys" "the keys of dindhost-profile(5)"
fi

# The example of the page is valid.
sed -n '/^# EXAMPLE/,/^# SEE ALSO/p' "$top_srcdir/man/dindhost-profile.5.scd" | grep -E '^\[|=' >"$tmp/example.conf"
try "the example of dindhost-profile(5)" "$dindhost" profile check --file "$tmp/example.conf"

# The rest needs a registry and /run of its own: a private mount namespace.
if [ "$(id -u)" = 0 ]; then unshare=(unshare -m); else unshare=(unshare -rm); fi
if "${unshare[@]}" mount -t tmpfs tmpfs /run 2>/dev/null; then
    tap_n=$tap_n tap_failed=$tap_failed "${unshare[@]}" "$BASH" "$top_srcdir/profile/t-registry.bash" \
        "$dindhost" "$tmp" >"$tmp/inner"
    inner=$?
    cat "$tmp/inner"
    tap_n=$((tap_n + $(grep -cE '^(not )?ok ' "$tmp/inner")))
    ok "$inner" "tests of the registry ran to their end"
else
    skip "tests of the registry" "no private mount namespace here"
fi
tap_done
