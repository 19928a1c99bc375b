#!/bin/sh
# Maps with zeros around the object, as every program that masks them writes: nothing is shown there, whatever the method,
# and the preconditioner is worth having still. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
: "${SPOIL:?names the program that damages scans}"

expect 0 phantom -o scan.h5 --truth truth.h5 --maps whole.cfl --traj golden --matrix 48 --readouts 60 --coils 4 --snr 30 -q
cp whole.cfl maps.cfl && cp whole.hdr maps.hdr
"$SPOIL" maps.cfl ellipse

# empty_outside NAME: what is outside of the ellipse is 0 already.
empty_outside() {
    cp "$1.cfl" inside.cfl && cp "$1.hdr" inside.hdr
    "$SPOIL" inside.cfl ellipse
    expect 0 compare inside.cfl "$1.cfl" --tol 0
}

expect 0 recon scan.h5 -o grid.cfl --maps maps.cfl --method grid -q
empty_outside grid
for method in cg tv wavelet tgv; do
    for precond in circulant none; do
        case $method$precond in cg* | tvcirculant | waveletnone) ;; *) [ -n "$every" ] || continue ;; esac
        expect 0 recon scan.h5 -o $precond.cfl -o $precond.h5 --maps maps.cfl --method $method --precond $precond --force -q
        empty_outside $precond
        expect 0 compare $precond.h5 truth.h5
        echo "$method, $precond: $(cat out)"
        nrmse_at_most 0.17
    done
done

# Two sets, and frames.
bytes=$(wc -c <maps.cfl)
{ cat maps.cfl; head -c "$bytes" /dev/zero; } >two.cfl
printf '# Dimensions\n48 48 1 4 2 1 1 1 1 1 1 1 1 1 1 1\n' >two.hdr
expect 0 recon scan.h5 -o sets.cfl --maps two.cfl --method tv -q
empty_outside sets
expect 0 phantom -o series.h5 --maps series.cfl --traj golden --matrix 48 --readouts 30 --coils 4 --snr 20 --repetitions 2 -q
"$SPOIL" series.cfl ellipse
expect 0 recon series.h5 -o joint.cfl --maps series.cfl --method llr --lambda 1e-3 -q
empty_outside joint

# To the same residual, of the same problem, in fewer iterations than without.
iterations() {
    expect 0 recon scan.h5 -o x.npy --maps maps.cfl --lambda 1e-4 --tol 1e-4 --iters 400 --precond "$1" --json --force -q
    awk -F'[:,]' '/"iterations"/ { print $2 + 0; exit }' out
}
with=$(iterations circulant) without=$(iterations none)
echo "$with iterations with the circulant, $without without"
[ "$((3 * with))" -le "$((2 * without))" ] || fail "$with iterations with the circulant, $without without"
