#!/bin/sh
# The methods of recon: what a penalty gains, series, flags that make no sense, and that nothing diverges.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

# An undersampled scan with noise: total variation and wavelets are nearer to the truth than least squares.
expect 0 phantom -o scan.h5 --truth truth.h5 --maps maps.cfl --traj golden --matrix 64 --readouts 30 --coils 4 \
    --noise 2e-4 -q
error() {
    reconstruct scan.h5 -o "$1.h5" --maps maps.cfl --method "$1" -q
    expect 0 compare "$1.h5" truth.h5
    cut -d' ' -f2 out
}
cg=$(error cg)
for method in tv tgv wavelet; do
    value=$(error $method)
    echo "$method: $value, cg $cg"
    awk -v a="$value" -v b="$cg" 'BEGIN { exit !(a < 0.9 * b) }' || fail "$method: $value, expected below 0.9 x $cg"
done

# The log says how it went, and the weight in both units; so does the report.
reconstruct scan.h5 -o log.h5 --maps maps.cfl --method tv --json
grep -q '^tv on cpu.*lambda from the data' err || fail "lambda from the data expected in the log"
grep -qE '^image 1 of 1: noise [0-9.e-]+ a sample, measured from' err || fail "the noise expected in the log"
grep -qE '^image 1 of 1: lambda [0-9.e-]+, chosen from the samples, in [0-9]+ steps?' err || fail "the chosen lambda expected in the log"
grep -q 'objective .*, lambda .* absolute' err || fail "absolute lambda expected in the log"
grep -q '"lambda_absolute"' out || fail "absolute lambda expected in the report"
grep -q '"objective"' out || fail "objective expected in the report"

# Whatever the flags, an image comes out: each by one of the methods.
set -- tv tgv wavelet
for flags in "--lambda 0" "--lambda 1e-12" "--lambda 1e6" "--lambda 1e5" "--eps 0.1" "--tol 0" \
    "--weighted" "--eps 1e-9" "--toeplitz on --weighted" "--toeplitz off"; do
    # shellcheck disable=SC2086 # words are meant
    reconstruct scan.h5 -o flags.npy --maps maps.cfl --method "$1" $flags --iters 5 -q --force
    set -- "$2" "$3" "$1"
done

# Frames: llr takes the repetitions of a slice together, tv does with --joint; images stay one each, in order.
expect 0 phantom -o series.h5 --truth series-truth.h5 --maps series-maps.cfl --traj golden --matrix 32 --readouts 20 \
    --coils 4 --noise 1e-4 --slices 2 --repetitions 3 -q
for method in llr "tv --joint" "tv --joint --time-weight 4" "llr --block 4"; do
    # shellcheck disable=SC2086 # words are meant
    reconstruct series.h5 -o together.h5 --maps series-maps.cfl --method $method --force
    grep -q 'series 1 of 2, 3 images' err || fail "$method: two series expected"
    grep -q 'wrote together.h5 (6 images)' err || fail "$method: six images expected"
    expect 0 compare together.h5 series-truth.h5
    echo "$method: $(cat out)"
done
# The report and the file's provenance tell of each image, in the order of the images.
reconstruct series.h5 -o each.h5 --maps series-maps.cfl --tol 1e-3 --json -q
printed '^  "images": 6,$'
[ "$(awk '/^    \{/ { n = 0 } /"(slice|repetition)":/ { printf "%s", $2 } /"repetition":/ { print "" }' out | tr '\n' ' ')" = \
    "0,0, 0,1, 0,2, 1,0, 1,1, 1,2, " ] || fail "the report does not tell of each image"
[ "$(grep -c '^      "status": "done",$' out)" -eq 6 ] || fail "six images that are done expected"
[ "$(grep -c '^      "seconds": 0*[.0-9e-]*[1-9]' out)" -eq 6 ] || fail "the time of each image expected"
sed -n 's/^      "iterations": \([0-9]*\),$/\1/p' out >reported
grep -ao 'LarmorIterations</name><value>[0-9]*' each.h5 | grep -o '[0-9]*$' >noted
[ "$(wc -l <reported)" -eq 6 ] || fail "the iterations of each image expected"
sort reported >reported-sorted # HDF5 keeps texts in an order of its own
sort noted | cmp -s - reported-sorted || fail "reported $(tr '\n' ' ' <reported), in the file $(tr '\n' ' ' <noted)"
expect 0 info each.h5
printed "^LarmorIterations: $(head -n 1 reported)\$"

reconstruct series.h5 -o one.h5 --maps series-maps.cfl --method tv --repetition 1 --slice 1 -q
reconstruct series.h5 -o joint.h5 --maps series-maps.cfl --method tv --joint --repetition 1 --slice 1 -q
expect 0 compare one.h5 joint.h5 --tol 1e-6

# One frame is no series.
expect 2 recon scan.h5 -o llr.h5 --maps maps.cfl --method llr -q
said 'larmor: --method llr: scan.h5 has one frame of a slice, llr needs several repetitions, phases or contrasts; use tv or wavelet.'
[ ! -e llr.h5 ] || fail "llr.h5 is there"
expect 2 recon scan.h5 -o llr.h5 --method wavelet --joint -q
said 'larmor: --joint: has no effect with --method wavelet; it is an option of --method tv, llr, fft, lowrank, lowrank-sparse and lowrank-multiscale.'
expect 2 recon scan.h5 -o llr.h5 --method tvv
