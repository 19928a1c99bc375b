#!/bin/sh
# recon --basis and --dictionary: coefficient images. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
export LARMOR_DEVICE=cpu LARMOR_THREADS=1

expect 0 phantom -o scan.h5 --maps maps.cfl --matrix 24 --coils 3 --readouts 60 --snr 30 -q

# numbers NAME SIZES BYTES...: a .cfl of complex numbers, 1 is 0 0 200 77 and -1 is 0 0 200 277 in octal, least first.
one='\000\000\200\077\000\000\000\000'
minus='\000\000\200\277\000\000\000\000'
array() {
    name=$1 sizes=$2
    shift 2
    printf '# Dimensions\n%s\n' "$sizes" >"$name.hdr"
    : >"$name.cfl"
    for number in "$@"; do
        # shellcheck disable=SC2059 # the escapes are the number
        printf "$number" >>"$name.cfl"
    done
}
array ones "1 1 1 1 1 4" $one $one $one $one
array curves "4 2" $one $one $one $one $one $minus $one $minus

# A function that is 1 in all frames is no frames at all.
reconstruct scan.h5 -o whole.h5 --maps maps.cfl --lambda 1e-3 --tol 1e-6 -q
reconstruct scan.h5 -o ones.h5 --maps maps.cfl --lambda 1e-3 --tol 1e-6 --spokes-per-frame 15 --basis ones.cfl
grep -q "^series 1 of 1, 4 images: .* by Toeplitz" err || fail "$last: one series of 4 frames expected"
expect 0 compare ones.h5 whole.h5
nrmse_at_most 1e-4

# Two functions, the frames that they give, and fewer of them.
reconstruct scan.h5 -o two.nii --maps maps.cfl --spokes-per-frame 15 --dictionary curves.cfl
grep -q "^basis: 2 coefficients hold 1 of the energy of curves.cfl$" err || fail "$last: the basis expected"
grep -q "^wrote two.nii (2 images)$" err || fail "$last: two coefficients expected"
reconstruct scan.h5 -o frames.nii --maps maps.cfl --spokes-per-frame 15 --dictionary curves.cfl --basis-images frames
grep -q "^wrote frames.nii (4 images)$" err || fail "$last: four frames expected"
reconstruct scan.h5 -o first.nii --maps maps.cfl --spokes-per-frame 15 --basis curves.cfl --rank 1 --method tv
grep -q "^wrote first.nii (1 image)$" err || fail "$last: one coefficient expected"

# Off-resonance: readouts of 6 ms that turn by up to half a cycle.
off="--off-resonance 60 --field-gradient 40,-20 --samples 48 --dwell 120"
expect 0 phantom -o off.h5 --matrix 24 --coils 3 --readouts 60 --snr 30 -q $off --field-map f.nii
solve="--maps maps.cfl --b0 f.nii --b0-error 1e-4 --lambda 1e-3 --tol 1e-6"
reconstruct off.h5 -o turned.h5 $solve -q
reconstruct off.h5 -o one.h5 $solve --spokes-per-frame 60 -q
expect 0 compare one.h5 turned.h5
nrmse_at_most 1e-6
for toeplitz in on off; do
    reconstruct off.h5 -o mixed.h5 $solve --spokes-per-frame 15 --basis ones.cfl --toeplitz $toeplitz --force
    grep -q "^series 1 of 1, 4 images: off-resonance by [3-9] segments" err || fail "$last: segments expected"
    expect 0 compare mixed.h5 turned.h5
    nrmse_at_most 3e-4
done
reconstruct off.h5 -o blurred.h5 --maps maps.cfl --lambda 1e-3 --spokes-per-frame 15 --basis ones.cfl -q
expect 1 compare blurred.h5 turned.h5 --tol 0.2
reconstruct off.h5 -o frames.h5 $solve --spokes-per-frame 30 --method llr
grep -q "^series 1 of 1, 2 images: off-resonance by [3-9] segments" err || fail "$last: segments expected"

# What cannot be.
expect 2 recon scan.h5 -o no.nii --basis ones.cfl --dictionary curves.cfl
said "larmor: --basis and --dictionary exclude each other; give one of them."
expect 2 recon scan.h5 -o no.nii --rank 2
said "larmor: --rank: has no effect without --basis."
expect 3 recon scan.h5 -o no.nii --maps maps.cfl --spokes-per-frame 20 --basis ones.cfl -q
said_like "^larmor: --basis: has 4 frames, and scan.h5 has 3 of a slice; "
array wide "2 3" $one $one $minus $one $one $one
expect 3 recon scan.h5 -o no.nii --maps maps.cfl --spokes-per-frame 30 --basis wide.cfl -q
said_like "^larmor: --basis: is c64 .2, 3. on cpu:[0-9]+ for 3 coefficients, "
expect 2 recon scan.h5 -o no.nii --maps maps.cfl --spokes-per-frame 15 --basis ones.cfl --rank 2 -q
said_like "for 2 coefficients"
expect 3 recon scan.h5 -o no.nii --spokes-per-frame 15 --basis missing.cfl -q
[ ! -e no.nii ] || fail "an output of a refused run"
