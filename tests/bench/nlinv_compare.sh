#!/bin/sh
# Image and maps by nonlinear inversion, beside BART's `nlinv` on the same samples: exact k-space of larmor's phantoms, 8
# coils, noise. NRMSE of magnitudes after the best common factor, against the truth times the root sum of squares of the
# true maps, which is the shading that both programs leave. BART's images have as many voxels as its trajectory has
# extent; they are judged at that resolution. Needs bart 0.8 and python3 with numpy and h5py.
# Usage: tests/bench/nlinv_compare.sh LARMOR [MATRIX [STEPS ...]]   (STEPS: of BART). SPDX-License-Identifier: Apache-2.0
set -eu
larmor=$(realpath "$1")
matrix=${2:-128}
shift $(($# > 1 ? 2 : 1))
[ $# -gt 0 ] || set -- 8 10 12
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat >tools.py <<'PYTHON'
import sys
import numpy as np


def read(name):
    sizes = [int(n) for n in open(name + ".hdr").read().split("\n")[1].split()]
    return np.fromfile(name + ".cfl", np.complex64).reshape(sizes, order="F").squeeze()


def write(name, x):
    open(name + ".hdr", "w").write("# Dimensions\n" + " ".join(map(str, x.shape)) + "\n")
    x.astype(np.complex64).ravel(order="F").tofile(name + ".cfl")


def to_bart(scan):
    import h5py
    k, t = [], []
    for a in h5py.File(scan, "r")["dataset/data"]:
        h = a["head"]
        k.append(a["data"].view(np.complex64).reshape(int(h["active_channels"]), -1))
        t.append(a["traj"].reshape(-1, int(h["trajectory_dimensions"])))
    k, t = np.array(k), np.array(t)
    points = np.zeros((3,) + t.shape[1::-1], np.complex64)
    for d in range(t.shape[2]):
        points[d] = t[:, :, d].T
    write("kspace", k.transpose(2, 0, 1)[None])
    write("traj", points)


def resize(x, shape):
    """The same field of view in other voxels, by cropping or padding k-space."""
    k = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(x)))
    y = np.zeros(shape, complex)
    n = [min(a, b) for a, b in zip(x.shape, shape)]
    at = lambda size: tuple(slice(s // 2 - m // 2, s // 2 - m // 2 + m) for s, m in zip(size, n))
    y[at(shape)] = k[at(x.shape)]
    return np.fft.fftshift(np.fft.ifft2(np.fft.ifftshift(y)))


def error(name, shaded):
    x, truth, maps = read(name), read("truth"), read("maps")
    rss = np.sqrt((abs(maps) ** 2).sum(-1))
    truth = truth * rss
    if shaded == "true":
        x = x * rss
    truth = abs(resize(truth, x.shape))
    x = abs(x)
    factor = (x * truth).sum() / (x * x).sum()
    print("%.4f" % (np.linalg.norm(factor * x - truth) / np.linalg.norm(truth)))


{"to_bart": to_bart, "error": error}[sys.argv[1]](*sys.argv[2:])
PYTHON
seconds() {
    began=$(date +%s.%N)
    "$@" >/dev/null 2>&1
    echo "$began $(date +%s.%N)" | awk '{ printf "%.1f", $2 - $1 }'
}
header="| trajectory | R | SNR | true maps, cg | nlinv maps, cg | ratio | s | nlinv maps, tv |"
rule="|---|---|---|---|---|---|---|---|"
for steps in "$@"; do
    header="$header BART nlinv -i$steps | s |"
    rule="$rule---|---|"
done
echo "$header"
echo "$rule"
for scene in "golden 2 shepp-logan 30" "golden 3 texture 30" "golden 4 shepp-logan 30" "spiral 2 shepp-logan 30" \
    "spiral 3 texture 30" "spiral 4 texture 30"; do
    # shellcheck disable=SC2086 # words are meant
    set -- $scene "$@"
    trajectory=$1 undersampling=$2 phantom=$3 snr=$4
    shift 4
    "$larmor" phantom -o scan.h5 --traj "$trajectory" --matrix "$matrix" --undersampling "$undersampling" --coils 8 \
        --phantom "$phantom" --snr "$snr" --maps maps.cfl --truth truth.cfl --force -q
    python3 tools.py to_bart scan.h5
    "$larmor" recon scan.h5 -o true.cfl --maps maps.cfl --force -q 2>/dev/null
    time=$(seconds "$larmor" recon scan.h5 -o own.cfl --maps nlinv --force -q)
    "$larmor" recon scan.h5 -o tv.cfl --maps nlinv --method tv --force -q 2>/dev/null
    true_error=$(python3 tools.py error true true)
    own_error=$(python3 tools.py error own own)
    ratio=$(echo "$own_error $true_error" | awk '{ printf "%.3f", $1 / $2 }')
    line="| $trajectory, $phantom | $undersampling | $snr | $true_error | $own_error | $ratio | $time | $(python3 tools.py error tv own) |"
    for steps in "$@"; do
        time=$(seconds bart nlinv -d0 -i"$steps" -t traj kspace bart)
        line="$line $(python3 tools.py error bart own) | $time |"
    done
    echo "$line"
done
