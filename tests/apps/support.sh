#!/bin/sh
# What the tests of the program share: an empty folder, `expect CODE ...`, and looks at what was said.
# Sourced; LARMOR names the program. SPDX-License-Identifier: Apache-2.0
set -eu
: "${LARMOR:?names the program to test}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export OMP_WAIT_POLICY=passive # tests share the cores
unset LARMOR_DEVICE LARMOR_THREADS LARMOR_DEBUG 2>/dev/null || true

fail() {
    echo "FAILED: $*"
    echo "--- out"; cat out 2>/dev/null || true
    echo "--- err"; cat err 2>/dev/null || true
    exit 1
}

# expect CODE ARGUMENTS...: run the program and compare its exit code.
expect() {
    wanted=$1
    shift
    last="${LARMOR##*/} $*"
    code=0
    "$LARMOR" "$@" >out 2>err || code=$?
    [ "$code" -eq "$wanted" ] || fail "$last: exit code $code, expected $wanted"
}

# The error stream is this one line.
said() {
    [ "$(cat err)" = "$1" ] || fail "$last: expected on stderr: $1"
}

# Its last line matches; all of stderr is that line if the command was refused.
said_like() {
    [ "$(wc -l <err)" -eq 1 ] || fail "$last: one line expected on stderr"
    grep -qE -- "$1" err || fail "$last: expected on stderr something like: $1"
}

printed() {
    grep -qE -- "$1" out || fail "$last: expected on stdout something like: $1"
}

# A number on stdout's line "nrmse VALUE" is at most the limit.
nrmse_at_most() {
    awk -v limit="$1" '$1 == "nrmse" { found = 1; if (!($2 <= limit)) exit 1 } END { exit !found }' out ||
        fail "$last: nrmse at most $1 expected"
}

# Nothing was left but the named files.
only() {
    rm -f out err
    [ "$(ls -A | tr '\n' ' ')" = "$*${*:+ }" ] || fail "$last: left $(ls -A | tr '\n' ' '), expected only $*"
}
