#!/bin/sh
# Off-resonance: recon --b0 with maps from files, and larmor b0, on spirals of 30 ms. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

spiral="--phantom texture --traj spiral --matrix 48 --readouts 6 --samples 1500 --dwell 20 --coils 4 --snr 40 --oblique -q"
# A gradient moves k-space by 30 ms times itself, and what leaves the spiral on one side is lost: it is a small one where
# images are compared with the truth.
field="--off-resonance -120 --field-gradient 24,-8"
strong="--off-resonance -120 --field-gradient 200,-80"

error() {
    expect 0 compare truth.h5 "$1"
    sed -n 's/^nrmse //p' out
}

at_most() {
    awk "BEGIN { exit !($1 <= $2) }" || fail "$last: $1, at most $2 expected"
}

expect 0 phantom $spiral -o resonant.h5 --truth truth.h5 --maps maps.cfl
expect 0 phantom $spiral $field -o off.h5 --field-map f.nii
expect 0 phantom $spiral $field -o t.h5 --field-map f.npy --force
expect 0 phantom $spiral $field -o t.h5 --field-map f.h5 --force
expect 0 phantom ${spiral%%--matrix*} --matrix 30 ${spiral#*--matrix 48} $field -o t.h5 --field-map coarse.nii --force
expect 0 recon resonant.h5 -o resonant.cfl --method cg --maps maps.cfl
resonant=$(error resonant.cfl)
expect 0 recon off.h5 -o blurred.cfl --method cg --maps maps.cfl
at_most "5 * $resonant" "$(error blurred.cfl)"

# A field that is not linear in space: the map explains what blurs.
curved="--phantom texture --traj spiral --matrix 24 --readouts 4 --samples 200 --dwell 20 --coils 3 --snr 40 -q"
expect 0 phantom $curved -o r.h5 --truth t.h5 --maps m.cfl --force
expect 0 phantom $curved -o c.h5 --field-shim 40,-20 --field-dipole 40,.1,-.1 --field-map c.nii
expect 0 recon r.h5 -o r.cfl --method cg --maps m.cfl --force
expect 0 compare t.h5 r.cfl --inside 1
resonant_curved=$(sed -n 's/^nrmse //p' out)
expect 0 recon c.h5 -o c.cfl --method cg --maps m.cfl
expect 0 compare t.h5 c.cfl --inside 1
at_most "1.25 * $resonant_curved" "$(sed -n 's/^nrmse //p' out)"
expect 0 recon c.h5 -o c.cfl --method cg --maps m.cfl --b0 c.nii --force
expect 0 compare t.h5 c.cfl --inside 1
at_most "$(sed -n 's/^nrmse //p' out)" "1.1 * $resonant_curved"

# Every kind of file; the coarse one lies obliquely in space as the scan does.
for map in f.nii f.h5 f.npy coarse.nii; do
    expect 0 recon off.h5 -o image.cfl --method cg --maps maps.cfl --b0 $map --force
    cp err log
    at_most "$(error image.cfl)" "1.1 * $resonant"
done
grep -qE "^off-resonance: -13[0-9] .. -10[0-9] Hz, readouts from 0 to 30 ms: [3-9] segments$" log ||
    fail "$last: the range and the segments expected in the log"

# The number of segments is the least that is exact enough: many more change nothing, fewer do.
expect 0 phantom $spiral $strong -o strong.h5 --field-map strong.nii
expect 0 recon strong.h5 -o image.cfl --method cg --maps maps.cfl --b0 strong.nii --lambda 1e-3 --json --force
segments=$(sed -n 's/^ *"segments": \([0-9]*\),*$/\1/p' out | head -1)
[ "$segments" -gt 8 ] || fail "$last: $segments segments"
grep -q '"terms": [1-9]' out || fail "terms in the report expected"
expect 0 recon strong.h5 -o many.cfl --method cg --maps maps.cfl --b0 strong.nii --lambda 1e-3 --b0-error 1e-5
expect 0 compare image.cfl many.cfl --tol 1e-3
expect 0 recon strong.h5 -o few.cfl --method cg --maps maps.cfl --b0 strong.nii --lambda 1e-3 --segments $((segments - 5)) -q
said_like '^warning: --segments: the next version will not have it; use --b0-error, from which their number follows\.$'
expect 0 compare few.cfl many.cfl
at_most 1e-2 "$(sed -n 's/^nrmse //p' out)"

# The normal map by NUFFTs, coils one after the other, other methods.
expect 0 recon off.h5 -o other.cfl --method cg --maps maps.cfl --b0 f.nii --toeplitz off --lambda 1e-2 --tol 1e-6
expect 0 recon off.h5 -o image.cfl --method cg --maps maps.cfl --b0 f.nii --toeplitz on --lambda 1e-2 --tol 1e-6 --force
expect 0 compare other.cfl image.cfl --tol 2e-3
expect 0 recon off.h5 -o image.cfl --method cg --maps maps.cfl --b0 f.nii --toeplitz on --lambda 1e-2 --tol 1e-6 --precond none --force
expect 0 compare other.cfl image.cfl --tol 2e-3
expect 0 recon off.h5 -o tv.cfl --maps maps.cfl --b0 f.nii -m tv
at_most "$(error tv.cfl)" "1.2 * $resonant"
expect 0 recon resonant.h5 -o grid0.cfl --maps maps.cfl -m grid
expect 0 recon off.h5 -o grid.cfl --maps maps.cfl --b0 f.nii -m grid
at_most "$(error grid.cfl)" "1.2 * $(error grid0.cfl)"

# Readouts that begin late: the header says so, or the option.
expect 0 phantom $spiral $field --readout-start 4 -o late.h5
expect 0 recon late.h5 -o late.cfl --method cg --maps maps.cfl --b0 f.nii
grep -q 'readouts from 4 to 34 ms' err || fail "$last: times by the header expected"
at_most "$(error late.cfl)" "1.1 * $resonant"
expect 0 recon off.h5 -o image.cfl --method cg --maps maps.cfl --b0 f.nii --readout-start -2.5 --force
grep -q 'readouts from -2.5 to 27.5 ms' err || fail "$last: times by the option expected"

# The map from two echoes is as good as the true one; it knows TE from the header.
expect 0 phantom $spiral $field --echo-times 2,5 -o echoes.h5
expect 0 b0 echoes.h5 -o found.nii --json
printed '"unambiguous": 333'
expect 0 recon off.h5 -o found.cfl --method cg --maps maps.cfl --b0 found.nii
at_most "$(error found.cfl)" "1.15 * $resonant"
expect 0 recon off.h5 -o image.cfl --method cg --maps maps.cfl --b0 f.nii --lambda 1e-2 --force
expect 0 recon echoes.h5 -o auto.cfl --method cg --maps maps.cfl --b0 auto --contrast 0 --lambda 1e-2
expect 0 compare auto.cfl image.cfl --magnitude --tol 0.05
expect 0 b0 echoes.h5 -o twice.nii --echo-times 4,10 -q
expect 0 compare found.nii twice.nii --tol 3e-2 # twice the times, half the frequencies

# Where phases wrap they are unwrapped: frequencies from -260 to 20 Hz, of which 333 Hz can be told apart.
expect 0 phantom $spiral $strong --echo-times 2,5 -o wrapped.h5
expect 0 b0 wrapped.h5 -o unwrapped.nii --json
grep -q '"unwrapped_voxels": [1-9]' out || fail "$last: voxels that were unwrapped expected"
expect 0 recon strong.h5 -o image.cfl --method cg --maps maps.cfl --b0 unwrapped.nii --lambda 1e-3 --force
expect 0 compare image.cfl many.cfl --magnitude --tol 0.1

# What cannot work is refused in one line.
expect 2 b0 off.h5 -o x.nii -q
said_like 'off.h5: there is one echo; two contrasts at least expected'
expect 2 b0 echoes.h5 -o x.nii --echo-times 2
said_like 'echo-times "2": 2 to 16 times in ms from 0 to 100000, like 2.3,4.6, expected'
expect 2 b0 echoes.h5 -o x.nii --echo-times 2,2 -q
said_like 'two echoes have the same time'
expect 2 recon off.h5 -o x.nii --b0-error 1e-2
said 'larmor: --b0-error: has no effect without --b0.'
expect 3 recon off.h5 -o x.nii --b0 maps.cfl -q
said_like 'off-resonance|--b0 maps.cfl: the map is .*expected .x, y. or .x, y, z.'
expect 2 recon off.h5 -o x.nii --b0 f.nii --maps none -m grid
said_like '--maps none: is not for --b0; it needs coil maps'
[ ! -e x.nii ] || fail "a refused command wrote a file"
