"""
First images
============

A scan of a phantom, without a file: trajectory, exact k-space, and three reconstructions of it.
SPDX-License-Identifier: Apache-2.0
"""

# %%
# 24 spokes where Nyquist asks for 100, and four coils with noise.

import matplotlib.pyplot as plt
import numpy as np

import larmor

SHAPE = (64, 64)
traj = larmor.traj("golden", SHAPE, readouts=24)
scan = larmor.ScanArrays(larmor.phantom_kspace(traj, coils=4, noise=2e-5), traj, SHAPE)

# %%
# Gridding, conjugate gradients, and total variation. The weight of the penalty comes from the data.

figure, panels = plt.subplots(1, 4, figsize=(10, 2.8))
truth = abs(larmor.phantom(SHAPE))
panels[0].imshow(truth, cmap="gray")
panels[0].set_title("phantom")
for panel, method in zip(panels[1:], ("grid", "cg", "tv")):
    done = larmor.recon(scan, method=method, device="cpu")
    image = abs(done.images[0])
    factor = np.vdot(image, truth) / np.vdot(image, image)
    error = np.linalg.norm(factor * image - truth) / np.linalg.norm(truth)
    panel.imshow(factor * image, cmap="gray", vmin=0, vmax=truth.max())
    panel.set_title(f"{method}: error {error:.2f}")
for panel in panels:
    panel.axis("off")
figure.tight_layout()
figure.savefig("first_images.png")
