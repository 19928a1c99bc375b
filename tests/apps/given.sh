#!/bin/sh
# A scan with a wrong trajectory gives the right image by --traj, and what is wrong with it is said in one line.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
export LARMOR_DEVICE=cpu

# The image is as near to the truth as says the second argument.
near() {
    expect 0 compare "$1" truth.npy
    awk -v most="$2" '/^nrmse/ && $2 <= most { good = 1 } END { exit !good }' out || fail "$last: above $2"
}

expect 0 phantom -o scan.h5 --traj golden --matrix 64 --coils 4 --snr 100 --delays 2,1 --truth truth.npy \
    --maps maps.npy --noise-scan 500 -q
expect 0 traj --from scan.h5 --delays -o right.npy
for file in right.npy right.cfl; do
    [ $file = right.npy ] || expect 0 traj --from scan.h5 --delays -o right.cfl
    expect 0 recon scan.h5 --traj $file --delays off --maps maps.npy -o image.npy --force
    grep -q "^trajectory: $file, 101 readouts of 128 samples, for each but noise" err || fail "the log does not name $file"
    near image.npy 0.09
done
expect 0 recon scan.h5 --delays off --maps maps.npy -o wrong.npy -q
! (near wrong.npy 0.3 >/dev/null) || fail "the stored trajectory was right"

# Another scan's, which says its unit; a fixed unit that it is not.
expect 0 phantom -o other.h5 --traj golden --matrix 64 --coils 1 --delays 0,0 --units rad -q
expect 0 info scan.h5 --traj other.h5
grep -q "^trajectory from other.h5, 101 readouts of 128 samples" out || fail "info does not say what is given"
expect 0 check scan.h5 --traj right.npy --json
expect 0 maps scan.h5 --traj right.npy -o found.npy -q
expect 3 recon scan.h5 --traj right.npy --traj-units norm -o none.npy
said_like "Is the unit 1/FOV\? Use --traj-units"

expect 0 traj --matrix 64 --readouts 7 -o short.npy
expect 3 recon scan.h5 --traj short.npy -o none.npy
said_like "scan.h5: trajectory short.npy has 7 readouts of 128 samples, which fit neither all 102"
expect 2 recon scan.h5 --traj-weights short.npy -o none.npy
said "larmor: --traj-weights: has no effect without --traj."
expect 3 recon scan.h5 --traj absent.npy -o none.npy
said "larmor: absent.npy: no such file."
[ ! -e none.npy ] || fail "an image was written"
