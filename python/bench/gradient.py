"""The gradient with respect to the trajectory: larmor.torch beside mri-nufft's autograd with FINUFFT, in one run.

Usage: python3 python/bench/gradient.py [THREADS]
"""
import os
import sys
import time

THREADS = int(sys.argv[1]) if len(sys.argv) > 1 else 2
os.environ["OMP_NUM_THREADS"] = str(THREADS)

import mrinufft
import numpy as np
import torch

import larmor
import larmor.torch as lt

SHAPE, TOL = (128, 128), 1e-4
torch.set_num_threads(THREADS)
traj = larmor.traj("golden", SHAPE, readouts=100).reshape(-1, 2)
image = torch.from_numpy(larmor.phantom(SHAPE))
cycles = torch.from_numpy(traj.astype(np.float32)).requires_grad_()
radians = torch.from_numpy((traj * 2 * np.pi / np.array(SHAPE)).astype(np.float32)).requires_grad_()
weights = torch.randn(len(traj), generator=torch.Generator().manual_seed(0))


def by_larmor():
    cycles.grad = None
    (lt.nufft(image, cycles, tol=TOL).abs().square() * weights).sum().backward()
    return cycles.grad


peer = mrinufft.get_operator("finufft", wrt_data=False, wrt_traj=True)(radians.detach().numpy(), SHAPE, eps=TOL)


def by_peer():
    peer.samples = radians
    radians.grad = None
    (peer.op(image[None, None]).abs().square() * weights).sum().backward()
    return radians.grad


calls = (by_larmor, by_peer)
best = [np.inf, np.inf]
for _ in range(9):
    for i, call in enumerate(calls):
        began = time.perf_counter()
        call()
        best[i] = min(best[i], time.perf_counter() - began)
a, b = by_larmor().double(), by_peer().double()
a, b = a.flatten(), b.flatten()
print(f"forward and gradient of {len(traj)} points, {SHAPE[0]} x {SHAPE[1]}, {THREADS} threads, ms: "
      f"larmor {1e3 * best[0]:.1f}, mri-nufft with FINUFFT {1e3 * best[1]:.1f}")
print(f"cosine of the two gradients: {float((a @ b) / (a.norm() * b.norm())):.6f}")
