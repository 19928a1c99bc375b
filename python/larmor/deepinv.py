"""MRI for deepinv: the SENSE of larmor.torch as one of its linear physics.

deepinv has complex numbers as two channels: images are [batch, 2, (depth,) height, width], samples
[batch, 2, coils, points...]. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from deepinv.physics import LinearPhysics
from torch import Tensor

from larmor._library import ArgumentError, ShapeError
from larmor.torch import SENSE, DataConsistency

__all__ = ["MRI"]


def _complex(x: Tensor, axes: int, what: str) -> Tensor:
    """Two channels as complex numbers."""
    if x.is_complex() or x.ndim < 2 + axes or x.shape[1] != 2:
        raise ShapeError(f"{what}: got {x.dtype} of shape {tuple(x.shape)}, expected real numbers [batch, 2, ...] "
                         f"with {axes} axes behind the channels")
    return torch.view_as_complex(x.movedim(1, -1).contiguous())


def _channels(x: Tensor) -> Tensor:
    return torch.view_as_real(x).movedim(-1, 1)


class MRI(LinearPhysics):
    """SENSE at any points, with weights and off-resonance, for deepinv's reconstructors, priors and training.

    maps    [coils, modes...], complex; its precision is that of x.
    points  [points..., ndim], in cycles per field of view, column d for axis d.
    weights, field, times, tol, error, learn: as of `larmor.torch.SENSE`.
    more    deepinv's own: noise_model, sensor_model, max_iter, solver, implicit_backward_solver.

    `A`, `A_adjoint` and `A_adjoint_A` are larmor's; `prox_l2` by conjugate gradients is
    `larmor.torch.DataConsistency`, other solvers and `A_dagger` are deepinv's.
    """

    def __init__(self, maps: Tensor, points: Tensor, *, weights: Tensor | None = None, field: Tensor | None = None,
                 times: Tensor | None = None, tol: float = 1e-5, error: float = 1e-3, learn: Sequence[str] = (),
                 **more: Any) -> None:
        if maps.ndim != points.shape[-1] + 1:
            raise ShapeError(f"maps: got {maps.ndim} axes, expected the coils' and {points.shape[-1]} of the points")
        super().__init__(img_size=(2, *maps.shape[1:]), device=more.pop("device", maps.device), **more)
        self.sense: SENSE = SENSE(maps, points, weights=weights, field=field, times=times, tol=tol, error=error,
                                  learn=learn)
        self.sense.to(self.device)

    def _image(self, x: Tensor) -> Tensor:
        return _complex(x, self.sense.maps.ndim - 1, "x")

    def _samples(self, y: Tensor) -> Tensor:
        return _complex(y, self.sense.points.ndim, "y")

    def A(self, x: Tensor, **_: Any) -> Tensor:
        """[batch, 2, modes...] to [batch, 2, coils, points...]."""
        return _channels(self.sense(self._image(x)))

    def A_adjoint(self, y: Tensor, **_: Any) -> Tensor:
        """[batch, 2, coils, points...] to [batch, 2, modes...]."""
        return _channels(self.sense.adjoint(self._samples(y)))

    def A_adjoint_A(self, x: Tensor, **_: Any) -> Tensor:
        """A^T A x."""
        return _channels(self.sense.normal(self._image(x)))

    def prox_l2(self, z: Tensor | float | None, y: Tensor, gamma: Any, solver: str = "CG",
                max_iter: int | None = None, tol: float | None = None, verbose: bool = False, **more: Any) -> Tensor:
        """argmin over x of gamma / 2 |A x - y|^2 + 1/2 |x - z|^2, for a gamma that all images share."""
        shared = not isinstance(gamma, torch.Tensor) or gamma.numel() == 1
        if solver != "CG" or not shared:
            return super().prox_l2(z, y, gamma, solver=solver, max_iter=max_iter, tol=tol, verbose=verbose, **more)
        lam = 1 / torch.as_tensor(gamma, dtype=y.dtype, device=y.device).reshape(())
        if not (lam.detach() > 0 and torch.isfinite(lam.detach())):
            raise ArgumentError(f"gamma: got {gamma}, expected a number above 0")
        layer = DataConsistency(self.sense, 1.0, iterations=max_iter or self.max_iter, tol=tol or self.tol)
        prior = self._image(z) if isinstance(z, torch.Tensor) else None
        right = self.sense.adjoint(self._samples(y))
        return _channels(layer.nearest(right + lam * (prior if prior is not None else (z or 0.0)), lam))
