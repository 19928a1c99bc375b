#!/bin/sh
# larmor recon --girf-b0: images of samples with the phase that gradients leave at all places, which is that of a
# filter of first order, are those of samples without it. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

# Pulses in 1/m, and a phase in rad that follows them: T phase' + phase = sum of C k. As triangles of several lengths.
cat >known.py <<'X'
import math, struct, sys
from npy import save
C, T, DWELL = (0.12, -0.09, 0.07), 120e-6, 4e-6
def follow(k, rests):  # [samples] of straight lines between samples, for which each step is exact
    step = k[1] - k[0]
    phase, e = [k[0] - (0 if rests else T / DWELL * step)], math.exp(-DWELL / T)
    for a, b in zip(k, k[1:]):
        slope = (b - a) / DWELL
        phase.append(b - T * slope + (phase[-1] - a + T * slope) * e)
    return phase
def pulses():
    nominal, measured = [], []
    n = 1200
    for a in range(3):
        for p in range(9):
            half = 6 + 5 * (p % 3)
            rate = [max(0, half - abs(i - half - 5)) if a == p // 3 else 0 for i in range(n)]
            k = [0.5 * sum(rate[:i]) for i in range(n)]
            nominal += k
    measured = nominal[:]
    for p in range(9):
        k = nominal[(p + 9 * (p // 3)) * n:][:n]
        measured += [C[p // 3] * x for x in follow(k, True)]
    save("nominal.npy", (n, 9, 3), nominal, "d")
    save("measured.npy", (n, 9, 4), measured, "d")
def scan(rests):
    dims = open("traj.hdr").read().split("\n")[1].split()
    axes, n, readouts = (int(d) for d in dims[:3])
    x = struct.unpack("<%df" % (2 * axes * n * readouts), open("traj.cfl", "rb").read())[::2]
    phase = []
    for r in range(readouts):
        own = [0.0] * n
        for a in range(axes):
            k = [x[a + axes * (i + n * r)] / 0.256 for i in range(n)]
            own = [o + C[a] * f for o, f in zip(own, follow(k, rests))]
        phase += own
    save("seen.npy", (n, readouts, 9), phase + [0.0] * (8 * n * readouts), "d")
pulses() if sys.argv[1] == "pulses" else scan(sys.argv[1] == "rests")
X
"$PYTHON" known.py pulses
expect 0 girf nominal.npy measured.npy -o girf.npy --b0 b0.npy --dwell 4 --least 1e-4
spacing=$(awk '$1 == "spacing_hz" {print $2}' out)

recon_options="--delays off"

# scene NAME BEFORE TRAJECTORY...: BEFORE: rests or moves, what gradients did before a readout.
scene() {
    name=$1 before=$2
    shift 2
    expect 0 traj -o traj.cfl --force "$@"
    "$PYTHON" known.py "$before"
    for seed in 1 4; do
        expect 0 phantom -q --force -o plain.h5 --truth truth.h5 --maps maps.cfl "$@" --coils 3 --phantom texture --snr 30 --seed $seed
        expect 0 phantom -q --force -o seen.h5 --phase-terms seen.npy "$@" --coils 3 --phantom texture --snr 30 --seed $seed
        best=$(nrmse plain.h5 --girf girf.npy --girf-spacing "$spacing")
        wrong=$(nrmse seen.h5 --girf girf.npy --girf-spacing "$spacing")
        right=$(nrmse seen.h5 --girf girf.npy --girf-b0 b0.npy --girf-spacing "$spacing")
        echo "# $name: $best, without order 0 $wrong, with it $right"
        at_least "$wrong" "$best" 1.5 "$name, without order 0"
        at_most "$right" "$best" 1.1 "$name"
    done
}
scene "a spiral" rests --traj spiral --matrix 32 --readouts 6
scene "spokes in space" moves --traj koosh --matrix 12,12,12

expect 2 recon seen.h5 -o g.h5 --girf-b0 b0.npy
said "larmor: --girf-b0: has no effect without --girf."
expect 3 recon seen.h5 -o g.h5 --girf girf.npy --girf-b0 girf.npy --girf-spacing 100
said_like "girf.npy: girf: the response of order 0 is .*, expected complex \[frequencies, axes\]"
[ ! -e g.h5 ] || fail "an output of a refused run"
