"""Operators of larmor.linop in SigPy, and SigPy's in larmor. SPDX-License-Identifier: Apache-2.0

    from larmor.sigpy import from_sigpy, to_sigpy
    sigpy.app.LinearLeastSquares(to_sigpy(A), y).run()
    larmor.solve.cg(from_sigpy(L), y)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sigpy import linop as _linop

from larmor import linop
from larmor._library import ArgumentError
from larmor.typing import DType

__all__ = ["from_sigpy", "to_sigpy"]


class _Linop(_linop.Linop):  # type: ignore[misc]
    """larmor's operator, or its adjoint."""

    def __init__(self, A: linop.Operator, adjoint: bool) -> None:
        self.larmor, self.is_adjoint = A, adjoint
        shapes = (A.in_shape, A.out_shape) if adjoint else (A.out_shape, A.in_shape)
        super().__init__(*map(list, shapes), repr_str=f"larmor {A.name}")

    def _apply(self, input: Any) -> Any:
        A = self.larmor
        return (A._in_precision_of(input, A.adjoint, A.out_shape) if self.is_adjoint else
                A._in_precision_of(input, A.forward, A.in_shape))

    def _adjoint_linop(self) -> Any:
        return _Linop(self.larmor, not self.is_adjoint)

    def _normal_linop(self) -> Any:
        return super()._normal_linop() if self.is_adjoint else _Linop(self.larmor.N, False)


def to_sigpy(A: linop.Operator) -> Any:
    """A as a sigpy.linop.Linop; its normal map is larmor's, which is quicker where A has a quick one."""
    if not isinstance(A, linop.Operator):
        raise ArgumentError(f"A: got {type(A).__name__}, expected an operator of larmor.linop")
    return _Linop(A, False)


def from_sigpy(L: Any, *, dtype: DType = np.complex64) -> linop.Operator:
    """A sigpy.linop.Linop as an operator, which larmor's solvers take."""
    if not isinstance(L, _linop.Linop):
        raise ArgumentError(f"L: got {type(L).__name__}, expected a sigpy.linop.Linop")
    H, N = L.H, L.N
    return linop.Function(L, H, L.ishape, L.oshape, normal=N, name="sigpy", dtype=dtype)
