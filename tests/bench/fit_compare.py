#!/usr/bin/env python3
"""Fits of larmor beside BART's mobafit, of the same images in one run: T2, and water and fat.

    tests/bench/fit_compare.py LARMOR [SIDE [water-fat]]

Prints a line for each scene: errors of the medians and of the voxels, and the time of the program, of one run. The
spectra of fat differ: each program gets images of its own spectrum, which are otherwise the same. mobafit of BART 0.8
has no T1. Needs bart and NumPy. SPDX-License-Identifier: Apache-2.0"""
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ECHOES = np.array([10, 20, 40, 60, 80, 120, 160, 240, 320, 400.])
GRADIENT_ECHOES = np.array([1.2, 2.1, 3.3, 4.2, 5.4, 6.3])
PPM = np.array([-3.8, -3.4, -2.6, -1.94, -0.39, 0.6])  # of larmor fit --model water-fat
PARTS = np.array([0.087, 0.693, 0.128, 0.004, 0.039, 0.048])
BARTS_FRACTION = 0.2  # of fat in `bart signal --fat`
STEP_MS = 0.1         # of its echoes


def save(name, array, dims):
    Path(name + ".hdr").write_text("# Dimensions\n" + " ".join(map(str, dims)) + "\n")
    array.astype(np.complex64).ravel(order="F").tofile(name + ".cfl")


def load(name):
    dims = [int(n) for n in Path(name + ".hdr").read_text().split("\n")[1].split()]
    return np.squeeze(np.fromfile(name + ".cfl", np.complex64).reshape(dims, order="F"))


def timed(*command):
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return time.perf_counter() - began


def noisy(images, snr):
    rng = np.random.default_rng(1)
    return images + (rng.standard_normal(images.shape) + 1j * rng.standard_normal(images.shape)) / snr


def larmor_maps(larmor, images, ms, model, snr, *options):
    np.save("images.npy", images[:, :, None].astype(np.complex64))
    np.save("all.npy", np.ones(images.shape[:2], np.float32))
    return timed(larmor, "fit", "images.npy", "--model", model, "--times", ",".join(map(str, ms)), "--noise",
                 str(1 / snr), "--mask", "all.npy", "-o", "maps.npy", "--force", "--quiet", *options)


def bart_maps(images, ms, *options):
    save("te", ms, (1, 1, 1, 1, 1, len(ms)))
    save("images", images, (*images.shape[:2], 1, 1, 1, len(ms)))
    took = timed("bart", "mobafit", *options, "te", "images", "out")
    return load("out"), took


def line(what, value, truth, took):
    """truth: one value in each row."""
    by_row = np.median(value, 1) - truth[:, 0]
    print(f"{what}: worst median of a row {np.abs(by_row / truth[:, 0]).max():.2%}, root mean square of a voxel "
          f"{np.sqrt(np.mean((value / truth - 1) ** 2)):.2%}, {took:.2f} s", flush=True)


def compare_t2(larmor, side, snr):
    truth = np.geomspace(20, 300, side)[:, None] * np.ones(side)
    phase = np.exp(1j * np.linspace(0, 2, side))[None, :, None]
    images = noisy(phase * np.exp(-ECHOES / truth[..., None]), snr)
    took = larmor_maps(larmor, images, ECHOES, "t2", snr)
    line(f"T2 SNR {snr} larmor", np.load("maps_T2.npy").squeeze(), truth, took)
    for steps in ((), ("-i", "20")):
        out, took = bart_maps(images, ECHOES, "-T", *steps)
        line(f"T2 SNR {snr} bart mobafit {' '.join(steps)}", 1 / out[..., 1].real, truth, took)


def shift_of_larmor():
    return np.exp(2j * np.pi * 42.577 * 3 * GRADIENT_ECHOES[:, None] / 1000 * PPM) @ PARTS / PARTS.sum()


def shift_of_bart():
    """From bart signal, at the echoes; its relaxation is far slower than the echoes."""
    found = []
    for fat in ([], ["--fat"]):
        subprocess.run(["bart", "signal", "-G", *fat, "-e", str(STEP_MS / 1000), "-n", "100", "-0", "0:0:1",
                        "-1", "1:1:1", "-2", "1e6:1e6:1", "signal"], check=True, capture_output=True)
        found.append(load("signal"))
    at = np.round(GRADIENT_ECHOES / STEP_MS).astype(int)
    return 1 + (found[1] - found[0])[at] / BARTS_FRACTION


def compare_water_fat(larmor, side, hz, snr):
    y, x = np.mgrid[-1:1:side * 1j, -1:1:side * 1j]
    fraction = 0.45 + 0.4 * np.sin(3 * x + 1) * np.cos(2 * y)
    field, rate = hz * np.sin(2 * x) * np.cos(1.5 * y), 40 + 20 * x
    for name, shift in (("larmor", shift_of_larmor()), ("bart mobafit", shift_of_bart())):
        decay = np.exp((2j * np.pi * field - rate)[..., None] * GRADIENT_ECHOES / 1000)
        images = noisy((1 - fraction[..., None] * (1 - shift)) * decay, snr)
        if name == "larmor":
            took = larmor_maps(larmor, images, GRADIENT_ECHOES, "water-fat", snr, "--field-strength", "3")
            found = np.load("maps_FF.npy").squeeze()
        else:
            out, took = bart_maps(images, GRADIENT_ECHOES, "-G", "-m", "1")
            water, fat = np.abs(out[..., 0]), np.abs(out[..., 1])
            found = np.where(water + fat > 0, fat / np.maximum(water + fat, 1e-30), -1)
        error = np.abs(np.nan_to_num(found, nan=-1) - fraction)
        print(f"fraction of fat, field of {hz} Hz, SNR {snr} {name}: median error {np.median(error):.4f}, "
              f"{np.mean(error > 0.2):.2%} of voxels wrong by more than 0.2, {took:.2f} s", flush=True)


def main():
    larmor, side = str(Path(sys.argv[1]).resolve()), int(sys.argv[2]) if len(sys.argv) > 2 else 96
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        if sys.argv[3:] != ["water-fat"]:
            compare_t2(larmor, side, 50)
        for hz in (0, 20, 100, 200):
            compare_water_fat(larmor, side, hz, 50)


main()
