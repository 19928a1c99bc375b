#!/bin/sh
# Coils of Cartesian lines, compressed by a matrix for each place along the readouts, judged by the image.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

# A number of the JSON object that the last run printed.
number() {
    sed -n "s/^  \"$1\": \([0-9.e+-]*\),*$/\1/p" out
}

expect 0 phantom -o scan.h5 --traj cartesian --matrix 64 --coils 32 --phantom texture --acceleration 2 \
    --calibration-lines 24 --snr 100 --maps maps.cfl -q
reconstruct scan.h5 -o all.npy --compress off --maps maps.cfl -q
reconstruct scan.h5 -o one.npy --compress-method svd --compress 0.9995 --maps maps.cfl --json
printed '"coils_method": "svd"'
one=$(number coils)

# By itself the better way is taken: fewer coils, and the same image.
reconstruct scan.h5 -o auto.npy --maps maps.cfl --compress 0.9995 --json
grep -q 'at each place along the readouts by itself' err || fail "the log is to say how coils are compressed"
printed '"coils_method": "geometric"'
[ "$(number coils)" -lt "$one" ] || fail "fewer coils than $one expected"
expect 0 compare auto.npy all.npy --magnitude --tol 0.02
reconstruct scan.h5 -o found.npy -q
reconstruct scan.h5 -o found-all.npy --compress off -q
expect 0 compare found.npy found-all.npy --magnitude --tol 0.02

# Maps are expanded to all coils, and compressed like samples.
reconstruct scan.h5 -o own.npy --compress 4 --compress-method geometric --save-maps own.cfl -q
reconstruct scan.h5 -o again.npy --compress 4 --compress-method geometric --maps own.cfl -q
expect 0 compare again.npy own.npy --tol 1e-4

# Oversampled readouts are cropped first, and an image says how its coils were compressed.
expect 0 phantom -o wide.h5 --traj cartesian --matrix 48 --samples 96 --coils 24 --phantom texture --snr 100 -q
reconstruct wide.h5 -o wide-image.h5 --compress 4 --compress-method geometric -q
expect 0 info wide-image.h5
printed 'LarmorCoils.*24 compressed to 4, energy 0.99[0-9]*, geometric'

# What is no grid of lines takes one matrix, and is refused where another way is asked for.
expect 0 phantom -o spokes.h5 --matrix 32 --coils 16 -q
reconstruct spokes.h5 -o spokes.npy --json
printed '"coils_method": "svd"'
expect 2 recon spokes.h5 -o none.npy --compress-method geometric -q
said_like 'compress-method geometric: the readouts are not complete lines of one grid'
[ ! -e none.npy ] || fail "a refused scan leaves no image"
expect 2 recon spokes.h5 -o none.npy --compress-method best
# More virtual coils than there are coils are refused.
expect 2 recon spokes.h5 -o none.npy --compress 17 -q
said 'larmor: --compress 17: there are 16 coils; a number up to that, or below 1 a part of the energy, expected.'
for compress in 0 -1 1.5 nan inf x ''; do expect 2 recon spokes.h5 -o none.npy --compress "$compress" -q; done
[ ! -e none.npy ] || fail "a refused command leaves an image"

# The description is looked at by whitened virtual coils, too.
expect 0 phantom -o white.h5 --traj golden --matrix 64 --coils 16 --snr 20 --noise-scan 4096 -q
expect 0 recon white.h5 -o white.npy --method grid --delays off
grep -q "compressed to" err || fail "coils were not compressed"
! grep "not compared" err || fail "the description was not looked at"
