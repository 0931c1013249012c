#!/bin/bash
# SPDX-License-Identifier: MIT
# The real programs as PID 1 of a PID namespace, with a scripted dockerd: the static one, as it is
# installed, and then once more the dynamic one, which may have sanitizers in it.
. "$top_srcdir/selftest/tap.sh"

if [ "$(id -u)" != 0 ]; then
    skip "supervisor as PID 1" "needs root, to make namespaces"
    tap_done
    exit
fi

if ! unshare --pid --fork --mount true 2>/dev/null; then
    skip "supervisor as PID 1" "this machine does not let root make namespaces"
    tap_done
    exit
fi

work=$(mktemp -d "$top_builddir/supervisor/pid1.XXXXXX")
trap 'umount "$work/outer" 2>/dev/null; rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir "$work/bin"
cp "$top_builddir/supervisor/test-dockerd" "$work/bin/dockerd"
for tool in containerd runc iptables; do
    printf '#!/bin/sh\n' >"$work/bin/$tool"
    chmod 755 "$work/bin/$tool"
done
cat >"$work/passwd" <<END
root:x:0:0:root:/root:/bin/sh
agent:x:1000:1000::/home/agent:/bin/sh
stranger:x:1001:1001::/home/stranger:/bin/sh
END
cat >"$work/group" <<END
root:x:0:
docker:x:998:agent,nobody
agent:x:1000:
stranger:x:1001:
END

# The world of the sandbox: its own mounts, and PID 1 is what exec leads to. The state dir is
# outside of /run, so that it can be looked at afterwards.
cat >"$work/enter" <<'END'
#!/bin/bash
set -e
mount -t tmpfs -o mode=755 tmpfs /run
mount --bind "$WORK/passwd" /etc/passwd
mount --bind "$WORK/group" /etc/group
mount -t tmpfs tmpfs /var/lib
mkdir /var/lib/docker
if [ -n "${BEFORE:-}" ]; then eval "$BEFORE"; fi
PATH=${SANDBOX_PATH:-$TOOLS:$PATH}
[ "${CGROUP:-}" != new ] || exec unshare --cgroup "$WORK/enter-group" "$@"
exec "$SUPERVISOR" "$@"
END
# In a cgroup namespace, the tree has to be mounted anew to begin at its root.
cat >"$work/enter-group" <<'END'
#!/bin/bash
set -e
mount -t cgroup2 cgroup2 "$WORK/tree"
exec "$SUPERVISOR" --cgroup-root="$WORK/tree" "$@"
END
chmod 755 "$work/enter" "$work/enter-group"
mkdir "$work/tree" "$work/outer"
export WORK=$work TOOLS=$work/bin SUPERVISOR

# start ARG...: in the background, without cgroups unless CGROUP is set; sets $unshare, and $pid1 once it is there
start() {
    rm -rf "$work/state"
    [ -n "${CGROUP:-}" ] || set -- --no-cgroup "$@"
    setsid unshare --pid --fork --kill-child --mount-proc --mount --propagation private \
        "$work/enter" --state-dir="$work/state" "$@" \
        >"$work/out" 2>"$work/err" </dev/null &
    unshare=$!
}

# finish: waits for the end; sets $status and $took (whole seconds)
finish() {
    local begin=$SECONDS
    wait "$unshare"
    status=$?
    took=$((SECONDS - begin))
}

run() {
    start "$@"
    finish
}

pid1() { pgrep -P "$unshare"; }

# wait_for FILE: until it is there, as long as the sandbox lives
wait_for() {
    while kill -0 "$unshare" 2>/dev/null; do
        [ -e "$work/state/$1" ] && return 0
        sleep 0.05
    done
    return 1
}

has() { # FILE TEXT NAME
    grep -qF -- "$2" "$work/$1"
    local r=$?
    ok $r "$3"
    if [ $r != 0 ]; then head -c 2000 "$work/$1" | sed 's/^/# /'; fi
}

# ends STATUS CAUSE NAME: exit status, file and last line all say so
ends() {
    is "$status" "$1" "$3: exit status $1"
    has state/cause.json "\"cause\":\"$2\"" "$3: cause $2"
    is "$(tail -n 1 "$work/err")" "$(cat "$work/state/cause.json" 2>/dev/null)" \
        "$3: the last line is the cause"
}

in_time() { # NAME: within the 5 s of stopping, and what a busy machine adds
    [ "$took" -le 7 ]
    ok $? "$1: stops in time ($took s)"
}

# The tree from outside: $group is the sandbox's root. Its controllers are what the machine has.
cgroups() {
    local group=$work/outer/dindhost-test-$$ alien
    mount -t cgroup2 cgroup2 "$work/outer" || return
    mkdir "$group"
    # an inner container whose process only cgroup.kill can reach: of another PID namespace
    setsid bash -c 'trap "" TERM; while :; do sleep 600; done' >/dev/null 2>&1 &
    alien=$!
    CGROUP=new BEFORE="echo \$\$ >$group/cgroup.procs" start
    wait_for ready
    is "$(cat "$group/cgroup.procs")" "" "the root of the cgroup tree is empty"
    is "$(grep -cx "$(pid1)" "$group/init/cgroup.procs")" 1 "PID 1 is in the leaf"
    is "$(cat "$group/cgroup.subtree_control")" "$(cat "$group/cgroup.controllers")" \
        "all controllers are handed down"
    has state/ready "\"controllers\":\"$(cat "$group/cgroup.controllers")\"" "ready names them"
    mkdir "$group/docker" "$group/docker/inner"
    echo $alien >"$group/docker/inner/cgroup.procs"
    kill -TERM "$(pid1)"
    finish
    ends 0 stop-requested "with cgroups"
    for _ in $(seq 50); do # SIGKILL takes a moment
        [ -n "$(cat "$group/docker/inner/cgroup.procs")" ] || break
        sleep 0.1
    done
    is "$(cat "$group/docker/inner/cgroup.procs")" "" "inner cgroups are killed"
    kill -KILL $alien 2>/dev/null
    { wait $alien; } 2>/dev/null
    find "$group" -depth -type d -exec rmdir {} +
    umount "$work/outer"

    CGROUP=given run --cgroup-root="$work/outer"
    ends 2 environment-incompatible "a cgroup root that is none"
    has err "/outer is not cgroup v2: run" "says it"
    CGROUP=given BEFORE="mount -t cgroup2 cgroup2 $work/tree; mount -o remount,bind,ro $work/tree" run --cgroup-root="$work/tree"
    ends 2 environment-incompatible "a read-only cgroup root"
    has err "/tree is not writable (Read-only file system): run the container privileged" "says it"
}

everything() { # SUPERVISOR
    SUPERVISOR=$1
    echo "# $SUPERVISOR"

    start --user=agent
    wait_for ready
    ok $? "ready for an ordinary user"
    has state/ready '"user":"agent","uid":1000' "ready names the user and its id"
    if [ "$(basename "$SUPERVISOR")" = dindhost-supervisor ]; then
        [ "$(awk '/^VmRSS/ { print $2 }' "/proc/$(pid1)/status")" -lt 1024 ]
        ok $? "less than 1 MiB resident: $(awk '/^VmRSS/ { print $2 }' "/proc/$(pid1)/status") KiB"
    fi
    kill -TERM "$(pid1)"
    finish
    ends 0 stop-requested "SIGTERM"
    in_time "SIGTERM"
    has state/dockerd.log "fake dockerd: bye" "the daemon was asked to stop, and its last words kept"
    has out "fake dockerd: bye" "the built-in keepalive copied them"
    has state/cause.json '"dockerd":{"exitStatus":0}' "the cause has the daemon's status"

    for sig in INT QUIT; do
        start
        wait_for ready
        kill -$sig "$(pid1)"
        finish
        ends 0 stop-requested "SIG$sig"
    done

    start --user=stranger --ready-timeout=2
    finish
    ends 69 not-ready "a user outside the group"
    has state/not-ready '"code":"no-access"' "the reason has a code"
    has state/cause.json "user stranger may not use /var/run/docker.sock: it is not in the socket's group, 998" \
        "the reason is a sentence"
    run --user=ghost --ready-timeout=1
    ends 69 not-ready "a user that the image does not have"
    has state/cause.json "has no user ghost" "it is named"
    run --ready-timeout=2 --dockerd-arg=--fake=error
    ends 69 not-ready "a daemon that reports an error"
    has state/cause.json 'status 500: {\"message\":\"no such luck\"}' "its message is the reason"
    run --ready-timeout=2 --dockerd-arg=--fake=mute
    ends 69 not-ready "a daemon that does not answer"
    has state/cause.json "does not answer GET /_ping" "the reason says where it hangs"
    run --ready-timeout=1 --dockerd-arg=--fake=slow=600
    ends 69 not-ready "a daemon that does not listen"
    has state/cause.json "does not listen yet" "the reason says so"
    start --dockerd-arg=--fake=slow=2
    wait_for not-ready
    wait_for ready
    ok $? "a slow daemon becomes ready"
    [ ! -e "$work/state/not-ready" ]
    ok $? "and the note that it was not ready is gone"
    kill -TERM "$(pid1)"
    finish

    run --dockerd-arg=--fake=exit=5
    ends 70 dockerd-exited "a daemon that does not start"
    has err "failed to start: told so" "the end of its log is printed"
    has state/cause.json '"dockerd":{"exitStatus":5}' "its status is told"
    start
    wait_for ready
    pkill -KILL -P "$(pid1)" -x dockerd
    finish
    ends 70 dockerd-exited "a daemon that is killed"
    has state/cause.json '"dockerd":{"signal":9}' "its signal is told"

    run -- sh -c 'exit 7'
    ends 7 keepalive-exited "a keepalive with status 7"
    run -- sh -c 'kill -KILL $$'
    ends 137 keepalive-exited "a killed keepalive"
    run -- /no/such/program
    ends 127 keepalive-exited "a keepalive that is not there"
    run -- sh -c "while [ ! -e $work/state/ready ]; do sleep 0.1; done; kill -TERM 1; sleep 600"
    ends 0 stop-requested "SIGTERM from inside"
    in_time "SIGTERM from inside"
    run --lifetime=2
    ends 0 lifetime-ended "the lifetime"
    in_time "the lifetime"

    start --dockerd-arg=--fake=deaf
    wait_for ready
    kill -TERM "$(pid1)"
    finish
    ends 0 stop-requested "a daemon deaf to SIGTERM"
    has state/cause.json '"dockerd":{"signal":9}' "it is killed"
    in_time "a daemon deaf to SIGTERM"
    run --ready-timeout=2 --dockerd-arg=--fake=stop
    ends 69 not-ready "a stopped daemon"
    in_time "a stopped daemon"
    start --dockerd-arg=--fake=orphans=50 -- sh -c 'trap "" TERM; while :; do sleep 600; done'
    wait_for ready
    is "$(pgrep -cP "$(pid1)" -x dockerd)" 51 "orphans come to PID 1"
    kill -TERM "$(pid1)"
    finish
    ends 0 stop-requested "orphans and a keepalive deaf to SIGTERM"
    has state/cause.json '"leftovers":false' "nothing was left over"
    in_time "orphans and a keepalive deaf to SIGTERM"
    start --dockerd-arg=--fake=zombies=2000
    wait_for ready
    is "$(pgrep -c -r Z -P "$(pid1)")" 0 "2000 zombies are reaped"
    kill -TERM "$(pid1)"
    finish
    ends 0 stop-requested "after 2000 zombies"

    start --dockerd-arg=--fake=talk=2000 --log="$work/state/log"
    wait_for ready
    kill -TERM "$(pid1)"
    finish
    [ "$(stat -c %s "$work/state/log")" -le 262144 ] && [ "$(stat -c %s "$work/state/log.1")" -le 262144 ]
    ok $? "the log file and its predecessor are bounded"
    has state/log "line 1999" "the newest lines are there"
    has state/cause.json '"logBytes":2048' "all were counted"

    BEFORE='exec >&- 2>&-' run --lifetime=2
    is "$status" 0 "closed standard output and error do not matter"
    # a reader that stands still: the pipe is opened, and never read
    mkfifo "$work/fifo"
    sleep 600 <>"$work/fifo" &
    reader=$!
    BEFORE="exec >$work/fifo 2>&1" run --lifetime=3 --dockerd-arg=--fake=talk=2000
    kill $reader
    wait $reader 2>/dev/null
    rm "$work/fifo"
    is "$status" 0 "a container output that nobody reads does not matter"
    has state/cause.json lifetime-ended "and the lifetime ends in its time"

    start --dockerd-arg=--fake=args --dockerd-arg=--mtu=1400 --storage-driver=vfs -- \
        sh -c "while [ ! -e /run/fake-args ]; do sleep 0.1; done; cp /run/fake-args $work/args; exit 0"
    finish
    for arg in --host=unix:///var/run/docker.sock --group=docker --shutdown-timeout=2 \
        --storage-driver=vfs --mtu=1400; do
        grep -qxF -- "$arg" "$work/args"
        ok $? "dockerd is given $arg"
    done
    DINDHOST_DOCKERD_ARGS=" --fake=args  --mtu=1300" DINDHOST_LIFETIME=2 DINDHOST_READY_USER=agent \
        run
    ends 0 lifetime-ended "options from the environment"
    has err "user agent can use the daemon" "the user too"
    has err "limits of inner containers DO NOT HOLD" "--no-cgroup is loud"

    cgroups

    mkdir "$work/poor"
    cp "$work/bin/containerd" "$work/bin/runc" "$work/poor"
    SANDBOX_PATH=$work/poor:/bin-of-nothing run
    ends 2 image-incompatible "an image without its tools"
    has err "dind-image-incompatible: missing dockerd" "dockerd is named"
    has err "dind-image-incompatible: missing iptables" "iptables is named in the same run"
    rm -r "$work/poor"
    DOCKER_HOST=tcp://x DOCKER_CONTEXT=y run
    ends 2 environment-incompatible "DOCKER_HOST"
    is "$(grep -cx 'DOCKER_HOST must be unset' "$work/err")" 1 "DOCKER_HOST must be unset, says it"
    is "$(grep -cx 'DOCKER_CONTEXT must be unset' "$work/err")" 1 "DOCKER_CONTEXT must be unset, says it"
    BEFORE='mount -t tmpfs -o ro tmpfs /var/lib/docker' run
    ends 2 environment-incompatible "a read-only /var/lib/docker"
    has err "/var/lib/docker is not writable (Read-only file system): mount" "says it, with the cure"
    BEFORE='mount -t tmpfs tmpfs /var; mkdir -p /var/run /var/lib/docker
        mount -o remount,ro /var; mount -t tmpfs tmpfs /var/lib/docker' run
    ends 2 environment-incompatible "a read-only /var/run of its own"
    has err "/var/run is not writable (Read-only file system): it is not a link to /run" "says it"
}

everything "$top_builddir/dindhost-supervisor"
[ "${1:-}" = static ] || everything "$top_builddir/supervisor/supervisor-dyn"
tap_done
