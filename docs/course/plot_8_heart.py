"""
8. A heart that beats and breathes
==================================

Three dimensions of space, the state of the heart and that of the breath: five dimensions out of one free-breathing
scan, sorted by what the samples themselves say.
SPDX-License-Identifier: Apache-2.0
"""

# %%
# Spokes in space by spiral phyllotaxis, for 18 s, while the object breathes 14 times a minute and a part of it beats 66
# times a minute. No ECG, no belt: the file has the time of each readout and nothing else.

import pathlib
import tempfile

import matplotlib.pyplot as plt
import numpy as np

import larmor

SHAPE, READOUTS, TR_MS, HEARTS, BREATHS = (24, 24, 24), 1500, 12, 4, 3
simulation = larmor.Simulation(SHAPE, "phyllotaxis", traj={"readouts": READOUTS, "samples": 48}, coils=4, snr=60,
                               tr_ms=TR_MS, breath={"rate": 14, "size": 20}, heart={"rate": 66, "size": 0.5})
folder = pathlib.Path(tempfile.mkdtemp())
simulation.write(folder / "free.h5")

# %%
# All readouts in one image are a mean of all states. The sample of each readout that is nearest to the centre of
# k-space is the sum of the object as each coil sees it, and changes with breath and heart: self-gating. `frames` sorts
# the readouts by it into 4 x 3 bins of some 125 spokes, where Nyquist asks for 900. So all bins are solved together,
# with total variation along the heart's cycle and along the breath. On the command line this is
# `larmor recon free.h5 -o states.h5 --bins heart:4,breath:3 --method tv:h+tv:b`.

options = {"maps": simulation.maps(), "device": "cpu"}
mean = larmor.recon(folder / "free.h5", method="cg", lam=1e-3, **options).images[0]
done = larmor.recon(folder / "free.h5", frames={"heart": HEARTS, "breath": BREATHS}, method="tv:h+tv:b", lam=2e-4,
                    iterations=30, **options)

# %%
# The five dimensions: breath, heart, z, y, x. The simulation knows the object in each of these states.

five = np.stack(done.images).reshape(BREATHS, HEARTS, *SHAPE)
true = abs(simulation.states(heart=HEARTS, breath=BREATHS)[0]).reshape(five.shape)
print("breath, heart, z, y, x:", five.shape)


def error(image, truth):
    return larmor.compare(image, truth, magnitude=True, inside=3)["nrmse"]


errors = np.array([[[error(mean, true[b, h]), error(five[b, h], true[b, h])] for h in range(HEARTS)]
                   for b in range(BREATHS)])
for b, name in enumerate(("out", "between", "in")):
    of_mean, of_bins = errors[b].mean(0)
    print(f"breathed {name}: error of one image of all readouts {of_mean:.3f}, of the bins {of_bins:.3f}")

# %%
# The middle slice: a row for each state of the breath, a column for each of the heart.

figure, panels = plt.subplots(BREATHS, HEARTS + 1, figsize=(9, 6))
for b in range(BREATHS):
    for panel, image in zip(panels[b], (mean, *five[b])):
        panel.imshow(abs(image[12]), cmap="gray", vmin=0, vmax=0.8)
        panel.axis("off")
panels[0, 0].set_title("all readouts")
panels[0, 1].set_title("heart 1 to 4", loc="left")
figure.tight_layout()

# %%
# Questions. Why is breathing in, which is short and moves most, the worst of the three states? What would an ECG add?
