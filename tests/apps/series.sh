#!/bin/sh
# recon --lambda auto beyond a single image: the images of a scan share one weight, several sets of maps have one, and where
# memory is scarce it comes from the level of the noise. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
export LARMOR_DEVICE=cpu LARMOR_THREADS=1

# number KEY: of the report in out, of the last image.
number() {
    sed -n "s/^  \"$1\": \\([^,]*\\),\$/\\1/p" out
}
# near WHAT RATIO A B: A is at most RATIO times B.
near() {
    echo "$1: $3, at most $2 times $4 expected"
    awk -v r="$2" -v a="$3" -v b="$4" 'BEGIN { exit !(a <= r * b) }' || fail "$1: $3, at most $2 times $4 expected"
}
error_of() {
    expect 0 compare "$@"
    sed -n 's/^nrmse //p' out
}

# Three repetitions of two slices that differ by their noise, angles and density: the first image chooses.
expect 0 phantom -o scan.h5 --truth truth.h5 --maps maps.cfl --matrix 48 --coils 4 --undersampling 2 --snr 20 --slices 2 \
    --repetitions 3 -q
for method in cg tv wavelet; do
    expect 0 recon scan.h5 -o shared.h5 --maps maps.cfl --method $method --json --force
    [ "$(grep -c 'lambda .* chosen from the samples, in' err)" -eq 1 ] || fail "$last: one choice expected"
    [ "$(grep -c '^image 2 of 6: lambda .*, as chosen before: the images of a scan share it$' err)" -eq 1 ] ||
        fail "$last: that the others share it is to be said once"
    [ "$(grep -c '"lambda_absolute"' out)" -eq 7 ] || fail "$last: a weight for each image expected"
    [ "$(grep -o '"lambda_absolute".*' out | sort -u | wc -l)" -eq 1 ] || fail "$last: one weight expected"
    [ "$(grep -c '^      "lambda_from": "data"' out)" -eq 1 ] || fail "$last: one choice expected in the report"
    [ "$(grep -c '^      "lambda_from": "scan"' out)" -eq 5 ] || fail "$last: five images that share it expected"
    # the last one, beside what it chooses for itself
    expect 0 recon scan.h5 -o last.h5 --maps maps.cfl --method $method --repetition 2 --slice 1 --json --force -q
    [ "$(number lambda_from)" = '"data"' ] || fail "$last: an image alone chooses for itself"
    lambda=$(number lambda_absolute)
    expect 0 recon scan.h5 -o rep.h5 --maps maps.cfl --method $method --slice 1 --json --force -q
    near "$method: weights of the first and the last image" 2 "$(number lambda_absolute)" "$lambda"
    near "$method: weights of the last and the first image" 2 "$lambda" "$(number lambda_absolute)"
    shared=$(error_of shared.h5 truth.h5)
    for slice in 0 1; do
        for repetition in 0 1 2; do
            expect 0 recon scan.h5 -o own-$repetition-$slice.npy --maps maps.cfl --method $method --force -q \
                --slice $slice --repetition $repetition
        done
    done
    expect 0 convert shared.h5 shared.npy --force
    # .npy: header of 128 bytes, then the images one after the other, in the order of the file
    { head -c 128 shared.npy; for s in 0 1; do for r in 0 1 2; do tail -c +129 own-$r-$s.npy; done; done; } >own.npy
    near "$method: errors with one weight and with own ones" 1.05 "$shared" "$(error_of own.npy truth.h5)"
done

# Where there is no memory to choose, the weight is that expected from the noise.
for flags in "--undersampling 1 --snr 5" "--undersampling 4 --snr 5" "--undersampling 1 --snr 100" "--undersampling 4 --snr 100"; do
    # shellcheck disable=SC2086 # words are meant
    expect 0 phantom -o scan.h5 --truth truth.h5 --maps maps.cfl --matrix 64 --coils 8 $flags --phantom texture -q --force
    for method in cg tv wavelet; do
        expect 0 recon scan.h5 -o auto.npy --maps maps.cfl --method $method --force -q
        for memory in 9M 8M 7M 6M 5M 4M 3M 2500K; do
            "$LARMOR" recon scan.h5 -o scarce.npy --maps maps.cfl --method $method --memory $memory --force >out 2>err || break
            grep -q 'to choose lambda from the data does not fit' err && break
        done
        grep -q '^memory: to choose lambda from the data does not fit; it is taken from the level of the noise$' err ||
            fail "$method $flags: nothing said of the choice"
        grep -q 'lambda .*, expected from the noise; no memory to choose it from the data$' err ||
            fail "$method $flags: the weight's origin is not said"
        # With little noise the weight of the noise is small, and cg leaves more of it in the corners of k-space.
        most=1.25
        case "$method $flags" in "cg "*"--snr 100") most=1.6 ;; esac
        near "$method $flags --memory $memory" $most "$(error_of scarce.npy truth.h5)" "$(error_of auto.npy truth.h5)"
    done
done

# Several sets of maps: a second one that is empty changes the image by little.
expect 0 phantom -o scan.h5 --truth truth.h5 --maps maps.cfl --matrix 64 --coils 4 --undersampling 4 --snr 5 -q --force
bytes=$(wc -c <maps.cfl)
{ cat maps.cfl; head -c "$bytes" /dev/zero; } >empty.cfl
printf '# Dimensions\n64 64 1 4 2 1 1 1 1 1 1 1 1 1 1 1\n' >empty.hdr
for flags in "cg" "tv" "cg --weighted"; do
    # shellcheck disable=SC2086 # words are meant
    expect 0 recon scan.h5 -o one.npy --maps maps.cfl --method $flags --json --force -q
    one=$(number lambda_absolute)
    # shellcheck disable=SC2086 # words are meant
    expect 0 recon scan.h5 -o two.npy --maps empty.cfl --method $flags --json --force
    grep -q '^image 1 of 1: lambda .*, chosen from the samples, in' err || fail "$last: a choice expected"
    most=1.001
    [ "$flags" = tv ] || most=1.6 # cg's is chosen by both sets, whose noise is taken to be that of two images
    near "$flags: weights with two sets and one" $most "$(number lambda_absolute)" "$one"
    near "$flags: weights with one set and two" $most "$one" "$(number lambda_absolute)"
    near "$flags: errors with two sets and one" 1.03 "$(error_of two.npy truth.h5 --magnitude)" \
        "$(error_of one.npy truth.h5 --magnitude)"
done

# A joint series chooses the weight of its differences in time: near the best one, and no other is taken where it is given.
series_error() {
    expect 0 recon rest.h5 -o joint.npy --maps rest-maps.cfl --method tv --joint --json --force "$@"
    cp out report
    cp err log
    error_of joint.npy rest.npy
}
expect 0 phantom -o rest.h5 --truth rest.npy --maps rest-maps.cfl --matrix 32 --coils 3 --traj golden --readouts 8 \
    --repetitions 6 --snr 20 -q
chosen=$(series_error)
grep -q 'a difference in time weighs 16 times one in space, chosen from the samples$' log || fail "$last: 16 expected in the log"
grep -q '^  "time_weight": 16,$' report || fail "$last: a weight in time of 16 expected in the report"
for weight in 1 4 16; do
    near "tv --joint: errors at the chosen weight in time and at $weight" 1.05 "$chosen" "$(series_error --time-weight $weight)"
    ! grep -q 'a difference in time weighs' log || fail "$last: nothing to choose"
    ! grep -q '"time_weight"' report || fail "$last: no chosen weight in time expected in the report"
done
