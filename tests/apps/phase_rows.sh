#!/bin/sh
# A field camera's phases in the rows of the trajectory: images are those of the same phases in a file, from files,
# streams and a server. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
relay=$(cd "$(dirname "$0")" && pwd)/relay.py

cat >camera.py <<'X2'
import math, sys
from npy import save
samples, readouts, terms, scale = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
def phase(l, t, r):
    return scale * (.5 if not l else 60 if l < 9 else 400) * (t * math.cos(l) + .2 * math.sin(9 * t + l) + .1 * math.sin(r))
values = [0 if 0 < l < 4 else phase(l, i / samples, r) for l in range(terms) for r in range(readouts) for i in range(samples)]
save(sys.argv[5], (samples, readouts, terms), values)
X2

image=image.npy recon_options="--delays off --lambda 3e-3 --memory 1G" compare_options="--inside 2"

# rows NAME TERMS SCALE SIZE OPTION...; SIZE: samples and readouts.
rows() {
    name=$1 terms=$2 scale=$3 size=$4
    shift 4
    set -- --phantom texture --oblique "$@"
    expect 0 phantom -q --force -o plain.h5 --truth truth.h5 --maps maps.cfl "$@"
    # shellcheck disable=SC2086
    "$PYTHON" camera.py $size "$terms" "$scale" phases.npy
    # shellcheck disable=SC2086
    "$PYTHON" camera.py $size "$terms" "-$scale" negated.npy
    expect 0 phantom -q --force -o file.h5 --phase-terms phases.npy "$@"
    expect 0 phantom -q --force -o rows.h5 --phase-terms phases.npy --phase-rows "$@"
    still=$(nrmse plain.h5)
    without=$(nrmse file.h5)
    by_file=$(nrmse file.h5 --phase-terms phases.npy --b0-error 1e-2)
    ! grep '^warning' log || fail "$name: phases that the model has"
    mv image.npy file.npy
    negated=$(nrmse file.h5 --phase-terms negated.npy --b0-error 1e-2)
    at_least "$negated" "$by_file" 1.2 "$name, with the other sign"
    grep -q '^warning: --phase-terms: the samples fit the phases better with the other sign: misfit .* instead of .*\. They are taken as they are, in rad, for signals exp(-i phase)\. Check their sign, their axes and their times\.$' log ||
        fail "$name: $(cat log)"
    by_rows=$(nrmse rows.h5 --phase-terms trajectory --b0-error 1e-2)
    grep -q "phases: $terms rows of the trajectory, of orders 0 to .* in rad/m^n, k0, kx, ky, kz, ..., along LPS, of signals exp(-i phase)" log ||
        fail "$name: $(cat log)"
    echo "# $name: without phases $still, without a model $without, by a file $by_file, by rows $by_rows"
    at_least "$without" "$by_rows" 1.2 "$name, without a model"
    at_most "$by_rows" "$still" 1.2 "$name, by rows"
    expect 0 compare image.npy file.npy
    nrmse_at_most 2e-4
}
in_all rows "a spiral, order 3, SNR 30" 16 .5 "155 6" --traj spiral --matrix 24 --readouts 6 --coils 3 --position 0,30,40 --snr 30
in_all rows "a volume, order 3, SNR 30" 16 .3 "16 101" --traj koosh --matrix 8,8,8 --coils 3 --snr 30
rows "a volume, order 2, SNR 10" 9 .5 "16 101" --traj koosh --matrix 8,8,8 --coils 3 --snr 10
rows "a spiral, order 2, SNR 10" 9 1 "155 6" --traj spiral --matrix 24 --readouts 6 --coils 3 --position 0,30,40 --snr 10

# What recon would do, and what the file has.
expect 0 info rows.h5 --phase-terms trajectory
printed '^phases: 9 rows of the trajectory, '
expect 0 check rows.h5 --phase-terms trajectory
printed '^note: phases: phases: 9 rows of the trajectory, '
expect 0 maps rows.h5 -o found.cfl --phase-terms trajectory -q

# A server takes them, by its own options and by a client's.
options="method=cg maps=maps.cfl delays=off lambda=3e-3"
for of in server client; do
    server="" client=""
    for option in $options; do server="$server --set $option"; done
    if [ $of = server ]; then
        server="$server --set phase-terms=trajectory --set b0-error=1e-2"
    else
        client="--set phase-terms=trajectory --set b0-error=1e-2"
    fi
    rm -f port
    # shellcheck disable=SC2086
    timeout 60 python3 "$relay" "$LARMOR" serve --pipe $server >port 2>log &
    until_true "the port of the relay" test -s port
    # shellcheck disable=SC2086
    expect 0 send rows.h5 "127.0.0.1:$(cat port)" -o sent.npy --force -q --set pixels=complex $client
    wait $! || fail "serve: $(cat log)"
    expect 0 compare sent.npy image.npy
    nrmse_at_most 1e-5
done

# Phases of each readout are no fault of the scan where the model has them, and phases in another unit are refused.
cat >each.py <<'X2'
import random, sys
from npy import save
random.seed(1)
each = [random.uniform(-3, 3) for _ in range(30)]
values = [each[r] if not l else float(sys.argv[2]) for l in range(9) for r in range(30) for _ in range(int(sys.argv[1]))]
save(sys.argv[3], (int(sys.argv[1]), 30, 9), values)
X2
spokes="--traj golden --matrix 24 --readouts 30 --coils 4 --snr 30 --phantom texture"
# shellcheck disable=SC2086
expect 0 phantom -q --force -o plain.h5 --maps spokes.cfl $spokes
"$PYTHON" each.py 48 0 each.npy
"$PYTHON" each.py 48 3e8 huge.npy
# shellcheck disable=SC2086
expect 0 phantom -q --force -o each.h5 --phase-terms each.npy $spokes
expect 0 recon each.h5 -o image.npy --force --maps spokes.cfl --method cg --lambda 3e-3
grep -q '^warning: the samples fit better with another phase of each readout: ' err || fail "$(cat err)"
expect 0 recon each.h5 -o image.npy --force --maps spokes.cfl --method cg --lambda 3e-3 --phase-terms each.npy
! grep '^warning' err || fail "phases that the model has"
grep -q '^description: not compared with others, as one image of each coil without the model.s phases leaves ' err ||
    fail "$(cat err)"
expect 3 recon plain.h5 -o image.npy --force --maps spokes.cfl --method cg --phase-terms huge.npy
grep -q 'larmor: model: terms that reach .* rad need more than 512 products for an error of 1.0e-03; check their unit, or allow a larger error' err ||
    fail "$(cat err)"

# A file of that name is one, other words and other scans are refused, and nothing is written.
cp phases.npy trajectory
rm -f image.npy
expect 2 recon file.h5 -o image.npy --maps maps.cfl --phase-terms ./trajectory
said_like "^larmor: ./trajectory: the suffix names no format"
mkdir trajectory: && cp phases.npy trajectory:/phases.npy
expect 0 recon file.h5 -o image.npy --maps maps.cfl --method cg --delays off --lambda 3e-3 --b0-error 1e-2 --phase-terms ./trajectory:/phases.npy
expect 0 compare image.npy file.npy
nrmse_at_most 1e-6
rm image.npy
expect 3 recon rows.h5 -o image.npy --maps maps.cfl
said 'larmor: rows.h5: acquisition 0: trajectory has 9 components, 2 or 3 expected. If they are the phases of a field camera use --phase-terms trajectory; if they are kx, ky, kz and a weight or a time, store kx, ky and kz alone.'
expect 3 recon file.h5 -o image.npy --maps maps.cfl --phase-terms trajectory
said 'larmor: file.h5: acquisition 0: trajectory has 2 rows, expected 4, 9 or 16 for --phase-terms trajectory.'
expect 2 recon rows.h5 -o image.npy --maps maps.cfl --phase-terms trajectory:LAX
said_like '--phase-terms "trajectory:LAX": trajectory expected, and behind a colon plus, fourth and axes such as LAI'
expect 2 check rows.h5 --phase-terms file.npy
said 'larmor: --phase-terms "file.npy": trajectory, or trajectory: and words expected.'
[ ! -e image.npy ] || fail "an image was written"
expect 2 phantom -o x.h5 --phase-rows
said 'larmor: --phase-rows: has no effect without --phase-terms.'
