#!/bin/sh
# Scans that must be refused: one line, exit code 3, no output, the input as it was. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
: "${SPOIL:?names the program that damages scans}"

expect 0 phantom -o good.h5 --matrix 32 --readouts 20 --samples 48 --coils 2 --noise 1e-4 -q

# refused FILE 'REGEX': by recon and by info, and nothing happens to any file.
refused() {
    before=$(cksum "$1" 2>/dev/null || true)
    listed=$(ls -A | grep -v -e '^out$' -e '^err$')
    echo mine >existing.png
    for command in "info $1" "recon $1 -o made.h5" "recon $1 -o made.png -o made.nii.gz" \
        "recon $1 -o existing.png --force"; do
        # shellcheck disable=SC2086 # words are meant
        expect 3 $command
        said_like "$2"
        [ ! -s out ] || fail "$last: nothing expected on stdout"
    done
    [ "$(cat existing.png)" = mine ] || fail "$last: the existing output was touched"
    rm existing.png
    [ "$before" = "$(cksum "$1" 2>/dev/null || true)" ] || fail "$last: the input was changed"
    [ "$listed" = "$(ls -A | grep -v -e '^out$' -e '^err$')" ] || fail "$last: files came or went: $(ls -A)"
}

# spoiled WAY: a copy of the good scan, damaged.
spoiled() {
    cp good.h5 "$1.h5"
    "$SPOIL" "$1.h5" "$1" || fail "spoil $1"
}

refused missing.h5 '^larmor: missing\.h5: no such file\.$'
mkdir folder.h5
for command in "info folder.h5" "recon folder.h5 -o made.h5"; do
    # shellcheck disable=SC2086
    expect 3 $command
    said 'larmor: folder.h5: is a directory, not an MRD file.'
done
if mkfifo pipe.h5 2>/dev/null; then
    expect 3 info pipe.h5
    said 'larmor: pipe.h5: not a regular file (device or pipe).'
fi
: >empty.h5
refused empty.h5 '^larmor: empty\.h5: empty file\.$'
printf 'RIFF and other bytes that are no HDF5\n' >text.h5
refused text.h5 '^larmor: text\.h5: not HDF5 \(first bytes are "RIFF.*"\)\. MRD raw data is needed\.$'
size=$(wc -c <good.h5)
for part in 2 3; do
    head -c $((size * (part - 1) / part)) good.h5 >cut.h5
    refused cut.h5 "^larmor: cut\.h5: file cut short: $((size * (part - 1) / part)) of $size bytes\. Copy it again\.$"
done
# HDF5 1.10 divides by the size of an array type, here 0, and its process dies; later versions refuse it
cp good.h5 crash.h5
place=$(grep -abo position good.h5 | head -n 1 | cut -d: -f1)
printf '\0\0\0\0' | dd of=crash.h5 bs=1 seek=$((place + 24)) conv=notrunc 2>/dev/null
refused crash.h5 '^larmor: crash\.h5: (its reader ended .*: the file is damaged|damaged HDF5 structure .*)\. Copy it again\.$'
spoiled group
expect 0 recon -q --threads 1 -i 2 good.h5 -o good.npy
expect 0 recon --threads 1 -i 2 group.h5 -o group.npy
grep -qx 'warning: no scan in /dataset: /other is read, the only group that has xml and data\.' err ||
    fail "group.h5: the group that is read is not said"
cmp -s good.npy group.npy || fail "group.h5: another image than that of the same scan in /dataset"
expect 3 info group.h5 --group dataset
said 'larmor: group.h5: no group /dataset; found /other. Use --group.'
spoiled groups
refused groups.h5 '^larmor: groups\.h5: no group /dataset; found /one, /two\. Use --group\.$'
expect 0 recon -q --threads 1 -i 2 groups.h5 --group two -o two.npy
cmp -s good.npy two.npy || fail "groups.h5: another image than that of the same scan in /dataset"
printf 'yardl\1\0\0\0 and a schema\n' >version2.mrd
refused version2.mrd '^larmor: version2\.mrd: MRD version 2 .*by mrd_to_ismrmrd and ismrmrd_stream_to_hdf5\.$'
spoiled header
refused header.h5 '^larmor: header\.h5: header line [0-9]+: '
spoiled no-header
refused no-header.h5 '^larmor: no-header\.h5: /dataset has no xml header\.$'
spoiled no-acquisitions
refused no-acquisitions.h5 '^larmor: no-acquisitions\.h5: no acquisitions\.$'
spoiled nan
refused nan.h5 '^larmor: nan\.h5: 1 non-finite value.* acquisition 2, channel 0, sample 0\. Use --drop-nonfinite'
expect 0 info nan.h5 --drop-nonfinite
printed '1 left out as not finite'
spoiled samples
refused samples.h5 '^larmor: samples\.h5: acquisition 2: header says [0-9]+ samples x 2 channels, [0-9]+ numbers stored\.$'
spoiled no-extent
refused no-extent.h5 '^larmor: no-extent\.h5: .*trajectory'

# Outputs that cannot be written are found before the input is read.
expect 1 recon good.h5 -o nowhere/x.h5
said_like '^larmor: nowhere/x\.h5: no such folder'
expect 2 recon good.h5 -o x.tiff
said_like '^larmor: x\.tiff: '
echo mine >kept.h5
expect 5 recon good.h5 -o kept.h5
said_like '^larmor: kept\.h5: .*--force'
[ "$(cat kept.h5)" = mine ] || fail "kept.h5 was changed"
expect 2 recon good.h5 -o good.h5 --force
said 'larmor: good.h5: is also the output; choose another name.'
expect 0 info good.h5
