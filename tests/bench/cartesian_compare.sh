#!/bin/sh
# Cartesian SENSE beside BART, in one run: R = 1 to 4 with 24 calibration lines, 8 coils, the same maps. Prints a line for each.
# Usage: tests/bench/cartesian_compare.sh LARMOR [MATRIX [SNR]]. Needs bart, and python3 with h5py and numpy. SPDX-License-Identifier: Apache-2.0
set -eu
larmor=$1
matrix=${2:-128}
snr=${3:-50}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

seconds() { # of a command
    begin=$(date +%s.%N)
    "$@" >log 2>&1 || { cat log; exit 1; }
    date +%s.%N | awk -v b="$begin" '{ printf "%.2f", $1 - b }'
}

error() { "$larmor" compare "$1" truth.cfl --quiet | awk '{ print $2 }'; }

for R in 1 2 3 4; do
    lines=
    [ "$R" -eq 1 ] || lines="--acceleration $R --calibration-lines 24"
    # shellcheck disable=SC2086 # words are meant
    "$larmor" phantom -o scan.h5 --truth truth.cfl --maps maps.cfl --traj cartesian --matrix "$matrix" --coils 8 \
        --snr "$snr" $lines --quiet --force
    own=$(seconds "$larmor" recon scan.h5 -o own.cfl --maps maps.cfl --force)
    # BART takes k-space [x y 1 coils] with zeros where there are no lines
    python3 - "$matrix" <<'END'
import sys, h5py, numpy as np
n = int(sys.argv[1])
data = h5py.File('scan.h5')['dataset/data']
k = np.zeros((8, n, n), np.complex64)
for a in data:
    k[:, a['head']['idx']['kspace_encode_step_1']] = np.frombuffer(a['data'].tobytes(), np.complex64).reshape(8, n)
open('kspace.hdr', 'w').write('# Dimensions\n%d %d 1 8\n' % (n, n))
k.tofile('kspace.cfl')
END
    best=1 time=0
    for weight in 0 0.0001 0.001 0.003 0.01 0.03; do
        took=$(seconds bart pics -S -l2 -r "$weight" -i 60 kspace maps bart)
        now=$(error bart.cfl)
        if awk -v a="$now" -v b="$best" 'BEGIN { exit !(a < b) }'; then best=$now time=$took; fi
    done
    echo "R=$R: larmor $(error own.cfl) in $own s, bart pics $best in $time s at its best weight"
done
