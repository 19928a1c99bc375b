"""Operators in SigPy and PyLops, and theirs in larmor's solvers. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import numpy as np
import pytest
from conftest import relative
from test_linop import C128, operators

import larmor
from larmor import linop, prox, solve


@pytest.fixture
def problem(rng, numbers):
    """A SENSE operator in double precision, an image and its data."""
    A = linop.sense(numbers(3, 8, 8), rng.uniform(-4, 4, (12, 16, 2)), tol=1e-10)
    x = numbers(8, 8)
    return A, x, A @ x


def test_every_operator_is_a_linop_of_sigpy(rng, numbers):
    adapter = pytest.importorskip("larmor.sigpy")
    for name, A in operators(rng, numbers).items():
        L = adapter.to_sigpy(A)
        x, y = numbers(*A.in_shape), numbers(*A.out_shape)
        assert relative(L(x), A @ x) < 1e-13, name
        assert relative(L.H(y), A.H @ y) < 1e-13, name
        assert relative(L.N(x), A.N @ x) < 1e-13, name
        assert relative((2j * L.H * L)(x), 2j * (A.H @ (A @ x))) < 1e-12, name


def test_sigpys_linops_take_part_in_larmors_solvers(problem):
    adapter = pytest.importorskip("larmor.sigpy")
    A, x, y = problem
    back = adapter.from_sigpy(adapter.to_sigpy(A), dtype=C128)
    assert back.adjoint_error() < 1e-13
    found, _ = solve.cg(back, y, iterations=300, tol=1e-12)
    assert relative(found, x) < 1e-6


def test_sigpys_apps_solve_with_larmors_operators(problem):
    adapter = pytest.importorskip("larmor.sigpy")
    import sigpy.app

    A, x, y = problem
    app = sigpy.app.LinearLeastSquares(adapter.to_sigpy(A), y, max_iter=300, show_pbar=False)
    assert relative(app.run(), x) < 1e-3


def test_every_operator_is_one_of_pylops(rng, numbers):
    adapter = pytest.importorskip("larmor.pylops")
    for name, A in operators(rng, numbers).items():
        L = adapter.to_pylops(A)
        x, y = numbers(*A.in_shape), numbers(*A.out_shape)
        assert relative(L @ x, A @ x) < 1e-13, name
        assert relative(L.H @ y, A.H @ y) < 1e-13, name
        assert L.shape == A.shape


def test_operators_of_pylops_take_part_in_larmors_solvers(problem):
    adapter = pytest.importorskip("larmor.pylops")
    A, x, y = problem
    found, _ = solve.cg(adapter.from_pylops(adapter.to_pylops(A), dtype=C128), y, iterations=300, tol=1e-12)
    assert relative(found, x) < 1e-6


def test_exceptions_in_another_librarys_operator_reach_the_caller(problem):
    adapter = pytest.importorskip("larmor.sigpy")
    import sigpy.linop

    class Broken(sigpy.linop.Identity):
        def _apply(self, input):
            raise ZeroDivisionError("broken")

    with pytest.raises(RuntimeError, match="Exceptions from"):  # SigPy's own wrapping of it
        solve.cg(adapter.from_sigpy(Broken((4,))), np.ones(4))


def test_a_real_operator_of_pylops_maps_the_imaginary_part_too(numbers):
    adapter = pytest.importorskip("larmor.pylops")
    import pylops

    L, x = pylops.FirstDerivative((6, 5), dtype=np.float64), numbers(6, 5)
    want = (L @ x.real.ravel() + 1j * (L @ x.imag.ravel())).reshape(6, 5)
    for A in (adapter.from_pylops(L, dtype=C128), linop.as_operator(L)):
        assert relative(A @ x, want) < 1e-14
        assert A.adjoint_error() < 1e-13


def test_operators_of_pylops_are_put_together_with_larmors_and_go_into_penalties(problem):
    pylops = pytest.importorskip("pylops")
    A, x, y = problem
    L = pylops.FirstDerivative((8, 8), dtype=np.float64)
    D = linop.as_operator(L)
    assert relative((A @ L) @ x, A @ (D @ x)) < 1e-13
    assert relative((D + L) @ x, 2 * (D @ x)) < 1e-13
    g = prox.l1((8, 8), 0.1, dtype=C128)
    by, _ = solve.admm(A, y, g, L, iterations=5)
    assert np.array_equal(by, solve.admm(A, y, g, D, iterations=5)[0])


@pytest.mark.parametrize("name, line", [("to_pylops", "A: got int, expected an operator of larmor.linop"),
                                        ("from_pylops", "L: got int, expected a pylops.LinearOperator"),
                                        ("to_sigpy", "A: got int, expected an operator of larmor.linop"),
                                        ("from_sigpy", "L: got int, expected a sigpy.linop.Linop")])
def test_what_is_no_operator_is_refused_in_a_line(name, line):
    adapter = pytest.importorskip(f"larmor.{name.partition('_')[2]}")
    with pytest.raises(larmor.ArgumentError) as raised:
        getattr(adapter, name)(3)
    assert str(raised.value) == line
