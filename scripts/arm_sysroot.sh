#!/bin/sh
# The libraries of Debian for aarch64, unpacked into a folder of their own: the system's packages stay as they are.
# Usage: scripts/arm_sysroot.sh FOLDER. Needs Debian's apt, no root. SPDX-License-Identifier: Apache-2.0
set -eu
[ $# = 1 ] || { echo "usage: scripts/arm_sysroot.sh FOLDER" >&2; exit 2; }
packages="libc6-dev libgomp1 libfftw3-dev libopenblas-dev liblapacke-dev libhdf5-dev libqhull-dev libexpat1-dev libpng-dev zlib1g-dev
          libnifti-dev libcmocka-dev libismrmrd-dev"
[ ! -e "$1/complete" ] || exit 0
if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
    echo "arm_sysroot.sh: no apt here. Unpack by hand what these Debian packages hold for arm64, into $1:" >&2
    # shellcheck disable=SC2086 # a list of packages
    echo $packages >&2
    exit 1
fi
mkdir -p "$1/apt/lists/partial" "$1/apt/archives/partial"
root=$(cd "$1" && pwd)
: >"$root/apt/status"

# An empty system for aarch64: apt finds everything that the packages depend on.
arm_apt() {
    apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$root/apt" \
        -o Dir::State::status="$root/apt/status" -o Dir::Cache="$root/apt" -o Debug::NoLocking=1 \
        -o APT::Sandbox::User="$(id -un)" "$@" >&2
}
arm_apt update
# shellcheck disable=SC2086 # a list of packages
arm_apt install -y --no-install-recommends --download-only $packages
for package in "$root"/apt/archives/*.deb; do dpkg -x "$package" "$root"; done

# Links that packages make when they are installed.
libraries=$root/usr/lib/aarch64-linux-gnu
for file in "$libraries"/openblas-pthread/*.so*; do ln -sf "openblas-pthread/$(basename "$file")" "$libraries"; done
for file in "$root"/usr/include/aarch64-linux-gnu/openblas-pthread/*.h; do
    ln -sf "openblas-pthread/$(basename "$file")" "$root/usr/include/aarch64-linux-gnu"
done
find "$root" -type l -lname '/*' | while read -r link; do ln -sfnr "$root$(readlink "$link")" "$link"; done
rm -rf "$root/apt"
touch "$root/complete"
