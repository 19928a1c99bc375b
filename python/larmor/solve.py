"""Solvers: what each minimises, its steps and when it stops is in docs/solvers.md.

Each returns the solution and a Report. A monitor is called after each iteration with a Progress, and stops the solver
by returning True; the solution is then the iterate that was reached. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from larmor import _arrays, _library
from larmor._arrays import Array
from larmor._library import Stopped, check, ffi, lib
from larmor.linop import Operator
from larmor.prox import Prox

__all__ = ["Progress", "Report", "admm", "cg", "largest_eigenvalue", "lsmr", "pdhg", "regularised", "regularisers"]

Monitor = Callable[["Progress"], Any]


@dataclass(frozen=True)
class Progress:
    """Of an iteration."""

    iteration: int
    iterations: int
    residual: float
    objective: float
    seconds: float
    x: Array  # the iterate; to be read during the call alone


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


@ffi.callback("int(void *, const larmor_progress *)", error=1)  # type: ignore[untyped-decorator]
def _monitor(user: Any, p: Any) -> int:
    try:
        progress = Progress(p.iter, p.max_iter, p.residual, p.objective, p.seconds, _arrays.view(p.x))
        return int(bool(_library.held(user)(progress)))
    except BaseException as raised:
        _library.keep_exception(raised)
        return 1


def _solve(function: Any, A: Operator, b: Array, x0: Array, extra: Sequence[Any], iterations: int, tol: float,
           lam: float, monitor: Monitor | None, precondition: Operator | None = None,
           **members: Any) -> tuple[Array, Report]:
    _library.answer_ctrl_c()
    b = _arrays.as_input(b, A.dtype)
    if x0 is None:
        x = _arrays.empty(b, A.in_shape, A.dtype)
        x[...] = 0
    else:
        x0 = _arrays.as_input(x0, A.dtype)
        x = _arrays.empty(x0, x0.shape, A.dtype)
        x[...] = x0
    if A.device.is_gpu:
        stream = _arrays.memory(b).stream
        if stream is not None:
            A.device.use_stream(stream)
    opts = ffi.new("larmor_solve_opts *", {"max_iter": iterations, "tol": tol, "lambda": lam, **members})
    if precondition is not None:
        opts.precondition = precondition._op
    handle = ffi.new_handle(monitor)
    if monitor is not None:
        opts.monitor = _monitor
        opts.user = handle
    report = ffi.new("larmor_report *")
    stopped = False
    try:
        check(function(A._op, _arrays.wrap(b, A.device), *extra, _arrays.wrap(x, A.device, write=True), opts, report))
    except Stopped:
        stopped = True
    end = "stopped" if stopped else _ENDS.get(report.end, "")
    return x, Report(report.iters, report.residual, report.objective, report.seconds, end)


def cg(A: Operator, b: Array, x0: Array = None, *, iterations: int = 0, tol: float = 0, lam: float = 0,
       precondition: Operator | None = None, monitor: Monitor | None = None) -> tuple[Array, Report]:
    """min |A x - b|^2 + lam |x|^2 by conjugate gradients."""
    return _solve(lib.larmor_cg, A, b, x0, (), iterations, tol, lam, monitor, precondition)


def lsmr(A: Operator, b: Array, x0: Array = None, *, weights: Array = None, iterations: int = 0, tol: float = 0,
         lam: float = 0, monitor: Monitor | None = None) -> tuple[Array, Report]:
    """min |A x - b|_W^2 + lam |x|^2 by LSMR; weights are real, above 0, of the last axes of b."""
    members: dict[str, Any] = {}
    if weights is not None:
        weights = _arrays.as_input(weights)
        members["weights"] = _arrays.wrap(weights, A.device)
    return _solve(lib.larmor_lsmr, A, b, x0, (), iterations, tol, lam, monitor, **members)


def _proximal(function: Any, A: Operator, b: Array, g: Prox, K: Operator | None, x0: Array, **more: Any) -> Any:
    return _solve(function, A, b, x0, (K._op if K is not None else ffi.NULL, g._prox), **more)


def admm(A: Operator, b: Array, g: Prox, K: Operator | None = None, x0: Array = None, *, iterations: int = 0,
         tol: float = 0, lam: float = 0, penalty: float = 0, inner: int = 0, precondition: Operator | None = None,
         monitor: Monitor | None = None) -> tuple[Array, Report]:
    """min 1/2 |A x - b|^2 + lam/2 |x|^2 + g(K x) by alternating directions; without K: g(x)."""
    done: tuple[Array, Report] = _proximal(lib.larmor_admm, A, b, g, K, x0, iterations=iterations, tol=tol, lam=lam,
                                           monitor=monitor, precondition=precondition, penalty=penalty, inner=inner)
    return done


def pdhg(A: Operator, b: Array, g: Prox, K: Operator | None = None, x0: Array = None, *, iterations: int = 0,
         tol: float = 0, lam: float = 0, penalty: float = 0, precondition: Operator | None = None,
         monitor: Monitor | None = None) -> tuple[Array, Report]:
    """The same by primal-dual splitting."""
    done: tuple[Array, Report] = _proximal(lib.larmor_pdhg, A, b, g, K, x0, iterations=iterations, tol=tol, lam=lam,
                                           monitor=monitor, precondition=precondition, penalty=penalty)
    return done


def regularisers() -> list[str]:
    """The names that `regularised` knows."""
    names: list[str] = []
    while (name := lib.larmor_regulariser_entry(len(names)).name) != ffi.NULL:
        names.append(ffi.string(name).decode())
    return names


def regularised(A: Operator, b: Array, name: str, x0: Array = None, *, lam: float | None = None, series: bool = False,
                time: float = 0, ratio: float = 0, block: Sequence[int] = (), iterations: int = 0, tol: float = 0,
                tikhonov: float = 0, monitor: Monitor | None = None) -> tuple[Array, Report]:
    """min 1/2 |A x - b|^2 + weight R(x) with a penalty by name, by the solver that suits it.

    lam     relative to the typical magnitude of A^H b; None: the regulariser's own; 0: no penalty.
    series  axis 0 counts frames.
    """
    given = 0.0 if lam is None else (lam if lam > 0 else -1.0)
    if lam is not None and not (lam >= 0 and math.isfinite(lam)):
        given = math.nan  # which larmor refuses with its message
    opts = ffi.new("larmor_regulariser_opts *", {"lambda": given, "series": series, "time": time, "ratio": ratio,
                                                 "block": list(block[::-1])})
    r = _library.created(lib.larmor_regulariser_create, "larmor_regulariser", lib.larmor_regulariser_free,
                         A.device.pointer, name.encode(), opts, lib.larmor_op_dtype(A._op),
                         lib.larmor_op_in_shape(A._op))
    return _solve(lib.larmor_regularised, A, b, x0, (r,), iterations, tol, tikhonov, monitor)


def largest_eigenvalue(A: Operator, iterations: int = 0) -> float:
    """Of A^H A, from below, by the power method."""
    _library.answer_ctrl_c()
    value = ffi.new("double *")
    check(lib.larmor_opnorm(A._op, iterations, value))
    return float(np.float64(value[0]))
