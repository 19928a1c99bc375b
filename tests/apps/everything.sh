#!/bin/sh
# Off-resonance, harmonics up to order 3, decay and motion in one scan: with all of them in the model the image is as
# near to the truth as that of the same scan without any, and each that is left out costs. SPDX-License-Identifier:
# Apache-2.0
. "$(dirname "$0")/support.sh"

cat >camera.py <<'X'
import math, sys
from npy import save
n, scale = int(sys.argv[1]), float(sys.argv[2])
def phase(l, t):
    return 0 if 0 < l < 4 else scale * (.5 if not l else 60 if l < 9 else 400) * (t * math.cos(l) + .2 * math.sin(9 * t + l))
values = [phase(l, i / n) for l in range(16) for i in range(n)]
save("camera.npy", (n, 1, 16), values)
X

recon_options="--delays off --memory 1G"

# everything NAME SCALE SEEDS OPTION...: of the phases of the camera; poses.txt is there.
everything() {
    name=$1 scale=$2 seeds=$3
    shift 3
    set -- --phantom tissues --snr 30 "$@"
    for seed in $seeds; do
        expect 0 phantom -q --force -o still.h5 --truth truth.h5 --maps maps.cfl --seed "$seed" "$@"
        "$PYTHON" camera.py "$("$LARMOR" info still.h5 | awk '/^group 0/ {sub(/.* readouts x /, ""); print $1}')" "$scale"
        # shellcheck disable=SC2086
        expect 0 phantom -q --force -o seen.h5 --motion poses.txt $field --t2star 30,12,20,40,60,15 --t2star-map t2star.nii \
            --field-map field.nii --phase-terms camera.npy --seed "$seed" "$@"
        best=$(nrmse still.h5)
        all=$(nrmse seen.h5 --motion poses.txt --b0 field.nii --t2star-map t2star.nii --phase-terms camera.npy)
        grep -q '^motion: off-resonance and decay are taken to move with the object, phases .* to stay$' log || fail "$name: $(cat log)"
        no_motion=$(nrmse seen.h5 --b0 field.nii --t2star-map t2star.nii --phase-terms camera.npy)
        no_field=$(nrmse seen.h5 --motion poses.txt --t2star-map t2star.nii --phase-terms camera.npy)
        no_camera=$(nrmse seen.h5 --motion poses.txt --b0 field.nii --t2star-map t2star.nii)
        no_decay=$(nrmse seen.h5 --motion poses.txt --b0 field.nii --phase-terms camera.npy)
        echo "# $name, seed $seed: at rest $best, all $all; without motion $no_motion, field $no_field, camera $no_camera, decay $no_decay"
        at_most "$all" "$best" 1.1 "$name"
        for wrong in "$no_motion" "$no_field" "$no_camera"; do at_least "$wrong" "$all" 1.15 "$name, one of them left out"; done
    done
}
field="--off-resonance 40 --field-gradient 50,-30"
printf '%s\n' 0,0,0,0,0,0,0 28,8,-6,0,0,0,9 55,-6,12,0,0,0,-12 >poses.txt
everything spokes 1 "1 5" --traj golden --matrix 40 --readouts 90 --coils 4 --dwell 50 --position 0,0,40
printf '%s\n' 0,0,0,0,0,0,0 4,8,-6,0,0,0,9 8,-6,12,0,0,0,-12 >poses.txt
everything "a spiral" 1 1 --traj spiral --matrix 40 --readouts 12 --coils 4 --dwell 8 --position 0,0,40
printf '%s\n' 0,0,0,0,0,0,0 120,12,-9,8,4,-6,7 >poses.txt
everything "a volume" 0.4 "1 5" --traj koosh --matrix 12,12,12 --coils 3 --dwell 100
