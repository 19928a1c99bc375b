#!/bin/sh
# The main job from nothing: build larmor, simulate a multi-coil golden-angle scan, reconstruct it, compare with the truth.
# Leaves demo/scan.h5, demo/truth.h5, demo/image.h5, demo/image.nii.gz and demo/image.png. SPDX-License-Identifier: Apache-2.0
set -eu
cd "$(dirname "$0")/.."
scripts/deps.sh build
cmake --preset cpu -DLARMOR_TESTS=OFF >/dev/null
cmake --build --preset cpu
larmor=build/cpu/apps/larmor
mkdir -p demo

run() {
    echo "\$ larmor $*"
    "$larmor" "$@"
}
run phantom -o demo/scan.h5 --traj golden --matrix 256 --readouts 256 --samples 512 --coils 8 --noise 1e-4 --seed 1 \
    --noise-scan 4096 --oblique --truth demo/truth.h5 --maps demo/maps.cfl --force
run recon demo/scan.h5 -o demo/image.h5 -o demo/image.nii.gz -o demo/image.png --force
run recon demo/scan.h5 -o demo/image_true_maps.h5 --maps demo/maps.cfl --force --quiet

echo "NRMSE against the truth. Maps from the data's own centre leave the coils' common shading in the image:"
run compare demo/image.h5 demo/truth.h5 --magnitude
echo "With the phantom's true maps, which no scan knows, what is left is noise and the corners of k-space:"
run compare demo/image_true_maps.h5 demo/truth.h5
