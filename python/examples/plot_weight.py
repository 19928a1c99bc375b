"""
How strong a penalty
====================

Total variation removes what undersampled spokes leave, and with too much of it detail. The weight is chosen from the
data; here beside the error of other weights, which only a phantom can tell.
SPDX-License-Identifier: Apache-2.0
"""

# %%
# 20 spokes of four coils with noise, and the true image.

import matplotlib.pyplot as plt
import numpy as np

import larmor

SHAPE = (48, 48)
traj = larmor.traj("golden", SHAPE, readouts=20)
scan = larmor.ScanArrays(larmor.phantom_kspace(traj, coils=4, noise=2e-4), traj, SHAPE)
truth = abs(larmor.phantom(SHAPE))


def error(image):
    """Relative, for the best factor."""
    image = abs(image)
    factor = np.vdot(image, truth) / np.vdot(image, image)
    return np.linalg.norm(factor * image - truth) / np.linalg.norm(truth)


# %%
# With ``lam=None``, the default, some samples are held out, and the weight that predicts them best is taken.

chosen = larmor.recon(scan, method="tv", device="cpu")
weight = chosen.reports[0]["lambda"]
print(f"weight {weight:.2g}, by {chosen.reports[0]['lambda_from']}; error {error(chosen.images[0]):.3f}")

# %%
# The same with weights that are given.

weights = np.geomspace(1e-4, 0.1, 7)
errors = [error(larmor.recon(scan, method="tv", lam=float(w), device="cpu").images[0]) for w in weights]

figure, panel = plt.subplots(figsize=(6, 3.5))
panel.semilogx(weights, errors, "o-", label="given")
panel.semilogx([weight], [error(chosen.images[0])], "s", markersize=10, label="chosen from the data")
panel.set_xlabel("weight, relative")
panel.set_ylabel("error")
panel.legend()
figure.tight_layout()
figure.savefig("weight.png")
