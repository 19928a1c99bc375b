#!/bin/sh
# convert and compare go image by image: slices with their gaps, series, echoes, oblique and 4D, from any format to any.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
export LARMOR_DEVICE=cpu LARMOR_THREADS=1

# place FILE: what info says of where it lies, without its name; numbers that are rounding are 0.
place() {
    expect 0 info "$1"
    grep -E '^(field of view|centre|axes)' out | sed -E 's/-?[0-9.]+e-[0-9]+/0/g; s/-0\b/0/g'
}
size() {
    expect 0 info "$1"
    sed -n '1s/^[^:]*: [^:]*: //p' out
}

while read -r name flags; do
    # shellcheck disable=SC2086 # words are meant
    expect 0 phantom -o "$name.h5" --coils 1 --snr 30 -q $flags
    reconstruct "$name.h5" -m grid -q -o "$name.i.h5" -o "$name.nii" -o "$name.npy" -o "$name.cfl"
    mkdir "$name"
    for to in h5 nii nii.gz npy cfl png; do expect 0 convert "$name.i.h5" "$name/a.$to" -q; done
    cmp "$name.npy" "$name/a.npy" || fail "$name: .npy of convert is not that of recon"
    cmp "$name.cfl" "$name/a.cfl" && cmp "$name.hdr" "$name/a.hdr" || fail "$name: .cfl of convert is not that of recon"
    place "$name.nii" >direct
    whole=$(size "$name.nii")
    for to in nii nii.gz; do
        place "$name/a.$to" >here
        cmp -s direct here || fail "$name.$to lies elsewhere: $(cat here), not $(cat direct)"
        [ "$(size "$name/a.$to")" = "$whole" ] || fail "$name.$to: $(size "$name/a.$to"), not $whole"
    done
    for from in h5 nii.gz npy cfl; do
        expect 0 compare "$name/a.$from" "$name.i.h5" --tol 1e-6
        for to in h5 nii npy cfl; do
            expect 0 convert "$name/a.$from" "$name/b.$to" -q --force
            expect 0 compare "$name/b.$to" "$name.i.h5" --tol 1e-6
        done
        case $from in npy | cfl) continue ;; esac
        expect 0 convert "$name/b.h5" "$name/c.nii" -q --force
        for there in b.nii c.nii; do
            place "$name/$there" >here
            cmp -s direct here || fail "$name: $there from .$from lies elsewhere: $(cat here), not $(cat direct)"
            [ "$(size "$name/$there")" = "$whole" ] || fail "$name: $there from .$from: $(size "$name/$there"), not $whole"
        done
    done
done <<'END'
series --matrix 24,20 --slices 3 --repetitions 2 --oblique
echoes --matrix 20 --slices 2 --echo-times 2,5 --repetitions 3 --oblique
volumes --traj koosh --matrix 12 --readouts 200 --repetitions 2 --oblique
END
[ "$(size series/a.nii)" = "24 x 20 x 3 x 2, FLOAT32" ] || fail "series are merged: $(size series/a.nii)"
[ "$(sed -n 2p echoes/a.hdr)" = "20 20 1 1 1 2 1 1 1 1 3 1 1 2 1 1" ] || fail "echoes.hdr: $(cat echoes/a.hdr)"
place series/a.nii >here
grep -q 'field of view: 256 x 213.333 x 18 mm' here || fail "slices 6 mm apart are in $(cat here)"

# Images that differ do so in every format, and sizes that differ are refused.
expect 1 compare series/a.nii series/a.h5 --tol 1e-9
expect 0 info series.i.h5
printed "voxels: 10.6667 x 10.6667 x 5 mm"
expect 3 compare series/a.nii volumes/a.h5
said_like '^larmor: series/a.nii against volumes/a.h5: compare: the image is .*\[24, 20, 3, 2\].*, the reference .*\[12, 12, 12, 2\]'
