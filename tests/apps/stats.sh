#!/bin/sh
# larmor stats: figures of regions of a mask, of files in images' formats; and masks that are none. SPDX-License-Identifier:
# Apache-2.0
. "$(dirname "$0")/support.sh"

# npy SHAPE NUMBER...: a file of float32 on standard output; SHAPE as Python writes it.
npy() {
    shape=$1
    shift
    header="{'descr': '<f4', 'fortran_order': ${order-False}, 'shape': $shape, }"
    while [ $(((${#header} + 11) % 64)) -ne 0 ]; do header="$header "; done
    printf '\223NUMPY\001\000'
    printf "\\$(printf %03o $(((${#header} + 1) % 256)))\\$(printf %03o $(((${#header} + 1) / 256)))"
    printf '%s\n' "$header"
    for v in "$@"; do
        case $v in
        0) printf '\000\000\000\000' ;;
        1) printf '\000\000\200\077' ;;
        2) printf '\000\000\000\100' ;;
        3) printf '\000\000\100\100' ;;
        4) printf '\000\000\200\100' ;;
        nan) printf '\000\000\300\177' ;;
        esac
    done
}
npy '(2, 4)' 1 2 3 4 4 4 0 0 >image.npy
npy '(2, 4)' 1 1 1 1 2 2 0 0 >mask.npy
expect 0 stats image.npy --mask mask.npy
[ "$(awk 'NR == 2 {print $3, $4, $5, $7, $8, $9}' out)" = "1 4 2.5 1 4 2.5" ] || fail "region 1: $(cat out)"
[ "$(awk 'NR == 3 {print $3, $4, $5, $6, $12}' out)" = "2 2 4 0 1.6" ] || fail "region 2: $(cat out)"
[ "$(wc -l <out)" -eq 3 ] || fail "rows: $(cat out)"
expect 0 stats image.npy --mask mask.npy --json
printed '"region": 2,'
printed '"mean": 2.5,'
printed '"deviation": 1.29099445,'
printed '"snr": null'

# Without a mask the object is what is bright, and that is said.
expect 0 stats image.npy
grep -q "^no --mask: region 1 is what is above 0.1 of each image's maximum$" err || fail "$last: $(cat err)"
[ "$(awk 'NR == 2 {print $3, $4}' out)" = "1 6" ] || fail "object: $(cat out)"

# Two images of one object: the SNR is that of their difference, m (m + m2) / 2 over the deviation of m - m2 over sqrt(2).
expect 0 phantom -o a.h5 --traj cartesian --matrix 48 --coils 4 --snr 20 --seed 1 --maps maps.npy -q
expect 0 phantom -o b.h5 --traj cartesian --matrix 48 --coils 4 --snr 20 --seed 2 -q
for s in a b; do expect 0 recon $s.h5 -o $s.nii --maps maps.npy --method cg --lambda 1e-6 -q; done
expect 0 stats a.nii b.nii
snr=$(awk 'NR == 2 {print $13}' out)
awk -v s="$snr" 'BEGIN { exit !(s > 8 && s < 60) }' || fail "an SNR of $snr"
expect 0 stats a.nii a.nii
[ "$(awk 'NR == 2 {print $13}' out)" = inf ] || fail "an image and itself: $(cat out)"

# One mask is for each slice of a file.
expect 0 phantom -o slices.h5 --traj radial --matrix 32 --coils 3 --slices 3 -q
expect 0 recon slices.h5 -o images.h5 --method grid -q
expect 0 stats images.h5
[ "$(awk 'NR > 1 {print $2}' out | tr '\n' ' ')" = "0 1 2 " ] || fail "slices: $(cat out)"

# larmor compare by frames, slices and regions: the factor is that of all of them.
order=True npy '(4, 2, 1, 2)' 1 2 3 4 4 4 0 0 2 4 3 4 4 4 0 0 >b.npy
order=True npy '(4, 2, 1, 2)' 1 2 3 4 4 4 0 0 1 2 3 4 4 4 0 0 >a.npy
order=True npy '(4, 2, 1, 2)' 1 1 2 2 2 2 0 0 1 1 2 2 2 2 0 0 >both.npy
expect 0 compare a.npy b.npy --mask both.npy --json
[ "$(grep -c '"region"' out)" -eq 4 ] || fail "rows: $(cat out)"
expect 0 compare a.npy b.npy --frames
[ "$(awk 'NR > 2 {print $1, $3, $4}' out | tr "\n" ";")" = "0 1 6;1 1 6;" ] || fail "frames: $(cat out)"
[ "$(awk 'NR == 3 {print ($5 < 0.1)} NR == 4 {print ($5 > 0.2)}' out | tr -d '\n')" = 11 ] || fail "errors: $(cat out)"
order=True npy '(4, 2, 1, 2)' 1 2 3 4 4 4 0 0 0 0 0 0 0 0 0 0 >half.npy
expect 0 compare a.npy half.npy --frames
grep -q "^frame 1, slice 0: half.npy holds zeros alone$" err || fail "$last: $(cat err)"
[ "$(wc -l <out)" -eq 3 ] || fail "rows: $(cat out)"
expect 2 compare a.npy b.npy --frames --inside 2

# What is no mask.
npy '(2, 3)' 1 1 1 1 1 1 >small.npy
npy '(2, 4)' 0 0 0 0 0 0 0 0 >none.npy
npy '(2, 4)' nan 1 1 1 1 1 1 1 >nan.npy
expect 3 stats image.npy --mask small.npy
said "larmor: small.npy: the mask is [2, 3], expected [2, 4], or that of one image or one volume of it"
npy '(2, 4, 2)' 1 2 3 4 4 4 0 0 1 2 3 4 4 4 0 0 >volume.npy
expect 3 stats volume.npy --mask image.npy
said "larmor: image.npy: the mask is [2, 4], expected [2, 4, 2], or that of one image or one volume of it; the first three axes are one volume"
expect 3 stats image.npy --mask none.npy
said "larmor: none.npy: stats: the mask has no voxel above 0.5."
expect 3 stats image.npy --mask nan.npy
grep -q "nan.npy" err || fail "$last: $(cat err)"
expect 3 stats image.npy --mask a.h5
expect 3 stats image.npy small.npy
said "larmor: image.npy and small.npy have images of other shapes"
expect 3 stats none.npy
