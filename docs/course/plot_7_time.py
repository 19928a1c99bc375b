"""
7. Time
=======

A series out of one acquisition: frames, and what neighbouring frames have in common.
SPDX-License-Identifier: Apache-2.0
"""

# %%
# An object that moves, seen by golden-angle spokes one after the other. Any number of consecutive spokes is a frame:
# few of them follow the motion and leave streaks, many blur it.

import matplotlib.pyplot as plt
import numpy as np

import larmor

SHAPE, SPOKES, PER_FRAME, COILS = (48, 48), 104, 13, 4
traj = larmor.traj("golden", SHAPE, readouts=SPOKES)


def degrees(spoke):
    """How the object has turned when a spoke is measured."""
    return 25 * np.sin(2 * np.pi * spoke / SPOKES)


kspace = np.concatenate([larmor.phantom_kspace(traj[r:r + 1], coils=COILS, noise=5e-5, seed=r, degrees=degrees(r))
                         for r in range(SPOKES)], axis=1)
scan = larmor.ScanArrays(kspace, traj, SHAPE)
maps = larmor.phantom_coils(SHAPE, COILS)
frames = SPOKES // PER_FRAME
truth = np.stack([larmor.phantom(SHAPE, band_limited=True, degrees=degrees(PER_FRAME * (f + 0.5)))
                  for f in range(frames)])

# %%
# Three ways: all spokes in one image, each frame by itself, and all frames together with a penalty on what changes
# from one to the next and on edges.

mean = larmor.recon(scan, method="cg", maps=maps, device="cpu").images
alone = larmor.recon(scan, method="cg", maps=maps, frames={"spokes": PER_FRAME}, device="cpu").images
together = larmor.recon(scan, method="tv", maps=maps, frames={"spokes": PER_FRAME}, joint=True, device="cpu").images
series = {"all spokes": np.repeat(mean, frames, 0), "each frame alone": alone, "frames together": together}


def error(images):
    """The mean of the frames' errors."""
    return np.mean([larmor.compare(image, true, inside=2)["nrmse"] for image, true in zip(images, truth)])


errors = {name: error(images) for name, images in series.items()}
for name, value in errors.items():
    print(f"{name}: error {value:.3f}")

figure, panels = plt.subplots(4, 4, figsize=(8, 8))
for row, (name, images) in zip(panels, {**series, "truth": truth}.items()):
    for panel, image in zip(row, images[::2]):
        panel.imshow(abs(image), cmap="gray", vmin=0, vmax=0.8)
        panel.axis("off")
    row[0].set_title(name, loc="left")
figure.tight_layout()

# %%
# Questions. What does the penalty along time do to a motion that is quicker than a frame?
