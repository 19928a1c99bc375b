#!/bin/sh
# Several scans in one call: the images of each are those of a call for it alone. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

mkdir in
expect 0 phantom -o in/a.h5 --matrix 32 --coils 3 --snr 30 -q
expect 0 phantom -o in/b.h5 --matrix 24 --coils 2 --slices 2 --snr 30 -q
expect 0 phantom -o in/c.h5 --matrix 24 --coils 2 --traj spiral -q
for scan in a b c; do expect 0 recon in/$scan.h5 -o $scan.h5 --method cg -q; done

expect 0 recon in/a.h5 in/b.h5 in/c.h5 --out-dir made --method cg -q
printed '^scan +image +seconds +method +warnings$'
printed '^in/a.h5 +32x32 +[0-9.]+ +cg +[0-9]+$'
printed '^in/b.h5 +24x24 \(2\) +[0-9.]+ +cg +[0-9]+$'
[ "$(wc -l <out)" -eq 4 ] || fail "a line for each scan and a head expected"
mv out table
for scan in a b c; do expect 0 compare made/$scan.h5 $scan.h5 --tol 0; done
[ "$(ls made | tr '\n' ' ')" = "a.h5 b.h5 c.h5 " ] || fail "other images than expected"

# What exists stays, unless --force is given, and the others are made.
rm made/b.h5
expect 5 recon in/a.h5 in/b.h5 --out-dir made --method cg -q
printed '^in/a.h5 +failed: .*made/a.h5.*exists'
printed '^in/b.h5 +24x24'
expect 0 compare made/b.h5 b.h5 --tol 0
expect 0 recon in/a.h5 in/b.h5 --out-dir made --method cg -q --force

# One that fails leaves the others; the code is that of the first.
echo nonsense >in/bad.h5
expect 3 recon in/a.h5 in/bad.h5 in/none.h5 in/c.h5 --out-dir more -o .npy -o .h5 --method cg -q
printed '^in/bad.h5 +failed: '
printed '^in/none.h5 +failed: '
[ "$(ls more | tr '\n' ' ')" = "a.h5 a.npy c.h5 c.npy " ] || fail "other images than expected: $(ls more)"
expect 0 compare more/c.h5 c.h5 --tol 0

# Objects of --json, one for each scan, without the table.
expect 0 recon in/a.h5 in/c.h5 --out-dir json --method cg --json -q
[ "$(grep -c '^{' out)" -eq 2 ] || fail "two objects expected"

# What cannot be meant is refused before anything is done.
mkdir in/other
cp in/a.h5 in/other/a.h5
refused() {
    line=$1
    shift
    expect 2 recon "$@" -q
    said "larmor: $line"
}
refused 'recon: unexpected argument "in/b.h5": several scans in one call need --out-dir DIR; an image is named by -o.' \
    in/a.h5 in/b.h5 -o x.h5
refused "recon: --output FILE is needed; 'larmor recon --help' says more." in/a.h5
refused '--output x.nii: with --out-dir the suffix of all images expected, such as .nii.' in/a.h5 --out-dir x -o x.nii
refused '--save-maps: names a file of one scan; leave it out with --out-dir.' in/a.h5 --out-dir x --save-maps m.h5
for given in "in/a.h5 in/other/a.h5 --out-dir x" "in/a.h5 in/b.h5 --out-dir in --force"; do
    # shellcheck disable=SC2086 # words are meant
    "$LARMOR" recon $given -q 2>err && fail "recon $given: refusal expected"
    said_like '(a|b)\.h5'
done
[ ! -e x ] || fail "a folder was made for what was refused"
