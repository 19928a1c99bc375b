#!/bin/sh
# Shell scripts by shellcheck, the lines that differ from a commit by clang-format, its files by clang-tidy (scripts/tidy.sh).
# Usage: scripts/lint.sh [COMMIT]; without it, what is not committed. SPDX-License-Identifier: Apache-2.0
set -eu
cd "$(dirname "$0")/.."
scripts/tidy.sh "${1:-HEAD}"
git ls-files '*.sh' .ci/run | xargs shellcheck -S error -e SC2148,SC2218 # parts that others source, and their functions
found=$(git clang-format --diff "${1:-HEAD}" -- '*.c' '*.h' '*.cu' '*.cuh' 2>&1) || true
case $found in
'' | 'no modified files to format' | *'did not modify any files') echo "lint: as it should be" ;;
*)
    printf '%s\n' "$found"
    exit 1
    ;;
esac
