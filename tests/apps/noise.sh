#!/bin/sh
# --noise-map, --snr-map and --g-map: files of the maps, in images' formats and where the image is, and what has none.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

expect 0 phantom -o scan.h5 --traj golden --matrix 32 --coils 4 --snr 10 --noise-scan 4096 -q
median() {
    sed -n 's/^noise map: .* in the object is \([0-9.]*\).*/\1/p' err
}
expect 0 recon scan.h5 -o x.npy --method cg --lambda 1e-4 --noise-map n.npy --snr-map s.npy --g-map g.npy --noise-samples 20
grep -q "^noise map: from 20 samples of noise" err || fail "$last: not said"
grep -q "^wrote n.npy (1 map)$" err || fail "$last: no map"

# Maps do not depend on threads.
for t in 1 3; do
    expect 0 recon scan.h5 -o x.npy --method cg --lambda 1e-4 --noise-map t$t.npy --noise-samples 20 --threads $t --force -q
done
cmp t1.npy t3.npy || fail "maps by 1 and by 3 threads differ"

# A report has the ratio of a quick map, with the image's bytes as they were, unless it is switched off.
expect 0 recon scan.h5 -o x.npy --method cg --lambda 1e-4 --noise-map n.npy --force
many=$(median)
expect 0 recon scan.h5 -o quick.npy --method cg --lambda 1e-4 --json --report-noise quick --force
grep -q "^noise map: from 1 sample of noise, averaged over neighbours" err || fail "$last: $(cat err)"
awk -v a="$(median)" -v b="$many" 'BEGIN { exit !(a > 0.85 * b && a < 1.15 * b) }' || fail "$(median), not $many"
printed '"snr": {'
printed '"samples": 1,'
cmp x.npy quick.npy || fail "a quick map changes the image"
expect 0 recon scan.h5 -o quick.npy --method cg --lambda 1e-4 --json --report-noise off --force
printed '"snr": null'
! grep -q "^noise map" err || fail "$last: $(cat err)"
for method in cg tv; do # which would take more than a tenth
    expect 0 recon scan.h5 -o quick.npy --method $method --lambda 1e-4 --json --force
    printed '"snr": null'
    grep -q "^noise map: left out, as it would take about [1-9][0-9]* % of the image's iterations, and maps of all images are to take less than a tenth; --report-noise quick makes it" err || fail "$last: $(cat err)"
done
expect 2 recon scan.h5 -o z.npy --report-noise off
said "larmor: --report-noise: has no effect without --report or --json."

# Images whose noise has a formula take no samples.
expect 0 recon scan.h5 -o x.npy --method grid --noise-map n.nii --force
grep -q "^noise map: exact" err || fail "$last: not exact"

# Maps lie where the image is, one for each image.
expect 0 phantom -o slices.h5 --traj radial --matrix 32 --coils 3 --slices 2 --noise 1e-3 -q
expect 0 recon slices.h5 -o x.h5 --method grid --noise-map n.h5 --snr-map s.nii
grep -q "^wrote n.h5 (2 maps)$" err || fail "$last: not of both slices"
expect 0 info n.h5
grep -q "2 images" out || fail "$last: $(cat out)"

# Of a point all lines keep everything.
expect 0 phantom -o lines.h5 --traj cartesian --matrix 32 --coils 4 --snr 50 --maps maps.npy -q
expect 0 recon lines.h5 -o x.npy --method cg --height-map h.npy --force
grep -q "^point response: of points of 10 % of the object's intensity the image shows 100 % of the height, 1 voxels wide" err || fail "$last: $(cat err)"
expect 0 recon scan.h5 -o x.npy --method tv --lambda 0.003 --height-map h.nii --width-map w.h5 --probes 2 --point-contrast 2 --force
grep -q "^wrote w.h5 (1 map)$" err || fail "$last: no map"

# A noise scan that is not used is said to be there.
expect 0 recon scan.h5 -o x.npy --method cg --lambda 1e-4 --whiten off --noise-map n.npy --noise-samples 4 --force
grep -q "; the noise is that of the noise scan, which the image does not use$" err ||
    fail "$last: $(cat err)"

# The object is as uncertain as its noise, and more where a weight has taken of that.
expect 0 recon scan.h5 -o x.npy --method cg --posterior-map p.nii --posterior-mean m.npy --posterior-samples 8 --force
grep -q "^posterior: from 8 samples by a Gaussian prior" err || fail "$last: $(cat err)"
grep -q "^wrote m.npy (1 map)$" err || fail "$last: no mean"
expect 0 compare m.npy x.npy --tol 0
expect 0 recon scan.h5 -o x.npy --method wavelet --posterior-map p.nii --posterior-samples 4 --force
grep -q "^posterior: from 4 samples by a chain" err || fail "$last: $(cat err)"

# What has none is refused before the work.
expect 2 recon scan.h5 -o z.npy --maps none --method grid --snr-map s.npy --force
said "larmor: --snr-map: has no effect with --maps none; it is an option of images by coil maps."
expect 2 recon scan.h5 -o z.npy --checkpoint c --noise-map n.npy --force
said "larmor: --noise-map, --snr-map and --g-map: there are none with --checkpoint."
expect 2 recon scan.h5 -o z.npy --method nlinv --noise-map n.npy --force
said "larmor: --noise-map, --snr-map and --g-map: there are none with --method nlinv."
expect 2 recon scan.h5 -o z.npy --noise-samples 9
said "larmor: --noise-samples: has no effect without --noise-map, --snr-map or --g-map."
expect 2 recon scan.h5 -o z.npy --posterior-samples 9
said "larmor: --posterior-samples: has no effect without --posterior-map or --posterior-mean."
expect 2 recon scan.h5 -o z.npy --method nlinv --posterior-map n.npy --force
said "larmor: --posterior-map and --posterior-mean: there are none with --method nlinv."
expect 2 recon scan.h5 -o z.npy --probes 9
said "larmor: --probes: has no effect without --height-map or --width-map."
expect 2 recon scan.h5 -o z.npy --checkpoint c --width-map n.npy --force
said "larmor: --height-map and --width-map: there are none with --checkpoint."
expect 2 recon scan.h5 -o z.npy --noise-map n.npy --noise-samples 1 --force
[ ! -e z.npy ] || fail "a refused call has left an image"
