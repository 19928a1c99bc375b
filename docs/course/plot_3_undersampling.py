"""
3. How many spokes?
===================

Fewer samples than unknowns: the response of a point, streaks, and what noise does.
SPDX-License-Identifier: Apache-2.0
"""

# %%
# Nyquist asks for pi / 2 N spokes: neighbours are then one cycle per field of view apart at the rim. The image of a
# point shows what fewer do: a disc around the point stays clean, beyond it there are streaks.

import math

import matplotlib.pyplot as plt
import numpy as np

import larmor
from larmor import linop, solve

SHAPE = (64, 64)
NYQUIST = int(np.ceil(np.pi / 2 * SHAPE[0]))
COUNTS = (NYQUIST, 50, 25, 13)


def response(count):
    """The gridded image of a point in the centre, 1 there."""
    traj = larmor.traj("golden", SHAPE, readouts=count)
    weights = larmor.density(traj, SHAPE)
    image = larmor.nufft.type1(traj, weights.astype(np.complex64), SHAPE)
    return image / image[32, 32]


far = {}
figure, panels = plt.subplots(1, 4, figsize=(10, 2.8))
y, x = np.mgrid[-32:32, -32:32]
for panel, count in zip(panels, COUNTS):
    point = response(count)
    far[count] = np.sqrt(np.mean(abs(point[(x**2 + y**2 > 12**2) & (x**2 + y**2 < 30**2)]) ** 2))
    panel.imshow(np.log10(abs(point) + 1e-4), cmap="gray", vmin=-3, vmax=0)
    panel.set_title(f"{count} spokes: {far[count]:.1e}")
    panel.axis("off")
figure.tight_layout()

# %%
# The error of an image, gridded and by least squares, with little noise. Below Nyquist both have streaks: equations are
# missing, and least squares takes the shortest image that fits.

errors = {}
for count in COUNTS:
    traj = larmor.traj("golden", SHAPE, readouts=count)
    A = linop.nufft(traj, SHAPE)
    samples = larmor.phantom_kspace(traj, noise=2e-5, seed=1) * math.prod(SHAPE)
    gridded = A.H @ (larmor.density(traj, SHAPE) * samples).astype(np.complex64)
    solved, _ = solve.cg(A, samples, iterations=15)
    truth = larmor.phantom(SHAPE, band_limited=True)
    errors[count] = [larmor.compare(image, truth, inside=2)["nrmse"] for image in (gridded, solved)]
    print(f"{count:4} spokes: gridding {errors[count][0]:.3f}, least squares {errors[count][1]:.3f}")

figure, panel = plt.subplots(figsize=(5, 3))
panel.loglog(COUNTS, [errors[count][0] for count in COUNTS], "o-", label="gridding")
panel.loglog(COUNTS, [errors[count][1] for count in COUNTS], "s-", label="least squares")
panel.set_xlabel("spokes")
panel.set_ylabel("error")
panel.legend()
figure.tight_layout()

# %%
# Questions. Why do golden angles serve any number of spokes, and uniform ones only the number they were made for? What
# would 25 spokes with twice the samples on each help?
