#!/bin/sh
# With little memory the program ends soon, with exit code 4 and a word of memory, or does its work.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
export LARMOR_DEVICE=cpu LARMOR_THREADS=2

expect 0 phantom -o scan.h5 --traj golden --matrix 32 --readouts 40 --coils 3 -q

# within KIB COMMAND...: with so little address space. What hung did so for ever.
within() {
    room=$1
    shift
    last="larmor $* within $room kB"
    code=0
    (
        ulimit -v "$room"
        exec timeout $hang "$LARMOR" "$@"
    ) >out 2>err || code=$?
    if [ "$code" -eq 4 ]; then
        grep -q memory err || fail "$last: nothing said of memory"
        [ ! -e image.npy ] || fail "$last: left an output"
    else
        [ "$code" -eq 0 ] || fail "$last: exit code $code"
    fi
    rm -f image.npy
}
refused=0 done=0
for room in 160000 200000 250000 300000 400000 600000 1000000; do
    within "$room" recon scan.h5 -o image.npy -q
    if [ "$code" -eq 4 ]; then refused=$((refused + 1)); else done=$((done + 1)); fi
done
[ "$refused" -gt 0 ] || fail "no room was too little"
[ "$done" -gt 0 ] || fail "no room was enough"

# Whitening factors a matrix of the coils: with too little memory for OpenBLAS recon ends and info says so.
expect 0 phantom -o noisy.h5 --traj golden --matrix 16 --readouts 12 --samples 16 --coils 2 --noise 1e-3 --noise-scan 64 -q
within 120000 info noisy.h5
grep -q '^recon would refuse it: .*memory' out || fail "$last: does not say that recon would refuse it"
within 120000 recon noisy.h5 -o image.npy -q
[ "$code" -eq 4 ] || fail "$last: exit code $code"
within 1000000 recon noisy.h5 -o image.npy -q
rm -f noisy.h5 image.npy
[ "$code" -eq 0 ] || fail "$last: exit code $code"

# What computes nothing ends, too, and so do a wrong command and help: each within the limits that let its libraries load.
for limit in v d; do
    for room in 70000 90000 110000 150000; do
        for command in "version" "wrong" "help" "convert scan.h5 none.npy" "info scan.h5"; do
            code=0
            # shellcheck disable=SC2086 # words are meant
            (
                ulimit -S$limit "$room"
                exec timeout $hang "$LARMOR" $command
            ) >out 2>err || code=$?
            [ "$code" -lt 5 ] || grep -q 'error while loading\|OpenBLAS' err || fail "$command with ulimit -$limit $room: exit code $code"
        done
    done
done

# Where descriptors run out that is what is said; the file is not at fault. Below 5 of them libraries cannot be loaded.
refused=0 done=0
for descriptors in 5 6 7 8 9 10 12 16; do
    code=0
    (
        ulimit -n "$descriptors"
        exec "$LARMOR" recon scan.h5 -o image.npy -q
    ) >out 2>err || code=$?
    last="recon with $descriptors descriptors"
    case $code in
    0) done=$((done + 1)) ;;
    4)
        refused=$((refused + 1))
        said_like "too few descriptors of open files are left; 'ulimit -n' sets how many there may be"
        [ ! -e image.npy ] || fail "$last: left an output"
        ;;
    *) fail "$last: exit code $code" ;;
    esac
    rm -f image.npy
done
[ "$refused" -gt 0 ] || fail "no descriptors were too few"
[ "$done" -gt 0 ] || fail "no descriptors were enough"

# Where processes and threads run out, fewer are used or that is what is said. Root has no such limit.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    mkdir open
    cp scan.h5 open
    chmod 755 . && chmod 777 open
    nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
    for processes in 3 4 6 8; do
        $nobody test -x "$LARMOR" || break
        last="recon with $processes processes"
        code=0
        (
            cd open
            # shellcheck disable=SC3045,SC2086 # dash calls it -p; words are meant
            exec $nobody bash -c 'ulimit -u $0; exec "$@"' $processes "$LARMOR" recon scan.h5 -o image.npy -q --force
        ) >out 2>err || code=$?
        [ "$code" -eq 0 ] || said_like "too few processes are left; 'ulimit -u' sets how many there may be.$"
        [ "$code" -eq 0 ] || [ "$code" -eq 4 ] || fail "$last: exit code $code"
        [ "$(ls -A open)" = "scan.h5" ] || [ "$code" -eq 0 ] || fail "$last: left $(ls -A open)"
    done
    rm -rf open
fi

# What is allowed of processor time ends the program in a line and without leftovers, however much a library is at work.
last="recon within a second of processor time"
code=0
(
    ulimit -t 1
    exec "$LARMOR" recon scan.h5 -o image.npy -q --method tgv --iters 1000000 --tol 0 --lambda 0.01
) >out 2>err || code=$?
[ "$code" -eq 4 ] || fail "$last: exit code $code"
said "larmor: the processor time that is allowed is used up; 'ulimit -t' sets it."
only scan.h5

# A stack that is too small is said, and one that can be raised is raised; 256 KiB are enough.
stack() {
    kind=$1 room=$2 wanted=$3
    shift 3
    last="larmor $* with a stack of $room KiB"
    code=0
    (
        # shellcheck disable=SC3045 # dash has it
        ulimit -"$kind"s "$room"
        exec "$LARMOR" "$@"
    ) >out 2>err || code=$?
    [ "$code" -eq "$wanted" ] || fail "$last: exit code $code, expected $wanted"
    rm -f image.npy
}
stack '' 64 4 recon scan.h5 -o image.npy -q
said_like "^larmor: a stack of 64 KiB is too small, [0-9]* KiB are needed; raise it by 'ulimit -s 8192'.$"
stack '' 192 4 devices
stack S 64 0 recon scan.h5 -o image.npy -q
for method in cg tv wavelet nlinv; do
    stack '' 256 0 recon scan.h5 -o image.npy -q -m $method
done
stack '' 256 0 devices

# The limit on addresses is what the plan counts with.
expect 0 phantom -o wide.h5 --traj golden --matrix 256 --readouts 200 --coils 32 -q
within 700000 recon wide.h5 -o image.npy
grep -qE '[0-9]+ MB free on cpu:2' err || fail "$last: the limit was not seen"

# Threads beyond what cores can use are not made.
unset LARMOR_THREADS
expect 0 recon scan.h5 -o image.npy --threads 4096
grep -q 'warning: 4096 threads asked for, [0-9]* taken' err || fail "$last: no warning"

# What does not fit is refused before anything is computed, and takes little itself.
expect 0 phantom -o channels.h5 --traj golden --matrix 32 --readouts 5 --coils 1024 -q
code=0
(
    ulimit -v 400000
    exec "$LARMOR" recon channels.h5 -o none.npy --compress off --memory 50M -q
) >out 2>err || code=$?
[ "$code" -eq 4 ] || fail "1024 channels in 50 MB: exit code $code"
grep -q 'missing. Raise --memory.' err || fail "1024 channels in 50 MB: what is missing is not said"
