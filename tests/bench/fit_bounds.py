#!/usr/bin/env python3
"""Errors of fits beside the bound of their images' noise (Cramer and Rao), by model; Markdown. Each truth is a row of
2000 voxels with noise of their own, without a reconstruction.

Usage: tests/bench/fit_bounds.py [SNR...]; PYTHONPATH names the package. SPDX-License-Identifier: Apache-2.0
"""
import sys

import numpy as np

import larmor

DRAWS = 2000
ECHOES = np.array([10, 20, 40, 60, 80, 120, 160, 240, 320, 400.0])
INVERSIONS = np.array([50, 150, 300, 500, 800, 1200, 1800, 2600, 4000, 7000.0])
GRADIENT = np.array([1.2, 2.1, 3.3, 4.2, 5.4, 6.3])
PPM, PART = [-3.8, -3.4, -2.6, -1.94, -0.39, 0.6], np.array([0.087, 0.693, 0.128, 0.004, 0.039, 0.048])


def decay(p, ms):
    return p[1] * np.exp(-ms / p[0])


def inversion(p, ms):
    return p[1] * (1 - p[2] * np.exp(-ms / p[0]))


def look_locker(p, ms):
    """T1, a and b; T1star = T1 a / (b - a)."""
    return p[1] - p[2] * np.exp(-ms * (p[2] - p[1]) / (p[0] * p[1]))


def water_fat(p, ms):
    """Fraction of fat, sum, R2*, field in Hz, phase."""
    t = ms / 1000
    shift = np.exp(2j * np.pi * 42.577 * 3 * np.outer(t, PPM)) @ (PART / PART.sum())
    return p[1] * (1 - p[0] + p[0] * shift) * np.exp((2j * np.pi * p[3] - p[2]) * t + 1j * p[4])


def bound(signal, p, ms, noise, complex_factors):
    """The least deviation of the first parameter; factors of exponentials are complex."""
    columns = []
    for i, v in enumerate(p):
        h = 1e-5 * max(abs(v), 1e-2)
        up, low = (signal([*p[:i], v + s * h, *p[i + 1:]], ms) for s in (1, -1))
        columns.append((up - low) / (2 * h))
    if complex_factors:
        columns += [1j * c for c in columns[1:]]
    J = np.array(columns).T
    information = np.real(J.conj().T @ J) / noise**2
    return np.sqrt(np.linalg.inv(information)[0, 0])


def fitted(model, signal, truths, ms, noise, seed):
    """The first map [truths, DRAWS]."""
    rng = np.random.default_rng(seed)
    clean = np.array([signal(p, ms) for p in truths]).T[:, :, None]
    draws = rng.standard_normal((2, len(ms), len(truths), DRAWS)) * noise
    images = (clean + draws[0] + 1j * draws[1]).astype(np.complex64)
    mask = np.ones((len(truths), DRAWS), np.float32)
    options = {"field_strength": 3} if model == "water-fat" else {}
    maps, _ = larmor.fit(images, ms, model, noise=noise, mask=mask, **options)
    return maps[{"t2": "T2", "t2star": "T2star", "t1-ir": "T1", "t1-ll": "T1", "water-fat": "FF"}[model]].reshape(
        len(truths), DRAWS)


def dictionary(snr):
    """T1 and T2 of FISP fingerprints by coefficients on 5 functions of time: rows of the table."""
    pulses, least_noise = 240, 1 / snr
    degrees = 10 + 50 * np.abs(np.sin(np.pi * np.arange(pulses) / 120))
    table = np.array([(a, b) for a in np.geomspace(200, 4000, 40) for b in np.geomspace(20, 400, 40) if b < a])
    pairs = np.array([(350, 90), (800, 80), (1000, 60), (1400, 110)], float)

    def signals(rows):
        return larmor.epg_fisp(np.asarray(rows, float).T, degrees, np.full(pulses, 12.0), te_ms=3, inversion_ms=20)

    curves = signals(table)
    basis, _ = larmor.basis(curves.T.astype(np.complex64), 5)
    clean = basis.conj() @ signals(pairs)  # [5, pairs]
    noise = least_noise * np.abs(signals(pairs)).mean()
    draws = np.random.default_rng(3).standard_normal((2, 5, len(pairs), DRAWS)) * noise
    images = (clean[:, :, None] + draws[0] + 1j * draws[1]).astype(np.complex64)
    values = larmor.fit_table(images, curves.astype(np.complex64), table.T, basis=basis, noise=noise)[0]
    rows = []
    for i, pair in enumerate(pairs):
        steps = [np.eye(2)[k] * 1e-3 * pair[k] for k in range(2)]
        columns = [basis.conj() @ (signals([pair + h]) - signals([pair - h]))[:, 0] / (2 * h.sum()) for h in steps]
        columns += [clean[:, i], 1j * clean[:, i]]
        J = np.array(columns).T
        least = np.sqrt(np.diag(np.linalg.inv(np.real(J.conj().T @ J) / noise**2)))
        for k, name in enumerate(("T1, dictionary", "T2, dictionary")):
            rows.append((name, pair[k], values[k].reshape(len(pairs), DRAWS)[i] / pair[k] - 1, least[k] / pair[k]))
    return rows


MODELS = [
    ("T2", "t2", decay, [[t, 1] for t in (20, 40, 80, 150, 300)], ECHOES),
    ("T2*", "t2star", decay, [[t, 1] for t in (20, 40, 80, 150, 300)], ECHOES),
    ("T1, inversion", "t1-ir", inversion, [[t, 1, 1.9] for t in (200, 400, 800, 1500, 3000)], INVERSIONS),
    ("T1, Look-Locker", "t1-ll", look_locker, [[t, 0.7, 1.7] for t in (200, 400, 800, 1500, 3000)], INVERSIONS),
    ("fraction of fat", "water-fat", water_fat, [[f, 1, 40, 60, 0] for f in (.05, .2, .5, .8, .95)], GRADIENT),
]


def main() -> None:
    for snr in [float(word) for word in sys.argv[1:]] or [50.0]:
        print(f"\nSNR {snr:g} of the signal at time 0\n\n| map | truth | error of voxels | bound | ratio "
              "| error of the median of 2000 | SNR for 1 % |\n|---|---|---|---|---|---|---|")
        rows = []
        for name, model, signal, truths, ms in MODELS:
            for p, found in zip(truths, fitted(model, signal, truths, ms, 1 / snr, 1)):
                scale = 1 if model == "water-fat" else p[0]
                least = bound(signal, p, ms, 1 / snr, model != "water-fat")
                rows.append((name, p[0], (found[found != 0] - p[0]) / scale, least / scale))
        for name, truth, error, least in rows + dictionary(snr):
            found = np.sqrt(np.mean(error**2))
            print(f"| {name} | {truth:g} | {found:.4f} | {least:.4f} | {found / least:.2f} | "
                  f"{abs(np.median(error)):.4f} | {100 * snr * least:.0f} |")


if __name__ == "__main__":
    main()
