#!/usr/bin/env python3
"""The normal map of a model of Q products, by its Q x Q Toeplitz kernels and by NUFFTs: processor time of one thread,
of the parts, and memory. Usage: PYTHONPATH=build/cpu/python python3 tests/bench/model_toeplitz.py [2D|3D].
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import sys
import time

import numpy as np

import larmor
from larmor import linop

SCENES = {"2D": (256, 2, 4, 25750, 29, 16), "3D": (128, 3, 4000, 256, 29, 8)}


def seconds(run, times=3):
    run()
    least = np.inf
    for _ in range(times):
        began = time.process_time()
        run()
        least = min(least, time.process_time() - began)
    return least


def main():
    n, nd, readouts, samples, products, coils = SCENES[sys.argv[1] if len(sys.argv) > 1 else "2D"]
    rng = np.random.default_rng(1)
    points = rng.uniform(-n / 2, n / 2, (readouts, samples, nd))
    batch = 1 if nd == 3 else 4
    device = "cpu:1"
    x = (rng.standard_normal((batch,) + (n,) * nd) + 0j).astype(np.complex64)
    A = linop.nufft(points, (n,) * nd, batch=batch, tol=1e-4, device=device)
    T = linop.toeplitz(points, (n,) * nd, batch=batch, tol=1e-4, device=device)
    y = A @ x
    nufft = (seconds(lambda: A @ x) + seconds(lambda: A.H @ y)) / batch
    toeplitz = seconds(lambda: T @ x) / batch
    cells = (2 * n) ** nd
    a, b, c = (np.ones(min(cells, 1 << 22), np.complex64) for _ in range(3))
    product = seconds(lambda: np.add(c, np.multiply(a, b), out=c)) * cells / len(a)
    print(f"{n}^{nd}, {readouts * samples} samples, {products} products, {coils} coils, one thread:")
    print(f"  NUFFT and its adjoint {nufft:.4f} s, one convolution {toeplitz:.4f} s, "
          f"a product of spectra {product:.4f} s")
    print(f"  by NUFFTs {coils * products * nufft:.1f} s")
    print(f"  by {products}^2 kernels {coils * (products * toeplitz + (products**2 - products) * product):.1f} s, "
          f"of which products of spectra {coils * products**2 * product:.1f} s; "
          f"kernels {products * (products + 1) / 2 * cells * 8 / 1e9:.2f} GB")


if __name__ == "__main__":
    main()
