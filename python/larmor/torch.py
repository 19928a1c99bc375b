"""NUFFTs and operators in PyTorch, with gradients with respect to image, k-space, coil maps and trajectory.

Tensors of the processor and of NVIDIA's GPUs are read and written where they are, on PyTorch's current stream. With
y = A x of type 2, g the gradient of y and r_d the index of a mode along axis d, from its centre,

    gradient of x   A^H g            gradient of k_jd   Re sum over the batch of conj(g_j) (A (-2 pi i r_d / N_d x))_j

so that the trajectory takes one batched type 2 of all axes. Where it has a gradient, `nufft` computes that with the
values, by one plan, and keeps it until the backward pass: as many numbers as the values have, for each axis. Gradients
can be differentiated again. Operators and plans that are called with a tensor that requires a gradient come here by
themselves; solvers and proximal maps, which have no gradient, refuse it. Each call sorts the points anew, and its
backward uses that again; for a trajectory that stays, `apply` with larmor.linop.nufft sorts them once.
Source: Wang, Fessler, IEEE Trans. Comput. Imaging 9, 1020 (2023).
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from larmor import _arrays
from larmor import nufft as _nufft
from larmor._library import ArgumentError
from larmor.linop import Operator

__all__ = ["Linear", "Nufft", "NufftAdjoint", "apply", "nufft", "nufft_adjoint", "sense"]

Tensor = Any  # torch.Tensor


def _plan(points: Tensor, modes: tuple[int, ...], batch: int, dtype: Any, tol: float) -> _nufft.Plan:
    """A plan of type 2 for these points."""
    kind = np.dtype(str(dtype).removeprefix("torch."))
    device = "cpu" if points.device.type == "cpu" else str(points.device)
    plan = _nufft.Plan(2, modes, batch=batch, dtype=kind, tol=tol, device=device, both_directions=True)
    return plan.set_points(points.detach())


def _batch(x: Tensor, dims: int) -> int:
    return math.prod(x.shape[:x.ndim - dims])


def _slopes(x: Tensor, modes: tuple[int, ...]) -> Tensor:
    """-2 pi i r_d / N_d x for each axis d, which come first."""
    terms = []
    for d, n in enumerate(modes):
        ramp = (torch.arange(n, device=x.device, dtype=x.real.dtype) - n // 2) * (-2 * math.pi / n)
        shape = [1] * len(modes)
        shape[d] = n
        terms.append(x * torch.complex(torch.zeros_like(ramp), ramp).reshape(shape))
    return torch.stack(terms)


def _points_gradient(points: Tensor, x: Tensor, y: Tensor, modes: tuple[int, ...], tol: float) -> Tensor:
    """Re of conj(y) times the derivatives of type 2 of x along each axis, summed over the batch."""
    return _of_slopes(nufft(_slopes(x, modes), points, tol=tol), y, points)


def _of_slopes(slopes: Tensor, y: Tensor, points: Tensor) -> Tensor:
    """Re of conj(y) times the derivatives [axes, batch..., points...], summed over the batch."""
    terms = slopes.real * y.real + slopes.imag * y.imag
    terms = terms.reshape(len(slopes), -1, *points.shape[:-1]).sum(1)
    return terms.movedim(0, -1).to(points.dtype)


class _Nufft(torch.autograd.Function):
    """Type 2 of points with these modes, or its adjoint."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, points: Tensor, modes: tuple[int, ...], tol: float, adjoint: bool,
                plan: _nufft.Plan | None) -> Tensor:
        ctx.modes, ctx.tol, ctx.adjoint, ctx.plan = modes, tol, adjoint, plan
        batch = _batch(x, points.ndim - 1 if adjoint else len(modes))
        if ctx.needs_input_grad[1] and not adjoint:
            both = torch.cat([x[None], _slopes(x, modes)])
            values = _plan(points, modes, len(both) * batch, x.dtype, tol).execute(both)
            ctx.save_for_backward(x, points, values[1:])
            return values[0].clone()
        ctx.save_for_backward(x, points)
        ctx.plan = plan = plan or _plan(points, modes, batch, x.dtype, tol)
        return plan.adjoint(x) if adjoint else plan.execute(x)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        x, points, *slopes = ctx.saved_tensors
        gx = gk = None
        if ctx.needs_input_grad[0]:
            gx = _Nufft.apply(g, points, ctx.modes, ctx.tol, not ctx.adjoint, ctx.plan)
        if ctx.needs_input_grad[1]:
            image, values = (g, x) if ctx.adjoint else (x, g)
            if slopes and not torch.is_grad_enabled():
                gk = _of_slopes(slopes[0], values, points)
            else:  # to be differentiated again
                gk = _points_gradient(points, image, values, ctx.modes, ctx.tol)
        return gx, gk, None, None, None, None


def nufft(x: Tensor, points: Tensor, *, tol: float = 1e-5) -> Tensor:
    """Type 2: images [batch..., modes...] to values [batch..., points...] at points [points..., ndim] in cycles per
    field of view, column d for axis d. Complex64 or complex128."""
    return _Nufft.apply(x, points, tuple(x.shape[x.ndim - points.shape[-1]:]), tol, False, None)


def nufft_adjoint(y: Tensor, points: Tensor, modes: Sequence[int], *, tol: float = 1e-5) -> Tensor:
    """The conjugate transpose of `nufft`, type 1: values [batch..., points...] to [batch..., modes...]."""
    return _Nufft.apply(y, points, tuple(modes), tol, True, None)


def sense(x: Tensor, maps: Tensor, points: Tensor, *, tol: float = 1e-5) -> Tensor:
    """Images [batch..., modes...] to the k-space [batch..., coils, points...] of coils with maps [coils, modes...]."""
    ndim = points.shape[-1]
    return nufft(maps * x.unsqueeze(-ndim - 1), points, tol=tol)


_BACK = {"forward": "adjoint", "adjoint": "forward", "normal": "normal"}


class _Apply(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, A: Operator, way: str) -> Tensor:
        ctx.A, ctx.way = A, way
        return getattr(A, way)(x)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return _Apply.apply(g, ctx.A, _BACK[ctx.way]), None, None


def _taken_to(x: Tensor, dtype: Any, name: str) -> Tensor:
    """x as numbers of this type, which autograd follows."""
    _arrays.as_input(x.detach()[..., :0], dtype, name=name)  # refuses what cannot be taken to it
    return x.to(getattr(torch, np.dtype(dtype).name))


def apply(A: Operator, x: Tensor, way: str = "forward") -> Tensor:
    """A x for any operator of larmor.linop, on the tensor's device; its gradient is that of A^H.

    way: "adjoint" for A^H x, "normal" for A^H A x.
    """
    if way not in _BACK:
        raise ArgumentError(f"way: got {way!r}, expected one of {', '.join(_BACK)}")
    return _Apply.apply(_taken_to(x, A.dtype, A.name), A, way)


class _Execute(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, plan: _nufft.Plan, adjoint: bool, points_set: int) -> Tensor:
        ctx.plan, ctx.adjoint, ctx.points_set = plan, adjoint, points_set
        return plan.adjoint(x) if adjoint else plan.execute(x)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        if ctx.plan.points_set != ctx.points_set:
            raise ArgumentError("a plan's points were set again before the backward pass of what it had computed; make "
                                "a plan for each set of points")
        return _Execute.apply(g, ctx.plan, not ctx.adjoint, ctx.points_set), None, None, None


def execute(plan: _nufft.Plan, x: Tensor, adjoint: bool = False) -> Tensor:
    """plan.execute(x), or plan.adjoint(x), with the gradient with respect to x."""
    return _Execute.apply(_taken_to(x, plan.dtype, "plan"), plan, adjoint, plan.points_set)


def by_points(points: Tensor, x: Any, modes: int | Sequence[int] | None, *, out: Any = None, device: Any = None,
              tol: float = 1e-5, sign: int | None = None, units: str = "cycles", **more: Any) -> Tensor:
    """larmor.nufft.type2 of x at points, or with modes type1, with the gradient with respect to the points, too."""
    given = [name for name, value in {"out": out, "device": device, **more}.items() if value is not None]
    if given:
        raise ArgumentError(f"{given[0]}: given for points that require a gradient, which go with tol, sign and units "
                            "alone; leave it out, or hand in points.detach()")
    if units not in ("cycles", "radians"):
        raise ArgumentError(f"units: got {units!r}, expected cycles or radians")
    ndim = points.shape[-1]
    x, _ = _nufft._values(torch.as_tensor(x, device=points.device))
    wanted = x.shape[x.ndim - ndim:] if modes is None else np.atleast_1d(np.asarray(modes))
    shape = tuple(int(n) for n in wanted)
    if units == "radians":
        points = points * torch.tensor([n / (2 * math.pi) for n in shape], dtype=points.dtype, device=points.device)
    usual = -1 if modes is None else 1
    points = -points if sign == -usual else points  # the exponent has k in it once
    return nufft(x, points, tol=tol) if modes is None else nufft_adjoint(x, points, shape, tol=tol)


class Nufft(torch.nn.Module):
    """`nufft` as a layer; with learn=True the trajectory is a parameter."""

    def __init__(self, points: Tensor, *, tol: float = 1e-5, learn: bool = False) -> None:
        super().__init__()
        self.tol = tol
        if learn:
            self.points = torch.nn.Parameter(points.clone())
        else:
            self.register_buffer("points", points)

    def forward(self, x: Tensor) -> Tensor:
        """[batch..., modes...] to [batch..., points...]."""
        return nufft(x, self.points, tol=self.tol)


class NufftAdjoint(Nufft):
    """`nufft_adjoint` as a layer."""

    def __init__(self, points: Tensor, modes: Sequence[int], *, tol: float = 1e-5, learn: bool = False) -> None:
        super().__init__(points, tol=tol, learn=learn)
        self.modes = tuple(modes)

    def forward(self, x: Tensor) -> Tensor:
        """[batch..., points...] to [batch..., modes...]."""
        return nufft_adjoint(x, self.points, self.modes, tol=self.tol)


class Linear(torch.nn.Module):
    """An operator of larmor.linop as a layer."""

    def __init__(self, A: Operator) -> None:
        super().__init__()
        self.A = A

    def forward(self, x: Tensor) -> Tensor:
        """A x."""
        return apply(self.A, x)
