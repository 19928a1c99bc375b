#!/bin/sh
# recon on several devices: images, checkpoints and what is refused. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

expect 0 phantom -o scan.h5 --device cpu:1 --matrix 32 --coils 3 --readouts 30 --snr 30 --slices 2 --repetitions 3 -q
for options in "--method cg --iters 8" "--method grid"; do
    # shellcheck disable=SC2086 # words are meant
    expect 0 recon scan.h5 -o one.npy $options --device cpu:1 --force -q
    for devices in cpu:1,1 cpu:1,cpu:1,cpu:1 cpu,cpu; do
        # shellcheck disable=SC2086
        expect 0 recon scan.h5 -o several.npy $options --device $devices --force -q
        cmp one.npy several.npy || fail "$last: images are those of one device"
    done
done

# So are those that one processor computes at the same time, unless that is not wanted.
for options in "--method cg" "--method tv" "--method grid --maps none"; do
    # shellcheck disable=SC2086
    expect 0 recon scan.h5 -o one.npy $options --at-once 1 --device cpu:3 --force
    ! grep -q 'at the same time' err || fail "$last: one image after the other expected"
    # shellcheck disable=SC2086
    expect 0 recon scan.h5 -o several.npy $options --device cpu:3 --force
    grep -qE '^memory: .* on cpu:3; [23] images at the same time, 1 thread each$' err || fail "$last: images at the same time expected"
    cmp one.npy several.npy || fail "$last: images are those of one after the other"
done

# One series is shared by coils: equal to rounding.
expect 0 recon scan.h5 -o one.npy --slice 0 --repetition 0 --lambda 1e-3 --iters 8 --device cpu:1 --force -q
expect 0 recon scan.h5 -o several.npy --slice 0 --repetition 0 --lambda 1e-3 --iters 8 --device cpu:1,1,1 --force -q
expect 0 compare several.npy one.npy --tol 1e-5

# The report says who computed what.
expect 0 recon scan.h5 -o several.npy --iters 4 --device cpu:1,1 --force --json -q
[ "$(grep -c '^      "device": "cpu:1",' out)" -eq 6 ] || fail "$last: a device for each image expected"

# What several devices kept one goes on with, and the other way round.
expect 0 recon scan.h5 -o one.npy --iters 8 --device cpu:1 --force -q
for pair in "cpu:1,1 cpu:1" "cpu:1 cpu:1,1,1"; do
    first=${pair% *}
    last="recon that is killed"
    is_kept() { [ -e kept ] || is_gone $pid; }
    runs=0
    rm -f kept
    until [ -e kept ]; do # a run may be done before it is killed
        runs=$((runs + 1))
        [ $runs -le 20 ] || fail "none of $runs runs was killed in time"
        rm -f two.npy
        "$LARMOR" recon scan.h5 -o two.npy --iters 8 --device "$first" --checkpoint kept --checkpoint-every 0 >out 2>err &
        pid=$!
        until_true "a checkpoint" is_kept
        kill -s KILL "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    expect 0 recon scan.h5 -o two.npy --iters 8 --device "${pair#* }" --checkpoint kept --force
    grep -q '^checkpoint kept: [0-6] of 6 series done' err || fail "$last: does not go on"
    cmp one.npy two.npy || fail "$last: the images are those of a run that was not stopped"
done

expect 2 recon scan.h5 -o x.npy --device cpu+cuda
said_like 'a processor and GPUs do not share a reconstruction'
expect 2 phantom -o x.h5 --device cpu:1,1
said_like '^larmor: --device: this command computes on one device; recon takes several'
rm -f kept* .kept*
only one.npy scan.h5 several.npy two.npy
