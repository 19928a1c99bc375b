#!/bin/sh
# The configuration stops at a library that is too old, and names it; unknown versions pass.
# Usage: tests/package/versions.sh SOURCE; CMAKE is heeded. SPDX-License-Identifier: Apache-2.0
set -eu
CMAKE=${CMAKE:-cmake}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "versions: $*" >&2; exit 1; }
ask() {
    printf 'cmake_minimum_required(VERSION 3.25)\ninclude(%s/cmake/versions.cmake)\nlmr_at_least(Name "%s" %s)\n' \
        "$source" "$1" "$2" >"$work/ask.cmake"
    "$CMAKE" -P "$work/ask.cmake" >"$work/log" 2>&1
}
source=$1
! ask 0.3.9 0.3.18 || fail "0.3.9 passes for 0.3.18"
grep -q 'Name is 0.3.9, but larmor needs 0.3.18 or newer' "$work/log" || fail "$(cat "$work/log")"
for found in 0.3.18 0.3.21 1.0 unknown ""; do
    ask "$found" 0.3.18 || fail "\"$found\" does not pass for 0.3.18"
done
for least in 'OpenBLAS .* 0.3.18' 'LAPACKE .* 3.9' 'EXPAT 2.4' 'PNG 1.6' 'ZLIB 1.2' 'HDF5 1.10' 'fftw3>=3.3.5 fftw3f>=3.3.5'; do
    grep -qE "$least" "$source/CMakeLists.txt" || fail "the configuration does not ask for $least"
done
# The version is written in the header; what names it besides is of the same release.
version=$(sed -n 's/.*define LARMOR_VERSION "\(.*\)".*/\1/p' "$source/include/larmor/larmor.h")
minor=${version%.*}
named() { grep -qF "$2" "$source/$1" || fail "$1 does not say \"$2\", but LARMOR_VERSION is $version"; }
named CITATION.cff "version: $version"
named README.md "find_package(larmor $minor REQUIRED)"
named examples/CMakeLists.txt "find_package(larmor $minor REQUIRED)"
named python/cuda/pyproject.toml "larmor == $minor.*"
named julia/Larmor/Project.toml "version = \"$version\""
named packaging/conda/recipe.yaml "version: \"$version\""
named CHANGELOG.md "## [$version] - "
echo "versions: as they should be"
