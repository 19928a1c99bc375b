"""
Images while a scan runs
========================

Readouts go in one after the other, and an image comes out with every 13 of them.
SPDX-License-Identifier: Apache-2.0
"""

# %%
# A phantom that grows, turns and shrinks again, on golden-angle spokes: every readout sees another state of it.

import matplotlib.pyplot as plt
import numpy as np

import larmor

SHAPE, FIRST, READOUTS = (64, 64), 65, 143
traj = larmor.traj("golden", SHAPE, readouts=READOUTS)


def readouts():
    """What a scanner would send."""
    for r in range(READOUTS):
        turn = max(0, r - FIRST) / (READOUTS - FIRST)
        kspace = larmor.phantom_kspace(traj[r:r + 1], coils=8, noise=5e-6, seed=r, degrees=30 * turn,
                                       size=1 - 0.1 * np.sin(np.pi * turn))
        yield kspace[:, 0], traj[r]


# %%
# Each image begins at the one before, with the coil maps of the first 65 readouts. Where readouts do not come from an
# iterator, `larmor.Live` has `push` for them; Ctrl-C leaves what is finished.

shown = []
for one in larmor.live(readouts(), SHAPE, window=13, first=FIRST, device="cpu"):
    print(f"{one.readouts} readouts, {1000 * one.report['seconds']:.0f} ms")
    shown.append(abs(one.image))

figure, panels = plt.subplots(1, len(shown), figsize=(12, 2))
for panel, image in zip(panels, shown):
    panel.imshow(image, cmap="gray")
    panel.axis("off")
figure.tight_layout()
figure.savefig("live.png")
