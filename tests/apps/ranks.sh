#!/bin/sh
# recon by several processes (mpirun): images, checkpoints, a rank without its file, with another one, one that dies.
# MPIRUN names mpirun. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
: "${MPIRUN:?names mpirun}"
# Containers often forbid a process to read another's memory.
export OMPI_MCA_btl_vader_single_copy_mechanism=none
run="timeout $hang $MPIRUN --allow-run-as-root --oversubscribe --bind-to none"

expect 0 phantom -o scan.h5 --device cpu:1 --matrix 32 --coils 3 --readouts 30 --snr 30 --slices 2 --repetitions 4 -q
cp scan.h5 same.h5
for options in "--iters 8" "--method grid" "--method tv --joint --iters 5"; do
    # shellcheck disable=SC2086 # words are meant
    expect 0 recon scan.h5 -o one.npy $options --device cpu:1 --memory 2G --force -q
    counts=2
    [ "$options" != "--iters 8" ] || counts="2 3"
    for count in $counts; do
        # shellcheck disable=SC2086
        $run -n $count "$LARMOR" recon scan.h5 -o several.npy $options --device cpu:1 --memory 2G --force >out 2>err ||
            fail "$count ranks: exit code $?"
        cmp one.npy several.npy || fail "$count ranks, $options: images are those of one process"
        [ "$(grep -c '^wrote several.npy' err)" -eq 1 ] || fail "$count ranks: one writes"
        [ "$(grep -c "^$count processes share the reconstruction" err)" -eq 1 ] || fail "$count ranks: one speaks"
    done
done
expect 0 recon scan.h5 -o one.npy --iters 8 --device cpu:1 --memory 2G --slice 1 --save-maps one.cfl --force -q

# All take part; the maps of a slice are there wherever its last image was computed, which no one decides beforehand.
tries=0
until grep '^      "device"' out | tail -1 | grep -q '"rank [12]: cpu:1"'; do
    tries=$((tries + 1))
    [ $tries -le 15 ] || fail "no other rank took the last image in 15 runs"
    $run -n 3 "$LARMOR" recon scan.h5 -o several.npy --iters 8 --device cpu:1 --memory 2G --slice 1 \
        --save-maps several.cfl --json --force >out 2>err || fail "exit code $?"
    cmp one.cfl several.cfl || fail "maps are those of one process"
    cmp one.npy several.npy || fail "images of one slice are those of one process"
done

# Fewer series than ranks: the coils are shared, which is the same to rounding, and the same each time.
expect 0 phantom -o few.h5 --device cpu:1 --matrix 32 --coils 4 --readouts 30 --snr 30 --repetitions 2 -q
# Conjugate gradients of single precision, stopped on their way, carry rounding on: 1.0e-5 to 1.3e-5 for three seeds.
for options in "--method cg --eps 1e-8 --tol 0" "--iters 8 --lambda 1e-3" "--method tv --joint --iters 20 --eps 1e-8" "--method grid" \
    "--toeplitz off --weighted --lambda 1e-2 --iters 4"; do
    case $options in *"--eps 1e-8"*) near=1e-8 ;; "--iters 8"*) near=1e-4 ;; *) near=1e-5 ;; esac
    # shellcheck disable=SC2086
    expect 0 recon few.h5 -o one.npy $options --device cpu:1 --memory 2G --force -q
    agains="1"
    case $options in *"cg --eps 1e-8"* | --toeplitz*) agains="1 2" ;; esac # by Toeplitz and by NUFFTs, chosen and given lambda
    for again in $agains; do
        # shellcheck disable=SC2086
        $run -n 3 "$LARMOR" recon few.h5 -o several.$again.npy $options --device cpu:1 --memory 2G --force >out 2>err ||
            fail "3 ranks, $options: exit code $?"
        [ "$(grep -c '^coils: 4 shared by 3 processes' err)" -eq 1 ] || fail "$options: coils are shared"
        [ "$(grep -c '^wrote several' err)" -eq 1 ] || fail "$options: one writes"
    done
    expect 0 compare several.1.npy one.npy --tol $near
    [ "$agains" = 1 ] || cmp several.1.npy several.2.npy || fail "$options: as many ranks give the same bits"
done
expect 0 recon few.h5 -o one.npy --repetition 1 --method cg --iters 8 --device cpu:1 --memory 2G --save-maps one.cfl --force -q
$run -n 2 "$LARMOR" recon few.h5 -o several.npy --repetition 1 --method cg --iters 8 --device cpu:1 --memory 2G --save-maps several.cfl \
    --json --force >out 2>err || fail "2 ranks, one image: exit code $?"
grep -q '^      "device": "2 ranks: cpu:1"' out || fail "who computed is to be said"
expect 0 compare several.npy one.npy --tol 1e-4
cmp one.cfl several.cfl || fail "maps are those of one process"
$run -n 2 "$LARMOR" recon few.h5 -o several.npy --iters 8 --device cpu:1 --memory 1M --force >out 2>err && fail "1 MB will not do"
[ "$(grep -c '^larmor: ' err)" -eq 1 ] || fail "too little memory: one error expected"

# larmor-bench scaling by ranks: one writes a line for one rank and for all.
for what in weak frames coils slabs slab-nufft; do
    rm -f s.json
    $run -n 2 "$BENCH" scaling --what $what --device cpu:1 --modes 12 --points 300 --coils 2 --images 3 --iters 2 --repeats 1 \
        --json s.json >out 2>err || fail "larmor-bench scaling --what $what: exit code $?"
    [ "$(grep -c '"ranks": 2, ' s.json)" -eq "$(grep -c '"ranks": 1, ' s.json)" ] || fail "$what: lines of 1 and 2 ranks"
    [ "$(wc -l <out)" -eq "$(wc -l <s.json)" ] || fail "$what: one speaks"
done
$run -n 2 "$BENCH" scaling --device cpu:1,1 >out 2>err && fail "two devices for a rank"
[ "$(grep -c '^larmor-bench: ' err)" -eq 1 ] || fail "two devices for a rank: one error expected"
rm s.json

# What is wrong with one is said once, by all's first, and no file is begun.
# each COUNT SCAN OPTION...: the last rank has that scan and those options. (mpirun of Open MPI 5.0.7 crashes where a colon
# stands between the commands of ranks, as in `mpirun -n 1 true : -n 1 true`.)
cat >each.sh <<'END'
others=$1 last=$2
shift 2
if [ "$OMPI_COMM_WORLD_RANK" -eq $((OMPI_COMM_WORLD_SIZE - 1)) ]; then
    exec "$LARMOR" recon "$last" -o x.npy --device cpu:1 "$@"
fi
exec "$LARMOR" recon "$others" -o x.npy --device cpu:1 -q
END
export LARMOR
refused() { # COUNT SCAN SCAN-OF-THE-LAST OPTION...
    rm -f x.npy
    code=0 count=$1
    shift
    $run -n "$count" sh each.sh "$@" >out 2>err || code=$?
    [ "$code" -eq 3 ] || fail "$*: exit code $code, expected 3"
    [ "$(grep -c '^larmor: ' err)" -eq 1 ] || fail "$*: one error expected"
    [ ! -e x.npy ] || fail "$*: an output was left"
}
refused 2 scan.h5 nothing.h5
grep -q '^larmor: rank 1: nothing.h5: no such file' err || fail "a rank without its file"
refused 2 nothing.h5 scan.h5
grep -q '^larmor: nothing.h5: no such file' err || fail "the first rank without its file"
head -c 4000 scan.h5 >short.h5
refused 3 scan.h5 short.h5
grep -q '^larmor: rank 2: short.h5: ' err || fail "a rank with a damaged file"
refused 2 scan.h5 scan.h5 --iters 3
grep -q '^larmor: rank 1 has another plan than rank 0' err || fail "a rank with other options"
$run -n 2 sh each.sh scan.h5 same.h5 >out 2>err ||
    fail "the same scan by another name: exit code $?"
rm -f x.npy

# A rank that dies ends all; what was there stays, and nothing else is left. The runs would go on for days.
killed() { # WHAT SAID OPTIONS...: once that is said
    last="recon by ranks of $1, one is killed"
    said=$2
    shift 2
    rm -f pid.*
    code=0
    $run -n 2 sh start.sh "$LARMOR" recon long.h5 -o x.npy --force --device cpu:1 --iters 100000 --tol 0 "$@" >out 2>err &
    job=$!
    awaited=$job
    until_true "\"$said\"" grep -qs "$said" err
    awaited=
    kill -s KILL "$(cat pid.1)"
    wait "$job" || code=$?
    [ "$code" -ne 0 ] && [ "$code" -ne 124 ] || fail "$last: exit code $code"
    [ "$(cat x.npy)" = before ] || fail "$last: the output changed"
    tr '\n' ' ' <err | grep -q 'rank 1 .* signal 9' || fail "$last: who it was is to be said"
    until_true "the end of the other" is_gone "$(cat pid.0)"
}
echo before >x.npy
cat >start.sh <<'END'
echo $$ >pid.$OMPI_COMM_WORLD_RANK
exec "$@"
END
expect 0 phantom -o long.h5 --device cpu:1 --matrix 64 --coils 4 --readouts 60 --snr 30 --repetitions 4 -q
killed images '^image [1-4] of 4.* [0-9]*/100000' --method tv --lambda 1e-3
expect 0 phantom -o long.h5 --device cpu:1 --matrix 64 --coils 4 --readouts 60 --snr 30 --force -q
killed coils '^image 1 of 1.* [0-9]*/100000' --method tv --lambda 1e-3
grep -q '^coils: 4 shared' err || fail "coils are not shared"
rm -f pid.0 pid.1 start.sh each.sh ./*.h5 one.* several.*
only x.npy
