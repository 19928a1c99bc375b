#!/usr/bin/env python3
"""Errors of maps of tissues from scan to fit: water and fat, T1 and T2, over trajectories and noise; Markdown.

Usage: tests/bench/tissues.py LARMOR [FOLDER]; PYTHONPATH names the package. SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import larmor
import numpy as np

TRAJECTORIES = {
    "golden": ["--matrix", "48", "--readouts", "76"],
    "spiral": ["--matrix", "48", "--readouts", "16"],
    "koosh": ["--matrix", "24", "--readouts", "900"],
}
FRAMES = {"golden": "2", "spiral": "1", "koosh": "8"}
ECHOES = "1.2,2.1,3.3,4.2,5.4,6.3"
PULSES = 240


def run(*words: str) -> None:
    subprocess.run([sys.argv[1], *words, "--force", "-q"], check=True, stderr=subprocess.DEVNULL)


def errors(fit: str, truth: str, name: str) -> str:
    """Mean and deviation of the error within tissues, and that of the error over its error bar."""
    tissue, right = (np.load(f"{truth}_{m}.npy").squeeze() for m in ("tissue", name))
    found, bar = (np.load(f"{fit}_{name}{more}.npy").squeeze() for more in ("", "_std"))
    inside = (tissue > 0) & (bar > 0)
    error = (found - right)[inside]
    scale = 1 if name in ("FF", "R2star") else right[inside]
    return f"{np.mean(error / scale):+.4f} ± {np.std(error / scale):.4f} | {np.median(np.abs(error) / bar[inside]) / .6745:.2f}"


def water_fat(trajectory: str, snr: str) -> str:
    run("phantom", "-o", "wf.h5", "--traj", trajectory, *TRAJECTORIES[trajectory], "--coils", "6", "--snr", snr, "--dwell",
        "2", "--signal", "water-fat", "--echo-times", ECHOES, "--r2star", "40", "--off-resonance", "60",
        "--field-gradient", "80,-40", "--maps", "maps.cfl", "--truth-maps", "true.npy")
    run("recon", "wf.h5", "-o", "echoes.h5", "--maps", "maps.cfl", "--method", "cg", "--noise-map", "sd.h5")
    run("fit", "echoes.h5", "--model", "water-fat", "--noise-map", "sd.h5", "-o", "wf.npy")
    return " | ".join(errors("wf", "true", m) for m in ("FF", "R2star"))


def dictionary() -> None:
    degrees = 10 + 50 * np.abs(np.sin(np.pi * np.arange(PULSES) / 120))
    table = np.array([(a, b) for a in np.geomspace(200, 4000, 40) for b in np.geomspace(20, 400, 40) if b < a])
    signals = larmor.epg_fisp(table.T, degrees, np.full(PULSES, 12.0), te_ms=3, inversion_ms=20)
    larmor.write("signals.npy", signals.astype(np.complex64), force=True)
    larmor.write("basis.npy", larmor.basis(signals.T.astype(np.complex64), 5)[0], force=True)
    np.savetxt("table.csv", table, delimiter=",", header="T1,T2", comments="")


def fingerprint(trajectory: str, snr: str) -> str:
    size = TRAJECTORIES[trajectory][:3] + [FRAMES[trajectory]]
    run("phantom", "-o", "mrf.h5", "--traj", trajectory, *size, "--repetitions", str(PULSES), "--coils", "6", "--snr", snr,
        "--signal", "fisp", "--maps", "maps.cfl", "--truth-maps", "true.npy")
    run("recon", "mrf.h5", "-o", "k.npy", "--maps", "maps.cfl", "--basis", "basis.npy", "--noise-map", "sd.npy")
    run("fit", "k.npy", "--model", "dictionary", "--dictionary", "signals.npy", "--table", "table.csv", "--basis",
        "basis.npy", "--noise-map", "sd.npy", "-o", "mrf.npy")
    return " | ".join(errors("mrf", "true", m) for m in ("T1", "T2"))


def main() -> None:
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp())
    sys.argv[1] = str(pathlib.Path(sys.argv[1]).resolve())
    folder.mkdir(exist_ok=True)
    os.chdir(folder)
    dictionary()
    print("| trajectory | SNR | FF | z | R2* in 1/s | z | T1, relative | z | T2, relative | z |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for trajectory in TRAJECTORIES:
        for snr in ("20", "50"):
            print(f"| {trajectory} | {snr} | {water_fat(trajectory, snr)} | {fingerprint(trajectory, snr)} |", flush=True)


if __name__ == "__main__":
    main()
