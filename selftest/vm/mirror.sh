# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Where Debian packages come from: the mirrors of this machine's own apt configuration, unless
# DINDHOST_MIRROR names one. Sourced by image, dind-image and qemu.

mirror_keyring=/usr/share/keyrings/debian-archive-keyring.gpg

mirror_sites() {
    # shellcheck disable=SC2016  # apt's placeholder
    apt-get indextargets --no-release-info --format '$(SITE)' 'Created-By: Packages' | sort -u
}

mirror_main() {
    if [ -n "${DINDHOST_MIRROR:-}" ]; then
        echo "$DINDHOST_MIRROR"
    else
        mirror_sites | grep -v security | grep -m 1 'debian/*$'
    fi
}

mirror_check() { [ -n "$(mirror_main)" ] && [ -e "$mirror_keyring" ]; }

# mirror_sources SUITE: lines for sources.list
mirror_sources() {
    local security
    echo "deb [signed-by=$mirror_keyring] $(mirror_main) $1 main"
    security=$(mirror_sites | grep -m 1 'debian-security/*$') || return 0
    echo "deb [signed-by=$mirror_keyring] $security $1-security main"
}

# Options of mmdebstrap that every use shares; it does not see this machine's apt proxy by itself.
mirror_options=(--aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Languages "none"')
mirror_proxy=$(apt-config shell p Acquire::http::Proxy 2>/dev/null | sed -n "s/^p='\(.*\)'$/\1/p")
[ -z "$mirror_proxy" ] || mirror_options+=(--aptopt="Acquire::http::Proxy \"$mirror_proxy\"")
