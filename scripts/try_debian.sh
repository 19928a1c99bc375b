#!/bin/sh
# Build larmor and run its tests in a bare Debian, made by debootstrap in a folder: before a release in 12, in 13, and in a
# 13 without a terminal, as containers have it. Root is needed. Sources are those of this checkout, committed or not.
# Usage: scripts/try_debian.sh [-R PATTERN] [-j JOBS] [-f FOLDER] 12|13|12-no-terminal|13-no-terminal...
#   -R  only the tests whose name fits; by default the README's second command, scripts/check.sh
#   -j  so many jobs of the build, and of the tests with -R; default: one for each core
#   -f  where the systems lie and stay, so that the next run goes on with their packages and builds; default build/debian
# DEBIAN_MIRROR names another mirror than deb.debian.org. SPDX-License-Identifier: Apache-2.0
set -eu
cd "$(dirname "$0")/.."
pattern= jobs=$(nproc 2>/dev/null || echo 2) systems=$PWD/build/debian
while getopts R:j:f: option; do
    case $option in
    R) pattern=$OPTARG ;;
    j) jobs=$OPTARG ;;
    f) mkdir -p "$OPTARG" && systems=$(cd "$OPTARG" && pwd) ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
[ $# -gt 0 ] || { echo "try_debian.sh: 12, 13, 12-no-terminal or 13-no-terminal expected." >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || { echo "try_debian.sh: only root can make a system in a folder." >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "try_debian.sh: install debootstrap." >&2; exit 1; }

# What runs inside, as process 1 of a namespace of its own: nothing that is mounted or started outlives it.
inside='
set -eu
system=$1 terminal=$2 pattern=$3 jobs=$4
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
    sh -euc "
        cd /larmor
        . /etc/os-release
        echo \"\$PRETTY_NAME, terminal: $terminal\"
        [ -n \"\$1\" ] || exec env LARMOR_WERROR=ON scripts/check.sh
        scripts/deps.sh all
        cmake --preset cpu -DLARMOR_TESTS=ON -DLARMOR_WERROR=ON -DLARMOR_PYTHON=OFF >/dev/null
        cmake --build --preset cpu -j \"\$2\" >build.log || { tail -n 50 build.log; exit 1; }
        exec ctest --preset cpu -j \"\$2\" -R \"\$1\"" sh "$pattern" "$jobs"
'

status=0
for name; do
    case $name in
    12 | 12-no-terminal) suite=bookworm ;;
    13 | 13-no-terminal) suite=trixie ;;
    *) echo "try_debian.sh: \"$name\": 12, 13, 12-no-terminal or 13-no-terminal expected." >&2; exit 2 ;;
    esac
    terminal=yes
    [ "${name%-no-terminal}" = "$name" ] || terminal=no
    system=$systems/${name%-no-terminal}
    if [ ! -e "$system/made" ]; then
        rm -rf "$system"
        mkdir -p "$system"
        debootstrap --variant=minbase "$suite" "$system" "$mirror" >"$system.log" || { tail "$system.log" >&2; exit 1; }
        touch "$system/made"
    fi
    cp /etc/resolv.conf "$system/etc/resolv.conf"
    # what is the same keeps its time, so that it is not built anew
    mkdir -p "$system/larmor"
    find "$system/larmor" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
    git ls-files -z --cached --others --exclude-standard | xargs -0 sh -c 'for f; do [ ! -e "$f" ] || printf "%s\0" "$f"; done' sh |
        tar --null --no-recursion -T - -cf - | tar -xf - -C "$system/larmor"
    unshare --mount --pid --fork --kill-child sh -c "$inside" sh "$system" $terminal "$pattern" "$jobs" && code=0 || code=$?
    echo "try_debian.sh: $name: exit code $code"
    [ $code -eq 0 ] || status=1
done
exit $status
