#!/bin/sh
# Install what is missing to build larmor, on Debian and Ubuntu by apt; elsewhere name it and stop.
# Usage: scripts/deps.sh [build|all|ci|deb|tsan|arm|docs]; `all` (default) adds what the tests need, `ci` ccache, a browser and Octave beside that,
# `deb` what packages of a build need (CPack, check_paths.py), `tsan` Clang and its OpenMP library beside the tests', `docs` what scripts/docs.sh
# needs; `arm` is for a cross build for aarch64, whose libraries scripts/arm_sysroot.sh unpacks.
# SPDX-License-Identifier: Apache-2.0
set -eu
build="build-essential cmake ninja-build pkg-config libfftw3-dev libopenblas-dev liblapacke-dev libhdf5-dev
       libexpat1-dev libpng-dev zlib1g-dev libnifti-dev libqhull-dev patchelf"
tests="libcmocka-dev libismrmrd-dev ismrmrd-tools python3 python3-cffi python3-numpy python3-pytest python3-venv
       libopenmpi-dev openmpi-bin libdcmtk-dev libgif-dev libmicrohttpd-dev e2fsprogs"
deb="dpkg-dev file python3"
tsan="clang libomp-dev"
docs="python3 python3-cffi python3-numpy python3-matplotlib python3-sphinx python3-myst-parser python3-sphinx-gallery furo"
arm="build-essential cmake ninja-build pkg-config gcc-aarch64-linux-gnu qemu-user-static"
case ${1:-all} in
arm) wanted=$arm ;;
build) wanted=$build ;;
all) wanted="$build $tests" ;;
ci) wanted="$build $tests ccache chromium octave octave-dev" ;;
deb) wanted="$build $deb" ;;
tsan) wanted="$build $tests $tsan" ;;
docs) wanted="$build $docs" ;;
*)
    echo "deps.sh: \"$1\": build, all, ci, deb, tsan, arm or docs expected." >&2
    exit 2
    ;;
esac

if [ "${LARMOR_SKIP_DEPS:-0}" = 1 ]; then exit 0; fi
if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "deps.sh: no apt here. Install by hand what these Debian packages hold:" >&2
    # shellcheck disable=SC2086 # a list of packages
    echo $wanted >&2
    echo "Then set LARMOR_SKIP_DEPS=1 and run again." >&2
    exit 1
fi

missing=
for package in $wanted; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "deps.sh: these packages are missing, and only root can install them:$missing" >&2
        exit 1
    fi
    as_root=sudo
fi
echo "installing:$missing" >&2
# Progress goes to stderr; output of the callers stays their own.
$as_root apt-get update -q >&2
# shellcheck disable=SC2086 # a list of packages
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >&2
