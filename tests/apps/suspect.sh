#!/bin/sh
# Conjugate gradients at the floor of their rounding end with an image; an image that cannot be made does not stop the
# others. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
: "${SPOIL:?names the program that damages scans}"

# No lambda, and a tolerance that single precision hardly reaches.
scan() {
    name=$1 limit=$2
    shift 2
    expect 0 phantom -o "$name.h5" --truth "$name-truth.h5" --maps "$name.cfl" "$@" -q
    for precond in circulant none; do
        expect 0 recon "$name.h5" -o "$name-$precond.h5" --maps "$name.cfl" --lambda 0 --tol 1e-6 --iters 200 \
            --precond $precond
        ! grep -qi adjoint err || fail "$last: the program speaks of adjoints"
        expect 0 compare "$name-$precond.h5" "$name-truth.h5"
        echo "$name, $precond: $(cat out), at most $limit"
        nrmse_at_most "$limit"
    done
}
scan golden 0.6 --traj golden --matrix 32 --readouts 20 --coils 4 --noise 1e-4
scan cartesian 0.2 --traj cartesian --matrix 32 --coils 4 --noise 1e-5

# The samples of the second of three images are zero, so that they were not acquired: the others are there, the log says so.
expect 0 phantom -o three.h5 --matrix 32 --readouts 40 --coils 4 --repetitions 3 -q
for part in 0 2; do
    expect 0 recon three.h5 -o part$part.h5 --method grid --maps none --repetition $part -q
done
"$SPOIL" three.h5 zero-middle
expect 0 recon three.h5 -o two.h5 --method grid --maps none --json
grep -q '^warning: 40 readouts are exactly 0 in all coils: they are taken for not acquired\.$' err ||
    fail "$last: a warning expected"
grep -q '^wrote two.h5 (2 images)' err || fail "$last: two images expected"
printed '^  "images": 2,$'
for part in 0 2; do
    expect 0 recon three.h5 -o again$part.h5 --method grid --maps none --repetition $part -q
    expect 0 compare again$part.h5 part$part.h5 --tol 1e-7
done

# Windows with the centre of k-space are unlike all others, which is no object that moved.
for seed in 1 2; do
    expect 0 phantom -q --force -o still.h5 --traj cartesian --matrix 32 --coils 8 --image-phase 1.5 --noise .001 --seed $seed
    expect 0 recon still.h5 -o image.h5 --force --method cg --lambda 1e-3 --iters 3
    ! grep 'has moved' err || fail "seed $seed: nothing moved"
done
