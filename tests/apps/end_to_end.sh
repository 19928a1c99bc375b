#!/bin/sh
# phantom, recon, compare: the image is the phantom, whatever the trajectory, the units or the number of threads.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

# case NAME LIMIT OPTIONS...: the reconstruction is within LIMIT of the truth.
within() {
    name=$1 limit=$2
    shift 2
    expect 0 phantom -o "$name.h5" --truth "$name-truth.h5" -q "$@"
    expect 0 recon "$name.h5" -o "$name-image.h5" -q
    expect 0 compare "$name-image.h5" "$name-truth.h5" --magnitude --tol "$limit"
    echo "$name: $(cat out), at most $limit"
}
within golden 0.12 --traj golden --matrix 64 --readouts 110 --coils 6
within radial 0.12 --traj radial --matrix 64 --readouts 110 --coils 6 --noise 1e-5 --noise-scan 512 --oblique
within spiral 0.15 --traj spiral --matrix 64 --coils 6
within cartesian 0.12 --traj cartesian --matrix 64 --coils 4
within slices 0.12 --traj golden --matrix 48 --readouts 90 --coils 4 --slices 3

# Seven unit conventions, one image.
for units in norm pm1 rad 1/m rad/m 1/mm; do
    expect 0 phantom -o units.h5 --traj golden --matrix 64 --readouts 110 --coils 6 --units "$units" -q --force
    expect 0 recon units.h5 -o units.npy -q --force
    expect 0 compare units.npy golden-image.h5 --tol 1e-4
done

# The number of threads does not show.
for threads in 1 2 3; do
    expect 0 recon golden.h5 -o "threads$threads.npy" --threads "$threads" -q
done
cmp threads1.npy threads2.npy || fail "2 threads change the image"
cmp threads1.npy threads3.npy || fail "3 threads change the image"

# Gridding works too, and iterations may be stopped.
expect 0 recon golden.h5 -o grid.h5 --method grid -q
expect 0 compare grid.h5 golden-truth.h5 --magnitude --tol 0.3
expect 0 recon golden.h5 -o short.h5 --iters 2
grep -q golden.h5 err || fail "a log expected"
