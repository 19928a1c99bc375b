#!/usr/bin/env python3
"""The error of larmor recon's images over scenes with exact truth: by default, and by each method over its weights.

A scene is a trajectory, an undersampling R, an SNR of the image, an object, coils, and maps that are given or found from
the data. Its k-space is a Fourier integral (exact_scans.py). Each scene is reconstructed without a flag (the default), by
each method at the weight that larmor chooses, and by each method at a sweep of weights around it. The error is NRMSE
after the best complex scale; with maps from the data that of magnitudes. The amplitude is the image's projection on the
truth, relative to the truth: below 1 the image has lost intensity.

FOLDER gets rows/SEED/SCENE.json and, of all rows in it, rows.json, table.md (every scene) and summary.md. What is in
rows already is not done again. LARMOR names the program (default: build/cpu/apps/larmor). docs/validation.md has results.
Needs NumPy, SciPy and h5py. SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
import traceback
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"

import numpy as np
from exact_scans import (CALIB, CALIB_IMAGING, OBJECTS, REVERSE, Readout, Scan, coil_images, coils, koosh, ring_coils,
                         sample, spiral, spokes, truth, write)

GOLDEN = np.deg2rad(111.246117975)
METHODS = ["cg", "tv", "wavelet", "tgv"]
LIMIT_S = 300  # of one reconstruction
SWEEPS = {"none": (0, 0), "coarse": (.5, 6), "full": (.25, 12)}  # decades from weight to weight, most on each side
RISE = 1.015  # the sweep ends on a side where the error is this many times the least one on it

# ---- objects ----


def texture(rng):
    """A body with smooth shading and fine texture: two ellipsoids and many Gaussians."""
    e = [(.7, (.01, -.01, 0), (.38, .43, .4), rng.uniform(-10, 10)), (.2, (0, .02, 0), (.3, .34, .33), 10)]
    for _ in range(160):
        s = .008 * 10 ** rng.uniform(0, 1.1)
        e.append((rng.normal() * .25, tuple(.24 * np.clip(rng.normal(size=3), -1.2, 1.2)), s))
    return e


def tree(rng):
    """Vessels: thin ellipsoids end to end, with branches, in a weak body."""
    e = [(.12, (0, 0, 0), (.4, .38, .38), 0)]
    ends = [(np.array([rng.uniform(-.1, .1), -.33, 0]), 90 + rng.uniform(-15, 15), .016, 1.0)]
    while ends and len(e) < 40:
        p, angle, width, bright = ends.pop(0)
        half = rng.uniform(.04, .07)
        way = np.array([np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle)), rng.uniform(-.4, .4)])
        e.append((bright, tuple(p + half * way), (half, width, width), angle))
        p = p + 2 * half * way
        if np.linalg.norm(p[:2]) < .36:
            ends += [(p, angle + turn + rng.uniform(-10, 10), max(.8 * width, .006), bright * rng.uniform(.8, 1.1))
                     for turn in ((-25, 25) if rng.random() < .7 else (0,))]
    return e


OBJECTS = {**{name: OBJECTS[name] for name in ("shepp", "brain", "phased")}, "texture": texture, "vessels": tree}

# ---- trajectories: lists of readouts [samples, nd] in cycles per field of view ----


def every(count, R, least=1):
    return max(least, math.ceil(count / R))


def golden(n, R, rng):
    return spokes(n, GOLDEN * np.arange(every(np.pi / 2 * n, R, 3)))


def radial(n, R, rng):
    m = every(np.pi / 2 * n, R, 3)
    return spokes(n, np.pi / m * np.arange(m))


def spiral_arms(n, R, rng):
    return spiral(n, 12)[:: int(R)]


def dense_spiral(n, R, rng):
    """The distance between turns grows from the centre to the edge."""
    arms, s = 12, int(np.pi * n * n / 4 / 12 * 1.6 / R)
    inner, outer = .5 * min(R, 2), 1.25 * R
    r = n / 2 * np.linspace(0, 1, s) ** .6
    apart = inner + (outer - inner) * r / (n / 2)
    step = np.concatenate([[0], np.diff(r)])
    turn = np.cumsum(2 * np.pi * step / (arms * apart))
    return [np.stack([r * np.cos(turn + a), r * np.sin(turn + a)], -1) for a in 2 * np.pi * np.arange(arms) / arms]


def walk(n, R, rng):
    """Random walks from the centre, which turn slowly and stay inside."""
    count, s = every(n * n * 1.3 / 256, R, 2), 256
    out = []
    for _ in range(count):
        k, p, a = np.zeros((s, 2)), np.zeros(2), rng.uniform(0, 2 * np.pi)
        for i in range(s):
            k[i] = p
            a += rng.normal() * .12
            step = .7 * np.array([np.cos(a), np.sin(a)])
            if np.linalg.norm(p + step) > n / 2:
                a = math.atan2(-p[1], -p[0]) + rng.normal() * .6
                step = .7 * np.array([np.cos(a), np.sin(a)])
            p = p + step
        out.append(k)
    return out


def rosette(n, R, rng):
    t = np.linspace(0, 1, int(2.5 * n), endpoint=False)
    return [n / 2 * np.sin(np.pi * t)[:, None] * np.stack([np.cos(a + 2 * t), np.sin(a + 2 * t)], -1)
            for a in GOLDEN * np.arange(every(1.6 * n, R, 3))]


def propeller(n, R, rng):
    """Blades of 16 parallel lines that turn about the centre."""
    lines, m = 16, every(np.pi / 2 * n / 16 + 1, R, 2)
    x = np.arange(n) - n / 2
    out = []
    for a in np.pi / m * np.arange(m):
        c, s = np.cos(a), np.sin(a)
        out += [np.stack([c * x - s * y, s * x + c * y], -1) for y in np.arange(lines) - lines / 2]
    return [k[np.linalg.norm(k, axis=1) <= n / 2] for k in out]


def balls(n, R, rng):
    return koosh(n, every(1.2 * n * n, R))


def directions(count):
    i = np.arange(count)
    z, a = 1 - 2 * (i + .5) / count, i * np.pi * (3 - np.sqrt(5))
    w = np.sqrt(1 - z * z)
    return np.stack([w * np.cos(a), w * np.sin(a), z], -1)


def cones(n, R, rng):
    """Centre-out arms that wind about z on cones."""
    t = np.linspace(0, 1, 2 * n)
    r, turn = n / 2 * t, 2.5 * t
    return [np.stack([r * np.hypot(x, y) * np.cos(turn + math.atan2(y, x)),
                      r * np.hypot(x, y) * np.sin(turn + math.atan2(y, x)), r * z], -1)
            for x, y, z in directions(every(1.2 * n * n, R))]


def ute(n, R, rng):
    """Centre-out spokes, sampled while the gradient rises."""
    t = np.linspace(0, 1, int(1.4 * n))
    r = np.where(t < .3, t * t / .6, t - .15)
    return [n / 2 * (r / r[-1])[:, None] * d for d in rng.permutation(directions(every(1.8 * n * n, R)))]


def yarn(n, R, rng):
    """Curves through the centre that turn about axes of their own."""
    t = np.linspace(0, 1, 4 * n)
    out = []
    for d in directions(every(.6 * n * n, R)):
        side = np.cross(d, rng.normal(size=3))
        side /= np.linalg.norm(side)
        a = 2.8 * (t - .5)
        out.append(n / 2 * np.cos(np.pi * t)[:, None] * (np.cos(a)[:, None] * d + np.sin(a)[:, None] * side))
    return out


def spread(n, count, rng):
    """Cells of a plane n x n whose distance grows with that from the centre (Poisson disc), about count of them."""
    order = rng.permutation(n * n)
    cells = np.stack([order % n, order // n], -1) - n // 2
    out = np.linalg.norm(cells, axis=1) / (n / 2)
    low, high = 0.0, float(n)
    for _ in range(12):
        scale = (low + high) / 2
        keep = []
        for c, r in zip(cells, out, strict=True):
            apart = 0 if r * n / 2 <= 4 else scale * (.4 + r)
            if all((c[0] - q[0]) ** 2 + (c[1] - q[1]) ** 2 >= apart * apart for q in keep):
                keep.append(c)
        low, high = (scale, high) if len(keep) > count else (low, scale)
    return keep


CURVES = {"golden": golden, "radial": radial, "spiral": spiral_arms, "vds": dense_spiral, "walk": walk,
          "rosette": rosette, "propeller": propeller, "koosh": balls, "cones": cones, "ute": ute, "yarn": yarn}
GRIDS = ["cartesian", "lines", "epi", "poisson"]  # without a trajectory in the file
SOLID = ["koosh", "cones", "stars", "yarn", "ute", "poisson"]
TRAJECTORIES = [*list(CURVES)[:7], "cartesian", "lines", "epi", "koosh", "cones", "ute", "yarn", "stars", "poisson"]
KINDS = {"golden": "goldenangle", "radial": "radial", "spiral": "spiral", "vds": "spiral", "stars": "goldenangle",
         "cartesian": "cartesian", "lines": "cartesian", "epi": "epi", "poisson": "cartesian"}


def acquire(scan, traj, R, rng):
    """The scan's readouts, and what its header says of them."""
    n = scan.n[0]
    scan.type = KINDS.get(traj, "other")
    if traj in CURVES:
        scan.readouts = [Readout(k, k.copy(), {"kspace_encode_step_1": i}) for i, k in
                         enumerate(CURVES[traj](n, R, rng))]
        return
    if traj == "stars":
        half, m = scan.n[2] // 2, every(np.pi / 2 * n, R, 3)
        for z in range(-half, half):
            for i, k in enumerate(spokes(n, GOLDEN * np.arange(m))):
                k = np.concatenate([k, np.full((len(k), 1), z)], 1)
                counters = {"kspace_encode_step_1": i, "kspace_encode_step_2": z + half}
                scan.readouts.append(Readout(k, k.copy(), counters))
        return
    kx = np.arange(n) - n // 2
    for d, m in enumerate(scan.n):
        scan.limits[f"kspace_encoding_step_{d}"] = (0, m - 1, m // 2)
    if traj == "poisson":
        cells = spread(n, n * n / R, rng) if R > 1 else [(y, z) for z in kx for y in kx]
        for y, z in sorted(map(tuple, cells), key=lambda c: (c[1], c[0])):
            k = np.stack([kx, np.full(n, y), np.full(n, z)], -1)
            scan.readouts.append(Readout(k, None, {"kspace_encode_step_1": y + n // 2,
                                                   "kspace_encode_step_2": z + n // 2}))
        return
    ny = scan.n[1]
    y = np.arange(ny) - ny // 2
    if traj == "lines":
        likely = np.where(abs(y) <= 6, 1e9, (1.1 - abs(y) / (ny / 2)) ** 1.5) * rng.random(ny) ** .3
        taken = np.sort(y[np.argsort(-likely)[: every(ny, R, 12)]])
    else:
        middle = 8 if traj == "cartesian" and R > 1 else 0
        taken = [v for v in y if v % int(R) == 0 or -middle <= v < middle]
    for i, v in enumerate(taken):
        back = traj == "epi" and i % 2 == 1
        k = np.stack([kx, np.full(n, v)], -1)
        calibrates = traj == "cartesian" and R > 1 and -8 <= v < 8
        flags = [CALIB_IMAGING if v % int(R) == 0 else CALIB] if calibrates else []
        r = Readout(k[::-1] if back else k, None, {"kspace_encode_step_1": v + ny // 2},
                    flags + ([REVERSE] if back else []))
        if back:
            r.head["center_sample"] = n - 1 - n // 2
        scan.readouts.append(r)
    if traj == "cartesian" and R > 1:
        scan.parallel = (f"<parallelImaging><accelerationFactor><kspace_encoding_step_1>{int(R)}"
                         "</kspace_encoding_step_1><kspace_encoding_step_2>1</kspace_encoding_step_2>"
                         "</accelerationFactor><calibrationMode>embedded</calibrationMode></parallelImaging>")


# ---- scenes ----

def scenes(seed, scale=1.0):
    """15 scenes of each trajectory: each SNR with three of five R; what else they are is drawn."""
    rng = np.random.default_rng([34, seed])
    out = []
    for t, traj in enumerate(TRAJECTORIES):
        for s, snr in enumerate([3, 5, 10, 30, 0]):
            for j in range(3):
                R = [1, 2, 3, 4, 6][(s + t + 2 * j) % 5]
                count = int(rng.choice([1, 4, 8, 16] if R <= 2 else [4, 8, 8, 16]))
                given = rng.random() < .5
                if traj in ("cartesian", "epi") and R > 1:
                    count = max(count, 4 if R <= 2 else 8)
                    given = given or traj == "epi"
                n = int(rng.choice([20, 24, 24] if traj in SOLID else [64, 64, 80, 96]))
                size = (n, n, n) if traj in SOLID else (n, n)
                if traj == "stars":
                    size = (48, 48, 10)
                elif traj in GRIDS and traj != "poisson" and rng.random() < .3:
                    size = (n, n - 8)
                size = [int(scale * m / 2) * 2 for m in size]
                scene = {"traj": traj, "R": R, "snr": snr, "object": str(rng.choice(list(OBJECTS))), "coils": count,
                         "maps": "given" if given else "data", "n": size, "ring": bool(rng.random() < .5),
                         "noise_scan": bool(snr and rng.random() < .35), "seed": seed, "number": len(out)}
                scene["name"] = f"{traj}-R{R}-snr{snr or 'none'}-{scene['object']}-{count}c-{scene['maps']}"
                out.append(scene)
    return out


def simulate(scene):
    rng = np.random.default_rng([scene["seed"], scene["number"], 1])
    n = tuple(scene["n"])
    waves = (ring_coils if scene["ring"] else coils)(scene["coils"], len(n), rng)
    scan = Scan(n, OBJECTS[scene["object"]](rng), waves)
    if scene["traj"] == "stars":
        scan.fov = (256.0, 256.0, 128.0)
    acquire(scan, scene["traj"], scene["R"], rng)
    scan.truth = truth(scan.e, scan.waves, n)
    density = truth(scan.e, [[(1.0, np.zeros(len(n)))]], n)
    body = abs(density) > .05 * abs(density).max()
    scan.correlation, scan.sigma = 0.0, 0.0
    if scene["snr"]:  # as `larmor phantom --snr`: docs/reference/phantoms.md#noise
        scan.sigma = math.sqrt(2) * abs(scan.truth)[body].mean() / scene["snr"] / math.sqrt(np.prod(n))
        scan.noise_scan = 16 if scene["noise_scan"] else 0
        scan.bandwidth = "<relativeReceiverNoiseBandwidth>1</relativeReceiverNoiseBandwidth>"
    if scene["maps"] == "given":  # maps from the data leave the root sum of squares of the coils in the image
        scan.truth = density
    scan.reach = {"stars": 2, **dict.fromkeys(GRIDS, 0)}.get(scene["traj"], len(n))
    sample(scan, [scene["seed"], scene["number"], 2])
    return scan


def inside(image, axes):
    """The part of an image within the disc or ball of k-space of so many axes."""
    if not axes:
        return image
    f = np.fft.fftshift(np.fft.fftn(np.fft.ifftshift(image)))
    g = np.meshgrid(*[(np.arange(m) - m // 2) / (m / 2) for m in image.shape], indexing="ij")
    return np.fft.fftshift(np.fft.ifftn(np.fft.ifftshift(f * (sum(x * x for x in g[:axes]) <= 1))))


def difference(a, b):
    power = np.vdot(a, a).real
    return float(np.linalg.norm((np.vdot(a, b) / power if power > 0 else 0) * a - b) / np.linalg.norm(b))


def measure(image, scan, scene):
    image = np.squeeze(image)
    magnitude = abs if scene["maps"] == "data" else lambda v: v
    a, b = magnitude(image), magnitude(scan.truth)
    return {"error": difference(a, b),
            "inside": difference(magnitude(inside(image, scan.reach)), magnitude(inside(scan.truth, scan.reach))),
            "amplitude": float(abs(np.vdot(b, a)) / np.vdot(b, b).real)}


# ---- one scene ----

class Work:
    """A scene's files, and reconstructions of them."""

    def __init__(self, scene, folder, larmor, flags):
        self.scene, self.folder, self.larmor, self.flags = scene, folder, larmor, flags
        self.scan = simulate(scene)
        write(folder / "scan.h5", self.scan)
        np.save(folder / "truth.npy", np.asfortranarray(self.scan.truth.astype(np.complex64)))
        self.maps, self.settled = None, None  # settled: what the first run has found, which others need not look for
        if scene["maps"] == "given":
            maps = np.moveaxis(coil_images(self.scan.waves, self.scan.n), 0, -1).astype(np.complex64)
            np.save(folder / "maps.npy", np.asfortranarray(maps))
            self.maps = folder / "maps.npy"

    def recon(self, *words):
        image = self.folder / "image.npy"
        image.unlink(missing_ok=True)
        given = ["--maps", self.maps] if self.maps else []
        command = [self.larmor, "recon", self.folder / "scan.h5", "-o", image, "-f", "--threads", "1", "--json",
                   *given, *(self.settled or []), *self.flags, *words]
        try:
            done = subprocess.run([str(w) for w in command], capture_output=True, text=True, timeout=LIMIT_S,
                                  check=False, env={**os.environ, "OMP_WAIT_POLICY": "passive"})
        except subprocess.TimeoutExpired:
            return {"error": math.nan, "log": f"more than {LIMIT_S} s"}
        if done.returncode or not image.exists():
            return {"error": math.nan, "log": done.stderr[-1500:]}
        report = json.loads(done.stdout)
        first = report["results"][0]
        if self.settled is None:
            self.settled = [] if any(report["delays"]) else ["--delays", "off"]
            self.settled += ["--oversample", "1"] if first["grid"][: len(self.scan.n)] == list(self.scan.n) else []
        return {**measure(np.load(image), self.scan, self.scene), "method": report["method"],
                "lambda": first.get("lambda"), "iterations": first.get("iterations"), "seconds": report["seconds"],
                "warnings": [line for line in done.stderr.splitlines() if "warning:" in line],
                "log": [line for line in done.stderr.splitlines() if "method" in line or "lambda" in line]}


def sweep(work, method, chosen, kind, flags):
    """Weights beside the chosen one and their results: on each side as far as the error falls, then the vertex."""
    step, most = SWEEPS[kind]
    at = {}

    def weigh(decades):
        one = work.recon("-m", method, "--lambda", f"{chosen['lambda'] * 10 ** decades:.6g}", *flags)
        at[decades] = {key: one.get(key) for key in ("lambda", "error", "inside", "amplitude", "seconds")}
        at[decades]["lambda"] = chosen["lambda"] * 10 ** decades
        return at[decades]["error"]
    errors = {0.0: chosen["error"]}
    for side in (1, -1):
        least = chosen["error"]
        for i in range(1, most + 1):
            error = errors[side * i * step] = weigh(side * i * step)
            if not error <= RISE * least:
                break
            least = min(least, error)
    good = sorted((d, e) for d, e in errors.items() if math.isfinite(e))
    i = min(range(len(good)), key=lambda i: good[i][1])
    if 0 < i < len(good) - 1:
        (a, ea), (b, eb), (c, ec) = good[i - 1: i + 2]
        low = (b - a) ** 2 * (eb - ec) - (b - c) ** 2 * (eb - ea)
        curve = (b - a) * (eb - ec) - (b - c) * (eb - ea)
        vertex = round(b - low / curve / 2, 3) if curve else b
        if a < vertex < c and min(abs(vertex - a), abs(vertex - b), abs(vertex - c)) > .06:
            weigh(vertex)
    return [at[d] for d in sorted(at)]


def one_scene(scene, a):
    """The scene's row, with what was still to do of it."""
    path = Path(a.folder) / "rows" / str(scene["seed"]) / f"{scene['name']}.json"
    row = json.loads(path.read_text()) if path.exists() else {**scene, "methods": {}}
    lacking = [m for m in a.methods if m not in row["methods"]]
    if "default" in row and not lacking:
        return row
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="scenes-") as spare:
        place = Path(spare)
        if a.keep:
            place = Path(a.folder) / "scans" / str(scene["seed"]) / scene["name"]
            place.mkdir(parents=True, exist_ok=True)
        work = Work(scene, place, a.larmor, a.recon)
        saved = ["--save-maps", place / "own.npy"] if scene["maps"] == "data" and scene["coils"] > 1 else []
        first = work.recon(*a.default, *saved)
        row.setdefault("default", first)
        if saved and (place / "own.npy").exists():
            work.maps = place / "own.npy"
        for method in lacking:
            chosen = work.recon("-m", method)
            tried = []
            if a.sweep != "none" and math.isfinite(chosen["error"]) and chosen.get("lambda"):
                tried = sweep(work, method, chosen, a.sweep, a.sweep_flags)
            row["methods"][method] = {"auto": chosen, "sweep": tried}
    part = path.with_suffix(".part")
    part.write_text(json.dumps(row, indent=1))
    part.replace(path)
    return row


# ---- tables ----

def errors_of(method):
    return [v["error"] for v in (method["auto"], *method["sweep"]) if v["error"] and math.isfinite(v["error"])]


def lowest(method):
    """The weight with the least error, the automatic one or another."""
    return min((v for v in (method["auto"], *method["sweep"]) if v["error"] and math.isfinite(v["error"])),
               key=lambda v: v["error"], default=method["auto"])


def ratios(row):
    """What the tables are of: the default over the best of all, and each method's automatic weight over its best."""
    best = {m: min(e) for m, v in row["methods"].items() if (e := errors_of(v))}
    default = row["default"]["error"]
    out = {"best": min([*best.values(), default], default=math.nan),
           "by": min(best, key=best.get, default=""), "weights": {}, "fixed": {}}
    out["default"] = default / out["best"] if math.isfinite(default) else math.inf
    for m in best:
        auto = row["methods"][m]["auto"]["error"]
        if math.isfinite(auto):
            out["weights"][m], out["fixed"][m] = auto / best[m], auto / out["best"]
    return out


def figures(values):
    values = [v for v in values if math.isfinite(v)]
    return f"{math.exp(np.mean(np.log(values))):.3f} / {max(values):.2f}" if values else "-"


def table(head, rows):
    lines = ["| " + " | ".join(map(str, r)) + " |" for r in (head, *rows)]
    return [lines[0], "|" + "---|" * len(head), *lines[1:], ""]


def summary(rows, methods, limit):
    for row in rows:
        row["ratios"] = ratios(row)
    methods = [m for m in methods if any(m in r["ratios"]["weights"] for r in rows)]
    failed = [r for r in rows if not math.isfinite(r["default"]["error"])]
    lines = [f"{len(rows)} scenes, {len(failed)} without an image by default. Figures are geometric mean / worst.", ""]

    def ranks(values):
        return [sum(v > x for v in values if math.isfinite(v)) for x in (1.06, 1.3)]
    default = [r["ratios"]["default"] for r in rows]
    lines += table(["image", "error over the best of all methods and weights", "above 1.06", "above 1.3",
                    "automatic weight over the method's best", "above 1.04", "above 1.25"],
                   [["default", figures(default), *ranks(default), "", "", ""]] +
                   [[m, figures(f := [r["ratios"]["fixed"][m] for r in rows if m in r["ratios"]["fixed"]]), *ranks(f),
                     figures(w := [r["ratios"]["weights"][m] for r in rows if m in r["ratios"]["weights"]]),
                     sum(v > 1.04 for v in w), sum(v > 1.25 for v in w)] for m in methods])
    for key, name in [("traj", "trajectory"), ("R", "R"), ("snr", "SNR (0: no noise)"), ("object", "object"),
                      ("coils", "coils"), ("maps", "maps"), ("noise_scan", "noise scan"), ("seed", "seed")]:
        lines += table([name, "scenes", "default over the best", *[f"weight of {m}" for m in methods]],
                       [[v, len(of), figures(r["ratios"]["default"] for r in of),
                         *[figures(r["ratios"]["weights"].get(m, math.nan) for r in of) for m in methods]]
                        for v in sorted({r[key] for r in rows}) for of in [[r for r in rows if r[key] == v]]])
    clean = [(len(r["n"]), r["default"]["inside"]) for r in rows
             if not r["snr"] and r["R"] == 1 and r["maps"] == "given" and "inside" in r["default"]]
    for nd in sorted({d for d, _ in clean}):
        lines += [f"Without noise, R = 1, maps given, by default: error within the sampled disc or ball at most "
                  f"{max(e for d, e in clean if d == nd):.4f} in {nd}D.", ""]
    lines += ["Amplitude at the automatic weight, median / least / largest:", ""]

    def amplitudes(of, m):
        v = [one["amplitude"] for r in of for one in [r["default"] if m == "default" else
             r["methods"].get(m, {"auto": {}})["auto"]] if "amplitude" in one]
        return f"{np.median(v):.3f} / {min(v):.2f} / {max(v):.2f}" if v else "-"
    images = ["default", *methods]
    lines += table(["SNR", "R", "scenes", *images],
                   [[snr or "none", "1" if one else "above 1", len(of), *[amplitudes(of, m) for m in images]]
                    for snr in sorted({r["snr"] for r in rows}) for one in (True, False)
                    for of in [[r for r in rows if r["snr"] == snr and (r["R"] == 1) == one]] if of])
    lines += ["The default's method, and the best one:", ""]
    pairs = [(r["ratios"]["by"], r["default"].get("method", "none")) for r in rows]
    chosen = sorted({c for _, c in pairs})
    lines += table(["best", *[f"default {c}" for c in chosen]],
                   [[b, *[pairs.count((b, c)) for c in chosen]] for b in methods])
    worst = sorted((r for r in rows if math.isfinite(r["ratios"]["default"])), key=lambda r: -r["ratios"]["default"])
    lines += ["The defaults that are farthest from the best:", ""]
    lines += table(["seed", "scene", "default", "its error", "best", "its error", "ratio"],
                   [[r["seed"], r["name"], r["default"].get("method"), f"{r['default']['error']:.4f}", r["ratios"]["by"],
                     f"{r['ratios']['best']:.4f}", f"{r['ratios']['default']:.2f}"] for r in worst[:limit]])
    cells = sorted(((ratio, r, m) for r in rows for m, ratio in r["ratios"]["weights"].items()), key=lambda c: -c[0])
    lines += ["The automatic weights that are farthest from their method's best:", ""]

    def cell(ratio, r, m):
        auto, low = r["methods"][m]["auto"], lowest(r["methods"][m])
        return [r["seed"], r["name"], m, f"{auto['lambda']:.3g}", f"{auto['error']:.4f}", f"{low['lambda']:.3g}",
                f"{low['error']:.4f}", f"{ratio:.2f}"]
    lines += table(["seed", "scene", "method", "weight", "error", "best weight", "its error", "ratio"],
                   [cell(*c) for c in cells[:limit] if c[0] > 1.0001])
    if failed:
        lines += ["Without an image:", ""]
        lines += [f"- {r['seed']} {r['name']}: {str(r['default']['log'])[-200:]}" for r in failed] + [""]
    return "\n".join(lines)


def all_rows(rows, methods):
    """A table of every scene: the default, and each method's weights and errors."""
    def cell(r, m):
        method = r["methods"].get(m)
        if not method or not math.isfinite(method["auto"]["error"]):
            return "-"
        auto, low = method["auto"], lowest(method)
        return f"{auto['error']:.4f} at {auto['lambda'] or 0:.2g}, best {low['error']:.4f} at {low['lambda'] or 0:.2g}"
    return "\n".join(table(["seed", "scene", "matrix", "default", "error", "inside", "amplitude", *methods],
                           [[r["seed"], r["name"], " x ".join(map(str, r["n"])), r["default"].get("method"),
                             *[f"{r['default'].get(key, math.nan):.4f}" for key in ("error", "inside", "amplitude")],
                             *[cell(r, m) for m in methods]] for r in rows]))


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("folder", nargs="?")
    parse.add_argument("--jobs", type=int, default=1, help="scenes at a time, each on one core")
    parse.add_argument("--seed", default="1", help="of scenes, objects, paths and noise; several with commas between")
    parse.add_argument("--only", default=".", help="only the scenes whose names match this regular expression")
    parse.add_argument("--methods", default=",".join(METHODS), help="with commas between; empty: only the default")
    parse.add_argument("--sweep", choices=list(SWEEPS), default="coarse", help="of weights: half or quarter decades")
    parse.add_argument("--quick", action="store_true", help="40 scenes of the 240 of a seed")
    parse.add_argument("--scale", type=float, default=1, help="of the matrices, which are 64 to 96, in 3D 20 and 24")
    parse.add_argument("--default", default="", metavar="FLAGS", help="of the run that stands for the default")
    parse.add_argument("--recon", default="", metavar="FLAGS", help="for all runs, like '--device cpu'")
    parse.add_argument("--sweep-flags", default="", metavar="FLAGS",
                       help="for the weights of the sweep, like '--iters 100 --tol 1e-3'")
    parse.add_argument("--worst", type=int, default=20, help="rows of the tables of worst scenes")
    parse.add_argument("--keep", action="store_true", help="keep scan.h5, maps and truth in FOLDER/scans/SEED/SCENE")
    parse.add_argument("--list", action="store_true", help="only name the scenes")
    parse.add_argument("--report", action="store_true", help="only write the tables of the rows that are there")
    a = parse.parse_args()
    chosen = [s for seed in a.seed.split(",") for s in scenes(int(seed), a.scale)
              if (not a.quick or s["number"] % 6 == 0) and re.search(a.only, s["name"])]
    if a.list:
        print("\n".join(f"{s['seed']} {s['name']}" for s in chosen))
        return 0
    if not a.folder:
        parse.error("FOLDER is missing")
    folder = Path(a.folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    a.folder = str(folder)
    a.larmor = str(Path(os.environ.get("LARMOR", Path(__file__).parent / "../../build/cpu/apps/larmor")).resolve())
    a.methods = [m for m in a.methods.split(",") if m]
    a.default, a.recon, a.sweep_flags = shlex.split(a.default), shlex.split(a.recon), shlex.split(a.sweep_flags)
    broken = 0
    if not a.report:
        chosen.sort(key=lambda s: -math.prod(s["n"]) * s["coils"])
        with ProcessPoolExecutor(a.jobs) as pool:
            waiting = {pool.submit(one_scene, s, a): s for s in chosen}
            for i, done in enumerate(as_completed(waiting)):
                name = waiting[done]["name"]
                try:
                    row = done.result()
                except Exception:
                    broken += 1
                    traceback.print_exc()
                    print(f"{i + 1}/{len(chosen)} {name}: no row", file=sys.stderr, flush=True)
                    continue
                r = ratios(row)
                print(f"{i + 1}/{len(chosen)} {name}: {row['default'].get('method')} {row['default']['error']:.4f}, best "
                      f"{r['by']} {r['best']:.4f}, ratio {r['default']:.3f}; weights " +
                      " ".join(f"{m} {v:.2f}" for m, v in r["weights"].items()), file=sys.stderr, flush=True)
    names = {(s["seed"], s["name"]) for s in chosen}
    rows = [json.loads(p.read_text()) for p in sorted(folder.glob("rows/*/*.json"))]
    rows = [r for r in rows if not a.report or (r["seed"], r["name"]) in names or a.only == "."]
    if rows:
        methods = [*METHODS, *[m for m in a.methods if m not in METHODS]]
        text = summary(rows, methods, a.worst)
        (folder / "table.md").write_text(all_rows(rows, [m for m in methods if any(m in r["methods"] for r in rows)]))
        (folder / "rows.json").write_text(json.dumps(rows, indent=1))
        (folder / "summary.md").write_text(text)
        print(text)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
