#!/bin/sh
# recon --lambda auto: the image is nearly as near to the truth as at the best weight of a sweep, over trajectories,
# undersampling, noise and methods. scripts/measure/scenes.py has many more scenes. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

# image_error METHOD LAMBDA
image_error() {
    expect 0 recon scan.h5 -o image.cfl --maps maps.cfl -m "$1" --lambda "$2" --threads 1 --json -q --force
    cp out report.json
    expect 0 compare image.cfl truth.h5
    cut -d' ' -f2 out
}

# scene METHODS FLAGS...: the weights are the chosen one and a fifth and 5 times as much: the error has one least value.
scene() {
    methods=$1
    shift
    expect 0 phantom -o scan.h5 --truth truth.h5 --maps maps.cfl --phantom texture --coils 4 -q --force "$@"
    for method in $methods; do
        auto=$(image_error "$method" auto)
        chosen=$(sed -n 's/^  "lambda": \([^,]*\),$/\1/p' report.json)
        best=1e9
        for factor in 0.2 5; do
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

# What is lost of the object's intensity is said where it is much, and in the report in either case.
lost='image 1 of 1: the image has about [0-9]* % of the object.s intensity, as the samples held out have it: '
expect 0 phantom -o faint.h5 --truth faint.npy --maps faint-maps.cfl --matrix 48 --coils 4 --undersampling 5 --snr 4 -q
expect 0 recon faint.h5 -o x.npy --force --maps faint-maps.cfl --method tv --json
grep -q "^$lost" err || fail "$last: the intensity that is lost expected in the log"
part=$(sed -n 's/^  "intensity": \([0-9.]*\),$/\1/p' out)
awk -v part="$part" 'BEGIN { exit !(part > 0.7 && part < 0.97) }' || fail "$last: the image has $part of the intensity"
expect 0 phantom -o clear.h5 --maps clear-maps.cfl --matrix 48 --coils 4 --snr 50 -q
expect 0 recon clear.h5 -o x.npy --force --maps clear-maps.cfl --method tv --json
! grep -q "^$lost" err || fail "$last: nothing to say of the intensity"
part=$(sed -n 's/^  "intensity": \([0-9.]*\),$/\1/p' out)
awk -v part="$part" 'BEGIN { exit !(part > 0.97 && part < 1.03) }' || fail "$last: the image has $part of the intensity"

# A weight at which the image does not settle within the usual iterations is raised, and said: the image is that of the raised
# weight by hand, and better than that of the weight chosen.
expect 0 phantom -o scan.h5 --truth truth.h5 --phantom texture --traj spiral --matrix 48 --coils 1 --undersampling 3 -q --force
expect 0 recon scan.h5 -o raised.npy --method tv --json --force
times=$(sed -n 's/^image 1 of 1: lambda is \([0-9]*\) times the one chosen, at which the image does not settle$/\1/p' err)
[ -n "$times" ] || fail "$last: a raised weight is said"
raised=$(sed -n 's/^  "lambda": \([^,]*\),$/\1/p' out)
expect 0 recon scan.h5 -o given.npy --method tv --lambda "$raised" --force -q
expect 0 compare raised.npy given.npy --tol 1e-2
chosen=$(awk -v l="$raised" -v t="$times" 'BEGIN { print l / t }')
expect 0 recon scan.h5 -o chosen.npy --method tv --lambda "$chosen" --force -q
expect 0 compare chosen.npy truth.h5
before=$(cut -d' ' -f2 out)
expect 0 compare raised.npy truth.h5
echo "raised $times times: $(cat out), chosen $before"
awk -v a="$(cut -d' ' -f2 out)" -v b="$before" 'BEGIN { exit !(a < 0.9 * b) }' || fail "raised $(cat out), chosen $before"
