"""NUFFTs and operators in PyTorch, with gradients with respect to image, k-space, coil maps and trajectory.

Tensors of the processor and of NVIDIA's GPUs are read and written where they are, on PyTorch's current stream. With
y = A x of type 2, g the gradient of y and r_d the index of a mode along axis d, from its centre,

    gradient of x   A^H g            gradient of k_jd   Re sum over the batch of conj(g_j) (A (-2 pi i r_d / N_d x))_j

so that the trajectory takes one batched type 2 of all axes. Where it has a gradient, `nufft` computes that with the
values, by one plan, and keeps it until the backward pass: as many numbers as the values have, for each axis.
Gradients can be differentiated again. Operators and plans that are called with a tensor that requires a gradient come
here by themselves; solvers and proximal maps, which have no gradient, refuse it. Each call sorts the points anew, and
its backward uses that again; for a trajectory that stays, `apply` with larmor.linop.nufft sorts them once.
Source: Wang, Fessler, IEEE Trans. Comput. Imaging 9, 1020 (2023).
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import forward_ad

from larmor import _arrays
from larmor import linop as _linop
from larmor import nufft as _nufft
from larmor._library import ArgumentError, ShapeError
from larmor.linop import Operator

__all__ = ["NUFFT", "SENSE", "DataConsistency", "Linear", "Nufft", "NufftAdjoint", "apply", "nufft", "nufft_adjoint",
           "nufft_field", "sense", "sense_adjoint"]


def _plan(points: Tensor, modes: tuple[int, ...], batch: int, dtype: Any, tol: float) -> _nufft.Plan:
    """A plan of type 2 for these points."""
    kind = np.dtype(str(dtype).removeprefix("torch."))
    device = "cpu" if points.device.type == "cpu" else str(points.device)
    plan = _nufft.Plan(2, modes, batch=batch, dtype=kind, tol=tol, device=device, both_directions=True)
    return plan.set_points(points.detach())


def _batch(x: Tensor, dims: int) -> int:
    return math.prod(x.shape[:x.ndim - dims])


def _ramps(x: Tensor, modes: Sequence[int]) -> list[Tensor]:
    """-2 pi i r_d / N_d for each axis d, in x's precision."""
    terms = []
    for d, n in enumerate(modes):
        ramp = (torch.arange(n, device=x.device, dtype=x.real.dtype) - n // 2) * (-2 * math.pi / n)
        shape = [1] * len(modes)
        shape[d] = n
        terms.append(torch.complex(torch.zeros_like(ramp), ramp).reshape(shape))
    return terms


def _slopes(x: Tensor, modes: Sequence[int]) -> Tensor:
    """-2 pi i r_d / N_d x for each axis d, which come first."""
    return torch.stack([ramp * x for ramp in _ramps(x, modes)])


def _moved(transform: Callable[[Tensor], Tensor], x: Tensor, points: Tensor, modes: Sequence[int], adjoint: bool,
           step: Tensor) -> Tensor:
    """How transform(x), of type 2 or its adjoint at the points, changes with a step of the points."""
    steps = step.movedim(-1, 0).to(x.real.dtype)
    if not adjoint:
        slopes = transform(_slopes(x, modes))
        return sum(step * slope for step, slope in zip(steps, slopes))
    back = transform(torch.stack([step * x for step in steps]))
    return -sum(ramp * part for ramp, part in zip(_ramps(x, modes), back))


def _is_followed() -> bool:
    """Whether what is computed now may be differentiated, in reverse or forwards."""
    return bool(torch.is_grad_enabled() or forward_ad._current_level >= 0)


def _points_gradient(points: Tensor, x: Tensor, y: Tensor, modes: tuple[int, ...], tol: float) -> Tensor:
    """Re of conj(y) times the derivatives of type 2 of x along each axis, summed over the batch."""
    return _of_slopes(nufft(_slopes(x, modes), points, tol=tol), y, points)


def _of_slopes(slopes: Tensor, y: Tensor, points: Tensor) -> Tensor:
    """Re of conj(y) times the derivatives [axes, batch..., points...], summed over the batch."""
    terms = slopes.real * y.real + slopes.imag * y.imag
    return _over_batch(terms.movedim(0, -1), points.ndim).to(points.dtype)


def _over_batch(x: Tensor, dims: int) -> Tensor:
    """The sum over all axes but the last."""
    return x.sum(tuple(range(x.ndim - dims))) if x.ndim > dims else x


class _Kept:
    """What the forward pass of `nufft` leaves for its backward pass."""

    def __init__(self, with_slopes: bool = False, plan: _nufft.Plan | None = None) -> None:
        self.with_slopes, self.plan = with_slopes, plan
        self.slopes: Any = None


def _computed(x: Tensor, points: Tensor, modes: Sequence[int], tol: float, adjoint: bool, kept: _Kept) -> Tensor:
    """The transform of tensors that autograd does not follow."""
    modes, batch = tuple(modes), _batch(x, points.ndim - 1 if adjoint else len(modes))
    x = x.resolve_conj().contiguous()
    if batch == 0:
        return _nothing(x, points, modes, adjoint)
    if kept.with_slopes:
        both = torch.cat([x[None], _slopes(x, modes)])
        values = _plan(points, modes, len(both) * batch, x.dtype, tol).execute(both)
        kept.slopes = values[1:]
        return values[0].clone()
    kept.plan = kept.plan or _plan(points, modes, batch, x.dtype, tol)
    return kept.plan.adjoint(x) if adjoint else kept.plan.execute(x)


def _nothing(x: Tensor, points: Tensor, modes: Sequence[int], adjoint: bool) -> Tensor:
    """The transforms of a batch of none."""
    values = points.shape[:-1]
    before, after = (values, modes) if adjoint else (modes, values)
    return x.new_zeros((*x.shape[:x.ndim - len(before)], *after))


def _is_traced() -> bool:
    """Whether torch.fx records PyTorch's operators, as for torch.func.linearize, of which larmor's calls are none."""
    tracer = sys.modules.get("torch.fx.experimental.proxy_tensor")
    return tracer is not None and tracer.get_proxy_mode() is not None


def _refuse_tracing() -> None:
    if _is_traced():
        raise ArgumentError("torch.fx records this code, but of larmor only nufft, nufft_adjoint, sense and "
                            "sense_adjoint without a field; leave it out of what is recorded, or use torch.func.jvp")


def _keep(ctx: Any, *tensors: Tensor) -> None:
    """For the backward pass and for forward mode, whose gradients may be None."""
    ctx.save_for_backward(*tensors)
    ctx.save_for_forward(*tensors)
    ctx.set_materialize_grads(False)


class _Nufft(torch.autograd.Function):
    """Type 2 of points with these modes, or its adjoint."""

    @staticmethod
    def forward(x: Tensor, points: Tensor, modes: tuple[int, ...], tol: float, adjoint: bool, kept: _Kept) -> Tensor:
        if _is_traced():
            return _nufft_op(x, points, list(modes), tol, adjoint)
        return _computed(x, points, modes, tol, adjoint, kept)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        x, points, *ctx.arguments, ctx.kept = inputs
        _keep(ctx, x, points)

    @staticmethod
    def jvp(ctx: Any, dx: Tensor | None, dk: Tensor | None, *_: Any) -> Tensor:
        (x, points), (modes, tol, adjoint) = ctx.saved_tensors, ctx.arguments

        def transform(x: Tensor) -> Tensor:
            return _Nufft.apply(x, points, modes, tol, adjoint,
                                _Kept(plan=ctx.kept.plan if x.shape == like else None))

        like = x.shape
        found: list[Any] = []
        if dx is not None:
            found.append(transform(dx))
        if dk is not None:
            found.append(_moved(transform, x, points, modes, adjoint, dk))
        return sum(found)

    @staticmethod
    def backward(ctx: Any, g: Tensor | None) -> Any:
        if g is None:
            return (None,) * 6
        (x, points), (modes, tol, adjoint) = ctx.saved_tensors, ctx.arguments
        gx = gk = None
        if ctx.needs_input_grad[0]:
            kept = _Kept(_wants_slopes(points, not adjoint), ctx.kept.plan)
            gx = _Nufft.apply(g, points, modes, tol, not adjoint, kept)
        if ctx.needs_input_grad[1]:
            image, values = (g, x) if adjoint else (x, g)
            if ctx.kept.slopes is not None and not _is_followed():
                gk = _of_slopes(ctx.kept.slopes, values, points)
            else:  # to be differentiated again
                gk = _points_gradient(points, image, values, modes, tol)
        return gx, gk, None, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, points: Tensor, *more: Any) -> Any:
        modes, tol, adjoint, _ = more
        if in_dims[1] is None:
            return _Nufft.apply(x.movedim(in_dims[0], 0), points, modes, tol, adjoint, _Kept()), 0
        return _one_by_one(lambda x, k: _Nufft.apply(x, k, modes, tol, adjoint, _Kept()), info, in_dims, x, points)


def _one_by_one(function: Any, info: Any, in_dims: Any, *tensors: Tensor) -> tuple[Tensor, int]:
    """A rule of vmap: the function of each element of the mapped axes in turn."""
    if info.batch_size == 0:  # what it has is known from zeros, and autograd knows where they are from
        zeros = [t if dim is None else t.sum(dim) for t, dim in zip(tensors, in_dims)]
        return function(*zeros)[None][:0], 0
    parts = [[t if dim is None else t.select(dim, i) for t, dim in zip(tensors, in_dims)]
             for i in range(info.batch_size)]
    return torch.stack([function(*part) for part in parts]), 0


def _wants_slopes(points: Tensor, adjoint: bool) -> bool:
    return bool(points.requires_grad and torch.is_grad_enabled() and not adjoint)


# For torch.compile, which knows a result's shape by `fake`.


@torch.library.custom_op("larmor::nufft", mutates_args=(),
                         schema="(Tensor x, Tensor points, SymInt[] modes, float tol, bool adjoint) -> Tensor")
def _nufft_op(x: Tensor, points: Tensor, modes: Sequence[int], tol: float, adjoint: bool) -> Tensor:
    with forward_ad._set_fwd_grad_enabled(False):
        return _computed(x, points, modes, tol, adjoint, _Kept())


@_nufft_op.register_fake
def _(x: Tensor, points: Tensor, modes: Sequence[int], tol: float, adjoint: bool) -> Tensor:
    values = points.shape[:-1]
    return x.new_empty((*x.shape[:x.ndim - len(values)], *modes) if adjoint else
                       (*x.shape[:x.ndim - len(modes)], *values))


def _keep_inputs(ctx: Any, inputs: Any, output: Tensor) -> None:
    x, points, *ctx.arguments = inputs
    ctx.save_for_backward(x, points)


def _op_backward(ctx: Any, g: Tensor) -> Any:
    (x, points), (modes, tol, adjoint) = ctx.saved_tensors, ctx.arguments
    gx = gk = None
    if ctx.needs_input_grad[0]:
        gx = _nufft_op(g, points, modes, tol, not adjoint)
    if ctx.needs_input_grad[1]:
        image, values = (g, x) if adjoint else (x, g)
        gk = _of_slopes(_nufft_op(_slopes(image, modes), points, modes, tol, False), values, points)
    return gx, gk, None, None, None


_nufft_op.register_autograd(_op_backward, setup_context=_keep_inputs)


@_nufft_op.register_vmap
def _(info: Any, in_dims: Any, x: Tensor, points: Tensor, modes: Sequence[int], tol: float, adjoint: bool) -> Any:
    if in_dims[1] is None:
        return _nufft_op(x.movedim(in_dims[0], 0), points, modes, tol, adjoint), 0
    return _one_by_one(lambda x, k: _nufft_op(x, k, modes, tol, adjoint), info, in_dims, x, points)


def _transform(x: Tensor, points: Tensor, modes: Sequence[int], tol: float, adjoint: bool,
               shared: dict[Any, Any] | None = None) -> Tensor:
    """shared: plans of transforms of the same points, which stay as they are meanwhile."""
    x = _complex(x)
    if torch.compiler.is_compiling():
        return _nufft_op(x, points, list(modes), tol, adjoint)
    kept = _Kept(_wants_slopes(points, adjoint))
    if shared is None:
        return _Nufft.apply(x, points, tuple(modes), tol, adjoint, kept)
    key = _batch(x, points.ndim - 1 if adjoint else len(modes)), x.dtype
    kept.plan = shared.get(key)
    y = _Nufft.apply(x, points, tuple(modes), tol, adjoint, kept)
    shared[key] = kept.plan
    return y


def _expect_tensors(**given: Tensor | None) -> None:
    """Dense tensors of one device."""
    place = None
    for name, x in given.items():
        if x is None:
            continue
        if not isinstance(x, Tensor):
            raise ArgumentError(f"{name}: got {type(x).__name__}, expected a tensor; torch.as_tensor makes one")
        if x.layout != torch.strided:
            raise ArgumentError(f"{name}: got a tensor of {x.layout}, expected a dense one; to_dense() makes it")
        place = place or x.device
        if x.device != place:
            raise ArgumentError(f"{name}: on {x.device}, and {next(iter(given))} on {place}; expected on one device")


def _expect_real(name: str, x: Tensor | None) -> None:
    if x is not None and (x.is_complex() or x.dtype in (torch.float16, torch.bfloat16)):
        raise ArgumentError(f"{name}: got {x.dtype}, expected real numbers of float32 or float64")


def _expect_last(name: str, x: Tensor, last: Sequence[int], than: str) -> None:
    """Axes behind those of a batch."""
    if x.ndim < len(last) or tuple(x.shape[x.ndim - len(last):]) != tuple(last):
        raise ShapeError(f"{name}: got shape {tuple(x.shape)}, expected {than} {tuple(last)} behind a batch")


def _expect_points(points: Tensor) -> None:
    _expect_real("points", points)
    if points.ndim < 1 or not 1 <= points.shape[-1] <= 3:
        raise ShapeError(f"points: got shape {tuple(points.shape)}, expected [..., ndim], 1 to 3 columns")


def _modes_of(x: Tensor, points: Tensor) -> Sequence[int]:
    ndim = points.shape[-1]
    if x.ndim < ndim:
        raise ShapeError(f"x: got shape {tuple(x.shape)}, expected {ndim} axes or more, as points have columns")
    return x.shape[x.ndim - ndim:]


def _complex(x: Tensor) -> Tensor:
    """Complex numbers of single or double precision."""
    if x.dtype in (torch.complex64, torch.complex128):
        return x
    if x.dtype in (torch.float32, torch.float64):
        return x.to(torch.complex64 if x.dtype == torch.float32 else torch.complex128)
    raise ArgumentError(f"a tensor of {x.dtype}: larmor computes in complex64 and complex128; hand in "
                        "x.to(torch.complex64)")


def nufft(x: Tensor, points: Tensor, *, tol: float = 1e-5) -> Tensor:
    """Type 2: images [batch..., modes...] to values [batch..., points...] at points [points..., ndim] in cycles per
    field of view, column d for axis d. Complex64 or complex128; for torch.compile and torch.func, too."""
    _expect_tensors(x=x, points=points)
    _expect_points(points)
    return _transform(x, points, _modes_of(x, points), tol, False)


def nufft_adjoint(y: Tensor, points: Tensor, modes: Sequence[int], *, tol: float = 1e-5) -> Tensor:
    """The conjugate transpose of `nufft`, type 1: values [batch..., points...] to [batch..., modes...]."""
    _expect_tensors(y=y, points=points)
    _expect_points(points)
    _expect_last("y", y, points.shape[:-1], "points")
    if len(modes) != points.shape[-1]:
        raise ShapeError(f"modes: got {len(modes)} sizes for points of {points.shape[-1]} columns")
    return _transform(y, points, modes, tol, True)


# ---- off-resonance ----


class _Field(torch.autograd.Function):
    """`nufft` with the phase exp(2 pi i field times), or its adjoint, by time segmentation."""

    @staticmethod
    def forward(x: Tensor, field: Tensor, points: Tensor, times: Tensor, tol: float, error: float, adjoint: bool,
                shared: dict[Any, Any]) -> Tensor:
        _refuse_tracing()
        x, values = x.resolve_conj().contiguous(), points.ndim - 1
        lead = x.shape[:x.ndim - (values if adjoint else field.ndim)]
        if math.prod(lead) == 0:
            return _nothing(x, points, field.shape, adjoint)
        inner = x.reshape(math.prod(lead), *x.shape[len(lead):])
        A = shared.get((len(inner), x.dtype))
        if A is None:
            kind = np.dtype(str(x.dtype).removeprefix("torch."))
            transform = _linop.nufft(points, field.shape, batch=len(inner), dtype=kind, tol=tol)
            A = shared[len(inner), x.dtype] = _linop.off_resonance(transform, field, times, error=error)
        found = A.adjoint(inner) if adjoint else A.forward(inner)
        return found.reshape(*lead, *found.shape[1:])

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        x, field, points, times, *ctx.arguments = inputs  # the operators are shared with the backward pass
        _keep(ctx, x, field, points, times)

    @staticmethod
    def jvp(ctx: Any, dx: Tensor | None, df: Tensor | None, dk: Tensor | None, dt: Tensor | None, *_: Any) -> Tensor:
        (x, field, points, times), adjoint = ctx.saved_tensors, ctx.arguments[2]
        turn = 2j * math.pi * (-1 if adjoint else 1)

        def transform(x: Tensor) -> Tensor:
            return _Field.apply(x, field, points, times, *ctx.arguments)

        def scaled(before: Tensor, after: Tensor) -> Tensor:
            return turn * after.to(x.real.dtype) * transform(before.to(x.real.dtype) * x)

        found: list[Any] = [] if dx is None else [transform(dx)]
        if df is not None:
            found.append(scaled(times, df) if adjoint else scaled(df, times))
        if dt is not None:
            found.append(scaled(dt, field) if adjoint else scaled(field, dt))
        if dk is not None:
            found.append(_moved(transform, x, points, field.shape, adjoint, dk))
        return sum(found)

    @staticmethod
    def backward(ctx: Any, g: Tensor | None) -> Any:
        if g is None:
            return (None,) * 8
        (x, field, points, times), (tol, error, adjoint, shared) = ctx.saved_tensors, ctx.arguments
        image, values = (g, x) if adjoint else (x, g)
        gx = gf = None
        if ctx.needs_input_grad[0]:
            gx = _Field.apply(g, field, points, times, tol, error, not adjoint, shared)
        if ctx.needs_input_grad[1]:  # of exp(2 pi i f t) the derivative is 2 pi i t times it
            back = _Field.apply(times.to(values.real.dtype) * values, field, points, times, tol, error, True,
                                shared)
            slope = (2 * math.pi) * (image.conj() * back).imag
            gf = _over_batch(slope, field.ndim).to(field.dtype)
        gk, gt = _Field._of_samples(ctx, image, values)
        return gx, gf, gk, gt, None, None, None, None

    @staticmethod
    def _of_samples(ctx: Any, image: Tensor, values: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """The gradients of points and times, by one transform."""
        (_, field, points, times), (tol, error, _, shared) = ctx.saved_tensors, ctx.arguments
        of_points, of_times = ctx.needs_input_grad[2:4]
        terms = list(_slopes(image, field.shape)) if of_points else []
        if of_times:
            terms.append(2j * math.pi * field.to(image.real.dtype) * image)
        if not terms:
            return None, None
        slopes = _Field.apply(torch.stack(terms), field, points, times, tol, error, False, shared)
        found = _of_slopes(slopes, values, points)
        return (found[..., :points.shape[-1]] if of_points else None,
                found[..., -1].to(times.dtype) if of_times else None)

    @staticmethod
    def vmap(info: Any, in_dims: Any, *inputs: Any) -> Any:
        return _one_by_one(lambda *tensors: _Field.apply(*tensors, *inputs[4:7], {}), info, in_dims, *inputs[:4])


def nufft_field(x: Tensor, points: Tensor, field: Tensor, times: Tensor, *, adjoint: bool = False, tol: float = 1e-5,
                error: float = 1e-3) -> Tensor:
    """As `nufft`, or with adjoint as `nufft_adjoint`, with the phase exp(2 pi i f t) of a field map [modes...] in Hz
    and of the samples' times [points...] in s. Gradients are those of x, the points, the field and the times.

    error  of that phase at most, by time segmentation.
    """
    _expect_tensors(x=x, points=points, field=field, times=times)
    _expect_points(points)
    _expect_real("field", field)
    _expect_real("times", times)
    if adjoint:
        _expect_last("x", x, points.shape[:-1], "points")
    elif tuple(_modes_of(x, points)) != tuple(field.shape):
        raise ShapeError(f"field: got shape {tuple(field.shape)}, expected {tuple(_modes_of(x, points))}")
    return _with_field(x, points, field, times, adjoint, tol, error, {})


@torch.compiler.disable
def _with_field(x: Tensor, points: Tensor, field: Tensor, times: Tensor, adjoint: bool, tol: float, error: float,
                shared: dict[Any, Any]) -> Tensor:
    """shared: operators of this field, these points and times, which stay as they are meanwhile."""
    times = times.expand(points.shape[:-1]).contiguous()
    return _Field.apply(_complex(x), field, points, times, tol, error, adjoint, shared)


# ---- SENSE ----


def sense(x: Tensor, maps: Tensor, points: Tensor, *, weights: Tensor | None = None, field: Tensor | None = None,
          times: Tensor | None = None, tol: float = 1e-5, error: float = 1e-3) -> Tensor:
    """Images [batch..., modes...] to the k-space [batch..., coils, points...] of coils with maps [coils, modes...].

    weights  [points...], at least 0, whose root is a factor of the samples, as of larmor.linop.sense. Where one is 0,
             where the root has no finite derivative, its gradient is 0.
    field    [modes...] in Hz, with times [points...] in s: as of `nufft_field`.
    All of x, maps, points, weights, field and times have gradients, together, too.
    """
    _expect_inputs("x", x, maps, points, weights, field, times)
    _expect_last("x", x, maps.shape[1:], "modes")
    return _sense(x, maps, points, weights, field, times, tol, error, None)


def _expect_inputs(name: str, x: Tensor, maps: Tensor, points: Tensor, weights: Tensor | None, field: Tensor | None,
                   times: Tensor | None) -> None:
    _expect_tensors(**{name: x}, maps=maps, points=points, weights=weights, field=field, times=times)
    _expect_model(maps, points, weights, field, times)
    _expect_weights(weights)


def _expect_model(maps: Tensor, points: Tensor, weights: Tensor | None, field: Tensor | None,
                  times: Tensor | None) -> None:
    """Shapes of what the samples depend on, beside the image."""
    _expect_points(points)
    if maps.ndim != points.shape[-1] + 1:
        raise ShapeError(f"maps: got shape {tuple(maps.shape)}, expected [coils, modes...] for points of "
                         f"{points.shape[-1]} columns")
    _expect_real("weights", weights)
    if weights is not None:
        values = points.shape[:-1]
        both = zip(reversed(weights.shape), reversed(values))
        if any(own not in (1, size) for own, size in both):
            raise ShapeError(f"weights: got shape {tuple(weights.shape)}, expected {tuple(values)}")
    if field is not None:
        _given(times)
        if tuple(field.shape) != tuple(maps.shape[1:]):
            raise ShapeError(f"field: got shape {tuple(field.shape)}, expected {tuple(maps.shape[1:])}")


def _expect_weights(weights: Tensor | None) -> None:
    """At least 0, where the numbers are known."""
    if weights is None or torch.compiler.is_compiling() or _is_traced():
        return
    if torch._C._functorch.is_functorch_wrapped_tensor(weights):
        return
    if weights.is_cuda and torch.cuda.is_current_stream_capturing():
        return
    if not bool((weights >= 0).all()):
        raise ArgumentError(f"weights: the least is {float(weights.detach().min()):g}, expected at least 0")


def _root(weights: Tensor) -> Tensor:
    nothing = weights == 0  # also of what is differentiated, as 0 times infinity is no number
    return weights.masked_fill(nothing, 1).sqrt().masked_fill(nothing, 0)


def _sense(x: Tensor, maps: Tensor, points: Tensor, weights: Tensor | None, field: Tensor | None,
           times: Tensor | None, tol: float, error: float, shared: dict[Any, Any] | None) -> Tensor:
    coils = maps * x.unsqueeze(-points.shape[-1] - 1)
    y = _encode(coils, points, coils.shape[coils.ndim - points.shape[-1]:], field, times, False, tol, error, shared)
    return y if weights is None else _root(weights) * y


def _encode(x: Tensor, points: Tensor, modes: Sequence[int], field: Tensor | None, times: Tensor | None,
            adjoint: bool, tol: float, error: float, shared: dict[Any, Any] | None) -> Tensor:
    """Of each coil the samples of an image, or with adjoint back."""
    if field is None:
        return _transform(x, points, modes, tol, adjoint, shared)
    if shared is None:
        return nufft_field(x, points, field, _given(times), adjoint=adjoint, tol=tol, error=error)
    return _with_field(x, points, field, _given(times), adjoint, tol, error, shared)


def sense_adjoint(y: Tensor, maps: Tensor, points: Tensor, *, weights: Tensor | None = None,
                  field: Tensor | None = None, times: Tensor | None = None, tol: float = 1e-5,
                  error: float = 1e-3) -> Tensor:
    """The conjugate transpose of `sense`: [batch..., coils, points...] to [batch..., modes...]."""
    _expect_inputs("y", y, maps, points, weights, field, times)
    _expect_last("y", y, (maps.shape[0], *points.shape[:-1]), "coils and points")
    return _sense_adjoint(y, maps, points, weights, field, times, tol, error, None)


def _sense_adjoint(y: Tensor, maps: Tensor, points: Tensor, weights: Tensor | None, field: Tensor | None,
                   times: Tensor | None, tol: float, error: float, shared: dict[Any, Any] | None) -> Tensor:
    y = y if weights is None else _root(weights) * y
    coils = _encode(y, points, maps.shape[1:], field, times, True, tol, error, shared)
    return (maps.conj() * coils).sum(-maps.ndim)


def _given(times: Tensor | None) -> Tensor:
    if times is None:
        raise ArgumentError("times: none; a field needs the times of the samples")
    return times


_BACK = {"forward": "adjoint", "adjoint": "forward", "normal": "normal"}


class _Apply(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, A: Operator, way: str) -> Tensor:
        _refuse_tracing()
        return getattr(A, way)(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        _, ctx.A, ctx.way = inputs

    @staticmethod
    def jvp(ctx: Any, dx: Tensor, *_: Any) -> Tensor:
        return _Apply.apply(dx, ctx.A, ctx.way)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return _Apply.apply(g, ctx.A, _BACK[ctx.way]), None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, A: Operator, way: str) -> Any:
        return _one_by_one(lambda x: _Apply.apply(x.contiguous(), A, way), info, in_dims[:1], x)


def _taken_to(x: Tensor, dtype: Any, name: str) -> Tensor:
    """x as numbers of this type, which autograd follows."""
    if not x.dtype.is_complex or x.dtype == torch.complex32:
        x = _complex(x)
    _arrays.refuse_narrower(x, dtype, name)
    return x.to(getattr(torch, np.dtype(dtype).name))


def apply(A: Operator, x: Tensor, way: str = "forward") -> Tensor:
    """A x for any operator of larmor.linop, on the tensor's device; its gradient is that of A^H.

    way: "adjoint" for A^H x, "normal" for A^H A x.
    """
    if way not in _BACK:
        raise ArgumentError(f"way: got {way!r}, expected one of {', '.join(_BACK)}")
    return _applied(x, A, way)


@torch.compiler.disable
def _applied(x: Tensor, A: Operator, way: str) -> Tensor:
    """torch.compile leaves this out of its graph, as it does not know A's shapes."""
    return _Apply.apply(_taken_to(x, A.dtype, A.name), A, way)


class _Execute(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, plan: _nufft.Plan, adjoint: bool, points_set: int) -> Tensor:
        _refuse_tracing()
        return plan.adjoint(x) if adjoint else plan.execute(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        _, ctx.plan, ctx.adjoint, ctx.points_set = inputs

    @staticmethod
    def jvp(ctx: Any, dx: Tensor, *_: Any) -> Tensor:
        return _Execute.apply(dx, ctx.plan, ctx.adjoint, ctx.points_set)

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, plan: _nufft.Plan, adjoint: bool, points_set: int) -> Any:
        return _one_by_one(lambda x: _Execute.apply(x.contiguous(), plan, adjoint, points_set), info, in_dims[:1], x)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        if ctx.plan.points_set != ctx.points_set:
            raise ArgumentError("a plan's points were set again before the backward pass of what it had computed; "
                                "make a plan for each set of points")
        return _Execute.apply(g, ctx.plan, not ctx.adjoint, ctx.points_set), None, None, None


def execute(plan: _nufft.Plan, x: Tensor, adjoint: bool = False) -> Tensor:
    """plan.execute(x), or plan.adjoint(x), with the gradient with respect to x."""
    return _Execute.apply(_taken_to(x, plan.dtype, "plan"), plan, adjoint, plan.points_set)


def by_points(points: Any, x: Any, modes: int | Sequence[int] | None, *, out: Any = None, device: Any = None,
              tol: float = 1e-5, sign: int | None = None, units: str = "cycles", **more: Any) -> Tensor:
    """larmor.nufft.type2 of x at points, or with modes type1, with the gradient with respect to the points, too."""
    given = [name for name, value in {"out": out, "device": device, **more}.items() if value is not None]
    if given:
        raise ArgumentError(f"{given[0]}: given for points that require a gradient, which go with tol, sign and "
                            "units alone; leave it out, or hand in points.detach()")
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


# ---- layers ----


class _Layer(torch.nn.Module):
    """Tensors that are parameters where they are learned, else buffers."""

    def _take(self, tensors: Mapping[str, Tensor | None], learn: Sequence[str]) -> None:
        there = [name for name, tensor in tensors.items() if tensor is not None]
        for name in learn:
            if name not in there:
                raise ArgumentError(f"learn: got {name!r}, expected some of {', '.join(there)}")
        for name, tensor in tensors.items():
            if name in learn and tensor is not None:
                setattr(self, name, torch.nn.Parameter(tensor.detach().clone()))
            else:
                self.register_buffer(name, tensor)


class NUFFT(_Layer):
    """`nufft` as a layer; with learn=True the trajectory is a parameter. `Nufft` is the same."""

    points: Tensor

    def __init__(self, points: Tensor, *, tol: float = 1e-5, learn: bool = False) -> None:
        super().__init__()
        self.tol = tol
        self._take({"points": points}, ("points",) if learn else ())

    def extra_repr(self) -> str:
        """What print shows."""
        return f"points {tuple(self.points.shape)}, tol={self.tol:g}"

    def forward(self, x: Tensor) -> Tensor:
        """[batch..., modes...] to [batch..., points...]."""
        return nufft(x, self.points, tol=self.tol)

    def adjoint(self, y: Tensor, modes: Sequence[int]) -> Tensor:
        """[batch..., points...] to [batch..., modes...]."""
        return nufft_adjoint(y, self.points, modes, tol=self.tol)


Nufft = NUFFT


class NufftAdjoint(NUFFT):
    """`nufft_adjoint` as a layer."""

    def __init__(self, points: Tensor, modes: Sequence[int], *, tol: float = 1e-5, learn: bool = False) -> None:
        super().__init__(points, tol=tol, learn=learn)
        self.modes: tuple[int, ...] = tuple(modes)

    def forward(self, x: Tensor) -> Tensor:
        """[batch..., points...] to [batch..., modes...]."""
        return nufft_adjoint(x, self.points, self.modes, tol=self.tol)


class SENSE(_Layer):
    """`sense` as a layer, with its adjoint and its normal map.

    learn  names of what is a parameter: "maps", "points", "weights", "field".
    The others are those of `sense`.
    """

    maps: Tensor
    points: Tensor
    weights: Tensor | None
    field: Tensor | None
    times: Tensor | None

    def __init__(self, maps: Tensor, points: Tensor, *, weights: Tensor | None = None, field: Tensor | None = None,
                 times: Tensor | None = None, tol: float = 1e-5, error: float = 1e-3,
                 learn: Sequence[str] = ()) -> None:
        super().__init__()
        _expect_tensors(maps=maps, points=points, weights=weights, field=field, times=times)
        _expect_model(maps, points, weights, field, times)
        self.tol: float = tol
        self.error: float = error
        self._take({"maps": maps, "points": points, "weights": weights, "field": field}, learn)
        self.register_buffer("times", times)

    def extra_repr(self) -> str:
        """What print shows."""
        there = [f"{name} {tuple(tensor.shape)}" for name, tensor in self.tensors().items() if tensor is not None]
        return f"{', '.join(there)}, tol={self.tol:g}"

    def tensors(self) -> dict[str, Any]:
        """What the samples depend on, beside the image."""
        return {"maps": self.maps, "points": self.points, "weights": self.weights, "field": self.field,
                "times": self.times}

    def forward(self, x: Tensor) -> Tensor:
        """A x: [batch..., modes...] to [batch..., coils, points...]."""
        return sense(x, **self.tensors(), tol=self.tol, error=self.error)

    def adjoint(self, y: Tensor) -> Tensor:
        """A^H y."""
        return sense_adjoint(y, **self.tensors(), tol=self.tol, error=self.error)

    def normal(self, x: Tensor) -> Tensor:
        """A^H A x."""
        return self._normal(x, self.tensors())

    def _normal(self, x: Tensor, tensors: Mapping[str, Any], shared: dict[Any, Any] | None = None) -> Tensor:
        more = {**tensors, "tol": self.tol, "error": self.error, "shared": shared}
        return _sense_adjoint(_sense(x, **more), **more)


class DataConsistency(torch.nn.Module):
    """The image nearest to samples and to another image: argmin over x of |A x - y|^2 + lam |x - z|^2, by conjugate
    gradients. Its gradient is that of the minimum, by as many further steps, whatever steps led there.

    A           a `SENSE`, whose parameters get gradients, too.
    lam         above 0; with learn=True its logarithm is a parameter.
    iterations  at most, until the residual is tol relative to that of x = 0.
    """

    def __init__(self, A: SENSE, lam: float = 1.0, *, iterations: int = 50, tol: float = 1e-5,
                 learn: bool = False) -> None:
        super().__init__()
        if not isinstance(A, SENSE):
            raise ArgumentError(f"A: got {type(A).__name__}, expected a larmor.torch.SENSE")
        if not (lam > 0 and math.isfinite(lam)):
            raise ArgumentError(f"lam: got {lam}, expected a number above 0")
        if iterations < 1 or not tol >= 0:
            raise ArgumentError(f"iterations and tol: got {iterations} and {tol}, expected at least 1 and 0")
        self.A: SENSE = A
        self.iterations: int = iterations
        self.tol: float = tol
        logarithm = torch.tensor(math.log(lam), dtype=A.maps.real.dtype, device=A.maps.device)
        if learn:
            self.log_lam: Any = torch.nn.Parameter(logarithm)
        else:
            self.register_buffer("log_lam", logarithm)

    def forward(self, y: Tensor, z: Tensor | None = None) -> Tensor:
        """Of samples [batch..., coils, points...] and an image z [batch..., modes...]; None: 0."""
        lam = self.log_lam.exp()
        if z is not None:
            _expect_last("z", z, self.A.maps.shape[1:], "modes")
        return self.nearest(self.A.adjoint(y) if z is None else self.A.adjoint(y) + lam * z, lam)

    def nearest(self, right: Tensor, lam: Tensor) -> Tensor:
        """(A^H A + lam)^-1 right, for a tensor lam of no axes."""
        return _solved(self, right, lam, self.A.tensors())

    def _solve(self, right: Tensor, lam: Tensor, tensors: Mapping[str, Any]) -> Tensor:
        """(A^H A + lam) x = right, image by image."""
        axes = tuple(range(-(self.A.maps.ndim - 1), 0))
        x, r = torch.zeros_like(right), right.clone()
        p, square = r, _squares(r, axes)
        end = square * self.tol ** 2
        shared: dict[Any, Any] = {}
        for _ in range(self.iterations):
            if bool((square <= end).all()):
                break
            step = self.A._normal(p, tensors, shared) + lam * p
            size = square / (p.conj() * step).real.sum(axes, keepdim=True).clamp_min(torch.finfo(square.dtype).tiny)
            x, r = x + size * p, r - size * step
            before, square = square, _squares(r, axes)
            p = r + square / before.clamp_min(torch.finfo(square.dtype).tiny) * p
        return x


@torch.compiler.disable
def _solved(layer: DataConsistency, right: Tensor, lam: Tensor, tensors: Mapping[str, Any]) -> Tensor:
    """torch.compile leaves this out of its graph, as the number of steps depends on the numbers."""
    return _Solve.apply(layer, tuple(tensors), right, lam, *tensors.values())


def _squares(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    return (x.real ** 2 + x.imag ** 2).sum(axes, keepdim=True)


def _normal_moved(A: SENSE, x: Tensor, tensors: Mapping[str, Any],
                  moved: Mapping[str, tuple[Tensor, Tensor]]) -> Tensor:
    """How A^H A x changes as tensors move: the reverse mode of the reverse mode, which is linear."""
    values = {name: value for name, (value, _) in moved.items()}
    vjp: Any = torch.func.vjp
    _, back = vjp(lambda values: A._normal(x, {**tensors, **values}), values)
    _, forth = vjp(lambda u: back(u)[0], torch.zeros_like(x))
    return forth({name: step for name, (_, step) in moved.items()})[0]


class _Solve(torch.autograd.Function):
    """x = (A^H A + lam)^-1 right, whose gradients are those of the equation."""

    @staticmethod
    def forward(layer: DataConsistency, names: tuple[str, ...], right: Tensor, lam: Tensor, *tensors: Any) -> Tensor:
        _refuse_tracing()
        return layer._solve(right, lam, dict(zip(names, tensors)))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.layer, ctx.names, _, lam, *tensors = inputs
        ctx.there = [tensor is not None for tensor in tensors]
        kept = (output, lam, *(tensor for tensor in tensors if tensor is not None))
        ctx.save_for_backward(*kept)
        ctx.save_for_forward(*kept)
        ctx.set_materialize_grads(False)

    @staticmethod
    def jvp(ctx: Any, _layer: Any, _names: Any, step: Tensor | None, of_lam: Tensor | None, *more: Any) -> Tensor:
        x, lam, *saved = ctx.saved_tensors
        tensors: list[Any] = [saved.pop(0) if there else None for there in ctx.there]
        right = torch.zeros_like(x) if step is None else step
        if of_lam is not None:
            right = right - of_lam * x
        moved = {name: (t, d) for name, t, d in zip(ctx.names, tensors, more) if d is not None}
        if moved:
            right = right - _normal_moved(ctx.layer.A, x, dict(zip(ctx.names, tensors)), moved)
        return _Solve.apply(ctx.layer, ctx.names, right, lam, *tensors)

    @staticmethod
    def backward(ctx: Any, g: Tensor | None) -> Any:
        if g is None:
            return (None,) * (4 + len(ctx.there))
        x, lam, *saved = ctx.saved_tensors
        tensors: list[Any] = [saved.pop(0) if there else None for there in ctx.there]
        u = _Solve.apply(ctx.layer, ctx.names, g, lam, *tensors)
        of_lam = -(u.conj() * x).real.sum() if ctx.needs_input_grad[3] else None
        wanted = [i for i in range(len(tensors)) if ctx.needs_input_grad[4 + i]]
        grads: list[Any] = [None] * len(tensors)
        if wanted:
            again = torch.is_grad_enabled()
            with torch.enable_grad():  # views, as x depends on the tensors themselves
                views = [tensor.view_as(tensor) if tensor is not None and i in wanted else tensor
                         for i, tensor in enumerate(tensors)]
                value = ctx.layer.A._normal(x if again else x.detach(), dict(zip(ctx.names, views)))
                found = torch.autograd.grad(value, [views[i] for i in wanted], -u, create_graph=again)
            for i, grad in zip(wanted, found):
                grads[i] = grad
        return None, None, u, of_lam, *grads


class Linear(torch.nn.Module):
    """An operator of larmor.linop as a layer."""

    def __init__(self, A: Operator) -> None:
        super().__init__()
        self.A = _linop.as_operator(A)

    def forward(self, x: Tensor) -> Tensor:
        """A x."""
        return apply(self.A, x)
