#!/bin/sh
# phantom, recon, compare: the image is the phantom, whatever the trajectory, the units or the number of threads.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

# within NAME LIMIT OPTIONS...: with the coils' true maps the image is within LIMIT of the truth, phase included. The truth
# fills the square of k-space, and of that a radial or a spiral scan sees the disc: at 64 x 64 the corners alone are 0.12
# of the phantom's norm, less what the maps bring back.
within() {
    name=$1 limit=$2
    shift 2
    expect 0 phantom -o "$name.h5" --truth "$name-truth.h5" --maps "$name-maps.cfl" -q "$@"
    expect 0 recon "$name.h5" -o "$name-image.h5" --maps "$name-maps.cfl" -q
    expect 0 compare "$name-image.h5" "$name-truth.h5" --tol "$limit"
    echo "$name: $(cat out), at most $limit"
}
within cartesian 0.04 --traj cartesian --matrix 64 --coils 4
within golden 0.115 --traj golden --matrix 64 --readouts 110 --coils 4
within radial 0.115 --traj radial --matrix 64 --coils 4 --noise 1e-5 --noise-scan 512 --oblique
within spiral 0.115 --traj spiral --matrix 64 --coils 4
within slices 0.14 --traj golden --matrix 48 --coils 4 --slices 2
within koosh 0.25 --traj koosh --matrix 16 --coils 3
within stars 0.14 --traj stars --matrix 24,24,8 --coils 3

# Maps from the data themselves leave the coils' common shading and phase in the image.
expect 0 recon golden.h5 -o auto.h5 -q
expect 0 compare auto.h5 golden-truth.h5 --magnitude --tol 0.17
echo "maps from the data: $(cat out), at most 0.17"

# Seven unit conventions, one image: all that differs is how the stored trajectory was rounded.
small="--traj golden --matrix 32 --coils 2 --maps maps.cfl -q --force"
for units in 1/fov norm pm1 rad 1/m rad/m 1/mm; do
    # shellcheck disable=SC2086 # words are meant
    expect 0 phantom -o units.h5 --units "$units" $small
    reconstruct units.h5 -o units.npy --maps maps.cfl --method grid -q --force
    [ "$units" != 1/fov ] || cp units.npy one.npy
    expect 0 compare units.npy one.npy --tol 1e-5
done

# The number of threads does not show, not in one bit.
for threads in 1 2 3; do
    expect 0 recon units.h5 -o "threads$threads.npy" --threads "$threads" -q
done
cmp threads1.npy threads2.npy || fail "2 threads change the image"
cmp threads1.npy threads3.npy || fail "3 threads change the image"

# Gridding works too, and iterations may be stopped.
reconstruct golden.h5 -o grid.h5 --method grid -q
expect 0 compare grid.h5 golden-truth.h5 --magnitude --tol 0.2
reconstruct golden.h5 -o short.h5 --iters 2
grep -q golden.h5 err || fail "a log expected"
