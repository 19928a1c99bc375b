#!/bin/sh
# recon with several penalties: the ratios that are chosen give images that are no worse than by the better of the
# penalties alone; what log and report say; and what is refused. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

# image_error METHOD
image_error() {
    reconstruct scan.h5 -o image.cfl --maps maps.cfl -m "$1" --json --force
    expect 0 compare image.cfl truth.h5
    cut -d' ' -f2 out
}

# scene ONE OTHER FLAGS...
scene() {
    one=$1 other=$2
    shift 2
    expect 0 phantom -o scan.h5 --truth truth.h5 --maps maps.cfl --coils 4 -q --force "$@"
    first=$(image_error "$one") second=$(image_error "$other") both=$(image_error "$one+$other")
    echo "$*: $one $first, $other $second, both $both"
    awk -v a="$first" -v b="$second" -v c="$both" 'BEGIN { exit !(c <= 1.03 * (a < b ? a : b)) }' ||
        fail "$one+$other $*: nrmse $both, expected at most 1.03 times the least of $first and $second"
}

in_all scene tv:xy wavelet --traj golden --matrix 48 --readouts 21 --snr 20
scene tv:xy l1 --phantom disc --traj spiral --matrix 48 --undersampling 3 --snr 5
scene tv:xy tv:t --traj golden --matrix 32 --readouts 13 --repetitions 8 --contrast 0.5 --snr 20

# The last scene's frames were solved together; log and report have the ratios, and they make the same image again.
reconstruct scan.h5 -o chosen.cfl --maps maps.cfl -m tv:xy+tv:t --json
grep -q '^series 1 of 1, 8 images: the penalties weigh tv:xy=1+tv:t=[0-9.]*, chosen from the samples' err ||
    fail "the ratios expected in the log"
name=$(sed -n 's/^  "method": "\(.*\)",$/\1/p' out) lambda=$(sed -n 's/^  "lambda": \([^,]*\),$/\1/p' out)
grep -q '"ratios": \[1, ' out || fail "ratios expected in the report"
reconstruct scan.h5 -o again.cfl --maps maps.cfl -m "$name" --lambda "$lambda" -q
expect 0 compare again.cfl chosen.cfl --tol 1e-3

# Penalties that are listed one by one, on the command line or in a file, are their sum.
reconstruct scan.h5 -o one.cfl --maps maps.cfl -m tv:xy+tv:t=4 -q
reconstruct scan.h5 -o two.cfl --maps maps.cfl --reg tv:xy --reg tv:t=4 -q
cmp one.cfl two.cfl || fail "--reg twice: not the image of the sum"
echo 'reg = ["tv:xy", "tv:t=4"]' >reg.toml
reconstruct scan.h5 -o three.cfl --maps maps.cfl --config reg.toml -q
cmp one.cfl three.cfl || fail "reg in a file: not the image of the sum"
expect 2 recon scan.h5 -o x.cfl --maps maps.cfl -m tv --reg l1 -q
grep -q -- "--reg: is not for --method tv, whose place it takes; leave one out." err || fail "--method and --reg"
expect 2 recon scan.h5 -o x.cfl --maps maps.cfl --reg tv --reg tv -q
grep -q -- '--reg "tv": up to four different penalties' err || fail "$last: twice the same"

# Low rank, alone and beside sparse frequencies, is nearer to a series than frames by themselves are.
for traj in golden radial spiral; do
    for snr in 10 40; do
        [ -n "$every" ] || [ $traj$snr = golden10 ] || continue
        expect 0 phantom -o scan.h5 --truth truth.h5 --maps maps.cfl --coils 4 -q --force --traj $traj --snr $snr \
            --matrix 32 --readouts 13 --repetitions 8 --contrast 0.5
        alone=$(image_error cg)
        for method in lowrank lowrank-sparse lowrank-multiscale; do
            series=$(image_error $method)
            awk -v a="$series" -v b="$alone" 'BEGIN { exit !(a < 0.97 * b) }' || fail "$traj, $snr: $method $series, cg $alone"
        done
    done
done

# refused METHOD MESSAGE
refused() {
    expect 2 recon scan.h5 -o x.cfl --maps maps.cfl --method "$1" -q
    grep -q -- "$2" err || fail "$last: expected $2"
    [ ! -e x.cfl ] || fail "x.cfl is there"
}
refused tv:xq "auto, cg, grid, nlinv, tv, tgv, wavelet, llr, l1, fft, lowrank, lowrank-sparse, lowrank-multiscale or clear expected"
refused tv+tv "auto, cg, grid, nlinv, tv, tgv, wavelet, llr, l1, fft, lowrank, lowrank-sparse, lowrank-multiscale or clear expected"
refused tv:xyz+l1 "tv: the image has no dimension z, but 2 of them"
expect 2 recon scan.h5 -o x.cfl --maps maps.cfl --method tv:xy+tv:t --repetition 0 -q
grep -q "has one frame of a slice" err || fail "$last: one frame is no series"
