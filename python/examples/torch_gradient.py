"""
Gradients in PyTorch
====================

Transforms of ``larmor.torch`` have gradients, with respect to the trajectory, too. Here a scan's spokes are shifted
by an unknown amount along each axis, and the shift is found by descent.
SPDX-License-Identifier: Apache-2.0
"""

# %%
# Data of a shifted trajectory.

import torch

import larmor
import larmor.torch as lt

SHAPE = (32, 32)
traj = torch.from_numpy(larmor.traj("golden", SHAPE, readouts=24)).double()
image = torch.from_numpy(larmor.phantom(SHAPE)).to(torch.complex128)
true = torch.tensor([0.23, -0.31], dtype=torch.float64)
data = lt.nufft(image, traj + true)

# %%
# The gradient of the misfit with respect to the shift comes through that of the points.

shift = torch.zeros(2, dtype=torch.float64, requires_grad=True)
optimiser = torch.optim.LBFGS([shift], max_iter=30, line_search_fn="strong_wolfe")


def misfit():
    optimiser.zero_grad()
    loss = (lt.nufft(image, traj + shift) - data).abs().square().sum() / data.abs().square().sum()
    loss.backward()
    return loss


optimiser.step(misfit)
print(f"found {shift.detach().numpy()}, true {true.numpy()}")
assert torch.allclose(shift.detach(), true, atol=1e-3)
