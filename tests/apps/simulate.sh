#!/bin/sh
# phantom: series, moving and large objects, patterns of lines, faults of a scanner; and files as BART has them.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

dims() {
    [ "$(sed -n 2p "$1.hdr" | awk '{ print $1, $2, $3, $4, $5 }')" = "$2" ] || fail "$1.hdr: $(cat "$1.hdr"), expected $2"
}

# image NAME: what recon with the true maps makes of NAME.h5, and how far it is from the truth, or below the limit.
image() {
    name=$1
    shift
    reconstruct "$name.h5" -o "$name-image.h5" --maps "$name-maps.cfl" -q --force
    expect 0 compare "$name-image.h5" "$name-truth.h5" "$@"
    cut -d' ' -f2 out
}
simulate() {
    name=$1
    shift
    expect 0 phantom -o "$name.h5" --truth "$name-truth.h5" --maps "$name-maps.cfl" --coils 4 -q --force "$@"
}
below() {
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }' || fail "$3: $1, expected below $2"
}

# A series has other spokes in each repetition: gridding all of them as one scan fills the gaps.
for traj in radial golden spiral stars koosh; do
    case $traj in
    stars) matrix=16,16,4 ;;
    koosh) matrix=8 ;;
    *) matrix=16 ;;
    esac
    expect 0 traj -o r0.npy --traj $traj --matrix $matrix --readouts 5 -q --force
    expect 0 traj -o r1.npy --traj $traj --matrix $matrix --readouts 5 --repetition 1 -q --force
    ! cmp -s r0.npy r1.npy || fail "$traj: two repetitions have the same readouts"
done
simulate still --traj golden --matrix 32 --readouts 20 --repetitions 2
for repetition in 0 1; do
    reconstruct still.h5 -o "still$repetition.npy" --maps still-maps.cfl --repetition $repetition -q
done
! cmp -s still0.npy still1.npy || fail "two repetitions made one image, so their angles are the same"
simulate same --traj golden --matrix 32 --readouts 20 --repetitions 2 --same-angles
for repetition in 0 1; do
    reconstruct same.h5 -o "same$repetition.npy" --maps same-maps.cfl --repetition $repetition -q
done
cmp same0.npy same1.npy || fail "--same-angles: two repetitions of one object differ"

# Its truth moves with the object: what comes out is that of its own repetition, and of no other.
simulate moving --matrix 32 --repetitions 3 --drift 15,-10 --rotation 40 --breathing 8 --breathing-period 4 --contrast 0.5
image moving --tol 0.14 >error
for repetition in 0 1 2; do
    reconstruct moving.h5 -o one.npy --maps moving-maps.cfl --repetition $repetition -q --force
    expect 0 phantom -o other.h5 --truth other.npy --matrix 32 -q --force
    if [ $repetition -eq 0 ]; then
        expect 0 compare one.npy other.npy --tol 0.14
    else
        expect 1 compare one.npy other.npy --tol 0.5
    fi
done

# An object that is wider than the field of view: lines twice as dense see all of it along x, and the truth does not fold.
simulate wide --traj cartesian --matrix 32,64 --samples 64 --object-size 1.5 --phantom disc --maps-matrix 64,64
dims wide-maps "64 64 1 4 1"
image wide --tol 0.02 >error

# Cartesian lines: of 64 every second, 16 in the middle, 8 of which are in both; or 16 on their own, of which recon takes 8 into
# the image, too.
simulate lines --traj cartesian --matrix 64 --acceleration 2 --calibration-lines 16
expect 0 info lines.h5
printed '40 acquisitions: .* 16 calibration'
expect 0 phantom -o separate.h5 --traj cartesian --matrix 64 --acceleration 2 --calibration-lines 16 --calibration separate -q
expect 0 info separate.h5
printed '48 acquisitions: 40 imaging, 16 calibration'
simulate part --traj cartesian --matrix 64 --partial-fourier 0.625
expect 0 info part.h5
printed '40 acquisitions: 40 imaging'

# Faults of a scanner, which recon does not correct: each makes the image worse.
simulate good --matrix 32 --traj spiral
good=$(image good)
for fault in "--off-resonance 150" "--field-gradient 300,100" "--delays 1,-1"; do
    # shellcheck disable=SC2086 # words are meant
    simulate bad --matrix 32 --traj spiral $fault
    bad=$(image bad)
    below "$good" "$(awk -v a="$bad" 'BEGIN { print a / 1.5 }')" "$fault"
done
simulate zero --matrix 32 --traj spiral --delays 0,0 --field-gradient 0
cmp zero.h5 good.h5 || fail "faults of size 0 change the scan"
expect 0 phantom -o field.h5 --matrix 12,8 --off-resonance 10 --field-gradient 120 --field-map field.cfl -q
dims field "12 8 1 1 1"

# info reports a dead coil; its map is zero.
simulate dead --matrix 32 --dead-coils 1 --noiseless-coils 1,2 --noise 1e-3
expect 0 info dead.h5
printed '^coils: 3 '

# Noise by the image's SNR: with twice as much the Cartesian image is half as far from the truth.
simulate snr --traj cartesian --matrix 48 --phantom texture --snr 10
coarse=$(image snr)
simulate snr --traj cartesian --matrix 48 --phantom texture --snr 40
below "$(image snr)" "$(awk -v a="$coarse" 'BEGIN { print a / 2 }')" "snr 40 against snr 10"

# Files as BART reads them, and as convert and recon read them again.
simulate bart --matrix 32 --readouts 40
expect 0 convert bart-truth.h5 truth.cfl
dims bart-maps "32 32 1 4 1"
dims truth "32 32 1 1 1"
expect 0 traj -o k.cfl --matrix 32 --readouts 40 -q
dims k "3 64 40 1 1"
expect 0 nufft --type 2 -t k.cfl --modes 32,32 bart-maps.cfl -o y.cfl -q
dims y "1 64 40 4 1"
expect 0 nufft --type 2 -t k.cfl --modes 32,32 bart-maps.cfl -o y.npy -q
expect 0 nufft --type 1 -t k.cfl --modes 32,32 y.cfl -o back.cfl -q
dims back "32 32 1 4 1"
expect 0 convert --traj k.cfl --kspace y.cfl -o from-cfl.h5 -q
expect 0 convert --traj k.cfl --kspace y.npy -o from-npy.h5 -q
cmp from-cfl.h5 from-npy.h5 || fail "convert: .cfl and .npy of larmor nufft make two scans"
expect 0 phantom -o solid.h5 --traj stars --matrix 8,8,4 --coils 2 --maps solid-maps.cfl --truth solid.cfl -q
dims solid-maps "8 8 4 2 1"
dims solid "8 8 4 1 1"

# What makes no sense is refused, with the option that helps.
expect 2 phantom -o none.h5 --noise-scan 64
said 'larmor: --noise-scan "64": there is no noise; give --noise SIGMA or --snr X, too.'
expect 2 phantom -o none.h5 --snr 5 --noise 1e-3
said 'larmor: --snr "5": --noise states the noise already; give one of them.'
expect 2 phantom -o none.h5 --drift 3
said_like '^larmor: --drift, .*; give --repetitions N, too\.$'
expect 2 phantom -o none.h5 --coils 3 --dead-coils 0,3
said 'larmor: --dead-coils "0,3": numbers of coils from 0 to 2 expected, like 0,2.'
expect 2 phantom -o none.h5 --coils 2 --dead-coils 0,1
said 'larmor: --dead-coils "0,1": these are all coils; leave one of them out.'
expect 2 phantom -o none.h5 --coils 2 --noiseless-coils 1,
expect 2 phantom -o none.h5 --coils 0 --dead-coils 0
expect 2 phantom -o none.h5 --traj golden --acceleration 2
said_like '^larmor: traj: golden got acceleration'
expect 2 phantom -o none.h5 --traj cartesian --partial-fourier 0.5
[ ! -e none.h5 ] || fail "a refused simulation left a file"
