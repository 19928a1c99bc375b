#!/bin/sh
# --bids writes the sidecar of a NIfTI file, its values, both files or none; --bids-dir a data set. SPDX-License-Identifier: Apache-2.0
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
# a data set: names, what describes it, the same names again
in_set() {
    # shellcheck disable=SC2086 # words are meant
    expect 0 recon "$1" -m grid -q --bids-dir set -o "$2" ${3:-}
}
expect 0 phantom -o times.h5 --matrix 16 --coils 2 --repetitions 3 --tr 5 -q
in_set echoes.h5 sub-01_part-mag_acq-spokes_MEGRE.nii.gz
in_set echoes.h5 sub-01_part-phase_acq-spokes_MEGRE.nii.gz
in_set echoes.h5 sub-01_ses-2_T1w.nii "--contrast 1"
in_set times.h5 sub-02_run-01_task-rest_bold.nii
(cd set && find . -type f | sort) >names
cat >expected <<'END'
./dataset_description.json
./participants.tsv
./sub-01/anat/sub-01_acq-spokes_echo-1_part-mag_MEGRE.json
./sub-01/anat/sub-01_acq-spokes_echo-1_part-mag_MEGRE.nii.gz
./sub-01/anat/sub-01_acq-spokes_echo-1_part-phase_MEGRE.json
./sub-01/anat/sub-01_acq-spokes_echo-1_part-phase_MEGRE.nii.gz
./sub-01/anat/sub-01_acq-spokes_echo-2_part-mag_MEGRE.json
./sub-01/anat/sub-01_acq-spokes_echo-2_part-mag_MEGRE.nii.gz
./sub-01/anat/sub-01_acq-spokes_echo-2_part-phase_MEGRE.json
./sub-01/anat/sub-01_acq-spokes_echo-2_part-phase_MEGRE.nii.gz
./sub-01/ses-2/anat/sub-01_ses-2_echo-2_T1w.json
./sub-01/ses-2/anat/sub-01_ses-2_echo-2_T1w.nii
./sub-02/func/sub-02_task-rest_run-01_bold.json
./sub-02/func/sub-02_task-rest_run-01_bold.nii
END
cmp names expected || fail "$(cat names)"
printf 'participant_id\nsub-01\nsub-02\n' | cmp - set/participants.tsv || fail "$(cat set/participants.tsv)"
says set/dataset_description.json 'j["Name"] == "set" and j["DatasetType"] == "raw" and j["GeneratedBy"][0]["Name"] == "larmor"'
phase=set/sub-01/anat/sub-01_acq-spokes_echo-2_part-phase_MEGRE.json
says "$phase" 'j["Units"] == "rad" and j["EchoTime"] == 0.009'
says set/sub-02/func/sub-02_task-rest_run-01_bold.json 'j["TaskName"] == "rest" and j["RepetitionTime"] > 0'
in_set times.h5 sub-02_run-01_task-rest_bold.nii --force
(cd set && find . -type f | sort) | cmp - names || fail "a rerun has other names"
expect 5 recon times.h5 -m grid -q --bids-dir set -o sub-02_run-01_task-rest_bold.nii
echo '{"Name": "mine"}' >set/dataset_description.json
in_set times.h5 sub-02_run-01_task-rest_bold.nii --force
says set/dataset_description.json 'j == {"Name": "mine"}'
in_set times.h5 sub-02_run-01_task-rest_bold.nii "--force --bids-anew"
says set/dataset_description.json 'j["Name"] == "set"'
expect 2 recon times.h5 --bids-dir set -o sub-02_bold.nii
said "larmor: --bids-dir: --output sub-02_bold.nii: bids name sub-02_bold.nii: got no task-, which bold must have."
expect 2 recon times.h5 --bids-dir set -o sub-02_T1w.png
said "larmor: --bids-dir: --output sub-02_T1w.png: a .nii or a .nii.gz expected."
expect 2 recon times.h5 echoes.h5 --out-dir images --bids-dir set
said "larmor: --bids-dir: names a file of one scan; leave it out with --out-dir."
expect 2 recon times.h5 -o a.nii --bids-anew
said "larmor: --bids-anew: has no effect without --bids-dir."

[ -z "$(find . -name '.*part*')" ] || fail "something temporary is left"
