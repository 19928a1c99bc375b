"""Images of scans with each fault of the models of physics, in 2D and 3D: the table of docs/records/physics.md.

NRMSE beside the truth of the scan without the fault, with it and no model, with its model, and the last over the
first. True coil maps, SNR 30, `larmor recon --method cg`.
Usage: python3 tests/bench/physics_images.py LARMOR [-s SEED,SEED] [--most RATIO] [WORD...]; a WORD: rows that have it
in their first two columns. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import math
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

SPOKES = "--traj golden --matrix 48 --readouts 90 --coils 4 --phantom tissues --position 0,0,40 --dwell 40"
ARMS = "--traj spiral --matrix 48 --readouts 12 --coils 4 --phantom texture --position 0,0,40 --dwell 8"
SPACE = "--traj koosh --matrix 14 --coils 4 --phantom texture --position 0,20,40 --dwell 40"
FIELD = "--off-resonance 60 --field-gradient 80,-50"
DECAY = "--t2star 12,4,7,15,25,5"
KINDS = {"golden": "spokes, 48^2", "spiral": "spiral arms, 48^2", "koosh": "spokes, 14^3"}
POSES = {SPOKES: ((0, 0, 0, 0, 0, 0, 0), (30, 8, -6, 0, 0, 0, 9), (60, -6, 12, 0, 0, 0, -12)),
         SPACE: ((0, 0, 0, 0, 0, 0, 0), (150, 12, -9, 8, 4, -6, 7))}
BENT = """radius 0.25
Alpha_z 3 0 -0.2
Alpha_x 3 1 -0.18
Beta_y 3 1 -0.22
Alpha_x 5 1 0.02
"""


def shapes(larmor, scan):
    """The samples and readouts of a scan."""
    info = run(larmor, "info", scan)
    readouts, samples = re.search(r"^group 0.*: (\d+) readouts x (\d+) samples", info, re.M).groups()
    return int(samples), int(readouts)


def run(larmor, *words):
    made = subprocess.run([larmor, *map(str, words)], capture_output=True, text=True)
    if made.returncode:
        raise SystemExit(f"larmor {' '.join(map(str, words))}: {made.stderr}")
    return made.stdout


def save(name, shape, values, kind="f4"):
    """An .npy file whose first axis is the fastest; complex values as two numbers each."""
    head = f"{{'descr': '<{kind}', 'fortran_order': True, 'shape': {tuple(shape)}, }}"
    head += " " * ((54 - len(head)) % 64) + "\n"
    data = struct.pack(f"<{len(values)}f", *values)
    pathlib.Path(name).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)


def save_phases(name, samples, readouts, size):
    """Phases in rad of solid harmonics: orders 2, or 3, in time; or of orders 0 and 2, of each readout."""
    first, last, rad = {"order2.npy": (4, 9, 150), "order3.npy": (9, 16, 1200), "each.npy": (4, 9, 60)}[name]
    terms = 16 if last > 9 else 9
    if name == "each.npy":
        own = [[math.cos(3 * r + i) * (1 if i == 0 else rad * size if i >= first else 0) for r in range(readouts)]
               for i in range(terms)]
        save(name, (samples, readouts, terms), [x for term in own for x in term for _ in range(samples)])
        return
    times = [j / (samples - 1) for j in range(samples)]
    save(name, (samples, 1, terms), [rad * size * (math.cos(i) * t + 0.2 * math.sin(9 * t + i)) if first <= i < last
                                     else 0 for i in range(terms) for t in times])


def faults():
    """Name, readouts, options of the phantom with the fault, of recon with its model, and of recon without."""
    for where, low in ((SPOKES, 3), (ARMS, 0.04), (SPACE, 0.004)):
        yield "off-resonance", where, f"{FIELD} --field-map field.nii", "--b0 field.nii", ""
        if where != ARMS:
            for name in ("order2", "order3", "each"):
                yield ({"order2": "phases of order 2", "order3": "phases of order 3",
                        "each": "phases of each readout"}[name], where, f"--phase-terms {name}.npy",
                       f"--phase-terms {name}.npy", "")
        if where != SPOKES:  # whose gradients are weak
            yield ("concomitant fields", where, f"--concomitant --field-strength {low}",
                   f"--concomitant on --field-strength {low}", "--concomitant off")
        decaying = where.replace("texture", "tissues").replace("--dwell 40", "--dwell 80")
        yield "T2*", decaying, f"{DECAY} --t2star-map t2star.nii", "--t2star-map t2star.nii", ""
        yield "gradients that are not linear", where, "--gradient-field bent.txt", "--gradient-field bent.txt", ""
        if where != ARMS:
            yield "rigid motion, given", where, "--motion poses.csv", "--motion poses.csv", ""
            states = 3 if where == SPOKES else 2
            yield "rigid motion, found", where, "--motion poses.csv", f"--motion-states {states}", ""
            yield ("gradients by their response", where, "--delays 1,1,1" if where == SPACE else "--delays 1,1",
                   "--girf", "")
            yield ("delays, found", where, "--delays 0.7,-0.4,0.5" if where == SPACE else "--delays 0.7,-0.4",
                   "--delays auto", "")


def prepare(larmor, where, name):
    """The files that options name; the options of the response of a gradient that comes a sample late."""
    pathlib.Path("bent.txt").write_text(BENT)
    for key, rows in POSES.items():
        if key == where:
            pathlib.Path("poses.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    run(larmor, "phantom", "-q", "-o", "shape.h5", "--force", *where.split())
    samples, readouts = shapes(larmor, "shape.h5")
    for file in ("order2.npy", "order3.npy", "each.npy"):
        if file in name:
            save_phases(file, samples, readouts, 0.4 if "koosh" in where else 1)  # voxels are large there
    dwell = float(where.split("--dwell ")[1]) * 1e-6
    n = 101
    turns = [-2 * math.pi * (j - n // 2) / n for j in range(n)]
    save("girf.npy", (n, 3), [x for turn in 3 * turns for x in (math.cos(turn), math.sin(turn))], "c8")
    return f"--girf girf.npy --girf-spacing {1 / (n * dwell)}"


def nrmse(larmor, scan, options):
    own = options if "--delays auto" in options or "--delays" in options else f"{options} --delays off"
    run(larmor, "recon", scan, "-o", "image.h5", "--force", "--maps", "maps.cfl", "--method", "cg", "--memory", "1G",
        *own.split())
    return float(run(larmor, "compare", "image.h5", "truth.h5").split()[1])


def measure(larmor, where, fault, model, without, seed, more):
    girf = prepare(larmor, where, fault)
    if "--girf" in model:
        model = girf
    common = ["-q", "--force", "--snr", "30", "--seed", str(seed), *where.split()]
    run(larmor, "phantom", "-o", "plain.h5", "--truth", "truth.h5", "--maps", "maps.cfl", *common)
    run(larmor, "phantom", "-o", "fault.h5", *fault.split(), *common)
    best = nrmse(larmor, "plain.h5", f"--concomitant off {more}")
    return best, nrmse(larmor, "fault.h5", f"{without} {more}"), nrmse(larmor, "fault.h5", f"{model} {more}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("larmor")
    parser.add_argument("words", nargs="*")
    parser.add_argument("-s", "--seeds", default="1,5")
    parser.add_argument("--most", type=float, help="fail where the last column is more, or a fault costs less")
    parser.add_argument("--options", default="", help="of all reconstructions, beside those of the model")
    args = parser.parse_intermixed_args()
    larmor = str(pathlib.Path(args.larmor).resolve())
    failed = False
    print("| fault | readouts | without it | no model | its model | over that without |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, where, fault, model, without in faults():
            kind = KINDS[where.split()[1]]
            if args.words and not any(word in f"{name}, {kind}" for word in args.words):
                continue
            found = [measure(larmor, where, fault, model, without, seed, args.options)
                     for seed in args.seeds.split(",")]
            cells = [", ".join(f"{one[i]:.3g}".replace("0.", ".", 1) for one in found) for i in range(3)]
            failed |= any(one[2] > (args.most or 9e9) * one[0] or one[1] < (args.most or 0) * one[2] for one in found)
            ratio = ", ".join(f"{one[2] / one[0]:.2f}" for one in found)
            print(f"| {name} | {kind} | {' | '.join(cells)} | {ratio} |", flush=True)
        os.chdir("/")
    return failed


if __name__ == "__main__":
    sys.exit(main())
