"""On a GPU: tensors are read and written where they are, on PyTorch's current stream, and gradients are right.

    LARMOR_PLUGIN_DIR=/path/to/lib/larmor python3 python/bench/gpu.py

Needs PyTorch with CUDA; CuPy is tried where it is installed. Ends with "all passed", or with the first thing that is
wrong. SPDX-License-Identifier: Apache-2.0
"""

import time

import numpy as np
import torch

import larmor
import larmor.torch as lt
from larmor import _arrays, linop, nufft, solve
from larmor._library import ffi, lib

assert torch.cuda.is_available(), "no GPU for PyTorch"
gpu = torch.device("cuda:0")
generator = torch.Generator(gpu).manual_seed(1)
shape, count = (256, 256), 200000
points = (torch.rand(count, 2, generator=generator, device=gpu) - 0.5) * 256
x = torch.randn(8, *shape, dtype=torch.complex64, generator=generator, device=gpu)

# The same memory on both sides, and no copy of the data.
on = _arrays.device_of(x)
wrapped = _arrays.wrap(x, on)
assert int(ffi.cast("uintptr_t", lib.larmor_array_data(wrapped))) == x.data_ptr(), "the pointers differ"
plan = nufft.Plan(2, shape, batch=8, device="cuda:0", both_directions=True).set_points(points)
out = torch.empty(8, count, dtype=torch.complex64, device=gpu)
assert plan.execute(x, out) is out
torch.cuda.synchronize()
before = torch.cuda.memory_allocated()
for _ in range(3):
    plan.execute(x, out)
torch.cuda.synchronize()
assert torch.cuda.memory_allocated() == before, "an execute with an output took memory of PyTorch's"
print("same pointers, no copy")

# The numbers are the processor's.
expected = nufft.type2(points.cpu().numpy(), x.cpu().numpy())
error = np.linalg.norm(out.cpu().numpy() - expected) / np.linalg.norm(expected)
assert error < 3e-5, f"GPU and processor differ by {error}"
print(f"GPU and processor agree to {error:.1e}")

# Work that was queued on another stream of PyTorch's comes first.
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    for _ in range(20):
        y = plan.execute(torch.zeros_like(x) + x, out)
        total = y.abs().sum()
torch.cuda.synchronize()
wanted = float(np.abs(expected).sum())
assert abs(float(total) - wanted) < 1e-3 * wanted, "the streams were mixed up"
print("the current stream is followed")

# Operators and solvers.
maps = torch.randn(4, 64, 64, dtype=torch.complex64, generator=generator, device=gpu)
traj = (torch.rand(100, 128, 2, generator=generator, device=gpu) - 0.5) * 64
A = linop.sense(maps, traj)
truth = torch.randn(64, 64, dtype=torch.complex64, generator=generator, device=gpu)
found, report = solve.cg(A, A @ truth, iterations=60, tol=1e-6)
assert found.device.type == "cuda" and float((found - truth).norm() / truth.norm()) < 1e-3, report
print("conjugate gradients on the GPU:", report)

# Gradients in double precision.
k = ((torch.rand(5, 2, dtype=torch.float64, device=gpu) - 0.5) * 4).requires_grad_()
z = torch.randn(2, 4, 4, dtype=torch.complex128, device=gpu, requires_grad=True)
assert torch.autograd.gradcheck(lambda z, k: lt.nufft(z, k, tol=1e-12), (z, k))
print("gradcheck passes")

# A gradient of the trajectory: one forward transform and its backward.
k, z = points.clone().requires_grad_(), x
for step in range(12):
    if step == 2:
        torch.cuda.synchronize()
        began = time.perf_counter()
    lt.nufft(z, k).abs().square().sum().backward()
torch.cuda.synchronize()
print(f"forward and gradient of the trajectory: {(time.perf_counter() - began) / 10 * 1e3:.2f} ms")

try:
    import cupy
except ImportError:
    print("CuPy is not installed: not tried")
else:
    c = cupy.asarray(x)
    assert cupy.linalg.norm(plan.execute(c).ravel() - cupy.asarray(out).ravel()) < 1e-3 * cupy.linalg.norm(c.ravel())
    print("CuPy's arrays, too")

print(larmor.device("cuda:0"), "all passed")
