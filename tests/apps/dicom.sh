#!/bin/sh
# recon and convert write DICOM folders and files: all files or none, the same ones again, valid for dciodvfy and the same volume as
# .nii for dcm2niix, where these are installed. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
export LARMOR_DEVICE=cpu
here=$(cd "$(dirname "$0")" && pwd)

has() {
    command -v "$1" >/dev/null 2>&1 || { missing="$missing $1"; return 1; }
}
missing=

# Every file of a folder is valid by dicom3tools.
valid() {
    has dciodvfy || return 0
    for file in "$1"/*.dcm; do
        dciodvfy "$file" >verdict 2>&1 || true
        ! grep -q '^Error' verdict || { cat verdict; fail "$file: dciodvfy finds errors"; }
    done
}

# same_volume FOLDER FILE.nii [SERIES]: what dcm2niix makes of the folder has its values at its places, and another folder's not.
same_volume() {
    has dcm2niix || return 0
    rm -rf made
    mkdir made
    dcm2niix -b n -z n -f '%s_%e' -o made "$1" >log 2>&1 || { cat log; fail "$1: dcm2niix"; }
    "${PYTHON:-python3}" "$here/same_place.py" "$2" made/"${3:-1}"_*.nii || fail "$1: not the volume of $2"
}

while read -r name flags; do
    # shellcheck disable=SC2086 # words are meant
    expect 0 phantom -o "$name.h5" --coils 2 --snr 30 -q $flags
    reconstruct "$name.h5" -m grid -q -o "$name.i.h5" -o "$name.nii" -o "$name.dcm/" --dicom-phase
    valid "$name.dcm"
    same_volume "$name.dcm" "$name.nii"
    # one file for all slices
    mkdir "$name.one"
    reconstruct "$name.h5" -m grid -q -o "$name.one/x.dcm"
    valid "$name.one"
    same_volume "$name.one" "$name.nii"
    # and one for their phases, which dcm2niix takes for such
    mkdir "$name.both"
    reconstruct "$name.h5" -m grid -q -o "$name.both/x.dcm" --dicom-phase
    cmp "$name.one/x.dcm" "$name.both/x.dcm" || fail "$name: phases change the magnitudes"
    valid "$name.both"
    mkdir "$name.phase"
    mv "$name.both/x_phase.dcm" "$name.phase"
    case $name in slices) ;; *)
        reconstruct "$name.h5" -m grid -q --bids-dir "$name.set" -o sub-1_part-phase_T1w.nii
        same_volume "$name.phase" "$name.set/sub-1/anat/sub-1_part-phase_T1w.nii" 2 ;;
    esac
    # a rerun, from an image or with another name, has the same bytes
    reconstruct "$name.h5" -m grid -q -o "$name.again.dcm/" --dicom-phase
    diff -r "$name.dcm" "$name.again.dcm" || fail "$name: a rerun wrote other files"
    expect 0 convert "$name.i.h5" "$name.c.dcm/" -q
    valid "$name.c.dcm"
    same_volume "$name.c.dcm" "$name.nii"
done <<'END'
slices --matrix 20,16 --slices 3 --oblique --echo-times 4,9 --repetitions 2
volume --traj stars --matrix 16,12,4 --oblique
one --matrix 24
END

# three slices, two echoes and two repetitions, twice
[ "$(find slices.dcm -name 'IM_*.dcm' | wc -l)" -eq 12 ] || fail "slices.dcm: magnitudes"
[ "$(find slices.dcm -name 'PH_*.dcm' | wc -l)" -eq 12 ] || fail "slices.dcm: phases"
[ "$(find volume.c.dcm -type f | wc -l)" -eq 4 ] || fail "volume.c.dcm"

# As many images as slices: the size of a voxel is that of .nii.
expect 0 phantom -o equal.h5 --matrix 16 --slices 2 --repetitions 2 -q
expect 0 recon equal.h5 -m grid -q -o equal.nii -o equal.dcm
expect 0 info equal.nii
grep '^voxels' out >voxels
expect 0 info equal.dcm
grep -Fxq "$(cat voxels)" out || fail "equal.dcm: $(grep '^voxels' out), of .nii $(cat voxels)"

expect 0 convert one.i.h5 y.dcm --dicom-phase -q
rm y.dcm
expect 5 convert one.i.h5 y.dcm --dicom-phase
said "larmor: y.dcm: y_phase.dcm exists already; --force overwrites it"
[ ! -e y.dcm ] || fail "$last: one of two files was written"
expect 5 convert one.i.h5 one.dcm/
said "larmor: one.dcm/: exists already; --force overwrites it"
expect 0 convert one.i.h5 one.dcm/ --force
said_like '^wrote one\.dcm/, black 0, white [0-9.]+$'
touch one.dcm/notes.txt
expect 5 convert one.i.h5 one.dcm/ --force
said "larmor: one.dcm/: holds notes.txt, which is no .dcm file; choose another name."
[ -e one.dcm/notes.txt ] && [ -e one.dcm/IM_000001.dcm ] || fail "$last: the folder was changed"
expect 2 recon one.h5 -o one.png --anonymous
said "larmor: --anonymous: has no effect with --output one.png; it is an option of a .dcm or a .dcm/."
expect 2 convert one.i.h5 one.png --dicom-phase
said "larmor: --dicom-phase: has no effect with one.png; it is an option of a .dcm or a .dcm/."
for name in slices.dcm/ slices.one/x.dcm; do
    expect 0 info $name
    grep -q "^$name: DICOM, 4 images in 2.25.*: 20 x 16 x 3, 16 bit$" out || fail "$last: $(cat out)"
done
[ -z "$(find . -name '.*part*')" ] || fail "something temporary is left"

[ -z "$missing" ] || echo "left out, because they are not installed:$(echo "$missing" | tr ' ' '\n' | sort -u | tr '\n' ' ')"
