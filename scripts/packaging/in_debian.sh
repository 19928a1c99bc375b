#!/bin/sh
# Run a command in a bare Debian that debootstrap makes in a folder, with the sources of this checkout, committed or not, in
# /larmor-sources. Root is needed; the command has processes and mounts of its own, nothing outlives it.
# Usage: scripts/packaging/in_debian.sh [-f FOLDER] [-n] [-b THING]... 11|12|13 COMMAND [WORD...]     COMMAND: a script of sh, WORDs its $1...
#   -f  where the systems lie and stay, so that the next run goes on with their packages and builds; default build/debian
#   -n  without a terminal, as in a container without /dev/pts
#   -b  a file or folder that is copied to /larmor-given
# DEBIAN_MIRROR names another mirror than deb.debian.org. SPDX-License-Identifier: Apache-2.0
set -eu
cd "$(dirname "$0")/../.."
systems=$PWD/build/debian terminal=yes things=
while getopts f:nb: option; do
    case $option in
    f) mkdir -p "$OPTARG" && systems=$(cd "$OPTARG" && pwd) ;;
    n) terminal=no ;;
    b) things="$things $(realpath "$OPTARG")" ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
[ $# -ge 2 ] || { echo "in_debian.sh: a release and a command expected." >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || { echo "in_debian.sh: only root can make a system in a folder." >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "in_debian.sh: install debootstrap." >&2; exit 1; }
release=$1 command=$2
shift 2
case $release in
11) suite=bullseye ;;
12) suite=bookworm ;;
13) suite=trixie ;;
*) echo "in_debian.sh: \"$release\": 11, 12 or 13 expected." >&2; exit 2 ;;
esac

# What runs inside, as process 1 of a namespace of its own.
# shellcheck disable=SC2016 # variables of the shell inside
inside='
set -eu
system=$1 terminal=$2 command=$3
shift 3
mount --make-rprivate /
mount -t proc proc "$system/proc"
mount -t sysfs -o ro sysfs "$system/sys" || true
mount -t tmpfs -o mode=755 tmpfs "$system/dev"
for device in null zero full random urandom tty; do
    : >"$system/dev/$device"
    mount --bind "/dev/$device" "$system/dev/$device"
done
ln -s /proc/self/fd "$system/dev/fd"
ln -s /proc/self/fd/0 "$system/dev/stdin"
ln -s /proc/self/fd/1 "$system/dev/stdout"
ln -s /proc/self/fd/2 "$system/dev/stderr"
mkdir "$system/dev/shm"
mount -t tmpfs -o mode=1777 tmpfs "$system/dev/shm"
if [ "$terminal" = yes ]; then
    mkdir "$system/dev/pts"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$system/dev/pts"
    ln -s pts/ptmx "$system/dev/ptmx"
fi
exec chroot "$system" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    PIP_CERT=/etc/ssl/certs/ca-certificates.crt sh -euc "cd /larmor-sources; $command" sh "$@"
'

system=$systems/$release
if [ ! -e "$system/made" ]; then
    rm -rf "$system"
    mkdir -p "$system"
    debootstrap --variant=minbase --include=ca-certificates "$suite" "$system" "$mirror" >"$system.log" ||
        { tail "$system.log" >&2; exit 1; }
    touch "$system/made"
fi
cp /etc/resolv.conf "$system/etc/resolv.conf"
# a network may have an authority of its own
[ ! -e /etc/ssl/certs/ca-certificates.crt ] || cp /etc/ssl/certs/ca-certificates.crt "$system/etc/ssl/certs/"
rm -rf "$system/larmor-given"
mkdir -p "$system/larmor-sources" "$system/larmor-given"
for thing in $things; do
    cp -r "$thing" "$system/larmor-given"
done
# what is the same keeps its time, so that it is not built anew
find "$system/larmor-sources" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
# shellcheck disable=SC2016 # a script
git ls-files -z --cached --others --exclude-standard | xargs -0 sh -c 'for f; do [ ! -e "$f" ] || printf "%s\0" "$f"; done' sh |
    tar --null --no-recursion -T - -cf - | tar -xf - -C "$system/larmor-sources"
exec unshare --mount --pid --fork --kill-child sh -c "$inside" sh "$system" $terminal "$command" "$@"
