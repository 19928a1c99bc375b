#!/bin/sh
# Run libFuzzer's targets, one for each reader of bytes that others made: scripts/fuzz.sh [SECONDS [TARGET...]]. SECONDS,
# 3600 unless given, are those of all targets together; what is learnt stays in build/fuzz/tests/fuzz/learnt, and inputs that fail
# in build/fuzz/tests/fuzz/found. Needs clang 14 or newer (Debian: clang, libomp-dev).
# HDF5 itself is one of the targets' libraries: faults that are its own are counted by name and are no failure here,
# because the program reads HDF5 files in a child of its own. SPDX-License-Identifier: Apache-2.0
set -eu
cd "$(dirname "$0")/.."
scripts/deps.sh all
seconds=${1:-3600}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- header heap filter scan image pulseq twix mrd2 wisdom settings stream arguments
jobs=$(nproc 2>/dev/null || echo 2)
# The seeds come from the ordinary build: sanitizers would make its compilation longer than the runs.
cmake --preset cpu -DLARMOR_TESTS=ON >/dev/null
cmake --build --preset cpu -j "$jobs" --target larmor_cli larmor_reader trust_make_seeds
cmake --preset fuzz -DLARMOR_TESTS=ON >/dev/null
targets=
for name; do targets="$targets fuzz_$name"; done
# shellcheck disable=SC2086 # words are meant
cmake --build --preset fuzz -j "$jobs" --target $targets
folder=$PWD/build/fuzz/tests/fuzz
cd "$folder"
mkdir -p found learnt
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
FUZZ_SCRATCH=$(mktemp -d)
export FUZZ_SCRATCH
trap 'rm -rf "$FUZZ_SCRATCH"' EXIT
python3 ../../../../tests/fuzz/make_corpus.py ../../../cpu/apps/larmor \
    ../../../cpu/tests/trust/trust_make_seeds corpus
each=$((seconds / $#))
status=0
for name; do
    mkdir -p "learnt/$name" "found/$name"
    case $name in
    # In children, so that the run goes on after a fault of HDF5's.
    scan | image) how="-fork=$jobs -ignore_crashes=1 -ignore_ooms=1 -ignore_timeouts=1" ;;
    *) how= ;;
    esac
    echo "---- $name, $each s"
    # shellcheck disable=SC2086
    ./fuzz_$name $how -max_total_time="$each" -timeout=20 -rss_limit_mb=2048 -max_len=262144 -close_fd_mask=3 \
        -artifact_prefix="found/$name/" -print_final_stats=1 "learnt/$name" "corpus/$name" >"$name.log" 2>&1 || status=1
    grep -E 'stat::number_of_executed_units|^#[0-9]+: cov|ERROR:|SUMMARY' "$name.log" | tail -n 3 || true
done
for found in found/*/*; do
    [ -f "$found" ] || continue
    name=$(basename "$(dirname "$found")")
    ./fuzz_$name "$found" >report 2>&1 && continue
    # The innermost frame that has a name, after those of the sanitizer.
    if grep -m 6 -E '^ *#[0-9]+ ' report | grep -m 1 -vE 'asan|ubsan|sanitizer|interceptor' | grep -q libhdf5; then
        echo "$found: in HDF5: $(grep -m 1 -oE 'H5[A-Za-z0-9_]+' report)"
    else
        echo "$found: $(grep -m 1 SUMMARY report || echo fails)"
        status=1
    fi
done
exit $status
