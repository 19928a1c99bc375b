#!/bin/sh
# Ctrl-C is acknowledged, writes the current iterate and ends with 130; SIGTERM writes nothing and ends with 143; a second
# signal ends at once. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
unset LARMOR_THREADS # as many as there are cores
: "${TERMINAL:?names the program that makes a terminal}"
# Few spokes and no lambda: many iterations, that nothing but a signal ends early.
expect 0 phantom -o scan.h5 --traj golden --matrix 256 --readouts 30 --coils 4 --maps maps.cfl -q

# interrupted TEXT SIGNAL CODE OPTION...: when the text is on the terminal.
interrupted() {
    text=$1 signal=$2 wanted=$3
    shift 3
    last="larmor recon $*, $signal"
    code=0
    timeout $hang "$TERMINAL" 80 --on "$text" "$signal" "$LARMOR" recon "$@" --iters 100000 --lambda 0 --tol 0 >out || code=$?
    [ "$code" -eq "$wanted" ] || fail "$last: exit code $code, expected $wanted"
    grep -q stopping out || fail "$last: not acknowledged"
}
on_a_terminal() {
    interrupted /100000 TERM 143 scan.h5 -o image.h5 --maps maps.cfl
    [ ! -e image.h5 ] || fail "SIGTERM: an output was written"
    interrupted /100000 INT 130 scan.h5 -o image.h5 --maps maps.cfl
    grep -q 'stopping after this step; again to end now' out || fail "Ctrl-C: that there is an iterate is not said"
    grep -q 'wrote image.h5 (1 image, interrupted)' out || fail "Ctrl-C: the iterate is not said to be one"
    expect 0 compare image.h5 image.h5 --tol 1e-6

    # Before there is an iterate there is nothing to write. Maps of so large a centre take a second.
    interrupted 'coil maps' INT 130 scan.h5 -o none.h5 --calibration 256
    grep -q 'scan.h5: stopped before the first image was there; nothing written.' out || fail "$last: not said"
    case $(ls -A) in *none*) fail "$last: left $(ls -A)" ;; esac

    # Images that are done are written, whatever the method.
    expect 0 phantom -o series.h5 --matrix 96 --repetitions 40 --coils 4 -q
    for method in grid cg; do
        last="Ctrl-C in the second image, $method"
        code=0
        timeout $hang "$TERMINAL" 80 --on 'image 2 of 40' INT "$LARMOR" recon series.h5 -o series-$method.npy --method $method --json \
            >out || code=$?
        [ "$code" -eq 130 ] || fail "$last: exit code $code"
        grep -qE "wrote series-$method.npy \([0-9]+ images?, interrupted\)" out || fail "$last: the first is not written"
        grep -q '"status": "done"' out || fail "$last: the first image is done"
        grep -q '^  "interrupted": true' out || fail "$last: but the run is interrupted"
    done
}
without_terminal || on_a_terminal

# Other than on a terminal a line comes every two seconds at most. The second signal does not wait.
last="recon that is ended by two signals"
began=$(date +%s)
"$LARMOR" recon scan.h5 -o twice.h5 --maps maps.cfl --iters 100000 --lambda 0 --tol 0 --toeplitz off --threads 1 >out \
    2>err &
pid=$!
awaited=$pid
until_true "a line of progress" grep -qs "/100000, .* left$" err
[ "$(grep -c /100000 err)" -le $((($(date +%s) - began + 1) / 2)) ] || fail "lines of progress come more often than every two seconds"
kill -s TERM "$pid"
until_true "the word that SIGTERM was seen" grep -qs "^stopping" err
awaited=
kill -s INT "$pid" 2>/dev/null || true
code=0
wait "$pid" || code=$?
[ "$code" -eq 130 ] || [ "$code" -eq 143 ] || fail "two signals: exit code $code"
skip_without_terminal
