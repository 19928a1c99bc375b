#!/bin/sh
# Input files with a value that is not finite: their name and its place, exit code 3, and no output.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

# spoiled FROM TO BYTES INDEX: a copy of a .npy of float32 or complex64 whose element, of so many bytes, is NaN.
spoiled() {
    cp "$1" "$2"
    begins=$((10 + $(od -An -tu2 -j8 -N2 "$1")))
    printf '\000\000\300\177' | dd of="$2" bs=1 seek=$((begins + $3 * $4)) conv=notrunc 2>/dev/null
}

expect 0 phantom -q -o scan.h5 --traj radial --matrix 16 --coils 2 --noise 1e-3 --maps maps.npy
spoiled maps.npy nan_maps.npy 8 $((8 + 16 * 8)) # [16, 16, 2] complex
expect 0 recon -q -i 2 --maps maps.npy scan.h5 -o image.npy
spoiled image.npy nan_image.npy 8 35
expect 0 traj -q --traj radial --matrix 16 --readouts 8 --samples 16 -o traj.npy
expect 0 nufft -q -t traj.npy --type 2 --modes 16,16 image.npy -o samples.npy
spoiled samples.npy nan_samples.npy 8 18

refused() {
    line=$1
    shift
    expect 3 "$@" -o made.npy
    said "larmor: $line"
    [ ! -e made.npy ] || fail "$last: made an output"
}
maps='nan_maps.npy: 1 value is not finite, the first at [8, 8, 0].'
image='nan_image.npy: 1 value is not finite, the first at [3, 2].'
refused "$maps" recon -q -i 2 --maps nan_maps.npy scan.h5
refused "$maps" recon -q -m grid --maps nan_maps.npy scan.h5
refused "$maps" b0 -q --maps nan_maps.npy scan.h5
refused "$image" convert nan_image.npy
expect 3 convert nan_image.npy made.nii
said "larmor: $image"
for order in "nan_image.npy image.npy" "image.npy nan_image.npy"; do
    # shellcheck disable=SC2086 # words are meant
    expect 3 compare $order
    said "larmor: $image"
done
refused "$image" recon -q -i 2 --girf nan_image.npy --girf-spacing 1000 scan.h5
refused "$image" recon -q -i 2 --basis nan_image.npy scan.h5
refused "$image" recon -q -i 2 --dictionary nan_image.npy --rank 1 scan.h5
refused "$image" recon -q -i 2 --b0 nan_image.npy scan.h5
refused "$image" nufft -q -t traj.npy --type 2 --modes 16,16 nan_image.npy
refused 'nan_samples.npy: 1 value is not finite, the first at [2, 1].' \
    nufft -q -t traj.npy --type 1 --modes 16,16 nan_samples.npy
spoiled maps.npy three.npy 8 40 # no trajectory, but an array
refused 'three.npy: 1 value is not finite, the first at [8, 2, 0].' \
    nufft -q -t three.npy --type 1 --modes 16,16 samples.npy
refused 'three.npy: 1 value is not finite, the first at [8, 2, 0].' dcf -q --traj three.npy --matrix 16
