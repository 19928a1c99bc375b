#!/bin/sh
# Scans whose headers, counters or coils are not what they should be reconstruct, and say what was wrong.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
: "${SPOIL:?names the program that damages scans}" "${MAKE_SCAN:?names the program that writes scans}"

# A header that says nothing at all: the trajectory says all that is needed.
expect 0 phantom -o scan.h5 --truth truth.h5 --maps maps.cfl --matrix 32 --readouts 60 --coils 4 -q
cp scan.h5 bare.h5
"$SPOIL" bare.h5 bare
expect 0 recon scan.h5 -o image.npy --maps maps.cfl -q
expect 0 recon bare.h5 -o bare.npy --maps maps.cfl
[ "$(grep -c '^warning: ' err)" -eq 5 ] || fail "five warnings in one run expected"
expect 0 compare bare.npy image.npy --tol 1e-6

# Spokes that are numbered as slices are one image; --join none accepts the counter.
"$MAKE_SCAN" spokes spokes.h5 spokes-truth.h5
expect 0 recon spokes.h5 -o spokes-image.h5
grep -q '^warning: counter slice reaches 99, encodingLimits end at 3; it is ignored' err || fail "a warning expected"
expect 0 compare spokes-image.h5 spokes-truth.h5 --magnitude --tol 0.22
expect 0 info spokes.h5 --join none
printed '^groups 0 to 99: encoding 0, slice 0 to 99, .*: each 1 readout x 64 samples$'
printed '^recon would make 100 images'
printed '^images 1 to 100: auto on a grid of 64 x 64 x 1, maps from the data, lambda from the data, [0-9.]+ MB on a processor$'
[ "$(wc -l <out)" -le 11 ] || fail "equal groups in one line expected"
expect 0 info spokes.h5 --join slice
printed '^group 0: .*: 100 readouts x 64 samples$'
[ ! -s err ] || fail "no warning expected of what was asked for"
expect 2 info spokes.h5 --join slices
said 'larmor: spokes.h5: --join "slices": auto, none, or slice, contrast, phase, repetition, set or segment, with commas between, expected.'

# A coil without signal or without noise is left out, of given maps as well; the others make the image.
expect 0 phantom -o good.h5 --matrix 32 --readouts 60 --coils 4 --noise 1e-5 --noise-scan 256 -q
for way in quiet-coil dead-coil; do
    cp good.h5 $way.h5
    "$SPOIL" $way.h5 $way
    expect 0 recon $way.h5 -o $way-image.h5 --maps maps.cfl
    grep -qE '^warning: channel 3 has no (noise|signal); left out\.$' err || fail "$way: a warning that names it expected"
    expect 0 compare $way-image.h5 truth.h5 --tol 0.2
    echo "$way: $(cat out), at most 0.2"
    expect 0 info $way.h5
    printed '^coils: 3 \(1 without signal or noise left out\)$'
done
expect 0 phantom -o still.h5 --matrix 32 --readouts 60 --coils 4 --noise 1e-5 --noiseless-coils 0,1,2,3 --noise-scan 256 -q
expect 0 recon still.h5 -o still-image.h5 --maps maps.cfl
grep -q '^warning: the noise scan holds no noise; it is not used\.$' err || fail "a warning expected"
expect 0 compare still-image.h5 truth.h5 --tol 0.2

# The unit of the samples does not matter: not to the image, to the precision of its numbers, nor to any format.
for unit in 1e17 1e-30; do
    noise=$([ $unit = 1e17 ] || echo --noise-scan 256)
    expect 0 phantom -o plain.h5 --matrix 32 --readouts 40 --coils 3 --noise 1e-3 $noise --force -q
    cp plain.h5 scaled.h5
    "$SPOIL" scaled.h5 times-$unit
    expect 0 info scaled.h5
    for method in "grid --maps none" cg; do
        expect 0 recon plain.h5 -o plain.npy --method $method --force -q
        expect 0 recon scaled.h5 -o scaled.npy -o scaled.h5.png -o scaled.nii --method $method --force -q
        for file in scaled.npy scaled.nii; do
            expect 0 compare $file plain.npy --tol 1e-4 --magnitude
        done
    done
done

# Images are described, whatever their format.
expect 0 recon good.h5 -o i.h5 -o i.nii -o i.nii.gz -o i.png -o i.cfl -o i.npy --maps maps.cfl -q
for case in 'i.h5:ISMRMRD images, 1 image in /dataset/image_0: 32 x 32, complex' 'i.nii:NIfTI-1: 32 x 32, FLOAT32' \
    'i.nii.gz:NIfTI-1: 32 x 32, FLOAT32' 'i.png:PNG: 32 x 32, 8 bit grey' 'i.cfl:BART: 32 x 32, c64' \
    'i.npy:NumPy: 32 x 32, c64'; do
    expect 0 info "${case%%:*}"
    grep -qxF "${case%%:*}: ${case#*:}" out || fail "$last: expected ${case#*:}"
done
expect 0 info i.h5
printed '^LarmorCommand: .* recon good\.h5'
printed '^magnitudes: [0-9.e-]+ to [0-9.]+$'
printed '^field of view: 256 x 256 x 5 mm$'
expect 0 info i.h5 --json
printed '"ImageProcessingHistory: LARMOR:(CG-SENSE|TV|TGV|WAVELET)"'
printed '"LarmorMethodFrom: (data|linearity)"'
printf 'not a picture' >i.png
expect 3 info i.png
said 'larmor: i.png: not a PNG picture.'
