"""Operators of larmor.linop in PyLops, and PyLops's in larmor. SPDX-License-Identifier: Apache-2.0

    from larmor.pylops import from_pylops, to_pylops
    pylops.optimization.basic.lsqr(to_pylops(A), y.ravel())
    larmor.solve.cg(from_pylops(L), y)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pylops import LinearOperator

from larmor import linop
from larmor._arguments import made_by
from larmor._library import ArgumentError
from larmor.typing import DType

__all__ = ["from_pylops", "to_pylops"]


class _LinearOperator(LinearOperator):  # type: ignore[misc]
    """larmor's operator on vectors."""

    def __init__(self, A: linop.Operator) -> None:
        super().__init__(dtype=A.dtype, dims=A.in_shape, dimsd=A.out_shape, clinear=True, name=A.name)
        self.larmor = A

    def _matvec(self, x: Any) -> Any:
        return self.larmor.matvec(x)

    def _rmatvec(self, x: Any) -> Any:
        return self.larmor.rmatvec(x)


def to_pylops(A: linop.Operator) -> Any:
    """A as a pylops.LinearOperator with dims and dimsd."""
    if not isinstance(A, linop.Operator):
        raise ArgumentError(f"A: got {type(A).__name__}, expected an operator of larmor.linop")
    return _LinearOperator(A)


def from_pylops(L: Any, *, dtype: DType = np.complex64) -> linop.Operator:
    """A pylops.LinearOperator as an operator, which larmor's solvers take."""
    if not isinstance(L, LinearOperator):
        raise ArgumentError(f"L: got {type(L).__name__}, expected a pylops.LinearOperator")
    before, after = tuple(int(n) for n in L.dims), tuple(int(n) for n in L.dimsd)
    made = linop.of_vectors(L, L.matvec, L.rmatvec, before, after, "pylops", dtype)
    return made_by(made, from_pylops, L, dtype=dtype)
