"""MRI for deepinv passes deepinv's own tests, and is the sum term by term. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("deepinv")

import deepinv  # noqa: E402

import larmor  # noqa: E402
from larmor.deepinv import MRI  # noqa: E402

SHAPES = {2: (8, 6), 3: (4, 6, 5)}


def make(ndim, coils, dtype=torch.complex128, seed=3, **more):
    """Physics with random maps, 60 points and weights, and a field; and its matrix [coils points, modes]."""
    g, shape = torch.Generator().manual_seed(seed), SHAPES[ndim]
    real = torch.float64 if dtype == torch.complex128 else torch.float32
    maps = torch.randn(coils, *shape, dtype=dtype, generator=g)
    points = (torch.rand(6, 20, ndim, dtype=real, generator=g) - 0.5) * torch.tensor(shape)
    weights = torch.rand(6, 20, dtype=real, generator=g) + 0.5
    tol = 1e-11 if dtype == torch.complex128 else 1e-5
    physics = MRI(maps, points, weights=weights, tol=tol, **more)
    r = torch.stack(torch.meshgrid(*(torch.arange(n) - n // 2 for n in shape), indexing="ij"), -1)
    turns = (points.reshape(-1, 1, ndim) / torch.tensor(shape) * r.reshape(1, -1, ndim)).sum(-1)
    wave = weights.reshape(-1, 1).sqrt() * torch.exp(-2j * np.pi * turns)
    return physics, (maps.reshape(coils, 1, -1) * wave).reshape(-1, r[..., 0].numel()).to(dtype)


def channels(x):
    return torch.view_as_real(x).movedim(-1, 1)


def whole(x):
    return torch.view_as_complex(x.movedim(1, -1).contiguous())


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("coils", [1, 4])
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_deepinvs_adjointness_and_norm_tests_pass(ndim, coils, dtype):
    physics, matrix = make(ndim, coils, dtype)
    real = matrix.real.dtype
    u = torch.randn(2, 2, *SHAPES[ndim], dtype=real, generator=torch.Generator().manual_seed(1))
    bound = 1e-5 if real == torch.float32 else 1e-10
    # It divides by inner products of random vectors, of which a single one may be near 0.
    assert physics.adjointness_test(u=u, num_samples=64) < bound
    assert physics.adjointness_test(dtype=real, num_samples=64) < bound
    norm = physics.compute_norm(u[:1], max_iter=2000, tol=1e-7, verbose=False, squared=False)
    assert torch.allclose(norm, torch.linalg.matrix_norm(matrix, 2), rtol=2e-3)


@pytest.mark.parametrize("ndim", [2, 3])
def test_physics_is_the_sum_with_deepinvs_channels(ndim):
    physics, matrix = make(ndim, 3)
    x = torch.randn(2, *SHAPES[ndim], dtype=torch.complex128, generator=torch.Generator().manual_seed(2))
    y = physics(channels(x))
    assert y.shape == (2, 2, 3, 6, 20)
    expected = (x.reshape(2, -1) @ matrix.T).reshape(2, 3, 6, 20)
    assert torch.allclose(whole(y), expected, rtol=1e-8, atol=1e-8)
    assert torch.allclose(physics.A_adjoint_A(channels(x)), physics.A_adjoint(y), rtol=1e-8, atol=1e-8)
    assert torch.allclose(physics.A_vjp(channels(x), y), physics.A_adjoint(y), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("gamma", [0.02, 3.0])
def test_prox_and_pseudo_inverse_are_those_of_the_matrix(ndim, gamma):
    physics, matrix = make(ndim, 4)
    g = torch.Generator().manual_seed(4)
    z, y = torch.randn(2, *SHAPES[ndim], dtype=torch.complex128, generator=g), torch.randn(2, 4, 6, 20,
                                                                                           dtype=torch.complex128,
                                                                                           generator=g)
    gram = matrix.mH @ matrix
    right = y.reshape(2, -1) @ matrix.conj()
    size = gram.shape[0]
    wanted = torch.linalg.solve(gamma * gram + torch.eye(size), (gamma * right + z.reshape(2, -1)).mT).mT
    more = {"max_iter": 300, "tol": 1e-11}
    for solver in ("CG", "lsqr"):
        found = whole(physics.prox_l2(channels(z), channels(y), gamma, solver=solver, **more))
        assert torch.allclose(found.reshape(2, -1), wanted, rtol=1e-5, atol=1e-5 * float(wanted.abs().max())), solver
    zero = physics.prox_l2(None, channels(y), torch.tensor(gamma, dtype=torch.float64), **more)
    without = torch.linalg.solve(gamma * gram + torch.eye(size), (gamma * right).mT).mT
    assert torch.allclose(whole(zero).reshape(2, -1), without, rtol=1e-5, atol=1e-7)
    least = torch.linalg.lstsq(matrix, y.reshape(2, -1).mT).solution.mT
    found = whole(physics.A_dagger(channels(y), max_iter=500, tol=1e-10)).reshape(2, -1)
    assert torch.linalg.vector_norm(found - least) < 1e-4 * torch.linalg.vector_norm(least)


def test_deepinvs_proximal_gradients_come_nearer_to_an_object_and_train_its_maps():
    shape = (32, 32)
    x = torch.from_numpy(larmor.phantom(shape).astype(np.complex64))[None]
    points = torch.from_numpy(larmor.traj("golden", shape, readouts=40)).float()
    maps = torch.from_numpy(larmor.phantom_coils(shape, 4))
    physics = MRI(maps, points, learn=("maps",), noise_model=deepinv.physics.GaussianNoise(0.01))
    y = physics(channels(x))
    step = 1 / float(physics.compute_norm(channels(x), verbose=False, squared=True))
    model = deepinv.optim.PGD(data_fidelity=deepinv.optim.L2(), prior=deepinv.optim.Tikhonov(), stepsize=step,
                              lambda_reg=1e-3, max_iter=60, early_stop=False,
                              custom_init=lambda y, physics: step * physics.A_adjoint(y))
    with torch.no_grad():
        errors = [float((image - channels(x)).norm() / channels(x).norm()) for image in
                  (step * physics.A_adjoint(y), model(y, physics))]
    assert errors[1] < 0.5 * errors[0]
    physics.A(channels(x)).square().sum().backward()
    assert physics.sense.maps.grad.abs().sum() > 0


def test_complex_images_and_a_wrong_gamma_are_refused_in_a_line():
    physics, _ = make(2, 2)
    x = torch.zeros(1, 8, 6, dtype=torch.complex128)
    with pytest.raises(larmor.ShapeError) as error:
        physics.A(x)
    assert str(error.value) == ("x: got torch.complex128 of shape (1, 8, 6), expected real numbers [batch, 2, ...] "
                                "with 2 axes behind the channels")
    with pytest.raises(larmor.ArgumentError) as error:
        physics.prox_l2(channels(x), physics(channels(x)), -1.0)
    assert str(error.value) == "gamma: got -1.0, expected a number above 0"


def test_the_blocks_of_the_page_run(tmp_path):
    docs = pathlib.Path(__file__).parents[3] / "docs"
    done = subprocess.run([sys.executable, str(docs / "site" / "blocks.py"), str(docs / "reference" / "torch.md"),
                           str(tmp_path)], capture_output=True, text=True, timeout=300, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert "torch.Size([40, 64, 2]) torch.Size([32, 32]) torch.Size([4, 32, 32])" in done.stdout
    assert float(done.stdout.split("tensor(")[-1].split(")")[0]) < 0.25
