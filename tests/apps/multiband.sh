#!/bin/sh
# larmor recon --multiband: slices that were excited together, over trajectories, numbers of slices and noise, beside
# scans of single slices with as many readouts for each slice in all. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT

phantom() {
    expect 0 phantom -q --force -o scan.h5 --truth truth.h5 --maps maps.cfl --matrix 24 --coils 8 --phantom texture "$@"
}

recon_options="--delays off --memory 1G" compare_options="--inside 2"

# Without noise images are those of single slices, whatever the trajectory: what is left is what rounding, lambda and
# corners of k-space leave.
scene() {
    name="$1 slices at $2, $3"
    phantom --multiband "$1" --traj $3 # unquoted: an option with it
    at_most "$(nrmse scan.h5 --multiband "$2" --lambda 1e-6)" "$4" 1 "$name"
}
scene 3 -40,0,40 "spiral --readouts 12" 0.02
in_all scene 4 -60,-20,20,60 "radial --readouts 80" 0.02
scene 2 -20,20 cartesian 0.02

# Slices at once are no worse than one after the other in the same time, where each of N has a part of the time and so
# sqrt(N) times the noise: what the coils lose by separating them is less (docs/records/multiband.md).
for scene in "spiral 12 2 -20,20 10 7.071" "golden 75 3 -40,0,40 10 5.774" "golden 75 3 -40,0,40 30 17.32"; do
    case $scene in golden*30*) ;; *) [ -n "$every" ] || continue ;; esac
    # shellcheck disable=SC2086
    set -- $scene
    phantom --multiband 1 --traj "$1" --readouts "$2" --snr "$6"
    single=$(nrmse scan.h5)
    phantom --multiband "$3" --traj "$1" --readouts "$2" --snr "$5"
    at_most "$(nrmse scan.h5 --multiband "$4")" "$single" 1.1 "$scene"
done
grep -q '^multiband: 3 slices at -40, 0, 40 mm, whose phases are 2 pi s j / 3$' log || fail "$(cat log)"

# Maps from the data: as good where the centre of k-space tells the slices apart, and a warning where it does not.
phantom --multiband 2 --traj golden --readouts 75 --snr 30 --oblique
reconstruct scan.h5 -o image.h5 --force --method cg --multiband -20,20
expect 0 compare image.h5 truth.h5 --magnitude
nrmse_at_most 0.08
expect 0 info truth.h5
grep -E '^(field|centre|axes)' out >expected
expect 0 info image.h5
grep -E '^(field|centre|axes)' out >got
cmp -s expected got || fail "places: $(cat got), expected $(cat expected)"
phantom --multiband 3 --traj cartesian --snr 30
reconstruct scan.h5 -o image.h5 --force --method cg --multiband -40,0,40
grep -q 'coil maps cannot be trusted' err || fail "$last: $(cat err)"

# The header is enough, also for maps and in a stream; what differs from it is a warning.
phantom --multiband 3 --traj spiral --readouts 12 --snr 30 --caipi 6
reconstruct scan.h5 -o given.npy --maps maps.cfl --method cg --lambda 1e-3 --multiband -40,0,40 --multiband-phase caipi:6
! grep -q '^warning: multiband' err || fail "$last: options and header agree: $(cat err)"
reconstruct scan.h5 -o own.npy --maps maps.cfl --method cg --lambda 1e-3
grep -q '^multiband: 3 slices at -40, 0, 40 mm, whose phases are 2 pi s j / 6, by the header$' err || fail "$(cat err)"
cmp given.npy own.npy || fail "$last: the image is that of the options"
reconstruct scan.h5 -o other.npy --maps maps.cfl --method cg --lambda 1e-3 --multiband -40,0,40
grep -q "^warning: multiband: the header has slices whose phases are 2 pi s j / 6: the options are taken.$" err ||
    fail "$last: $(cat err)"
! cmp -s other.npy own.npy || fail "$last: the options are taken"
! grep -q '^warning: multiband: phases of the other sign' err || fail "$last: neither sign is right: $(cat err)"
reconstruct scan.h5 -o other.npy --force --maps maps.cfl --method cg --lambda 1e-3 --multiband -40,0,40 --multiband-phase caipi:-6
grep -q '^warning: multiband: phases of the other sign explain the samples better: ' err || fail "$last: $(cat err)"

# Phases in a file that are those of the header but for rounding and whole turns are no other ones, and lines stay on
# the grid; others are a warning.
cat >phases.py <<'X'
import math, sys
from npy import save
readouts, slices, shifts, late = (int(word) for word in sys.argv[1:5])
values = [math.remainder(2 * math.pi * s * (j + late) / shifts, 2 * math.pi) for s in range(slices) for j in range(readouts)]
save(sys.argv[5], (readouts, slices), values)
X
# in_file PLACES SHIFTS READOUTS OPTION...
in_file() {
    places=$1 shifts=$2 readouts=$3
    shift 3
    phantom "$@"
    slices=$(($(printf %s "$places" | tr -dc , | wc -c) + 1))
    reconstruct scan.h5 -o header.npy --force --maps maps.cfl --method cg --lambda 1e-3 --iters 10
    "$PYTHON" phases.py "$readouts" "$slices" "$shifts" 0 phases.npy
    expect 0 recon scan.h5 -o image.npy --force --maps maps.cfl --method cg --lambda 1e-3 --iters 10 --multiband "$places" --multiband-phase phases.npy
    ! grep '^warning' err || fail "$last: phases of the file are those of the header"
    expect 0 compare image.npy header.npy
    nrmse_at_most 1e-4
    "$PYTHON" phases.py "$readouts" "$slices" "$shifts" 1 phases.npy
    reconstruct scan.h5 -o image.npy --force --maps maps.cfl --method cg --lambda 1e-3 --iters 10 --multiband "$places" --multiband-phase phases.npy
    grep -q "^warning: multiband: the header has slices whose phases are 2 pi s j / $shifts: those of each readout that are given are taken\.\$" err ||
        fail "$last: $(cat err)"
}
in_file -20,20 2 24 --multiband 2 --traj cartesian --snr 100
in_file -40,0,40 6 12 --multiband 3 --traj spiral --readouts 12 --snr 30 --caipi 6

expect 0 info scan.h5
grep -q '^  multiband:    factor 3, dZ -40, 0, 40 mm, deltaKz -0.5, calibration other by encoding 0$' out || fail "$(cat out)"
grep -q '^recon would make 1 image, ' out || fail "$(cat out)"
expect 0 info scan.h5 --json
grep -q '"multiband": "3 slices at -40, 0, 40 mm, whose phases are 2 pi s j / 6, by the header"' out || fail "$(cat out)"
expect 0 check scan.h5
grep -q '^note: multiband: 3 slices at -40, 0, 40 mm, whose phases are 2 pi s j / 6, by the header$' out || fail "$(cat out)"
reconstruct scan.h5 -o other.npy --force --method cg --lambda 1e-3 --multiband -20,20
grep -q '^warning: multiband: 2 slices are asked for, the header has a multiband_factor of 3: the options are taken.$' err ||
    fail "$last: $(cat err)"
reconstruct scan.h5 -o sum.cfl --method cg --lambda 1e-3 --multiband off
[ "$(sed -n 2p sum.hdr | cut -d' ' -f1-3)" = "24 24 1" ] || fail "$last: $(cat sum.hdr)"
expect 0 maps scan.h5 -o own.cfl
[ "$(sed -n 2p own.hdr | cut -d' ' -f1-4)" = "24 24 3 8" ] || fail "$last: $(cat own.hdr)"
"$LARMOR" serve --port 0 -q >line 2>/dev/null &
server=$!
until_true "the line that says where it listens" test -s line
expect 0 recon scan.h5 -o file.npy --method cg --lambda 1e-3
expect 0 send scan.h5 "$(sed -n 's/^listening on //p' line)" -o sent.npy --set method=cg --set lambda=1e-3 -q
kill "$server"
cmp file.npy sent.npy || fail "$last: the image is that of the file"

# What a header cannot mean is refused in a line.
# broken SED TEXT
broken() {
    LC_ALL=C sed "$1" scan.h5 >bad.h5
    expect 3 recon bad.h5 -o bad.npy
    said "larmor: bad.h5: $2"
    [ ! -e bad.npy ] || fail "$last: an image was written"
}
left="give the slices' offsets, or leave the header out."
broken 's/<multiband_factor>3</<multiband_factor>0</' "multiband_factor of the header is no number from 1 to 16; $left"
LC_ALL=C sed 's/<dZ>40</<dZ>-9</' scan.h5 >bad.h5
expect 3 check bad.h5
grep -q '^error: multiband: recon would refuse it: slices of the header' out || fail "$(cat out)"
broken 's/<dZ>40</<dZ>-9</' "slices of the header's multiband (dZ) do not ascend: -9 mm after 0 mm; $left"
broken 's/<dZ>40</<dZ>41</' "slices of the header's multiband (dZ) from -40 to 41 mm are not equally far apart; $left"
broken 's/<deltaKz>-0.5</<deltaKz>0.x5</' "deltaKz of the header's multiband is missing or no number; give the phases, or leave the header out."
broken 's/<deltaKz>-0.5<.deltaKz>/<deltaKy>-0.5<\/deltaKy>/' "deltaKz of the header's multiband is missing or no number; give the phases, or leave the header out."
broken 's/<multiband_factor>3</<multiband_factor>9</' "multiband of the header has 3 dZ for a multiband_factor of 9, expected one of each slice, or the distances between them; $left"

# What does not fit is refused in a line, and no image is left.
rm -f image.h5
expect 2 recon scan.h5 -o image.h5 --multiband 10
said_like 'multiband "10": 2 to 16 ascending numbers in mm with commas between, like -30,0,30, or off'
expect 2 recon scan.h5 -o image.h5 --multiband 0,40 --multiband-phase caipi:0
said 'larmor: --multiband-phase caipi:0: a number from 1 to 1024, or of the other sign, expected after caipi:.'
expect 2 recon scan.h5 -o image.h5 --multiband-phase caipi:3
said 'larmor: --multiband-phase: has no effect without --multiband.'
expect 2 recon scan.h5 -o image.h5 --multiband 0,40 --matrix 24,24,6
grep -q 'scan.h5: --matrix, --fov and --oversample: z are 2 separate slices, nothing lies between them; give the other axes alone' err ||
    fail "$last: $(cat err)"
expect 3 recon scan.h5 -o image.h5 --multiband 0,40 --multiband-phase maps.cfl
said_like 'multiband'
# A scan of one slice.
expect 0 phantom -q --force -o one.h5 --traj golden --matrix 24 --coils 4 --phantom texture --snr 30
reconstruct one.h5 -o one.npy --force --method cg --lambda 1e-3 --iters 10 --multiband -20,20
grep -qE "^warning: multiband: one of 2 slices has (99\.[0-9]*|100) % of the image's energy, as if it alone had been excited\. Check that slices were excited together, and their phases\.\$" err ||
    fail "$last: $(cat err)"
expect 2 phantom --force -o scan.h5 --caipi 3
said 'larmor: --caipi: has no effect without --multiband.'
[ ! -e image.h5 ] || fail "an image was written"
