#!/bin/sh
# What the tests of the program share: an empty folder, `expect CODE ...`, and looks at what was said.
# Sourced; LARMOR names the program. SPDX-License-Identifier: Apache-2.0
set -eu
: "${LARMOR:?names the program to test}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PYTHONPATH=$(cd "$(dirname "$0")" && pwd)${PYTHONPATH:+:$PYTHONPATH} # npy.py, which writes arrays
export PYTHONPATH PYTHONDONTWRITEBYTECODE=1
cd "$folder"
export OMP_WAIT_POLICY=passive # tests share the cores
unset LARMOR_DEVICE LARMOR_DEBUG 2>/dev/null || true
export LARMOR_THREADS=1 # of small scans a second thread waits for as long as it works; tests of threads name them

# Of a test with many scenes a few are played; all of them with the argument all, as tests/long.txt's apps.NAME_all has it.
every=$([ "${1:-}" != all ] || echo yes)
in_all() {
    [ -z "$every" ] || "$@"
}

# A limit of seconds is that of what hangs: what works takes as long as it takes where others work, too.
hang=900

# Lines of progress come every two seconds from whatever takes so long. They are no part of a log that is looked at.
without_progress() {
    progress='^(preparation|writing|phantom|coil maps|field map|fit|image [0-9]+ of [0-9]+)(: [^,]*)?'
    progress="$progress(, [0-9.]+ s|( \\[#*\\.*\\])? [0-9]+/[0-9]+(, (residual|objective) [^,]*)*(, [0-9.]+ s left)?)\$"
    ! grep -qE "$progress" err || sed -i -E "/$(echo "$progress" | sed 's|/|\\/|g')/d" err
}

# until_true WHAT COMMAND...: wait for a state, which the command tests; in vain if the process $awaited ends before.
awaited=
until_true() {
    what=$1
    shift
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt $((hang * 50)) ] || fail "$last: waited in vain for $what"
        [ -z "$awaited" ] || ! is_gone "$awaited" || "$@" || fail "$last: it ended before $what"
        sleep 0.01
    done
}
# A process has ended: it is not there, or a zombie.
is_gone() {
    case $(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null) in '' | Z | X) return 0 ;; esac
    return 1
}

# Where no terminal can be made, what needs one is left out: without_terminal && ...; the test then ends by
# skip_without_terminal, which says so.
without_terminal() {
    ! "$TERMINAL" 80 true >/dev/null 2>&1
}
skip_without_terminal() {
    ! without_terminal || { echo "skipped in part: no terminal can be made here (is /dev/pts mounted?)"; exit 77; }
}

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
    without_progress
    [ "$code" -eq "$wanted" ] || fail "$last: exit code $code, expected $wanted"
}

# reconstruct ARGUMENTS...: by recon, of a scan that is what it is said to be: no delays are looked for, and with a limit of
# memory no other descriptions of it are tried, which takes most of the time of an image so small.
reconstruct() {
    expect 0 recon "$@" --delays off --memory 1G
}

# The error stream is this one line.
said() {
    without_progress
    [ "$(cat err)" = "$1" ] || fail "$last: expected on stderr: $1"
}

# Its last line matches; all of stderr is that line if the command was refused.
said_like() {
    without_progress
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

# at_most A B FACTOR NAME: A is at most FACTOR times B; at_least A B FACTOR NAME: it is at least that.
at_most() { awk -v a="$1" -v b="$2" -v f="$3" 'BEGIN { exit !(a > 0 && a <= f * b) }' || fail "$4: $1 beside $2"; }
at_least() { awk -v a="$1" -v b="$2" -v f="$3" 'BEGIN { exit !(b > 0 && a >= f * b) }' || fail "$4: $1 beside $2"; }

# nrmse SCAN OPTION...: of the image that recon makes of it, also by $recon_options; what it said is in `log`.
image=image.h5
nrmse() {
    # shellcheck disable=SC2086 # several options
    expect 0 recon "$@" -o $image --force --maps "${maps:-maps.cfl}" --method "${method:-cg}" ${recon_options:-}
    cp err log
    distance $image
}

# distance IMAGE: its NRMSE against truth.h5, by $compare_options.
distance() {
    # shellcheck disable=SC2086
    expect 0 compare "$1" truth.h5 ${compare_options:-}
    awk '{print $2}' out
}

# Nothing was left but the named files.
only() {
    rm -f out err
    [ "$(ls -A | tr '\n' ' ')" = "$*${*:+ }" ] || fail "$last: left $(ls -A | tr '\n' ' '), expected only $*"
}
