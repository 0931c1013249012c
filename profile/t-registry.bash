# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Part of t-command.sh, in a private mount namespace: PROGRAM TMP, tap_n and tap_failed in the environment.
n=$tap_n failed=$tap_failed
: "${top_srcdir:?}"
. "$top_srcdir/selftest/tap.sh"
tap_n=$n tap_failed=$failed
dindhost=$1 tmp=$2

registry=$("$dindhost" --version | sed -n 's/^registry: //p')
base=$registry
while [ ! -d "$base" ]; do base=$(dirname "$base"); done

if [ "$base" = / ]; then
    skip "registry" "$registry has no parent that is there"
    exit 0
fi
mount -t tmpfs -o mode=0755 tmpfs "$base"
mkdir -p "$registry"
mount -t tmpfs -o mode=0755 tmpfs /run
mkdir -p /run/dindhost/ws

# The managed sample of the unit tests as a file, with our control socket.
sample() { # PROFILE_ID
    sed -n '/sample_managed\[\]/,/;$/p' "$top_srcdir/profile/descriptor-samples.h" |
        sed -n 's/^ *"\(.*\)";*$/\1/p' | tr -d '\n' | tr "'" '"' |
        sed "s|/run/example/ws/control.sock|/run/dindhost/ws/control.sock|; s|0f1e2d3c4b5a69788796a5b4c3d2e1f0|$1|"
}

is "$("$dindhost" profile list --json 2>&1)" \
    '{"format":"niceeval.docker-profiles","invalid":[],"notes":[],"profiles":[],"schemaVersion":1}' \
    "an empty registry"
"$dindhost" profile list 2>&1 | grep -q "profile init"
ok $? "an empty registry: the next step is said"

sample 0f1e2d3c4b5a69788796a5b4c3d2e1f0 >"$registry/ws.json"
sample 00000000000000000000000000000001 >"$registry/open.json"
chmod 0666 "$registry/open.json"
ln -s ws.json "$registry/link.json"
printf '{"schemaVersion":2}' >"$registry/two.json"
printf 'x' >"$registry/$(printf 'e\033[31mvil').json"
printf '{}' >"$registry/ws.host.json"

"$dindhost" profile list >"$tmp/list" 2>"$tmp/err"
is $? 0 "list exits 0 with invalid entries"
is "$(grep '^ws' "$tmp/list")" \
    "$(printf 'ws\t0f1e2d3c4b5a\tmanaged-rootless/v1\tpolicy 3ff431c5\tdescriptor-valid\tunreachable')" \
    "list: the valid one"
is "$(cut -f1,5,6 "$tmp/list" | grep -v '^ws' | sort)" "$(printf '%s\tinvalid\tsandbox.docker-profile-%s\n' \
    'e?[31mvil' schema-invalid link registry-symlink open registry-mode-invalid two unknown-version | sort)" \
    "list: the invalid ones, with their codes"
is "$(wc -l <"$tmp/list")" 5 "list: a line each, companions are left out"
grep -q "note: egress of 'ws' is not enforced" "$tmp/err"
ok $? "list says that egress is not enforced"
"$dindhost" profile list --json >"$tmp/list"
grep -q '"profiles":\[{"alias":"ws","endpointKind":"unix","health":"descriptor-valid","profileId":"0f1e2d3c4b5a69788796a5b4c3d2e1f0","securityLevel":"managed-rootless/v1","semanticPolicyRevision":"3ff431c5","service":"unreachable"}\]' "$tmp/list"
ok $? "list --json: the valid one"
is "$(grep -o '"code":"[^"]*"' "$tmp/list" | wc -l)" 4 "list --json: the invalid ones"
grep -q "\"notes\":\[\"egress of 'ws' is not enforced" "$tmp/list"
ok $? "list --json says that egress is not enforced"

"$dindhost" profile show ws >"$tmp/show" 2>"$tmp/err"
is $? 0 "show"
grep -q '^ws: published' "$tmp/show" && grep -q 'descriptorDigest  *sha256:' "$tmp/show" &&
    grep -q 'controlSocket  */run/dindhost/ws/control.sock' "$tmp/show" && grep -q "is not enforced" "$tmp/err"
ok $? "show: state, digest, places, egress"
"$dindhost" profile show --json ws | grep -q '"published":true'
ok $? "show --json"
"$dindhost" profile show open >"$tmp/out" 2>"$tmp/err"
is $? 1 "show of an invalid entry fails"
[ ! -s "$tmp/out" ] && grep -q 'registry-mode-invalid' "$tmp/err"
ok $? "and says its code"

"$dindhost" status ws >"$tmp/out" 2>"$tmp/err"
is $? 1 "status without a service fails"
grep -q 'control socket is not there' "$tmp/err" && grep -q "is not enforced" "$tmp/err"
ok $? "and says why, and what egress is"

# A service that answers one request with the given line: listens, then waits in the background.
answer() { # LINE
    rm -f /run/dindhost/ws/control.sock
    # shellcheck disable=SC2016 # Perl's variables
    LINE=$1 perl -MIO::Socket::UNIX -e '
        my $l = IO::Socket::UNIX->new(Local => "/run/dindhost/ws/control.sock", Listen => 1) or die;
        exit if fork;
        close STDOUT; alarm 60;
        my $c = $l->accept; 1 while <$c>; print $c "$ENV{LINE}\n"; close $c;'
}
digest=$("$dindhost" profile show ws 2>/dev/null | sed -n 's/^ *descriptorDigest *//p')
health() { # LINE
    answer "$1"
    "$dindhost" profile list 2>/dev/null | sed -n 's/^ws\t.*\t//p'
}
if perl -MIO::Socket::UNIX -e 1 2>/dev/null; then
    rm -f "$registry"/[!w]*.json
    is "$(health '{"ok":true,"result":{"descriptorDigest":"'"$digest"'","admissionOpen":true}}')" open \
        "list: a service that is open"
    is "$(health '{"ok":true,"result":{"descriptorDigest":"'"$digest"'","admissionOpen":false}}')" closed \
        "list: a service that is closed"
    is "$(health '{"ok":true,"result":{"descriptorDigest":"sha256:0","admissionOpen":true}}')" stale \
        "list: a service of another descriptor"
    is "$(health 'nonsense')" unreachable "list: a service that answers nonsense"
    answer '{"ok":true,"result":{"admissionOpen":true,"generation":"g1","used":{"cpus":1.5,"memoryBytes":1073741824.0},"capacity":{"cpus":8,"memoryBytes":2147483648},"leases":[{"state":"active"}],"reservations":[],"queue":[{}],"slots":[{"state":"active"},{"state":"free"},{"state":"free"}],"degraded":["slot-0002: full"]}}'
    "$dindhost" status ws >"$tmp/out" 2>"$tmp/err"
    is $? 0 "status"
    is "$(sed 's/  */ /g' "$tmp/out")" "ws admission open, generation g1
 CPUs 1.5 of 8
 memory 1.0G of 2.0G
 PIDs ? of ?
 containers ? of ?
 builds ? of ?
 slot disk ? of ?
 leases 1: 1 active
 reservations 0
 waiting 1
 slots 3: 1 active, 2 free
 degraded slot-0002: full" "status: what the service says"
    grep -q "is not enforced" "$tmp/err"
    ok $? "status says that egress is not enforced"
else
    skip "services" "no perl here"
fi
[ "$tap_failed" = "$failed" ]
