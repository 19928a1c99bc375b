#!/bin/sh
# recon on several devices of a volume that none may hold by itself: in slabs, within the limit of each; what is not for slabs;
# Ctrl-C. What processes do is in slabs.sh, and the images are compared there. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
: "${TERMINAL:?names the program that makes a terminal}"

# In one device it needs 60 MB, in two slabs 57, with more of them less.
expect 0 phantom -o vol.h5 --device cpu:1 --traj koosh --matrix 24 --readouts 800 --coils 8 --snr 30 -q
common="--calibration 8 --lambda 1e-2 --eps 1e-8 --precond none --compress off --delays off --oversample 1"
iters="--iters 2"
limit=58M
# shellcheck disable=SC2086 # words are meant
expect 0 recon vol.h5 -o whole.npy $common $iters --device cpu:1 --memory 2G -q
# shellcheck disable=SC2086
expect 4 recon vol.h5 -o x.npy $common $iters --device cpu:1 --memory $limit

# in_slabs DEVICES OUTPUT: its peak memory, in kB, is in peak.
in_slabs() {
    last="recon in slabs on $1"
    # shellcheck disable=SC2086
    "$LARMOR" recon vol.h5 -o "$2" $common $iters --device "$1" --memory $limit --force --json >out 2>err &
    child=$!
    peak=0
    while [ -r /proc/$child/status ]; do
        now=$(awk '$1 == "VmHWM:" { print $2 }' /proc/$child/status 2>/dev/null)
        [ -n "$now" ] || break
        peak=$now
        sleep 0.02
    done
    wait $child || fail "$last: exit code $?"
    count=$(echo "$1" | awk -F, '{ print NF }')
    grep -q "^slabs: the volume does not fit into one device; each of $count has " err || fail "$last: slabs"
    grep -q "^memory: .* allowed for each device on cpu:.*, one coil at a time" err || fail "$last: memory"
    [ "$(grep -c "^vol.h5: " err)" -eq 1 ] || fail "$last: lines are said once"
}
expect 0 phantom -o tiny.h5 --device cpu:1 --traj koosh --matrix 8 --readouts 60 --coils 2 --snr 30 -q
expect 0 recon tiny.h5 -o tiny.npy --device cpu:1,1 --iters 2 --memory 1G -q
for devices in cpu:1,1 cpu:1,1,1; do
    in_slabs $devices slabs.npy
    grep -q "^      \"device\": \"$devices\"" out || fail "$last: who computed is to be said"
    expect 0 compare slabs.npy whole.npy --tol 1e-5
    [ $devices != cpu:1,1 ] || mv slabs.npy two.npy
    # The program itself takes some 25 MB of it.
    [ "$peak" -le $((count * 58 * 1000 + 30000)) ] || fail "$last took $peak kB"
done
for devices in cpu:2,cpu:2; do
    in_slabs $devices again.npy
    cmp again.npy two.npy || fail "$last: as many devices give the same bits, with more threads, too"
done
in_slabs cpu,cpu again.npy
expect 0 compare again.npy whole.npy --tol 1e-5

# What devices can hold whose coils are shared is not cut into slabs.
# shellcheck disable=SC2086
expect 0 recon vol.h5 -o x.npy $common $iters --device cpu:1,1 --memory 90M
! grep -q '^slabs:' err || fail "$last: coils are to be shared"
expect 0 compare x.npy whole.npy --tol 1e-5
rm x.npy

# What cannot be done is one line, before anything is begun.
refused() { # WHAT OPTIONS...
    what=$1
    shift
    code=0
    # shellcheck disable=SC2086
    "$LARMOR" recon vol.h5 -o x.npy $common $iters --device cpu:1,1 "$@" >out 2>err || code=$?
    [ "$code" -eq 3 ] || [ "$code" -eq 4 ] || fail "$*: exit code $code"
    [ "$(grep -c '^larmor: ' err)" -eq 1 ] || fail "$*: one error expected"
    grep -q "^larmor: .*$what" err || fail "$*: '$what' is to be said"
    [ ! -e x.npy ] || fail "$*: an output was left"
}
refused "the devices cannot share the volume in slabs, as the method is not cg" --memory 40M --method tv
refused "for a slab of the volume on each of 2 devices" --memory 40M
refused "the volume is in slabs, and each of 2 devices has the maps of its planes" --memory $limit --save-maps x.cfl

# What was kept of a run that was killed is gone on with, to the same images.
# shellcheck disable=SC2086
expect 0 phantom -o two.h5 --device cpu:1 --traj koosh --matrix 24 --readouts 800 --coils 8 --snr 30 --repetitions 2 -q
few="--iters 2 --device cpu:1,1 --memory $limit --force"
# shellcheck disable=SC2086
expect 0 recon two.h5 -o two.npy $common $few -q
last="recon in slabs that is killed"
is_kept() { [ -e kept ] || is_gone $job; }
runs=0
until [ -e kept ]; do # a run may be done before it is killed
    runs=$((runs + 1))
    [ $runs -le 20 ] || fail "none of $runs runs kept anything"
    # shellcheck disable=SC2086
    "$LARMOR" recon two.h5 -o again.npy $common $few --checkpoint kept --checkpoint-every 0 >out 2>err &
    job=$!
    until_true "a checkpoint" is_kept
    kill -s KILL $job 2>/dev/null || true
    wait $job 2>/dev/null || true
done
# shellcheck disable=SC2086
expect 0 recon two.h5 -o again.npy $common $few --checkpoint kept
grep -q '^checkpoint kept: [12] of 2 series done' err || fail "$last: what is kept"
cmp again.npy two.npy || fail "$last: the images are those of a run that was not stopped"

# Ctrl-C writes the iterate that is reached: that of a run of as many iterations on one device.
interrupted() {
    last="recon in slabs, Ctrl-C"
    code=0
    # shellcheck disable=SC2086
    timeout $hang "$TERMINAL" 80 --on /100000 INT "$LARMOR" recon vol.h5 -o x.npy --device cpu:1,1 $common --iters 100000 \
        --tol 0 --memory $limit --json >out || code=$?
    [ "$code" -eq 130 ] || fail "$last: exit code $code"
    grep -q 'wrote x.npy (1 image, interrupted)' out || fail "$last: the iterate is not written"
    reached=$(tr -d '\r' <out | sed -n 's/^  "iterations": \([0-9]*\),$/\1/p')
    [ -n "$reached" ] || fail "$last: how many iterations is not said"
    # shellcheck disable=SC2086
    expect 0 recon vol.h5 -o whole.npy $common --iters "$reached" --tol 0 --device cpu:1 --memory 2G --force -q
    expect 0 compare x.npy whole.npy --tol 1e-5
    rm -f x.npy
}
without_terminal || interrupted
rm -f kept* .kept* ./*.h5 whole.npy slabs.npy two.npy again.npy tiny.npy
only
skip_without_terminal
