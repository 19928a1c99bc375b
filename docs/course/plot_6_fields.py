"""
6. Fields that are not those asked for
======================================

Off-resonance: spins that turn while a readout lasts, and a model that knows it.
SPDX-License-Identifier: Apache-2.0
"""

# %%
# Where the field is off by f Hz, a sample at the time t after the excitation has the phase 2 pi f t. Spokes of 2 ms
# hardly notice, spirals of 10 ms do. Here the field rises by 150 Hz across the field of view.

import math

import matplotlib.pyplot as plt
import numpy as np

import larmor
from larmor import linop, solve

SHAPE, ARMS, SAMPLES, READOUT_S = (64, 64), 8, 1200, 10e-3
traj = larmor.traj("spiral", SHAPE, readouts=ARMS, samples=SAMPLES)
times = np.linspace(0, READOUT_S, SAMPLES)
field = {"gradient": (150, 0, 0)}
kspace = larmor.phantom_kspace(traj, coils=4, field=field, times=times, noise=2e-5, seed=1) * math.prod(SHAPE)
hz = larmor.phantom_field_map(SHAPE, field)
print(f"the phase at the end of a readout: {2 * np.pi * abs(hz).max() * READOUT_S:.1f} rad")

# %%
# Without the field in the model every voxel is smeared along the spiral's error. With it the model is
# ``y = sum over r of s x exp(-2 pi i k r / N) exp(2 pi i f t)``, whose last factor is split into a few segments of time,
# each with one NUFFT.

maps = larmor.phantom_coils(SHAPE, 4)
shared = linop.Segments(hz, times)
without = linop.sense(maps, traj)
with_field = linop.sense(maps, traj, off_resonance=shared)
truth = larmor.phantom(SHAPE, band_limited=True)
errors, images = {}, {}
for name, A in (("ignored", without), ("in the model", with_field)):
    images[name], _ = solve.cg(A, kspace, lam=10.0, iterations=20)
    errors[name] = larmor.compare(images[name], truth, inside=2)["nrmse"]
    print(f"{name}: error {errors[name]:.3f}")

# %%
# The adjoint holds for this operator as well, which is what solvers need.

u = solve.noise(with_field.in_shape, 1.0, seed=1)
gap = abs(np.vdot(with_field @ u, kspace) - np.vdot(u, with_field.H @ kspace))
gap /= np.linalg.norm(with_field @ u) * np.linalg.norm(kspace)

# %%
# A map of the wrong sign doubles the blur.

wrong, _ = solve.cg(linop.sense(maps, traj, off_resonance=linop.Segments(-hz, times)), kspace, lam=10.0, iterations=20)
errors["wrong sign"] = larmor.compare(wrong, truth, inside=2)["nrmse"]
figure, panels = plt.subplots(1, 4, figsize=(10, 2.8))
panels[0].imshow(hz, cmap="coolwarm")
panels[0].set_title("field, Hz")
for panel, image, name in zip(panels[1:], (*images.values(), wrong), errors):
    panel.imshow(abs(image), cmap="gray")
    panel.set_title(f"{name}: {errors[name]:.2f}")
for panel in panels:
    panel.axis("off")
figure.tight_layout()

# %%
# Questions. How long may a readout be at 3 T, where fat is 430 Hz off? `larmor b0` finds the map from two echoes.
