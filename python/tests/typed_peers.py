"""Typical use of larmor.torch and larmor.jax as mypy and pyright see it, by scripts/lint_python.sh; nothing of it is
run. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import jax
import numpy as np
import torch
from typing_extensions import assert_type

import larmor.jax as lj
import larmor.torch as lt
from larmor.typing import Complexes


def of_jax(x: jax.Array, points: jax.Array, image: Complexes) -> None:
    assert_type(lj.nufft(x, points), jax.Array)
    assert_type(lj.nufft_adjoint(image, np.zeros((5, 2)), (3, 3)), jax.Array)
    assert_type(lj.type2(points, x, units="radians", tol=1e-6), jax.Array)
    assert_type(lj.sense(x, image, points, field=x, times=points, band=(0, 1)), jax.Array)
    assert_type(lj.nufft2(image, points, points, eps=1e-5), jax.Array)
    lj.nufft("image.npy", points)  # type: ignore[arg-type]
    lj.nufft(x, None)  # type: ignore[arg-type]
    lj.nufft(x, points, tol="1e-6")  # type: ignore[arg-type]
    lj.type2(points, x, units="degrees")  # type: ignore[arg-type]
    lj.type2(points, x, upsampling=2)  # type: ignore[call-arg]


def of_torch(x: torch.Tensor, points: torch.Tensor, image: Complexes) -> None:
    A = lt.SENSE(x, points, learn=("points",))
    assert_type(lt.nufft(x, points), torch.Tensor)
    assert_type(A.adjoint(x), torch.Tensor)
    assert_type(A.maps, torch.Tensor)
    assert_type(lt.DataConsistency(A, 0.1).nearest(x, x), torch.Tensor)
    lt.nufft(image, points)  # type: ignore[arg-type]
    lt.SENSE(x, points, learn=3)  # type: ignore[arg-type]
    lt.DataConsistency("A")  # type: ignore[arg-type]
