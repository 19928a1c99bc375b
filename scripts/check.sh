#!/bin/sh
# Build larmor with all warnings as errors and run every test.
# Usage: scripts/check.sh [cpu|asan]; asan builds with AddressSanitizer and UndefinedBehaviorSanitizer.
# SPDX-License-Identifier: Apache-2.0
set -eu
cd "$(dirname "$0")/.."
preset=${1:-cpu}
scripts/deps.sh all
jobs=$(nproc 2>/dev/null || echo 2)
cmake --preset "$preset" -DLARMOR_TESTS=ON >/dev/null
cmake --build --preset "$preset" -j "$jobs"
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1:allocator_may_return_null=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}"
export OMP_WAIT_POLICY=passive # tests that run at once share the cores
tests/check_layers.sh
tests/check_docs.sh
ctest --preset "$preset" -j "$jobs"
