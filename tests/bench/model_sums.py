"""Models of terms at 64^3 voxels beside their direct sums: docs/records/physics.md.

B0 of -35 to 145 Hz and harmonics of orders 2 and 3 that reach 1 and .4 rad at 10 cm, of readouts of 5, 20 and 60 ms:
the products, the error of the operator at some samples, that of its adjoint, and the time to find the sum.
Usage: PYTHONPATH=build/cpu/python python3 tests/bench/model_sums.py. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import time

import larmor
import numpy as np
from larmor import linop

SIDE, EDGE_M, SAMPLES, SUMMED = 64, 0.1, 4096, 768


def terms(positions, t, duration):
    x, y, z = np.moveaxis(positions, -1, 0)
    hz = 120 * np.exp(-((x - 0.02) ** 2 + (y - 0.07) ** 2 + z**2) / 9e-4) - 250 * y + 100 * z
    fields = [(2 * np.pi * hz, t)]
    for i, h in enumerate(larmor.solid_harmonics(positions, 3)[4:]):
        second = i < 5
        part = t / duration
        drift, swing = (0.8, 0.25) if second else (0.3, 0.1)
        wave = 2 * np.pi * (i % 5 + (3 if second else 2)) * part
        fields.append((h / np.abs(h).max(), -(drift * part * np.cos(i) + swing * np.sin(wave))))
    return fields


def main():
    rng = np.random.default_rng(38)
    axis = (np.arange(SIDE) - SIDE // 2) / SIDE * 2 * EDGE_M
    z, y, x = np.meshgrid(axis, axis, axis, indexing="ij")
    positions = np.stack((x, y, z), -1)
    traj = rng.uniform(-SIDE / 2, SIDE / 2, size=(SAMPLES, 3)).reshape(4, -1, 3)
    image = rng.normal(size=(SIDE,) * 3) + 1j * rng.normal(size=(SIDE,) * 3)
    some = rng.choice(SAMPLES, SUMMED, replace=False)
    print("duration ms | asked for | products | found in s | error | reported | adjoint")
    for duration in (5e-3, 20e-3, 60e-3):
        t = rng.uniform(0, duration, size=traj.shape[:2])
        fields = terms(positions, t, duration)
        expected = np.empty(SUMMED, complex)
        for n, j in enumerate(some):
            phase = -2 * np.pi * (positions / (2 * EDGE_M)) @ traj.reshape(-1, 3)[j, ::-1]  # columns are axes
            expected[n] = (image * np.exp(1j * (phase + sum(s * u.ravel()[j] for s, u in fields)))).sum()
        for error in (1e-3, 1e-5):
            begin = time.monotonic()
            model = linop.Segments.of_terms(fields, error=error)
            found = time.monotonic() - begin
            nufft = linop.nufft(traj, (SIDE,) * 3, tol=error / 100, dtype=np.complex128)
            A = linop.segments(nufft, model)
            got = np.asarray(A(image)).ravel()[some]
            scale = np.vdot(expected, got) / np.vdot(expected, expected)
            off = np.linalg.norm(got / scale - expected) / np.linalg.norm(expected)
            info = model.info
            print(f"{duration * 1e3:.0f} | {error:g} | {info['segments']} | {found:.1f} | {off:.1e} | "
                  f"{info['error']:.1e} | {A.adjoint_error():.0e}", flush=True)


if __name__ == "__main__":
    main()
