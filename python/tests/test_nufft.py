"""larmor.nufft against the sums that it stands for. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import threading

import numpy as np
import pytest
from conftest import relative

import larmor
from larmor import _arrays, nufft

SHAPES = [(12,), (8, 11), (6, 7, 5)]


@pytest.mark.parametrize("modes", SHAPES)
def test_column_d_of_the_points_goes_with_axis_d(modes, rng, numbers, dense):
    points = rng.uniform(-0.5, 0.5, (40, len(modes))) * modes
    x, y = numbers(2, *modes), numbers(2, 40)
    matrix = dense(points, modes).reshape(40, -1)
    assert relative(nufft.type2(points, x, tol=1e-11), x.reshape(2, -1) @ matrix.T) < 1e-10
    assert relative(nufft.type1(points, y, modes, tol=1e-11).reshape(2, -1), y @ matrix.conj()) < 1e-10


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_type_3_is_the_sum_over_points_in_cycles_per_unit(ndim, rng, numbers):
    x, s, c = rng.uniform(-2, 2, (30, ndim)), rng.uniform(-3, 3, (20, ndim)), numbers(30)
    assert relative(nufft.type3(x, c, s, tol=1e-10), np.exp(2j * np.pi * s @ x.T) @ c) < 1e-9


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_type_3_refuses_numbers_without_a_column_whatever_their_count(count):
    x = np.linspace(0, 1, count)
    for points, targets in (x, x), (x, x[:, None]):
        with pytest.raises(larmor.ShapeError, match=rf"points: got shape \({count},\), .* points\[:, None\]"):
            nufft.type3(points, np.ones(count), targets)


def test_radians_are_two_pi_over_n_cycles(rng, numbers):
    points, x, c = rng.uniform(-3, 3, (25, 2)), numbers(8, 10), numbers(25)
    same = nufft.type2(points * 2 * np.pi / [8, 10], x, units="radians", tol=1e-11)
    assert relative(same, nufft.type2(points, x, tol=1e-11)) < 1e-10
    targets = rng.uniform(-3, 3, (20, 2))
    other = nufft.type3(points, c, 2 * np.pi * targets, units="radians", tol=1e-10)
    assert relative(other, nufft.type3(points, c, targets, tol=1e-10)) < 1e-9


def test_points_may_have_the_shape_of_readouts(rng, numbers):
    points = rng.uniform(-4, 4, (3, 7, 2))
    y = nufft.type2(points, numbers(2, 4, 8, 8))
    assert y.shape == (2, 4, 3, 7)
    assert nufft.type1(points, y, (8, 8)).shape == (2, 4, 8, 8)


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_the_adjoint_is_exact(kind, rng, numbers):
    points, targets = rng.uniform(-4, 4, (30, 2)), rng.uniform(-1, 1, (17, 2))
    plan = nufft.Plan(kind, 2 if kind == 3 else (9, 8), dtype=np.complex128)
    plan.set_points(points, targets if kind == 3 else None)
    before, after = {1: ((30,), (9, 8)), 2: ((9, 8), (30,)), 3: ((30,), (17,))}[kind]
    x, y = numbers(*before), numbers(*after)
    left, right = np.vdot(y, plan.execute(x)), np.vdot(plan.adjoint(y), x)
    assert abs(left - right) < 1e-12 * abs(left) + 1e-11


def test_out_is_written_where_it_is_and_the_input_stays(rng, numbers):
    plan = nufft.Plan(2, (8, 8)).set_points(rng.uniform(-4, 4, (20, 2)))
    x = numbers(8, 8).astype(np.complex64)
    before, out = x.copy(), np.empty(20, np.complex64)
    assert plan.execute(x, out) is out
    assert np.array_equal(x, before)
    assert np.array_equal(out, plan.execute(x))


def test_values_of_single_precision_stay_single(rng, numbers):
    points = rng.uniform(-4, 4, (20, 2))
    assert nufft.type2(points, numbers(8, 8).astype(np.complex64)).dtype == np.complex64
    assert nufft.type2(points, numbers(8, 8).real).dtype == np.complex128


def test_strided_inputs_are_read_as_they_are_meant(rng, numbers):
    points, x = rng.uniform(-4, 4, (20, 2)), numbers(16, 8)
    strided = nufft.type2(points[::2], x[::2].T[::-1], tol=1e-10)
    assert relative(strided, nufft.type2(points[::2].copy(), x[::2].T[::-1].copy(), tol=1e-10)) == 0


def test_points_may_change(rng, numbers):
    plan, x = nufft.Plan(2, (8, 8), dtype=np.complex128, tol=1e-9), numbers(8, 8)
    for count in (10, 25):
        points = rng.uniform(-4, 4, (count, 2))
        assert relative(plan.set_points(points).execute(x), nufft.type2(points, x, tol=1e-9)) < 1e-8


@pytest.mark.parametrize("call, kind, says", [
    (lambda: nufft.Plan(2, (8, 8), tol=-1), larmor.ArgumentError, "tol"),
    (lambda: nufft.Plan(4, (8, 8)), larmor.ArgumentError, "type"),
    (lambda: nufft.Plan(2, (8, 8), units="degrees"), larmor.ArgumentError, "radians"),
    (lambda: nufft.Plan(2, (8, 8, 8, 8)), larmor.ArgumentError, "1 to 3"),
    (lambda: nufft.Plan(2, (8, 8), tol=1e-14), larmor.NumericError, "tol"),
    (lambda: nufft.Plan(2, (8, 8), dtype=np.float16), larmor.ArgumentError, "float16"),
    (lambda: nufft.Plan(2, (8, 8)).execute(np.zeros((8, 8))), larmor.ArgumentError, "set_points"),
    (lambda: nufft.Plan(2, (8, 8)).set_points(np.zeros((5, 3))), larmor.ShapeError, "column"),
    (lambda: nufft.Plan(2, (8, 8)).set_points(np.full((5, 2), np.nan)), larmor.NumericError, "not finite"),
    (lambda: nufft.Plan(2, (8, 8)).set_points(np.zeros((5, 2))).execute(np.zeros((8, 9))), larmor.ShapeError,
     r"\(8, 9\)"),
    (lambda: nufft.Plan(2, (8, 8), device="gpu"), larmor.ArgumentError, "gpu"),
])
def test_an_error_has_its_kind_and_larmors_line(call, kind, says):
    with pytest.raises(kind, match=says):
        call()


def test_an_output_that_does_not_fit_or_is_read_only_is_refused(rng):
    plan = nufft.Plan(2, (8, 8)).set_points(rng.uniform(-4, 4, (20, 2)))
    x, out = np.zeros((8, 8), np.complex64), np.empty(20, np.complex64)
    for wrong in (np.empty(21, np.complex64), np.empty(20, np.complex128), np.empty(40, np.complex64)[::2]):
        with pytest.raises(larmor.Error):
            plan.execute(x, wrong)
    out.flags.writeable = False
    with pytest.raises(larmor.ArgumentError, match="read-only"):
        plan.execute(x, out)


def test_other_threads_run_during_a_call(rng, numbers):
    """The interpreter's lock is released: a counter advances while one call is at work."""
    points, x = rng.uniform(-128, 128, (400000, 2)), numbers(256, 256)
    plan = nufft.Plan(2, (256, 256), dtype=np.complex128, tol=1e-12, device="cpu:1").set_points(points)
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    plan.execute(x)
    advanced = counted[0] - before
    done.set()
    thread.join()
    assert advanced > 100


def test_threads_have_plans_of_their_own(rng, numbers):
    points, x = rng.uniform(-8, 8, (100, 2)), numbers(16, 16)
    expected, got = nufft.type2(points, x), {}

    def work(i):
        for _ in range(20):
            got[i] = nufft.type2(points, x)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(np.array_equal(got[i], expected) for i in range(4))


class OnlyDLPack:
    """An array that offers nothing but DLPack, as JAX's do."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **options):
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


def test_arrays_that_offer_dlpack_alone_are_taken_where_they_are(rng, numbers):
    points, x = rng.uniform(-4, 4, (20, 2)), numbers(8, 8)
    assert np.array_equal(nufft.type2(OnlyDLPack(points), OnlyDLPack(x)), nufft.type2(points, x))
    y = numbers(20)
    assert np.array_equal(nufft.type1(OnlyDLPack(points), OnlyDLPack(y), (8, 8)), nufft.type1(points, y, (8, 8)))
    assert np.shares_memory(_arrays.as_input(OnlyDLPack(x)), x)
