#!/bin/sh
# larmor recon --t2star-map: images of tissues that decay, at rest and in motion, are as near to the truth as those of
# the same scan without decay. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

recon_options="--delays off --memory 1G"

# decay NAME WORSE POSES OPTION...: WORSE: what decay costs at least without the map, at an SNR of $snr.
snr=30 seeds="1 5" within=1.1
decay() {
    name="$1 at an SNR of $snr" worse=$2 poses=$3
    shift 3
    for seed in $seeds; do
        # shellcheck disable=SC2086
        expect 0 phantom -q --force -o plain.h5 --truth truth.h5 --maps maps.cfl --phantom tissues --seed $seed --snr $snr $poses "$@"
        # shellcheck disable=SC2086
        expect 0 phantom -q --force -o decayed.h5 --t2star 12,4,7,15,25,5 --t2star-map t2star.nii --phantom tissues --seed $seed \
            --snr $snr $poses "$@"
        # shellcheck disable=SC2086
        best=$(nrmse plain.h5 $poses)
        # shellcheck disable=SC2086
        at_least "$(nrmse decayed.h5 $poses)" "$best" "$worse" "$name, seed $seed, without the map"
        # shellcheck disable=SC2086
        at_most "$(nrmse decayed.h5 $poses --t2star-map t2star.nii)" "$best" "$within" "$name, seed $seed"
    done
}
printf '%s\n' 0,0,0,0,0,0,0 30,8,-6,0,0,0,9 60,-6,12,0,0,0,-12 >spokes.txt
printf '%s\n' 0,0,0,0,0,0,0 4,8,-6,0,0,0,9 8,-6,12,0,0,0,-12 >arms.txt
printf '%s\n' 0,0,0,0,0,0,0 120,12,-9,8,4,-6,7 >volume.txt
decay spokes 1.2 "" --traj golden --matrix 48 --readouts 90 --coils 4 --dwell 80
decay "spokes that move" 1.2 "--motion spokes.txt" --traj golden --matrix 48 --readouts 90 --coils 4 --dwell 80
decay "a spiral" 1.03 "" --traj spiral --matrix 48 --readouts 12 --coils 4 --dwell 8
decay "a spiral that moves" 1.03 "--motion arms.txt" --traj spiral --matrix 48 --readouts 12 --coils 4 --dwell 8
decay "a volume" 1.2 "" --traj koosh --matrix 12,12,12 --coils 3 --dwell 200
decay "a volume that moves" 1.2 "--motion volume.txt" --traj koosh --matrix 12,12,12 --coils 3 --dwell 200
seeds=3
snr=10
decay spokes 1.05 "" --traj golden --matrix 48 --readouts 90 --coils 4 --dwell 80
snr=50
decay "a spiral" 1.05 "" --traj spiral --matrix 48 --readouts 12 --coils 4 --dwell 8
decay "a volume" 1.2 "" --traj koosh --matrix 12,12,12 --coils 3 --dwell 200
within=1.2 # voxels of two tissues, which decay by two rates, are what is left: docs/records/physics.md
decay "spokes that move" 1.3 "--motion spokes.txt" --traj golden --matrix 48 --readouts 90 --coils 4 --dwell 80

expect 2 phantom -o g.h5 --t2star-map t.nii
said "larmor: --t2star-map: has no effect without --t2star."
expect 2 phantom -o g.h5 --t2star 3,4
said_like "^larmor: simulation: got 2 T2\*, expected 1, or 6 of the phantom tissues"
expect 2 phantom -o g.h5 --matrix 48 --dwell 40 --t2star 0.1
said_like "^larmor: simulation: got a T2\\* of 0.1 ms, expected at least 0.192: samples begin 1.92 ms before the echo"
[ ! -e g.h5 ] && [ ! -e t.nii ] || fail "an output of a refused run"
