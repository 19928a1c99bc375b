"""Linear operators: larmor's own, those that are composed of others, and those written in Python.

An operator maps arrays of in_shape to arrays of out_shape, both complex.

    A @ x      A x, where x may have leading axes of a batch only if the operator has them; A * x is the same
    A.H @ y    the adjoint          A.N @ x    A^H A x, by the quicker way where there is one
    A.T @ y    the transpose        A[...]     the part of A x that NumPy's index takes
    A @ B      the product          A + B, 2j * A, A / 2, -A, A ** 3

A flat vector of the right length is taken as its array, and the result is flat then.

An operator computes in its own precision, that of its maps or dtype. Real arrays, lists, points, weights, fields and
bases are taken to it; other arrays of complex128 are refused where it is complex64.
A tensor of PyTorch that requires a gradient gets one. Threads that share an operator take turns.
Operators have `shape`, `matvec` and `rmatvec`, so that SciPy's solvers take them as they are; PyLops's take those of
larmor.pylops. Solvers are in larmor.solve, proximal maps in larmor.prox. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from larmor import _arrays
from larmor import nufft as _nufft
from larmor._arguments import Made, made_by, remembered
from larmor._arrays import Device, Native
from larmor._library import (
    ArgumentError,
    ShapeError,
    answer_ctrl_c,
    check,
    created,
    ffi,
    guarded,
    held,
    hold,
    let_go,
    lib,
    release_handle,
    text,
)
from larmor.typing import Array, ArrayLike, ArrayT, Complexes, DType, Index, Integers, OperatorLike

__all__ = ["Function", "Operator", "Segments", "as_operator", "basis_factors", "block_diag", "cartesian",
           "cartesian_normal", "casorati", "coils", "diag", "distribute", "embed", "fft", "frames", "gradient",
           "hstack", "identity", "mask", "nufft", "off_resonance", "phase", "reshape", "segments",
           "segments_toeplitz", "sense", "shift_wavelet", "stack", "stack_of_stars", "subspace", "subspace_sense",
           "symmetrised_gradient", "take", "toeplitz", "toeplitz_mixed", "vstack", "wavelet", "weights"]

_MAP = "larmor_status(*)(void *, const larmor_array *, larmor_array *)"


def _entry(name: str) -> Any:
    """A function of the library as a member of larmor_op_impl: an operator's pointer is what it is given as self."""
    return ffi.cast(_MAP, ffi.addressof(lib, name))


def _free() -> Any:
    return ffi.cast("void(*)(void *)", ffi.addressof(lib, "larmor_op_free"))


def _member(op: Operator, name: str) -> Operator:
    """A.H, A.T, A.N or A.conj()."""
    return op.conj() if name == "conj" else {"H": Operator.H, "N": Operator.N, "T": Operator.T}[name].__get__(op)


_MAPS = {"forward": lib.larmor_op_forward, "adjoint": lib.larmor_op_adjoint, "normal": lib.larmor_op_normal}


class Operator(Made):
    """A linear operator; made by the functions of this module. Threads that share one take turns."""

    device: Device
    in_shape: tuple[int, ...]
    out_shape: tuple[int, ...]
    dtype: np.dtype[Any]
    name: str
    # NumPy's arrays leave `array * A` and `array @ A` to the operator, which refuses them
    __array_ufunc__: None = None

    def __init__(self, pointer: Any, device: Device) -> None:
        self._op = pointer
        self.device = device
        self.in_shape = _arrays.dims(lib.larmor_op_in_shape(pointer))
        self.out_shape = _arrays.dims(lib.larmor_op_out_shape(pointer))
        self.dtype = _arrays.dtype_name(lib.larmor_op_dtype(pointer))
        self.name = text(lib.larmor_op_name(pointer))

    def __repr__(self) -> str:
        return f"<larmor operator {self.name} {self.in_shape} -> {self.out_shape} {self.dtype} {self.device.spec}>"

    @property
    def shape(self) -> tuple[int, int]:
        """Of the matrix, as SciPy has it: numbers out, numbers in."""
        return (math.prod(self.out_shape), math.prod(self.in_shape))

    @property
    def ishape(self) -> list[int]:
        """in_shape as SigPy calls it."""
        return list(self.in_shape)

    @property
    def oshape(self) -> list[int]:
        """out_shape as SigPy calls it."""
        return list(self.out_shape)

    @property
    def dims(self) -> tuple[int, ...]:
        """in_shape as PyLops calls it."""
        return self.in_shape

    @property
    def dimsd(self) -> tuple[int, ...]:
        """out_shape as PyLops calls it."""
        return self.out_shape

    def _run(self, way: str, x: Native, before: tuple[int, ...], after: tuple[int, ...], out: Native) -> Native:
        answer_ctrl_c()
        if _arrays.wants_gradient(x):
            if out is not None:
                raise ArgumentError(f"{self.name}: out is given for a tensor that requires a gradient; leave it out, "
                                    "or hand in x.detach()")
            from larmor import torch as with_gradient

            return with_gradient.apply(self, x, way)
        x = _arrays.as_input(x, self.dtype, name=self.name)
        if tuple(x.shape) != before:
            raise ShapeError(f"{self.name}: got an array of shape {tuple(x.shape)}, expected {before}")
        if out is None:
            out = _arrays.empty(x, after, self.dtype)
        elif tuple(out.shape) != after:
            raise ShapeError(f"{self.name}: got an output of shape {tuple(out.shape)}, expected {after}")
        elif _arrays.dtype_of(out) != self.dtype:
            raise ShapeError(f"{self.name}: got an output of {out.dtype}, expected {self.dtype}")
        _arrays.run_on(_MAPS[way], self._op, self.device, x, out)
        return out

    @overload
    def forward(self, x: NDArray[Any], out: Array | None = None) -> Complexes: ...

    @overload
    def forward(self, x: ArrayT, out: Array | None = None) -> ArrayT: ...

    def forward(self, x: Array, out: Array | None = None) -> Native:
        """A x."""
        return self._run("forward", x, self.in_shape, self.out_shape, out)

    @overload
    def adjoint(self, y: NDArray[Any], out: Array | None = None) -> Complexes: ...

    @overload
    def adjoint(self, y: ArrayT, out: Array | None = None) -> ArrayT: ...

    def adjoint(self, y: Array, out: Array | None = None) -> Native:
        """A^H y."""
        return self._run("adjoint", y, self.out_shape, self.in_shape, out)

    @overload
    def normal(self, x: NDArray[Any], out: Array | None = None) -> Complexes: ...

    @overload
    def normal(self, x: ArrayT, out: Array | None = None) -> ArrayT: ...

    def normal(self, x: Array, out: Array | None = None) -> Native:
        """A^H A x."""
        return self._run("normal", x, self.in_shape, self.in_shape, out)

    __call__ = forward

    def _other(self, name: str, forward: str, adjoint: str, before: Any, after: Any) -> Operator:
        label = ffi.new("char[]", name.encode())
        impl = ffi.new("larmor_op_impl *", {"name": label, "forward": _entry(forward), "adjoint": _entry(adjoint),
                                            "destroy": _free()})
        mine = lib.larmor_op_ref(self._op)
        try:
            made = created(lib.larmor_op_create, "larmor_op", lib.larmor_op_free, self.device.pointer, impl,
                           ffi.cast("void *", mine), lib.larmor_op_dtype(mine), _arrays.shape_of(before),
                           _arrays.shape_of(after))
        except BaseException:
            lib.larmor_op_free(mine)
            raise
        return Operator(made, self.device)

    @property
    def H(self) -> Operator:
        """The adjoint as an operator."""
        return made_by(self._other("adjoint", "larmor_op_adjoint", "larmor_op_forward", self.out_shape,
                                    self.in_shape),
                        _member, self, "H")

    @property
    def N(self) -> Operator:
        """The normal map A^H A as an operator."""
        return made_by(self._other("normal", "larmor_op_normal", "larmor_op_normal", self.in_shape, self.in_shape),
                        _member, self, "N")

    @property
    def T(self) -> Operator:
        """The transpose as an operator: A^T y = conj(A^H conj(y))."""
        return made_by(self._conjugated("transpose", self._op, "adjoint", "forward", self.out_shape, self.in_shape),
                        _member, self, "T")

    def conj(self) -> Operator:
        """The operator whose matrix has the conjugate elements: x to conj(A conj(x))."""
        return made_by(self._conjugated("conjugate", self._op, "forward", "adjoint", self.in_shape, self.out_shape),
                        _member, self, "conj")

    def _conjugated(self, name: str, op: Any, forward: str, adjoint: str, before: Any, after: Any) -> Operator:
        def between(function: Any) -> Any:
            def call(x: Any, y: Any) -> None:
                turned = _like(self.device, x)
                _conjugate(x, turned)
                check(function(op, turned, y))
                back = _like(self.device, y)
                check(lib.larmor_copy(y, back))
                _conjugate(back, y)

            return call

        return _own(name, between(_MAPS[forward]), between(_MAPS[adjoint]), None, before, after, self.dtype,
                    self.device)

    @overload
    def __matmul__(self, other: Operator) -> Operator: ...

    @overload
    def __matmul__(self, other: NDArray[Any]) -> Complexes: ...

    @overload
    def __matmul__(self, other: ArrayT) -> ArrayT: ...

    def __matmul__(self, other: Native) -> Native:
        if isinstance(other, Operator):
            made = created(lib.larmor_op_chain, "larmor_op", lib.larmor_op_free, self._op, other._op)
            return made_by(Operator(made, self.device), operator.matmul, self, other)
        if _is_foreign(other):
            return self @ as_operator(other, dtype=self.dtype)
        if isinstance(other, (list, tuple)):
            other = _arrays.as_input(other, self.dtype, name=self.name)
        if self._is_flat(other, self.in_shape):
            return self.forward(other.reshape(self.in_shape)).reshape(-1)
        if isinstance(other, np.ndarray) and other.ndim == 2 and other.shape != self.in_shape and \
                other.shape[0] == self.shape[1]:
            return self.matmat(other)
        return self.forward(other)

    @staticmethod
    def _is_flat(x: Any, shape: tuple[int, ...]) -> bool:
        """Whether x is a vector that stands for an array of this shape, which has another one."""
        own = tuple(getattr(x, "shape", ()))
        return len(own) == 1 and own != shape and own[0] == math.prod(shape)

    dot = __matmul__
    __iter__: None = None  # which Python would make of __getitem__

    def __getitem__(self, index: Index) -> Operator:
        """The operator to the part of A x that NumPy's index takes."""
        return take(self.out_shape, index, dtype=self.dtype, device=self.device) @ self

    def __pow__(self, times: int) -> Operator:
        if self.in_shape != self.out_shape or not isinstance(times, int) or times < 1:
            raise ArgumentError(f"{self.name} ** {times}: expected an operator from a shape to itself, and a whole "
                                "number of 1 or more")
        power = self
        for _ in range(times - 1):
            power = self @ power
        return power

    def __pos__(self) -> Operator:
        return self

    @property
    def uses_toeplitz(self) -> bool:
        """Whether the normal map of this `sense` or `subspace_sense` is a convolution."""
        return bool(lib.larmor_sense_uses_toeplitz(self._op) or lib.larmor_subspace_uses_toeplitz(self._op))

    def with_normal(self, normal: Operator) -> Operator:
        """This operator with another way to its normal map, for example that of `toeplitz`."""
        made = created(lib.larmor_op_with_normal, "larmor_op", lib.larmor_op_free, self._op, normal._op)
        return made_by(Operator(made, self.device), Operator.with_normal, self, normal)

    def __add__(self, other: OperatorLike) -> Operator:
        other = as_operator(other, dtype=self.dtype) if _is_foreign(other) else other
        return _sum([(1, self), (1, other)]) if isinstance(other, Operator) else NotImplemented

    def __sub__(self, other: OperatorLike) -> Operator:
        other = as_operator(other, dtype=self.dtype) if _is_foreign(other) else other
        return _sum([(1, self), (-1, other)]) if isinstance(other, Operator) else NotImplemented

    def __neg__(self) -> Operator:
        return _sum([(-1, self)])

    @overload
    def __mul__(self, other: complex | Operator) -> Operator: ...

    @overload
    def __mul__(self, other: NDArray[Any]) -> Complexes: ...

    @overload
    def __mul__(self, other: ArrayT) -> ArrayT: ...

    def __mul__(self, other: Native) -> Native:
        """Of a number the multiple, of anything else A @ other, as in SciPy, SigPy and PyLops."""
        return _sum([(complex(other), self)]) if _is_number(other) else self @ other

    def __rmul__(self, factor: complex) -> Operator:
        return _sum([(complex(factor), self)]) if _is_number(factor) else NotImplemented

    def __truediv__(self, factor: complex) -> Operator:
        return _sum([(1 / complex(factor), self)]) if _is_number(factor) else NotImplemented

    def adjoint_error(self, seed: int = 1) -> float:
        """|<A x, y> - <x, A^H y>| relative to the norms, for random x and y: rounding if the adjoint is right."""
        answer_ctrl_c()
        error = ffi.new("double *")
        check(lib.larmor_op_adjoint_error(self._op, seed, error))
        return float(error[0])

    # What SciPy asks of an operator.

    def matvec(self, x: ArrayLike) -> Complexes:
        """A x of vectors in the operator's precision; they may have another, as those of SciPy's solvers do."""
        return self._in_precision_of(x, self.forward, self.in_shape).reshape(-1)

    def rmatvec(self, y: ArrayLike) -> Complexes:
        """A^H y of vectors, in the operator's precision, as for matvec."""
        return self._in_precision_of(y, self.adjoint, self.out_shape).reshape(-1)

    def matmat(self, x: ArrayLike) -> Complexes:
        """A of each column of a matrix [numbers in, columns]: [numbers out, columns]."""
        return self._columns(x, self.matvec, self.shape[1])

    def rmatmat(self, y: ArrayLike) -> Complexes:
        """A^H of each column of a matrix [numbers out, columns]: [numbers in, columns]."""
        return self._columns(y, self.rmatvec, self.shape[0])

    def _columns(self, x: Any, function: Any, rows: int) -> Any:
        x = np.asarray(x)
        if x.ndim != 2 or x.shape[0] != rows or not x.shape[1]:
            raise ShapeError(f"{self.name}: got an array of shape {x.shape}, expected [{rows}, columns]")
        return np.stack([function(np.ascontiguousarray(column)) for column in x.T], axis=1)

    def todense(self) -> Complexes:
        """The matrix [numbers out, numbers in], by as many calls as it has columns."""
        return self.matmat(np.eye(self.shape[1], dtype=self.dtype))

    def to_sigpy(self) -> Any:
        """This operator as a sigpy.linop.Linop; `larmor.sigpy.from_sigpy` takes SigPy's."""
        from larmor.sigpy import to_sigpy

        return to_sigpy(self)

    def to_pylops(self) -> Any:
        """This operator as a pylops.LinearOperator; `larmor.pylops.from_pylops` takes PyLops's."""
        from larmor.pylops import to_pylops

        return to_pylops(self)

    def to_scipy(self) -> Any:
        """This operator as a scipy.sparse.linalg.LinearOperator."""
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator(self.shape, matvec=self.matvec, rmatvec=self.rmatvec, matmat=self.matmat,
                              rmatmat=self.rmatmat, dtype=self.dtype)

    def _in_precision_of(self, x: Any, function: Any, shape: tuple[int, ...]) -> Any:
        """function(x), computed in the operator's precision and given back in that of x."""
        result = function(_arrays.as_input(np.reshape(x, shape), self.dtype, narrow=True))
        return result.astype(np.complex128) if _arrays.is_double(x) and not _arrays.is_double(result) else result


def _like(on: Device, x: Any) -> Any:
    """A larmor_array of x's type and shape."""
    out = ffi.new("larmor_array **")
    check(lib.larmor_array_create(on.pointer, lib.larmor_array_dtype(x), lib.larmor_array_shape(x), out))
    return ffi.gc(out[0], lib.larmor_array_free)


def _conjugate(x: Any, y: Any) -> None:
    """y <- conj(x), of larmor_arrays that are not the same."""
    check(lib.larmor_fill(y, 1.0))
    check(lib.larmor_mul(x, 1, y))


def _is_number(x: Any) -> bool:
    """Whether x is one number, also as an array of no axes."""
    return isinstance(x, numbers.Number) or (getattr(x, "ndim", None) == 0 and not isinstance(x, Operator))


@remembered
def _sum(terms: list[tuple[complex, Operator]]) -> Operator:
    first = terms[0][1]
    if any((t.in_shape, t.out_shape, t.dtype, t.device.spec) !=
           (first.in_shape, first.out_shape, first.dtype, first.device.spec) for _, t in terms):
        raise ShapeError("a sum of operators: their shapes, types and devices differ")

    def add(name: str, x: Any, y: Any, conjugate: bool) -> None:
        check(lib.larmor_zero(y))
        part = _like(first.device, y)
        for factor, op in terms:
            check(getattr(lib, name)(op._op, x, part))
            factor = factor.conjugate() if conjugate else factor
            check(lib.larmor_axpby_complex([factor.real, factor.imag], part, [1.0, 0.0], y))

    return _own("sum", lambda x, y: add("larmor_op_forward", x, y, False),
                lambda y, x: add("larmor_op_adjoint", y, x, True), None, first.in_shape, first.out_shape, first.dtype,
                first.device)


# ---- operators written in Python ----


class _Own:
    def __init__(self, forward: Any, adjoint: Any, normal: Any, name: Any) -> None:
        self.forward, self.adjoint, self.normal, self.name = forward, adjoint, normal, name


_guard = guarded(_MAP)


@_guard
def _own_forward(me: Any, x: Any, y: Any) -> None:
    held(me).forward(x, y)


@_guard
def _own_adjoint(me: Any, y: Any, x: Any) -> None:
    held(me).adjoint(y, x)


@_guard
def _own_normal(me: Any, x: Any, z: Any) -> None:
    held(me).normal(x, z)


def _own(name: str, forward: Any, adjoint: Any, normal: Any, in_shape: Sequence[int], out_shape: Sequence[int],
         dtype: DType, on: Device) -> Operator:
    label = ffi.new("char[]", name.encode())
    impl = ffi.new("larmor_op_impl *", {"name": label, "forward": _own_forward, "adjoint": _own_adjoint,
                                        "normal": _own_normal if normal else ffi.NULL, "destroy": release_handle})
    me = hold(_Own(forward, adjoint, normal, label))
    try:
        made = created(lib.larmor_op_create, "larmor_op", lib.larmor_op_free, on.pointer, impl, me,
                       _arrays.dtype_number(dtype), _arrays.shape_of(tuple(in_shape)),
                       _arrays.shape_of(tuple(out_shape)))
    except BaseException:
        let_go(me)
        raise
    return Operator(made, on)


def as_map(function: Callable[[Native], Native], name: str = "function") -> Callable[[Any, Any], None]:
    """From a function of arrays that returns one to a function of two larmor_arrays."""
    if not callable(function):
        raise ArgumentError(f"{name}: got {type(function).__name__}, expected a function of an array")

    def call(x: Any, y: Any) -> None:
        source, target = _arrays.view(x), _arrays.view(y)
        if isinstance(source, np.ndarray):
            source.flags.writeable = False
        _arrays.put(target, function(source), name)

    return call


@remembered
def Function(forward: Callable[[Array], Array], adjoint: Callable[[Array], Array], in_shape: Sequence[int],
             out_shape: Sequence[int], *, normal: Callable[[Array], Array] | None = None, name: str = "function",
             dtype: DType = np.complex64, device: str | Device | None = None) -> Operator:
    """An operator of your own, which larmor's solvers take like any other.

    forward and adjoint get an array of in_shape or out_shape that they may read during the call alone, and return an
    array of the other shape: NumPy's, on a GPU CuPy's. An exception in them ends the solver and reaches its caller.
    """
    maps = (as_map(forward, "forward"), as_map(adjoint, "adjoint"), as_map(normal, "normal") if normal else None)
    return _own(name, *maps, in_shape, out_shape,
                dtype, _arrays.device(device))


def as_operator(A: OperatorLike, *, dtype: DType | None = None) -> Operator:
    """An operator of SciPy, PyLops or another library as one of larmor's, which is what larmor.solve makes of it.

    It maps vectors, or arrays of the shapes that PyLops's have as dims and dimsd, in dtype, by default complex128
    where A's numbers are double. Anything without shape, dtype, H and @ is an ArgumentError.
    """
    if isinstance(A, Operator):
        return A
    if not isinstance(A, OperatorLike):
        raise ArgumentError(f"A: got {type(A).__name__}, expected an operator: larmor's, or anything with shape, "
                            "dtype, H and @")
    rows, columns = (int(n) for n in A.shape)
    before, after = tuple(getattr(A, "dims", (columns,))), tuple(getattr(A, "dimsd", (rows,)))
    if math.prod(before) != columns or math.prod(after) != rows:
        before, after = (columns,), (rows,)
    if dtype is None:
        dtype = np.result_type(A.dtype if A.dtype is not None else np.complex64, np.complex64)
    H = A.H
    made = of_vectors(A, lambda x: A @ x, lambda y: H @ y, before, after, type(A).__name__, dtype)
    return made_by(made, as_operator, A, dtype=dtype)


def of_vectors(A: Any, product: Callable[[Any], Any], adjoint: Callable[[Any], Any], before: tuple[int, ...],
               after: tuple[int, ...], name: str, dtype: DType) -> Operator:
    """An operator of products of vectors; those of a real A take real numbers alone, as PyLops's leave out the
    imaginary part."""
    is_real = A.dtype is not None and np.dtype(A.dtype).kind != "c"

    def mapped(function: Callable[[Any], Any], x: Any, shape: tuple[int, ...]) -> Any:
        flat = np.ravel(np.asarray(x))
        return np.reshape(function(flat.real) + 1j * function(flat.imag) if is_real else function(flat), shape)

    return Function(lambda x: mapped(product, x, after), lambda y: mapped(adjoint, y, before), before, after,
                    name=name, dtype=dtype, device="cpu")


def _is_foreign(A: Any) -> bool:
    """Whether this is an operator of another library, not an array."""
    return hasattr(A, "matvec") and not isinstance(A, Operator) and isinstance(A, OperatorLike)


# ---- larmor's own ----


def _bits(axes: Sequence[int] | int | None, ndim: int) -> int:
    """larmor's bits of NumPy's axes; None: all."""
    if axes is None:
        return (1 << ndim) - 1
    if isinstance(axes, int):
        axes = (axes,)
    bits = 0
    for axis in axes:
        if not -ndim <= axis < ndim:
            raise ArgumentError(f"axes: got {axis} for an array of {ndim} dimensions")
        bits |= 1 << (ndim - 1 - axis % ndim)
    return bits


def _where(x: Native, given: str | Device | None) -> Device:
    return _arrays.device_of(x) if given is None else _arrays.device(given)


def _complex(x: Native) -> Native:
    x = _arrays.as_input(x)
    return x if "complex" in str(x.dtype) else _arrays.as_input(x, np.complex64)


def _traj(points: Native) -> Native:
    points = _nufft.as_points(points)
    return _nufft.reversed_points(points, points.shape[-1] if points.ndim else 1, None)


def _kept(x: Native, on: Device) -> Any:
    """An array that the operator may keep, as some do until their normal map is asked for."""
    return _arrays.wrap(x, on, keep=True)


def _op(function: Any, on: Device, *arguments: Any) -> Operator:
    _arrays.refuse_capture(on)
    return Operator(created(function, "larmor_op", lib.larmor_op_free, *arguments), on)


@remembered
def nufft(points: Array, modes: Sequence[int], *, batch: int = 0, dtype: DType = np.complex64,
          device: str | Device | None = None, **more: Any) -> Operator:
    """The NUFFT of type 2, [batch, modes...] to [batch, points...]; points [..., ndim] in cycles per field of view.

    batch: 0 for arrays without that axis. The other options are those of larmor.nufft.Plan.
    """
    traj = _traj(points)
    on = _where(traj, device)
    return _op(lib.larmor_op_nufft, on, on.pointer, _nufft.options(2, modes, batch=batch, dtype=dtype, **more),
               _kept(traj, on))


@remembered
def nufft_displaced(points: Array, displacement: Array, *, batch: int = 0, dtype: DType = np.complex64,
                    device: str | Device | None = None, **more: Any) -> Operator:
    """As `nufft` of voxels that are at r + d(r), displacement [ndim, modes...] in voxels, in the order x, y, z."""
    traj = _traj(points)
    on = _where(traj, device)
    return _op(lib.larmor_op_nufft_displaced, on, on.pointer,
               _nufft.options(2, displacement.shape[1:], batch=batch, dtype=dtype, **more), _kept(traj, on),
               _kept(_real(displacement), on))


@remembered
def stack_of_stars(points: Array, modes: Sequence[int], *, batch: int = 0, dtype: DType = np.complex64,
                   device: str | Device | None = None, **more: Any) -> Operator:
    """As `nufft` for trajectories whose readouts lie in partitions along axis 0: an FFT there, NUFFTs in the
    planes."""
    traj = _traj(points)
    on = _where(traj, device)
    return _op(lib.larmor_op_stack_of_stars, on, on.pointer,
               _nufft.options(2, modes, batch=batch, dtype=dtype, **more), _kept(traj, on))


@remembered
def cartesian(points: Array, modes: Sequence[int], *, batch: int = 0, dtype: DType = np.complex64,
              device: str | Device | None = None, tol: float = 1e-5) -> Operator:
    """As `nufft` for points that are whole numbers: one FFT and the choice of its numbers."""
    traj = _traj(points)
    on = _where(traj, device)
    return _op(lib.larmor_op_cartesian, on, on.pointer,
               _nufft.options(2, modes, batch=batch, dtype=dtype, tol=tol), _kept(traj, on))


@remembered
def cartesian_normal(points: Array, modes: Sequence[int], *, weights: Array | None = None, batch: int = 0,
                     dtype: DType = np.complex64, device: str | Device | None = None, tol: float = 1e-5) -> Operator:
    """The normal map F^H W F of `cartesian`, by two FFTs; weights are real, of the points' shape."""
    traj = _traj(points)
    on = _where(traj, device)
    w = ffi.NULL if weights is None else _kept(_real(weights), on)
    return _op(lib.larmor_op_cartesian_normal, on, on.pointer,
               _nufft.options(2, modes, batch=batch, dtype=dtype, tol=tol), _kept(traj, on), w)


@remembered
def phase(values: Array, imaginary: float = 0, *, device: str | Device | None = None) -> Operator:
    """Images of about a given phase [image...]: x to values (Re x + i imaginary Im x), linear over the real
    numbers."""
    values = _complex(values)
    on = _where(values, device)
    return _op(lib.larmor_op_phase, on, _kept(values, on), imaginary)


@remembered
def toeplitz(points: Array, modes: Sequence[int], *, weights: Array | None = None, batch: int = 0,
             dtype: DType = np.complex64, device: str | Device | None = None, **more: Any) -> Operator:
    """The normal map F^H W F of `nufft` as one convolution."""
    traj = _traj(points)
    on = _where(traj, device)
    w = ffi.NULL if weights is None else _kept(_arrays.as_input(weights), on)
    return _op(lib.larmor_op_toeplitz, on, on.pointer, _nufft.options(2, modes, batch=batch, dtype=dtype, **more),
               _kept(traj, on), w)


@remembered
def toeplitz_mixed(points: Array, modes: Sequence[int], factors: Array, *, weights: Array | None = None,
                   batch: int = 0, dtype: DType = np.complex64, device: str | Device | None = None,
                   **more: Any) -> Operator:
    """The normal map of x to sum_k b_k F x_k, of several images [images, (batch,) modes...] that share their samples.

    factors  b [images, points...], real or complex, 32 images at most.
    """
    traj = _traj(points)
    on = _where(traj, device)
    w = ffi.NULL if weights is None else _kept(_real(weights), on)
    return _op(lib.larmor_op_toeplitz_mixed, on, on.pointer,
               _nufft.options(2, modes, batch=batch, dtype=dtype, **more),
               _kept(traj, on), w, _kept(_arrays.as_input(factors), on))


@remembered
def coils(maps: Array, *, device: str | Device | None = None) -> Operator:
    """Multiplication by coil maps [coils, image...]: [image...] to [coils, image...]. The maps are kept, not
    copied."""
    maps = _complex(maps)
    on = _where(maps, device)
    return _op(lib.larmor_op_coils, on, _kept(maps, on))


def _scaled(maps: Native, scale: str, ndim: int) -> Native:
    """Maps with which k-space is the sum over voxels, or the Fourier integral of a density."""
    if scale not in ("sum", "integral"):
        raise ArgumentError(f"scale: got {scale!r}, expected sum or integral")
    return maps if scale == "sum" else maps / math.prod(tuple(maps.shape)[maps.ndim - ndim:])


def _sense_options(on: Device, points: Native, weights: Native, tol: float, toeplitz: bool | None, iterations: int,
                   block: int, effort: str, off_resonance: Segments | None,
                   displacement: Native = None) -> tuple[Any, list[Any]]:
    """A larmor_sense_opts, and what has to live as long as it."""
    opts = ffi.new("larmor_sense_opts *")
    keep = [_kept(_traj(points), on)]
    opts.traj = keep[0]
    if weights is not None:
        keep.append(_kept(_real(weights), on))
        opts.weights = keep[1]
    if off_resonance is not None:
        opts.off_resonance = off_resonance._segments
    if displacement is not None:
        keep.append(_kept(_real(displacement), on))
        opts.displacement = keep[-1]
    if not 0 < tol < 1:
        raise ArgumentError(f"tol: got {tol}, expected 0 < tol < 1")
    opts.nufft_tol = tol
    opts.block = block
    opts.toeplitz = 0 if toeplitz is None else 1 if toeplitz else -1
    opts.iters = iterations
    opts.effort = _nufft.choice(_nufft._EFFORTS, effort, "effort")
    return opts, keep


@remembered
def sense(maps: Array, points: Array, *, weights: Array | None = None, scale: str = "sum", tol: float = 1e-5,
          toeplitz: bool | None = None, iterations: int = 0, block: int = 0, effort: str = "estimate",
          off_resonance: Segments | None = None, displacement: Array | None = None,
          device: str | Device | None = None) -> Operator:
    """SENSE: [image...] to [coils, readouts, samples], the root of the weights included.

    maps           [coils, image...] or [sets, coils, image...], complex; kept, not copied: what is written into them
                   later changes the operator.
    points         [readouts, samples, ndim], cycles per field of view.
    weights        [readouts, samples], real, at least 0.
    scale          of k-space: "sum" over the voxels, or "integral", that sum divided by the number of voxels, as
                   larmor.recon and larmor.phantom_kspace have it.
    tol            of the NUFFT, relative l2 error.
    toeplitz       of the normal map; None: where it is expected to be quicker for so many iterations, by default 10.
    block          coils at a time; default (0): all.
    off_resonance  Segments of a field map on the image and the times of the samples.
    displacement   [ndim, image...] in voxels, in the order x, y, z: voxels are at r + d(r), as in `nufft_displaced`.
    """
    maps = _scaled(_complex(maps), scale, points.shape[-1])
    on = _where(maps, device)
    opts, _keep = _sense_options(on, points, weights, tol, toeplitz, iterations, block, effort, off_resonance,
                                 displacement)
    return _op(lib.larmor_op_sense, on, _kept(maps, on), opts)


@remembered
def sense_states(maps: Array, state: Sequence[int] | Integers, points: Array, *, weights: Array | None = None,
                 scale: str = "sum", tol: float = 1e-5, toeplitz: bool | None = None, iterations: int = 0,
                 block: int = 0, effort: str = "estimate", off_resonance: Segments | Sequence[Segments] | None = None,
                 device: str | Device | None = None) -> Operator:
    """SENSE of readouts that see different maps, of an object that moves for example.

    maps           [states, coils, image...], complex. state: [readouts], which of them a readout sees.
    off_resonance  of all readouts, which moves with the object; or of each state, whose times are its readouts'.
    Other arguments as of `sense`.
    """
    each_map = _scaled(_complex(maps), scale, points.shape[-1])
    on = _where(each_map, device)
    shared = off_resonance if isinstance(off_resonance, Segments) else None
    each = None if off_resonance is None or isinstance(off_resonance, Segments) else list(off_resonance)
    if each is not None and len(each) != each_map.shape[0]:
        raise ArgumentError(f"off_resonance: got {len(each)} segments, expected those of {each_map.shape[0]} states")
    opts, _keep = _sense_options(on, points, weights, tol, toeplitz, iterations, block, effort, shared)
    kept = [_kept(each_map[i], on) for i in range(each_map.shape[0])]
    segments_ = ffi.NULL if each is None else ffi.new("larmor_segments *[]", [s._segments for s in each])
    which = ffi.new("int[]", [int(m) for m in state])
    if len(which) != points.shape[0]:
        raise ArgumentError(f"state: got {len(which)} states, expected those of {points.shape[0]} readouts")
    return _op(lib.larmor_op_sense_states_of, on, ffi.new("larmor_array *[]", kept), segments_, len(kept), which,
               opts)


def basis_factors(basis: ArrayLike, frame: Sequence[int], samples: int, *, dtype: DType = np.complex64) -> Complexes:
    """The basis [coefficients, frames] at every sample, for `subspace_sense`: [coefficients, readouts, samples].

    frame    [readouts]: the frame of each readout, from 0.
    samples  of a readout.
    """
    answer_ctrl_c()
    on = _arrays.device("cpu")
    out = ffi.new("larmor_array **")
    which = ffi.new("int[]", [int(f) for f in frame])
    check(lib.larmor_basis_factors(_arrays.wrap(_arrays.as_input(basis), on), which, len(which), samples, on.pointer,
                                   _arrays.dtype_number(dtype), out))
    return _arrays.to_numpy(out[0])


@remembered
def subspace_sense(maps: Array, points: Array, factors: Array, *, weights: Array | None = None, scale: str = "sum",
                   tol: float = 1e-5, toeplitz: bool | None = None, iterations: int = 0, block: int = 0,
                   effort: str = "estimate", off_resonance: Segments | None = None,
                   device: str | Device | None = None) -> Operator:
    """SENSE of images that change in time as a few functions do: sum_k factors_k (A x_k) with the A of `sense`,
    [coefficients, image...] to [coils, readouts, samples].

    factors  [coefficients, readouts, samples], real or complex, 32 at most: those of `basis_factors`, for example.
    The others are those of `sense`. The normal map does not depend on the number of samples.
    """
    maps = _scaled(_complex(maps), scale, points.shape[-1])
    on = _where(maps, device)
    opts, _keep = _sense_options(on, points, weights, tol, toeplitz, iterations, block, effort, off_resonance)
    return _op(lib.larmor_op_subspace_sense, on, _kept(maps, on), _kept(_arrays.as_input(factors), on), opts)


@remembered
def fft(shape: Sequence[int], axes: Sequence[int] | int | None = None, *, unitary: bool = False,
        centred: bool = False, dtype: DType = np.complex64, device: str | Device | None = None) -> Operator:
    """The discrete Fourier transform along some axes, unscaled unless unitary."""
    on = _arrays.device(device)
    opts = ffi.new("larmor_fft_opts *", {"unitary": unitary, "centred": centred})
    return _op(lib.larmor_op_fft, on, on.pointer, _arrays.dtype_number(dtype), _arrays.shape_of(tuple(shape)),
               _bits(axes, len(shape)), opts)


@remembered
def diag(d: Array, *, device: str | Device | None = None) -> Operator:
    """y = d x, element by element; d is complex, kept, not copied."""
    d = _complex(d)
    on = _where(d, device)
    return _op(lib.larmor_op_diag, on, _kept(d, on))


def _real(x: Native) -> Native:
    x = _arrays.as_input(x)
    return x if "float" in str(x.dtype) else _arrays.as_input(x, np.float64)


@remembered
def mask(values: Array, *, dtype: DType = np.complex64, device: str | Device | None = None) -> Operator:
    """y = m x, element by element; m is real and at least 0."""
    values = _real(values)
    on = _where(values, device)
    return _op(lib.larmor_op_mask, on, _kept(values, on), _arrays.dtype_number(dtype))


@remembered
def weights(values: Array, *, batch: int = 0, dtype: DType = np.complex64,
            device: str | Device | None = None) -> Operator:
    """y_c = w x_c for every channel c of [batch, samples...]; w is real, at least 0, [samples...]."""
    values = _real(values)
    on = _where(values, device)
    return _op(lib.larmor_op_weights, on, _kept(values, on), _arrays.dtype_number(dtype), batch)


def _spacing(spacing: Sequence[float] | None) -> Any:
    return ffi.NULL if spacing is None else ffi.new("double[]", list(spacing[::-1]))


@remembered
def gradient(shape: Sequence[int], axes: Sequence[int] | int | None = None, *, spacing: Sequence[float] | None = None,
             dtype: DType = np.complex64, device: str | Device | None = None) -> Operator:
    """Forward differences: [shape...] to [axes, shape...], the last axis first."""
    on = _arrays.device(device)
    return _op(lib.larmor_op_gradient, on, on.pointer, _arrays.dtype_number(dtype), _arrays.shape_of(tuple(shape)),
               _bits(axes, len(shape)), _spacing(spacing))


@remembered
def symmetrised_gradient(shape: Sequence[int], axes: Sequence[int] | int | None = None, *,
                         spacing: Sequence[float] | None = None, dtype: DType = np.complex64,
                         device: str | Device | None = None) -> Operator:
    """The symmetrised gradient of a vector field [d, shape...] to [d (d + 1) / 2, shape...]."""
    on = _arrays.device(device)
    return _op(lib.larmor_op_symmetrised_gradient, on, on.pointer, _arrays.dtype_number(dtype),
               _arrays.shape_of(tuple(shape)), _bits(axes, len(shape)), _spacing(spacing))


@remembered
def wavelet(shape: Sequence[int], axes: Sequence[int] | int | None = None, *, order: int = 0, levels: int = 0,
            dtype: DType = np.complex64, device: str | Device | None = None) -> Operator:
    """The orthonormal wavelet transform with Daubechies' filters of this order; axes: up to three, by default the
    last ones that are longer than 1."""
    on = _arrays.device(device)
    opts = ffi.new("larmor_wavelet_opts *", {"order": order, "levels": levels})
    if axes is not None:
        opts.axes = _bits(axes, len(shape))
    return _op(lib.larmor_op_wavelet, on, on.pointer, _arrays.dtype_number(dtype), _arrays.shape_of(tuple(shape)),
               opts)


@remembered
def casorati(shape: Sequence[int], block: Sequence[int] = (), *, dtype: DType = np.complex64,
             device: str | Device | None = None) -> Operator:
    """A series [frames, image...] cut into blocks: to [blocks, frames, voxels of a block]."""
    on = _arrays.device(device)
    opts = ffi.new("larmor_casorati_opts *", {"block": list(block[::-1])})
    return _op(lib.larmor_op_casorati, on, on.pointer, _arrays.dtype_number(dtype), _arrays.shape_of(tuple(shape)),
               opts)


@remembered
def subspace(basis: Array, image: Sequence[int], *, dtype: DType = np.complex64,
             device: str | Device | None = None) -> Operator:
    """Frames in the span of a few functions of time: [coefficients, image...] to [frames, image...]; the basis is
    [coefficients, frames]."""
    basis = _arrays.as_input(basis, dtype, narrow=True)
    on = _where(basis, device)
    return _op(lib.larmor_op_subspace, on, on.pointer, _arrays.dtype_number(dtype), _arrays.shape_of(tuple(image)),
               _kept(basis, on))


def _pointers(ops: Sequence[Operator]) -> Any:
    if not ops:
        raise ArgumentError("no operators")
    return ffi.new("larmor_op *[]", [op._op for op in ops])


@remembered
def frames(ops: Sequence[Operator]) -> Operator:
    """An operator of its own for each frame: [frames, image...] to [frames, samples...]."""
    return _op(lib.larmor_op_frames, ops[0].device, _pointers(ops), len(ops))


@remembered
def states(ops: Sequence[Operator]) -> Operator:
    """Samples of one image in several states, y_m = A_m x: operators from the same [image...] to [coils, readouts,
    samples] become one to [coils, all readouts, samples]."""
    return _op(lib.larmor_op_states, ops[0].device, _pointers(ops), len(ops))


@remembered
def stack(ops: Sequence[Operator]) -> Operator:
    """Operators one below the other: A x = [A_0 x, A_1 x, ...] along axis 0."""
    return _op(lib.larmor_op_stack, ops[0].device, _pointers(ops), len(ops))


@remembered
def identity(shape: Sequence[int], *, dtype: DType = np.complex64, device: str | Device | None = None) -> Operator:
    """y = x."""
    return reshape(shape, shape, dtype=dtype, device=device)


@remembered
def reshape(in_shape: Sequence[int], out_shape: Sequence[int], *, dtype: DType = np.complex64,
            device: str | Device | None = None) -> Operator:
    """The same numbers in another shape."""
    before, after = tuple(int(n) for n in in_shape), tuple(int(n) for n in out_shape)
    if math.prod(before) != math.prod(after):
        raise ShapeError(f"reshape: got {before} and {after}, expected as many numbers in both")

    def call(x: Any, y: Any) -> None:
        out = ffi.new("larmor_array **")
        check(lib.larmor_array_reshape(x, lib.larmor_array_shape(y), out))
        seen = ffi.gc(out[0], lib.larmor_array_free)
        check(lib.larmor_copy(seen, y))

    return _own("identity" if before == after else "reshape", call, call, _identity_map(before), before, after, dtype,
                _arrays.device(device))


def _identity_map(shape: tuple[int, ...]) -> Any:
    """The normal map of an operator whose A^H A is the identity."""

    def call(x: Any, z: Any) -> None:
        check(lib.larmor_copy(x, z))

    return call


@remembered
def take(shape: Sequence[int], index: Index, *, dtype: DType = np.complex64,
         device: str | Device | None = None) -> Operator:
    """y = x[index] by NumPy's rules, without an element twice: SigPy's Slice. On a GPU it needs CuPy, but for a range
    of axis 0."""
    before, on = tuple(int(n) for n in shape), _arrays.device(device)
    after = tuple(np.broadcast_to(np.empty(()), before)[index].shape)
    if not after:
        raise ArgumentError("index: takes one number; a range such as [3:4] takes an array")
    if _takes_twice(index, before):
        raise ArgumentError("index: takes an element twice")
    rows = _range_of(index, before)
    if rows is not None:
        return _own("take", lambda x, y: check(lib.larmor_copy(_rows(x, *rows), y)),
                    lambda y, x: _embed_rows(y, x, *rows), None, before, after, dtype, on)

    def embed(y: Any, x: Any) -> None:
        check(lib.larmor_zero(x))
        _arrays.view(x)[index] = _arrays.view(y)

    return _own("take", as_map(lambda x: x[index]), embed, None, before, after, dtype, on)


def _takes_twice(index: Any, shape: tuple[int, ...]) -> bool:
    """Whether an index has arrays that name an element more than once."""
    parts = index if isinstance(index, tuple) else (index,)
    if all(part is None or part is Ellipsis or isinstance(part, (slice, int, np.integer)) for part in parts):
        return False
    places = np.arange(math.prod(shape)).reshape(shape)[index]
    return bool(len(np.unique(places)) != places.size)


def _range_of(index: Any, shape: tuple[int, ...]) -> tuple[int, int] | None:
    """First and number, where an index is a range of axis 0 without gaps."""
    first, *rest = index if isinstance(index, tuple) and index else (index,)
    if not isinstance(first, slice) or not shape:
        return None
    if any(part is not Ellipsis and not (isinstance(part, slice) and part == slice(None)) for part in rest):
        return None
    begin, end, step = first.indices(shape[0])
    return (begin, end - begin) if step == 1 and end > begin else None


def _rows(x: Any, first: int, count: int) -> Any:
    """A part of axis 0 of a larmor_array, in its memory."""
    out = ffi.new("larmor_array **")
    check(lib.larmor_array_slice(x, first, count, out))
    return ffi.gc(out[0], lib.larmor_array_free)


def _embed_rows(y: Any, x: Any, first: int, count: int) -> None:
    check(lib.larmor_zero(x))
    check(lib.larmor_copy(y, _rows(x, first, count)))


def embed(shape: Sequence[int], index: Index, *, dtype: DType = np.complex64,
          device: str | Device | None = None) -> Operator:
    """y[index] = x in zeros of this shape, the adjoint of `take`: SigPy's Embed."""
    return take(shape, index, dtype=dtype, device=device).H


def _moved(op: Operator, axis: int | None) -> Operator:
    """An operator whose results have this axis first; None: are flat."""
    shape = op.out_shape
    if axis is None:
        return _kin(op, reshape, shape, (math.prod(shape),)) @ op
    if not -len(shape) <= axis < len(shape):
        raise ArgumentError(f"axis: got {axis} for an array of {len(shape)} dimensions")
    return op if axis % len(shape) == 0 else _kin(op, _first_axis, shape, axis) @ op


def _kin(op: Operator, make: Callable[..., Operator], *arguments: Any) -> Operator:
    """An operator of the type and on the device of another one."""
    return make(*arguments, dtype=op.dtype, device=op.device)


@remembered
def _first_axis(shape: tuple[int, ...], axis: int, *, dtype: DType, device: Device) -> Operator:
    """The same numbers with this axis first."""
    after = (shape[axis], *shape[:axis % len(shape)], *shape[axis % len(shape) + 1:])
    return _own("moveaxis", as_map(lambda x: _moveaxis(x, axis, 0)), as_map(lambda y: _moveaxis(y, 0, axis)),
                _identity_map(shape), shape, after, dtype, device)


def _moveaxis(x: Native, source: int, target: int) -> Native:
    order = list(range(x.ndim))
    order.insert(target % x.ndim, order.pop(source % x.ndim))
    return x.transpose(order)


def vstack(ops: Sequence[Operator], axis: int | None = 0) -> Operator:
    """Operators of one input one below the other: A x = [A_0 x, A_1 x, ...] along an axis of the results; None: flat,
    of results of any shapes. Along axis 0 it is `stack`."""
    if not ops:
        raise ArgumentError("no operators")
    below = stack([_moved(op, axis) for op in ops])
    if axis is None or axis % len(ops[0].out_shape) == 0:
        return below
    axis %= len(ops[0].out_shape)
    after = list(below.out_shape[1:])
    after.insert(axis, below.out_shape[0])
    return _kin(below, _first_axis, tuple(after), axis).H @ below


def hstack(ops: Sequence[Operator], axis: int | None = 0) -> Operator:
    """Operators of one output side by side: A [x_0, x_1, ...] = A_0 x_0 + A_1 x_1 + ..., inputs along an axis; None:
    flat."""
    return vstack([op.H for op in ops], axis).H


def block_diag(ops: Sequence[Operator], in_axis: int | None = 0, out_axis: int | None = 0) -> Operator:
    """A [x_0, x_1, ...] = [A_0 x_0, A_1 x_1, ...], along an axis of the inputs and one of the outputs; None: flat."""
    if not ops:
        raise ArgumentError("no operators")
    sizes = [math.prod(op.in_shape) if in_axis is None else op.in_shape[in_axis] for op in ops]
    starts = np.cumsum([0, *sizes])
    whole = _joined_shape([op.in_shape for op in ops], in_axis)
    rows = []
    for i, op in enumerate(ops):
        at = slice(int(starts[i]), int(starts[i + 1]))
        index = (at,) if in_axis is None else (*([slice(None)] * (in_axis % len(whole))), at)
        part = _kin(op, take, whole, index)
        if in_axis is None:
            part = _kin(op, reshape, part.out_shape, op.in_shape) @ part
        rows.append(op @ part)
    return vstack(rows, out_axis)


def _joined_shape(shapes: Sequence[tuple[int, ...]], axis: int | None) -> tuple[int, ...]:
    """Of arrays that are put together along an axis."""
    if axis is None:
        return (sum(math.prod(shape) for shape in shapes),)
    first, at = shapes[0], axis % len(shapes[0])
    if any(len(s) != len(first) or s[:at] + s[at + 1:] != first[:at] + first[at + 1:] for s in shapes):
        raise ShapeError(f"operators from {', '.join(map(str, shapes))}: expected shapes that differ along axis "
                         f"{axis} alone")
    return (*first[:at], sum(s[at] for s in shapes), *first[at + 1:])


@remembered
def off_resonance(transform: Operator, field: Array, times: Array, *, segments: int = 0,
                  error: float = 0) -> Operator:
    """A Fourier transform with the phase exp(2 pi i f t) of a field map [image...] in Hz and of the samples' times in
    s, by time segmentation."""
    on = transform.device
    opts = ffi.new("larmor_off_resonance_opts *", {"segments": segments, "error": error})
    return _op(lib.larmor_op_off_resonance, on, transform._op, _kept(_real(field), on),
               _kept(_real(times), on), opts)


class Segments(Made):
    """What time segmentation finds from a field map and the samples' times, for several operators that share it.

    field     [image...] in Hz.
    times     [readouts, samples] or [samples] in s; 0 is when the image has its phase.
    segments  1 to 512; default: the least that keep the error.
    error     of exp(2 pi i f t) at most; default 1e-3.
    """

    def __init__(self, field: Array, times: Array, *, segments: int = 0, error: float = 0,
                 device: str | Device | None = None) -> None:
        field, times = _real(field), _real(times)
        self.device: Device = _where(field, device)
        made_by(self, Segments, field, times, segments=segments, error=error, device=self.device)
        opts = ffi.new("larmor_off_resonance_opts *", {"segments": segments, "error": error})
        self._segments = created(lib.larmor_segments_create, "larmor_segments", lib.larmor_segments_free,
                                 _kept(field, self.device), _kept(times, self.device), opts)

    @classmethod
    def of_terms(cls, terms: Sequence[tuple[Array, ...]], *, segments: int = 0, error: float = 0,
                 device: str | Device | None = None) -> Segments:
        """The least sum of products for exp(i space time) of all terms, fields of higher order for example.

        terms     (space, time) of each, real [image...] and [readouts, samples], whose product is in rad; with a
                  third member True exp(-space time), a decay.
        segments  how many products; default: the least that keep the error.
        error     root mean square, relative; default 1e-3.
        """
        made = made_by(cls.__new__(cls), Segments.of_terms, list(terms), segments=segments, error=error,
                       device=device)
        arrays = [(_real(term[0]), _real(term[1]), len(term) > 2 and bool(term[2])) for term in terms]
        made.device = _where(arrays[0][0], device)
        kept = [(_kept(space, made.device), _kept(time, made.device), decays) for space, time, decays in arrays]
        listed = ffi.new("larmor_model_term[]", kept)
        opts = ffi.new("larmor_off_resonance_opts *", {"segments": segments, "error": error})
        made._segments = created(lib.larmor_segments_of_terms, "larmor_segments", lib.larmor_segments_free, listed,
                                 len(kept), opts)
        return made

    def of_readouts(self, readouts: Sequence[int]) -> Segments:
        """Those of some readouts alone, in this order: of one state of an object that moves, for example."""
        part = made_by(type(self).__new__(type(self)), Segments.of_readouts, self, readouts)
        part.device = self.device
        which = ffi.new("int64_t[]", [int(j) for j in readouts])
        part._segments = created(lib.larmor_segments_readouts, "larmor_segments", lib.larmor_segments_free,
                                 self._segments, which, len(which))
        return part

    @property
    def info(self) -> dict[str, float]:
        """What was found so far: segments, terms of the normal map, their largest errors, the ranges in Hz and s."""
        info = ffi.new("larmor_segments_info *")
        check(lib.larmor_segments_describe(self._segments, info))
        return {name: getattr(info, name) for name, _ in ffi.typeof("larmor_segments_info").fields}


@remembered
def segments(transform: Operator, shared: Segments) -> Operator:
    """As `off_resonance`, with what was found before."""
    return _op(lib.larmor_op_segments, transform.device, transform._op, shared._segments)


@remembered
def segments_toeplitz(points: Array, modes: Sequence[int], shared: Segments, *, weights: Array | None = None,
                      batch: int = 0, dtype: DType = np.complex64, **more: Any) -> Operator:
    """The normal map of `segments` of a `nufft` as a sum of convolutions."""
    on = shared.device
    w = ffi.NULL if weights is None else _kept(_real(weights), on)
    return _op(lib.larmor_op_segments_toeplitz, on, _nufft.options(2, modes, batch=batch, dtype=dtype, **more),
               _kept(_traj(points), on), w, shared._segments)


@remembered
def multiband(ops: Sequence[Operator], phase: Array) -> Operator:
    """The samples of slices that are excited together, y_j = sum_s exp(i phase_s(j)) A_s x_s, of x [slices, y, x].

    ops    one for each slice, such as `sense` of its maps: to [coils, readouts, samples].
    phase  [slices, readouts] in rad.
    """
    on = ops[0].device
    return _op(lib.larmor_op_multiband, on, _pointers(ops), len(ops), _kept(_real(phase), on))


@remembered
def distribute(ops: Sequence[Operator], *, device: str | Device | None = None) -> Operator:
    """As `stack`, where each operator works on a device of its own, in a thread of its own, at the same time.

    ops     each on another member of a group: linop.nufft(..., device=member) for member in
            Device("cpu:2,2").members.
    device  where inputs and outputs are.
    """
    on = _arrays.device(device)
    return _op(lib.larmor_op_distribute, on, on.pointer, _pointers(ops), len(ops))


def shift_wavelet(W: Operator, shift: Sequence[int]) -> None:
    """Let W, made by `wavelet`, be the transform of x moved by so many voxels along its axes from the next call
    on."""
    steps = [int(n) for n in shift][::-1]
    check(lib.larmor_op_wavelet_shift(W._op, ffi.new("int64_t[3]", [*steps, 0, 0, 0][:3])))
