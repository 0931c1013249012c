# SPDX-License-Identifier: MIT
# TAP for shell tests: source this, call ok/is/skip, end with tap_done. The plan is counted.
# shellcheck shell=bash
tap_n=0
tap_failed=0

# ok STATUS NAME: passes when STATUS is 0
ok() {
    tap_n=$((tap_n + 1))
    if [ "$1" = 0 ]; then
        echo "ok $tap_n - $2"
    else
        echo "not ok $tap_n - $2"
        tap_failed=$((tap_failed + 1))
    fi
}

# is GOT WANTED NAME
is() {
    if [ "$1" = "$2" ]; then
        ok 0 "$3"
    else
        ok 1 "$3"
        printf '%s\n' "got:    $1" "wanted: $2" | sed 's/^/# /'
    fi
}

# try NAME COMMAND...: passes when the command does; its output is shown when it does not
try() {
    local name=$1 out
    shift
    if out=$("$@" 2>&1); then
        ok 0 "$name"
    else
        ok 1 "$name"
        printf '%s\n' "$out" | head -20 | sed 's/^/# /'
    fi
}

# skip NAME REASON: with SELFTEST_STRICT a failure, since CI's machines can run everything
skip() {
    if [ -n "${SELFTEST_STRICT:-}" ]; then
        ok 1 "$1"
        echo "# skipped, but strict: $2"
    else
        tap_n=$((tap_n + 1))
        echo "ok $tap_n - $1 # SKIP $2"
    fi
}

tap_done() {
    echo "1..$tap_n"
    [ "$tap_failed" = 0 ]
}
