#!/bin/sh
# larmor check: nothing in clean scans, and each finding in a scan that was spoiled for it. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

# clean SCAN: no error and no warning.
clean() {
    expect 0 check "$1"
    ! grep -E '^(error|warning):' out || fail "$1: a clean scan has findings"
    printed ': can be reconstructed, 0 errors, 0 warnings$'
    printed '^note: plan: recon: image'
}

# found CODE SEVERITY KIND SCAN [OPTIONS]: the finding is there, on one line.
found() {
    code=$1 severity=$2 kind=$3
    shift 3
    expect "$code" check "$@"
    grep -qE "^$severity: $kind: .+" out || fail "$*: $severity $kind expected"
    [ ! -s err ] || fail "$*: findings go to stdout alone"
}

# spoiled WAY OPTIONS...: a new scan, with four coils and noise, spoiled.
spoiled() {
    way=$1
    shift
    expect 0 phantom -o "$way.h5" --traj golden --matrix 32 --coils 4 --snr 40 -q "$@"
    "$SPOIL" "$way.h5" "$way"
}

for traj in radial golden spiral cartesian; do
    expect 0 phantom -o $traj.h5 --traj $traj --matrix 32 --snr 30 --coils 4 --noise-scan 2000 --oblique -q
    clean $traj.h5
done
expect 0 phantom -o stars.h5 --traj stars --matrix 24,24,6 --snr 30 --coils 4 --noise-scan 2000 -q
clean stars.h5
expect 0 phantom -o series.h5 --matrix 32 --snr 30 --coils 4 --noise-scan 2000 --slices 2 --repetitions 2 -q
clean series.h5

# Calibration lines of their own, as between the few lines of the image.
expect 0 phantom -o separate.h5 --traj cartesian --matrix 64 --acceleration 3 --calibration-lines 16 --calibration separate --snr 30 \
    --coils 8 --noise-scan 2000 -q
clean separate.h5

# ---- it cannot be reconstructed ----

spoiled nan
found 3 error nonfinite nan.h5
printed 'recon would refuse it, 1 error'
found 0 warning nonfinite nan.h5 --drop-nonfinite
spoiled header
found 3 error format header.h5
spoiled no-extent
found 3 error format no-extent.h5
found 3 error file missing.h5
: >empty.h5
found 3 error format empty.h5

# ---- it can, but ----

spoiled dead-coil --noise-scan 2000
found 0 warning dead-coil dead-coil.h5
expect 0 phantom -o dead.h5 --matrix 32 --coils 4 --dead-coils 1 --snr 40 -q
found 0 warning weak-coil dead.h5
spoiled loud-coil
found 0 warning coil-noise loud-coil.h5
spoiled noise-coil
found 0 warning weak-coil noise-coil.h5
"$LARMOR" phantom -o point.h5 --traj cartesian --matrix 32 --coils 4 --snr 40 -q
"$SPOIL" point.h5 point
"$LARMOR" check point.h5 >out 2>err || [ $? -eq 1 ] || fail "check point.h5"
! grep -q 'holds noise alone' out err || fail "point.h5: coils of a point are no noise"
spoiled loud-noise-scan --noise-scan 2000
found 0 warning noise-scan loud-noise-scan.h5
expect 0 phantom -o short.h5 --matrix 32 --coils 8 --snr 40 --noise-scan 20 -q
found 0 warning noise-scan short.h5
spoiled spike
found 0 warning spikes spike.h5
printed 'the largest in readout 5, sample 16, coil 0'
spoiled clip
found 0 warning clipping clip.h5
spoiled crooked
found 0 warning geometry crooked.h5
printed 'first in acquisition 2\.$'
spoiled moved
found 0 warning geometry moved.h5
spoiled stopped --repetitions 3
found 0 warning incomplete stopped.h5
expect 0 phantom -o large.h5 --matrix 32 --coils 4 --object-size 1.3 --snr 40 -q
found 0 warning field-of-view large.h5
expect 0 phantom -o arms.h5 --traj spiral --matrix 48 --coils 6 --undersampling 2 --object-size 1.3 -q
found 0 warning field-of-view arms.h5
expect 0 phantom -o arms.h5 --traj spiral --matrix 48 --coils 6 --undersampling 2 --force -q
expect 0 check arms.h5
! grep -q ': field-of-view: ' out || fail "arms.h5: an object within the field of view is taken for a larger one"
expect 0 phantom -o few.h5 --matrix 64 --coils 2 --readouts 12 --snr 40 -q
found 0 warning undersampling few.h5
expect 0 phantom -o gaps.h5 --traj cartesian --matrix 32 --coils 8 --acceleration 3 --snr 40 -q
found 0 note calibration gaps.h5
expect 0 phantom -o partial.h5 --traj cartesian --matrix 32 --coils 4 --partial-fourier 0.6 --snr 40 -q
found 0 note partial-fourier partial.h5
printed '^note: partial-fourier: .*: recon fills it in [(]--partial-fourier[)][.]$'
expect 0 phantom -o late.h5 --matrix 32 --coils 4 --delays 8,8 --snr 40 -q
found 0 warning centre late.h5
expect 0 phantom -o delay.h5 --traj radial --matrix 48 --coils 4 --delays 1,-0.5 --snr 40 -q
found 0 note delays delay.h5
printed 'late by samples: (1.0|0.9)[0-9] along x, -0.(5|4)[0-9] along y'
expect 0 phantom -o silent.h5 --matrix 32 --coils 4 --noise 0.05 -q
found 0 warning noise-level silent.h5

# A matrix that the header claims costs nothing; --memory is that of recon.
expect 0 phantom -o claims.h5 --traj radial --matrix 32768 --readouts 4 --samples 32 --coils 2 --noise 1e-3 -q
(
    ulimit -v 1000000 # less than a byte for each cell of k-space
    expect 3 check claims.h5 --threads 1 --memory 9G
    printed '^error: plan: recon would refuse it: .* of memory needed .* 9.0 GB allowed'
    printed '^warning: undersampling: '
)
expect 4 check claims.h5 --memory 1G
said_like 'claims.h5: matrix 32768 x 32768 x 1 needs 8 GiB per image; limit is 953.7 MiB [(]--memory[)][.]$'

# As JSON.
expect 3 check nan.h5 --json
printed '^  "reconstructable": false,$'
printed '^      "severity": "error",$'
printed '^      "code": "nonfinite",$'
expect 0 check golden.h5 --json
printed '^  "reconstructable": true,$'
