#!/usr/bin/env python3
"""The error of larmor recon's partial-Fourier images over a grid of scenes with exact truth, by each --partial-fourier.

A scene is an object, a phase, coils with given maps, a part of the lines, R with 16 lines in the middle, and an SNR of the
image. Its k-space is a Fourier integral (exact_scans.py). The error is NRMSE after the best complex scale. FOLDER gets
rows.json; the table of its rows is printed. LARMOR names the program (default: build/cpu/apps/larmor).
docs/records/cartesian.md has results. Needs NumPy, SciPy and h5py. SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"

import numpy as np
from exact_scans import Readout, Scan, coil_images, coils, ring_coils, shepp, signals, write
from scenes import difference, texture, tree
from scipy.special import jv

OBJECTS = {"shepp": lambda rng: shepp(), "vessels": tree, "texture": texture}
PHASES = ["none", "smooth", "rough"]
PARTS, SNRS, COILS = [.55, .6, .75, .875], [3, 5, 10, 30, 0], [1, 4, 8]
WAYS = ["zero", "homodyne", "pocs", "auto"]
ORDER = 12  # of the Bessel series of the largest phase, 3 radians
MIDDLE = 16  # lines that are all there where R > 1


def phase_waves(amplitude, cycles, turn):
    """exp(i amplitude sin(2 pi cycles.r + turn)) as plane waves."""
    return [(complex(jv(m, amplitude)) * np.exp(1j * m * turn), m * cycles) for m in range(-ORDER, ORDER + 1)
            if abs(jv(m, amplitude)) > 1e-4]


def wave_product(first, second):
    return [(a * b, p + q) for a, p in first for b, q in second]


def draw(name, phase, count, seed):
    """An object of this phase: all of its k-space [coils, n, n], its truth and its coils."""
    rng = np.random.default_rng([36, seed, sorted(OBJECTS).index(name), PHASES.index(phase), count])
    n = int(rng.choice([48, 64]))
    e = OBJECTS[name](rng)
    turn = [(1 + 0j, np.zeros(2))]
    if phase != "none":
        way = rng.uniform(0, 2 * np.pi)
        size = rng.uniform(.3, .7) if phase == "smooth" else rng.uniform(.9, 1.4)
        turn = phase_waves(rng.uniform(.5, 1.5) if phase == "smooth" else rng.uniform(1.5, 3),
                           size * np.array([np.cos(way), np.sin(way)]), rng.uniform(-np.pi, np.pi))
    if phase == "rough":
        e = [(p[0] * np.exp(1j * rng.uniform(-.5, .5)), *p[1:]) for p in e]
    waves = (ring_coils if rng.random() < .5 else coils)(count, 2, rng)
    k = np.stack(np.meshgrid(*[np.arange(n) - n // 2] * 2, indexing="ij"), -1).astype(float)
    data = signals(k, e, [wave_product(w, turn) for w in waves])
    one = signals(k, e, [turn])[0]
    image = np.fft.fftshift(np.fft.ifftn(np.fft.ifftshift(one))) * n * n
    return {"n": n, "data": data, "truth": image, "waves": waves}


def lines_of(n, part, R):
    """The lines that are there, in cycles per field of view: the first ones are missing."""
    y = np.arange(n - round(part * n), n) - n // 2
    return [int(v) for v in y if v % R == 0 or -MIDDLE // 2 <= v < MIDDLE // 2]


def scan_of(drawn, part, R, snr, seed):
    n, waves = drawn["n"], drawn["waves"]
    scan = Scan((n, n), [], waves, type="cartesian")
    rng = np.random.default_rng(seed)
    scan.limits = {f"kspace_encoding_step_{d}": (0, n - 1, n // 2) for d in range(2)}
    full = drawn["truth"] * np.sqrt((abs(coil_images(waves, (n, n))) ** 2).sum(0))
    body = abs(drawn["truth"]) > .05 * abs(drawn["truth"]).max()
    sigma = abs(full)[body].mean() / snr / n if snr else 0
    for v in lines_of(n, part, R):
        r = Readout(np.zeros((n, 2)), None, {"kspace_encode_step_1": v + n // 2})
        own = drawn["data"][:, :, v + n // 2]
        r.data = own + sigma * (rng.normal(size=own.shape) + 1j * rng.normal(size=own.shape))
        scan.readouts.append(r)
    return scan


def rows_of(job):
    name, phase, count, seed, larmor, ways, flags, share, snrs = job
    drawn = draw(name, phase, count, seed)
    rows = []
    with tempfile.TemporaryDirectory(prefix="partial-") as spare:
        place = Path(spare)
        n = drawn["n"]
        maps = np.moveaxis(coil_images(drawn["waves"], (n, n)), 0, -1).astype(np.complex64)
        np.save(place / "maps.npy", np.asfortranarray(maps))
        rng = np.random.default_rng([seed, 7])
        for part in PARTS:
            for R in [1, 2] if count > 1 else [1]:
                for snr in snrs:
                    if rng.random() > share:
                        continue
                    write(place / "scan.h5", scan_of(drawn, part, R, snr, [seed, int(1000 * part), R, int(snr)]))
                    row = {"object": name, "phase": phase, "coils": count, "part": part, "R": R, "snr": snr,
                           "seed": seed, "n": n, "error": {}}
                    for way in ways:
                        command = [larmor, "recon", place / "scan.h5", "-o", place / "x.npy", "-f", "--threads", "1",
                                   "--maps", place / "maps.npy", "--json", "--partial-fourier", way, *flags]
                        done = subprocess.run([str(w) for w in command], capture_output=True, text=True, check=False)
                        if done.returncode:
                            row["error"][way] = math.nan
                            continue
                        row["error"][way] = difference(np.squeeze(np.load(place / "x.npy")), drawn["truth"])
                        if way == "auto":
                            result = json.loads(done.stdout)["results"][0]
                            row.update(taken=result.get("partial_fourier"), off=result.get("off_phase"),
                                       misfit=result.get("phase_misfit"),
                                       noise=result.get("phase_misfit_noise"))
                    rows.append(row)
    return rows


def mean(values):
    return float(np.exp(np.mean(np.log(values)))) if len(values) else math.nan


def table(rows, ways):
    """For each value of each property: geometric mean and worst ratio of each way to the least error of all ways."""
    print("| | rows | " + " | ".join(ways) + " |\n|---|---|" + "---|" * len(ways))
    groups = [("all", lambda r: True)]
    for key in ("object", "phase", "coils", "part", "R", "snr", "taken"):
        for value in dict.fromkeys(r.get(key) for r in rows):
            label = "none" if key == "snr" and not value else value
            groups.append((f"{key} {label}", lambda r, k=key, v=value: r.get(k) == v))
    for label, holds in groups:
        some = [r for r in rows if holds(r)]
        cells = []
        for way in ways:
            ratio = [r["error"][way] / min(r["error"][w] for w in ways) for r in some]
            cells.append(f"{mean(ratio):.3f} / {max(ratio):.2f}")
        print(f"| {label} | {len(some)} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--ways", nargs="+", default=WAYS)
    parser.add_argument("--snrs", type=float, nargs="+", default=SNRS, help="0: no noise")
    parser.add_argument("--share", type=float, default=1, help="of the grid, drawn by the seed")
    parser.add_argument("--recon", default="", help="further options of larmor recon")
    a = parser.parse_args()
    larmor = os.environ.get("LARMOR", "build/cpu/apps/larmor")
    a.folder.mkdir(parents=True, exist_ok=True)
    jobs = [(name, phase, count, a.seed, larmor, a.ways, a.recon.split(), a.share, a.snrs)
            for name in OBJECTS for phase in PHASES for count in COILS]
    with ProcessPoolExecutor(a.jobs) as pool:
        rows = []
        for some in pool.map(rows_of, jobs):
            rows += some
            (a.folder / "rows.json").write_text(json.dumps(rows))
    if not rows:
        sys.exit("no scene was drawn; give a larger --share")
    table(rows, a.ways)
    return 0


if __name__ == "__main__":
    sys.exit(main())
