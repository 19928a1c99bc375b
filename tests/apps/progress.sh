#!/bin/sh
# Progress: on a terminal a line that fits and lives from the first second, elsewhere few lines.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
: "${TERMINAL:?names the program that makes a terminal}"
unset NO_COLOR COLUMNS 2>/dev/null || true
expect 0 phantom -o scan.h5 --matrix 64 --coils 4 --repetitions 2 --noise 1e-4 --noise-scan 256 -q

on_a_terminal() {
    # shown COLUMNS: the lines as they were on the terminal, one each, without colours.
    shown() {
        "$TERMINAL" "$1" "$LARMOR" recon scan.h5 -o image.npy --lambda 1e-6 --tol 1e-6 --force >out || fail "recon in a terminal of $1 columns"
        tr '\r' '\n' <out | sed 's/\x1b\[[0-9;]*[mK]//g' >lines
    }
    for columns in 120 80 60 40; do
        shown $columns
        grep -E '^(preparation|image|writing)' lines | grep -vE ' by |: (noise|lambda|the limit|misfit:)' >progress || fail "no progress at $columns columns"
        awk -v most="$columns" 'length($0) >= most { print; exit 1 }' progress >long ||
            fail "at $columns columns a line has as many: $(cat long)"
        grep -q '\[#*\.*\] [0-9]*/[0-9]*' progress || fail "no bar at $columns columns"
    done
    # What is prepared comes first, before anything is known of the scan.
    head -n 2 lines | grep -q '^preparation' || fail "the first line is $(head -n 1 lines)"
    for stage in reading whitening; do
        grep -q "^preparation: $stage, [0-9.]* s" lines || fail "nothing said of $stage"
    done
    for stage in samples 'coil maps' operator; do
        grep -q "^image 1 of 2: $stage, [0-9.]* s" lines || fail "nothing said of $stage"
    done
    # Log lines stand alone.
    grep -qE '^image 1 of 2: [0-9]+ iterations? by ' lines || fail "the log is mixed up with the progress"
    # --quiet says nothing anywhere.
    "$TERMINAL" 80 "$LARMOR" recon scan.h5 -o image.npy --force -q >out || fail "recon -q in a terminal"
    [ ! -s out ] || fail "-q shows $(cat out)"
}
without_terminal || on_a_terminal

# Elsewhere there is a line of progress every two seconds at most, so none of a short run.
began=$(date +%s)
"$LARMOR" recon scan.h5 -o image.npy --force >out 2>err || fail "recon: exit code $?"
lines=$(wc -l <err)
seconds=$(($(date +%s) - began + 1))
without_progress
[ $((lines - $(wc -l <err))) -le $((seconds / 2)) ] || fail "more than $((seconds / 2)) lines of progress in $seconds s"
! grep -qE 'preparation|/30' err || fail "progress that is not known for it: $(cat err)"
skip_without_terminal
