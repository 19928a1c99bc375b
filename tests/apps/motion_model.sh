#!/bin/sh
# larmor recon --motion and --motion-states beside off-resonance and concomitant fields: images are as near to the truth
# as those of the same motion without them. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

# With a limit of memory no other descriptions of the scan are tried.
recon_options="--lambda 2e-3 --memory 1G --delays off"

# model NAME WORSE "OPTIONS OF THE FAULT" "OPTIONS OF ITS MODEL" OPTION...: poses.txt is there. WORSE: what the fault
# costs at least where the motion alone is corrected.
model() {
    name="$1 and motion" worse=$2 fault=$3 in_model=$4
    shift 4
    expect 0 phantom -q --force -o plain.h5 --truth truth.h5 --maps maps.cfl --motion poses.txt "$@"
    # shellcheck disable=SC2086
    expect 0 phantom -q --force -o both.h5 --motion poses.txt "$@" $fault
    best=$(nrmse plain.h5 --motion poses.txt --concomitant off)
    at_least "$(nrmse both.h5 --motion poses.txt --concomitant off)" "$best" "$worse" "$name, without the model"
    # shellcheck disable=SC2086
    at_most "$(nrmse both.h5 --motion poses.txt $in_model)" "$best" "$within" "$name"
    grep -q '^motion: .* \(are taken to move with the object\|stay where they are\)' log || fail "$name: $(cat log)"
    grep -q 'to and fro' log && fail "$name: $(cat log)"
    return 0
}
within=1.06
field="--off-resonance 60 --field-gradient 80,-50"
printf '%s\n' 0,0,0,0,0,0,0 28,8,-6,0,0,0,9 55,-6,12,0,0,0,-12 83,14,4,0,0,0,15 >poses.txt
expect 0 phantom -q --force -o both.h5 --traj golden --matrix 48 --field-map field.nii --off-resonance 60 --field-gradient 80,-50
in_all model "spokes, a field" 1.3 "$field" "--b0 field.nii" --traj golden --matrix 48 --readouts 110 --coils 3 --snr 30 --dwell 40 --phantom texture
model "spokes, a field, noise" 1.1 "$field" "--b0 field.nii" --traj golden --matrix 48 --readouts 110 --coils 3 --snr 10 --dwell 40 --phantom texture --seed 6
# Poses that are found without the field are as good; what was saved gives the same image.
given=$(nrmse both.h5 --b0 field.nii --motion poses.txt)
at_most "$(nrmse both.h5 --b0 field.nii --motion-states 4 --save-motion found.npy)" "$given" 1.1 "found beside a field"
grep -q '^wrote found.npy: poses, for --motion$' log || fail "$last: $(cat log)"
mv image.h5 found.h5
nrmse both.h5 --b0 field.nii --motion found.npy >/dev/null
expect 0 compare image.h5 found.h5 --tol 0
# Turned so far that fields of the object's first pose would be wrong by a tenth.
printf '%s\n' 0,0,0,0,0,0,0 3,20,-16,0,0,0,30 6,-16,24,0,0,0,-40 9,28,10,0,0,0,70 >poses.txt
model "a spiral, concomitant fields" 1.3 --concomitant "--concomitant on" --traj spiral --matrix 48 --readouts 12 --coils 3 --snr 30 \
    --dwell 8 --oblique --field-strength 0.02 --phantom texture
printf '%s\n' 0,0,0,0,0,0,0 60,12,-9,8,4,-6,7 >poses.txt
in_all model "a volume, concomitant fields" 1.03 --concomitant "--concomitant on" --traj koosh --matrix 10,10,10 --coils 3 --snr 30 \
    --dwell 4 --field-strength 0.008 --phantom texture
