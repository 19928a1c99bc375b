"""Preconditioners, and weights of penalties that are found from the data. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import numpy as np
import pytest
from conftest import relative

import larmor
from larmor import linop, solve

SHAPE = (32, 32)
C128 = np.complex128


@pytest.fixture
def scan():
    """Maps, trajectory, noisy data and the true image."""
    traj = larmor.traj("golden", SHAPE, readouts=16)
    maps = larmor.phantom_coils(SHAPE, 4, dtype=C128)
    kspace = larmor.phantom_kspace(traj, coils=4, noise=2e-4, dtype=C128)
    return maps, traj, kspace


def test_a_circulant_preconditioner_lets_cg_converge_sooner(scan):
    maps, traj, kspace = scan
    A = linop.sense(maps, traj, tol=1e-8)
    lam = 1e-2 * solve.largest_eigenvalue(A)
    M = solve.Circulant(traj, SHAPE, maps=maps, dtype=C128).inverse(lam)
    assert M.adjoint_error() < 1e-12
    plain, slow = solve.cg(A, kspace, lam=lam, tol=1e-6, iterations=100)
    helped, quick = solve.cg(A, kspace, lam=lam, tol=1e-6, iterations=100, precondition=M)
    assert quick.iterations < slow.iterations
    assert relative(helped, plain) < 1e-4


def test_where_lambda_outweighs_all_preconditioners_divide_by_it(numbers):
    traj, x, lam = larmor.traj("golden", SHAPE, readouts=8), numbers(*SHAPE), 1e12
    assert relative(lam * (solve.Circulant(traj, SHAPE, dtype=C128).inverse(lam) @ x), x) < 1e-6
    assert np.allclose(lam * solve.precondition_kspace(traj, SHAPE, lam=lam, dtype=C128), 1, atol=1e-6)


def test_weights_in_kspace_let_lsmr_converge_sooner(scan):
    _, traj, _ = scan
    traj = larmor.traj("golden", SHAPE, readouts=64)
    A = linop.nufft(traj, SHAPE, dtype=C128, tol=1e-8)
    x = larmor.phantom(SHAPE, dtype=C128)
    p = solve.precondition_kspace(traj, SHAPE, dtype=C128)
    assert p.shape == traj.shape[:2]
    assert (p > 0).all()
    weighted, _ = solve.lsmr(A, A @ x, weights=p, iterations=5)
    plain, _ = solve.lsmr(A, A @ x, iterations=5)
    assert np.linalg.norm(A @ weighted - A @ x) < np.linalg.norm(A @ plain - A @ x)
    assert solve.precondition_kspace(traj, SHAPE, maps=np.ones((2, *SHAPE)), dtype=C128).shape == (2, *traj.shape[:2])


def test_the_unit_of_lambda_is_the_typical_magnitude_of_the_adjoint_image(scan):
    maps, traj, kspace = scan
    A = linop.sense(maps, traj, tol=1e-8)
    r = abs(A.H @ kspace)
    assert solve.lambda_unit(A, kspace) == pytest.approx(np.sqrt((r**4).sum()) / np.sqrt((r**2).sum()), rel=1e-6)


def test_a_weight_is_the_relative_one_times_the_unit(scan):
    maps, traj, kspace = scan
    A = linop.sense(maps, traj, tol=1e-8)
    relative_one, _ = solve.regularised(A, kspace, "tv", lam=3e-3, iterations=20)
    absolute, _ = solve.regularised(A, kspace, "tv", weight=3e-3 * solve.lambda_unit(A, kspace), iterations=20)
    assert relative(absolute, relative_one) < 1e-6


def test_samples_that_are_held_out_have_no_weight_and_the_others_no_factor(scan):
    maps, traj, _ = scan
    C = solve.Circulant(traj, SHAPE, maps=maps, dtype=C128)
    kept, factors = solve.hold_out(traj, C, seed=3)
    assert kept.shape == factors.shape == traj.shape[:2]
    assert ((kept == 0) == (factors > 0)).all()
    assert 0.05 < (kept == 0).mean() < 0.15


@pytest.mark.parametrize("name", [None, "tv"])
def test_the_chosen_weight_grows_with_the_noise(name, scan):
    maps, traj, _ = scan
    A = linop.sense(maps, traj)
    C = solve.Circulant(traj, SHAPE, maps=maps, dtype=C128)
    kept, factors = solve.hold_out(traj, C)
    held = linop.sense(maps, traj, weights=kept)
    weights = []
    for level in (3e-5, 3e-3):
        kspace = larmor.phantom_kspace(traj, coils=4, noise=level, dtype=C128)
        noise = solve.noise(kspace.shape, level, dtype=C128)
        choice = solve.choose_weight(A, kspace, held, factors, C, name, noise=noise)
        assert choice.tried > 1
        weights.append(choice.weight)
        assert solve.weight_of_noise(A, kspace, noise, name) > 0
    assert 0 < 10 * weights[0] < weights[1]


def test_noise_has_the_deviation_that_is_asked_for_and_a_seed():
    x = solve.noise((100, 100), 0.5, seed=4)
    assert np.std(x.real) == pytest.approx(0.5, rel=0.05)
    assert np.std(x.imag) == pytest.approx(0.5, rel=0.05)
    assert (x == solve.noise((100, 100), 0.5, seed=4)).all()
    assert (x != solve.noise((100, 100), 0.5, seed=5)).any()


def test_a_circulant_in_admm_leaves_the_solution_as_it_is(scan):
    maps, traj, kspace = scan
    A = linop.sense(maps, traj, tol=1e-8)
    C = solve.Circulant(traj, SHAPE, maps=maps, dtype=C128)
    plain, _ = solve.regularised(A, kspace, "tv", lam=3e-3, iterations=60, tol=1e-6)
    helped, _ = solve.regularised(A, kspace, "tv", lam=3e-3, iterations=60, tol=1e-6, circulant=C)
    assert relative(helped, plain) < 1e-2


def test_noise_that_is_thought_twice_as_strong_is_found_to_be_half(scan):
    maps, _, _ = scan
    traj = larmor.traj("golden", SHAPE, readouts=64)
    A = linop.sense(maps, traj, tol=1e-8)
    b = A @ larmor.phantom(SHAPE, dtype=C128)
    level = 0.1 * abs(b).mean()
    b = b + solve.noise(b.shape, level, seed=2, dtype=C128)
    signs = np.array([1, -1, 1, -1])[:, None, None]
    thought = solve.noise(b.shape, 2 * level, seed=3, dtype=C128)
    assert solve.noise_left(A, b, thought, signs) == pytest.approx(0.5, rel=0.2)
    assert solve.noise_left(A, b, thought / 2, signs) == pytest.approx(1, rel=0.2)
