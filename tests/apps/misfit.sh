#!/bin/sh
# How well an image explains its samples: in the log, the report and the image. Warnings that an image cannot be trusted are
# never hidden and are counted, and a command that fails says so as an object, too. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
: "${SPOIL:?names the program that damages scans}"

expect 0 phantom -o right.h5 --matrix 48 --coils 4 --snr 30 --noise-scan 2000 --maps maps.cfl -q

# A right scan.
expect 0 recon right.h5 -o right-image.h5 --json
grep -q '^image 1 of 1: misfit: 0\.[0-9]* of the samples, 0[.0-9]* beyond noise; chi squared [01]\.' err ||
    fail "$last: the misfit expected in the log"
! grep -q '^warning:' err || fail "$last: a right scan is warned of"
printed '^  "suspect": 0,$'
printed '^  "warnings": \[\],$'
printed '^    "beyond_noise": 0'
printed '^      "misfit": {$'
grep -q LarmorMisfitBeyondNoise right-image.h5 || fail "right-image.h5 has no LarmorMisfitBeyondNoise"

# Gradients that are said to be late: the samples are not explained, and --quiet says it, too.
expect 0 recon right.h5 -o wrong.h5 --maps maps.cfl --delays 9,-9 --json -q
grep -q '^warning: image 1 of 1: the image does not explain its samples: [0-9]* % of them beyond noise is left over' err ||
    fail "$last: a warning expected"
! grep -v '^warning: ' err || fail "$last: nothing but warnings expected"
printed '^  "suspect": 1,$'
printed '^    "image 1 of 1: the image does not explain its samples'
grep -q 'LarmorWarning' wrong.h5 || fail "wrong.h5 has no LarmorWarning"

# Spikes and samples that were cut off are named, and no sample of a right scan is: without noise spokes are alike at k = 0.
for way in spike clip; do
    case $way in
    spike) text='1 sample is far from the centre 8 times those around, the largest in readout 5, sample 24, coil 0' ;;
    clip) text='[0-9]* values of coil 2 are just its largest, 0\.01, first in readout [0-9]*, sample [0-9]*: the receiver was full' ;;
    esac
    for traj in golden 'cartesian --samples 96'; do
        # shellcheck disable=SC2086
        expect 0 phantom -o $way.h5 --traj $traj --matrix 48 --coils 4 --snr 40 --force -q
        "$SPOIL" $way.h5 $way
        reconstruct $way.h5 -o $way.npy --force -q
        grep -q "^warning: image 1 of 1: $text" err || fail "$traj: $text expected"
    done
done
for traj in radial 'golden --samples 65' spiral cartesian; do
    # shellcheck disable=SC2086
    expect 0 phantom -o clean.h5 --traj $traj --matrix 48 --coils 1 --force -q
    expect 0 recon clean.h5 -o clean.npy --force -q
    [ ! -s err ] || fail "$traj: a clean scan is warned of: $(cat err)"
    expect 0 check clean.h5
    printed '0 errors, 0 warnings$'
done

# Gaps in the centre are no fault where maps come from all of k-space.
expect 0 phantom -o gaps.h5 --traj spiral --undersampling 3 --matrix 48 --coils 8 --snr 30 -q
expect 0 check gaps.h5
printed '^note: calibration: the centre of k-space has gaps: recon finds maps by nonlinear inversion'
! grep -q '^warning: calibration' out || fail "$last: a warning of gaps"

# The noise is that of a sample as it was acquired, with and without a noise scan, oversampled or not, of few lines.
noise_of() {
    reconstruct noisy.h5 -o noisy.npy --json --force
    awk -F': ' '/^  "noise"/ { exit !($2 + 0 >= '"$1"' && $2 + 0 <= '"$2"') }' out || fail "$last: noise of $1 to $2 expected"
}
expect 0 phantom -o noisy.h5 --traj cartesian --matrix 64 --samples 128 --coils 6 --noise 5e-4 --acceleration 4 \
    --calibration-lines 16 --force -q
noise_of 4.8e-4 5.2e-4
expect 0 phantom -o noisy.h5 --traj golden --matrix 64 --undersampling 4 --coils 6 --noise 5e-4 --force -q
noise_of 4.8e-4 5.2e-4
expect 0 phantom -o noisy.h5 --traj cartesian --matrix 64 --samples 128 --coils 6 --noise 5e-4 --noise-scan 2000 --force -q
noise_of 0.999 1.001

# An object for each command that fails, on one that asks for it, and nothing else on stdout.
failed() {
    code=$1 text=$2
    shift 2
    expect "$code" "$@" --json
    printed '^  "exit_code": '"$code"',$'
    printed '^  "error": ".*'"$text"
    printed '^  "command": "'"$1"'",$'
    expect "$code" "$@"
    [ ! -s out ] || fail "$*: nothing on stdout expected"
}
failed 3 'no such file' recon none.h5 -o x.nii
failed 2 'unknown option' recon right.h5 -o x.nii --nonsense
failed 3 'no such file' info none.h5
failed 2 'expected' compare right-image.h5
