"""Operators, solvers and proximal maps: larmor's, and those of Python in larmor's solvers.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import copy
import gc
import inspect
import itertools
import pickle
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import relative

import larmor
from larmor import linop, nufft, prox, solve
from larmor._library import _alive

C128 = np.complex128


@pytest.fixture
def problem(rng, numbers):
    """SENSE of 4 coils, an image and its data."""
    traj = rng.uniform(-8, 8, (30, 32, 2))
    A = linop.sense(numbers(4, 16, 16), traj, tol=1e-10)
    x = numbers(16, 16)
    return A, x, A @ x


def operators(rng, numbers):
    traj = rng.uniform(-4, 4, (20, 10, 2))
    coils = linop.coils(numbers(3, 8, 8))
    transform = linop.nufft(traj, (8, 8), batch=3, dtype=C128, tol=1e-9)
    grad = linop.gradient((8, 6), dtype=C128)
    return {
        "coils": coils, "nufft": transform, "chain": transform @ coils, "gradient": grad,
        "symmetrised": linop.symmetrised_gradient((8, 6), dtype=C128) @ grad,
        "fft": linop.fft((5, 8, 6), (-1, 0), unitary=True, centred=True, dtype=C128),
        "wavelet": linop.wavelet((16, 18), dtype=C128), "diag": linop.diag(numbers(4, 5)),
        "mask": linop.mask(np.arange(12.0).reshape(3, 4), dtype=C128),
        "weights": linop.weights(np.arange(6.0), batch=2, dtype=C128),
        "casorati": linop.casorati((4, 9, 8), (4, 4), dtype=C128),
        "subspace": linop.subspace(numbers(2, 5), (4, 4), dtype=C128),
        "frames": linop.frames([linop.diag(numbers(4)), linop.diag(numbers(4))]),
        "stack": linop.stack([coils, 2j * coils]), "toeplitz": linop.toeplitz(traj, (8, 8), dtype=C128),
        "sum": coils + 3j * coils - coils, "adjoint": coils.H, "normal": transform.N,
        "off_resonance": linop.off_resonance(linop.nufft(traj, (8, 8), dtype=C128, tol=1e-9),
                                             rng.uniform(-50, 50, (8, 8)), rng.uniform(0, 0.01, (20, 10))),
        "cartesian": linop.cartesian(rng.integers(-4, 4, (9, 7, 2)).astype(float), (8, 8), dtype=C128),
        "function": linop.Function(lambda x: x[::-1] * 2j, lambda y: y[::-1] * -2j, (7,), (7,), dtype=C128),
    }


def test_every_operator_has_an_exact_adjoint_and_normal_map(rng, numbers):
    for name, A in operators(rng, numbers).items():
        assert A.adjoint_error() < 1e-13, name
        x = numbers(*A.in_shape)
        assert relative(A.N @ x, A.H @ (A @ x)) < 1e-7, name


def test_the_axes_are_numpys(numbers):
    x = numbers(5, 8, 6)
    assert relative(linop.fft((5, 8, 6), (0, 2), dtype=C128) @ x, np.fft.fftn(x, axes=(0, 2))) < 1e-13
    d = linop.gradient((8, 6), 0, dtype=C128) @ x[0]
    assert d.shape == (1, 8, 6)
    assert relative(d[0, :-1], np.diff(x[0], axis=0)) < 1e-14
    both = linop.gradient((8, 6), dtype=C128) @ x[0]
    assert relative(both[0, :, :-1], np.diff(x[0], axis=1)) < 1e-14
    assert relative(both[1], d[0]) < 1e-14
    m = numbers(4, 8, 6)
    assert relative(linop.coils(m) @ x[0], m * x[0]) < 1e-14


def test_arithmetic_is_that_of_matrices(numbers):
    a, b, x = numbers(6), numbers(6), numbers(6)
    A, B = linop.diag(a), linop.diag(b)
    for op, value in ((A @ B, a * b), (A + B, a + b), (A - 2j * B, a - 2j * b), (-A, -a),
                      ((3j * A).H, (3j * a).conj())):
        assert relative(op @ x, value * x) < 1e-14


def test_cg_solves_and_its_report_says_how(problem):
    A, x, b = problem
    found, report = solve.cg(A, b, iterations=200, tol=1e-10)
    assert relative(found, x) < 1e-8
    assert report.end == "tolerance"
    assert 0 < report.iterations < 200
    assert relative(solve.lsmr(A, b, iterations=200, tol=1e-10)[0], x) < 1e-7


def test_a_start_is_taken_and_not_written_to(problem):
    A, x, b = problem
    start = x.copy()
    found, report = solve.cg(A, b, start, tol=1e-6)
    assert report.iterations <= 1
    assert np.array_equal(start, x)
    assert relative(found, x) < 1e-8


def test_scipy_takes_an_operator_as_it_is(problem):
    sparse = pytest.importorskip("scipy.sparse.linalg")
    A, x, b = problem
    found = sparse.lsqr(A, b.ravel(), iter_lim=200, atol=1e-12, btol=1e-12)[0]
    assert relative(found.reshape(x.shape), x) < 1e-6


def test_an_operator_of_python_gives_larmors_solution(problem):
    A, _, b = problem
    own = linop.Function(A.forward, A.adjoint, A.in_shape, A.out_shape, dtype=C128)
    ours, theirs = solve.cg(A, b, iterations=30, tol=1e-9)[0], solve.cg(own, b, iterations=30, tol=1e-9)[0]
    assert relative(theirs, ours) < 1e-6


@pytest.mark.parametrize("solver", [solve.admm, solve.pdhg])
def test_a_proximal_map_of_python_gives_larmors_solution(solver, problem):
    A, _, b = problem
    K = linop.gradient((16, 16), dtype=C128)
    g = prox.group_l1(K.out_shape, 50.0, dtype=C128)

    def shrink(t, x):
        norm = np.sqrt((abs(x) ** 2).sum(0))
        return x * np.maximum(0, 1 - 50.0 * t / np.maximum(norm, 1e-300))

    own = prox.Function(shrink, lambda x: 50.0 * np.sqrt((abs(x) ** 2).sum(0)).sum(), K.out_shape, dtype=C128)
    assert relative(solver(A, b, own, K)[0], solver(A, b, g, K)[0]) < 1e-10


def test_penalties_by_name_are_all_there(problem):
    A, x, b = problem
    for name in solve.regularisers():
        if name not in ("llr", "lowrank", "lowrank-sparse", "lowrank-multiscale", "clear"):  # of series
            assert relative(solve.regularised(A, b, name, lam=0)[0], x) < 0.1, name


def test_a_tolerance_of_0_is_the_end_at_rounding_and_not_the_default(problem):
    A, x, b = problem
    found, report = solve.cg(A, b, iterations=400, tol=0)
    assert report.residual < 1e-12 and relative(found, x) < 1e-8
    for solver in (solve.fista, solve.pgm, solve.pdhg, solve.admm):
        report = solver(A, b, prox.square(A.in_shape, 1e-3, dtype=A.dtype), iterations=2000, tol=0)[1]
        assert report.residual < 1e-7, solver


@pytest.mark.parametrize("solver", [solve.cg, solve.lsmr, solve.admm, solve.fista, solve.pgm, solve.pdhg,
                                    solve.regularised, solve.pnp, solve.pocs])
def test_the_help_of_a_solver_has_each_option_that_is_a_number_and_its_default(solver):
    said, options = solver.__doc__, inspect.signature(solver).parameters
    for name in {"iterations", "tol", "monitor", "lam", "penalty", "inner", "largest"} & set(options):
        assert re.search(rf"\b{name}\b", said), name
    assert re.search(r"iterations +at most; default \(0\): ", said) and "; 0: at rounding." in said


def test_fista_stays_in_a_set_and_agrees_with_admm(problem):
    A, _, b = problem
    for g in (prox.nonnegative(A.in_shape, dtype=C128), prox.box(A.in_shape, -0.1, 0.2, dtype=C128)):
        x, report = solve.fista(A, b, g, iterations=3000, tol=1e-12)
        assert relative(solve.admm(A, b, g, iterations=3000, tol=1e-12)[0], x) < 1e-5
        assert np.array_equal(g(1.0, x), x)
        assert report.iterations > 1


def test_sets_norms_and_functions_that_are_moved_are_maps(numbers):
    x = numbers(4, 5)
    mask = np.zeros((4, 5), bool)
    mask[1:3] = True
    assert np.array_equal(prox.support(mask, dtype=C128)(1, x), np.where(mask, x, 0))
    assert np.array_equal(prox.real((4, 5), dtype=C128)(1, x), x.real)
    norm = np.linalg.norm(x)
    assert relative(prox.l2((4, 5), 0.5, dtype=C128)(1, x), x * (1 - 0.5 / norm)) < 1e-12
    assert relative(prox.square((4, 5), 0.5, dtype=C128)(2, x), x / 2) < 1e-12
    centre = numbers(4, 5)
    moved = prox.translate(prox.l1((4, 5), 0.5, dtype=C128), centre)
    assert relative(moved(1, x), centre + prox.l1((4, 5), 0.5, dtype=C128)(1, x - centre)) < 1e-12


def test_samples_of_the_posterior_spread_around_the_image(problem):
    A, _, b = problem
    image, _ = solve.cg(A, b, lam=2.0, iterations=200)
    drawn = itertools.islice(solve.posterior(A, b, image, weight=2.0, deviation=0.1), 100)
    samples = np.stack(list(drawn))
    deviation = samples.std(0)
    assert abs(samples.mean(0) - image).max() < 0.6 * deviation.max()
    assert not np.array_equal(samples[0], samples[1])
    by_tv = next(solve.posterior(A, b, image, weight=2.0, deviation=0.1, name="tv"))
    assert by_tv.shape == image.shape
    with pytest.raises(larmor.ArgumentError, match="posterior: tgv is no sum of magnitudes"):
        next(solve.posterior(A, b, image, weight=2.0, deviation=0.1, name="tgv"))


def test_an_exception_in_python_ends_the_solver_and_arrives(numbers):
    def fail(x):
        raise KeyError("mine")

    A = linop.Function(fail, fail, (4,), (4,))
    with pytest.raises(KeyError, match="mine"):
        solve.cg(A, np.ones(4))
    with pytest.raises(larmor.ShapeError, match="adjoint: returned shape"):
        solve.cg(linop.Function(lambda x: np.zeros(3), lambda y: np.zeros(3), (4,), (4,)), np.ones(4))
    with pytest.raises(ZeroDivisionError):
        solve.cg(linop.diag(numbers(4)), np.ones(4), monitor=lambda p: 1 / 0)
    assert relative(linop.diag(np.full(4, 2)) @ np.ones(4), np.full(4, 2)) < 1e-6  # nothing is left of it


def test_a_monitor_sees_the_iterates_and_stops(problem):
    A, _, b = problem
    seen = []

    def monitor(p):
        seen.append((p.iteration, p.x.copy()))
        return p.iteration == 3

    x, report = solve.cg(A, b, monitor=monitor)
    assert [i for i, _ in seen] == [1, 2, 3]
    assert report.end == "stopped"
    assert np.array_equal(x, seen[-1][1])


def test_shapes_that_do_not_fit_are_refused(numbers):
    A = linop.coils(numbers(3, 8, 8))
    for call in (lambda: A @ numbers(8, 9), lambda: A @ A, lambda: A + A.H,
                 lambda: A.forward(numbers(8, 8), np.empty(3))):
        with pytest.raises(larmor.ShapeError):
            call()


def test_arrays_that_operators_keep_live_as_long_as_they_do(numbers):
    maps, x = numbers(3, 8, 8), numbers(8, 8)
    expected = maps * x
    A = linop.coils(maps)
    del maps
    gc.collect()
    other = np.zeros((3, 8, 8), C128)  # what would be put where the maps were
    assert relative(A @ x, expected) < 1e-14
    del other, A
    gc.collect()
    assert not _alive


LONG_CALL = """
import os, signal, threading, time
import numpy as np
from larmor import linop, solve
signal.signal(signal.SIGINT, signal.default_int_handler)
A = linop.nufft(np.zeros((1, 2)), (8, 8))
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    CALL
except KeyboardInterrupt:
    print("interrupted", round((A @ np.ones((8, 8)))[0].real))
"""


@pytest.mark.parametrize("call", ["solve.largest_eigenvalue(A, 10**9)",
                                  "solve.cg(A, np.ones(1), monitor=lambda p: time.sleep(1000))"])
def test_ctrl_c_ends_a_long_call_and_larmor_goes_on(call):
    done = subprocess.run([sys.executable, "-c", LONG_CALL.replace("CALL", call)], capture_output=True, text=True,
                          timeout=900, check=True)
    assert done.stdout.split() == ["interrupted", "64"]


def test_operators_keep_what_they_were_made_of(rng, numbers):
    """A normal map that is made when it is asked for finds the trajectory, though nothing else holds it."""
    for points in (rng.integers(-8, 8, (40, 16, 2)).astype(float), rng.uniform(-8, 8, (40, 16, 2))):
        maps = numbers(3, 16, 16)
        A = linop.sense(maps.copy(), points.copy(), weights=np.ones((40, 16)), tol=1e-9, toeplitz=True)
        again = linop.sense(maps, points, weights=np.ones((40, 16)), tol=1e-9, toeplitz=False)
        gc.collect()
        waste = [rng.uniform(size=(40, 16, 2)) for _ in range(50)]
        x = numbers(16, 16)
        assert relative(A.N @ x, again.H @ (again @ x)) < 1e-6
        del waste


def test_what_the_interpreter_forgets_last_when_it_ends_is_freed_without_a_word():
    code = """
import builtins, larmor
from larmor import linop, prox
A = linop.sense(larmor.phantom_coils((16, 16), 2), larmor.traj("golden", (16, 16), readouts=8))
own = linop.Function(lambda x: x, lambda x: x, (16, 16), (16, 16))
builtins.kept = [linop.stack([A, A @ own]), prox.Function(lambda t, x: x, lambda x: 0.0, (4,))]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=900, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shape", [(0,), (16, 0), (0, 16), (4, 0, 8)])
def test_arrays_without_elements_give_zeros_or_are_refused(shape):
    x = np.zeros(shape, np.complex64)
    found = [linop.gradient(shape), linop.gradient(shape, -1, spacing=[1.5] * len(shape)), linop.wavelet(shape),
             linop.symmetrised_gradient(shape, 0), linop.fft(shape), linop.diag(x), linop.mask(x.real),
             linop.phase(x), linop.coils(np.zeros((3, *shape))), linop.weights(x.real, batch=2),
             linop.stack([linop.diag(x)] * 2), linop.Function(lambda x: x, lambda x: x, shape, shape)]
    for A in found:
        v, y = np.zeros(A.in_shape, np.complex64), np.zeros(A.out_shape, np.complex64)
        for result in (A @ v, A.H @ y, A.N @ v, (A + A) @ v):
            assert not result.any(), A.name
        assert A.adjoint_error() == 0, A.name
        for name in [None, *solve.regularisers()]:  # each gives an image without elements, or one line
            try:
                found = solve.cg(A, y) if name is None else solve.regularised(A, y, name, lam=0.1, iterations=2)
                assert found[0].shape == A.in_shape
            except larmor.Error as refused:
                assert str(refused)
    assert prox.l1(shape)(0.5, x).shape == shape


def test_samples_that_are_none_give_zeros(numbers):
    for empty in (np.zeros((0, 7, 2)), np.zeros((5, 0, 2))):
        for A in (linop.nufft(empty, (8, 8)), linop.sense(numbers(2, 8, 8).astype(np.complex64), empty)):
            y = np.zeros(A.out_shape, np.complex64)
            assert (A @ np.ones((8, 8))).shape == y.shape
            assert not (A.H @ y).any() and not (A.N @ np.ones((8, 8))).any()


def test_threads_that_share_a_handle_get_what_one_gets(rng, numbers):
    points = rng.uniform(-8, 8, (150, 2))
    W = linop.wavelet((16, 16), dtype=C128)
    g = prox.stack([prox.l1((4, 16), dtype=C128)] * 4)
    found = {name: (A.forward, numbers(*A.in_shape)) for name, A in operators(rng, numbers).items()}
    A = linop.sense(numbers(3, 16, 16), points[None])
    found |= {"sense normal": (A.normal, numbers(16, 16)), "sense": (A.forward, numbers(16, 16)),
              "plan": (nufft.Plan(1, (16, 16), dtype=C128).set_points(points).execute, numbers(150)),
              "type 3": (nufft.Plan(3, 2, dtype=C128).set_points(points, points).execute, numbers(150)),
              "prox": (lambda x: g(0.1, x), numbers(16, 16)),
              "cg": (lambda y: solve.cg(A, y, iterations=3)[0], numbers(*A.out_shape)),
              "tv": (lambda y: solve.admm(A, y, prox.l1(W.out_shape, 0.1, dtype=C128), W, iterations=3)[0],
                     numbers(*A.out_shape))}
    for name, (function, x) in found.items():
        expected = function(x)
        with ThreadPoolExecutor(4) as threads:
            together = list(threads.map(lambda _, f=function, x=x: f(x), range(12)))
        assert all(np.array_equal(y, expected) for y in together), name


def test_a_star_applies_composes_and_scales(problem, numbers):
    A, x, y = problem
    assert np.array_equal(A * x, y)
    assert relative((A.H * A) * x, A.H @ y) < 1e-12
    for scaled in (A * 2j, 2j * A, A * np.complex64(2j), np.complex64(2j) * A, A * np.array(2j), A / -0.5j):
        assert relative(scaled @ x, 2j * y) < 1e-6
    for wrong in (lambda: x * A, lambda: x @ A, lambda: A + x, lambda: x + A, lambda: A - 1, lambda: A / A):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(larmor.Error):
        A * x[:3]


def test_complex128_stays_or_is_refused(rng, numbers):
    traj = rng.uniform(-8, 8, (30, 32, 2))
    maps, x, y = numbers(4, 16, 16), numbers(16, 16), numbers(4, 30, 32)
    single, double = linop.sense(maps.astype(np.complex64), traj), linop.sense(maps, traj)
    assert (double @ x).dtype == (double @ x.astype(np.complex64)).dtype == solve.cg(double, y)[0].dtype == C128
    assert (single @ x.real).dtype == np.complex64  # real arrays take the operator's type
    assert solve.Circulant(traj, (16, 16), maps=maps).inverse(1).dtype == C128
    plan = nufft.Plan(2, (16, 16)).set_points(traj)
    for call in (lambda: single @ x, lambda: single.H @ y, lambda: single.N @ x, lambda: single * x,
                 lambda: solve.cg(single, y), lambda: solve.cg(single, y.astype(np.complex64), x),
                 lambda: solve.regularised(single, y, "tv"), lambda: prox.l1((16, 16))(1, x), lambda: plan.execute(x),
                 lambda: solve.Circulant(traj, (16, 16), maps=maps, dtype=np.complex64)):
        with pytest.raises(larmor.ShapeError, match="got complex128, expected complex64"):
            call()
    assert single.matvec(x.ravel()).dtype == C128  # as SciPy's solvers, which compute in double precision, need it
    assert np.array_equal(single @ x.tolist(), single @ x.astype(np.complex64))  # lists have no precision


def test_a_basis_is_taken_to_the_operators_precision_and_a_real_one_keeps_its_own(numbers):
    basis, x = numbers(3, 5), numbers(3, 4, 4)
    for given in (basis, basis.real, basis.tolist()):
        expected = np.einsum("kf,kxy->fxy", given, x)
        assert relative(linop.subspace(given, (4, 4), dtype=C128) @ x, expected) < 1e-14
        single = linop.subspace(given, (4, 4))
        assert single.dtype == np.complex64
        assert relative(single @ x.astype(np.complex64), expected) < 1e-6


def test_operators_are_put_together_as_their_matrices_are(rng, numbers):
    A, B = linop.nufft(rng.uniform(-4, 4, (20, 2)), (8, 6), dtype=C128, tol=1e-12), linop.coils(numbers(3, 8, 6))
    C = linop.gradient((8, 6), dtype=C128)
    a, b, c = A.todense(), B.todense(), C.todense()
    assert a.shape == A.shape == (20, 48)
    flat = linop.vstack([A, B], None)
    assert flat.out_shape == (20 + 144,)
    for op, matrix in ((A.T, a.T), (A.conj(), a.conj()), (A.H, a.conj().T), (B.T.T, b),
                       (A.N ** 2, (A.N @ A.N).todense()),
                       (linop.vstack([B, C]), np.vstack([b, c])), (flat, np.vstack([a, b])),
                       (linop.hstack([A.H, A.T]), np.hstack([a.conj().T, a.T])),
                       (linop.hstack([A.H, B.H], None), np.hstack([a.conj().T, b.conj().T])),
                       (linop.block_diag([A.H, 2j * A.H]), _diagonal(a.conj().T, 2j * a.conj().T)),
                       (linop.block_diag([A, B], None, None), _diagonal(a, b)), (B[1:], b[48:]), (A[::2], a[::2]),
                       (A[[3, 1]], a[[3, 1]]), (B[..., 2], b[2::6]), (+A, a)):
        assert relative(op.todense(), matrix) < 1e-11
        assert op.adjoint_error() < 1e-13


def _diagonal(a, b):
    out = np.zeros((a.shape[0] + b.shape[0], a.shape[1] + b.shape[1]), complex)
    out[:a.shape[0], :a.shape[1]], out[a.shape[0]:, a.shape[1]:] = a, b
    return out


def test_stacks_along_other_axes_are_those_of_numpy(numbers):
    B, x = linop.coils(numbers(3, 8, 6)), numbers(8, 6)
    y = B @ x
    for axis in (0, 1, 2, -1):
        assert relative(linop.vstack([B, 2 * B], axis) @ x, np.concatenate([y, 2 * y], axis)) < 1e-14
        both = linop.hstack([B.H, 2 * B.H], axis)
        assert relative(both @ np.concatenate([y, y], axis), 3 * (B.H @ y)) < 1e-13
        both = linop.block_diag([B.H, 2 * B.H], axis, 1)
        assert relative(both @ np.concatenate([y, y], axis), np.concatenate([B.H @ y, 2 * (B.H @ y)], 1)) < 1e-13


def test_an_operator_of_scipy_gives_the_same_numbers(numbers):
    pytest.importorskip("scipy")
    B, x = linop.coils(numbers(3, 8, 6)), numbers(8, 6)
    assert np.array_equal(B.to_scipy() @ x.ravel(), (B @ x).ravel())


def test_flat_vectors_and_columns_are_arrays_of_the_operator(rng, numbers):
    B, x, y = linop.coils(numbers(3, 8, 6)), numbers(8, 6), numbers(3, 8, 6)
    for flat in (B @ x.ravel(), B * x.ravel(), B.dot(x.ravel()), B.matvec(x.ravel())):
        assert np.array_equal(flat, (B @ x).ravel())
    columns = numbers(48, 4)
    assert relative(B.matmat(columns), B.todense() @ columns) < 1e-13
    assert np.array_equal(B @ columns, B.matmat(columns))
    for array in (x, x.ravel(), columns):
        assert np.array_equal(B @ array.tolist(), B @ array)
    assert relative(B.rmatmat(B.matmat(columns)), B.N.todense() @ columns) < 1e-13
    assert np.array_equal(B.dot(B.H).todense(), (B @ B.H).todense())
    assert (B.ishape, B.oshape, B.dims, B.dimsd) == ([8, 6], [3, 8, 6], (8, 6), (3, 8, 6))
    back = linop.embed((5, 4), (slice(None), 2), dtype=C128) @ numbers(5)
    assert back.shape == (5, 4) and not back[:, [0, 1, 3]].any() and back[:, 2].all()
    assert np.array_equal(linop.reshape((8, 6), (4, 12), dtype=C128) @ x, x.reshape(4, 12))
    assert np.array_equal(linop.identity((3, 8, 6), dtype=C128).N @ y, y)


@pytest.mark.parametrize(("call", "line"), [
    (lambda B: B[[1, 1]], "index: takes an element twice"),
    (lambda B: B[0, 0, 0], "index: takes one number; a range such as [3:4] takes an array"),
    (lambda B: B ** 2, "coils ** 2: expected an operator from a shape to itself, and a whole number of 1 or more"),
    (lambda B: B.matmat(np.ones(48)), "coils: got an array of shape (48,), expected [48, columns]"),
    (lambda B: linop.reshape((8, 6), (7, 7)), "reshape: got (8, 6) and (7, 7), expected as many numbers in both"),
    (lambda B: linop.vstack([]), "no operators"),
    (lambda B: linop.vstack([B], 3), "axis: got 3 for an array of 3 dimensions"),
    (lambda B: linop.block_diag([B, linop.identity((7, 7), dtype=C128)]),
     "operators from (8, 6), (7, 7): expected shapes that differ along axis 0 alone")])
def test_what_cannot_be_put_together_is_refused_in_a_line(call, line, numbers):
    with pytest.raises((larmor.ArgumentError, larmor.ShapeError)) as refused:
        call(linop.coils(numbers(3, 8, 6)))
    assert str(refused.value) == line


def test_projections_of_proximal_maps_are_the_nearest_points(rng, numbers):
    x = numbers(6, 5)
    norm = np.linalg.norm(x)
    assert relative(prox.linf_ball((6, 5), 0.4, dtype=C128)(1, x), x * np.minimum(1, 0.4 / abs(x))) < 1e-12
    assert relative(prox.l2_ball((6, 5), 0.4, dtype=C128)(1, x), x * 0.4 / norm) < 1e-12
    centre = numbers(6, 5)
    z = prox.l2_ball((6, 5), 0.4, centre, dtype=C128)(1, x)
    assert relative(z, centre + 0.4 * (x - centre) / np.linalg.norm(x - centre)) < 1e-12
    u, s, v = np.linalg.svd(x, full_matrices=False)
    nuclear = prox.nuclear((6, 5), 0.5, dtype=C128)
    assert relative(nuclear(0.8, x), u * np.maximum(s - 0.4, 0) @ v) < 1e-12
    assert abs(nuclear.value(x) - 0.5 * s.sum()) < 1e-9
    p = prox.simplex((6, 5), 2.0, dtype=C128)(1, x)
    assert abs(p.sum() - 2) < 1e-13 and (p.real >= 0).all() and not p.imag.any()
    over = x.real - p.real
    assert np.ptp(over[p.real > 0]) < 1e-12 and (over[p.real == 0] <= over[p.real > 0].max() + 1e-12).all()
    assert repr(nuclear) == "<larmor prox nuclear (6, 5) complex128 cpu>"[:-4] + f"{nuclear.device.spec}>"


def test_a_set_of_data_within_their_noise_holds_a_solution(problem):
    """min |x|^2 with |A x - b| <= r: the l2 ball as g of K = A."""
    A, x, b = problem
    r = 0.01 * np.linalg.norm(b)
    ball = prox.l2_ball(A.out_shape, r, b, dtype=C128)
    tiny = 1e-3 * linop.identity(A.in_shape, dtype=C128)
    found, _ = solve.admm(tiny, np.zeros(A.in_shape, C128), ball, A, solve.cg(A, b)[0],
                          iterations=400, tol=1e-9)
    assert abs(np.linalg.norm(A @ found - b) / r - 1) < 0.02
    assert np.linalg.norm(found) < np.linalg.norm(x)


def test_a_history_has_what_monitors_see_and_pgm_falls_to_the_solution_of_fista(problem):
    A, _, b = problem
    g = prox.l1(A.in_shape, 20.0, dtype=C128)
    fast, slow, stopped = solve.History(every=5), solve.History(), solve.History(lambda p: p.iteration == 3)
    x, report = solve.fista(A, b, g, iterations=300, tol=1e-10, monitor=fast)
    y, _ = solve.pgm(A, b, g, iterations=2000, tol=1e-12, monitor=slow)
    assert relative(y, x) < 1e-6
    assert len(fast) == report.iterations == fast.iterations[-1] and len(fast.images) == len(fast) // 5
    assert fast.objectives[-1] == report.objective and fast.seconds == sorted(fast.seconds)
    assert (np.diff(slow.objectives) <= 1e-12 * slow.objectives[0]).all()
    assert fast.objectives[15] < slow.objectives[15]
    assert solve.pgm(A, b, g, monitor=stopped)[1].end == "stopped" and stopped.iterations == [1, 2, 3]
    assert repr(stopped).startswith("<larmor.solve.History, 3 iterations, residual ")


def test_the_power_method_finds_the_largest_eigenvalue_and_its_vector(problem):
    A, _, _ = problem
    matrix = A.todense()
    largest = np.linalg.norm(matrix, 2) ** 2
    history = solve.History()
    value, x, report = solve.power_method(A, iterations=3000, tol=1e-7, monitor=history)
    assert abs(value / largest - 1) < 1e-9 and report.end == "tolerance" and len(history) == report.iterations
    assert relative(A.N @ x, value * x) < 1e-6 and abs(np.linalg.norm(x) - 1) < 1e-12
    assert np.diff(history.objectives).min() > -1e-9 * largest


def test_operators_are_pickled_and_copied_but_those_of_functions_without_a_name(rng, numbers):
    made = operators(rng, numbers)
    coils = made["coils"]
    made["conjugate"], made["transpose"], made["part"] = coils.conj(), coils.T, coils[1:]
    made["beside"] = linop.vstack([coils, coils], 1)
    shared = linop.Segments(rng.uniform(-50, 50, (8, 8)), rng.uniform(0, 0.01, (20, 10)))
    points = rng.uniform(-4, 4, (20, 10, 2))
    made["segments"] = linop.segments(linop.nufft(points, (8, 8), dtype=C128), shared)
    made["some"] = linop.segments(linop.nufft(points[:2], (8, 8), dtype=C128), shared.of_readouts([3, 1]))
    made["inverse"] = solve.Circulant(points, (8, 8), dtype=C128).inverse(0.1)
    made["other"] = linop.as_operator(Matrix(numbers(12, 6)))
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        pickle.dumps(made.pop("function"))
    for name, A in made.items():
        x = numbers(*A.in_shape)
        for again in (pickle.loads(pickle.dumps(A)), copy.deepcopy(A)):
            assert np.array_equal(again @ x, A @ x), name
            assert repr(again) == repr(A)
    assert pickle.loads(pickle.dumps(coils.device)) is coils.device


def test_proximal_maps_are_pickled_and_copied_with_their_values(numbers):
    shape = (4, 6)
    x, centre, mask = numbers(*shape), numbers(*shape), np.arange(24.0).reshape(shape) % 2
    made = [make(shape, 0.3, dtype=C128) for make in (prox.l1, prox.group_l1, prox.l2, prox.square, prox.nuclear,
                                                      prox.l2_ball, prox.linf_ball, prox.simplex)]
    made += [prox.box(shape, -1, 0.5, dtype=C128), prox.nonnegative(shape, dtype=C128), prox.real(shape, dtype=C128),
             prox.support(mask, dtype=C128), prox.translate(made[0], centre), prox.conjugate(made[2]),
             prox.Function(threshold, np.sum, shape, dtype=C128)]
    made.append(prox.stack([prox.l1((1, 6), dtype=C128), prox.l2((3, 6), dtype=C128)]))
    for g in made:
        for again in (pickle.loads(pickle.dumps(g)), copy.deepcopy(g)):
            assert np.array_equal(again(0.7, x), g(0.7, x)) and repr(again) == repr(g)


def threshold(t, x):
    return x * (np.abs(x) > t)


@pytest.mark.parametrize("make", [lambda: nufft.Plan(2, (8, 8)), lambda: larmor.Simulation((8, 8), coils=1),
                                  lambda: larmor.Trajectory([np.zeros((3, 2))]), lambda: larmor.NlinvSeries((8, 8))])
def test_what_cannot_be_pickled_or_copied_says_so_in_a_line(make):
    one = make()
    for way in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match=f"^{type(one).__name__}: this cannot be pickled or copied; make it where "
                                            "it is needed$"):
            way(one)


class Matrix:
    """An operator with nothing but what larmor.typing.OperatorLike asks for."""

    def __init__(self, values):
        self.values, self.shape, self.dtype = values, values.shape, values.dtype

    @property
    def H(self):
        return Matrix(self.values.conj().T)

    def __matmul__(self, x):
        assert x.ndim == 1
        return self.values @ x


def test_solvers_take_any_operator_with_shape_dtype_adjoint_and_product(numbers):
    values, y = numbers(12, 6).astype(C128), numbers(12).astype(C128)
    A = Matrix(values)
    assert isinstance(A, larmor.typing.OperatorLike)
    expected = np.linalg.lstsq(values, y, rcond=None)[0]
    for solver in (solve.cg, solve.lsmr):
        assert relative(solver(A, y, iterations=40, tol=1e-12)[0], expected) < 1e-8
    assert solve.largest_eigenvalue(A, 300) == pytest.approx(np.linalg.norm(values, 2)**2, rel=1e-6)
    value, vector, _ = solve.power_method(A, iterations=500, tol=1e-10)
    assert value == pytest.approx(np.linalg.norm(values, 2)**2, rel=1e-6)
    assert relative(values.conj().T @ (values @ vector), value * vector) < 1e-6
    A.dims, A.dimsd = (2, 3), (3, 4)  # PyLops's
    op = linop.as_operator(A)
    assert (op.in_shape, op.out_shape, op.dtype) == ((2, 3), (3, 4), C128)
    assert op.adjoint_error() < 1e-12
    assert linop.as_operator(op) is op
    assert linop.as_operator(Matrix(values.astype("c8"))).dtype == np.complex64
    with pytest.raises(larmor.ArgumentError,
                       match="A: got ndarray, expected an operator: larmor's, or anything with"):
        solve.cg(values, y)
