"""Gradients of larmor.torch against finite differences, in double precision. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import larmor  # noqa: E402
import larmor.torch as lt  # noqa: E402
from larmor import linop, nufft, prox, solve  # noqa: E402

MODES = {1: (6,), 2: (4, 3), 3: (2, 3, 2)}
TOL = 1e-12


@pytest.fixture
def draw():
    generator = torch.Generator().manual_seed(3)

    def complex_(*shape):
        return torch.randn(*shape, dtype=torch.complex128, generator=generator, requires_grad=True)

    def points(count, modes):
        k = torch.rand(count, len(modes), dtype=torch.float64, generator=generator) - 0.5
        return (k * torch.tensor(modes)).requires_grad_()

    return complex_, points


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_gradients_of_image_and_trajectory_are_those_of_finite_differences(ndim, draw):
    complex_, points = draw
    x, k = complex_(2, *MODES[ndim]), points(4, MODES[ndim])
    assert torch.autograd.gradcheck(lambda x, k: lt.nufft(x, k, tol=TOL), (x, k))


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_gradients_of_k_space_and_trajectory_are_those_of_finite_differences(ndim, draw):
    complex_, points = draw
    y, k = complex_(2, 4), points(4, MODES[ndim])
    assert torch.autograd.gradcheck(lambda y, k: lt.nufft_adjoint(y, k, MODES[ndim], tol=TOL), (y, k))


def test_gradients_of_coil_maps_too(draw):
    complex_, points = draw
    x, maps, k = complex_(*MODES[2]), complex_(3, *MODES[2]), points(6, MODES[2])
    assert torch.autograd.gradcheck(lambda x, m, k: lt.sense(x, m, k, tol=TOL), (x, maps, k))


def test_gradients_can_be_differentiated_again(draw):
    complex_, points = draw
    x, k = complex_(4, 3), points(5, (4, 3))
    assert torch.autograd.gradgradcheck(lambda x, k: lt.nufft(x, k, tol=TOL), (x, k))
    y = complex_(5)
    assert torch.autograd.gradgradcheck(lambda y, k: lt.nufft_adjoint(y, k, (4, 3), tol=TOL), (y, k))


def test_every_operator_has_its_gradient(draw):
    complex_, _ = draw
    A = linop.gradient((4, 5), dtype=np.complex128)
    assert torch.autograd.gradcheck(lambda x: lt.apply(A, x), (complex_(4, 5),))
    assert torch.autograd.gradgradcheck(lambda x: lt.apply(A, x), (complex_(4, 5),))


def test_tensors_are_read_and_written_where_they_are(draw):
    complex_, points = draw
    x, k = complex_(*MODES[2]).detach(), points(9, MODES[2]).detach()
    out = torch.empty(9, dtype=torch.complex128)
    plan = nufft.Plan(2, MODES[2], dtype=np.complex128, tol=1e-10).set_points(k)
    assert plan.execute(x, out) is out
    assert np.array_equal(out.numpy(), plan.execute(x.numpy()))
    assert torch.equal(plan.execute(x.conj()), plan.execute(x.conj().resolve_conj()))


def test_a_trajectory_that_is_changed_in_place_is_noticed(draw):
    complex_, points = draw
    x, k = complex_(*MODES[2]).detach(), points(9, MODES[2]).detach()
    before = lt.nufft(x, k)
    k.mul_(0.5)
    after = lt.nufft(x, k)
    assert not torch.allclose(before, after)
    assert torch.equal(after, lt.nufft(x, k.clone()))


def test_a_trajectory_can_be_learned(draw):
    """From a displaced trajectory, steps along the gradient lead back to the data."""
    complex_, points = draw
    x, k = complex_(8, 8).detach(), points(20, (8, 8)).detach()
    target = lt.nufft(x, k, tol=1e-9)
    layer = lt.Nufft(k + 0.05, tol=1e-9, learn=True)
    optimiser = torch.optim.Adam(layer.parameters(), lr=3e-3)
    losses = []
    for _ in range(60):
        optimiser.zero_grad()
        loss = (layer(x) - target).abs().square().sum()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.02 * losses[0]


def test_operators_plans_and_transforms_give_gradients_by_themselves(draw):
    points = torch.from_numpy(np.random.default_rng(5).uniform(-3, 3, (4, 3, 2)))
    A = linop.nufft(points.numpy(), (6, 5), dtype=np.complex128, tol=1e-11)
    plan = nufft.Plan(2, (6, 5), dtype=np.complex128, tol=1e-11, both_directions=True).set_points(points.numpy())
    image, kspace = draw[0](6, 5), draw[0](4, 3)
    for function, x in ((lambda x: A @ x, image), (lambda x: A * x, image), (A, image), (A.normal, image),
                        (lambda x: A.N @ x, image), (lambda y: A.H @ y, kspace), (A.adjoint, kspace),
                        (lambda x: (2j * A) @ x, image), (plan.execute, image), (plan.adjoint, kspace),
                        (lambda x: nufft.type2(points, x, tol=1e-11), image),
                        (lambda y: nufft.type1(points, y, (6, 5), tol=1e-11, mode_order="fft"), kspace),
                        (lambda y: nufft.type3(points / 3, y, points, tol=1e-9), kspace)):
        assert torch.autograd.gradcheck(function, (x,), atol=1e-6)
        with torch.no_grad():
            plain = function(x)
        assert not plain.requires_grad and torch.equal(plain, function(x).detach())


@pytest.mark.parametrize("units", ["cycles", "radians"])
@pytest.mark.parametrize("sign", [-1, 1])
def test_points_of_types_1_and_2_have_gradients_in_both_units_and_signs(draw, units, sign):
    points = torch.from_numpy(np.random.default_rng(5).uniform(-2, 2, (5, 2))).requires_grad_()
    options = {"units": units, "sign": sign, "tol": 1e-11}
    for function, x in ((lambda k, x: nufft.type2(k, x, **options), draw[0](6, 5)),
                        (lambda k, y: nufft.type1(k, y, (6, 5), **options), draw[0](5))):
        assert torch.autograd.gradcheck(function, (points, x), atol=1e-6)
        assert torch.allclose(function(points, x), function(points.detach(), x.detach()), rtol=1e-9)


def test_what_has_no_gradient_refuses_a_tensor_that_requires_one(draw):
    points = torch.from_numpy(np.random.default_rng(5).uniform(-3, 3, (4, 3, 2))).requires_grad_()
    A = linop.nufft(points.detach(), (6, 5), dtype=np.complex128)
    image, kspace = draw[0](6, 5), draw[0](4, 3)
    for call in (lambda: solve.cg(A, kspace), lambda: solve.lsmr(A, kspace.detach(), image),
                 lambda: solve.regularised(A, kspace, "tv"), lambda: prox.l1((6, 5), dtype=np.complex128)(1, image),
                 lambda: linop.diag(image), lambda: linop.coils(draw[0](2, 6, 5)),
                 lambda: linop.nufft(points, (6, 5)),
                 lambda: linop.sense(draw[0](2, 6, 5), points.detach()), lambda: linop.weights(points[..., 0]),
                 lambda: nufft.Plan(2, (6, 5)).set_points(points), lambda: solve.Circulant(points, (6, 5)),
                 lambda: nufft.type3(points, kspace, points.detach()),
                 lambda: larmor.recon(larmor.ScanArrays(kspace[None].to(torch.complex64), points.detach(), (6, 5)))):
        with pytest.raises(larmor.ArgumentError, match="a tensor that requires a gradient"):
            call()
    with pytest.raises(larmor.ArgumentError, match="out"):
        A.forward(image, torch.empty(4, 3, dtype=torch.complex128))
    with pytest.raises(larmor.ArgumentError, match="mode_order: given for points that require a gradient"):
        nufft.type2(points, image, mode_order="fft")


def test_a_plan_that_got_other_points_has_no_gradient_of_what_it_computed_before(draw):
    points = np.random.default_rng(5).uniform(-3, 3, (4, 3, 2))
    plan = nufft.Plan(2, (6, 5), dtype=np.complex128, both_directions=True).set_points(points)
    y = plan.execute(draw[0](6, 5))
    plan.set_points(points / 2)
    with pytest.raises(larmor.ArgumentError, match="points were set again"):
        y.real.sum().backward()
