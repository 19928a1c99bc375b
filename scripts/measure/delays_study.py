#!/usr/bin/env python3
"""The delays that larmor finds and the images that it makes with them, over trajectories, noise and amounts.

A scene is a trajectory, an object, coils with given maps, an SNR of the image, and how late the gradients are: the
amount in samples along x, 0.7 of it along y, 0.4 of it along z. Its k-space is a Fourier integral (exact_scans.py) where
the gradients really were; the file states where they should have been. Each scan is reconstructed with --delays off,
without a flag, and with the true delays; the error is NRMSE after the best complex scale. The claim's error is the
largest of the delays that the trajectory can show, in samples.
FOLDER gets rows.json; tables of it are printed. LARMOR names the program (default: build/cpu/apps/larmor).
docs/records/delays.md has results. Needs NumPy, SciPy and h5py. SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"

import numpy as np
from exact_scans import Readout, Scan, coil_images, coils, integral, ring_coils, sample, write
from scenes import GOLDEN, OBJECTS, difference, directions

SNRS, AMOUNTS, COILS = [0, 30, 10, 5], [0, .3, 1, 2], [1, 6]
PART = np.array([1, .7, .4])  # of the amount, of each axis
FLAT, SOLID = 64, 32  # voxels along each axis
NEAR = .1  # of the amount, and samples: a claim that is nearer to the truth than both together is right

# ---- trajectories: functions of the time in samples, in cycles per field of view; at rest where nothing is known ----


def straight(count, n, way, begin):
    """A spoke of two samples for each 1/FOV; one from the centre (begin = 0) stays there until it begins."""
    samples = n if begin == 0 else 2 * n

    def place(t):
        r = t / 2 - begin
        return (np.maximum(r, 0) if begin == 0 else r) * way
    return place, samples, count


def flat(angle):
    return np.array([np.cos(angle), np.sin(angle)])


def golden(n):
    return [straight(i, n, flat(GOLDEN * i), n / 2) for i in range(76)]


def spokes(n):
    return [straight(i, n, flat(np.pi / 100 * i), n / 2) for i in range(100)]


def out_spokes(n):
    return [straight(i, n, flat(GOLDEN * i), 0) for i in range(120)]


def koosh(n):
    return [straight(i, n, d, n / 2) for i, d in enumerate(directions(2400)[::2])]


def arm(n, turns, angle, samples):
    """An Archimedean spiral whose gradient rises in the first tenth of it."""
    def place(t):
        u = np.clip(t, 0, None) / samples
        r = n / 2 * u * np.sqrt(1.1 / (u + .1))
        return r * np.concatenate([np.cos(turns * 2 * np.pi * r / (n / 2) + angle),
                                   np.sin(turns * 2 * np.pi * r / (n / 2) + angle)], 1)
    return place, samples, 0


def spiral(n, arms=16):
    return [arm(n, n / 2 / arms, 2 * np.pi * i / arms, 26 * n // arms * 2) for i in range(arms)]


def spiral_stack(n):
    out = []
    for z in range(-n // 4, n // 4):
        for place, samples, _ in spiral(n, 8):
            out.append((lambda t, p=place, z=z: np.concatenate([p(t), np.full((len(t), 1), float(z))], 1), samples,
                        z + n // 4))
    return out


def risen(t, samples, part):
    """How far a readout from rest has come, from 0 to 1: its gradient rises in the first part of it."""
    u = np.clip(t, 0, None) / samples
    return np.where(u < part, u * u / (2 * part), u - part / 2) / (1 - part / 2)


def cones(n):
    def curve(d):
        def place(t):
            r = risen(t, 2 * n, .1) * n / 2
            turn = 2.5 * r / (n / 2) + math.atan2(d[1], d[0])
            flat_part = math.hypot(d[0], d[1])
            return r * np.concatenate([flat_part * np.cos(turn), flat_part * np.sin(turn), np.full((len(t), 1), d[2])], 1)
        return place
    return [(curve(d), 2 * n, 0) for d in directions(1500)]


def ute(n):
    """Spokes from the centre, sampled while the gradient rises."""
    def spoke(d):
        return lambda t: n / 2 * risen(t, 1.4 * n, .3) * d
    return [(spoke(d), int(1.4 * n), 0) for d in np.random.default_rng(1).permutation(directions(1800))]


CURVES = {"golden": golden, "radial": spokes, "out": out_spokes, "koosh": koosh, "spiral": spiral,
          "stack": spiral_stack, "cones": cones, "ute": ute}
KINDS = {"golden": "goldenangle", "radial": "radial", "out": "goldenangle", "spiral": "spiral", "stack": "spiral"}
TRAJECTORIES = ["lines", "epi", *CURVES]
SPACE = {"koosh", "stack", "cones", "ute"}
SHOWN = {"lines": 1, "epi": 1, "stack": 2}  # axes along which the trajectory shows delays, if not all


def late(place, samples, delay):
    """Each axis of a readout as late as its gradient is."""
    t = np.arange(samples)[:, None]
    return np.stack([place(t - d)[:, a] for a, d in enumerate(delay)], -1)


def acquire(scan, name, delay):
    n = scan.n[0]
    if name in CURVES:
        scan.type = KINDS.get(name, "other")
        nothing = [0.0] * len(scan.n)
        for i, (place, samples, z) in enumerate(CURVES[name](n)):
            counters = {"kspace_encode_step_1": i, "kspace_encode_step_2": z if name == "stack" else 0}
            scan.readouts.append(Readout(late(place, samples, delay), late(place, samples, nothing), counters))
        return
    scan.type = "epi" if name == "epi" else "cartesian"
    oversampling = 1 if name == "epi" else 2
    x = np.arange(oversampling * n) / oversampling - n / 2
    for d, m in enumerate(scan.n):
        scan.limits[f"kspace_encoding_step_{d}"] = (0, m - 1, m // 2)
    if oversampling > 1:
        scan.encoded, scan.encoded_fov = (oversampling * n, n), (oversampling * 256.0, 256.0)
    for i, y in enumerate(np.arange(n) - n // 2):
        back = i % 2 == 1
        way = -1 if back else 1
        k = np.stack([(x[::-1] if back else x) - way * delay[0] / oversampling, np.full(len(x), float(y))], -1)
        r = Readout(k, None, {"kspace_encode_step_1": i}, [22] if back else [])
        if back:
            r.head["center_sample"] = len(x) - 1 - len(x) // 2
        scan.readouts.append(r)


def simulate(name, count, snr, amount, seed):
    rng = np.random.default_rng([35, seed, TRAJECTORIES.index(name), count])
    nd = 3 if name in SPACE else 2
    n = (SOLID if nd == 3 else FLAT,) * nd
    if name == "stack":
        n = (n[0], n[1], n[0] // 2)
    waves = (ring_coils if rng.random() < .5 else coils)(count, nd, rng)
    scan = Scan(n, OBJECTS[str(rng.choice(list(OBJECTS)))](rng), waves)
    if name == "stack":
        scan.fov = (256.0, 256.0, 128.0)
    acquire(scan, name, amount * PART[:nd])
    k = np.stack(np.meshgrid(*[np.arange(m) - m // 2 for m in n], indexing="ij"), -1).astype(float)
    scan.truth = np.fft.fftshift(np.fft.ifftn(np.fft.ifftshift(integral(k, scan.e)))) * np.prod(n)
    full = scan.truth * np.sqrt((abs(coil_images(waves, n)) ** 2).sum(0))
    body = abs(scan.truth) > .05 * abs(scan.truth).max()
    scan.correlation = 0.0
    scan.sigma = math.sqrt(2) * abs(full)[body].mean() / snr / math.sqrt(np.prod(n)) if snr else 0.0
    sample(scan, [seed, int(10 * amount), int(snr)])
    return scan


def claimed(log):
    """The delays of the log: 0 where none are found, None where another correction is made in their place."""
    found = re.search(r"gradients are late by ([^;]*?) samples", log)
    values = np.zeros(3)
    for axis, value in re.findall(r"\b([xyz]) (-?[\d.]+)", found.group(1)) if found else []:
        values["xyz".index(axis)] = float(value)
    return values, bool(found)


def row_of(job):
    name, count, snr, amount, seed, larmor, flags = job
    row = {"traj": name, "coils": count, "snr": snr, "amount": amount, "seed": seed, "error": {}}
    with tempfile.TemporaryDirectory(prefix="delays-") as spare:
        place = Path(spare)
        scan = simulate(name, count, snr, amount, seed)
        write(place / "scan.h5", scan)
        maps = np.moveaxis(coil_images(scan.waves, scan.n), 0, -1).astype(np.complex64)
        np.save(place / "maps.npy", np.asfortranarray(maps if len(scan.n) == 3 else maps[:, :, None, :]))
        true = amount * PART[:len(scan.n)]
        given = ",".join(f"{v:g}" for v in (true if name not in ("lines", "epi") else [true[0], 0]))
        for way, delays in (("off", "off"), ("auto", "auto"), ("given", given)):
            begin = time.monotonic()
            command = [larmor, "recon", place / "scan.h5", "-o", place / "x.npy", "-f", "--threads", "1", "--maps",
                       place / "maps.npy", f"--delays={delays}", *flags]
            done = subprocess.run([str(w) for w in command], capture_output=True, text=True, check=False)
            row[f"s_{way}"] = time.monotonic() - begin
            row["error"][way] = math.nan
            if done.returncode:
                row["failed"] = done.stderr[-300:]
                continue
            row["error"][way] = difference(np.squeeze(np.load(place / "x.npy")), scan.truth)
            if way == "auto":
                found, row["claimed"] = claimed(done.stderr)
                row["found"] = found.tolist()
                row["ghost"] = "ghost" in done.stderr
    shown = SHOWN.get(name, len(scan.n))
    row["off"] = float(abs(found[:shown] - true[:shown]).max()) if "found" in row else math.nan
    return row


def mean(values):
    values = [v for v in values if v > 0]
    return f"{math.exp(np.mean(np.log(values))):.3f}" if values else "-"


def table(rows):
    """Of each trajectory and noise: the claims, how far off they are, and geometric means of the errors."""
    print("| trajectory | SNR | amount | scans | claimed | farthest off | image: off | auto | given | worst auto / given |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in TRAJECTORIES:
        for snr in dict.fromkeys(r["snr"] for r in rows):
            for amount in dict.fromkeys(r["amount"] for r in rows):
                some = [r for r in rows if (r["traj"], r["snr"], r["amount"]) == (name, snr, amount)]
                if not some:
                    continue
                off = [r["off"] for r in some if r.get("claimed")]
                errors = [mean([r["error"][way] for r in some]) for way in ("off", "auto", "given")]
                worst = max(r["error"]["auto"] / r["error"]["given"] for r in some)
                print(f"| {name} | {snr or 'none'} | {amount:g} | {len(some)} | {len(off)} | "
                      f"{f'{max(off):.3f}' if off else '-'} | {' | '.join(errors)} | {worst:.2f} |")


def summary(rows):
    print("\n| trajectory | late scans | right | wrong | not claimed | scans without delays | claimed | seconds of auto over off |")
    print("|---|---|---|---|---|---|---|---|")
    for name in TRAJECTORIES:
        some = [r for r in rows if r["traj"] == name]
        delayed = [r for r in some if r["amount"] > 0]
        claims = [r for r in delayed if r.get("claimed")]
        right = [r for r in claims if r["off"] <= NEAR + NEAR * r["amount"]]
        without = [r for r in some if r["amount"] == 0]
        if some:
            cost = mean([r["s_auto"] / r["s_off"] for r in without])
            print(f"| {name} | {len(delayed)} | {len(right)} | {len(claims) - len(right)} | "
                  f"{len(delayed) - len(claims)} | {len(without)} | {sum(bool(r.get('claimed')) for r in without)} | "
                  f"{cost} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, nargs="+", default=[1])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--traj", nargs="+", default=TRAJECTORIES, choices=TRAJECTORIES)
    parser.add_argument("--snr", type=float, nargs="+", default=SNRS, help="0: no noise")
    parser.add_argument("--amount", type=float, nargs="+", default=AMOUNTS)
    parser.add_argument("--coils", type=int, nargs="+", default=COILS)
    parser.add_argument("--recon", default="--method cg", help="further options of larmor recon")
    a = parser.parse_args()
    larmor = os.environ.get("LARMOR", "build/cpu/apps/larmor")
    a.folder.mkdir(parents=True, exist_ok=True)
    jobs = [(name, count, snr, amount, seed, larmor, a.recon.split()) for seed in a.seed for name in a.traj
            for snr in a.snr for amount in a.amount for count in a.coils]
    rows = []
    with ProcessPoolExecutor(a.jobs) as pool:
        for row in pool.map(row_of, jobs):
            rows.append(row)
            (a.folder / "rows.json").write_text(json.dumps(rows))
    for r in rows:
        if "failed" in r:
            print(f"failed: {r}", file=sys.stderr)
    table(rows)
    summary(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
