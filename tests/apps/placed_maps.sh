#!/bin/sh
# Maps of a file are interpolated from what they cover to the image's grid, finer or coarser, or refused where nobody says
# what that is; magnitudes are no maps. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
export LARMOR_DEVICE=cpu LARMOR_THREADS=1

# within FACTOR A B: A is at most so many times B.
within() {
    awk -v f="$1" -v a="$2" -v b="$3" 'BEGIN { exit !(a <= f * b) }' || fail "$last: $2, expected at most $1 times $3"
}
# error TRUTH ARGUMENTS OF RECON...: of the image against the truth.
error() {
    truth=$1
    shift
    reconstruct "$@" -o image.npy --force --lambda 1e-4
    cp err log
    expect 0 compare image.npy "$truth" --inside 2
    cut -d' ' -f2 out
}

# Maps of one scan in several matrices, all over 256 mm.
expect 0 phantom -o scan.h5 --matrix 32 --readouts 24 --coils 6 --maps m32.h5 --truth truth.npy -q
for n in 24 48 64 72; do expect 0 phantom -o other.h5 --matrix $n --readouts 4 --coils 6 --maps m$n.h5 -q --force; done
best=$(error truth.npy scan.h5 --maps m32.h5)
! grep -q interpolated log || fail "maps on the grid are interpolated: $(cat log)"
for n in 48 64 72; do
    found=$(error truth.npy scan.h5 --maps m$n.h5)
    within 1.05 "$found" "$best"
    grep -q "^coil maps: m$n.h5, ${n}x$n voxels over 256 x 256 x 5 mm, interpolated to 32x32$" log || fail "the log does not say it: $(cat log)"
done
found=$(error truth.npy scan.h5 --maps m24.h5)
within 1.3 "$found" "$best"
automatic=$(error truth.npy scan.h5)
within 0.9 "$found" "$automatic"

# Files without a field of view are refused, or are told theirs.
for format in npy cfl; do
    for n in 24 48; do
        expect 0 phantom -o other.h5 --matrix $n --readouts 4 --coils 6 --maps m$n.$format -q --force
        expect 3 recon scan.h5 --maps m$n.$format -o none.npy -q
        said "larmor: m$n.$format: maps of ${n}x$n voxels without a field of view, and the grid has 32x32 voxels over 256 x 256 x 5 mm. Say what the maps cover (--maps-fov X,Y,Z in mm), and they are interpolated."
        reconstruct scan.h5 --maps m$n.h5 -m grid -o h5.npy -q --force
        for fov in 256 256,256 256,256,5; do
            reconstruct scan.h5 --maps m$n.$format --maps-fov $fov -m grid -o told.npy -q --force
            expect 0 compare told.npy h5.npy --tol 1e-5
        done
    done
done
# Those of encodedSpace's matrix cover it, whatever the matrix of the image; that is said.
expect 0 phantom -o other.h5 --matrix 32 --readouts 4 --coils 6 --maps m32.npy -q --force
reconstruct scan.h5 --matrix 20 --maps m32.npy -m grid -o taken.npy
grep -q '^coil maps: m32.npy has no field of view, and is taken to cover that of encodedSpace, whose matrix it has$' err || fail "the log does not say it: $(cat err)"
reconstruct scan.h5 --matrix 20 --maps m32.h5 -m grid -o stated.npy -q
expect 0 compare taken.npy stated.npy --tol 1e-5
[ ! -e none.npy ] || fail "a refused command left a file"
expect 2 recon scan.h5 --maps-fov 256 -o none.npy -q
said 'larmor: --maps-fov: has no effect with --maps auto; it is an option of --maps FILE.'
for fov in 0 -1 nan inf 256,256,256,256 x; do expect 2 recon scan.h5 --maps m48.npy --maps-fov $fov -o none.npy -q; done

# Maps that reach beyond the field of view do so in the image's voxels, whatever their own.
expect 0 phantom -o wide.h5 --traj cartesian --matrix 32 --samples 64 --coils 6 --object-size 1.4 --truth wide.npy \
    --maps own.npy --maps-matrix 64,64 -q
reconstruct wide.h5 --maps own.npy --maps-fov 512 -o right.npy -q
expect 0 phantom -o other.h5 --traj cartesian --matrix 48 --samples 96 --coils 6 --object-size 1.4 --maps fine.npy \
    --maps-matrix 96,96 -q --force
reconstruct wide.h5 --maps fine.npy --maps-fov 512 -o fine-image.npy -q
expect 0 compare fine-image.npy right.npy --tol 0.02

# In three dimensions.
expect 0 phantom -o volume.h5 --traj koosh --matrix 12 --readouts 300 --coils 4 --maps v12.h5 --truth v.npy -q
expect 0 phantom -o other.h5 --traj koosh --matrix 18,20,24 --readouts 10 --coils 4 --maps v18.npy -q --force
best=$(error v.npy volume.h5 --maps v12.h5)
found=$(error v.npy volume.h5 --maps v18.npy --maps-fov 256,284.4444444,341.3333333)
within 1.2 "$found" "$best"

# Magnitudes are refused for several coils, and are maps of one.
expect 0 convert m32.h5 magnitude.nii -q
expect 0 convert m32.h5 magnitude.npy --magnitude -q
expect 0 convert magnitude.nii magnitude.cfl -q
for file in magnitude.nii magnitude.npy magnitude.cfl; do
    expect 3 recon scan.h5 --maps $file -o none.npy -q
    said "larmor: $file: maps without phase, as a magnitude .nii or a real .npy has them; 6 coils need complex maps: use .cfl, .npy or .h5."
done
expect 0 phantom -o one.h5 --matrix 32 --readouts 24 --coils 1 --maps one.npy -q
expect 0 convert one.npy one.nii -q
reconstruct one.h5 --maps one.nii -o one-image.npy -q
[ ! -e none.npy ] || fail "a refused command left a file"
