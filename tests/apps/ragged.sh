#!/bin/sh
# Readouts that differ in length: images of an object that moves, with fields and decay in the model, are as near to the
# truth as those of the same readouts of an object at rest. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

recon_options="--delays off --memory 1G"

# ragged NAME POSES "OPTIONS OF FAULTS" "OPTIONS OF THEIR MODEL" OPTION...
ragged() {
    name=$1 poses=$2 faults=$3 model=$4
    shift 4
    expect 0 phantom -q --force -o whole.h5 --truth truth.h5 --maps maps.cfl --phantom tissues --snr 30 "$@"
    "$MAKE_SCAN" ragged whole.h5 still.h5 || fail "make_scan"
    best=$(nrmse still.h5)
    # shellcheck disable=SC2086
    expect 0 phantom -q --force -o whole.h5 --phantom tissues --snr 30 --motion "$poses" $faults "$@"
    "$MAKE_SCAN" ragged whole.h5 moved.h5 || fail "make_scan"
    # shellcheck disable=SC2086
    at_least "$(nrmse moved.h5 $model)" "$best" 1.5 "$name, without poses"
    # shellcheck disable=SC2086
    right=$(nrmse moved.h5 --motion "$poses" $model)
    echo "# $name: at rest $best, moved with its model $right"
    at_most "$right" "$best" 1.1 "$name"
    grep -qE 'noise [0-9.e-]+ a sample(, measured| at most|: samples beside)' log && ! grep -q 'noise 0 a sample' log || fail "$name: $(grep noise log)"
}
printf '%s\n' 0,0,0,0,0,0,0 28,8,-6,0,0,0,9 55,-6,12,0,0,0,-12 83,14,4,0,0,0,15 >poses.txt
printf '%s\n' 0,0,0,0,0,0,0 150,12,-9,8,14,-6,17 >volume.txt
spokes="--traj golden --matrix 48 --readouts 110 --coils 4 --dwell 40"
# shellcheck disable=SC2086
ragged spokes poses.txt "" "" $spokes
grep -q '^motion: up to .* coil maps of 4 states' log || fail "$(cat log)"
nrmse moved.h5 --field-strength 0.1 >/dev/null
grep -q '^concomitant fields: not in the model, as readouts differ in length$' log || fail "$(cat log)"
expect 0 info moved.h5
printed '110 readouts x up to 96 samples'
field="--off-resonance 40 --field-gradient 60,-40"
# shellcheck disable=SC2086
expect 0 phantom -q --force -o whole.h5 $spokes --phantom tissues $field --field-map field.nii --t2star 20,8,12,25,40,9 --t2star-map t2star.nii
# shellcheck disable=SC2086
ragged "spokes, a field and decay" poses.txt "$field --t2star 20,8,12,25,40,9" "--b0 field.nii --t2star-map t2star.nii" $spokes --seed 4

# A camera's phases of each readout: of all samples that readouts store, or of those that are left in their order.
"$PYTHON" - <<'X'
import math
import npy
def save(path, samples, readouts, phases):
    npy.save(path, (samples, readouts, 9), [x for l in range(9) for readout in phases for x in readout[l]])
def phase(l, t, r):
    return 0 if 0 < l < 4 else (.5 if not l else 90) * (t * math.cos(l) + .3 * math.sin(6 * t + l + r))
each = [[[phase(l, i / 96, r) for i in range(96)] for l in range(9)] for r in range(110)]
save("each.npy", 96, 110, each)
left = [[row[:96 - 6 * (2 * r % 5) // 4] for row in readout] for r, readout in enumerate(each)]
save("left.npy", sum(len(readout[0]) for readout in left), 1, left)
save("short.npy", 95, 110, [[row[:95] for row in readout] for readout in each])
X
# shellcheck disable=SC2086
ragged "spokes, a camera's phases" poses.txt "--phase-terms each.npy" "--phase-terms each.npy" $spokes --position 0,0,40
at_least "$(nrmse moved.h5 --motion poses.txt)" "$right" 1.3 "spokes, without their phases"
for poses in "" "--motion poses.txt"; do
    # shellcheck disable=SC2086
    nrmse moved.h5 $poses --phase-terms each.npy --lambda 1e-3 --iters 3 >/dev/null
    mv image.h5 each.h5
    # shellcheck disable=SC2086
    nrmse moved.h5 $poses --phase-terms left.npy --lambda 1e-3 --iters 3 >/dev/null
    expect 0 compare image.h5 each.h5 --tol 0
done
rm image.h5
expect 3 recon -q moved.h5 -o image.h5 --maps maps.cfl --phase-terms short.npy
said_like '--phase-terms: 95 samples of 110 readouts, but image 1 has 96 of 110; give its, or those of one readout for all'
[ ! -e image.h5 ] || fail "an image was written"

ragged "a volume" volume.txt "" "" --traj koosh --matrix 12,12,12 --coils 3

# Poses cannot be found from such readouts, and concomitant fields need readouts of one length.
rm -f image.h5
expect 4 recon moved.h5 -o image.h5 --maps maps.cfl --motion-states 2
grep -q -- '--motion-states: [0-9]* readouts differ in length, or leave the grid; poses are found from readouts of one length, give --motion' err ||
    fail "$(cat err)"
expect 4 recon moved.h5 -o image.h5 --maps maps.cfl --concomitant on --motion volume.txt
grep -q -- '--concomitant: the readouts of image 1 differ in length or leave the grid; leave it out' err || fail "$(cat err)"
[ ! -e image.h5 ] || fail "an image was written"
