"""
An operator of your own
=======================

larmor's solvers take operators and proximal maps that are written in Python. Here an object that moved half-way
through the scan: the motion is an operator of two lines, in front of larmor's own.
SPDX-License-Identifier: Apache-2.0
"""

# %%
# The first half of the spokes see the object, the second half see it moved by whole voxels.

import matplotlib.pyplot as plt
import numpy as np

import larmor
from larmor import linop, prox, solve

SHAPE, SHIFT = (48, 48), (3, -4)
traj = larmor.traj("golden", SHAPE, readouts=40)
maps = larmor.phantom_coils(SHAPE, 4)
first = linop.sense(maps, traj[:20])
second = linop.sense(maps, traj[20:])
image = larmor.phantom(SHAPE).astype(np.complex64)
moved = np.roll(image, SHIFT, axis=(0, 1))
rng = np.random.default_rng(1)


def measured(A, x):
    """Data with some noise."""
    y = A @ x
    scale = 0.02 * abs(y).max() / np.sqrt(traj.shape[1])
    return y + (scale * (rng.normal(size=y.shape) + 1j * rng.normal(size=y.shape))).astype(y.dtype)


halves = [measured(first, image), measured(second, moved)]

# %%
# The operator and its adjoint; ``adjoint_error`` finds mistakes.

move = linop.Function(lambda x: np.roll(x, SHIFT, axis=(0, 1)),
                      lambda y: np.roll(y, (-SHIFT[0], -SHIFT[1]), axis=(0, 1)), SHAPE, SHAPE, name="move")
print(f"adjoint error {move.adjoint_error():.1e}")


def both(second):
    """The two halves one below the other. A stack of operators joins the first axis, so it comes first."""
    A = linop.stack([first, second])
    return A, np.concatenate(halves)


# %%
# Without the motion, with it, and with a proximal map in Python as well: real, non-negative images.

A, y = both(second)
ignored, _ = solve.cg(A, y, iterations=15)
A, y = both(second @ move)
known, report = solve.cg(A, y, iterations=15)
print(f"{report.iterations} iterations, residual {report.residual:.1e}")

positive = prox.Function(lambda t, x: np.maximum(x.real, 0).astype(x.dtype), lambda x: 0.0, SHAPE, name="positive")
constrained, _ = solve.admm(A, y, positive, iterations=15)

figure, panels = plt.subplots(1, 3, figsize=(8.5, 3))
for panel, (name, x) in zip(panels, (("motion ignored", ignored), ("motion known", known),
                                     ("and non-negative", constrained))):
    error = np.linalg.norm(abs(x) - abs(image)) / np.linalg.norm(image)
    panel.imshow(abs(x), cmap="gray", vmin=0, vmax=abs(image).max())
    panel.set_title(f"{name}: {error:.2f}")
    panel.axis("off")
figure.tight_layout()
figure.savefig("own_operator.png")
