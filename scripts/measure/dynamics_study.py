#!/usr/bin/env python3
"""Frame lengths against the error of dynamic images, method by method (docs/dynamics.md).

The phantom changes from one spoke to the next; the images of the frames are compared with the phantom at the middle of
each frame. Needs NumPy. SPDX-License-Identifier: Apache-2.0
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

SCENES = {
    "contrast": ["--contrast", "0.5"],
    "breathing": ["--breathing", "12", "--breathing-period", "200"],
    "rotation": ["--rotation", "20", "--drift", "0,10"],
}
METHODS = {
    "cg": [],
    "tv": ["--method", "tv"],
    "tv --joint": ["--method", "tv", "--joint"],
    "llr": ["--method", "llr"],
}


def run(larmor, *words):
    done = subprocess.run([larmor, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stderr


def error(image, truth):
    return np.linalg.norm(np.abs(image) - np.abs(truth)) / np.linalg.norm(truth)


def main():
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("larmor")
    parse.add_argument("--matrix", type=int, default=96)
    parse.add_argument("--spokes", type=int, default=408)
    parse.add_argument("--snr", type=float, default=20)
    parse.add_argument("--lengths", default="5,8,13,21,34")
    parse.add_argument("--scenes", default=",".join(SCENES))
    parse.add_argument("--phantom", default="texture")
    parse.add_argument("--folder")
    parse.add_argument("--more", default="", help="options of recon, e.g. --time-weight=3")
    parse.add_argument("--methods", default=",".join(METHODS))
    parse.add_argument("--picture", help="an .npy of the middle frame: truth, then each method at the first length")
    a = parse.parse_args()
    folder = Path(a.folder or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    lengths = [int(n) for n in a.lengths.split(",")]
    for scene in a.scenes.split(","):
        scan, truth, maps = (folder / f"{scene}{end}" for end in (".h5", ".npy", ".cfl"))
        run(a.larmor, "phantom", "-o", scan, "--truth", truth, "--maps", maps, "--matrix", a.matrix, "--readouts", 1,
            "--repetitions", a.spokes, "--coils", 8, "--snr", a.snr, "--phantom", a.phantom, "--tr", 5, "-q", "--force",
            *SCENES[scene])
        true = np.load(truth)
        print(f"\n{scene}\n| method | " + " | ".join(f"{n} spokes" for n in lengths) + " |")
        print("|---|" + "---|" * len(lengths))
        beside = []
        for name in a.methods.split(","):
            row = []
            for n in lengths:
                out = folder / f"{scene}-{name.replace(' ', '')}-{n}.npy"
                run(a.larmor, "recon", scan, "-o", out, "--force", "--join", "repetition", "--spokes-per-frame", n,
                    "--oversample", 1, "--maps", maps, *METHODS[name], *a.more.split())
                image = np.load(out)
                at = np.arange(image.shape[-1]) * n + n // 2
                row.append(error(image, true[..., at]))
                middle = image.shape[-1] // 2
                if n == lengths[0] and not beside:
                    beside.append(true[..., at[middle]])
                if n == lengths[0]:
                    beside.append(image[..., middle])
            print(f"| {name} | " + " | ".join(f"{e:.3f}" for e in row) + " |", flush=True)
        if a.picture:
            np.save(a.picture, np.asfortranarray(np.concatenate([np.abs(x) for x in beside], 0).astype(np.complex64)))


if __name__ == "__main__":
    main()
