#!/bin/sh
# --bids writes the sidecar of a NIfTI file: its values, both files or none. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
export LARMOR_DEVICE=cpu
python=${PYTHON:-python3}

# says FILE EXPRESSION: of the object j in a file of JSON
says() {
    "$python" -c 'import json, sys; j = json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' "$1" "$2" ||
        fail "$1: not $2: $(cat "$1")"
}

expect 0 phantom -o echoes.h5 --matrix 16 --coils 2 --slices 2 --echo-times 4,9 --snr 30 -q
expect 0 recon echoes.h5 -m grid -q -o a.nii.gz -o a.h5 --bids
says a.json 'j["EchoTime"] == [0.004, 0.009] and j["MagneticFieldStrength"] == 3 and j["MRAcquisitionType"] == "2D"'
says a.json '"FlipAngle" not in j and "RepetitionTime" not in j and j["ConversionSoftware"] == "larmor"'
expect 0 convert a.h5 b.nii --bids -q
cmp a.json b.json || fail "convert writes another sidecar"
expect 0 recon echoes.h5 -m grid -q -o one.nii --contrast 1 --bids
says one.json 'j["EchoTime"] == 0.009'
expect 0 phantom -o volume.h5 --traj stars --matrix 16,16,4 --coils 2 -q
expect 0 recon volume.h5 -m grid -q -o v.nii --bids
says v.json 'j["MRAcquisitionType"] == "3D" and "EchoTime" not in j'

# both files or none
cp a.h5 c.h5
echo old >c.json
expect 5 convert c.h5 c.nii --bids
said "larmor: c.nii: c.json exists already; --force overwrites it"
[ ! -e c.nii ] && [ "$(cat c.json)" = old ] || fail "$last: something was written"
expect 0 convert c.h5 c.nii --bids --force -q
says c.json 'j["Modality"] == "MR"'
expect 2 convert c.h5 c.png --bids
said "larmor: --bids: has no effect with c.png; it is an option of a .nii or a .nii.gz."
expect 2 recon echoes.h5 -o c.png --bids
said "larmor: --bids: has no effect with --output c.png; it is an option of a .nii or a .nii.gz."
[ -z "$(find . -name '.*part*')" ] || fail "something temporary is left"
