#!/bin/sh
# recon --lambda auto: the image is nearly as near to the truth as at the best weight of a sweep, over trajectories,
# undersampling, noise and methods. scripts/scenes.py has many more scenes. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

# image_error METHOD LAMBDA
image_error() {
    expect 0 recon scan.h5 -o image.cfl --maps maps.cfl -m "$1" --lambda "$2" --threads 1 --json -q --force
    cp out report.json
    expect 0 compare image.cfl truth.h5
    cut -d' ' -f2 out
}

# scene METHODS FLAGS...: the weights are the chosen one and a third, a tenth, 3 and 10 times as much.
scene() {
    methods=$1
    shift
    expect 0 phantom -o scan.h5 --truth truth.h5 --maps maps.cfl --phantom texture --coils 4 -q --force "$@"
    for method in $methods; do
        auto=$(image_error "$method" auto)
        chosen=$(sed -n 's/^  "lambda": \([^,]*\),$/\1/p' report.json)
        best=1e9
        for factor in 0.1 0.3 3 10; do
            error=$(image_error "$method" "$(awk -v l="$chosen" -v f=$factor 'BEGIN { print l * f }')")
            best=$(awk -v a="$best" -v b="$error" 'BEGIN { print (a < b ? a : b) }')
        done
        echo "$method $*: $auto at lambda $chosen, best of the others $best"
        awk -v a="$auto" -v b="$best" 'BEGIN { exit !(a <= 1.15 * b) }' ||
            fail "$method $*: nrmse $auto at the chosen lambda $chosen, and $best at another one"
    done
}

scene "cg tv" --traj golden --matrix 32 --snr 50
scene "cg wavelet" --traj golden --matrix 48 --undersampling 4 --snr 5
scene "tv" --traj spiral --matrix 48 --undersampling 2 --snr 5
scene "cg wavelet" --traj koosh --matrix 16 --snr 20
# an object beyond the field of view of a grid: what folds is not noise
scene "tv" --traj cartesian --matrix 48 --snr 100 --object-size 1.2
scene "wavelet" --traj cartesian --matrix 48 --snr 20 --object-size 1.2
# without noise: what trials do not reach, and what samples do not tell
scene "cg" --traj spiral --matrix 48 --undersampling 4
scene "cg" --traj koosh --matrix 20 --undersampling 8
scene "tv" --traj koosh --matrix 16
