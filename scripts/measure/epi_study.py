#!/usr/bin/env python3
"""What is left of the ghost of echo-planar scans, over shots, ramps, navigators, noise, amounts and missing lines.

A scene is made by `larmor phantom --epi`, with given maps; its twin is the same scan without a ghost, noise included.
Each is reconstructed with `--ghost off` and without a flag, the twin with `--ghost off`. The ghost is the part of the
object that the image has more of than the twin's, moved by a multiple of 1/(2 SHOTS) of the field of view: the largest
of them. The error is the NRMSE from the truth. Both are after the best complex scale. Without navigators a
phase is known but for 180 degrees, which moves the image by half a field of view; amounts stay below 90 degrees.
FOLDER gets rows.json; tables of it are printed. LARMOR names the program (default: build/cpu/apps/larmor).
docs/records/epi.md has results. Needs NumPy. SPDX-License-Identifier: Apache-2.0
"""
import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[threads] = "1"

import numpy as np

SHOTS = [1, 2, 4]
SAMPLING = {"even": [], "ramps": ["--ramp", "120,200,120"]}
NAVIGATORS = [3, 0]
AMOUNTS = [(0, 0), (10, .2), (40, .6), (80, 1.5)]  # degrees, and 1/FOV
SNRS = [0, 30, 10, 5]  # 0: no noise
LINES = {"all": [], "R 2": ["--acceleration", "2", "--calibration-lines", "16"], "0.7": ["--partial-fourier", "0.7"]}
PHANTOMS, COILS = ["shepp-logan", "texture"], [6, 1]


def scaled(x, y):
    return np.vdot(x, y) / np.vdot(x, x) * x


def distance(x, y):
    return float(np.linalg.norm(scaled(x, y) - y) / np.linalg.norm(y))


def ghost_of(x, clean, truth, shots):
    """x and the twin's image, both of them at the truth's scale. Images are [x, y]; lines are along x."""
    more = scaled(x, truth) - scaled(clean, truth)
    moved = [np.roll(truth, k * truth.shape[1] // (2 * shots), axis=1) for k in range(1, 2 * shots)]
    return float(max(abs(np.vdot(m, more)) / np.vdot(m, m).real for m in moved))


def row_of(job):
    larmor, scene, flags = job
    shots, sampling, navigators, (degrees, shift), snr, lines, phantom, coils, seed = scene
    row = dict(shots=shots, sampling=sampling, navigators=navigators, degrees=degrees, shift=shift, snr=snr, lines=lines,
               phantom=phantom, coils=coils, seed=seed, error={}, ghost={})
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        make = [larmor, "phantom", "--quiet", "--traj", "cartesian", "--matrix", "64", "--phantom", phantom, "--coils",
                coils, "--epi", shots, "--navigators", navigators, "--seed", seed, *SAMPLING[sampling], *LINES[lines]]
        make += ["--snr", snr] if snr else []
        images = {}
        for name, ghost in (("clean", "0,0"), ("late", f"{degrees},{shift}")):
            files = ["-o", place / f"{name}.h5", "--ghost", ghost]
            files += ["--truth", place / "truth.npy", "--maps", place / "maps.npy"] if name == "clean" else []
            subprocess.run([str(w) for w in make + files], check=True, capture_output=True)
        for way, of, given in (("clean", "clean", "off"), ("off", "late", "off"), ("auto", "late", "auto")):
            image = place / f"{way}.npy"
            command = [larmor, "recon", "--quiet", place / f"{of}.h5", "-o", image, "--maps", place / "maps.npy", "--ghost",
                       given, *flags]
            done = subprocess.run([str(w) for w in command], capture_output=True, text=True, check=False)
            if done.returncode:
                row["failed"] = done.stderr[-300:]
                return row
            images[way] = np.squeeze(np.load(image))
        truth = np.squeeze(np.load(place / "truth.npy"))
        for way, image in images.items():
            row["error"][way] = distance(image, truth)
        for way in ("off", "auto"):
            row["ghost"][way] = ghost_of(images[way], images["clean"], truth, shots)
    return row


def middle(values):
    return f"{float(np.median(values)):.3f}"


def table(rows, title, key, of=lambda r: True):
    print(f"\n| {title} | scans | ghost: off | auto | 9 of 10 | worst | error: off | auto | clean | worst auto / clean |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for value in dict.fromkeys(key(r) for r in rows if of(r)):
        some = [r for r in rows if of(r) and key(r) == value]
        left = [r["ghost"]["auto"] for r in some]
        errors = [middle([r["error"][way] for r in some]) for way in ("off", "auto", "clean")]
        worst = max(r["error"]["auto"] / r["error"]["clean"] for r in some)
        print(f"| {value} | {len(some)} | {middle([r['ghost']['off'] for r in some])} | {middle(left)} | "
              f"{float(np.quantile(left, .9)):.3f} | {max(left):.3f} | {' | '.join(errors)} | {worst:.2f} |")


def tables(rows):
    has_ghost = lambda r: r["degrees"] or r["shift"]
    found_by = lambda r: "navigators" if r["navigators"] else "the image"
    table(rows, "degrees, 1/FOV", lambda r: f"{r['degrees']}, {r['shift']:g}, by {found_by(r)}")
    table(rows, "SNR", lambda r: f"{r['snr'] or 'none'}, by {found_by(r)}", has_ghost)
    table(rows, "samples", lambda r: f"{r['sampling']}, by {found_by(r)}", has_ghost)
    table(rows, "shots", lambda r: f"{r['shots']}, by {found_by(r)}", has_ghost)
    table(rows, "lines", lambda r: f"{r['lines']}, by {found_by(r)}", has_ghost)
    table(rows, "coils", lambda r: f"{r['coils']}, by {found_by(r)}", has_ghost)
    table(rows, "object", lambda r: f"{r['phantom']}, by {found_by(r)}", has_ghost)
    print("\nworst:")
    for r in sorted(rows, key=lambda r: -r["ghost"]["auto"])[:12]:
        print({k: v for k, v in r.items() if k != "failed"})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, nargs="+", default=[1])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--recon", default="", help="further options of larmor recon")
    a = parser.parse_args()
    larmor = os.environ.get("LARMOR", "build/cpu/apps/larmor")
    a.folder.mkdir(parents=True, exist_ok=True)
    jobs = []
    for seed in a.seed:
        for i, scene in enumerate(itertools.product(SHOTS, SAMPLING, NAVIGATORS, AMOUNTS, SNRS, LINES)):
            one_coil = (i + seed) % 3 == 0 and scene[-1] != "R 2"  # which one coil cannot fill in
            jobs.append((larmor, (*scene, PHANTOMS[(i // 5 + seed) % 2], COILS[one_coil], seed), a.recon.split()))
    with ProcessPoolExecutor(a.jobs) as pool:
        rows = list(pool.map(row_of, jobs, chunksize=4))
    (a.folder / "rows.json").write_text(json.dumps(rows))
    failed = [r for r in rows if "failed" in r]
    for r in failed:
        print(f"failed: {r}", file=sys.stderr)
    tables([r for r in rows if "failed" not in r])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
