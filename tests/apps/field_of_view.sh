#!/bin/sh
# Signal beyond the field of view, missing sides of k-space and maps that cannot be trusted: found where they are, and
# nowhere else. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

# log WORDS: the last command said so; silent WORDS: it did not.
log() {
    grep -q -- "$1" err || fail "$last: expected in the log: $1"
}
silent() {
    ! grep -q -- "$1" err || fail "$last: not expected in the log: $1"
}
# error FILE TRUTH: its magnitude's.
error() {
    expect 0 compare "$1" "$2" --magnitude
    awk '$1 == "nrmse" { print $2 }' out
}
# at_most WHAT A FACTOR B: A is at most FACTOR times B.
at_most() {
    echo "$1: $2, at most $3 x $4"
    awk -v a="$2" -v f="$3" -v b="$4" 'BEGIN { exit !(a <= f * b) }' || fail "$1: $2, at most $3 x $4 expected"
}

# An object that is wider than the field of view: as good as gridding, which folds nothing in, and at one weight far
# better than without a larger grid. (The weight that is chosen counts what folds in as errors, and hides some of it.)
for traj in golden spiral; do
    expect 0 phantom -o wide.h5 --truth truth.h5 --traj $traj --matrix 64 --object-size 1.3 --coils 4 --force -q
    expect 0 recon wide.h5 -o wide-image.h5 --force
    log '^field of view: signal reaches to '
    expect 0 recon wide.h5 -o given.h5 --lambda 1e-3 --force -q
    expect 0 recon wide.h5 -o narrow.h5 --lambda 1e-3 --oversample 1 --force
    silent 'field of view'
    expect 0 recon wide.h5 -o grid.h5 --method grid --force -q
    wide=$(error wide-image.h5 truth.h5) given=$(error given.h5 truth.h5) narrow=$(error narrow.h5 truth.h5) grid=$(error grid.h5 truth.h5)
    at_most "$traj beside gridding" "$wide" 1.1 "$grid"
    at_most "$traj beside the field of view alone" "$given" 0.5 "$narrow"
done

# Maps of the field of view alone go on with maps from the data: as good as gridding with them, where the field of view
# alone folds what is outside into the image.
beyond() {
    expect 0 phantom -o wide.h5 --truth truth.h5 --maps wide.cfl --matrix 64 --object-size 1.25 --coils 4 --force -q "$@"
    expect 0 recon wide.h5 -o grid.h5 --maps wide.cfl --method grid --force -q
    expect 0 recon wide.h5 -o narrow.h5 --method cg --maps wide.cfl --oversample 1 --force -q
    expect 0 recon wide.h5 -o wide-image.h5 --method cg --maps wide.cfl --force
    log '^field of view: signal reaches to .* beyond the given maps, they are found from the data$'
    silent '^warning: signal reaches'
    wide=$(error wide-image.h5 truth.h5) narrow=$(error narrow.h5 truth.h5) grid=$(error grid.h5 truth.h5)
    at_most "given maps, $*, beside gridding" "$wide" 1.1 "$grid"
    at_most "given maps, $*, beside the field of view alone" "$wide" 0.7 "$narrow"
}
beyond --traj golden
beyond --traj golden --phantom texture --snr 20 --noise-scan 500
beyond --traj spiral

# An object within it: nothing is reported, and the image is that of the field of view alone to the bit.
for traj in golden spiral cartesian; do
    expect 0 phantom -o scan.h5 --traj $traj --matrix 48 --coils 4 --snr 10 --force -q
    expect 0 recon scan.h5 -o image.h5 --force
    silent 'field of view'
    silent 'partial Fourier'
    silent 'cannot be trusted'
    expect 0 recon scan.h5 -o same.h5 --oversample 1 --force -q
    expect 0 compare image.h5 same.h5 --tol 0
done

# The same, whatever the method, with an undersampled centre of k-space: a larger grid is taken where it predicts samples that are left out.
sees() {
    expect 0 phantom -o arms.h5 --truth arms-truth.h5 --traj spiral --matrix 48 --coils 6 --force -q "$@"
    expect 0 recon arms.h5 -o narrow.h5 --method cg --oversample 1 --force -q
    expect 0 recon arms.h5 -o wide.h5 --method cg --oversample 1.5 --force -q
    expect 0 recon arms.h5 -o image.h5 --method cg --force
    cp err searched
    narrow=$(error narrow.h5 arms-truth.h5) wide=$(error wide.h5 arms-truth.h5) auto=$(error image.h5 arms-truth.h5)
}
for scene in "2 1.3 shepp-logan 1" "3 1.5 texture 1"; do
    set -- $scene
    sees --undersampling "$1" --object-size "$2" --phantom "$3" --density "$4"
    cp searched err
    log '^field of view: .* predicts samples that are left out better'
    at_most "$scene beside the field of view alone" "$auto" 0.6 "$narrow"
    at_most "$scene beside 1.5 times the field of view" "$auto" 1.1 "$wide"
done
for scene in "2 1 shepp-logan 1" "3 0.8 texture 1.5"; do
    set -- $scene
    sees --undersampling "$1" --object-size "$2" --phantom "$3" --density "$4" --snr 20
    cp searched err
    silent 'field of view'
    expect 0 compare image.h5 narrow.h5 --tol 0
done

# Neither the search nor the larger grid exceeds the memory that is allowed.
expect 0 phantom -o large.h5 --matrix 512 --readouts 40 --samples 768 --coils 0 --object-size 1.5 -q
expect 0 recon large.h5 -o large.npy --lambda 1e-3 --iters 2 --memory 30M
log '^field of view: not looked beyond: [0-9]* MB needed, 30 MB allowed$'
expect 0 recon large.h5 -o large.npy --lambda 1e-3 --iters 2 --memory 38M --force
log '^field of view: signal reaches to '
log '^warning: memory: [0-9]* MB planned of 38 MB allowed on .*; the field of view is not enlarged, what is outside folds in$'

# Partial Fourier is filled in, or reported where it is not; skipped lines are not partial Fourier. There is a warning of maps from an undersampled centre, of given ones there is none.
expect 0 phantom -o partial.h5 --traj cartesian --matrix 48 --coils 4 --partial-fourier 0.625 -q
expect 0 recon partial.h5 -o partial.npy
log '^image 1 of 1: partial Fourier: '
silent '^warning: .*partial Fourier'
expect 0 recon partial.h5 -o partial.npy --partial-fourier zero --force
log '^warning: image 1 of 1: partial Fourier along y: k-space reaches to 23/FOV on one side and to 6/FOV on the other'
expect 0 phantom -o skipped.h5 --maps skipped.cfl --traj cartesian --matrix 32 --coils 4 --acceleration 4 -q
expect 0 recon skipped.h5 -o skipped.npy
silent 'partial Fourier'
log 'coil maps cannot be trusted: only 24 % of the centre .* Give maps by --maps FILE, or a scan with calibration lines\.$'
expect 0 recon skipped.h5 -o skipped.npy --maps skipped.cfl --force
silent 'cannot be trusted'
expect 0 phantom -o noise.h5 --matrix 48 --coils 8 --snr 0.05 -q
expect 0 recon noise.h5 -o noise.npy
log 'coil maps cannot be trusted: they explain only [0-9]* % .* Give maps by --maps FILE, or try a smaller --calibration\.$'
