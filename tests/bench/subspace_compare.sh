#!/bin/sh
# BART's pics -B and larmor recon --basis on the same samples: 256 x 256, 8 coils, 200 frames of 8 golden-angle spokes of
# 512 samples, 4 coefficients. Needs bart 0.8 or later, and Python with NumPy and h5py.
# Usage: tests/bench/subspace_compare.sh LARMOR [FOLDER [SIZE [FRAMES]]]   (FOLDER keeps the files). SPDX-License-Identifier:
# Apache-2.0
set -eu
size=${3:-256}
frames=${4:-200}
. "$(dirname "$0")/folder.sh"
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"

# A phantom that takes up contrast agent, and loses it.
simulate() {
    "$larmor" phantom --repetitions "$frames" --contrast 0.5 -q --force "$@"
}
simulate -o scan.h5 --matrix "$size" --readouts 8 --coils 8 --snr 40 --maps maps.cfl --truth truth.npy
simulate -o small.h5 --matrix 24 --readouts 1 --coils 1 --truth small.npy

# Four functions of time: the phantom's own two, and two of exponentials. For BART the samples as it has them.
python3 - <<'PYTHON'
import h5py
import numpy as np

def write_cfl(name, x):
    open(name + ".hdr", "w").write("# Dimensions\n" + " ".join(str(n) for n in x.shape) + "\n")
    x.astype(np.complex64).flatten(order="F").tofile(name + ".cfl")

small = np.load("small.npy")
frames = small.shape[-1]
curves = small.reshape(-1, frames).T
curves = curves[:, np.abs(curves).max(0) > 0.1 * np.abs(curves).max()].real
own = np.linalg.svd(curves, full_matrices=False)[0][:, :2]
t = np.arange(frames) / frames
others = np.stack([np.exp(-t * r) for r in (1, 3, 9, 27)], 1)
basis = np.linalg.qr(np.concatenate([own, others], 1))[0][:, :4]
write_cfl("basis", basis)
write_cfl("bart_basis", basis.reshape(1, 1, 1, 1, 1, frames, 4))

data = h5py.File("scan.h5")["dataset/data"][:]
head = data["head"]
samples, coils = int(head["number_of_samples"][0]), int(head["active_channels"][0])
spokes = len(data) // frames
y = np.stack([np.asarray(d).view(np.complex64).reshape(coils, samples) for d in data["data"]])
k = np.stack([np.asarray(d).reshape(samples, 2) for d in data["traj"]])
y = y.reshape(frames, spokes, coils, samples).transpose(3, 1, 2, 0)
k = k.reshape(frames, spokes, samples, 2).transpose(3, 2, 1, 0)
k = np.concatenate([k, np.zeros_like(k[:1])], 0)
write_cfl("kspace", y[None, :, :, :, None, :])
write_cfl("traj", k[:, :, :, None, None, :])
PYTHON

# Seconds of processor time, which other work on the machine does not change much: threads do not spin.
export OMP_WAIT_POLICY=passive
seconds() {
    python3 - "$@" <<'PYTHON'
import resource
import subprocess
import sys

subprocess.run(sys.argv[1:], check=True, stdout=open("log", "w"), stderr=subprocess.STDOUT)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("%.2f" % (used.ru_utime + used.ru_stime))
PYTHON
}
# error IMAGE: of all frames against the truth, up to a factor.
error() {
    python3 - "$1" <<'PYTHON'
import sys
import numpy as np

def read_cfl(name):
    dims = [int(n) for n in open(name + ".hdr").readlines()[1].split()]
    return np.fromfile(name + ".cfl", np.complex64).reshape(dims, order="F")

x = np.squeeze(read_cfl(sys.argv[1]))
basis = np.squeeze(read_cfl("basis"))
truth = np.load("truth.npy")
norm = cross = 0
square = np.linalg.norm(truth) ** 2
for t in range(truth.shape[-1]):
    f = x @ basis[t]
    cross += np.vdot(f, truth[..., t])
    norm += np.linalg.norm(f) ** 2
print("%.4f" % np.sqrt(max(0, 1 - abs(cross) ** 2 / norm / square)))
PYTHON
}
# The times with few and with many iterations give both parts.
few=2
many=${MANY:-22}
echo "| | $few iterations, s | $many iterations, s | an iteration, s | the rest, s | NRMSE |"
echo "|---|---|---|---|---|---|"
row() {
    echo "$1 $2 $3 $4 $few $many" | awk '{ each = ($3 - $2) / ($6 - $5)
        printf "| %s | %.2f | %.2f | %.3f | %.2f | %s |\n", $1, $2, $3, each, $2 - $5 * each, $4 }'
}
lambda=${LAMBDA:-0.001}
run_larmor() {
    seconds "$larmor" recon scan.h5 --basis basis.cfl --maps maps.cfl -o larmor.cfl -f --device cpu --oversample 1 \
        --lambda "$lambda" --tol 0 --iters "$1" --precond "$2"
}
a=$(run_larmor $few none)
b=$(run_larmor $many none)
row larmor "$a" "$b" "$(error larmor)"
a=$(run_larmor $few circulant)
b=$(run_larmor $many circulant)
row larmor-preconditioned "$a" "$b" "$(error larmor)"
run_bart() {
    seconds bart pics -i "$1" -l2 -r "$lambda" -S -t traj -B bart_basis kspace maps bart
}
a=$(run_bart $few)
b=$(run_bart $many)
row bart "$a" "$b" "$(error bart)"
