"""
2. Spokes, density, gridding
============================

Samples that lie on no grid: the NUFFT, its adjoint, and why the adjoint is no inverse.
SPDX-License-Identifier: Apache-2.0
"""

# %%
# Golden-angle spokes, 100 of them, and the exact k-space of a phantom at their points. The operator A takes an image to
# samples; its adjoint takes samples to an image.

import math

import matplotlib.pyplot as plt
import numpy as np

import larmor
from larmor import linop, solve

SHAPE = (64, 64)
traj = larmor.traj("golden", SHAPE, readouts=100)
A = linop.nufft(traj, SHAPE)
y = larmor.phantom_kspace(traj) * math.prod(SHAPE)  # as the sum over voxels
truth = larmor.band_limit(larmor.phantom(SHAPE, band_limited=True))
print("points:", traj.shape, " image to samples:", A.in_shape, "->", A.out_shape)

# %%
# The adjoint is defined by ``<A x, y> = <x, A^H y>``. It is no inverse: spokes are dense in the centre, so that low
# frequencies count too often. Weights, one over the density, mend that: gridding.

u = solve.noise(A.in_shape, 1.0, seed=1)
gap = abs(np.vdot(A @ u, y) - np.vdot(u, A.H @ y)) / abs(np.vdot(u, A.H @ y))
weights = larmor.density(traj, SHAPE)
plain = A.H @ y
gridded = A.H @ (weights * y).astype(np.complex64)
print(f"adjoint: {gap:.1e}")

# %%
# Better than any weights is to ask for the image whose samples are the measured ones: least squares, ``min |A x - y|^2``,
# by conjugate gradients, each step one A and one A^H.

errors = {}
solved, report = solve.cg(A, y, iterations=20)
images = {"adjoint": plain, "gridding": gridded, "least squares": solved}
for name, image in images.items():
    errors[name] = larmor.compare(image, truth, inside=2)["nrmse"]
    print(f"{name}: error {errors[name]:.3f}")

figure, panels = plt.subplots(1, 4, figsize=(10, 2.8))
panels[0].plot(traj[:20, :, 1].T, traj[:20, :, 0].T, linewidth=0.5)
panels[0].set_aspect("equal")
panels[0].set_title("20 of the spokes")
for panel, (name, image) in zip(panels[1:], images.items()):
    panel.imshow(abs(image), cmap="gray")
    panel.set_title(f"{name}: {errors[name]:.2f}")
    panel.axis("off")
figure.tight_layout()

# %%
# Questions. What becomes of the adjoint's image if only the outer half of each spoke is used? How many steps of cg
# does the gridded image save, as its beginning (`x0`)?
