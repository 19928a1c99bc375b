"""Types of what larmor takes and gives: arrays, operators, denoisers and sources of readouts.

An array is anything with `shape`, `dtype` and `ndim` in whose memory larmor can read: those of NumPy, CuPy and
PyTorch, and others by `__cuda_array_interface__`, `__dlpack__` or `__array__`. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

if TYPE_CHECKING:
    from types import EllipsisType

    from typing_extensions import TypeAlias

    from larmor._runs.readouts import Waveform

__all__ = ["Array", "ArrayLike", "ArrayT", "Bools", "Complexes", "DType", "DenoiserFunction", "Floats", "Index",
           "Integers", "Item", "Numbers", "OperatorLike", "Path", "Readout"]

Complexes: TypeAlias = NDArray[np.complexfloating[Any, Any]]  # of either precision
Floats: TypeAlias = NDArray[np.floating[Any]]
Integers: TypeAlias = NDArray[np.integer[Any]]
Bools: TypeAlias = NDArray[np.bool_]
Numbers: TypeAlias = NDArray[np.number[Any]]
DType: TypeAlias = DTypeLike
Index: TypeAlias = "int | slice | EllipsisType | NDArray[Any] | tuple[Any, ...] | None"  # as of NumPy's arrays
Path: TypeAlias = "str | os.PathLike[str]"


@runtime_checkable
class Array(Protocol):
    """An array of NumPy, CuPy, PyTorch or another library; what larmor computes of it is an array of that library."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""

    @property
    def dtype(self) -> Any:  # each library has its own
        """The type of the numbers."""

    @property
    def ndim(self) -> int:
        """How many axes there are."""


ArrayT = TypeVar("ArrayT", bound=Array)


@runtime_checkable
class OperatorLike(Protocol):
    """A linear operator of larmor, SciPy, PyLops, or any other with these members: `A` of `larmor.solve`."""

    @property
    def shape(self) -> tuple[int, int]:
        """Of its matrix: numbers out, numbers in."""

    @property
    def dtype(self) -> Any:
        """The type of the numbers; None is taken for complex64."""

    @property
    def H(self) -> Any:
        """The adjoint, an operator as this one."""

    def __matmul__(self, x: Any, /) -> Any:
        """A x of a vector x."""


class DenoiserFunction(Protocol):
    """What `larmor.recon(scan, prior=...)`, `larmor.prior.Function` and `larmor.solve.pnp` call."""

    def __call__(self, x: Any, sigma: float, /) -> Array:  # x is of the library that was asked for
        """x without noise of the deviation sigma."""


# k-space, trajectory, flags or members of larmor_acquisition
Readout: TypeAlias = "tuple[ArrayLike, ArrayLike] | tuple[ArrayLike, ArrayLike, int | dict[str, Any]]"
Item: TypeAlias = "Readout | Waveform"  # of `larmor.scan_of`
