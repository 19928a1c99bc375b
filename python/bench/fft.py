"""How fast larmor's Fourier transforms (FFTW) are beside pocketfft (SciPy's) and ducc0, where they are installed.

Usage: python fft.py. One thread each; milliseconds of the processor's time, the least of several, so that it matters
little whether others use the machine (docs/records/packages.md). SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np

import larmor

PLANES = [(8, 256), (8, 320), (8, 480), (4, 512), (4, 640), (2, 1024)]
VOLUMES = [64, 96, 128, 200, 256, 320, 384]
MOST = 2 * 10**7  # numbers in double precision


def least(transforms: dict[str, Any], rounds: int) -> dict[str, float]:
    """The least time of each, one after the other in each round."""
    best = dict.fromkeys(transforms, float("inf"))
    for _ in range(rounds):
        for name, transform in transforms.items():
            start = time.process_time()
            transform()
            best[name] = min(best[name], 1e3 * (time.process_time() - start))
    return best


def transforms_of(x: Any, axes: tuple[int, ...]) -> dict[str, Any]:
    """By each library that is there."""
    operator, out = larmor.linop.fft(x.shape, axes, dtype=x.dtype), np.empty_like(x)
    found = {"FFTW": lambda: operator(x)}
    try:
        import scipy.fft
        found["pocketfft"] = lambda: scipy.fft.fftn(x, axes=axes, workers=1)
    except ImportError:
        pass
    try:
        import ducc0
        found["ducc0"] = lambda: ducc0.fft.c2c(x, axes=axes, out=out, nthreads=1)
    except ImportError:
        pass
    return found


def main() -> None:
    rng = np.random.default_rng(0)
    ratios: dict[str, list[float]] = {}
    cases = [((batch, n, n), (1, 2)) for batch, n in PLANES] + [((n, n, n), (0, 1, 2)) for n in VOLUMES]
    for shape, axes in cases:
        for dtype in (np.complex64, np.complex128):
            count = int(np.prod(shape))
            if dtype == np.complex128 and count > MOST:
                continue
            x = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
            best = least(transforms_of(x, axes), 9 if count < 3e6 else 4)
            row = f"{'x'.join(map(str, shape)):12} {np.dtype(dtype).name:10}"
            for name, ms in best.items():
                ratios.setdefault(f"{name}, {np.dtype(dtype).name}", []).append(ms / best["FFTW"])
                row += f" {name} {ms:.2f} ({ms / best['FFTW']:.2f})"
            print(row, flush=True)
    for name, values in ratios.items():
        print(f"geometric mean of {name}: {np.exp(np.mean(np.log(values))):.2f}")


if __name__ == "__main__":
    main()
