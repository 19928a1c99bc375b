"""larmor.torch in forward mode, and gradients of everything at once, beside PyTorch's own of the sum term by term.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from test_torch_layers import C128, F64, MODES, exact_sum  # noqa: E402

import larmor  # noqa: E402
import larmor.torch as lt  # noqa: E402
from larmor import linop, nufft, solve  # noqa: E402

NAMES = ("x", "maps", "points", "weights", "field", "times")
CLOSE = {"tol": 1e-11, "error": 1e-6}


def scene(seed, spread=30.0):
    """An image, maps of 2 coils, 3 readouts of 4 points, weights, a field in Hz and times in s, all different."""
    g = torch.Generator().manual_seed(seed)
    return [torch.randn(*MODES, dtype=C128, generator=g), torch.randn(2, *MODES, dtype=C128, generator=g),
            (torch.rand(3, 4, 2, dtype=F64, generator=g) - 0.5) * torch.tensor(MODES),
            torch.rand(3, 4, dtype=F64, generator=g) + 0.5,
            (torch.rand(*MODES, dtype=F64, generator=g) * 2 - 1) * spread,
            torch.rand(3, 4, dtype=F64, generator=g) * 0.02]


def model(*tensors):
    return lt.sense(**dict(zip(NAMES, tensors, strict=True)), **CLOSE)


def steps(tensors, seed=11):
    """A direction in which all inputs move."""
    g = torch.Generator().manual_seed(seed)
    sizes = (1, 1, 1, 1, 10.0, 1e-2)
    return tuple(torch.randn(t.shape, dtype=t.dtype, generator=g) * s for t, s in zip(tensors, sizes, strict=True))


def near(a, b, tol=1e-4):
    return torch.linalg.vector_norm(a - b) <= tol * torch.linalg.vector_norm(b)


def loss_of(function):
    weights = torch.linspace(0.5, 1.5, 12, dtype=F64).reshape(3, 4)
    return lambda *tensors: (weights * function(*tensors).abs().square()).sum()


@pytest.mark.parametrize(("seed", "spread"), [(1, 2.0), (2, 30.0), (3, 90.0)])
def test_trajectory_field_times_weights_and_maps_have_gradients_at_once_and_in_both_modes(seed, spread):
    inputs = scene(seed, spread)
    each = tuple(range(len(NAMES)))
    found = torch.func.grad(loss_of(model), each)(*inputs)
    wanted = torch.func.grad(loss_of(exact_sum), each)(*inputs)
    for name, a, b in zip(NAMES, found, wanted, strict=True):
        assert near(a, b), name
    for i in (*each, None):  # alone, then all at once
        moves = tuple(s if i in (None, j) else torch.zeros_like(s) for j, s in enumerate(steps(inputs)))
        value, slope = torch.func.jvp(model, tuple(inputs), moves)
        assert near(value, exact_sum(*inputs))
        assert near(slope, torch.func.jvp(exact_sum, tuple(inputs), moves)[1]), i


def test_forward_over_reverse_and_reverse_over_forward_are_those_of_the_sum():
    inputs = tuple(scene(4, 10.0))
    moves, each = steps(inputs), tuple(range(len(NAMES)))
    for second in (lambda f: torch.func.jvp(torch.func.grad(loss_of(f), each), inputs, moves)[1],
                   lambda f: torch.func.grad(lambda *t: torch.func.jvp(loss_of(f), t, moves)[1], each)(*inputs)):
        for name, a, b in zip(NAMES, second(model), second(exact_sum), strict=True):
            assert near(a, b, 1e-3), name


@pytest.mark.parametrize("field", [False, True])
def test_the_adjoint_has_the_forward_mode_of_the_sum(field):
    _, _, points, _, f, times = scene(5)
    g = torch.Generator().manual_seed(6)
    y, one = torch.randn(1, 3, 4, dtype=C128, generator=g), torch.ones(3, 4, dtype=F64)

    def exact(y, points, f, times):
        if not field:
            f = 0 * f
        _, back = torch.func.vjp(lambda x: exact_sum(x, torch.ones(1, *MODES, dtype=C128), points, one, f, times),
                                 torch.zeros(*MODES, dtype=C128))
        return back(y)[0]

    def found(y, points, f, times):
        if field:
            return lt.nufft_field(y, points, f, times, adjoint=True, **CLOSE)[0]
        return lt.nufft_adjoint(y, points, MODES, tol=1e-11)[0]

    inputs = (y, points, f, times)
    moves = tuple(torch.randn(t.shape, dtype=t.dtype, generator=g) * s for t, s in zip(inputs, (1, 1, 10, 1e-2),
                                                                                         strict=True))
    a, b = (torch.func.jvp(function, inputs, moves) for function in (found, exact))
    assert near(a[0], b[0]) and near(a[1], b[1])


def test_gradcheck_passes_in_forward_mode():
    x, _, points, *_ = scene(7)
    x.requires_grad_()
    points.requires_grad_()
    for function, first in ((lambda x, k: lt.nufft(x, k, tol=1e-12), x),
                            (lambda y, k: lt.nufft_adjoint(y, k, MODES, tol=1e-12), lt.nufft(x, points).detach())):
        inputs = (first.requires_grad_(), points)
        assert torch.autograd.gradcheck(function, inputs, check_forward_ad=True, atol=1e-5, fast_mode=True)
        assert torch.autograd.gradgradcheck(function, inputs, check_fwd_over_rev=True, atol=1e-5, fast_mode=True)


def test_a_dual_gradient_that_is_not_recorded_has_its_tangent():
    """autograd.grad without create_graph in forward mode: what the forward pass kept knows of no tangent."""
    x, _, points, *_ = scene(8)
    k, step = points.requires_grad_(), torch.ones_like(points)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, 2 * x)
        [gradient] = torch.autograd.grad(lt.nufft(dual, k, tol=1e-11).abs().square().sum(), k)
        slope = torch.autograd.forward_ad.unpack_dual(gradient).tangent
    assert near(slope, 4 * gradient.detach()) and step.shape == slope.shape  # of |x|^2 along 2 x, 4 times itself


def test_operators_and_plans_have_a_forward_mode_and_solvers_refuse_it():
    x, _, points, *_ = scene(9)
    A = linop.nufft(points.numpy(), MODES, dtype=np.complex128, tol=1e-11)
    plan = nufft.Plan(2, MODES, dtype=np.complex128, tol=1e-11, both_directions=True).set_points(points.numpy())
    for function in (lambda x: A @ x, A.normal, plan.execute, lambda x: plan.adjoint(plan.execute(x))):
        value, slope = torch.func.jvp(function, (x,), (2j * x,))
        assert near(slope, 2j * value) and near(value, function(x))
        assert near(torch.vmap(function)(torch.stack([x, 3 * x])), torch.stack([value, 3 * value]))
    with torch.autograd.forward_ad.dual_level(), pytest.raises(larmor.ArgumentError, match="requires a gradient"):
        solve.cg(A, torch.autograd.forward_ad.make_dual(A @ x, A @ x))


def test_linearize_records_transforms_and_refuses_what_it_cannot_record():
    x, maps, points, _, field, times = scene(10)
    moves = (maps[0], torch.ones_like(points))

    def function(x, k):
        return lt.sense(x, maps, k, tol=1e-11)

    value, line = torch.func.linearize(function, x, points)
    wanted = torch.func.jvp(function, (x, points), moves)
    assert near(value, wanted[0]) and near(line(*moves), wanted[1])
    A = linop.gradient(MODES, dtype=np.complex128)
    for refused in (lambda x: lt.apply(A, x), lambda x: lt.nufft_field(x, points, field, times)):
        with pytest.raises(larmor.ArgumentError) as error:
            torch.func.linearize(refused, x)
        assert str(error.value) == ("torch.fx records this code, but of larmor only nufft, nufft_adjoint, sense and "
                                    "sense_adjoint without a field; leave it out of what is recorded, or use "
                                    "torch.func.jvp")


@pytest.mark.parametrize("learned", ["weights", "field"])
def test_data_consistency_has_the_forward_mode_of_its_minimum(learned):
    tensors = dict(zip(NAMES, scene(12), strict=True))
    tensors.pop("x")
    A = lt.SENSE(**tensors, **CLOSE)
    layer = lt.DataConsistency(A, 0.7, iterations=60, tol=1e-11)
    g = torch.Generator().manual_seed(3)
    y, z = torch.randn(2, 3, 4, dtype=C128, generator=g), torch.randn(*MODES, dtype=C128, generator=g)
    start, move = tensors[learned], torch.randn(tensors[learned].shape, dtype=F64, generator=g)

    def call(y, z, log_lam, values):
        return torch.func.functional_call(layer, {"log_lam": log_lam, f"A.{learned}": values}, (y, z))

    inputs, moves = (y, z, layer.log_lam, start), (2j * y, -z, torch.ones_like(layer.log_lam), 0.1 * move)
    value, slope = torch.func.jvp(call, inputs, moves)
    h = 1e-3
    ends = [call(*(t + s * m for t, m in zip(inputs, moves, strict=True))) for s in (h, -h)]
    assert near(value, layer(y, z)) and near(slope, (ends[0] - ends[1]) / (2 * h), 1e-3)
