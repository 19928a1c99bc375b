#!/bin/sh
# --save-maps and --save-density: what is saved is what was used, in the shapes that recon and BART read.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

# Few noise samples make a whitening matrix that mixes the coils, so that maps which were whitened twice would show.
expect 0 phantom -o scan.h5 --traj golden --matrix 64 --coils 5 --noise 1e-4 --noise-scan 40 -q
for maps in maps.cfl maps.npy maps.h5; do
    reconstruct scan.h5 -o own.npy --lambda 1e-3 --save-maps $maps --force
    grep -q "^wrote $maps: the maps of 5 coils$" err || fail "$last: not said"
    reconstruct scan.h5 -o given.npy --lambda 1e-3 --maps $maps --force -q
    expect 0 compare given.npy own.npy --tol 2e-4
done
expect 0 compare maps.npy maps.cfl --tol 1e-7
expect 0 compare maps.h5 maps.cfl --tol 1e-7
[ "$(sed -n 2p maps.hdr | cut -d' ' -f1-5)" = "64 64 1 5 1" ] || fail "maps.hdr: $(cat maps.hdr)"
expect 0 phantom -o volume.h5 --traj koosh --matrix 16 --coils 3 -q
reconstruct volume.h5 -o own.npy --lambda 1e-3 --save-maps volume.cfl --force -q
[ "$(sed -n 2p volume.hdr | cut -d' ' -f1-5)" = "16 16 16 3 1" ] || fail "volume.hdr: $(cat volume.hdr)"
reconstruct volume.h5 -o given.npy --lambda 1e-3 --maps volume.cfl --force -q
expect 0 compare given.npy own.npy --tol 2e-4

# Where maps are 0 is said, and how much that is.
! grep -q 'less than a hundredth' err || fail "$last: whole maps"
expect 0 phantom -o small.h5 --matrix 32 --coils 3 --snr 50 -q
expect 0 maps small.h5 -m espirit --crop hard -o cropped.cfl -q
reconstruct small.h5 -o small.npy --lambda 1e-3 --maps cropped.cfl
grep -qE '^coil maps: cropped[.]cfl: [1-9][0-9]* % of its voxels have less than a hundredth of the largest value, where iterations with a preconditioner leave images 0$' err ||
    fail "$last: empty voxels"

# A coil that was left out has a map of zeros: the file counts channels as the scan does.
expect 0 phantom -o dead.h5 --traj golden --matrix 64 --coils 5 --noise 1e-4 --noise-scan 40 --dead-coils 3 --noiseless-coils 3 -q
reconstruct dead.h5 -o own.npy --lambda 1e-3 --save-maps maps.cfl --force
grep -q "^wrote maps.cfl: the maps of 4 coils, zeros for 1 left out$" err || fail "$last: not said"
reconstruct dead.h5 -o given.npy --lambda 1e-3 --maps maps.cfl --force -q
expect 0 compare given.npy own.npy --tol 2e-4
[ "$(sed -n 2p maps.hdr | cut -d' ' -f1-5)" = "64 64 1 5 1" ] || fail "maps.hdr: $(cat maps.hdr)"

# The phantom's true maps are saved the same way.
expect 0 phantom -o true-scan.h5 --traj golden --matrix 64 --coils 5 --maps true.h5 --force -q
expect 0 phantom -o true-scan.h5 --traj golden --matrix 64 --coils 5 --maps true.cfl --force -q
expect 0 compare true.h5 true.cfl --tol 1e-7

# The weights of a disc in k-space sum up to its area; numbers begin behind 128 bytes of header.
sum_of() {
    tail -c +129 "$1" | od -An -v -tf8 | awk '{ for (i = 1; i <= NF; i++) s += $i } END { print s }'
}
for way in "--method grid --dcf pipe" "--method grid" "--weighted"; do
    # shellcheck disable=SC2086 # words are meant
    reconstruct scan.h5 -o x.npy --save-density density.npy $way --force -q
    sum=$(sum_of density.npy)
    awk -v sum="$sum" 'BEGIN { area = 3.14159265 * 32 * 32; exit !(sum > 0.95 * area && sum < 1.05 * area) }' ||
        fail "$last: the weights sum up to $sum"
done
reconstruct scan.h5 -o x.npy --save-density density.cfl --method grid --force -q
[ "$(sed -n 2p density.hdr | cut -d' ' -f1-4)" = "1 128 101 1" ] || fail "density.hdr: $(cat density.hdr)"

# What takes long is said: voxels that samples do not resolve.
reconstruct volume.h5 -o fine.npy --method grid --maps none --matrix 48
grep -q '^image: 27 voxels for each that the samples resolve by the header, and each step takes as many times longer' err ||
    fail "$last: small voxels"

# What does not go together.
expect 0 phantom -o many.h5 --matrix 32 --coils 2 --slices 3 --repetitions 2 -q
expect 2 recon many.h5 -o x.npy --save-maps m.npy --force -q
said 'larmor: --save-maps: many.h5 has maps for each of 3 slices; choose one by --slice or --encoding.'
! grep -q '^image:' err || fail "$last: refused after the preparation"
expect 2 maps many.h5 -o m.npy --force
said 'larmor: many.h5: there are maps for each of several slices; choose one by --slice.'
reconstruct many.h5 -o x.npy --save-maps m.npy --slice 1 --force -q
expect 2 recon many.h5 -o x.npy --save-density d.npy --slice 1 --method grid --force -q
said 'larmor: --save-density: many.h5 has weights for each of 2 images; choose one by --slice, --repetition and so on.'
! grep -q '^image:' err || fail "$last: refused after the preparation"
expect 2 recon scan.h5 -o x.npy --save-density d.npy --force
said 'larmor: --save-density: has no effect with --method auto; it is an option of --method grid and of --weighted, without --dcf none.'
expect 2 recon scan.h5 -o x.npy --save-maps d.npy --maps none --method grid --force
said 'larmor: --save-maps: has no effect with --maps none; it is an option of maps from the data.'
expect 2 recon scan.h5 -o x.npy --save-maps m.nii --force
said 'larmor: --save-maps m.nii: a name that ends in .cfl, .npy, .h5 or .png expected.'
expect 2 recon scan.h5 -o x.npy --save-density d.h5 --method grid --force
said 'larmor: --save-density d.h5: a name that ends in .cfl or .npy expected.'
expect 2 recon scan.h5 -o x.npy --save-maps ./x.npy --force
said 'larmor: ./x.npy: is given twice as an output, also as x.npy; once is enough.'
expect 5 recon scan.h5 -o y.npy --save-maps maps.npy
said 'larmor: maps.npy: exists already; --force overwrites it'
