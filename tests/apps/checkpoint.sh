#!/bin/sh
# --checkpoint: killed at any moment and started again, the same command gives the same file; what does not belong to it
# is refused. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
expect 0 phantom -o scan.h5 --traj golden --matrix 128 --readouts 40 --coils 4 --repetitions 3 --snr 30 --maps maps.cfl -q

# start OPTION...: in the background, as $pid.
start() {
    last="larmor recon $*"
    "$LARMOR" recon scan.h5 -o image.h5 --checkpoint run.ckp --checkpoint-every 0 "$@" >out 2>err &
    pid=$!
}

seen() { stat -c '%i %z' run.ckp 2>/dev/null || true; }

# One more checkpoint is there than before, or the program has ended.
has_more() { [ "$(seen)" != "$before" ] || is_gone "$pid"; }
progress() {
    until_true "a checkpoint" has_more
}

# Killed up to eight times, each after some steps more; then it ends, and nothing of it is left.
seed=1 continued=0
killed() {
    expect 0 recon scan.h5 -o image.h5 --checkpoint run.ckp --checkpoint-every 0 "$@"
    mv image.h5 whole.h5
    [ ! -e run.ckp ] || fail "$last: the checkpoint was left"
    kills=0
    while [ $kills -lt 8 ]; do
        before=$(seen)
        start "$@"
        progress
        seed=$((seed * 75 % 65537))
        sleep "0.0$((seed % 4))"
        kill -s KILL "$pid" 2>/dev/null || true
        code=0
        wait "$pid" 2>/dev/null || code=$?
        if grep -q '^checkpoint run.ckp: ' err; then continued=$((continued + 1)); fi
        [ $code -ne 0 ] || break
        [ $code -eq 137 ] || fail "$last: exit code $code"
        [ ! -e image.h5 ] || break
        kills=$((kills + 1))
    done
    if [ ! -e image.h5 ]; then
        expect 0 recon scan.h5 -o image.h5 --checkpoint run.ckp --checkpoint-every 0 "$@"
        grep -q '^checkpoint run.ckp: [0-3] of [13] series done' err || fail "$last: does not go on"
    fi
    cmp image.h5 whole.h5 || fail "$last: another image after $kills kills"
    rm -f image.h5 run.ckp run.ckp.previous
}
killed
killed --method tv --iters 12
killed --method wavelet --iters 8 --maps maps.cfl
killed --method llr --iters 10
[ $continued -gt 0 ] || fail "no run went on"

# signalled SIGNAL OPTION...: once there is a checkpoint; a run may be done before that.
signalled() {
    signal=$1
    shift
    code=0 runs=0
    while [ $code -eq 0 ]; do
        runs=$((runs + 1))
        [ $runs -le 20 ] || fail "$last: $runs runs were done before SIG$signal"
        rm -f image.h5
        before=$(seen)
        start "$@"
        progress
        kill -s "$signal" "$pid" 2>/dev/null || true
        wait "$pid" || code=$?
    done
}

# SIGTERM writes no image, and loses no step.
expect 0 recon scan.h5 -o image.h5 --checkpoint run.ckp --checkpoint-every 0 --method tv --iters 12
mv image.h5 whole.h5
signalled TERM --method tv --iters 12
[ $code -eq 143 ] || fail "$last: SIGTERM gives $code"
[ ! -e image.h5 ] || fail "$last: SIGTERM has written an image"
[ -e run.ckp ] || fail "$last: SIGTERM has left no checkpoint"
cp run.ckp kept.ckp

# What does not belong to it is refused, and stays as it is.
expect 0 phantom -o other.h5 --traj golden --matrix 128 --readouts 40 --coils 4 --repetitions 3 --snr 31 -q
expect 3 recon other.h5 -o image.h5 --checkpoint run.ckp --method tv --iters 12 -q
said_like '^larmor: --checkpoint run.ckp: belongs to another scan.* delete it to start again\.$'
expect 3 recon scan.h5 -o image.h5 --checkpoint run.ckp --method tv --iters 13 -q
said_like '^larmor: --checkpoint run.ckp: belongs to a reconstruction with other options\. .* delete it'
expect 3 recon scan.h5 -o image.h5 --checkpoint run.ckp --method tv --iters 12 --conj -q
said_like 'belongs to another scan'
cmp run.ckp kept.ckp || fail "a checkpoint was changed by a run that refused it"
for size in 0 10 18 100 5000; do
    head -c "$size" kept.ckp >run.ckp
    expect 3 recon scan.h5 -o image.h5 --checkpoint run.ckp --method tv --iters 12 -q
    said_like '^larmor: --checkpoint run.ckp: .*elete it'
done
cp kept.ckp run.ckp
printf X | dd of=run.ckp bs=1 seek=4000 conv=notrunc 2>/dev/null
expect 3 recon scan.h5 -o image.h5 --checkpoint run.ckp --method tv --iters 12 -q
said_like '^larmor: --checkpoint run.ckp: damaged .*Delete it to start again'
expect 3 recon scan.h5 -o image.h5 --checkpoint maps.cfl -q
said_like 'maps.cfl is no checkpoint'
expect 2 recon scan.h5 -o image.h5 --checkpoint scan.h5 -q
said 'larmor: scan.h5: is also the output; choose another name.'
expect 2 recon scan.h5 -o image.h5 --checkpoint ./image.h5 -q
said 'larmor: ./image.h5: is given twice as an output, also as image.h5; once is enough.'
expect 2 recon scan.h5 -o image.h5 --checkpoint-every 5 -q
said 'larmor: --checkpoint-every: has no effect without --checkpoint.'

# A copy of the scan is the same scan, and it goes on to the same image.
cp kept.ckp run.ckp
mv scan.h5 kept.h5 && cp kept.h5 scan.h5
expect 0 recon scan.h5 -o image.h5 --checkpoint run.ckp --checkpoint-every 0 --method tv --iters 12
cmp image.h5 whole.h5 || fail "$last: another image after SIGTERM"
[ ! -e run.ckp ] && [ ! -e run.ckp.previous ] || fail "$last: a checkpoint was left"
rm image.h5

# Ctrl-C writes what there is, and keeps the rest for later.
signalled INT --method tv --iters 12
[ $code -eq 130 ] || fail "$last: Ctrl-C gives $code"
grep -q 'interrupted)' err || fail "$last: no interrupted image"
[ -e run.ckp ] || fail "$last: Ctrl-C has left no checkpoint"
expect 0 recon scan.h5 -o image.npy --checkpoint run.ckp --method tv --iters 12
expect 0 recon scan.h5 -o whole.npy --method tv --iters 12
cmp image.npy whole.npy || fail "another image after Ctrl-C"
[ ! -e run.ckp ] || fail "$last: a checkpoint was left"
