#!/bin/sh
# phantom, traj, convert, compare, info: round trips, exact relations, and outputs that are left alone.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

scan() {
    output=$1
    shift
    expect 0 phantom -o "$output" --matrix 32 --readouts 21 --samples 48 --coils 3 -q "$@"
}

# The same seed makes the same file, another one does not; nor does the clock show.
scan a.h5 --noise 1e-4 --seed 5 --truth truth.h5
sleep 1
scan b.h5 --noise 1e-4 --seed 5
scan c.h5 --noise 1e-4 --seed 6
cmp a.h5 b.h5 || fail "one seed made two files"
! cmp -s a.h5 c.h5 || fail "two seeds made one file"

# info prints what was given to phantom.
expect 0 info a.h5
printed '32 x 32 x 1'
printed '21 readouts x 48 samples'
printed '^coils: 3$'
printed '^trajectory: 1/FOV'
expect 0 info a.h5 --json
printed '"coils": 3,'
printed '"trajectory_units": "1/fov"'
for units in 1/fov norm pm1 rad 1/m rad/m 1/mm; do
    scan units.h5 --units "$units" --force
    expect 0 info units.h5 --json
    printed "\"trajectory_units\": \"$units\""
done
scan noise.h5 --noise 1e-3 --noise-scan 256 --noise-dwell 12 --slices 2 --repetitions 3 --oblique
expect 0 info noise.h5 --json
printed '"noise": 1,'
printed '"noise_samples": 256,'
printed '"noise_dwell_us": 12,'
[ "$(grep -c '"slice": 1,' out)" -eq 3 ] || fail "three repetitions of slice 1 expected"

# An image compared with itself, a scaled one, a different one.
expect 0 compare truth.h5 truth.h5 --tol 1e-7
nrmse_at_most 1e-7
expect 0 convert truth.h5 truth.npy
expect 0 convert truth.npy truth.cfl
expect 0 convert truth.cfl truth.nii.gz
expect 0 convert truth.h5 truth.png
expect 0 compare truth.cfl truth.h5 --tol 1e-7
expect 0 compare truth.nii.gz truth.h5 --magnitude --tol 1e-6
expect 0 phantom -o d.h5 --matrix 32 --phantom disc --truth disc.h5 -q
expect 1 compare truth.h5 disc.h5 --tol 0.1
said_like '^larmor: truth.h5: nrmse [0-9.]+ is above 0.1\.$'
printed '^nrmse 0\.'
expect 0 compare truth.h5 disc.h5 --json
printed '"nrmse": 0\.'
expect 0 phantom -o e.h5 --matrix 32,16 --truth flat.npy -q
expect 3 compare flat.npy truth.h5
said_like '^larmor: flat.npy against truth.h5: compare: the image is .*\[32, 16\].*, the reference .*\[32, 32\].*; both must have one shape'
expect 0 phantom -o e.h5 --matrix 16,32 --truth tall.npy -q --force
expect 1 compare flat.npy tall.npy --transpose --tol 1e-9
expect 3 compare missing.npy truth.h5

# A picture shows what a bright rim surrounds, and the log has the values of black and white; --window sets them.
expect 0 convert truth.h5 shown.png
said_like '^wrote shown.png, black 0, white 0\.[0-9]+$'
expect 0 convert truth.h5 asked.png --window 0.1,0.3
said_like '^wrote asked.png, black 0.1, white 0.3$'
! cmp -s shown.png asked.png || fail "--window changes nothing"
expect 2 convert truth.h5 x.png --window 0.3,0.1
said 'larmor: --window 0.3,0.1: the smaller value first expected.'
expect 2 convert truth.h5 x.png --window 0.3
said 'larmor: --window "0.3": LOW,HIGH of numbers from -1e+15 to 1e+15 expected.'
expect 2 convert truth.h5 x.nii --window 0,1
said 'larmor: --window: has no effect with x.nii; it is an option of a .png, a .gif, a .dcm or a .dcm/.'
reconstruct a.h5 -o same.npy -o same.png --window 0.05,0.2
grep -q '^wrote same.png (1 image, black 0.05, white 0.2)$' err || fail "$last: the window is not said: $(cat err)"
expect 2 recon a.h5 -o same.npy --window 0,1
said 'larmor: --window: has no effect with --output same.npy; it is an option of a .png, a .gif, a .dcm or a .dcm/.'

# Planes, colours and films are for pictures, and rates for films alone.
expect 0 convert truth.h5 truth.gif --planes --color --fps 5
reconstruct a.h5 -o film.gif -o film.png --color --maps walsh --save-maps maps.png
expect 2 convert truth.h5 x.nii --color
said 'larmor: --color: has no effect with x.nii; it is an option of a .png or a .gif.'
expect 2 convert truth.h5 x.png --fps 5
said 'larmor: --fps: has no effect with x.png; it is an option of a .gif.'
expect 2 recon a.h5 -o x.png --fps 5
said 'larmor: --fps: has no effect with --output x.png; it is an option of a .gif.'

# BART's k-space and trajectory become a scan with the matrix that the trajectory spans.
expect 0 traj -o t.cfl --traj radial --matrix 32 --readouts 21 --samples 48
[ "$(sed -n 2p t.hdr | awk '{ print $1, $2, $3 }')" = "3 48 21" ] || fail "t.hdr: $(cat t.hdr)"
printf '# Dimensions\n1 48 21 2 1\n' >k.hdr
# shellcheck disable=SC2046 # one number for each 1.0f, four bytes
printf '\000\000\200\077%.0s' $(seq $((48 * 21 * 2 * 2))) >k.cfl
expect 0 convert --traj t.cfl --kspace k.cfl -o pair.h5
said_like 'wrote pair.h5: 21 readouts x 48 samples, 2 coils, matrix 32 x 32 x 1, 32 x 32 x 1 mm'
expect 0 info pair.h5
printed '^trajectory: 1/FOV'
# Samples that recon would refuse are refused: 1e37, then Inf, in the place of the first.
cp k.cfl good.cfl
for value in '\302\275\360\174' '\000\000\200\177'; do
    # shellcheck disable=SC2059 # octal bytes are meant
    { printf "$value"; tail -c +5 good.cfl; } >k.cfl
    expect 3 convert --traj t.cfl --kspace k.cfl -o none.h5
    said_like '^larmor: (k.cfl with t.cfl: k-space: values up to 1.0e.37: uninitialised or overflowing data, at most 1e.18 expected\.|k.cfl: 1 value is not finite, the first at \[0, 0, 0, 0\]\.)$'
    [ ! -e none.h5 ] || fail "a refused conversion left a file"
done
mv good.cfl k.cfl
printf '# Dimensions\n1 47 21 2 1\n' >k.hdr
expect 3 convert --traj t.cfl --kspace k.cfl -o none.h5
printf '# Dimensions\n1 48 20 2 1\n' >k.hdr
head -c $((48 * 20 * 2 * 8)) k.cfl >k2.cfl && mv k2.cfl k.cfl
expect 3 convert --traj t.cfl --kspace k.cfl -o none.h5
said_like '^larmor: k.cfl with t.cfl: k-space: \[1, 48, 21, coils\] expected, as the trajectory has 48 samples x 21 readouts; it is c64 \[1, 48, 20, 2\] on cpu'
[ ! -e none.h5 ] || fail "a refused conversion left a file"

# What exists stays as it was, unless --force.
echo mine >keep.h5
for command in "phantom -o keep.h5" "convert truth.npy keep.h5" "convert --traj t.cfl --kspace k.cfl -o keep.h5"; do
    # shellcheck disable=SC2086 # words are meant
    expect 5 $command
    said 'larmor: keep.h5: exists already; --force overwrites it'
done
[ "$(cat keep.h5)" = mine ] || fail "keep.h5 was changed"
expect 0 convert truth.npy keep.h5 --force
expect 0 compare keep.h5 truth.npy --tol 1e-7
expect 1 phantom -o nowhere/x.h5
said_like '^larmor: nowhere/x.h5: no such folder'
expect 1 phantom -o a.h5/x.h5

# Inside what spokes sample the image of a scan without noise is right; in the corners of k-space it need not be.
expect 0 phantom -o spokes.h5 --truth spokes-truth.h5 --maps spokes-maps.cfl --matrix 32 -q
reconstruct spokes.h5 -o spokes.cfl --maps spokes-maps.cfl -q
expect 0 compare spokes.cfl spokes-truth.h5 --inside 2 --tol 0.03
expect 1 compare spokes.cfl spokes-truth.h5 --tol 0.06
expect 2 compare spokes.cfl spokes-truth.h5 --inside 3
said 'larmor: spokes.cfl against spokes-truth.h5: compare: inside is 3, the image has 2 dimensions'
