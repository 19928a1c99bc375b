#!/bin/sh
# What a format cannot hold in one file is known before anything is computed: several files, or a refusal; and an output
# that fails takes no other one with it. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
: "${SPOIL:?names the program that damages scans}" "${MAKE_SCAN:?names the program that writes scans}"
export LARMOR_DEVICE=cpu LARMOR_THREADS=1

wrote() {
    grep -qF "wrote $1" err || fail "$last: does not say: wrote $1: $(cat err)"
}
place() {
    expect 0 info "$1"
    sed -n '/^centre/p; /^axes/p; /^field/p' out | tr '\n' ';'
}

# Three planes: a .nii of each, and one file of each format that has room for places.
"$MAKE_SCAN" planes planes.h5 truth.h5
reconstruct planes.h5 -m grid -o a.nii -o b.h5 -o c.nii.gz -o d.npy -o e.cfl -o f.png
grep -q '^a.nii: one file cannot hold all images: a_1.nii to a_3.nii are written$' err || fail "the log does not say it: $(cat err)"
for file in 'a_1.nii (1 image)' 'a_2.nii (1 image)' 'a_3.nii (1 image)' 'b.h5 (3 images)' 'c_3.nii.gz (1 image)' 'd.npy (3 images)'; do wrote "$file"; done
[ ! -e a.nii ] && [ ! -e a_4.nii ] || fail "other files: $(ls)"
[ "$(place a_1.nii)" = 'field of view: 64 x 64 x 5 mm;centre: (0, 0, 0) mm, LPS;axes: x (1, 0, 0), y (0, 1, 0), z (0, 0, 1);' ] || fail "a_1.nii: $(place a_1.nii)"
[ "$(place a_2.nii)" = 'field of view: 64 x 64 x 5 mm;centre: (0, 0, 0) mm, LPS;axes: x (0, 1, 0), y (0, 0, 1), z (1, 0, 0);' ] || fail "a_2.nii: $(place a_2.nii)"
for s in 0 1 2; do
    reconstruct planes.h5 -m grid --slice $s -o one.nii --force -q
    cmp one.nii "a_$((s + 1)).nii" || fail "slice $s is not in a_$((s + 1)).nii"
done

# A file of an earlier run under the name that is divided now is named, and left.
echo earlier >before.nii
reconstruct planes.h5 -m grid -o before.nii --force
grep -q '^before.nii: one file cannot hold all images: before_1.nii to before_3.nii are written; the file of that name is an earlier one, and is left as it is$' err || fail "$(cat err)"
[ "$(cat before.nii)" = earlier ] || fail "before.nii was written to"

# What is there, or read, is not written to, and is known before the work.
expect 5 recon planes.h5 -m grid -o a.nii -q
grep -qx 'larmor: a_1.nii: exists already; --force overwrites it' err || fail "$last: does not say what exists: $(cat err)"
expect 0 convert b.h5 x_1.npy -q
expect 2 recon planes.h5 -m grid -o x.nii -o x_1.nii -q
reconstruct planes.h5 -m grid -o a.nii -q --force
expect 2 convert b.h5 no.nii -q
said_like '^larmor: no.nii: image 2 is not parallel to the first; NIfTI holds one orientation, use .h5$'

# Uneven gaps: a file for each run of slices.
"$MAKE_SCAN" gaps gaps.h5 truth.h5 || true
reconstruct gaps.h5 -m grid -o g.nii -o g.h5
wrote 'g_1.nii (3 images)'
wrote 'g_2.nii (1 image)'
[ "$(place g_1.nii)" = 'field of view: 64 x 64 x 21 mm;centre: (0, 0, 7) mm, LPS;axes: x (1, 0, 0), y (0, 1, 0), z (0, 0, 1);' ] || fail "g_1.nii: $(place g_1.nii)"
[ "$(place g_2.nii)" = 'field of view: 64 x 64 x 5 mm;centre: (0, 0, 22) mm, LPS;axes: x (1, 0, 0), y (0, 1, 0), z (0, 0, 1);' ] || fail "g_2.nii: $(place g_2.nii)"

# Encodings of different size: a file of each, or one of them.
expect 0 phantom -o two.h5 --matrix 32 --repetitions 2 --coils 2 -q
"$SPOIL" two.h5 encodings
reconstruct two.h5 -m grid --traj-units 1/fov -o t.h5 -o t.npy -o t.nii
expect 0 info t_1.npy
printed '32 x 32'
expect 0 info t_2.nii
printed '48 x 48'
for e in 0 1; do
    reconstruct two.h5 -m grid --traj-units 1/fov --encoding $e -o only.h5 --force -q
    expect 0 compare only.h5 "t_$((e + 1)).h5" --tol 0
done
expect 2 recon two.h5 -m grid --traj-units 1/fov --encoding 2 -o none.h5 -q
said_like 'no image has the encoding, slice, contrast, phase, repetition and set asked for'

# An output that fails leaves the others: files may have 8 KiB, which .png needs less of, and what .nii.gz needs is not known
# before.
code=0
(
    ulimit -f 16
    exec "$LARMOR" recon planes.h5 -m grid --slice 0 -o big.nii.gz -o small.png
) >out 2>err || code=$?
last="recon with a limit of the size of files"
[ $code -eq 1 ] || fail "$last: exit code $code"
grep -q '^larmor: big.nii.gz: ' err || fail "$last: the output that fails is not named"
wrote 'small.png (1 image'
[ -e small.png ] && [ ! -e big.nii.gz ] || fail "$last: left $(ls)"
