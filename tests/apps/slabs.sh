#!/bin/sh
# recon by several processes (mpirun) of a volume that none may hold by itself: in slabs, within the limit of each; what is not
# for slabs; one that dies. MPIRUN names mpirun. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
: "${MPIRUN:?names mpirun}"
# Containers often forbid a process to read another's memory.
export OMPI_MCA_btl_vader_single_copy_mechanism=none
run="timeout $hang $MPIRUN --allow-run-as-root --oversubscribe --bind-to none"

# In one process it needs 60 MB, in two slabs 57, with more processes less.
expect 0 phantom -o vol.h5 --device cpu:1 --traj koosh --matrix 24 --readouts 800 --coils 8 --snr 30 -q
common="--calibration 8 --lambda 1e-2 --eps 1e-8 --precond none --compress off --delays off --oversample 1"
iters="--iters 2"
limit=58M
# shellcheck disable=SC2086 # words are meant
expect 0 recon vol.h5 -o whole.npy $common $iters --device cpu:1 --memory 2G -q
# shellcheck disable=SC2086
expect 4 recon vol.h5 -o x.npy $common $iters --device cpu:1 --memory $limit
said_last="$(tail -1 err)"
case $said_last in
*" missing. Raise --memory.") ;;
*) fail "one process is to refuse: $said_last" ;;
esac

# Peak memory of every rank, in kB, in peak.RANK.
cat >measure.sh <<'END'
"$@" &
child=$!
peak=0
while [ -r /proc/$child/status ]; do
    now=$(awk '$1 == "VmHWM:" { print $2 }' /proc/$child/status 2>/dev/null)
    [ -n "$now" ] || break
    peak=$now
    sleep 0.02
done
wait $child || exit $?
echo "$peak" >peak.$OMPI_COMM_WORLD_RANK
END
device=cpu:1
in_slabs() { # COUNT OUTPUT OPTIONS...
    count=$1
    output=$2
    shift 2
    # shellcheck disable=SC2086
    $run -n "$count" sh measure.sh "$LARMOR" recon vol.h5 -o "$output" $common $iters --device $device --memory $limit \
        --force "$@" >out 2>err ||
        fail "$count ranks in slabs: exit code $?"
    grep -q "^slabs: the volume does not fit into one process; each of $count has " err || fail "$count ranks: slabs"
    [ "$(grep -c "^wrote $output" err)" -eq 1 ] || fail "$count ranks: one writes"
}
# The program itself takes what it takes for a tiny volume.
expect 0 phantom -o tiny.h5 --device cpu:1 --traj koosh --matrix 8 --readouts 60 --coils 2 --snr 30 -q
$run -n 2 sh measure.sh "$LARMOR" recon tiny.h5 -o tiny.npy --device cpu:1 --iters 2 --memory 1G -q >out 2>err ||
    fail "a tiny volume: exit code $?"
base=$(cat peak.0)
for count in 2 3; do # as many as 4 are in recon.sense_slabs@4
    in_slabs $count slabs.$count.npy
    expect 0 compare slabs.$count.npy whole.npy --tol 1e-5
done
device=cpu:2
in_slabs 2 again.npy --json
cmp again.npy slabs.2.npy || fail "as many ranks give the same bits, with more threads, too"
grep -q '^      "device": "2 ranks: cpu:2"' out || fail "who computed is to be said"
for rank in 0 1; do
    used=$(($(cat peak.$rank) - base))
    [ "$used" -le $((58 * 1000)) ] || fail "rank $rank took $used kB of $limit"
done

# Devices of one process do what as many processes do, to the last bit (slab_devices.sh).
# shellcheck disable=SC2086
expect 0 recon vol.h5 -o again.npy $common $iters --device cpu:1,1 --memory $limit --force
cmp again.npy slabs.2.npy || fail "devices of one process are to give the bits of as many processes"

# By default all is as in one process that has memory for it: lambda is chosen from the same samples, with a preconditioner.
# One that has less gives that up, so that slabs are taken. Devices do the same, to the last bit.
default="--method cg --calibration 8 --iters 2 --force"
# shellcheck disable=SC2086
expect 0 recon vol.h5 -o x.npy $default --device cpu:1
chosen=$(sed -n 's/^image 1 of 1: lambda \([^,]*\), chosen from the samples, in \([0-9]*\) steps.*/\1 \2/p' err)
[ -n "$chosen" ] || fail "one process chooses lambda"
# shellcheck disable=SC2086
$run -n 2 "$LARMOR" recon vol.h5 -o again.npy $default --device cpu:1 --memory 66M >out 2>err || fail "by default: exit code $?"
grep -q "^slabs: the volume does not fit into one process" err || fail "by default: slabs"
shared=$(sed -n 's/^image 1 of 1: lambda \([^,]*\), chosen from the samples, in \([0-9]*\) steps.*/\1 \2/p' err)
echo "$chosen $shared" | awk '{ exit !(NF == 4 && $3 < $1 * 1.01 && $3 > $1 * 0.99 && $4 == $2) }' ||
    fail "by default: lambda and steps are $shared, not $chosen"
expect 0 compare again.npy x.npy --tol 1e-2
# shellcheck disable=SC2086
expect 0 recon vol.h5 -o x.npy $default --device cpu:1,1 --memory 66M
cmp again.npy x.npy || fail "by default: devices of one process are to give the bits of as many processes"
rm x.npy

# What one process can hold is not cut into slabs: its coils are shared, within the same limit of each.
room=66M
# shellcheck disable=SC2086
expect 0 recon vol.h5 -o x.npy $common $iters --device cpu:1 --memory $room -q
# shellcheck disable=SC2086
$run -n 2 sh measure.sh "$LARMOR" recon vol.h5 -o x.npy $common $iters --device cpu:1 --memory $room --force >out 2>err ||
    fail "2 ranks, $room: exit code $?"
grep -q "^coils: 8 shared by 2 processes" err || fail "2 ranks, $room: coils are to be shared"
expect 0 compare x.npy whole.npy --tol 1e-5
for rank in 0 1; do
    used=$(($(cat peak.$rank) - base))
    [ "$used" -le $((66 * 1000)) ] || fail "rank $rank took $used kB of $room"
done
rm x.npy

# What cannot be done is one line, before anything is begun.
refused() { # WHAT OPTIONS...
    what=$1
    shift
    code=0
    # shellcheck disable=SC2086
    $run -n 2 "$LARMOR" recon vol.h5 -o x.npy $common $iters --device cpu:1 "$@" >out 2>err || code=$?
    [ "$code" -eq 3 ] || [ "$code" -eq 4 ] || fail "$*: exit code $code"
    [ "$(grep -c '^larmor: ' err)" -eq 1 ] || fail "$*: one error expected"
    grep -q "^larmor: .*$what" err || fail "$*: '$what' is to be said"
    [ ! -e x.npy ] || fail "$*: an output was left"
}
refused "cannot share the volume in slabs, as the method is not cg" --memory 40M --method tv
refused "for a slab of the volume on each of 2 processes" --memory 40M
refused "the volume is in slabs, and each of 2 processes has the maps of its planes" --memory $limit --save-maps x.cfl

# A rank that dies ends all; what was there stays, and nothing else is left.
expect 0 phantom -o long.h5 --device cpu:1 --traj koosh --matrix 24 --readouts 800 --coils 8 --snr 30 --repetitions 4 -q
echo before >x.npy
cat >start.sh <<'END'
echo $$ >pid.$OMPI_COMM_WORLD_RANK
exec "$@"
END
code=0
# shellcheck disable=SC2086
$run -n 2 sh start.sh "$LARMOR" recon long.h5 -o x.npy --device cpu:1 $common --iters 100000 --tol 0 --memory $limit \
    --force >out 2>err &
job=$!
last="recon in slabs, a rank is killed"
awaited=$job
until_true "the first iterations" grep -qs '^image 1 of 4' err
awaited=
kill -s KILL "$(cat pid.1)"
wait "$job" || code=$?
[ "$code" -ne 0 ] && [ "$code" -ne 124 ] || fail "a rank was killed: exit code $code"
[ "$(cat x.npy)" = before ] || fail "a rank was killed: the output changed"
tr '\n' ' ' <err | grep -q 'rank 1 .* signal 9' || fail "a rank was killed: who it was is to be said"
until_true "the end of the other" is_gone "$(cat pid.0)"
rm -f pid.* peak.* ./*.sh ./*.h5 whole.npy slabs.*.npy again.npy tiny.npy
only x.npy
