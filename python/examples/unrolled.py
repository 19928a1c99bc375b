"""
An unrolled network
===================

Few steps of gradient descent on the data, each followed by a small convolutional network: it learns to remove what
undersampled spokes leave. Trained on turned phantoms, on the processor, in less than a minute.
Source: Hammernik et al., Magn. Reson. Med. 79, 3055 (2018). SPDX-License-Identifier: Apache-2.0
"""

# %%
# The scan is the same for all objects: 13 spokes, where Nyquist asks for 50, and four coils. An operator of
# ``larmor.linop`` sorts the trajectory once; ``larmor.torch.apply`` gives it gradients.

import time

import numpy as np
import torch

import larmor
import larmor.torch as lt
from larmor import linop, solve

SHAPE, COILS, SPOKES = (32, 32), 4, 13
traj = larmor.traj("golden", SHAPE, readouts=SPOKES, samples=64)
maps = larmor.phantom_coils(SHAPE, COILS)
density = larmor.density(traj, SHAPE)
A = linop.sense(maps, traj, weights=density)
scale = 1 / solve.largest_eigenvalue(A)


def scan(angle):
    """Weighted data of a turned phantom, and its image at this resolution: the transform of its exact k-space."""
    spokes = larmor.phantom_kspace(traj, coils=COILS, noise=1e-5, seed=int(100 * angle), degrees=angle)
    lines = larmor.phantom_kspace(larmor.traj("cartesian", SHAPE), degrees=angle).reshape(SHAPE)
    truth = np.fft.fftshift(np.fft.ifftn(np.fft.ifftshift(lines))).astype(np.complex64)
    return torch.from_numpy((spokes * np.sqrt(density)).astype(np.complex64)), torch.from_numpy(truth)


# %%
# The network: x <- x - s A^H (A x - y) + N(x), with weights of its own in each step.


class Unrolled(torch.nn.Module):
    def __init__(self, steps=4, features=12):
        super().__init__()
        self.size = torch.nn.Parameter(torch.ones(steps))
        self.nets = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Conv2d(2, features, 3, padding=1), torch.nn.ReLU(),
                                torch.nn.Conv2d(features, features, 3, padding=1), torch.nn.ReLU(),
                                torch.nn.Conv2d(features, 2, 3, padding=1)) for _ in range(steps))
        for net in self.nets:  # begin as plain gradient descent
            torch.nn.init.zeros_(net[-1].weight)
            torch.nn.init.zeros_(net[-1].bias)

    def forward(self, y):
        x = torch.zeros(SHAPE, dtype=torch.complex64)
        for size, net in zip(self.size, self.nets):
            x = x - size * scale * lt.apply(A.H, lt.apply(A, x) - y)
            image = torch.view_as_real(x).permute(2, 0, 1)[None]
            x = x + torch.view_as_complex(net(image)[0].permute(1, 2, 0).contiguous())
        return x


# %%
# Training, and an object that was not in it.


def main(epochs=12):
    torch.manual_seed(0)
    began = time.perf_counter()
    examples = [scan(angle) for angle in np.linspace(0, 170, 12)]
    unit = abs(examples[0][1]).max()
    examples = [(y / unit, truth / unit) for y, truth in examples]
    y, truth = (part / unit for part in scan(77.0))
    network = Unrolled()
    optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)

    def error():
        with torch.no_grad():
            return float((network(y) - truth).norm() / truth.norm())

    before, losses = error(), []
    for _ in range(epochs):
        total = 0.0
        for data, image in examples:
            optimiser.zero_grad()
            loss = (network(data) - image).abs().square().sum() / image.abs().square().sum()
            loss.backward()
            optimiser.step()
            total += float(loss.detach()) / len(examples)
        losses.append(total)
    print(f"loss {losses[0]:.4f} to {losses[-1]:.4f}; error of another object {before:.3f} to {error():.3f}; "
          f"{time.perf_counter() - began:.1f} s")
    return losses, before, error()


if __name__ == "__main__":
    main()
