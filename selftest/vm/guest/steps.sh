# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Steps with progress for people: a line when one begins and one when it ended, its output in a log,
# and a table at the end. After a failure the steps that build on it are shown as not run.
# The caller sets steps_logs (folder) and may set steps_epoch (when the whole began, in seconds).
: "${steps_logs:?a folder for logs}" "${steps_epoch:=$(date +%s)}"
steps_file=$steps_logs/steps
steps_failed=''
mkdir -p "$steps_logs"
: >>"$steps_file"

steps_say() { printf '[%4d s] %s\n' "$(($(date +%s) - steps_epoch))" "$*"; }

steps_now() { cut -d' ' -f1 /proc/uptime; }

# step [-s] NAME COMMAND...: -s shows the command's output when it is done
step() {
    local show='' name log begin status seconds
    if [ "$1" = -s ]; then
        show=1
        shift
    fi
    name=$1
    shift
    if [ -n "$steps_failed" ]; then
        printf '%s\tnot run\t-\n' "$name" >>"$steps_file"
        return 1
    fi
    log=$steps_logs/$(($(wc -l <"$steps_file") + 1))-$(tr -c 'a-zA-Z0-9\n' - <<<"$name" | cut -c1-40).log
    steps_say "$name"
    begin=$(steps_now)
    ("$@") >"$log" 2>&1
    status=$?
    seconds=$(awk -v a="$begin" -v b="$(steps_now)" 'BEGIN { printf "%.1f", b - a }')
    if [ $status = 0 ]; then
        [ -z "$show" ] || sed 's/^/         | /' "$log"
        printf '%s\tok\t%s\n' "$name" "$seconds" >>"$steps_file"
        steps_say "  done in $seconds s"
    else
        steps_failed=1
        printf '%s\tFAILED (%s)\t%s\n' "$name" "$status" "$seconds" >>"$steps_file"
        steps_say "  FAILED with code $status after $seconds s; the end of its log:"
        tail -n 40 "$log" | sed 's/^/         | /'
        steps_say "  full log: $log"
    fi
    return $status
}

# steps_table FILE...
steps_table() {
    awk -F '\t' 'BEGIN { printf "\n%-58s %-12s %8s\n", "step", "result", "seconds" }
        { printf "%-58s %-12s %8s\n", $1, $2, $3; sum += $3 }
        END { printf "%-58s %-12s %8.1f\n", "all steps", "", sum }' "$@"
}

# steps_ok FILE...: every step of every file went well, and there is at least one
steps_ok() { cat "$@" | awk -F '\t' '{ n++ } $2 != "ok" { bad = 1 } END { exit bad || !n }'; }
