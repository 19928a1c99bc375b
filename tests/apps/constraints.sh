#!/bin/sh
# recon --constraint: the images that are written lie in the set exactly, whatever the method;
# and what cannot be combined is refused in a line. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

# holds FILE CONDITION: of the real ($1) and the imaginary part ($2) of each number
holds() {
    od -An -v -t f4 -w8 "$1" | awk "!($2) { bad = 1 } END { exit bad }" || fail "$last: expected $2 everywhere"
}

expect 0 phantom -o scan.h5 --truth truth.cfl --maps maps.cfl --traj golden --matrix 32 --readouts 14 --snr 10 --coils 4 -q
image="recon scan.h5 --maps maps.cfl --delays off --memory 1G --force"

for method in cg tv tgv wavelet+l1; do
    expect 0 $image -o x.cfl -m $method --constraint nonnegative -q
    holds x.cfl '$1 >= 0 && $2 == 0'
done
expect 0 $image -o x.cfl --constraint box:0.125,0.5
holds x.cfl '$1 >= 0.125 && $1 <= 0.5 && $2 == 0'

# A support that is the object's, together with bounds: zero outside of it, and bits that do not depend on threads.
expect 0 $image -o x.cfl -m tv --constraint nonnegative --constraint support:truth.cfl -q --threads 1
expect 0 $image -o y.cfl -m tv --constraint support:truth.cfl+nonnegative -q --threads 2
cmp x.cfl y.cfl || fail "other bits by two threads"
od -An -v -t f4 -w8 truth.cfl >truth.txt
od -An -v -t f4 -w8 x.cfl | paste - truth.txt | awk '$3 == 0 && $4 == 0 && ($1 != 0 || $2 != 0) { bad = 1 } END { exit bad }' ||
    fail "$last: not zero outside of the support"

# What is known makes the image better.
expect 0 $image -o plain.cfl -m cg -q
expect 0 $image -o held.cfl -m cg --constraint nonnegative -q
expect 0 compare plain.cfl truth.cfl
plain=$(cut -d' ' -f2 out)
expect 0 compare held.cfl truth.cfl
held=$(cut -d' ' -f2 out)
awk -v a="$plain" -v b="$held" 'BEGIN { exit !(b < 0.7 * a) }' || fail "cg: $plain, nonnegative $held"

# error OPTION...: of an image by cg.
error() {
    reconstruct other.h5 -o x.cfl --force --maps other_maps.cfl -m cg -q "$@"
    expect 0 compare x.cfl other.cfl
    cut -d' ' -f2 out
}
# Real objects: real images are nearer to them along other trajectories, too; nonnegative ones where noise is what makes
# them negative, as the truth, which is cut at the matrix, has undershoots.
for traj in "spiral --matrix 40 --undersampling 2" "koosh --matrix 14,14,14 --undersampling 2"; do
    for snr in 10 40; do
        case $traj$snr in spiral*40 | koosh*10) ;; *) [ -n "$every" ] || continue ;; esac
        # shellcheck disable=SC2086
        expect 0 phantom -o other.h5 --force --truth other.cfl --maps other_maps.cfl --traj $traj --snr $snr --coils 4 -q
        plain=$(error) real=$(error --constraint real)
        awk -v a="$plain" -v b="$real" 'BEGIN { exit !(b < 0.96 * a) }' || fail "$traj, $snr: $plain, real $real"
        # What the samples contradict is said, and nothing else is.
        if [ "$traj/$snr" = "spiral --matrix 40 --undersampling 2/40" ]; then
            reconstruct other.h5 -o x.cfl --force --maps other_maps.cfl -m tv --constraint nonnegative -q
            grep -q "the samples contradict --constraint: images that are held to it leave [0-9]* % more of the samples " err || fail "$last: expected a contradiction"
        fi
        [ $snr -eq 10 ] || continue
        reconstruct other.h5 -o x.cfl --force --maps other_maps.cfl -m cg --constraint nonnegative -q
        ! grep -q contradict err || fail "$last: nothing contradicts the set"
        held=$(error --constraint nonnegative)
        awk -v a="$plain" -v b="$held" 'BEGIN { exit !(b < 0.9 * a) }' || fail "$traj: $plain, nonnegative $held"
    done
done

# Frames that are solved together.
expect 0 phantom -o series.h5 --maps m.cfl --traj golden --matrix 32 --readouts 13 --repetitions 4 --coils 4 --snr 10 -q
reconstruct series.h5 -o s.cfl --maps m.cfl --reg tv:xy --reg tv:t --constraint nonnegative -q
holds s.cfl '$1 >= 0 && $2 == 0'

# refused OPTIONS MESSAGE [CODE]
refused() {
    expect "${3:-2}" $image -o z.cfl $1 -q
    grep -q -- "$2" err || fail "$last: expected $2"
    [ ! -e z.cfl ] || fail "z.cfl is there"
}
refused "--constraint positive" "nonnegative, real, support:FILE or box:LOW,HIGH, which leave a number, expected"
refused "--constraint box:1,0" "nonnegative, real, support:FILE or box:LOW,HIGH, which leave a number, expected"
refused "--constraint real -m grid" "constraint: has no effect with --method grid"
refused "--constraint real --map-sets 2" "map-sets"
refused "--constraint real --partial-fourier pocs" "--partial-fourier: is not for --constraint"
refused "--constraint real --noise-map n.nii" "there are none with --constraint"
refused "--constraint support:nothing.npy" "nothing.npy" 3
refused "--constraint support:maps.cfl+real --matrix 40" "the mask is" 1
