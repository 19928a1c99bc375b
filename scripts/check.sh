#!/bin/sh
# Build larmor and run its tests but for the longest, which tests/long.txt names. With LARMOR_WERROR=ON in the environment
# warnings are errors.
# Usage: scripts/check.sh [cpu|asan [library]|tsan|cuda|arm] | scripts/check.sh --long [BASE] | scripts/check.sh --trust [OPTION...]
#   --long: the longest tests; with BASE, a commit, those that the change since it touches. One of them, package.examples,
#         installs larmor into a folder of its own and builds and runs the examples with that.
#   asan: with AddressSanitizer and UndefinedBehaviorSanitizer, without the tests labelled long or trust, and without those
#         of sources and of the installation; asan library: those of the library alone but for the longest ones, for
#         less time
#   tsan: with ThreadSanitizer, Clang and its OpenMP library; the tests of the library that are not labelled long
#   cuda: with the CUDA plugin; the tests on a GPU alone, which skip themselves without one
#   arm:  a cross build for aarch64 on Debian; the tests of core and nufft alone, under QEMU, which is slow
#   --trust: damaged files, faults, kills, full disks and signals, tens of thousands of runs (docs/trust.md); the options are
#         those of tests/trust/trust.py, --short for one
# scripts/packaging/try_debian.sh runs it in a bare Debian 12 (GCC 12, HDF5 1.10.8) and in a bare Debian 13 (GCC 14, HDF5 1.14.5).
# SPDX-License-Identifier: Apache-2.0
set -eu
cd "$(dirname "$0")/.."
preset=${1:-cpu}
if [ "$preset" = --trust ]; then
    shift
    scripts/deps.sh all
    cmake --preset cpu -DLARMOR_TESTS=ON >/dev/null
    cmake --build --preset cpu -j "$(nproc 2>/dev/null || echo 2)" --target larmor_cli trust_make_seeds faults \
        faulty larmor_reader
    exec python3 tests/trust/trust.py --program build/cpu/apps/larmor --helpers build/cpu/tests "$@"
fi
# What tests/long.txt says, as two columns.
long_tests() {
    grep -v '^#' tests/long.txt
}
long=
if [ "$preset" = --long ]; then
    preset=cpu
    if [ $# -gt 1 ]; then
        changed=$(git diff --name-only "$2")
        long=$(long_tests | while read -r name touched; do
            own=$(echo "$name" | tr . /)
            ! echo "$changed" | grep -qE "$touched|^tests/${own%/*}/(test_)?${own##*/}[.]" || echo "$name"
        done)
        [ -n "$long" ] || { echo "no long test is touched since $2" && exit 0; }
    else
        long=$(long_tests | cut -d' ' -f1)
    fi
    long="^($(echo "$long" | paste -sd '|'))(@|\$)"
fi
case $preset in
arm)
    scripts/deps.sh arm
    scripts/arm_sysroot.sh build/arm-sysroot
    ;;
tsan) scripts/deps.sh tsan ;;
*) scripts/deps.sh all ;;
esac
jobs=$(nproc 2>/dev/null || echo 2)
# The Python package with the first interpreter that has what its tests need. A library with sanitizers cannot be loaded.
python=-DLARMOR_PYTHON=OFF
if [ "$preset" = cpu ]; then
    for interpreter in python3 /usr/bin/python3; do
        command -v $interpreter >/dev/null || continue
        $interpreter -c 'import cffi, numpy, pytest' 2>/dev/null || continue
        python="-DLARMOR_PYTHON=ON -DPython3_EXECUTABLE=$($interpreter -c 'import sys; print(sys.executable)')"
        break
    done
fi
# shellcheck disable=SC2086 # words are meant
cmake --preset "$preset" -DLARMOR_TESTS=ON $python >/dev/null
targets=
layers='core|backend|nufft|recon|io|phantoms|pipeline'
longest='phantoms[.](change|kspace)|nufft[.](plan|planner|sweep|sweep_f32|type3)|recon[.](calib|choose|delays|density|describe|describe_lines|extent|memory_[a-z]+|model|nlinv_series|posterior|prox_constraint|prox_lowrank|prox_regulariser|prox_sum|series|subspace_sense)'
longest=$longest'|pipeline[.](aliased|arrays|band_phases|cartesian|checkpoint|choose_maps|clear|coil_change|compress|devices|epi|events|flags|frames|grid|gridding|group|hole|many|noise'
longest=$longest'|method|method_images|misfit|misfit_step|multiband|nlinv|plan|posterior|scale|series|share|slab_choice|slab_devices|solve|source|stop|subspace|threads'
longest=$longest'|trajectory)'
if [ "${2:-}" = library ]; then
    targets=$(ninja -C "build/$preset" -t targets all | grep -oE "^(test_($layers)_[a-z0-9_]+|larmor_reader|faulty): phony")
    not_run=$(echo "$longest" | sed 's/\[[.]\]/_/g')
    targets="--target $(echo "$targets" | sed 's/: phony//' | grep -vE "^test_($not_run)\$" | tr '\n' ' ')"
fi
# shellcheck disable=SC2086 # words are meant
cmake --build --preset "$preset" -j "$jobs" $targets
case $preset in
cuda) which="-L cuda" ;;
asan | tsan)
    which="-LE long|trust -E ^(check|package)[.]"
    [ "${2:-}" != library ] || which="-LE long|trust -R ^($layers)[.] -E ^($longest)@"
    ;;
cpu)
    which="-E ^($(long_tests | cut -d' ' -f1 | paste -sd '|'))(@|\$)"
    [ -z "$long" ] || which="-R $long"
    ;;
*) which="" ;;
esac
if [ "$preset" = cpu ]; then
    for name in $(long_tests | cut -d' ' -f1); do
        ! ctest --preset cpu -N -R "^$name(@|\$)" | grep -q 'Total Tests: 0$' || {
            echo "tests/long.txt: there is no test $name" && exit 1
        }
    done
fi
lint=
# Without job control what runs beside the tests does not get Ctrl-C: it has a group of its own, which ends with this script.
trap '[ -z "$lint" ] || kill -- "-$lint" 2>/dev/null || true' EXIT
trap 'exit 1' HUP INT TERM
if [ "$preset" = cpu ]; then # beside the tests: it has one thread, and waits for PyPI
    setsid scripts/lint_python.sh >build/lint.log 2>&1 &
    lint=$!
fi
# One more than there are processors: some tests wait for a server or a file.
# shellcheck disable=SC2086 # words are meant
ctest --preset "$preset" -j $((jobs + 1)) $which || failed=$?
[ -z "$lint" ] || wait $lint || { cat build/lint.log && exit 1; }
lint=
exit "${failed:-0}"
