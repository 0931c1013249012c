# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What an admin does on a new host, one function a step; the main job and the tests share them.
# The caller sets debs (folder with our packages) and may set alias and dind (tar of the image).
: "${alias:=default}" "${debs:=.}" "${dind:=/dev/disk/by-id/virtio-dind}"
docker_socket=/run/dindhost/$alias/engine/docker.sock
image_name=dind:local
runner_user=dindhost-try

install_packages() { dpkg -i "$debs"/dindhost_*.deb "$debs"/dindhost-supervisor_*.deb; }

# Modest sizes: a try, not all that the machine has. The time-outs suit an emulated machine.
init_profile() {
    local dropins=/etc/dindhost/profiles/$alias.conf.d
    dindhost profile init --alias="$alias" --egress=unenforced --slots=2 --slot-size=2G || return 1
    mkdir -p "$dropins"
    cat >"$dropins/50-try.conf" <<CONF
[Docker]
SmokeImage=$image_name
StartTimeout=10min
[Watchdog]
EngineTimeout=5min
CreateTimeout=5min
StopTimeout=30s
ReadyTimeout=10min
CONF
    dindhost profile check "$alias"
}

apply_profile() { dindhost profile apply "$alias"; }

import_image() {
    docker -H "unix://$docker_socket" import \
        --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
        - "$image_name" <"$dind"
}

# An ordinary user who may use the profile.
make_runner_user() {
    id "$runner_user" >/dev/null 2>&1 ||
        useradd --system --create-home --home-dir "/var/lib/$runner_user" --shell /usr/sbin/nologin "$runner_user" || return 1
    usermod -aG "dindhost-$alias-access" "$runner_user"
}

remove_runner_user() { userdel --remove "$runner_user" 2>/dev/null; }

as_runner() {
    setpriv --reuid "$runner_user" --regid "$runner_user" --init-groups \
        env HOME="/var/lib/$runner_user" "$@"
}
