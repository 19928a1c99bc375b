#!/bin/sh
# The wheel for old machines, built in a Debian 11 (glibc 2.31, Python 3.9) that debootstrap makes in a folder, and tried in
# bare Debians. Root is needed. SPDX-License-Identifier: Apache-2.0
# Usage: scripts/packaging/wheel_old.sh [-f FOLDER] build        build/packages/larmor-*-manylinux_2_31_x86_64.whl
#        scripts/packaging/wheel_old.sh [-f FOLDER] try WHEEL 11|12|13...     scripts/packaging/try_packages.sh in each of them
#        scripts/packaging/wheel_old.sh [-f FOLDER] julia WHEEL       tests/julia/run.sh on its library, by Debian 11's Julia
#   -f  where the systems lie and stay (scripts/packaging/in_debian.sh); default build/debian
set -eu
cd "$(dirname "$0")/../.."
systems=$PWD/build/debian
while getopts f: option; do
    case $option in
    f) mkdir -p "$OPTARG" && systems=$(cd "$OPTARG" && pwd) ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))

# shellcheck disable=SC2016 # variables of the shell inside
build='
apt-get update -q >&2
DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends build-essential gfortran pkg-config curl python3 \
    python3-venv patchelf libfftw3-dev liblapack-pic liblapack-dev liblapacke-dev libhdf5-dev libpng-dev zlib1g-dev libnifti-dev \
    libqhull-dev libgif-dev >&2
# their own run path would hide that of what links them, where auditwheel puts their neighbours
patchelf --remove-rpath /usr/lib/x86_64-linux-gnu/libniftiio.so.2
patchelf --remove-rpath /usr/lib/x86_64-linux-gnu/libznz.so.3
[ -x /opt/tools/bin/ninja ] || { python3 -m venv /opt/tools; /opt/tools/bin/pip install -q -U pip cmake ninja; }
PATH=/opt/tools/bin:$PATH
needs=/opt/larmor-needs
made=$(sha256sum packaging/manylinux.sh)
[ "$(cat $needs/made 2>/dev/null)" = "$made" ] || {
    rm -rf $needs
    packaging/manylinux.sh $needs >&2
    echo "$made" >$needs/made
}
export LARMOR_SKIP_DEPS=1 LARMOR_NEEDS=$needs CMAKE_PREFIX_PATH=$needs PKG_CONFIG_PATH=$needs/lib/pkgconfig LD_LIBRARY_PATH=$needs/lib
export CMAKE_ARGS="-DBLA_VENDOR=OpenBLAS"
rm -rf build/packages/*.whl
scripts/packaging/packages.sh wheel'

# shellcheck disable=SC2016 # variables of the shell inside
try='
apt-get update -q >&2
DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends python3 python3-venv >&2
scripts/packaging/try_packages.sh /larmor-given/*.whl'

# shellcheck disable=SC2016 # variables of the shell inside
julia='
apt-get update -q >&2
DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends python3 julia >&2
wheel=$(mktemp -d)
python3 -m zipfile -e /larmor-given/*.whl "$wheel"
chmod +x "$wheel/larmor/bin/larmor" "$wheel/larmor/libexec/larmor/larmor-reader"
tests/julia/run.sh julia "$wheel/larmor/bin/larmor" "$(ls "$wheel"/larmor/lib/liblarmor.so.*)" \
    "$wheel/larmor/libexec/larmor/larmor-reader" "$PWD"'

case ${1:-} in
build)
    scripts/packaging/in_debian.sh -f "$systems" 11 "$build"
    mkdir -p build/packages
    cp "$systems"/11/larmor-sources/build/packages/larmor-*.whl build/packages
    ;;
try)
    [ $# -ge 3 ] || { echo "wheel_old.sh: try: a wheel and releases expected." >&2; exit 2; }
    wheel=$2
    shift 2
    for release; do
        scripts/packaging/in_debian.sh -f "$systems/bare" -b "$wheel" "$release" "$try"
        echo "wheel_old.sh: $(basename "$wheel") works in a bare Debian $release"
    done
    ;;
julia)
    [ $# -eq 2 ] || { echo "wheel_old.sh: julia: a wheel expected." >&2; exit 2; }
    scripts/packaging/in_debian.sh -f "$systems/bare" -b "$2" 11 "$julia"
    ;;
*)
    echo "wheel_old.sh: \"${1:-}\": build, try or julia expected." >&2
    exit 2
    ;;
esac
