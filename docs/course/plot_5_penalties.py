"""
5. Penalties and their weight
=============================

What is known of an image beside its samples: total variation, and how much to believe it.
SPDX-License-Identifier: Apache-2.0
"""

# %%
# Least squares fits the noise. A penalty asks for an image that is also simple: ``min 1/2 |A x - y|^2 + w R(x)``, where
# total variation R is the sum of the differences of neighbours, small for images of few edges. `larmor.recon` does
# all of it, coil maps included.

import matplotlib.pyplot as plt

import larmor

SHAPE = (64, 64)
traj = larmor.traj("golden", SHAPE, readouts=25)
maps = larmor.phantom_coils(SHAPE, 4)
scan = larmor.ScanArrays(larmor.phantom_kspace(traj, coils=4, noise=1.5e-4, seed=1), traj, SHAPE)
truth = larmor.phantom(SHAPE, band_limited=True)


def error(image):
    return larmor.compare(image, truth, inside=2)["nrmse"]


# %%
# The weight decides: too small leaves noise, too large erases.

WEIGHTS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
sweep = {lam: larmor.recon(scan, method="tv", lam=lam, maps=maps, device="cpu").images[0] for lam in WEIGHTS}
errors = {lam: error(image) for lam, image in sweep.items()}

# %%
# With an object that nobody knows there is no error to look at. But samples that are held out can be predicted: the
# weight whose image predicts a tenth of the samples best is taken.

chosen = larmor.recon(scan, method="tv", maps=maps, device="cpu")
lam = chosen.reports[0]["lambda"]
least = larmor.recon(scan, method="cg", maps=maps, device="cpu")
automatic, linear = error(chosen.images[0]), error(least.images[0])
print(f"weight from the data: {lam:.1e}, error {automatic:.3f}; the best of the sweep {min(errors.values()):.3f}; "
      f"least squares {linear:.3f}")

figure, panels = plt.subplots(1, 5, figsize=(13, 2.8), width_ratios=(1.4, 1, 1, 1, 1))
panels[0].loglog(errors.keys(), errors.values(), "o-")
panels[0].axvline(lam, color="red", linewidth=1)
panels[0].set_xlabel("weight")
panels[0].set_ylabel("error")
for panel, image, name in zip(panels[1:], (least.images[0], sweep[1e-5], chosen.images[0], sweep[1e-1]),
                              ("least squares", "too small", "from the data", "too large")):
    panel.imshow(abs(image), cmap="gray", vmin=0, vmax=1)
    panel.set_title(name)
    panel.axis("off")
figure.tight_layout()

# %%
# Questions. Which images would total variation harm? Try `method="wavelet"`, and the phantom "texture".
