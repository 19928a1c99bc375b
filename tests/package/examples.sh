#!/bin/sh
# A stranger's view: install larmor, move it elsewhere, build the examples with nothing but that, and look at what they
# print. Usage: tests/package/examples.sh SOURCE BUILD; CC, CXX, CFLAGS, CMAKE and LIBDIR are heeded.
# SPDX-License-Identifier: Apache-2.0
set -eu
source=$1 build=$2
CC=${CC:-cc} CXX=${CXX:-c++} CMAKE=${CMAKE:-cmake} CFLAGS=${CFLAGS:-}
export CC CXX CFLAGS
unset LARMOR_PLUGIN_DIR LARMOR_READER LD_LIBRARY_PATH CPATH LIBRARY_PATH C_INCLUDE_PATH CMAKE_PREFIX_PATH || true

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
fail() { echo "package: $*" >&2; exit 1; }
quiet() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "$* failed"; }; }

quiet "$CMAKE" --install "$build" --prefix "$work/installed"
prefix=$work/elsewhere
mv "$work/installed" "$prefix"
"$prefix/bin/larmor-bench" nufft --device cpu:1 --modes 8 --points 10 --repeats 1 >/dev/null ||
    fail "larmor-bench does not run"
cp -r "$source/examples" "$work/examples"
export PKG_CONFIG_PATH="$prefix/${LIBDIR:-lib}/pkgconfig"
options=$(pkg-config --cflags --libs larmor)
libdir=$(pkg-config --variable=libdir larmor)

# what the installation must not need
python3 "$source/scripts/packaging/check_paths.py" --not "$source" --not "$build" "$prefix/bin" "$prefix/include" "$libdir" \
    "$prefix/libexec/larmor/larmor-reader" "$prefix/share" || fail "these files name the source or the build"

# ---- versions, and the plugin ----

cat >"$work/about.c" <<'C'
#include <larmor/larmor.h>
#include <stdio.h>
int main(void)
{
    larmor_device_info device[16];
    int count;
    printf("%s %s\n", LARMOR_VERSION, larmor_version());
    if (larmor_device_list(device, 16, &count)) return 1;
    for (int i = 0; i < count && i < 16; i++) printf("%s: %s\n", device[i].spec, device[i].reason);
    return 0;
}
C
# shellcheck disable=SC2086 # lists of options
quiet $CC -std=c11 -pedantic-errors -Wall -Wextra -Werror $CFLAGS "$work/about.c" $options -o "$work/about"
"$work/about" >"$work/about.out" || fail "a program that lists the devices fails"
version=$(pkg-config --modversion larmor)
found=$(head -n 1 "$work/about.out")
[ "$found" = "$version $version" ] || fail "header and library say $found, larmor.pc says $version"
# with or without a GPU: the plugin that was installed is at least found
[ ! -e "$libdir/larmor/larmor_cuda.so" ] || ! grep "no plugin" "$work/about.out" || fail "the plugin is not found"

# found X.Y: 1 if find_package(larmor X.Y) takes this version
found() {
    mkdir -p "$work/ask"
    printf 'cmake_minimum_required(VERSION 3.16)\nproject(ask NONE)\nfind_package(larmor %s REQUIRED)\n' "$1" \
        >"$work/ask/CMakeLists.txt"
    "$CMAKE" -S "$work/ask" -B "$work/ask/build" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null 2>&1
}
major=${version%%.*}
minor=${version#*.} minor=${minor%%.*}
found "$major.$minor" || fail "find_package(larmor $major.$minor) does not find $version"
! found "$major.$((minor + 1))" || fail "find_package(larmor $major.$((minor + 1))) takes $version"

# ---- the examples, by CMake and by pkg-config ----

case $CFLAGS in
*sanitize*) cuda=-DCMAKE_CUDA_COMPILER=NOTFOUND ;; # nvcc links no sanitizer
*) cuda= ;;
esac
# shellcheck disable=SC2086 # nothing, or one option
quiet "$CMAKE" -S "$work/examples" -B "$work/by_cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release $cuda
quiet "$CMAKE" --build "$work/by_cmake"
quiet make -C "$work/examples" CFLAGS="-O2 -Wall -Wextra -Wshadow -Werror -pedantic-errors $CFLAGS"
if command -v "$CXX" >/dev/null; then
    # shellcheck disable=SC2086 # lists of options
    quiet "$CXX" -std=c++17 -O2 -Wall -Wextra -Werror -pedantic-errors $CFLAGS -x c++ "$work/examples/spectrum.c" \
        -x none $options -o "$work/by_cmake/spectrum_cxx"
else
    echo "package: no C++ compiler, C++17 left out"
fi

for program in "$work/by_cmake/momentum" "$work/examples/momentum"; do
    used=$(ldd "$program" | awk '/liblarmor/ {print $3}')
    case $(readlink -f "$used") in
    "$(readlink -f "$prefix")"/*) ;;
    *) fail "$program uses $used, expected one in $prefix" ;;
    esac
done

# at_most FILE TEXT BOUND: the number after TEXT at the start of a line of FILE is at most BOUND
at_most() {
    awk -v text="$2" -v bound="$3" 'index($0, text) == 1 {
            split(substr($0, length(text) + 1), word, /[ ,]+/); value = word[word[1] == "" ? 2 : 1]; seen = 1 }
        END { exit !(seen && value ~ /^[0-9.e+-]+$/ && value + 0 <= bound + 0) }' "$1"
}
expect() { at_most "$@" || { cat "$1" >&2; fail "\"$2\" is not followed by at most $3"; }; }

# run FOLDER PROGRAM ARGUMENT...
run() {
    folder=$1 program=$2
    shift 2
    echo "$program"
    (cd "$work" && "$folder/$program" "$@") >"$work/$program.out" 2>"$work/$program.err" || {
        cat "$work/$program.out" "$work/$program.err" >&2
        fail "$folder/$program failed"
    }
}

# What the program makes of the scan that the example arrays has in memory.
larmor=$prefix/bin/larmor
quiet "$larmor" phantom -o "$work/scan.h5" --matrix 96 --coils 6 --readouts 80 --noise 2e-4 --seed 0
quiet "$larmor" recon "$work/scan.h5" -o "$work/program.npy" --device cpu --threads 2

# Nothing is read without the reader, which is found from where the library is.
reader=$prefix/libexec/larmor/larmor-reader
mv "$reader" "$work/reader"
code=0
"$larmor" info "$work/scan.h5" >"$work/log" 2>&1 || code=$?
mv "$work/reader" "$reader"
[ $code = 4 ] || fail "without larmor-reader the exit code is $code, expected 4"
grep -q "scan.h5: the program larmor-reader is not installed (looked for .*/libexec/larmor/larmor-reader, " "$work/log" || {
    cat "$work/log" >&2
    fail "without larmor-reader the message is another"
}

for built in "$work/by_cmake" "$work/examples"; do
    run "$built" momentum "$work/image.png"
    expect "$work/momentum.out" "iteration 80  residual" 1e-3
    expect "$work/momentum.out" "NRMSE" 0.09
    expect "$work/momentum.out" "sparse NRMSE" 0.065
    ! at_most "$work/momentum.out" "NRMSE" 0.065 || fail "momentum: the penalty is worth nothing"
    awk '/residual/ { if (seen++ && $4 >= before) exit 1; before = $4 } END { if (seen != 8) exit 1 }' \
        "$work/momentum.out" || fail "momentum: the residual does not fall"
    [ "$(head -c 4 "$work/image.png" | tail -c 3)" = PNG ] || fail "momentum wrote no PNG"
    rm "$work/image.png"

    run "$built" echoes
    expect "$work/echoes.out" "adjoint error" 1e-5
    expect "$work/echoes.out" "water NRMSE" 0.11
    expect "$work/echoes.out" "fat NRMSE" 0.04
    run "$built" spiral
    expect "$work/spiral.out" "with field and weights NRMSE" 0.105
    ! at_most "$work/spiral.out" "with the field NRMSE" 0.15 || fail "spiral: weights are worth nothing"
    ! at_most "$work/spiral.out" "without the field NRMSE" 0.4 || fail "spiral: the field does no harm"
    run "$built" pulse
    expect "$work/pulse.out" "not negative, shepp-logan NRMSE" 0.175
    expect "$work/pulse.out" "not negative, disc NRMSE" 0.08
    ! at_most "$work/pulse.out" "conjugate gradients, disc NRMSE" 0.2 || fail "pulse: the set is worth nothing"
    run "$built" sets
    expect "$work/sets.out" "not negative NRMSE" 0.24
    expect "$work/sets.out" "with their sum NRMSE" 0.24
    expect "$work/sets.out" "within NRMSE" 0.22
    expect "$work/sets.out" "near, squared NRMSE" 0.07
    expect "$work/sets.out" "near NRMSE" 0.11
    ! at_most "$work/sets.out" "real NRMSE" 0.3 || fail "sets: the bound is worth nothing"
    run "$built" half
    expect "$work/half.out" "half of k-space, with the phase NRMSE" 0.055
    ! at_most "$work/half.out" "half of k-space, without the phase NRMSE" 0.3 || fail "half: the phase is worth nothing"
    run "$built" fingerprint
    expect "$work/fingerprint.out" "T1 error" 0.005
    expect "$work/fingerprint.out" "T2 error" 0.005
    run "$built" slices
    expect "$work/slices.out" "2 slices from 100 spokes: error" 0.05
    run "$built" spectrum
    expect "$work/spectrum.out" "period" 0.56682
    ! at_most "$work/spectrum.out" "period" 0.56662 || fail "spectrum: the period is too short"
    expect "$work/spectrum.out" "difference from the direct sum" 1e-9

    run "$built" arrays "$work/arrays.npy" cpu:1
    cmp "$work/arrays.npy" "$work/program.npy" || fail "arrays and larmor recon give different images"
    grep -q '^image 1 of 1: lambda .* chosen' "$work/arrays.out" || fail "arrays: no log"
    rm "$work/arrays.npy"
    # on a GPU sums are added up in any order, so that the last bits of either differ from run to run
    if grep -q '^cuda:0: $' "$work/about.out"; then
        run "$built" arrays "$work/arrays.npy" cuda:0
        quiet "$larmor" recon "$work/scan.h5" -o "$work/gpu.npy" --device cuda:0 --force
        quiet "$larmor" compare "$work/arrays.npy" "$work/gpu.npy" --tol 1e-3
        rm "$work/arrays.npy"
    fi
done
for built in "$work/by_cmake" "$work/examples"; do
    [ -x "$built/host" ] || continue
    run "$built" host
    grep -qx "larmor took the lock when it planned" "$work/host.out" || fail "host: the lock was not taken"
    expect "$work/host.out" "difference from the direct sum" 1e-10
done
if [ -x "$work/by_cmake/stream" ] && grep -q '^cuda:0: $' "$work/about.out"; then
    run "$work/by_cmake" stream
    expect "$work/stream.out" "largest difference from 1:" 1e-4
fi
[ ! -x "$work/by_cmake/spectrum_cxx" ] || run "$work/by_cmake" spectrum_cxx
echo "package: the examples build and run"
