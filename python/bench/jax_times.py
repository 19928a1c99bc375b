"""Times of larmor.jax and of jax-finufft on the same points, in turn, in one process (docs/records/benchmarking.md).

Usage: OMP_NUM_THREADS=1 PYTHONPATH=build/cpu/python python3 python/bench/jax_times.py [REPEATS]
Times are the processor's, of all threads, which other work on the machine changes less; the least of the repeats.
"moved": larmor with points that are other ones in each call, which it then sorts.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import functools
import os
import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import jax_finufft
import numpy as np

import larmor.jax

CASES = (((256,), 1000, 1, "complex64", 1e-5), ((256, 256), 100_000, 1, "complex64", 1e-5),
         ((256, 256), 100_000, 8, "complex64", 1e-5), ((64, 64, 64), 300_000, 1, "complex64", 1e-5),
         ((64, 64, 64), 300_000, 1, "complex128", 1e-6))


def least(functions: Any, repeats: int) -> list[float]:
    """Milliseconds of each function, which are called in turn."""
    times: list[list[float]] = [[] for _ in functions]
    for i in range(repeats + 1):
        for function, kept in zip(functions, times, strict=True):
            begin = time.process_time()
            jax.block_until_ready(function())
            if i:  # the first call compiles
                kept.append(1e3 * (time.process_time() - begin))
    return [min(kept) for kept in times]


def compared(run: Any, arrays: Any, repeats: int) -> list[float]:
    """Times of jax-finufft, of larmor, and of larmor with points that move."""
    ours, theirs = (jax.jit(run(module)) for module in (larmor.jax, jax_finufft))
    moved = iter(range(10_000))

    def move() -> Any:
        value, points = arrays[0], [k * (1 - 1e-5 * next(moved)) for k in arrays[1]]
        return ours(value, points, *arrays[2:])

    larmor.jax.keep(0)
    larmor.jax.keep()
    return least((lambda: theirs(*arrays), lambda: ours(*arrays), move), repeats)


def _two(eps: float, m: Any) -> Any:
    return lambda x, k: m.nufft2(x, *k, eps=eps)


def _one(eps: float, modes: tuple[int, ...], m: Any) -> Any:
    return lambda y, k: m.nufft1(modes, y, *k, eps=eps)


def _misfit(eps: float, m: Any) -> Any:
    return jax.value_and_grad(lambda x, k, y: jnp.sum(jnp.abs(m.nufft2(x, *k, eps=eps) - y)**2), (0, 1))


def main() -> None:
    """Print a table."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    print("load", *(round(x, 1) for x in os.getloadavg()))
    print("| modes, points, batch, numbers, eps | what | jax-finufft, ms | larmor, ms | moved, ms |")
    print("|---|---|---|---|---|")
    for modes, count, batch, dtype, eps in CASES:
        jax.config.update("jax_enable_x64", dtype == "complex128")
        rng = np.random.default_rng(0)
        real = "float32" if dtype == "complex64" else "float64"
        points = [jnp.asarray(rng.uniform(-np.pi, np.pi, count), real) for _ in modes]
        x, y = (jnp.asarray(rng.normal(size=(batch, *shape)) + 1j * rng.normal(size=(batch, *shape)), dtype)
                for shape in (modes, (count,)))

        name = f"{'x'.join(map(str, modes))}, {count}, {batch}, {dtype}, {eps:g}"
        for what, run, arrays in (("type 2", functools.partial(_two, eps), (x, points)),
                                  ("type 1", functools.partial(_one, eps, modes), (y, points)),
                                  ("misfit, gradients of x and k", functools.partial(_misfit, eps), (x, points, y))):
            times = compared(run, arrays, repeats)
            print(f"| {name} | {what} | " + " | ".join(f"{t:.3g}" for t in times) + " |", flush=True)


if __name__ == "__main__":
    main()
