"""
Coil maps
=========

Three ways to find the coils' sensitivities, from the centre of the same data, beside the true ones.
SPDX-License-Identifier: Apache-2.0
"""

# %%
# Fully sampled spokes of four coils.

import matplotlib.pyplot as plt
import numpy as np

import larmor

SHAPE, COILS = (48, 48), 4
traj = larmor.traj("golden", SHAPE, readouts=80)
kspace = larmor.phantom_kspace(traj, coils=COILS, noise=2e-5)
true = larmor.phantom_coils(SHAPE, COILS)
object_ = abs(larmor.phantom(SHAPE)) > 0

# %%
# ``coil_maps`` is Walsh's method, ``espirit`` also says by its eigenvalues where maps can be trusted, and ``nlinv``
# finds the image at the same time.

walsh = larmor.coil_maps(kspace, traj, SHAPE)
espirit, eigenvalues, _ = larmor.espirit(kspace, traj, SHAPE)
image, joint, _ = larmor.nlinv(kspace.astype(np.complex64), traj, SHAPE)

# %%
# Maps are known up to a factor that all coils share at a voxel: so coils are compared with their root sum of squares.


def relative(maps):
    """Magnitudes over the root sum of squares of all coils."""
    maps = abs(maps.reshape(COILS, *SHAPE))
    return maps / np.maximum(np.sqrt((maps**2).sum(axis=0)), 1e-9)


figure, panels = plt.subplots(1, 4, figsize=(10, 2.8))
for panel, (name, maps) in zip(panels, (("true", true), ("Walsh", walsh), ("ESPIRiT", espirit), ("NLINV", joint))):
    difference = (relative(maps) - relative(true))[:, object_]
    panel.imshow(relative(maps)[0] * object_, cmap="gray", vmin=0, vmax=1)
    panel.set_title(f"{name}: {np.sqrt(np.mean(difference**2)):.3f}")
    panel.axis("off")
figure.tight_layout()
figure.savefig("maps.png")
