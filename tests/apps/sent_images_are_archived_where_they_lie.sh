#!/bin/sh
# From the scanner to the archive: what a server makes of a scan and a client writes as DICOM is the volume that recon writes
# as NIfTI, voxel for voxel and at the same places. SPDX-License-Identifier: Apache-2.0
here=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/support.sh"
export LARMOR_DEVICE=cpu
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
last="serve --port 0"
"$LARMOR" serve --port 0 >line 2>log &
server=$!
until_true "the line that says where it listens" test -s line
address=$(sed -n 's/^listening on //p' line)

# place FILE: where an image lies, as info says it.
place() {
    expect 0 info "$1"
    grep -E '^(field of view|centre|axes|voxels|orientation): ' out
}

while read -r name flags; do
    # shellcheck disable=SC2086 # words are meant
    expect 0 phantom -o "$name.h5" --coils 3 --snr 30 -q $flags
    expect 0 recon "$name.h5" -q -o "$name.nii"
    mkdir "$name.one"
    for output in "$name.dcm/" "$name.one/x.dcm"; do
        expect 0 send "$name.h5" "$address" -q -o "$output"
        place "$name.nii" >ours
        place "$output" >theirs
        cmp ours theirs || fail "$output: lies elsewhere: $(diff ours theirs)"
        if command -v dcm2niix >/dev/null 2>&1; then
            rm -rf made
            mkdir made
            dcm2niix -b n -z n -f '%s_%e' -o made "${output%/*}" >log2 2>&1 || { cat log2; fail "$output: dcm2niix"; }
            "${PYTHON:-python3}" "$here/same_place.py" "$name.nii" made/*.nii || fail "$output: not the volume of $name.nii"
        fi
    done
done <<'END'
slices --matrix 24,20 --readouts 30 --slices 3 --oblique --repetitions 2
volume --traj stars --matrix 16,12,4 --oblique
END
kill -s INT $server
wait $server || true
server=
command -v dcm2niix >/dev/null 2>&1 || echo "left out: values, as dcm2niix is not installed"
