"""NUFFTs through Python beside FINUFFT, ducc0 and mri-nufft's backends, in turn in one run.

Points of a golden-angle scan, single precision, one tolerance. Points are sorted and plans are made before, but for
ducc0, which has no plans.

Usage: python3 python/bench/nufft.py [THREADS [POINTS]]; peers that are not installed are left out. With POINTS,
uniform points are handed over and transformed, as ducc0 always does.
"""
import importlib
import os
import sys
import time

THREADS = int(sys.argv[1]) if len(sys.argv) > 1 else 2
os.environ["OMP_NUM_THREADS"] = str(THREADS)

import numpy as np

import larmor
from larmor import nufft

TOL = 1e-4
CASES = (("256 x 256, 402 spokes", "golden", (256, 256), 402, 1),
         ("256 x 256, 8 coils", "golden", (256, 256), 402, 8),
         ("64 x 64 x 64 koosh", "koosh", (64, 64, 64), 6000, 1))


def peers(radians, shape, batch):
    """Functions of an image and of values, by name."""
    device = f"cpu:{THREADS}"
    plan = nufft.Plan(2, shape, batch=batch, tol=TOL, units="radians", device=device, both_directions=True)
    plan.set_points(radians)
    found = {"larmor": (plan.execute, plan.adjoint)}
    count = len(radians)
    try:
        finufft = importlib.import_module("finufft")
        how = {"eps": TOL, "dtype": "complex64", "nthreads": THREADS, "n_trans": batch}
        two, one = finufft.Plan(2, shape, isign=-1, **how), finufft.Plan(1, shape, isign=1, **how)
        axes = [np.ascontiguousarray(radians[:, d]) for d in range(len(shape))]
        two.setpts(*axes)
        one.setpts(*axes)
        found["finufft"] = (two.execute, one.execute)
    except ImportError:
        pass
    try:
        ducc0 = importlib.import_module("ducc0")
        how = {"epsilon": TOL, "nthreads": THREADS}
        found["ducc0"] = (
            lambda x: np.stack([ducc0.nufft.u2nu(grid=g, coord=radians, forward=True, **how)
                                for g in x.reshape(batch, *shape)]),
            lambda y: np.stack([ducc0.nufft.nu2u(points=p, coord=radians, forward=False,
                                                 out=np.empty(shape, np.complex64), **how)
                                for p in y.reshape(batch, count)]))
    except ImportError:
        pass
    try:
        mrinufft = importlib.import_module("mrinufft")
        importlib.import_module("larmor.mrinufft")
    except ImportError:
        return found
    for backend in ("larmor", "finufft"):
        A = mrinufft.get_operator(backend)(radians, shape, n_coils=batch, n_trans=batch, eps=TOL, squeeze_dims=False)
        found[f"mri-nufft/{backend}"] = (lambda x, A=A: A.op(x.reshape(1, batch, *shape)),
                                         lambda y, A=A: A.adj_op(y.reshape(1, batch, count)))
    return found


WHOLE = (((10000,), np.complex128, 1e-9), ((320, 320), np.complex64, 1e-4), ((320, 320), np.complex128, 1e-9),
         ((100, 100, 100), np.complex64, 1e-4), ((100, 100, 100), np.complex128, 1e-9))


def handed_over(points, shape, dtype, tol):
    """Functions of an image and of values by name, each of which takes its points anew."""
    real = np.float32 if dtype == np.complex64 else np.float64
    points = np.ascontiguousarray(points, real)
    axes = [np.ascontiguousarray(points[:, d]) for d in range(len(shape))]
    plans = {kind: nufft.Plan(kind, shape, tol=tol, units="radians", device=f"cpu:{THREADS}", dtype=dtype)
             for kind in (1, 2)}

    def ours(kind, value):
        plans[kind].set_points(points)
        return plans[kind].execute(value)

    found = {"larmor": (lambda x: ours(2, x), lambda y: ours(1, y))}
    try:
        finufft = importlib.import_module("finufft")
        peer = {kind: finufft.Plan(kind, shape, isign=1 if kind == 1 else -1, eps=tol, dtype=np.dtype(dtype).name,
                                   nthreads=THREADS) for kind in (1, 2)}

        def theirs(kind, value):
            peer[kind].setpts(*axes)
            return peer[kind].execute(value)

        found["finufft"] = (lambda x: theirs(2, x), lambda y: theirs(1, y))
    except ImportError:
        pass
    try:
        ducc0 = importlib.import_module("ducc0")
        how = {"coord": points, "epsilon": tol, "nthreads": THREADS}
        found["ducc0"] = (lambda x: ducc0.nufft.u2nu(grid=x, forward=True, **how),
                          lambda y: ducc0.nufft.nu2u(points=y, forward=False, out=np.empty(shape, dtype), **how))
    except ImportError:
        pass
    return found


def time_whole(count, rounds=4):
    rng = np.random.default_rng(0)
    print(f"milliseconds of {count} uniform points handed over and transformed, {THREADS} threads")
    for shape, dtype, tol in WHOLE:
        x = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
        y = (rng.normal(size=count) + 1j * rng.normal(size=count)).astype(dtype)
        calls = handed_over(rng.uniform(-np.pi, np.pi, (count, len(shape))), shape, dtype, tol)
        for direction, value in enumerate((x, y)):
            best = dict.fromkeys(calls, np.inf)
            result = {}
            for _ in range(rounds):
                for peer, call in calls.items():
                    began = time.perf_counter()
                    try:
                        result[peer] = np.ravel(call[direction](value))
                    except RuntimeError as refusal:
                        print(f"{peer} refuses: {refusal}")
                        continue
                    best[peer] = min(best[peer], time.perf_counter() - began)
            for peer, seconds in best.items():
                apart = (np.linalg.norm(result[peer] - result["larmor"]) / np.linalg.norm(result["larmor"])
                         if peer in result else np.nan)
                name = f"{'x'.join(map(str, shape))} {np.dtype(dtype).name} {('to k-space', 'back')[direction]}"
                ratio = seconds / best["larmor"]
                print(f"{name:34s} {peer:8s} {1e3 * seconds:9.1f} {ratio:6.2f}   differs by {apart:.1e}")


def main():
    if len(sys.argv) > 2:
        time_whole(int(sys.argv[2]))
        return
    rng = np.random.default_rng(0)
    print(f"milliseconds (image to k-space, back), best of rounds, {THREADS} threads, tolerance {TOL:g}")
    for name, kind, shape, readouts, batch in CASES:
        traj = larmor.traj(kind, shape, readouts=readouts)
        radians = np.ascontiguousarray((traj.reshape(-1, len(shape)) * (2 * np.pi / np.array(shape))), np.float32)
        x = (rng.normal(size=(batch, *shape)) + 1j * rng.normal(size=(batch, *shape))).astype(np.complex64)
        y = (rng.normal(size=(batch, len(radians))) + 0j).astype(np.complex64)
        if batch == 1:
            x, y = x[0], y[0]
        made = peers(radians, shape, batch)
        times = {peer: [np.inf, np.inf] for peer in made}
        for _ in range(7):
            for peer, calls in made.items():
                for i, (call, value) in enumerate(zip(calls, (x, y), strict=True)):
                    began = time.perf_counter()
                    call(value)
                    times[peer][i] = min(times[peer][i], time.perf_counter() - began)
        reference = np.ravel(made["larmor"][0](x))
        for peer, (there, back) in times.items():
            got = np.ravel(made[peer][0](x))
            factor = np.vdot(got, reference) / np.vdot(got, got)  # mri-nufft scales
            error = np.linalg.norm(factor * got - reference) / np.linalg.norm(reference)
            print(f"{name:24s} {peer:20s} {1e3 * there:8.2f} {1e3 * back:8.2f}   differs by {error:.1e}")


if __name__ == "__main__":
    main()
