#!/bin/sh
# larmor recon with terms of a model: images of scans that see concomitant fields, a field camera's phases and
# off-resonance are as near to the truth as those of scans that see none. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

recon_options="--lambda 2e-3 --delays off --memory 1G"

# Concomitant fields at low field, in a slice off the isocentre, in an oblique one, and in a volume.
scene() {
    name=$1
    shift
    expect 0 phantom -q --force -o plain.h5 --truth truth.h5 --maps maps.cfl --snr 30 --coils 3 --phantom texture "$@"
    expect 0 phantom -q --force -o seen.h5 --snr 30 --coils 3 --phantom texture --concomitant "$@"
    best=$(nrmse plain.h5 --concomitant off)
    blurred=$(nrmse seen.h5 --concomitant off)
    grep -q concomitant log && fail "$name: concomitant fields though they are off: $(cat log)"
    corrected=$(nrmse seen.h5)
    grep -q '^concomitant fields: up to [0-9.]* rad at [0-9.]* T, .*(--concomitant off)$' log || fail "$name: $(cat log)"
    grep -q '^model: [0-9]* terms\{0,1\} beside the Fourier transform, [0-9]* products\{0,1\}, error ' log ||
        fail "$name: $(cat log)"
    at_least "$blurred" "$best" 1.25 "$name, without the model"
    at_most "$corrected" "$best" 1.1 "$name, with it"
}
in_all scene "slice" --traj spiral --matrix 32 --readouts 6 --dwell 8 --position 0,0,80 --field-strength 0.04
scene "oblique" --traj spiral --matrix 32 --readouts 6 --dwell 8 --oblique --field-strength 0.015
in_all scene "volume" --traj koosh --matrix 10,10,10 --dwell 4 --field-strength 0.008 --undersampling 2

# They are left out where they are small, and asked for where the scan says too little.
expect 0 phantom -q --force -o weak.h5 --traj spiral --matrix 32 --readouts 6 --coils 3 --phantom texture --position 0,0,20
expect 0 recon weak.h5 -o image.h5 --force --method cg
grep -q concomitant err && fail "3 T: $(cat err)"
expect 0 recon weak.h5 -o image.h5 --force --method cg --concomitant on --field-strength 0.5
grep -q '^model: ' err || fail "$last: $(cat err)"
# At usual field strengths they are in the model where samples have them.
expect 0 phantom -q --force -o high.h5 --traj spiral --matrix 32 --readouts 2 --dwell 0.5 --coils 3 --position 0,0,120 \
    --field-strength 1.5
expect 0 recon high.h5 -o image.h5 --force --method grid
grep -q '^concomitant fields: up to .* at 1.5 T, .*: they are not in the model.* (--concomitant on)$' err ||
    fail "$last: $(cat err)"
grep -q '^model: ' err && fail "$last: $(cat err)"
expect 0 recon high.h5 -o image.h5 --force --method grid --concomitant on
grep -q '^model: ' err || fail "$last: $(cat err)"

# A field camera's phases, and off-resonance at once. Columns are 1, x, y, z, xy, zy, 2z2-x2-y2, xz, x2-y2.
expect 0 phantom -q --force -o plain.h5 --truth truth.h5 --maps maps.cfl --traj spiral --matrix 32 --readouts 6 \
    --coils 3 --phantom texture --snr 30 --position 0,0,30
samples=$(awk '/^group 0/ {sub(/.* readouts x /, ""); print $1}' <<X
$("$LARMOR" info plain.h5)
X
)
# in rad/m^2, in the last half of a readout
"$PYTHON" - "$samples" <<'X'
import sys
from npy import save
n, most = int(sys.argv[1]), {4: 128, 5: 256, 8: 128}
save("phases.npy", (n, 1, 9), [most.get(column, 0) * (2 * i >= n) for column in range(9) for i in range(n)])
X
expect 0 phantom -q --force -o seen.h5 --traj spiral --matrix 32 --readouts 6 --coils 3 --phantom texture --snr 30 --position 0,0,30 \
    --phase-terms phases.npy --off-resonance 40 --field-shim 60,30,0 --field-map field.nii
best=$(nrmse plain.h5)
at_least "$(nrmse seen.h5)" "$best" 1.4 "phases and field, without the model"
at_least "$(nrmse seen.h5 --b0 field.nii)" "$best" 1.2 "phases, with the field alone"
at_most "$(nrmse seen.h5 --b0 field.nii --phase-terms phases.npy)" "$best" 1.1 "phases and field"

# What does not fit is refused in a line, without an image.
rm -f image.h5
expect 3 recon seen.h5 -o image.h5 --phase-terms field.nii
said_like '--phase-terms: the array is .*, expected \[samples, readouts, 9 or 16 solid harmonics\]\.'
expect 2 recon seen.h5 -o image.h5 --concomitant maybe
[ ! -e image.h5 ] || fail "an image was written"
