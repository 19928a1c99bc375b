#!/bin/sh
# BART's RING and larmor on the same spokes with gradient delays, which BART simulates: how far each is from the truth, in
# samples, and how long it takes. BART names the axes the other way round, and its delays are those by which gradients are
# early. Needs bart 0.8.
# Usage: tests/bench/delays_compare.sh LARMOR [FOLDER]   (FOLDER keeps the files). SPDX-License-Identifier: Apache-2.0
set -eu
. "$(dirname "$0")/folder.sh"

seconds() {
    began=$(date +%s.%N)
    "$@" >answer 2>/dev/null
    echo "$began $(date +%s.%N)" | awk '{ printf "%.2f", $2 - $1 }'
}
# farthest TRUTH ANSWER: the largest difference of three numbers.
farthest() {
    awk -v a="$1" -v b="$2" 'BEGIN {
        split(a, x, ","); split(b, y, ","); most = 0
        for (i = 1; i <= 3; i++) { d = x[i] - y[i]; if (d < 0) d = -d; if (d > most) most = d }
        printf "%.4f", most }'
}

# 64 x 64, 8 coils, spokes of 128 samples; noise: its variance for `bart noise`, where the largest sample is 1.
echo "| spokes | angles | noise | delays x, y, xy | larmor: error | s | BART estdelay -R: error | s |"
echo "|---|---|---|---|---|---|---|---|"
while read -r name flags spokes noise delays; do
    early=$(echo "$delays" | awk -F, '{ printf "%g:%g:%g", -$2, -$1, -$3 }')
    bart traj -r $flags -x 64 -y "$spokes" -o 2 nominal
    bart traj -r $flags -x 64 -y "$spokes" -o 2 -O -q "$early" delayed
    bart phantom -k -s 8 -t delayed unscaled
    bart scale 1.6076e-4 unscaled exact
    bart noise -s 7 -n "$noise" exact kspace
    "$larmor" convert --traj nominal.cfl --kspace kspace.cfl -o scan.h5 --force -q
    own_time=$(seconds "$larmor" traj --from scan.h5 --delays -q)
    own=$(farthest "$delays" "$(cat answer)")
    bart_time=$(seconds bart estdelay -R -r 4 nominal kspace)
    bart=$(farthest "$delays" "$(awk -F: '{ printf "%g,%g,%g", -$2, -$1, -$3 }' answer)")
    echo "| $spokes | $name | $noise | $delays | $own | $own_time | $bart | $bart_time |"
done <<'SCANS'
even -D 65 0 0.5,-0.3,0.1
even -D 65 0 2,-2,0.5
even -D 65 1e-5 1.3,-0.7,0.4
even -D 65 1e-4 1.3,-0.7,0.4
even -D 9 1e-5 1.3,-0.7,0.4
golden -G 65 0 1.3,-0.7,0.4
golden -G 65 1e-5 1.3,-0.7,0.4
golden -G 65 1e-5 2,-2,0.5
golden -G 9 1e-5 1.3,-0.7,0.4
SCANS
