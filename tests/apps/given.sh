#!/bin/sh
# A scan with a wrong trajectory gives the right image by --traj, and what is wrong with it is said in one line.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
: "${MAKE_SCAN:?names the program that writes scans}"
export LARMOR_DEVICE=cpu
quick="--method cg --lambda 1e-4 --iters 20"

# The image is as near to the truth as says the second argument.
near() {
    expect 0 compare "$1" truth.npy
    awk -v most="$2" '/^nrmse/ && $2 <= most { good = 1 } END { exit !good }' out || fail "$last: above $2"
}

expect 0 phantom -o scan.h5 --traj golden --matrix 64 --coils 4 --snr 100 --delays 2,1 --truth truth.npy \
    --maps maps.npy --noise-scan 500 -q
expect 0 traj --from scan.h5 --delays -o right.npy
for file in right.npy right.cfl; do
    [ $file = right.npy ] || expect 0 traj --from scan.h5 --delays -o right.cfl
    reconstruct scan.h5 --traj $file $quick --maps maps.npy -o image.npy --force
    grep -q "^trajectory: $file, 101 readouts of 128 samples, for each but noise" err || fail "the log does not name $file"
    near image.npy 0.12
done
reconstruct scan.h5 $quick --maps maps.npy -o wrong.npy -q
! (near wrong.npy 0.3 >/dev/null) || fail "the stored trajectory was right"

# Another scan's, which says its unit; a fixed unit that it is not.
expect 0 phantom -o other.h5 --traj golden --matrix 64 --coils 1 --delays 0,0 --units rad -q
expect 0 info scan.h5 --traj other.h5
grep -q "^trajectory from other.h5, 101 readouts of 128 samples" out || fail "info does not say what is given"
expect 0 check scan.h5 --traj right.npy --json
expect 0 maps scan.h5 --traj right.npy -o found.npy -q
expect 3 recon scan.h5 --traj right.npy --traj-units norm -o none.npy
said_like "Is the unit 1/FOV\? Use --traj-units"

expect 0 traj --matrix 64 --readouts 7 -o short.npy
expect 3 recon scan.h5 --traj short.npy -o none.npy
said_like "scan.h5: trajectory short.npy has 7 readouts of 128 samples, which fit neither all 102"
expect 2 recon scan.h5 --traj-weights short.npy -o none.npy
said "larmor: --traj-weights: has no effect without --traj."
expect 3 recon scan.h5 --traj absent.npy -o none.npy
said "larmor: absent.npy: no such file."
[ ! -e none.npy ] || fail "an image was written"

# A scan without a trajectory and the Pulseq file that it was played from give the right image in one command.
"$MAKE_SCAN" sequence played.h5 played_truth.h5
expect 0 phantom -o coils.h5 --matrix 64 --coils 8 --maps coils.npy -q
expect 3 recon played.h5 -o none.npy -q
grep -q "Give it by --traj, or store it in the acquisitions." err || fail "$last: it does not name --traj"
reconstruct played.h5 --seq played.seq $quick --maps coils.npy -o played_image.h5
grep -q "^played.seq: Pulseq 1.5.1, 100 ADC events of 6400 samples, 100 excitations" err || fail "the log does not say it"
grep -q "^trajectory: played.seq, 100 readouts of 64 samples, for each acquisition" err || fail "the log does not say it"
expect 0 compare played_image.h5 played_truth.h5
awk '/^nrmse/ && $2 <= .12 { good = 1 } END { exit !good }' out || fail "$last: not the right image"

# Where the sequence resolves more than the header of the protocol that ran it, the matrix is that of the sequence, up
# to twice the header's.
"$MAKE_SCAN" sequence44 coarse.h5 coarse_truth.h5
reconstruct coarse.h5 --seq played.seq $quick --maps coils.npy -o coarse_image.h5
grep -q "^warning: the sequence reaches 32/FOV along x, more than the header's matrix of 44 resolves: 64 is taken.$" err ||
    fail "$last: it does not say that the matrix is another"
expect 0 compare coarse_image.h5 played_image.h5 --tol 0
"$MAKE_SCAN" sequence30 coarser.h5 coarse_truth.h5
reconstruct coarser.h5 --seq played.seq $quick -o coarser_image.h5
grep -q "^warning: the sequence reaches 32/FOV along x, far more than the header's matrix of 30 resolves, which stays" err ||
    fail "$last: it does not say what it leaves out"

# The trajectory of a sequence as a file is the same.
expect 0 traj --seq played.seq -o played.npy --times times.npy --json
grep -q '"pulseq": "1.5.1"' out || fail "$last: no version"
reconstruct played.h5 --traj played.npy --traj-times times.npy $quick --maps coils.npy -o again.h5 -q
expect 0 compare played_image.h5 again.h5 --tol 0.01
expect 2 recon played.h5 --traj played.npy --seq played.seq -o none.npy
said "larmor: --traj and --seq exclude each other; give one of them."
expect 2 recon played.h5 --seq played.seq --traj-units norm -o none.npy
said "larmor: --traj-units: has no effect with --seq, whose trajectory is in 1/m."
expect 2 recon played.h5 --seq played.seq --soft-delays TE=1 -o none.npy
said_like "played.seq: --soft-delays: it has no soft delay TE."
expect 2 traj --times times.npy -o x.npy
said "larmor: --times: has no effect without --seq."
sed 's/^1 64 10000 /1 90 10000 /' played.seq >other.seq
expect 3 recon played.h5 --seq other.seq -o none.npy
said_like "other.seq: block 3: an ADC event that ends after the block"
