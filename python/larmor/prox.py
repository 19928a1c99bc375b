"""Proximal maps z = argmin g(z) + |z - x|^2 / (2 t), larmor's and your own, for the solvers of larmor.solve.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from larmor import _arguments, _arrays, _library
from larmor._arrays import Device, Native
from larmor._library import ArgumentError, check, ffi, lib
from larmor.typing import Array, ArrayT, Complexes, DType

__all__ = ["Function", "Prox", "box", "conjugate", "group_l1", "l1", "l2", "l2_ball", "linf_ball", "nonnegative",
           "nuclear", "real", "simplex", "square", "stack", "support", "translate"]


class Prox(_arguments.Made):
    """The proximal map of a function g of complex arrays; made by the functions of this module. Threads that share
    one take turns."""

    def __init__(self, pointer: Any, device: Device, name: str = "function") -> None:
        self._prox = pointer
        self.device = device
        self.name = name
        self.shape: tuple[int, ...] = _arrays.dims(lib.larmor_prox_shape(pointer))
        self.dtype: Any = _arrays.dtype_name(lib.larmor_prox_dtype(pointer))

    def __repr__(self) -> str:
        return f"<larmor prox {self.name} {self.shape} {self.dtype} {self.device.spec}>"

    @overload
    def __call__(self, t: float, x: NDArray[Any]) -> Complexes: ...

    @overload
    def __call__(self, t: float, x: ArrayT) -> ArrayT: ...

    def __call__(self, t: float, x: Array) -> Native:
        """argmin over z of g(z) + |z - x|^2 / (2 t)."""
        _library.answer_ctrl_c()
        x = _arrays.as_input(x, self.dtype)
        out = _arrays.empty(x, x.shape, self.dtype)
        with self.device.turn:
            check(lib.larmor_prox_apply(self._prox, t, _arrays.wrap(x, self.device),
                                        _arrays.wrap(out, self.device, write=True)))
        return out

    def value(self, x: Array) -> float:
        """g(x)."""
        _library.answer_ctrl_c()
        value = ffi.new("double *")
        with self.device.turn:
            check(lib.larmor_prox_value(self._prox, _arrays.wrap(_arrays.as_input(x, self.dtype), self.device),
                                        value))
        return float(value[0])


def _checked(g: Any, name: str = "g") -> Prox:
    """g, which must be a proximal map."""
    if not isinstance(g, Prox):
        raise ArgumentError(f"{name}: got {type(g).__name__}, expected a map of larmor.prox")
    return g


def _radius(radius: float) -> float:
    if not (radius >= 0 and np.isfinite(radius)):
        raise ArgumentError(f"radius: got {radius}, expected a finite number >= 0")
    return radius


def _made(name: str, on: Device, function: Any, *arguments: Any) -> Prox:
    return Prox(_library.created(function, "larmor_prox", lib.larmor_prox_free, *arguments), on, name)


def l1(shape: Sequence[int], weight: float = 1, *, dtype: DType = np.complex64,
       device: str | Device | None = None) -> Prox:
    """g = weight sum |x|."""
    on = _arrays.device(device)
    return _made("l1", on, lib.larmor_prox_l1, on.pointer, weight, _arrays.dtype_number(dtype),
                 _arrays.shape_of(tuple(shape)))


def group_l1(shape: Sequence[int], weight: float = 1, *, dtype: DType = np.complex64,
             device: str | Device | None = None) -> Prox:
    """g = weight sum of the norms along axis 0: of a gradient, isotropic total variation."""
    on = _arrays.device(device)
    return _made("group_l1", on, lib.larmor_prox_group_l1, on.pointer, weight, _arrays.dtype_number(dtype),
                 _arrays.shape_of(tuple(shape)))


def l2(shape: Sequence[int], weight: float = 1, *, dtype: DType = np.complex64,
       device: str | Device | None = None) -> Prox:
    """g = weight |x|, the norm of all numbers together."""
    on = _arrays.device(device)
    return _made("l2", on, lib.larmor_prox_l2, on.pointer, weight, _arrays.dtype_number(dtype),
                 _arrays.shape_of(tuple(shape)))


def square(shape: Sequence[int], weight: float = 1, *, dtype: DType = np.complex64,
           device: str | Device | None = None) -> Prox:
    """g = weight |x|^2 / 2."""
    on = _arrays.device(device)
    return _made("square", on, lib.larmor_prox_square, on.pointer, weight, _arrays.dtype_number(dtype),
                 _arrays.shape_of(tuple(shape)))


def box(shape: Sequence[int], low: float, high: float, *, dtype: DType = np.complex64,
        device: str | Device | None = None) -> Prox:
    """The set of real numbers from low to high: the map is the projection onto it, and g counts as 0 everywhere."""
    on = _arrays.device(device)
    return _made("box", on, lib.larmor_prox_box, on.pointer, low, high, _arrays.dtype_number(dtype),
                 _arrays.shape_of(tuple(shape)))


def nonnegative(shape: Sequence[int], *, dtype: DType = np.complex64, device: str | Device | None = None) -> Prox:
    """The set of real numbers of 0 and more, as `box`."""
    return box(shape, 0, np.inf, dtype=dtype, device=device)


def real(shape: Sequence[int], *, dtype: DType = np.complex64, device: str | Device | None = None) -> Prox:
    """The set of real numbers, as `box`."""
    return box(shape, -np.inf, np.inf, dtype=dtype, device=device)


def support(mask: Array, shape: Sequence[int] | None = None, *, dtype: DType = np.complex64,
            device: str | Device | None = None) -> Prox:
    """The set of arrays that are 0 where the mask, of the last axes of shape, is: the map is the projection onto
    it."""
    on = _arrays.device(device)
    own = _arrays.as_input(mask != 0 if isinstance(mask, np.ndarray) else mask, np.float32, name="mask")
    return _made("support", on, lib.larmor_prox_support, _arrays.wrap(own, on), _arrays.dtype_number(dtype),
                 _arrays.shape_of(tuple(own.shape if shape is None else shape)))


def translate(g: Prox, centre: Array) -> Prox:
    """g(x - centre)."""
    return _made("translate", _checked(g).device, lib.larmor_prox_translate, g._prox,
                 _arrays.wrap(_arrays.as_input(centre, g.dtype, name="centre"), g.device))


def conjugate(g: Prox) -> Prox:
    """The convex conjugate g*(x) = max over z of Re <x, z> - g(z), by Moreau's identity: x - t p, where p is the map
    of g with 1 / t at x / t. Its value is that at x or, where g* is infinite there, at a point near x."""
    return _made("conjugate", _checked(g).device, lib.larmor_prox_conjugate, g._prox)


def linf_ball(shape: Sequence[int], radius: float = 1, *, dtype: DType = np.complex64,
              device: str | Device | None = None) -> Prox:
    """The set of arrays whose magnitudes are at most the radius: the conjugate of `l1` with that weight."""
    return conjugate(l1(shape, _radius(radius), dtype=dtype, device=device))


def l2_ball(shape: Sequence[int], radius: float = 1, centre: Array | None = None, *, dtype: DType = np.complex64,
            device: str | Device | None = None) -> Prox:
    """The set of arrays whose distance from the centre, as a norm of all numbers, is at most the radius: |x - b| up
    to what noise makes of b, for example."""
    ball = conjugate(l2(shape, _radius(radius), dtype=dtype, device=device))
    return ball if centre is None else translate(ball, centre)


def simplex(shape: Sequence[int], sum: float = 1, *, dtype: DType = np.complex64,
            device: str | Device | None = None) -> Prox:
    """The set of real numbers of 0 and more with this sum, above 0, as `box`."""
    on = _arrays.device(device)
    return _made("simplex", on, lib.larmor_prox_simplex, on.pointer, sum, _arrays.dtype_number(dtype),
                 _arrays.shape_of(tuple(shape)))


def nuclear(shape: Sequence[int], weight: float = 1, *, dtype: DType = np.complex64,
            device: str | Device | None = None) -> Prox:
    """g = weight times the sum of the singular values of a matrix [rows, columns], or of each of several [matrices,
    rows, columns], as `larmor.linop.casorati` makes them."""
    on = _arrays.device(device)
    return _made("nuclear", on, lib.larmor_prox_nuclear, on.pointer, weight, _arrays.dtype_number(dtype),
                 _arrays.shape_of(tuple(shape)))


def stack(parts: Sequence[Prox]) -> Prox:
    """The sum of functions of ranges of axis 0, in their order."""
    parts = [_checked(part, "parts") for part in parts]
    if not parts:
        raise ArgumentError("parts: got none, expected one proximal map or more")
    pointers = ffi.new("larmor_prox *[]", [p._prox for p in parts])
    return _made("stack", parts[0].device, lib.larmor_prox_stack, pointers, len(parts))


class _Own:
    def __init__(self, apply: Any, value: Any, name: Any) -> None:
        self.apply, self.value, self.name = apply, value, name


@_library.guarded("larmor_status(*)(void *, double, const larmor_array *, larmor_array *)")
def _own_apply(me: Any, t: float, x: Any, z: Any) -> None:
    _arrays.put(_arrays.view(z), _library.held(me).apply(t, _arrays.view(x)), "apply")


@_library.guarded("larmor_status(*)(void *, const larmor_array *, double *)")
def _own_value(me: Any, x: Any, g: Any) -> None:
    g[0] = float(_library.held(me).value(_arrays.view(x)))


def Function(apply: Callable[[float, Array], Array], value: Callable[[Array], float], shape: Sequence[int], *,
             name: str = "function", dtype: DType = np.complex64, device: str | Device | None = None) -> Prox:
    """A proximal map of your own: apply(t, x) returns z, value(x) returns g(x).

    The arrays, NumPy's or on a GPU CuPy's, may be read during the call alone. An exception ends the solver and
    reaches its caller.
    """
    for what, function in (("apply", apply), ("value", value)):
        if not callable(function):
            raise ArgumentError(f"{what}: got {type(function).__name__}, expected a function")
    on = _arrays.device(device)
    label = ffi.new("char[]", name.encode())
    impl = ffi.new("larmor_prox_impl *", {"name": label, "apply": _own_apply, "value": _own_value,
                                          "destroy": _library.release_handle})
    me = _library.hold(_Own(apply, value, label))
    try:
        return _made(name, on, lib.larmor_prox_create, on.pointer, impl, me, _arrays.dtype_number(dtype),
                     _arrays.shape_of(tuple(shape)))
    except BaseException:
        _library.let_go(me)
        raise


_arguments.check_all(globals(), _arguments.remembered)
