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
scan golden 0.6 --traj golden --matrix 48 --readouts 30 --coils 4 --noise 1e-4
scan spiral 0.6 --traj spiral --matrix 48 --coils 4 --noise 1e-5
scan spiral-series 0.6 --traj spiral --matrix 32 --coils 2 --noise 1e-4 --repetitions 2
scan cartesian 0.2 --traj cartesian --matrix 48 --coils 4 --noise 1e-5
scan koosh 0.6 --traj koosh --matrix 16 --coils 3 --noise 1e-5

# The second of three images is zero: the others are there, the log and the error name it, the exit code is 1.
expect 0 phantom -o three.h5 --matrix 32 --readouts 40 --coils 4 --repetitions 3 -q
expect 0 recon three.h5 -o all.npy --method grid --maps none -q
for part in 0 2; do
    expect 0 recon three.h5 -o part$part.h5 --method grid --maps none --repetition $part -q
done
"$SPOIL" three.h5 zero-middle
expect 1 recon three.h5 -o two.h5 --method grid --maps none --json
grep -q '^warning: image 2 of 3: the image of slice 0, contrast 0, phase 0, repetition 1, set 0 is zero everywhere' err ||
    fail "$last: a warning expected"
grep -q '^wrote two.h5 (2 images)' err || fail "$last: two images expected"
grep -q '^larmor: three\.h5: no image 2 of 3: the image of slice 0' err || fail "$last: image 2 expected in the error"
printed '^  "failed": 1,$'
expect 1 recon three.h5 -o two.h5 --method grid --maps none --force -q
said_like '^larmor: three\.h5: no image 2 of 3: the image of slice 0'
expect 1 recon three.h5 -o none.h5 --method grid --maps none --repetition 1 -q
said_like '^larmor: three\.h5: the image of slice 0, contrast 0, phase 0, repetition 1, set 0 is zero everywhere'
[ ! -e none.h5 ] || fail "$last: none.h5 is there"
for part in 0 2; do
    expect 0 recon three.h5 -o again$part.h5 --method grid --maps none --repetition $part -q
    expect 0 compare again$part.h5 part$part.h5 --tol 1e-7
done
