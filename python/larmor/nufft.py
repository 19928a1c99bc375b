"""The non-uniform fast Fourier transform of types 1, 2 and 3, in 1 to 3 dimensions.

Points are arrays [..., ndim]; column d goes with axis d of the modes. With points k in cycles per field of view
(units "cycles", the default), modes N and r = i - N // 2 the index of a mode,

    type 2   y[j] = sum_r x[r] exp(-2 pi i k[j] . r / N)        type 1   x[r] = sum_j y[j] exp(+2 pi i k[j] . r / N)
    type 3   f[k] = sum_j c[j] exp(+2 pi i s[k] . x[j])

With units "radians" points are those of FINUFFT: 2 pi k / N, and targets 2 pi s. A batch is leading axes, which all
transforms share. Arrays of NumPy, CuPy and PyTorch are read and written where they are. A tensor that requires a
gradient gets one; that of points is there for the options tol, sign and units.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from larmor import _arrays
from larmor._arguments import Made
from larmor._arrays import Device, Native
from larmor._library import ArgumentError, ShapeError, answer_ctrl_c, check, ffi, lib, number
from larmor.typing import Array, ArrayT, Complexes, DType

__all__ = ["Plan", "least_tol", "type1", "type2", "type3"]

_EFFORTS = {"estimate": lib.LARMOR_PLAN_ESTIMATE, "measure": lib.LARMOR_PLAN_MEASURE,
            "exhaustive": lib.LARMOR_PLAN_EXHAUSTIVE}
_PRECOMPUTE = {"auto": lib.LARMOR_PRECOMPUTE_AUTO, "none": lib.LARMOR_PRECOMPUTE_NONE,
               "partial": lib.LARMOR_PRECOMPUTE_PARTIAL, "full": lib.LARMOR_PRECOMPUTE_FULL}
_ORDERS = {"centred": lib.LARMOR_MODES_CENTRED, "fft": lib.LARMOR_MODES_FFT}


def choice(table: dict[str, int], name: str, what: str) -> int:
    """The number of a name in a table."""
    try:
        return table[name]
    except KeyError:
        raise ArgumentError(f"{what}: got {name!r}, expected one of {', '.join(table)}") from None


def options(kind: int, modes: int | Sequence[int], *, batch: int = 0, tol: float | None = None,
            sign: int | None = None, dtype: DType = np.complex64, mode_order: str = "centred", upsample: float = 0,
            width: int = 0, threads: int = 0, max_batch: int = 0, precompute: str = "auto",
            precompute_memory: int = 0, effort: str = "estimate", both_directions: bool = False) -> Any:
    """A larmor_nufft_opts. None and zeros are defaults, as in C."""
    opts = ffi.new("larmor_nufft_opts *")
    opts.size = ffi.sizeof("larmor_nufft_opts")
    modes = _whole(modes)
    opts.ndim = len(modes)
    if not 1 <= len(modes) <= 3:
        raise ArgumentError(f"modes: got {len(modes)} dimensions, expected 1 to 3")
    for axis, size in enumerate(modes[::-1]):
        opts.modes[axis] = size
    if sign is not None and (isinstance(sign, (bool, str)) or sign not in (-1, 1)):
        raise ArgumentError(f"sign: got {sign!r}, expected -1 or 1")
    if tol is not None and not 0 < number("tol", tol, float) < 1:
        raise ArgumentError(f"tol: got {tol}, expected 0 < tol < 1")
    whole = {"type": kind, "batch": batch, "sign": 0 if sign is None else int(sign), "width": width,
             "threads": threads, "max_batch": max_batch, "precompute_memory": precompute_memory}
    for name, value in whole.items():
        try:
            setattr(opts, name, number(name, value, operator.index))
        except OverflowError:
            raise ArgumentError(f"{name}: got {value}, which is too large") from None
    opts.tol = tol or 0
    opts.dtype = _arrays.dtype_number(dtype)
    opts.mode_order = choice(_ORDERS, mode_order, "mode_order")
    opts.upsample = number("upsample", upsample, float)
    opts.precompute = choice(_PRECOMPUTE, precompute, "precompute")
    opts.effort = choice(_EFFORTS, effort, "effort")
    opts.both_directions = bool(both_directions)
    return opts


def reversed_points(points: Native, ndim: int, scale: Sequence[float] | None) -> Native:
    """Points with their columns in the order of larmor's dimensions, times a scale for each column of the
    original."""
    if points.ndim < 1 or points.shape[-1] != ndim:
        raise ShapeError(f"points: got shape {tuple(points.shape)}, expected [..., {ndim}], a column for each axis")
    if scale is not None:
        factor = _arrays.empty(points, (ndim,), "float64" if "64" in str(points.dtype) else "float32")
        for axis in range(ndim):
            factor[axis] = scale[axis]
        points = points * factor
    if ndim == 1:
        return _arrays.as_input(points)
    if type(points).__module__.partition(".")[0] == "torch":
        return _arrays.as_input(points.flip(-1))
    return _arrays.as_input(points[..., ::-1])


def _whole(sizes: int | Sequence[int]) -> tuple[int, ...]:
    """Sizes of modes as whole numbers, which may be numbers such as 8.0."""
    given: Sequence[Any] = [sizes] if np.ndim(sizes) == 0 else list(sizes)  # type: ignore[arg-type]
    return tuple(number("modes", int(n) if isinstance(n, float) and n.is_integer() else n, operator.index)
                 for n in given)


def as_points(points: Native) -> Native:
    """Points as real numbers."""
    points = _arrays.as_input(points, name="points")
    if "float" not in str(points.dtype):
        points = _arrays.as_input(points, np.float64, name="points")
    return points


class Plan(Made):
    """A transform that is used often: made once, given points, executed.

    kind     1, 2 or 3, what execute does.
    modes    shape of the modes, an int in 1D; of type 3 the number of dimensions.
    batch    transforms over the same points, or 0 for arrays without numbers.
    tol      relative l2 error asked for; default 1e-5.
    sign     of the exponent in execute: -1 or +1; default -1 for type 2, +1 for types 1 and 3.
    units    "cycles" (per field of view) or "radians" (FINUFFT's).
    dtype    complex64 or complex128 of the values.
    device   "cpu", "cpu:4", "cuda", "cuda:1" or a larmor.Device; default the processor.
    The others are those of larmor_nufft_opts (docs/reference/nufft.md): mode_order "centred" or "fft", effort
    "estimate", "measure" or "exhaustive", upsample, width, threads, max_batch, precompute, precompute_memory,
    both_directions.

    Threads that share a plan take turns in it. It cannot be pickled or copied, which `larmor.linop.nufft` can.
    """

    def __init__(self, kind: int, modes: int | Sequence[int], *, batch: int = 1, tol: float = 1e-5,
                 sign: int | None = None, units: str = "cycles", dtype: DType = np.complex64,
                 device: str | Device | None = None, **more: Any) -> None:
        answer_ctrl_c()
        if kind == 3:
            self.ndim: int = number("modes", modes, operator.index)
            self.modes: tuple[int, ...] = ()
            shape: tuple[int, ...] = (0,) * self.ndim
        else:
            self.modes = _whole(modes)
            self.ndim = len(self.modes)
            shape = self.modes
        if units not in ("cycles", "radians"):
            raise ArgumentError(f"units: got {units!r}, expected cycles or radians")
        self.kind = kind
        self.sign: int = sign or (-1 if kind == 2 else 1)
        self.batch: int = number("batch", batch, operator.index)
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.units = units
        self.device: Device = _arrays.device(device)
        _arrays.refuse_capture(self.device)
        opts = options(kind, shape, batch=self.batch or 1, tol=tol, sign=sign, dtype=dtype, **more)
        out = ffi.new("larmor_nufft **")
        check(lib.larmor_nufft_create(self.device.pointer, opts, out))
        self._plan = ffi.gc(out[0], lib.larmor_nufft_free)
        self._values: tuple[int, ...] | None = None  # shape of the points
        self._targets: tuple[int, ...] = ()
        self.points_set: int = 0  # how often

    def __repr__(self) -> str:
        modes = f"{self.ndim}D" if self.kind == 3 else f"modes {self.modes}"
        points = "no points" if self._values is None else f"points {self._values}"
        batch = f", batch {self.batch}" if self.batch > 1 else ""
        return f"<larmor plan of type {self.kind}, {modes}, {points}{batch}, {self.dtype} {self.device.spec}>"

    def set_points(self, points: Array, targets: Array | None = None) -> Plan:
        """Sort points [..., ndim], and for type 3 targets [..., ndim]; the arrays may change afterwards."""
        answer_ctrl_c()
        _arrays.refuse_capture(self.device)
        points = as_points(points)
        scale = None
        if self.units == "radians" and self.kind != 3:
            scale = [n / (2 * math.pi) for n in self.modes]
        if targets is None and self._takes_columns(points):
            return self._set_columns(points, scale)
        ordered = reversed_points(points, self.ndim, scale)
        there = None
        if self.kind == 3:
            if targets is None:
                raise ArgumentError("targets: none; a plan of type 3 needs them")
            ends = as_points(targets)
            back = [1 / (2 * math.pi)] * self.ndim if self.units == "radians" else None
            there = reversed_points(ends, self.ndim, back)
        elif targets is not None:
            raise ArgumentError("targets: given; only plans of type 3 take them")
        with self.device.turn:
            self._follow(ordered)
            wrapped = _arrays.wrap(ordered, self.device)
            to = ffi.NULL if there is None else _arrays.wrap(there, self.device)
            check(lib.larmor_nufft_set_points(self._plan, wrapped, to))
        self._targets = self.modes if there is None else tuple(there.shape[:-1])
        self._values = tuple(points.shape[:-1])
        self.points_set += 1
        return self

    def _takes_columns(self, points: Native) -> bool:
        """Whether larmor reads the points where they lie."""
        is_here = isinstance(points, np.ndarray) and points.dtype in (np.float32, np.float64)
        has_axes = is_here and points.ndim > 0 and points.shape[-1] == self.ndim
        return has_axes and self.kind != 3 and not self.device.is_gpu

    def _set_columns(self, points: Native, scale: Sequence[float] | None) -> Plan:
        order = list(range(self.ndim))[::-1]
        factors = ffi.NULL if scale is None else ffi.new("double[]", [scale[d] for d in order])
        with self.device.turn:
            wrapped = _arrays.wrap(points, self.device)
            check(lib.larmor_nufft_set_columns(self._plan, wrapped, ffi.new("int[]", order), factors))
        self._targets = self.modes
        self._values = tuple(points.shape[:-1])
        self.points_set += 1
        return self

    @overload
    def execute(self, x: NDArray[Any], out: Array | None = None) -> Complexes: ...

    @overload
    def execute(self, x: ArrayT, out: Array | None = None) -> ArrayT: ...

    def execute(self, x: Array, out: Array | None = None) -> Native:
        """Type 1: values [batch..., points...] to modes [batch..., modes...]; type 2: back; type 3: to targets."""
        return self._run(False, x, out)

    @overload
    def adjoint(self, x: NDArray[Any], out: Array | None = None) -> Complexes: ...

    @overload
    def adjoint(self, x: ArrayT, out: Array | None = None) -> ArrayT: ...

    def adjoint(self, x: Array, out: Array | None = None) -> Native:
        """The exact conjugate transpose of execute."""
        return self._run(True, x, out)

    def _follow(self, x: Native) -> None:
        """Queue on the stream that is current for x."""
        if self.device.is_gpu:
            stream = _arrays.memory(x).stream
            if stream is not None:
                self.device.use_stream(stream)

    def _run(self, is_adjoint: bool, x: Native, out: Native) -> Native:
        if self._values is None:
            raise ArgumentError("the plan has no points; call set_points first")
        answer_ctrl_c()
        if _arrays.wants_gradient(x):
            if out is not None:
                raise ArgumentError("out: given for a tensor that requires a gradient; leave it out, or hand in "
                                    "x.detach()")
            from larmor import torch as with_gradient

            return with_gradient.execute(self, x, is_adjoint)
        from_values = (self.kind == 2) == is_adjoint
        x = _arrays.as_input(x, self.dtype, name="plan")
        before, after = (self._values, self._targets) if from_values else (self._targets, self._values)
        shape = tuple(x.shape)
        lead = shape[:len(shape) - len(before)]
        if lead + before != shape or math.prod(lead) != self.batch:
            raise ShapeError(f"input: got shape {shape}, expected {before} with leading axes of {self.batch} in all")
        if out is None:
            out = _arrays.empty(x, lead + after, self.dtype)
        elif tuple(getattr(out, "shape", ())) != lead + after or _arrays.dtype_of(out) != self.dtype:
            got = f"{out.dtype} of shape {tuple(out.shape)}" if hasattr(out, "shape") else type(out).__name__
            raise ShapeError(f"out: got {got}, expected {self.dtype} of {lead + after}")
        if not self.batch:
            return out
        _arrays.run_on(lib.larmor_nufft_execute_adjoint if is_adjoint else lib.larmor_nufft_execute, self._plan,
                       self.device, x, out)
        return out

    @property
    def info(self) -> dict[str, Any]:
        """What was chosen: grid, width, upsampling, the error that is expected, where the choice comes from."""
        i = lib.larmor_nufft_describe(self._plan)
        sources = {lib.LARMOR_PLAN_BY_MODEL: "model", lib.LARMOR_PLAN_BY_MEASUREMENT: "measurement",
                   lib.LARMOR_PLAN_BY_WISDOM: "wisdom"}
        return {"grid": tuple(i.grid[d] for d in range(self.ndim - 1, -1, -1)), "width": int(i.width),
                "upsample": float(i.upsample), "error": float(i.error), "threads": int(i.threads),
                "per_pass": int(i.per_pass), "source": sources[i.source], "seconds": float(i.seconds)}


def _batch(x: Native, rest: int) -> int:
    return math.prod(tuple(x.shape)[:x.ndim - rest])


def _device(x: Native, given: str | Device | None) -> Device:
    return _arrays.device_of(x) if given is None else _arrays.device(given)


def _values(x: Native, name: str = "values") -> tuple[Native, Any]:
    """The values as complex numbers of the precision they have."""
    if _arrays.wants_gradient(x):
        import torch

        x = x.to(torch.complex64 if x.dtype in (torch.float32, torch.complex64) else torch.complex128)
        return x, np.dtype(str(x.dtype).removeprefix("torch."))
    x = _arrays.as_input(x, name=name)
    single = str(x.dtype).endswith(("complex64", "float32"))
    dtype = np.dtype(np.complex64 if single else np.complex128)
    return _arrays.as_input(x, dtype), dtype


@overload
def type1(points: Array, values: NDArray[Any], modes: int | Sequence[int], *, out: Array | None = None,
          device: str | Device | None = None, **more: Any) -> Complexes: ...


@overload
def type1(points: Array, values: ArrayT, modes: int | Sequence[int], *, out: Array | None = None,
          device: str | Device | None = None, **more: Any) -> ArrayT: ...


def type1(points: Array, values: Array, modes: int | Sequence[int], *, out: Array | None = None,
          device: str | Device | None = None, **more: Any) -> Native:
    """Values at points [..., ndim] to modes. `values` is [batch..., points...]; the others are those of Plan."""
    if _arrays.wants_gradient(points):
        from larmor import torch as with_gradient

        return with_gradient.by_points(points, values, modes, out=out, device=device, **more)
    points = as_points(points)
    values, dtype = _values(values)
    where = _device(values, device)
    batch = _batch(values, len(points.shape) - 1)
    return Plan(1, modes, batch=batch, dtype=dtype, device=where, **more).set_points(points).execute(values, out)


@overload
def type2(points: Array, modes: NDArray[Any], *, out: Array | None = None, device: str | Device | None = None,
          **more: Any) -> Complexes: ...


@overload
def type2(points: Array, modes: ArrayT, *, out: Array | None = None, device: str | Device | None = None,
          **more: Any) -> ArrayT: ...


def type2(points: Array, modes: Array, *, out: Array | None = None, device: str | Device | None = None,
          **more: Any) -> Native:
    """Modes [batch..., modes...] to values at points [..., ndim]. The others are those of Plan."""
    if _arrays.wants_gradient(points):
        from larmor import torch as with_gradient

        return with_gradient.by_points(points, modes, None, out=out, device=device, **more)
    points = as_points(points)
    modes, dtype = _values(modes, "modes")
    where = _device(modes, device)
    ndim = points.shape[-1]
    shape = tuple(modes.shape)[max(modes.ndim - ndim, 0):]
    plan = Plan(2, shape, batch=_batch(modes, ndim), dtype=dtype, device=where, **more)
    return plan.set_points(points).execute(modes, out)


@overload
def type3(points: Array, values: NDArray[Any], targets: Array, *, out: Array | None = None,
          device: str | Device | None = None, **more: Any) -> Complexes: ...


@overload
def type3(points: Array, values: ArrayT, targets: Array, *, out: Array | None = None,
          device: str | Device | None = None, **more: Any) -> ArrayT: ...


def type3(points: Array, values: Array, targets: Array, *, out: Array | None = None,
          device: str | Device | None = None, **more: Any) -> Native:
    """Values at points [..., ndim] to targets [..., ndim], in 1D [..., 1]. The others are those of Plan."""
    points = as_points(points)
    if len(points.shape) < 2:
        raise ShapeError(f"points: got shape {tuple(points.shape)}, expected [..., ndim], a column for each axis; "
                         "of one dimension points[:, None]")
    values, dtype = _values(values)
    where = _device(values, device)
    batch = _batch(values, len(points.shape) - 1)
    plan = Plan(3, points.shape[-1], batch=batch, dtype=dtype, device=where, **more)
    return plan.set_points(points, targets).execute(values, out)


def least_tol(kind: int, modes: int | Sequence[int], *, device: str | Device | None = None, **more: Any) -> float:
    """The least tol that a plan with otherwise these options takes."""
    shape = _whole(modes)
    tol = ffi.new("double *")
    check(lib.larmor_nufft_least_tol(_arrays.device(device).pointer, options(kind, shape, **more), tol))
    return float(tol[0])
