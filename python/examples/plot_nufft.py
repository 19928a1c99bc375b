"""
The NUFFT alone
===============

From an image to points anywhere in k-space and back: functions, plans, and what ``tol`` means.
SPDX-License-Identifier: Apache-2.0
"""

# %%
# Points are in cycles per field of view, their columns with the image's axes. Type 2 goes from modes to points.

import matplotlib.pyplot as plt
import numpy as np

from larmor import nufft

rng = np.random.default_rng(3)
N = (24, 20)
points = rng.uniform(-0.5, 0.5, (500, 2)) * N
image = rng.normal(size=N) + 1j * rng.normal(size=N)
y = nufft.type2(points, image, tol=1e-9)

# %%
# It is the sum that stands in the documentation.

rows = np.exp(-2j * np.pi * np.outer(points[:, 0], np.arange(N[0]) - N[0] // 2) / N[0])
columns = np.exp(-2j * np.pi * np.outer(points[:, 1], np.arange(N[1]) - N[1] // 2) / N[1])
direct = np.einsum("ja,jb,ab->j", rows, columns, image)
print(f"relative error at tol=1e-9: {np.linalg.norm(y - direct) / np.linalg.norm(direct):.1e}")

# %%
# Type 1 is its adjoint: both scalar products are the same number.

values = rng.normal(size=500) + 1j * rng.normal(size=500)
back = nufft.type1(points, values, N, tol=1e-9)
print(np.vdot(values, y), np.vdot(back, image))

# %%
# A plan keeps what depends on the points, for transforms that are done often; ``units="radians"`` takes FINUFFT's
# points.

plan = nufft.Plan(2, N, units="radians", dtype="complex128", tol=1e-9, both_directions=True)
plan.set_points(2 * np.pi * points / N)
print(np.allclose(plan.execute(image), y), np.allclose(plan.adjoint(values), back))

# %%
# The error stays below what is asked for.

asked = np.logspace(-2, -12, 11)
errors = [np.linalg.norm(nufft.type2(points, image,
                                     tol=float(tol)) - direct) / np.linalg.norm(direct) for tol in asked]
figure, panel = plt.subplots(figsize=(5, 3.5))
panel.loglog(asked, errors, "o-", label="error")
panel.loglog(asked, asked, "k:", label="tol")
panel.set_xlabel("tol")
panel.legend()
figure.tight_layout()
figure.savefig("nufft.png")
