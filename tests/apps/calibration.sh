#!/bin/sh
# Undersampled Cartesian scans with calibration lines, judged by the image. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
: "${MAKE_SCAN:?names the program that writes scans}"

# Maps from the data leave the coils' shading in the image, which is 0.15 of a fully sampled one.
near_truth() {
    expect 0 compare "$1" truth.h5 --magnitude --tol "$2"
    echo "$last: $(cat out), at most $2"
}

# Lines flagged 20 and 21 together give the maps, also of repetitions without any, and complete their own image.
"$MAKE_SCAN" integrated scan.h5 truth.h5
expect 0 info scan.h5
printed '^calibration: 16 of its readouts complete images that lack them$'
printed '^group 0: .*repetition 0.*: 38 readouts x 64 samples$'
printed '^group 1: .*repetition 1.*: 22 readouts x 64 samples$'
for repetition in 0 1; do
    reconstruct scan.h5 -o "image$repetition.h5" --repetition $repetition
    near_truth "image$repetition.h5" 0.18
done
reconstruct scan.h5 -o grid.h5 --method grid --repetition 0 -q
near_truth grid.h5 0.25

# The image's own lines are part of the calibration whether they are flagged or not.
"$MAKE_SCAN" unflagged unflagged.h5 truth.h5
reconstruct unflagged.h5 -o unflagged-image.h5 -q
near_truth unflagged-image.h5 0.18

# A block of another contrast gives the maps, but stays out of the image, and the log reports it.
"$MAKE_SCAN" contrast contrast.h5 truth.h5
reconstruct contrast.h5 -o contrast-image.h5
grep -q '^warning: 16 readouts for calibration give coil maps alone: their signal on the same lines differs' err ||
    fail "a warning of the other contrast expected"
near_truth contrast-image.h5 0.18

# The reference library's own generator, where it is installed.
tool=ismrmrd_generate_cartesian_shepp_logan
if command -v $tool >/dev/null; then
    $tool -m 64 -c 4 -n 1e-4 -C -o full.h5 >tool.log
    reconstruct full.h5 -o full-image.h5 -q
    for case in 2,0.04 3,0.1 4,0.18; do
        rm -f scan.h5 # the tool would append to it
        $tool -m 64 -c 4 -n 1e-4 -C -r 2 -a "${case%,*}" -w 24 -o scan.h5 >tool.log
        reconstruct scan.h5 -o image.h5 --repetition 1 -q --force
        expect 0 compare image.h5 full-image.h5 --magnitude --tol "${case#*,}"
        echo "$tool -a ${case%,*}: $(cat out), at most ${case#*,}"
    done
    rm -f scan.h5
    $tool -m 64 -c 4 -n 1e-4 -C -k -a 2 -w 24 -o scan.h5 >tool.log # with a trajectory
    reconstruct scan.h5 -o image.h5 --repetition 1 -q --force
    expect 0 compare image.h5 full-image.h5 --magnitude --tol 0.04
fi
