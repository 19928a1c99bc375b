#!/bin/sh
# Siemens TWIX files give the image of the ISMRMRD scan that has the same readouts; and the commands of docs/convert.md.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
: "${MAKE_TWIX:?names the program that writes TWIX files}"
page=$(cd "$(dirname "$0")/../.." && pwd)/docs/convert.md
export LARMOR_DEVICE=cpu
quick="--method cg --lambda 1e-4 --iters 20 -q"

expect 0 phantom -o scan.h5 --traj cartesian --matrix 64 --coils 4 --snr 50 -q
"$MAKE_TWIX" scan.h5 meas.dat
cp meas.dat before.dat
reconstruct scan.h5 $quick -o image.npy
reconstruct meas.dat $quick -o same.npy
expect 0 compare image.npy same.npy --tol 1e-6

expect 0 info meas.dat
grep -q "^measurement 2 of 2 is read; --group takes the number of another: 1 AdjCoilSens, 2 gre.$" err ||
    fail "$last: the measurements are not listed"
expect 3 info meas.dat --group 1
said "larmor: meas.dat: no acquisitions left after flags (1 read, 1 noise)."
expect 3 info meas.dat --group 3
said_like "^larmor: meas.dat: no measurement 3: it has 2, counted from 1. Use --group."

# All measurements, one, and none that is there.
expect 0 convert meas.dat all.h5 --measurement all
expect 3 info all_1.h5
said "larmor: all_1.h5: no acquisitions left after flags (1 read, 1 noise)."
expect 0 convert meas.dat one.h5
reconstruct all_2.h5 $quick -o all.npy
expect 0 compare image.npy all.npy --tol 1e-6
grep -q 'Doe' all_2.h5 || fail "the patient's name is not what the file says"
expect 0 convert meas.dat anonymous.h5 --anonymous
! grep -q 'Doe' anonymous.h5 || fail "an anonymous scan has the patient's name"
cmp meas.dat before.dat || fail "the file was changed"
expect 2 convert meas.dat x.h5 --measurement 0
said_like '^larmor: --measurement "0": a number from 1 to 64, or all'
expect 2 convert image.npy x.nii --measurement 1
said "larmor: --measurement: has no effect without a TWIX file."
expect 2 convert meas.dat x.npy
said_like "^larmor: meas.dat: is a scan"
expect 5 convert meas.dat one.h5
said_like "^larmor: one.h5: "

# A scan's arrays make the same scan, and its arrays again the same bytes.
expect 0 phantom -o golden.h5 --traj golden --matrix 48 --coils 3 --snr 50 --noise-scan 500 -q
reconstruct golden.h5 $quick -o golden.npy
for suffix in npy cfl; do
    expect 0 convert golden.h5 --save-kspace k.$suffix --save-traj t.$suffix --save-noise n.$suffix
    space=$(sed -n 's/.*coils; //p' err)
    expect 0 convert --kspace k.$suffix --traj t.$suffix $space -o back_$suffix.h5
    expect 0 convert back_$suffix.h5 --save-kspace again.$suffix --save-traj t_again.$suffix
    cmp k.$suffix again.$suffix || fail "samples differ"
    cmp t.$suffix t_again.$suffix || fail "trajectories differ"
done
expect 0 compare k.npy k.cfl --tol 0
head -c 128 n.npy | grep -q "(3, 500)" || head -c 128 n.npy | grep -q "(500, 3)" || fail "noise of another shape"
expect 0 convert meas.dat --save-kspace lines.npy --save-traj lines_t.npy
expect 0 convert scan.h5 --save-kspace same_lines.npy
cmp lines.npy same_lines.npy || fail "lines of the TWIX file differ"
expect 3 convert golden.h5 --save-density d.npy
said_like "^larmor: golden.h5: stores no density; larmor dcf makes one."
expect 3 convert back_npy.h5 --save-noise x.npy
said "larmor: back_npy.h5: has no noise scan."
expect 2 convert golden.h5 other.h5 --save-noise x.npy
said_like "^larmor: convert: --save-kspace, --save-traj, --save-density and --save-noise take one scan"

# A program reads what was written: samples, readouts and coils of both ways are the same.
printed_lines() {
    for line in "$@"; do
        grep -qxF "  $line" out || fail "$last: no $line"
    done
}
expect 0 convert meas.dat one.h5 --force --json
printed_lines '"input": "meas.dat",' '"output": "one.h5",' '"acquisitions": 64'
expect 0 convert meas.dat all.h5 --measurement all --force --json
printed_lines '"input": "meas.dat",' '"output": "all.h5",' '"acquisitions": [1, 64]'
expect 0 convert golden.h5 --save-kspace k.npy --save-traj t.npy --force --json
printed_lines '"kspace": "k.npy",' '"trajectory": "t.npy",' '"samples": 96,' '"readouts": 76,' '"coils": 3,' \
    '"matrix": [48, 48, 1],'
expect 0 convert --kspace k.npy --traj t.npy --matrix 48 -o again.h5 --json
printed_lines '"input": "k.npy",' '"trajectory": "t.npy",' '"samples": 96,' '"readouts": 76,' '"coils": 3,' \
    '"matrix": [48, 48, 1],'
expect 0 convert golden.npy golden.nii --json
printed_lines '"input": "golden.npy",' '"output": "golden.nii",' '"images": 1,' '"shape": [48, 48]'

# A file that is cut.
head -c 100000 meas.dat >cut.dat
expect 0 convert cut.dat cut.h5
grep -q "^the measurement was not ended, or the file is cut short: its [0-9]* complete readouts are read.$" err ||
    fail "$last: no warning"

# The page.
mkdir bin page
ln -s "$LARMOR" bin/larmor
mv meas.dat page
PATH=$folder/bin:$PATH
awk '/^```sh/ { inside = 1; next } /^```/ { inside = 0 } inside' "$page" >commands
[ "$(grep -c '^larmor ' commands)" -ge 4 ] || fail "docs/convert.md has no commands"
last="docs/convert.md"
(cd page && sh -eux ../commands) >out 2>err || fail "the commands of docs/convert.md"
