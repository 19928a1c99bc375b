"""A model of terms by larmor and by the dense matrix of all voxels and samples, in one run: docs/records/physics.md.

Spirals with phases of orders 0, 2 and 3, all coils, conjugate gradients on the same samples. The matrix is made in
blocks for each product, as it does not fit into memory: 256^2 voxels and 103000 samples are 54 GB. By PyTorch where
it is installed, else NumPy; where one iteration takes longer than --patience, the others are taken to last as long.
Usage: PYTHONPATH=build/cpu/python python3 tests/bench/model_dense.py [--device cuda] [--matrix 256] [--coils 16]
[--samples 25750] [--iterations 50] [--error 1e-3]. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import time

import larmor
import numpy as np
from larmor import linop, solve

try:
    import torch
except ImportError:
    torch = None

FOV_M, ARMS, BLOCK_MB, PENALTY = 0.256, 4, 512, 1e-3


def scene(args):
    """Trajectory [arms, samples, 2], terms, maps, samples of random noise on a phantom, all of float32's size."""
    n, samples = args.matrix, args.samples
    part = np.linspace(0, 1, samples)
    turns = n / 2 / ARMS
    traj = np.stack([n / 2 * part[:, None] * np.stack((np.sin(a), np.cos(a)), -1)
                     for a in (2 * np.pi * (turns * part + arm / ARMS) for arm in range(ARMS))])
    axis = (np.arange(n) - n // 2) / n * FOV_M
    y, x = np.meshgrid(axis, axis, indexing="ij")
    h = larmor.solid_harmonics(np.stack((x, y, 0 * x + 0.02), -1), 3)
    terms = []
    for i in [0, *range(4, 16)]:
        size = 1 if i < 9 else 0.4
        wave = size * (0.8 * part * np.cos(i) + 0.25 * np.sin(2 * np.pi * (i % 5 + 2) * part))
        terms.append((h[i] / np.abs(h[i]).max(), -np.tile(wave, (ARMS, 1))))
    return traj, terms, larmor.phantom_coils((n, n), args.coils), larmor.phantom((n, n))


def conjugate_gradients(normal, b, iterations, patience, synchronise):
    """x, seconds of all iterations, and how many were made."""
    x, r = 0 * b, b
    p, rr = r, (r.conj() * r).sum().real
    began = time.perf_counter()
    for done in range(1, iterations + 1):
        q = normal(p)
        step = rr / (p.conj() * q).sum().real
        x, r = x + step * p, r - step * q
        before, rr = rr, (r.conj() * r).sum().real
        p = r + rr / before * p
        synchronise()
        took = time.perf_counter() - began
        if took > patience:
            break
    return x, took * iterations / done, done


class Dense:
    """The matrix in blocks of samples, by PyTorch or NumPy."""

    def __init__(self, args, traj, terms, maps):
        self.on_gpu = torch is not None and args.device.startswith("cuda")
        voxels = maps[0].size
        axis = np.arange(args.matrix) - args.matrix // 2
        y, x = np.meshgrid(axis, axis, indexing="ij")
        times = [2 * np.pi * traj[..., 0].ravel() / args.matrix, 2 * np.pi * traj[..., 1].ravel() / args.matrix]
        places = [y.ravel(), x.ravel()]
        for space, wave in terms:
            places.append(space.ravel())
            times.append(-wave.ravel())
        self.places, self.times = self.array(np.array(places, np.float32)), self.array(np.array(times, np.float32).T)
        self.maps = self.array(maps.reshape(len(maps), voxels).T)
        self.rows = max(1, BLOCK_MB * 1000000 // (8 * voxels))

    def array(self, x):
        x = np.ascontiguousarray(x)
        return x if torch is None else torch.as_tensor(x, device="cuda" if self.on_gpu else "cpu")

    def synchronise(self):
        if self.on_gpu:
            torch.cuda.synchronize()

    def blocks(self):
        for first in range(0, len(self.times), self.rows):
            rows = slice(first, first + self.rows)
            phase = self.times[rows] @ self.places
            yield rows, np.exp(-1j * phase) if torch is None else torch.polar(torch.ones_like(phase), -phase)

    def adjoint(self, y):
        return sum((self.maps.conj() * (E.conj().T @ y[rows])).sum(1) for rows, E in self.blocks())

    def normal(self, x):
        out = PENALTY * len(self.times) * x
        for _, E in self.blocks():
            out = out + (self.maps.conj() * (E.conj().T @ (E @ (self.maps * x[:, None])))).sum(1)
        return out


def on_device(x, device):
    """A host array where larmor's operator is."""
    x = np.ascontiguousarray(x)
    return torch.as_tensor(x, device=device) if device.startswith("cuda") else x


def on_host(x):
    return x if isinstance(x, np.ndarray) else x.cpu().numpy()


def main():
    parser = argparse.ArgumentParser()
    for name, value in {"matrix": 256, "coils": 16, "samples": 25750, "iterations": 50}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--error", type=float, default=1e-3)
    parser.add_argument("--patience", type=float, default=60)
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    traj, terms, maps, image = scene(args)
    began = time.perf_counter()
    there = [tuple(on_device(part, args.device) for part in term) for term in terms]
    model = linop.Segments.of_terms(there, error=args.error, device=args.device)
    found = time.perf_counter() - began
    A = linop.sense(on_device(maps, args.device), on_device(traj, args.device), off_resonance=model,
                    device=args.device)
    kspace = on_host(A @ on_device(image.astype(np.complex64), args.device))
    rng = np.random.default_rng(1)
    size = np.sqrt(np.mean(np.abs(kspace) ** 2))
    noise = rng.normal(size=kspace.shape) + 1j * rng.normal(size=kspace.shape)
    kspace = (kspace + 0.02 * size * noise).astype(np.complex64)
    samples = on_device(kspace, args.device)
    solve.cg(A, samples, iterations=1, lam=PENALTY * traj[..., 0].size)
    began = time.perf_counter()
    own, _ = solve.cg(A, samples, iterations=args.iterations, tol=1e-30, lam=PENALTY * traj[..., 0].size)
    ours = time.perf_counter() - began
    dense = Dense(args, traj, terms, maps)
    y = dense.array(kspace.reshape(args.coils, -1).T)
    dense.adjoint(y)  # what is made at the first call is not counted
    dense.synchronise()
    began = time.perf_counter()
    b = dense.adjoint(y)
    dense.synchronise()
    first = time.perf_counter() - began
    x, took, done = conjugate_gradients(dense.normal, b, args.iterations, args.patience, dense.synchronise)
    x = np.asarray(x.cpu() if torch is not None else x).reshape(image.shape)
    if done < args.iterations:
        own, _ = solve.cg(A, samples, iterations=done, tol=1e-30, lam=PENALTY * traj[..., 0].size)
    own = on_host(own)
    print(f"{args.matrix}^2 voxels, {traj[..., 0].size} samples, {args.coils} coils, {args.iterations} iterations, "
          f"{args.device}")
    print(f"larmor: {model.info['segments']} products in {found:.2f} s, error {model.info['error']:.1e}; "
          f"solved in {ours:.3f} s")
    print(f"dense matrix by {'NumPy' if torch is None else 'PyTorch'}: {first + took:.2f} s, "
          f"{done} iterations of them made; {(first + took) / ours:.1f} times larmor's")
    print(f"images differ by {np.linalg.norm(x - own) / np.linalg.norm(own):.1e} after {done} iterations")


if __name__ == "__main__":
    main()
