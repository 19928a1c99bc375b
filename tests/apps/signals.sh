#!/bin/sh
# Ctrl-C writes the current iterate and ends with 130; SIGTERM writes nothing and ends with 143.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
# Few spokes and no lambda: hundreds of iterations, seconds of work, that nothing but a signal ends early.
expect 0 phantom -o scan.h5 --traj golden --matrix 256 --readouts 30 --coils 4 --maps maps.cfl -q

# interrupted SIGNAL CODE: in the middle of many iterations.
interrupted() {
    last="larmor recon, $1"
    rm -f err # whose lines of the run before would be taken for those of this one
    "$LARMOR" recon scan.h5 -o image.h5 --maps maps.cfl --iters 100000 --lambda 0 --tol 0 >out 2>err &
    pid=$!
    timeout 300 sh -c 'until grep -qs "/100000" err; do sleep 0.1; done' || fail "$last: never started"
    kill -s "$1" "$pid"
    code=0
    wait "$pid" || code=$?
    [ "$code" -eq "$2" ] || fail "$last: exit code $code, expected $2"
}
interrupted TERM 143
[ ! -e image.h5 ] || fail "SIGTERM: an output was written"
interrupted INT 130
expect 0 compare image.h5 image.h5 --tol 1e-6
