"""
4. Coils
========

Several coils see the same object, each its own part of it: more equations for the same image.
SPDX-License-Identifier: Apache-2.0
"""

# %%
# Coil c measures the object times its sensitivity: y_c = F (s_c x). The sensitivities come from the data themselves:
# the centre of k-space is sampled densely, and its image, though blurred, has the coils' relations.

import math

import matplotlib.pyplot as plt
import numpy as np

import larmor
from larmor import linop, solve

SHAPE, COILS, SPOKES = (64, 64), 8, 25
traj = larmor.traj("golden", SHAPE, readouts=SPOKES)
kspace = larmor.phantom_kspace(traj, coils=COILS, noise=2e-5, seed=1) * math.prod(SHAPE)
found = larmor.coil_maps(kspace, traj, SHAPE)
true = larmor.phantom_coils(SHAPE, COILS)

# %%
# Maps are known up to a factor at each voxel, alike in all coils. The angle between found and true ones at the voxels
# of the object says how good they are.

inside = abs(larmor.phantom(SHAPE)) > 0.05
overlap = abs((found.conj() * true).sum(0)) / np.sqrt((abs(found)**2).sum(0) * (abs(true)**2).sum(0) + 1e-30)
angle = np.degrees(np.arccos(np.clip(overlap[inside], 0, 1)))
print(f"angle between found and true maps: {np.median(angle):.1f} degrees in the median")

# %%
# SENSE is least squares with all coils at once. With one coil 25 spokes leave streaks, with eight they hardly do.

truth = larmor.phantom(SHAPE, band_limited=True)
one, _ = solve.cg(linop.nufft(traj, SHAPE), larmor.phantom_kspace(traj, noise=2e-5, seed=1) * math.prod(SHAPE),
                  iterations=15)
A = linop.sense(true, traj)
sense, _ = solve.cg(A, kspace, lam=10.0, iterations=20)
errors = {"one coil": larmor.compare(one, truth, inside=2)["nrmse"],
          "eight coils": larmor.compare(sense, truth, inside=2)["nrmse"]}
print(errors)

# %%
# The price is noise that differs from voxel to voxel: images of noise alone, solved the same way, show where it is
# amplified.

replicas = [solve.cg(A, solve.noise(A.out_shape, 0.1, seed=s), lam=10.0, iterations=20)[0] for s in range(16)]
deviation = np.std(replicas, axis=0)

figure, panels = plt.subplots(1, 5, figsize=(12, 2.8))
for panel, image, name in zip(panels, (abs(found[0]), abs(found[1]), abs(one), abs(sense), deviation),
                              ("coil 1", "coil 2", "one coil", "eight coils", "deviation of noise")):
    panel.imshow(image, cmap="gray")
    panel.set_title(name)
    panel.axis("off")
figure.tight_layout()

# %%
# Questions. Where is the noise largest, and why there? `larmor recon --noise-map` does this for whole scans.
