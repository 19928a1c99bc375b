"""
1. What a scanner measures
==========================

Samples of k-space, what their extent and their spacing do to an image.
SPDX-License-Identifier: Apache-2.0
"""

# %%
# The signal of an object x(r) in a magnetic field that gradients tilt is its Fourier integral at a point k that moves
# while the gradients are on: ``y(k) = sum over r of x(r) exp(-2 pi i k r / N)``, with k in cycles per field of view and r
# in voxels from the centre. First by this formula, at five points.

import matplotlib.pyplot as plt
import numpy as np

import larmor

N = 64
x = larmor.phantom((N, N)).astype(np.complex64)
points = np.array([[0, 0], [1, 0], [0, 1.5], [-3.25, 7], [20, -11]], np.float32)  # ky, kx
r = np.arange(N) - N // 2


def measured(k):
    """The sum over all voxels, as a scanner does it."""
    return np.exp(-2j * np.pi * k[0] * r / N) @ x @ np.exp(-2j * np.pi * k[1] * r / N)


by_hand = np.array([measured(k) for k in points])
by_nufft = larmor.nufft.type2(points, x)
difference = np.linalg.norm(by_nufft - by_hand) / np.linalg.norm(by_hand)
print(f"k = 0 is the sum of the image: {by_hand[0].real:.2f}, {x.sum().real:.2f}")
print(f"larmor's transform differs by {difference:.1e}")

# %%
# On a grid of N x N points one apart the sum is a discrete Fourier transform, and the image is its inverse.


def transformed(image):
    return np.fft.fftshift(np.fft.fftn(np.fft.ifftshift(image)))


def image_of(kspace):
    return np.fft.fftshift(np.fft.ifftn(np.fft.ifftshift(kspace)))


kspace = transformed(x)
back = np.linalg.norm(image_of(kspace) - x) / np.linalg.norm(x)

# %%
# The extent of k-space is the resolution, its spacing is one over the field of view. Half of the extent blurs by two
# voxels and leaves ringing; every second line folds the image onto itself, half a field of view away.

k = np.arange(N) - N // 2
inner = np.where((abs(k) < N // 4)[:, None] & (abs(k) < N // 4), kspace, 0)
every_second = np.where((k % 2 == 0)[:, None], kspace, 0)
folded = image_of(every_second)
expected = (x + np.roll(x, N // 2, axis=0)) / 2
fold = np.linalg.norm(folded - expected) / np.linalg.norm(expected)
print(f"every second line: half of the image and half of its copy, to {fold:.1e}")

figure, panels = plt.subplots(1, 4, figsize=(10, 2.8))
for panel, image, name in zip(panels, (np.log(abs(kspace) + 1), x, image_of(inner), folded),
                              ("k-space, log", "image", "half the extent", "every second line")):
    panel.imshow(abs(image), cmap="gray")
    panel.set_title(name)
    panel.axis("off")
figure.tight_layout()

# %%
# Questions. Which line of k-space decides how bright the image is? What is left if every fourth line is kept?
