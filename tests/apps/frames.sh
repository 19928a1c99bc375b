#!/bin/sh
# recon of frames: the readouts of one image by number, by time stamps and by the cardiac cycle. SPDX-License-Identifier:
# Apache-2.0
. "$(dirname "$0")/support.sh"
export LARMOR_DEVICE=cpu LARMOR_THREADS=1

# A breathing object: each readout is a repetition, 20 readouts of 10 ms are a breath.
expect 0 phantom -o scan.h5 --matrix 24 --coils 2 --readouts 1 --repetitions 100 --breathing 8 --breathing-period 20 --tr 10 -q
expect 0 phantom -o five.h5 --matrix 24 --coils 2 --readouts 20 --repetitions 5 -q
expect 0 phantom -o one.h5 --matrix 24 --coils 2 --readouts 100 -q

# Frames of an image are the repetitions of a scan that has them, in every format.
expect 0 phantom -o maps.h5 --maps maps.cfl --matrix 24 --coils 2 --readouts 1 -q
for format in nii cfl h5; do
    reconstruct five.h5 -o whole.$format --maps maps.cfl -q
    reconstruct one.h5 -o frames.$format --maps maps.cfl --spokes-per-frame 20 -q
    expect 0 compare whole.$format frames.$format
    nrmse_at_most 1e-5
done
expect 0 info frames.h5
printed "24 x 24 x 1?.*5"

# By number, with the rest dropped or joined, and sliding.
reconstruct scan.h5 -o a.nii --join repetition --spokes-per-frame 30
grep -q "^frames: 3 of 30 readouts, one every 30; 10 readouts left out$" err || fail "$last: frames expected"
reconstruct scan.h5 -o b.nii --join repetition --spokes-per-frame 30 --frame-rest join
grep -q "^frames: 3 of 30 readouts, one every 30$" err || fail "$last: frames expected"
reconstruct scan.h5 -o c.h5 --join repetition --spokes-per-frame 40 --frame-step 15 --method tv --joint --iters 3
grep -q "^frames: 5 of 40 readouts, one every 15$" err || fail "$last: frames expected"
grep -q "^series 1 of 1, 5 images: 3 iterations" err || fail "$last: a series expected"

# By time, which is the same here.
reconstruct scan.h5 -o d.h5 --join repetition --frame-time 300 --maps maps.cfl
grep -q "^frames: 3 of 300 ms, one every 300 ms; 10 readouts left out$" err || fail "$last: frames expected"
reconstruct scan.h5 -o e.h5 --join repetition --spokes-per-frame 30 --maps maps.cfl -q
expect 0 compare d.h5 e.h5
nrmse_at_most 1e-5

# By the cycle.
reconstruct scan.h5 -o f.h5 --join repetition --cardiac-phases 4 --method grid
grep -q "^frames: 4 bins of the cardiac cycle$" err || fail "$last: bins expected"

# What cannot be.
expect 2 recon scan.h5 -o g.h5 --spokes-per-frame 3 --frame-time 4
said "larmor: --spokes-per-frame, --frame-time, --cardiac-phases and --bins exclude each other; give one of them."
expect 2 recon scan.h5 -o g.h5 --frame-step 3
said "larmor: --frame-step: has no effect without --spokes-per-frame or --frame-time."
expect 2 recon scan.h5 -o g.h5 --spokes-per-frame 3 --tick 1
said "larmor: --tick: has no effect without --frame-time, --cardiac-phases or --bins."
expect 2 recon scan.h5 -o g.h5 --spokes-per-frame 3 --frame-step 1.5
said "larmor: --frame-step 1.5: a whole number of readouts expected, as for --spokes-per-frame."
expect 2 recon scan.h5 -o g.h5 --spokes-per-frame 3
said_like "^larmor: --spokes-per-frame 3: the images of scan.h5 have 1 readouts\.$"
expect 2 recon one.h5 -o g.h5 --frame-time 100
said_like "^larmor: --frame-time: the readouts of one.h5 have no time stamps, or all the same; use --spokes-per-frame.$"
[ ! -e g.h5 ] || fail "an output of a refused run"

# Bins: rates that are those of the phantom, a warning where there are none, and what is refused.
expect 0 phantom -o free.h5 --matrix 16 --readouts 1500 --coils 4 --tr 20 --breath 15,16 --heart 66,0.3 --snr 50
grep -q "^breath: 1[45]" err || fail "$last: the true rate expected"
reconstruct free.h5 -o bins.h5 --bins heart:3,breath:2 --method grid --json
grep -q '"breath":.*"rate": *1[45]' out || grep -q '"rate": 1[45]' out || fail "$last: the rate in the report expected"
grep -q "^breath: 1[45].* a minute, reliability [01][.]" err || fail "$last: the breath's rate expected"
grep -q "^frames: 3 bins of the heart x 2 of the breath$" err || fail "$last: bins expected"
grep -q "show none that is reliable" err && fail "$last: no warning expected"
expect 0 phantom -o still.h5 --matrix 16 --readouts 1500 --coils 4 --tr 20 --snr 50 -q
reconstruct still.h5 -o still.nii --bins breath:2 --method grid -q
said_like "^warning: breath: the samples show none that is reliable"
expect 2 recon free.h5 -o g.h5 --bins lung:3
said 'larmor: --bins "lung:3": one or two of heart:N, breath:N and time:N, like heart:20,breath:4 expected.'
reconstruct free.h5 -o bins.h5 --force --bins breath:2,time:3 --method grid
grep -q "^frames: 2 bins of the breath x 3 of time$" err || fail "$last: bins of time expected"
i=0; while [ $i -lt 30 ]; do echo "$i.5 # a beat"; i=$((i + 1)); done > beats.txt
reconstruct free.h5 -o bins.h5 --force --bins heart:4 --gating beats.txt --method grid
grep -q "^gating: beats.txt has times of heartbeats, in s since the first readout$" err || fail "$last: times expected"
grep -q "^bins: 4 of 360 to 390 readouts$" err || fail "$last: four bins expected"
i=0; while [ $i -lt 1500 ]; do echo "$i, 0.$((i % 5))"; i=$((i + 1)); done > both.txt
reconstruct free.h5 -o bins.h5 --force --bins heart:2,breath:3 --gating both.txt --method grid
grep -q "^gating: both.txt has the breath's signal and the heart's phase of each readout$" err || fail "$last: both expected"
expect 3 recon free.h5 -o g.h5 --bins heart:2 --gating lines.txt
said_like "^larmor: --gating lines.txt: cannot be read"
echo 1 2 3 > lines.txt
expect 3 recon free.h5 -o g.h5 --bins heart:2 --gating lines.txt
said_like "^larmor: --gating lines.txt: one or two numbers a line expected"
expect 2 phantom -o g.h5 --breath 12
said "larmor: --breath: needs the time of each readout; give --tr MS, too."
expect 2 recon free.h5 -o g.h5 --gating header
said "larmor: --gating: has no effect without --bins."
[ ! -e g.h5 ] || fail "an output of a refused run"
