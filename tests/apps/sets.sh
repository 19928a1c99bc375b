#!/bin/sh
# Maps with several sets, as ESPIRiT makes them: each set has an image, what is written is their root sum of squares.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
: "${SPOIL:?names the program that damages scans}"
expect 0 phantom -o scan.h5 --traj golden --matrix 64 --coils 4 --noise 1e-5 --noise-scan 40 --maps maps.cfl -q

# The second set is empty, or the first once more: then the image is that of one set, or each has half of it.
bytes=$(wc -c <maps.cfl)
{ cat maps.cfl; head -c "$bytes" /dev/zero; } >empty.cfl
cat maps.cfl maps.cfl >twice.cfl
for name in empty twice; do
    printf '# Dimensions\n64 64 1 4 2 1 1 1 1 1 1 1 1 1 1 1\n' >$name.hdr
done
close="--lambda 1e-6 --tol 1e-6 --iters 100 --delays off"
for method in grid "cg $close --memory 1G" "cg $close --toeplitz off --memory 9M" "cg $close --eps 1e-7 --memory 1G" \
    "tv --lambda 1e-5 --tol 1e-4 --delays off --memory 1G"; do
    # shellcheck disable=SC2086 # words are meant
    expect 0 recon scan.h5 -o one.npy --maps maps.cfl --method $method --precond none --force -q
    for name in empty twice; do
        # shellcheck disable=SC2086 # words are meant
        expect 0 recon scan.h5 -o two.npy --maps $name.cfl --method $method --force -q
        expect 0 compare two.npy one.npy --magnitude --tol 2e-3 # tv ends elsewhere: .00098 to .00101 by rounding
        echo "$method, $name: $(cat out)"
    done
done

# Maps of all channels with several sets serve a scan of which a coil is left out.
cp scan.h5 dead.h5
"$SPOIL" dead.h5 dead-coil
for name in maps empty twice; do
    reconstruct dead.h5 -o "dead-$name.npy" --maps $name.cfl --precond none --lambda 1e-3 --tol 1e-6
    grep -q '^warning: channel 3 has no signal; left out' err || fail "a warning of the coil expected"
done
for name in empty twice; do
    expect 0 compare dead-$name.npy dead-maps.npy --magnitude --tol 1e-3
done
reconstruct scan.h5 -o all.npy --maps maps.cfl --precond none --lambda 1e-3 --tol 1e-6 -q
expect 0 compare dead-twice.npy all.npy --magnitude --tol 0.1

# Arrays of other formats, too.
expect 0 recon scan.h5 -o two.npy --maps twice.cfl --method grid --force -q
expect 0 convert twice.cfl twice.npy
expect 0 recon scan.h5 -o again.npy --maps twice.npy --method grid --force
grep -q 'twice.npy, 2 sets' err || fail "the log does not say that there are two sets"
expect 0 compare again.npy two.npy --tol 1e-7

# What they are not for is refused before any work.
expect 2 recon scan.h5 -o x.npy --maps twice.cfl --method tv --joint -q
said "larmor: twice.cfl: several sets of maps are for --method cg, grid, tv, tgv and wavelet, without --joint; got tv."
expect 2 recon scan.h5 -o x.npy --maps twice.cfl --precond circulant -q
said 'larmor: --precond circulant: is not for several sets of maps, and twice.cfl has 2.'
printf '# Dimensions\n64 32 1 4 4 1 1 1 1 1 1 1 1 1 1 1\n' >twice.hdr
expect 3 recon scan.h5 -o x.npy --maps twice.cfl -q
said_like '^larmor: twice.cfl: maps of 64x32 voxels without a field of view, and the grid has 64x64 voxels over 256 x 256 x 5 mm\. Say what the maps cover (.*), and they are interpolated\.$'
