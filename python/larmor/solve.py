"""Solvers: what each minimises, its steps and when it stops is in docs/reference/solvers.md.

A is an operator of larmor, or of SciPy or PyLops, as larmor.linop.as_operator takes it.
Each returns the solution and a Report. A monitor is called after each iteration with a Progress, and stops the solver
by returning True; the solution is then the iterate that was reached. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from larmor import _arguments, _arrays, _library
from larmor import prior as _prior
from larmor._arrays import Device, Native
from larmor._library import ArgumentError, ShapeError, Stopped, check, ffi, lib
from larmor.linop import Operator, _op, _real, _traj, as_operator
from larmor.prox import Prox, _checked
from larmor.typing import Array, ArrayT, Complexes, DenoiserFunction, DType, Floats, OperatorLike, Path

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec, TypeAlias

__all__ = ["Choice", "Circulant", "History", "PnpReport", "Progress", "Report", "admm", "cg", "choose_weight",
           "fista", "hold_out", "lambda_unit", "largest_eigenvalue", "lsmr", "noise", "noise_left", "pdhg", "pgm",
           "pnp", "pocs", "posterior", "power_method", "precondition_kspace", "regularised", "regularisers",
           "weight_of_noise"]

Monitor: TypeAlias = "Callable[[Progress], object]"
_Told_co = TypeVar("_Told_co", covariant=True)


@dataclass(frozen=True, repr=False)
class Progress(_arrays.Brief):
    """Of an iteration."""

    iteration: int
    iterations: int
    residual: float
    objective: float
    seconds: float
    x: Any  # the iterate, an array of b's library; to be read during the call alone


class History:
    """A monitor that keeps what it sees: `solve.cg(A, b, monitor=history)`, then `history.objectives`.

    after  another monitor, which may stop the solver.
    every  keep a copy of each so many iterates in `images`; 0: none.
    """

    def __init__(self, after: Monitor | None = None, *, every: int = 0) -> None:
        self.iterations: list[int] = []
        self.residuals: list[float] = []
        self.objectives: list[float] = []
        self.seconds: list[float] = []
        self.images: list[Any] = []
        self._after, self._every = after, every

    def __call__(self, progress: Progress) -> Any:
        self.iterations.append(progress.iteration)
        self.residuals.append(progress.residual)
        self.objectives.append(progress.objective)
        self.seconds.append(progress.seconds)
        if self._every and progress.iteration % self._every == 0:
            self.images.append(_arrays.copied(progress.x))
        return self._after(progress) if self._after is not None else None

    def __len__(self) -> int:
        return len(self.iterations)

    def __repr__(self) -> str:
        last = f", residual {self.residuals[-1]:.3g}" if self.residuals else ""
        return f"<larmor.solve.History, {len(self)} iterations{last}>"


@dataclass(frozen=True)
class Report:
    """Of a run: `end` says why it ended, "tolerance", "iterations", "precision" or "stopped"."""

    iterations: int
    residual: float
    objective: float
    seconds: float
    end: str


_ENDS = {lib.LARMOR_END_TOLERANCE: "tolerance", lib.LARMOR_END_ITERATIONS: "iterations",
         lib.LARMOR_END_PRECISION: "precision"}


@_library.callback("int(void *, const larmor_progress *)", 1)
def _monitor(user: Any, p: Any) -> int:
    progress = Progress(p.iter, p.max_iter, p.residual, p.objective, p.seconds, _arrays.view(p.x))
    return int(bool(_library.held(user)(progress)))


if TYPE_CHECKING:
    _P = ParamSpec("_P")

    class _Solver(Protocol[_P, _Told_co]):
        """A function of an operator and data whose image is of the data's library."""

        @overload
        def __call__(self, A: OperatorLike, b: NDArray[Any], /, *arguments: _P.args,
                     **options: _P.kwargs) -> tuple[Complexes, _Told_co]: ...

        @overload
        def __call__(self, A: OperatorLike, b: ArrayT, /, *arguments: _P.args,
                     **options: _P.kwargs) -> tuple[ArrayT, _Told_co]: ...


_COMMON = """

    iterations    at most; default (0): {}.
    tol           where it ends, {}; default (None): {}; 0: at rounding.
    monitor       a function of each `Progress`, which ends the run by returning True; or a `History`.{}
    """
_LAM = """
    lam           as above, absolute; default: 0."""
_STEP = "by the relative change |x - x_before| / |x|"
_NEAR = _LAM + """
    precondition  self-adjoint, positive and near the inverse of A^H A + lam; default: none."""

_FIRST = """
    penalty       the first weight of |K x - z|^2, or of `pdhg` the dual step; default (0): chosen."""
_ADMM = _FIRST + """
    inner         steps of conjugate gradients in an iteration; default (0): as many as it needs, 3 to 30."""
_TIKHONOV = """
    tikhonov      weight of |x|^2 / 2 beside the penalty, absolute; default: 0."""
_LARGEST = """
    largest       the largest eigenvalue of A^H A; default (0): found by the power method."""
_INNER = _LARGEST + """
    inner         of "admm", steps of conjugate gradients in an iteration, at most; default (0): 30.
    precondition  self-adjoint, positive and near the inverse of A^H A + weight; default: none.
    circulant     of A^H A, in the place of that; default: none."""


def _solver(iterations: str, at: str = _STEP, more: str = "", tol: str = "1e-4") -> Callable[
        [Callable[Concatenate[Operator, Array, _P], tuple[Native, _Told_co]]], _Solver[_P, _Told_co]]:
    """The function with that type, for operators of other libraries, too, and with what all solvers take in its
    help."""

    def made(function: Callable[Concatenate[Operator, Array, _P], tuple[Native, _Told_co]]) -> _Solver[_P, _Told_co]:
        @functools.wraps(function)
        def call(A: OperatorLike, *arguments: Any, **options: Any) -> Any:
            return function(as_operator(A), *arguments, **options)

        call.__doc__ = (function.__doc__ or "").rstrip() + _COMMON.format(iterations, at, tol, more)
        return cast("_Solver[_P, _Told_co]", call)

    return made


def _tol(tol: float | None) -> float:
    """As the library has it: 0 is its default, and less the end at rounding."""
    return 0.0 if tol is None else tol or -1.0


def _shaped(x: Native, shape: tuple[int, ...], name: str) -> Native:
    if tuple(getattr(x, "shape", ())) != shape:
        raise ShapeError(f"{name}: got shape {tuple(getattr(x, 'shape', ()))}, expected {shape}")
    return x


def _preconditioned(opts: Any, A: Operator, precondition: OperatorLike | None, circulant: Circulant | None) -> Any:
    """What preconditions, in the options; it lives as long as what is returned."""
    made = None
    if precondition is not None:
        made = as_operator(precondition, dtype=A.dtype)
        opts.precondition = made._op
    if circulant is not None:
        if not isinstance(circulant, Circulant):
            raise ArgumentError(f"circulant: got {type(circulant).__name__}, expected a larmor.solve.Circulant")
        opts.circulant = circulant._circulant
    return made


def _solve(function: Any, A: Operator, b: Native, x0: Native, extra: Sequence[Any], iterations: int,
           tol: float | None, lam: float, monitor: Monitor | None, precondition: OperatorLike | None = None,
           circulant: Circulant | None = None, **members: Any) -> tuple[Native, Report]:
    _library.answer_ctrl_c()
    if monitor is not None and not callable(monitor):
        raise ArgumentError(f"monitor: got {type(monitor).__name__}, expected a function of larmor.solve.Progress")
    b = _arrays.as_input(b, A.dtype, name="b")
    if x0 is None:
        x = _arrays.empty(b, A.in_shape, A.dtype)
        x[...] = 0
    else:
        x0 = _arrays.as_input(x0, A.dtype, name="x0")
        x = _arrays.empty(x0, x0.shape, A.dtype)
        x[...] = x0
    opts = ffi.new("larmor_solve_opts *", {"max_iter": iterations, "tol": _tol(tol), "lambda": lam, **members})
    _kept = _preconditioned(opts, A, precondition, circulant)
    handle = ffi.new_handle(monitor)
    if monitor is not None:
        opts.monitor = _monitor
        opts.user = handle
    report = ffi.new("larmor_report *")
    stopped = False
    try:
        with A.device.turn:
            stream = _arrays.memory(b).stream if A.device.is_gpu else None
            if stream is not None:
                A.device.use_stream(stream)
            check(function(A._op, _arrays.wrap(b, A.device), *extra, _arrays.wrap(x, A.device, write=True), opts,
                           report))
    except Stopped:
        stopped = True
    end = "stopped" if stopped else _ENDS.get(report.end, "")
    return x, Report(report.iters, report.residual, report.objective, report.seconds, end)


@_solver("12", "by |A^H b - (A^H A + lam) x| / |A^H b|", _NEAR)
def cg(A: Operator, b: Array, x0: Array | None = None, *, iterations: int = 0, tol: float | None = None,
       lam: float = 0, precondition: OperatorLike | None = None,
       monitor: Monitor | None = None) -> tuple[Native, Report]:
    """min |A x - b|^2 + lam |x|^2 by conjugate gradients."""
    return _solve(lib.larmor_cg, A, b, x0, (), iterations, tol, lam, monitor, precondition)


@_solver("20", "by |A^H W (A x - b) + lam x| over that of x = 0", _LAM)
def lsmr(A: Operator, b: Array, x0: Array | None = None, *, weights: Array | None = None, iterations: int = 0,
         tol: float | None = None, lam: float = 0, monitor: Monitor | None = None) -> tuple[Native, Report]:
    """min |A x - b|_W^2 + lam |x|^2 by LSMR; weights are real, above 0, of the last axes of b."""
    members: dict[str, Any] = {}
    if weights is not None:
        weights = _arrays.as_input(weights)
        members["weights"] = _arrays.wrap(weights, A.device)
    return _solve(lib.larmor_lsmr, A, b, x0, (), iterations, tol, lam, monitor, **members)


def _proximal(function: Any, A: Operator, b: Native, g: Prox, K: OperatorLike | None, x0: Native, **more: Any) -> Any:
    inner = as_operator(K, dtype=A.dtype) if K is not None else None
    return _solve(function, A, b, x0, (inner._op if inner is not None else ffi.NULL, _checked(g)._prox), **more)


@_solver("50", _STEP + ", and by |K x - z| / max(|K x|, |z|)", _NEAR + _ADMM)
def admm(A: Operator, b: Array, g: Prox, K: OperatorLike | None = None, x0: Array | None = None, *,
         iterations: int = 0, tol: float | None = None, lam: float = 0, penalty: float = 0, inner: int = 0,
         precondition: OperatorLike | None = None, circulant: Circulant | None = None,
         monitor: Monitor | None = None) -> tuple[Native, Report]:
    """min 1/2 |A x - b|^2 + lam/2 |x|^2 + g(K x) by alternating directions; without K: g(x). A Circulant of A^H A
    preconditions the inner problem, whatever the weight in it."""
    done: tuple[Array, Report] = _proximal(lib.larmor_admm, A, b, g, K, x0, iterations=iterations, tol=tol, lam=lam,
                                           monitor=monitor, precondition=precondition, circulant=circulant,
                                           penalty=penalty, inner=inner)
    return done


@_solver("200", more=_LAM + _LARGEST)
def fista(A: Operator, b: Array, g: Prox, x0: Array | None = None, *, iterations: int = 0, tol: float | None = None,
          lam: float = 0, largest: float = 0, monitor: Monitor | None = None) -> tuple[Native, Report]:
    """min 1/2 |A x - b|^2 + lam/2 |x|^2 + g(x) by steps of the gradient with a momentum that begins anew where it
    leads uphill."""
    return _solve(lib.larmor_fista, A, b, x0, (_checked(g)._prox,), iterations, tol, lam, monitor, largest=largest)


@_solver("200", more=_LAM + _LARGEST)
def pgm(A: Operator, b: Array, g: Prox, x0: Array | None = None, *, iterations: int = 0, tol: float | None = None,
        lam: float = 0, largest: float = 0, monitor: Monitor | None = None) -> tuple[Native, Report]:
    """min 1/2 |A x - b|^2 + lam/2 |x|^2 + g(x) by the proximal gradient method: `fista` without its momentum, which
    takes more iterations. The objective does not rise."""
    return _solve(lib.larmor_fista, A, b, x0, (_checked(g)._prox,), iterations, tol, lam, monitor, largest=largest,
                  no_momentum=1)


@_solver("200", more=_NEAR + _FIRST)
def pdhg(A: Operator, b: Array, g: Prox, K: OperatorLike | None = None, x0: Array | None = None, *,
         iterations: int = 0, tol: float | None = None, lam: float = 0, penalty: float = 0,
         precondition: OperatorLike | None = None, monitor: Monitor | None = None) -> tuple[Native, Report]:
    """min 1/2 |A x - b|^2 + lam/2 |x|^2 + g(K x) by primal-dual splitting; without K: g(x)."""
    done: tuple[Array, Report] = _proximal(lib.larmor_pdhg, A, b, g, K, x0, iterations=iterations, tol=tol, lam=lam,
                                           monitor=monitor, precondition=precondition, penalty=penalty)
    return done


def regularisers() -> list[str]:
    """The names that `regularised` knows."""
    names: list[str] = []
    while (name := lib.larmor_regulariser_entry(len(names)).name) != ffi.NULL:
        names.append(ffi.string(name).decode())
    return names


def _regulariser(A: Operator, name: str, lam: float | None, series: bool, time: float, ratio: float,
                 block: Sequence[int], voxel: Sequence[float]) -> Any:
    """A larmor_regulariser of A's images."""
    if lam is not None and not (lam >= 0 and math.isfinite(lam)):
        raise ArgumentError(f"lam: got {lam}, expected a finite number >= 0, or None for the regulariser's own")
    given = 0.0 if lam is None else (lam if lam > 0 else -1.0)
    opts = ffi.new("larmor_regulariser_opts *", {"lambda": given, "series": series, "time": time, "ratio": ratio,
                                                 "block": list(block[::-1]), "voxel": list(voxel[::-1])})
    return _library.created(lib.larmor_regulariser_create, "larmor_regulariser", lib.larmor_regulariser_free,
                            A.device.pointer, name.encode(), opts, lib.larmor_op_dtype(A._op),
                            lib.larmor_op_in_shape(A._op))


@_solver("the penalty's", tol="the penalty's", more=_TIKHONOV)
def regularised(A: Operator, b: Array, name: str, x0: Array | None = None, *, lam: float | None = None,
                weight: float | None = None, series: bool = False, time: float = 0, ratio: float = 0,
                block: Sequence[int] = (), voxel: Sequence[float] = (), iterations: int = 0, tol: float | None = None,
                tikhonov: float = 0, circulant: Circulant | None = None, monitor: Monitor | None = None
                ) -> tuple[Native, Report]:
    """min 1/2 |A x - b|^2 + weight R(x) with a penalty by name, by the solver that suits it.

    name       of `regularisers`, with dimensions, or several with ratios: "tv", "tv:xy", "tv:xy+tv:t=4+l1".
    lam        relative to the typical magnitude of A^H b, `lambda_unit`; None: the regulariser's own; 0: no penalty.
    weight     absolute, as `choose_weight` finds it, in the place of lam.
    series     axis 0 counts frames.
    voxel      the sides of a voxel, as the image's axes are, in any unit: tv and tgv divide differences by them.
    circulant  of A^H A, for a series that of one frame; it saves most of the time.
    """
    r = _regulariser(A, name, lam, series, time, ratio, block, voxel)
    if weight is not None:
        check(lib.larmor_regulariser_set_weight(r, weight))
    return _solve(lib.larmor_regularised, A, b, x0, (r,), iterations, tol, tikhonov, monitor, circulant=circulant)


def posterior(A: Operator, b: Array, x0: Array, *, weight: float, deviation: float, name: str | None = None,
              series: bool = False, time: float = 0, voxel: Sequence[float] = (), circulant: Circulant | None = None,
              seed: int = 0, iterations: int = 0) -> Iterator[Any]:
    """Samples of exp(-(|A x - b|^2 / 2 + weight R(x)) / deviation^2), without an end: what x may be, given b.

    name       of the penalty R, "tv" or "wavelet": a chain, whose first few samples remember x0; None: |x|^2 / 2,
               whose samples do not depend on each other.
    x0         where it begins, as the image.
    deviation  of the noise in the real and in the imaginary part of a number of b.
    circulant  of A^H A, for a series that of one frame; it saves most of the time.
    """
    b = _arrays.as_input(b, A.dtype, name="b")
    x0 = _arrays.as_input(x0, A.dtype, name="x0")
    x = _arrays.empty(x0, x0.shape, A.dtype)
    x[...] = x0
    r = ffi.NULL if name is None else _regulariser(A, name, None, series, time, 0, (), voxel)
    opts = ffi.new("larmor_posterior_opts *", {"weight": weight, "deviation": deviation, "seed": seed,
                                               "max_iter": iterations})
    if circulant is not None:
        opts.circulant = circulant._circulant
    chain = _library.created(lib.larmor_posterior_create, "larmor_posterior", lib.larmor_posterior_free, A._op,
                             _arrays.wrap(b, A.device), r, opts)
    while True:
        _library.answer_ctrl_c()
        check(lib.larmor_posterior_next(chain, _arrays.wrap(x, A.device, write=True)))
        sample = _arrays.empty(x, x.shape, A.dtype)
        sample[...] = x
        yield sample


_PNP = {"admm": lib.LARMOR_PNP_ADMM, "fista": lib.LARMOR_PNP_FISTA, "red": lib.LARMOR_PNP_RED}
_PNP_ENDS = {lib.LARMOR_PNP_END_TOLERANCE: "tolerance", lib.LARMOR_PNP_END_NOISE: "noise",
             lib.LARMOR_PNP_END_ITERATIONS: "iterations"}


@dataclass(frozen=True)
class PnpReport:
    """Of a run with a denoiser: `end` says why it ended, "tolerance", "noise", "iterations" or "stopped"."""

    iterations: int
    denoised: int  # calls of the denoiser
    normals: int  # calls of A^H A
    change: float  # by the last iteration, over |x|
    residual: float  # |A x - b|
    split: float  # of admm: between the image of the data and that of the denoiser, over their size
    weight: float
    sigma: float
    seconds: float
    end: str


@_solver("50", more=_INNER)
def pnp(A: Operator, b: Array, denoiser: _prior.Denoiser | DenoiserFunction | Path, x0: Array | None = None, *,
        sigma: float, method: str = "admm", iterations: int = 0, tol: float | None = None, noise: float = 0,
        first: float = 0, falling: int = 0, weight: float = 0, deviation: float = 0, largest: float = 0,
        inner: int = 0, precondition: OperatorLike | None = None, circulant: Circulant | None = None,
        monitor: Monitor | None = None) -> tuple[Native, PnpReport]:
    """An image that the data and a denoiser agree on (plug and play).

    denoiser   a function of x and sigma, a `larmor.prior.Denoiser`, or the path of a plugin. An exception of the
               function ends the run and is that of this call.
    sigma      what the denoiser is told, in x's unit; begins with `first`, and falls within `falling` iterations.
    method     "admm", "fista", or "red", regularisation by denoising.
    weight     of the denoiser beside the data, in the unit of A^H A; default: (deviation / sigma)^2 where the
               deviation of the noise in the real and in the imaginary part of a number of b is given, else the
               largest eigenvalue of A^H A, which is the least for fista.
    noise      end where |A x - b| is at most this: the norm of the noise in b.
    """
    _library.answer_ctrl_c()
    if method not in _PNP:
        raise _library.ArgumentError(f"method: got {method!r}, expected one of {', '.join(_PNP)}")
    d = _prior._taken(denoiser, b)
    b = _arrays.as_input(b, A.dtype, name="b")
    x = _arrays.empty(b, A.in_shape, A.dtype)
    x[...] = 0
    if x0 is not None:
        x[...] = _arrays.as_input(_shaped(x0, A.in_shape, "x0"), A.dtype, name="x0")
    opts = ffi.new("larmor_pnp_opts *", {"method": _PNP[method], "max_iter": iterations, "tol": _tol(tol),
                                         "noise": noise, "sigma": sigma, "first": first, "falling": falling,
                                         "weight": weight, "deviation": deviation, "largest": largest,
                                         "inner": inner})
    _kept = _preconditioned(opts, A, precondition, circulant)
    handle = ffi.new_handle(monitor)
    if monitor is not None:
        opts.monitor = _monitor
        opts.user = handle
    info = ffi.new("larmor_pnp_info *")
    end = ""
    try:
        with A.device.turn:
            stream = _arrays.memory(b).stream if A.device.is_gpu else None
            if stream is not None:
                A.device.use_stream(stream)
            d._check(lib.larmor_solve_pnp(A._op, _arrays.wrap(b, A.device), d._denoiser,
                                          _arrays.wrap(x, A.device, write=True), opts, info))
    except Stopped:
        end = "stopped"
    return x, PnpReport(info.iters, info.denoised, info.normals, info.change, info.residual, info.split, info.weight,
                        info.sigma, info.seconds, end or _PNP_ENDS.get(info.end, ""))


def largest_eigenvalue(A: OperatorLike, iterations: int = 0) -> float:
    """Of A^H A, from below, by the power method."""
    _library.answer_ctrl_c()
    op = as_operator(A)
    value = ffi.new("double *")
    check(lib.larmor_opnorm(op._op, iterations, value))
    return float(np.float64(value[0]))


@overload
def power_method(A: OperatorLike, x0: NDArray[Any] | None = None, *, iterations: int = 30, tol: float = 1e-4,
                 seed: int = 1, monitor: Monitor | None = None) -> tuple[float, Complexes, Report]: ...


@overload
def power_method(A: OperatorLike, x0: ArrayT, *, iterations: int = 30, tol: float = 1e-4, seed: int = 1,
                 monitor: Monitor | None = None) -> tuple[float, ArrayT, Report]: ...


def power_method(A: OperatorLike, x0: Array | None = None, *, iterations: int = 30, tol: float = 1e-4, seed: int = 1,
                 monitor: Monitor | None = None) -> tuple[float, Native, Report]:
    """The largest eigenvalue of A^H A from below, its eigenvector of norm 1, and a report.

    x0   where it begins; default: noise. tol: of the residual |A^H A x - value x| / value, which monitors see; their
         objective is the value.
    """
    began = time.perf_counter()
    op = as_operator(A)
    x: Native = noise(op.in_shape, seed=seed, dtype=op.dtype)
    if x0 is not None:
        x = _arrays.as_input(x0, op.dtype, name="x0")
    x = x / _norm(x)
    value, residual, end, i = 0.0, math.inf, "iterations", 0
    for i in range(1, iterations + 1):
        z = op.normal(x)
        value = float((x.conj() * z).real.sum())
        if not math.isfinite(value):
            raise _library.NumericError(f"power_method: A^H A x is not finite in iteration {i}")
        residual = _norm(z - value * x) / value if value > 0 else 0.0
        if monitor is not None and monitor(Progress(i, iterations, residual, value, time.perf_counter() - began, x)):
            end = "stopped"
            break
        if residual <= tol:
            end = "tolerance"
            break
        x = z / _norm(z)
    return value, x, Report(i, residual, value, time.perf_counter() - began, end)


def _norm(x: Native) -> float:
    """The norm of all numbers together."""
    return math.sqrt(float((x.real ** 2 + x.imag ** 2).sum()))


@_solver("30", tol="1e-3")
def pocs(A: Operator, b: Array, phase: Array, x0: Array | None = None, *, iterations: int = 0,
         tol: float | None = None, lam: float = 0, monitor: Monitor | None = None) -> tuple[Native, Report]:
    """Projections in turn, for partial Fourier scans: onto the images of a given phase, and from there to the nearest
    image that explains the data.

    phase  [image...], complex numbers of magnitude 1, as `larmor.centre_phase` finds them.
    x0     an image, such as `cg` makes. lam: of the second step.
    """
    phase = _arrays.wrap(_arrays.as_input(phase, A.dtype, name="phase"), A.device, keep=True)
    return _solve(lib.larmor_pocs, A, b, x0, (phase,), iterations, tol, lam, monitor)


# ---- preconditioners ----


def _type_of(maps: Native, dtype: DType | None) -> Any:
    """The type that is asked for, else that of the maps."""
    return dtype or (np.complex128 if _arrays.is_double(maps) else np.complex64)


class Circulant(_arguments.Made):
    """The circulant matrix that is nearest to A^H A of non-Cartesian SENSE: for `admm`, `regularised`,
    `choose_weight`, and by `inverse` a preconditioner of `cg` and `pdhg`.

    points   [readouts, samples, ndim], cycles per field of view.
    shape    of the image.
    maps     [coils, image...]; default: one coil of sensitivity 1.
    weights  [readouts, samples], those of A.
    dtype    default: that of complex maps, else complex64.
    """

    def __init__(self, points: Array, shape: Sequence[int], *, maps: Array | None = None,
                 weights: Array | None = None, dtype: DType | None = None,
                 device: str | Device | None = None) -> None:
        _arguments.made_by(self, Circulant, points, shape, maps=maps, weights=weights, dtype=dtype, device=device)
        points = _traj(points)
        dtype = _type_of(maps, dtype)
        self.device: Device = _arrays.device_of(points) if device is None else _arrays.device(device)
        m = ffi.NULL
        if maps is not None:
            m = _arrays.wrap(_arrays.as_input(maps, dtype, name="maps"), self.device, keep=True)
        w = ffi.NULL if weights is None else _arrays.wrap(_real(weights), self.device, keep=True)
        self._circulant = _library.created(lib.larmor_circulant_create, "larmor_circulant", lib.larmor_circulant_free,
                                           m, _arrays.wrap(points, self.device, keep=True), w,
                                           _arrays.shape_of(tuple(shape)), _arrays.dtype_number(dtype))

    def inverse(self, lam: float = 0, *, K: Operator | None = None, penalty: float = 0) -> Operator:
        """Close to the inverse of A^H A + lam + penalty K^H K: positive and self-adjoint; without K: penalty I."""
        made = _op(lib.larmor_circulant_inverse, self.device, self._circulant, lam, K._op if K else ffi.NULL, penalty)
        return _arguments.made_by(made, Circulant.inverse, self, lam, K=K, penalty=penalty)


def precondition_kspace(points: Array, shape: Sequence[int], *, maps: Array | None = None, lam: float = 0,
                        dtype: DType | None = None, device: str | Device | None = None) -> Floats:
    """Weights for `lsmr` that make it converge in few iterations: [readouts, samples], with maps [coils, readouts,
    samples]. The others are those of Circulant."""
    _library.answer_ctrl_c()
    dtype = _type_of(maps, dtype)
    points = _traj(points)
    on = _arrays.device_of(points) if device is None else _arrays.device(device)
    m = ffi.NULL if maps is None else _arrays.wrap(_arrays.as_input(maps, dtype, name="maps"), on, keep=True)
    out = ffi.new("larmor_array **")
    check(lib.larmor_precondition_kspace(m, _arrays.wrap(points, on), _arrays.shape_of(tuple(shape)),
                                         _arrays.dtype_number(dtype), lam, out))
    return _arrays.to_numpy(out[0])


# ---- the weight of a penalty, from the data ----


@dataclass(frozen=True)
class Choice:
    """Of a weight: how many were tried, in how many iterations of the solver."""

    weight: float  # absolute
    tried: int
    iterations: int
    seconds: float
    # the part of the samples held out, beyond their noise, that the best image predicts; 1: none are
    predicted: float
    intensity: float  # of the object, the part that the image has, as the samples held out have it; 0: not measured


def lambda_unit(A: Operator, b: Array) -> float:
    """The absolute weight that a relative one of 1 stands for: the typical magnitude of A^H b."""
    _library.answer_ctrl_c()
    unit = ffi.new("double *")
    check(lib.larmor_lambda_unit(A._op, _arrays.wrap(_arrays.as_input(b, A.dtype, name="b"), A.device), unit))
    return float(unit[0])


def hold_out(points: Array, circulant: Circulant, *, weights: Array | None = None,
             seed: int = 1) -> tuple[Floats, Floats]:
    """A tenth of the samples, to choose a weight by: weights [readouts, samples] for the operator of
    `choose_weight`'s `held`, 0 where samples are held out, and its factors, 0 where they are not."""
    _library.answer_ctrl_c()
    on = circulant.device
    w = ffi.NULL if weights is None else _arrays.wrap(_real(weights), on)
    out = ffi.new("larmor_array *[2]")
    check(lib.larmor_hold_out(_arrays.wrap(_traj(points), on), w, circulant._circulant, seed, out, out + 1))
    kept, factors = _arrays.to_numpy(out[0]), _arrays.to_numpy(out[1])
    return kept, np.sqrt(factors)


def choose_weight(A: Operator, b: Array, held: Operator, factors: Array, circulant: Circulant,
                  name: str | None = None, *, noise: Array | None = None, series: bool = False, time: float = 0,
                  ratio: float = 0, block: Sequence[int] = (), voxel: Sequence[float] = (), penalty: float = 0,
                  inner: int = 0, monitor: Monitor | None = None) -> Choice:
    """The weight whose image from the samples that are kept best predicts those that are held out.

    held       A with weights of 0 for the samples that are held out, as `hold_out` gives them.
    factors    of the residuals there, which fit b's shape by NumPy's rules.
    circulant  of A^H A, for a series that of one frame.
    name       of the penalty of `regularised`, whose `weight` this is; None: of `cg`, whose `lam` it is.
    noise      like b, as strong as that of b: where the search begins.
    """
    _library.answer_ctrl_c()
    b = _arrays.as_input(b, A.dtype, name="b")
    spread = np.ascontiguousarray(np.broadcast_to(np.asarray(factors), tuple(b.shape)).astype(A.dtype))
    r = ffi.NULL if name is None else _regulariser(A, name, None, series, time, ratio, block, voxel)
    keep = [_arrays.wrap(spread, A.device)]
    with_held = ffi.new("larmor_held_out *", {"A": held._op, "factors": keep[0]})
    if noise is not None:
        keep.append(_arrays.wrap(_arrays.as_input(noise, A.dtype, name="noise"), A.device))
        with_held.noise = keep[1]
    opts = ffi.new("larmor_solve_opts *", {"penalty": penalty, "inner": inner})
    handle = ffi.new_handle(monitor)
    if monitor is not None:
        opts.monitor = _monitor
        opts.user = handle
    choice = ffi.new("larmor_choice *")
    check(lib.larmor_choose_weight(A._op, _arrays.wrap(b, A.device), with_held, circulant._circulant, r, opts,
                                   choice))
    return Choice(choice.weight, choice.tried, choice.iters, choice.seconds, choice.predicted, choice.intensity)


def weight_of_noise(A: Operator, b: Array, noise: Array, name: str | None = None, *, series: bool = False,
                    time: float = 0, ratio: float = 0, block: Sequence[int] = (),
                    voxel: Sequence[float] = ()) -> float:
    """The weight that is expected from a sample of noise like b, independent of b's but as strong; name as of
    `choose_weight`."""
    _library.answer_ctrl_c()
    r = ffi.NULL if name is None else _regulariser(A, name, None, series, time, ratio, block, voxel)
    weight = ffi.new("double *")
    check(lib.larmor_weight_of_noise(A._op, _arrays.wrap(_arrays.as_input(b, A.dtype, name="b"), A.device),
                                     _arrays.wrap(_arrays.as_input(noise, A.dtype, name="noise"), A.device), r,
                                     weight))
    return float(weight[0])


def noise(shape: Sequence[int], deviation: float = 1, *, seed: int = 1, dtype: DType = np.complex64) -> Complexes:
    """Independent complex numbers whose real and imaginary parts have this standard deviation, uniformly distributed;
    the same seed gives the same numbers everywhere."""
    x = np.zeros(tuple(shape), dtype)
    check(lib.larmor_noise_fill(_arrays.wrap(x, _arrays.device("cpu"), write=True), deviation, seed))
    return x


def noise_left(A: Operator, b: Array, noise: Array, factors: Array) -> float:
    """How much of the noise there is in data of several coils, at most 1, by what no image explains of them.

    noise    like b, as strong as it is thought to be.
    factors  which fit b's shape by NumPy's rules, not alike in all coils: 1 and -1 in turn, for example.
    """
    _library.answer_ctrl_c()
    b = _arrays.as_input(b, A.dtype, name="b")
    spread = np.ascontiguousarray(np.broadcast_to(np.asarray(factors), tuple(b.shape)).astype(A.dtype))
    factor = ffi.new("double *")
    check(lib.larmor_noise_left(A._op, _arrays.wrap(b, A.device),
                                _arrays.wrap(_arrays.as_input(noise, A.dtype, name="noise"), A.device),
                                _arrays.wrap(spread, A.device), factor))
    return float(factor[0])


_arguments.check_all(globals())
