#!/bin/sh
# The plan of memory: said before the work, obeyed by doing fewer coils at a time, refused when one is too much.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
export LARMOR_DEVICE=cpu LARMOR_THREADS=2

# --method cg where it is the plan that is looked at: tv takes many more steps, each one coil at a time.
expect 0 phantom -o scan.h5 --traj golden --matrix 96 --readouts 150 --coils 12 --snr 20 --maps maps.cfl -q

# planned WORDS: the log has this line about memory.
planned() {
    grep -qE "^larmor: memory: [0-9.]+ [kMG]B planned of $1\$" err || grep -qE "^memory: [0-9.]+ [kMG]B planned of $1\$" err ||
        fail "$last: expected in the log: memory: ... planned of $1"
}
expect 0 recon scan.h5 -o all.npy --maps maps.cfl --method cg --lambda 1e-3
planned '[0-9.]+ [kMGT]B free on cpu:2'
expect 0 recon scan.h5 -o enough.npy --maps maps.cfl --method cg --lambda 1e-3 --memory 1G
planned '1\.0 GB allowed on cpu:2'
cmp all.npy enough.npy || fail "a limit that is no limit changes the image"

# Fewer coils at a time: the same image to rounding, with maps and without.
# (Rounding grows from iteration to iteration, hence few of them in single precision.)
expect 0 recon scan.h5 -o all.npy --maps maps.cfl --iters 5 --lambda 1e-3 --precond none --force -q
expect 0 recon scan.h5 -o some.npy --maps maps.cfl --iters 5 --lambda 1e-3 --precond none --memory 14M
planned '14 MB allowed on cpu:2; [1-6] of 12 coils at a time'
expect 0 compare some.npy all.npy --tol 2e-5
expect 0 recon scan.h5 -o all.npy --method grid --maps none --force -q
expect 0 recon scan.h5 -o some.npy --method grid --maps none --memory 14M --force
planned '14 MB allowed on cpu:2; [1-9]+ of 12 coils at a time'
expect 0 compare some.npy all.npy --tol 1e-5

# The preconditioner is given up before it makes a scan impossible, and that is reported; asked for, it is not given up.
expect 0 recon scan.h5 -o some.npy --method cg --lambda 1e-3 --maps maps.cfl --memory 14M --force
grep -q 'the preconditioner does not fit' err || fail "$last: nothing said of the preconditioner"
expect 0 recon scan.h5 -o some.npy --method cg --lambda 1e-3 --maps maps.cfl --memory 11300K --force -q
expect 4 recon scan.h5 -o none.npy --maps maps.cfl --memory 11300K --precond circulant -q

# Not even one coil: what is missing, exit code 4, no output.
expect 4 recon scan.h5 -o none.npy --maps maps.cfl --memory 1M -q
grep -qE '^larmor: scan\.h5: at least [0-9.]+ MB of memory needed with one coil at a time, 1\.0 MB allowed on cpu:2: [0-9.]+ MB missing\. Raise --memory\.$' err ||
    fail "$last: what is missing expected"
said_like 'missing'
[ ! -e none.npy ] || fail "$last: left an output"

for size in 0 -1M 12X M 1e99; do
    expect 2 recon scan.h5 -o none.npy "--memory=$size"
    said "larmor: --memory \"$size\": a number of bytes > 0, with K, M, G or T for thousands, millions ..., expected."
done
