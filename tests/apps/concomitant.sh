#!/bin/sh
# larmor recon --concomitant auto: the samples decide, below and above 1 T, whether a scan has such fields; places in
# the file that are wrong do no harm. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

scan() {
    expect 0 phantom -q --force --maps maps.cfl --coils 3 --phantom texture --snr "${snr:-30}" "$@"
}

# decided WANTED WHERE: of the scan, which is then in the log.
decided() {
    reconstruct "$1" -o image.h5 --force --maps maps.cfl --method cg --lambda 1e-3 --iters 3 --oversample 1
    cp err log
    line='^concomitant fields: up to [0-9.]* rad at [0-9.]* T, by the trajectory and the image'"'"'s place: they are'
    numbers='misfit [0-9.e-]* with them, [0-9.e-]* without, log odds -\{0,1\}[0-9.e+]*'
    grep -q "$line $2 the model, by the samples: $numbers (--concomitant $3)\$" log || fail "$last: $2 expected: $(cat log)"
}

both() {
    scan -o seen.h5 --concomitant "$@"
    decided seen.h5 in off
    scan -o plain.h5 "$@"
    decided plain.h5 "not in" on
}
spokes="--traj golden --matrix 32 --readouts 60"
# Arms that are no denser than they must be, in noise.
snr=10
both --traj spiral --matrix 48 --readouts 8 --dwell 2 --position 0,0,100 --field-strength 0.55
snr=30
# shellcheck disable=SC2086
both $spokes --oblique --position 20,30,120 --dwell 0.5 --field-strength 1.5
both --traj koosh --matrix 8,8,8 --dwell 4 --field-strength 0.008 --undersampling 2
grep -q '^model: ' log && fail "$last: a model without terms: $(cat log)"

# What the file says of the place is wrong: the image is as near to the truth as the better of both.
recon_options="--lambda 1e-3 --iters 8 --delays off --oversample 1 --memory 1G"
# shellcheck disable=SC2086
scan -o seen.h5 --truth truth.h5 $spokes --oblique --position 0,0,80 --dwell 8 --field-strength 0.1 --concomitant
"$SPOIL" seen.h5 mirrored || fail "spoil mirrored"
auto=$(nrmse seen.h5)
grep -q ' they are .* the model, by the samples: ' log || fail "$last: $(cat log)"
with=$(nrmse seen.h5 --concomitant on)
without=$(nrmse seen.h5 --concomitant off)
echo "mirrored: $auto; with the fields $with, without $without"
awk -v a="$auto" -v b="$with" -v c="$without" 'BEGIN { exit !(a > 0 && a <= 1.02 * b && a <= 1.02 * c) }' ||
    fail "mirrored: $auto; with the fields $with, without $without"

"$SPOIL" seen.h5 far-away || fail "spoil far-away"
near=$(nrmse seen.h5)
grep -q '^warning: concomitant fields: [0-9.e+]* rad at 0.1 T, by the trajectory and the image'"'"'s place, which no scan has: they are not in the model\. Check the place and the directions of image 1, sample_time_us and the field strength\.$' log ||
    fail "$last: $(cat log)"
[ "$near" = "$without" ] || fail "far away: $near, without the fields $without"

"$SPOIL" seen.h5 no-directions || fail "spoil no-directions"
near=$(nrmse seen.h5)
grep -q '^concomitant fields: not in the model, as the scan does not say where the image lies, on which they depend$' log ||
    fail "$last: $(cat log)"
[ "$near" = "$without" ] || fail "no directions: $near, without the fields $without"

# Fields that change the samples by less than a part of their noise are not compared, which takes long.
expect 0 phantom -q --force -o small.h5 --maps maps.cfl --traj spiral --matrix 24 --readouts 6 --coils 3 --dwell .5 --field-strength 3 \
    --snr 5 --phantom texture --position 0,0,80
reconstruct small.h5 -o small.npy --maps maps.cfl --method cg --iters 4
grep -qE '^concomitant fields: up to 0[.]1[0-9]* rad at 3 T, .*: they are not in the model, as they change the samples by 0[.]0[0-9]* of the noise' err ||
    fail "$last: $(cat err)"
