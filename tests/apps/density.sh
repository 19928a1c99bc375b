#!/bin/sh
# larmor dcf, and --dcf of recon: weights of scans and of trajectories. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

expect 0 phantom -o scan.h5 --truth truth.h5 --maps maps.cfl --traj golden --matrix 48 --coils 2 -q
expect 0 traj --traj golden --matrix 48 -o traj.npy -q

# A scan and its trajectory have the same weights, and recon uses them.
for method in auto ramp voronoi spiral pipe; do
    expect 0 dcf scan.h5 -o "scan-$method.npy" --method "$method"
    grep -qE '^wrote .*: weights of 96 x 76 samples, their sum is 1[78][0-9]{2}' err || fail "$method: the area of the disc expected"
    expect 0 dcf --traj traj.npy --matrix 48 -o "traj-$method.npy" --method "$method"
    expect 0 compare "scan-$method.npy" "traj-$method.npy" --tol 0.02 # a reflection may be just outwards, or not
    reconstruct scan.h5 -o "$method.h5" --method grid --dcf "$method" --maps maps.cfl --save-density "recon-$method.npy" -q
    expect 0 compare "scan-$method.npy" "recon-$method.npy" --tol 1e-6
    expect 0 compare "$method.h5" truth.h5 --inside 2
    nrmse_at_most 0.08
done

# The default says what it takes, once for all images.
reconstruct scan.h5 -o default.h5 --method grid --maps maps.cfl
[ "$(grep -c '^density: pipe, for all images$' err)" = 1 ] || fail "one line of the density expected"
expect 0 compare default.h5 pipe.h5 --tol 1e-6

# A program reads what was written.
expect 0 dcf --traj traj.npy --matrix 48 -o traj-auto.npy --force --json
for line in '"input": "traj.npy",' '"output": "traj-auto.npy",' '"method": "pipe",' '"matrix": [48, 48],' '"samples": 96,' \
    '"readouts": 76,'; do
    grep -qxF "  $line" out || fail "$last: no $line"
done
sum=$(sed -n 's/.*their sum is \([0-9]*\).*/\1/p' err)
grep -qE "^  \"sum\": $sum[.][0-9]*$" out || fail "$last: the sum of the log, $sum, expected"

# A .cfl is as good; what cannot be is refused, and nothing is left.
expect 0 traj --traj koosh --matrix 12 -o koosh.cfl -q
expect 0 dcf --traj koosh.cfl --matrix 12,12,12 -o koosh.npy
expect 2 dcf --traj koosh.cfl --matrix 12,12,12 -o refused.npy --method voronoi
said_like 'density voronoi: .* use larmor_density_pipe$'
expect 2 dcf --traj koosh.cfl -o refused.npy
said_like 'dcf: --traj needs --matrix'
expect 2 dcf scan.h5 --traj koosh.cfl --matrix 12 -o refused.npy
expect 2 dcf -o refused.npy
expect 2 dcf scan.h5 -o refused.nii
expect 2 dcf scan.h5 --image 1 -o refused.npy
[ ! -e refused.npy ] || fail "a refused command left a file"
