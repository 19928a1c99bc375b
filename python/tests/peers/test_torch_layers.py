"""larmor.torch in torch.compile, vmap and torch.func; layers, fields and weights.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import copy
import io

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import larmor  # noqa: E402
import larmor.torch as lt  # noqa: E402
from larmor import linop, solve  # noqa: E402

C128, F64 = torch.complex128, torch.float64
EXACT = {"tol": 1e-12, "error": 1e-10}
MODES = (5, 4)


@pytest.fixture
def scene():
    """An image, maps of 2 coils, 3 readouts of 4 points, their weights, a field in Hz and times in s."""
    g = torch.Generator().manual_seed(7)
    return {"x": torch.randn(*MODES, dtype=C128, generator=g),
            "maps": torch.randn(2, *MODES, dtype=C128, generator=g),
            "points": (torch.rand(3, 4, 2, dtype=F64, generator=g) - 0.5) * torch.tensor(MODES),
            "weights": torch.rand(3, 4, dtype=F64, generator=g) + 0.5,
            "field": torch.rand(*MODES, dtype=F64, generator=g) * 60 - 30,
            "times": torch.linspace(0.0, 0.02, 4, dtype=F64).expand(3, 4).contiguous()}


def exact_sum(x, maps, points, weights, field, times):
    """Samples of SENSE with a field, term by term."""
    r = torch.stack(torch.meshgrid(*(torch.arange(n, dtype=F64) - n // 2 for n in MODES), indexing="ij"), -1)
    turns = -torch.einsum("jsd,yxd->jsyx", points / torch.tensor(MODES), r) + times[..., None, None] * field
    phases = torch.exp(2j * np.pi * turns)
    return weights.sqrt() * torch.einsum("jsyx,cyx->cjs", phases, maps * x)


def wanting(scene, *names):
    return [scene[name].clone().requires_grad_() for name in names]


def test_sense_with_weights_and_a_field_is_the_sum_of_its_definition_and_has_its_adjoint(scene):
    y = lt.sense(**scene, **EXACT)
    assert torch.allclose(y, exact_sum(**scene), rtol=1e-8, atol=1e-8)
    back = lt.sense_adjoint(y, **{k: v for k, v in scene.items() if k != "x"}, **EXACT)
    assert torch.allclose((back.conj() * scene["x"]).sum(), y.abs().square().sum() + 0j, rtol=1e-9)


@pytest.mark.parametrize("names", [("x", "maps", "weights", "field"), ("x", "points")])
@pytest.mark.parametrize("times", [1, 2])
def test_weights_fields_maps_and_points_are_differentiable_once_and_twice(scene, names, times):
    if "points" in names:
        scene["field"] = None

    def call(*tensors):
        return lt.sense(**{**scene, **dict(zip(names, tensors, strict=True))}, **EXACT)

    check = torch.autograd.gradcheck if times == 1 else torch.autograd.gradgradcheck
    assert check(call, wanting(scene, *names), atol=1e-5, rtol=1e-4, fast_mode=True)


def test_the_adjoint_of_a_field_is_differentiable_once_and_twice(scene):
    y = torch.randn(2, 3, 4, dtype=C128, generator=torch.Generator().manual_seed(3), requires_grad=True)
    [field] = wanting(scene, "field")

    def call(y, field):
        return lt.nufft_field(y, scene["points"], field, scene["times"], adjoint=True, **EXACT)

    assert torch.autograd.gradcheck(call, (y, field), atol=1e-5, rtol=1e-4, fast_mode=True)
    assert torch.autograd.gradgradcheck(call, (y, field), atol=1e-5, rtol=1e-4, fast_mode=True)


@pytest.mark.parametrize("adjoint", [False, True])
def test_the_operator_of_torch_compile_passes_pytorchs_own_checks(scene, adjoint):
    x, points = wanting(scene, "x", "points")
    if adjoint:
        x = torch.randn(2, 3, 4, dtype=C128, requires_grad=True)
    torch.library.opcheck(torch.ops.larmor.nufft.default, (x, points, list(MODES), 1e-12, adjoint))


def test_compiled_code_gives_the_values_and_gradients_of_code_that_is_not(scene):
    def loss(x, maps, points):
        y = lt.sense(x, maps, points, tol=1e-12)
        return (lt.sense_adjoint(y, maps, points, tol=1e-12) - x).abs().square().sum()

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    results = []
    for function in (loss, compiled):
        tensors = wanting(scene, "x", "maps", "points")
        value = function(*tensors)
        value.backward()
        results.append([value.detach(), *(t.grad for t in tensors)])
    for a, b in zip(*results, strict=True):
        assert torch.allclose(a, b, rtol=1e-8)


def test_fields_and_data_consistency_in_compiled_code_are_left_out_of_the_graph(scene):
    A = lt.SENSE(**{k: v for k, v in scene.items() if k != "x"}, **EXACT)
    layer = lt.DataConsistency(A, 0.5)
    for function, x in ((layer, A(scene["x"])), (A, scene["x"])):
        compiled = torch.compile(lambda x, f=function: 2 * f(x), backend="aot_eager")
        assert torch.allclose(compiled(x), 2 * function(x), rtol=1e-9)


def test_an_operator_of_linop_in_compiled_code_is_left_out_of_the_graph(scene):
    A = linop.gradient(MODES, dtype=np.complex128)
    layer = lt.Linear(A)
    compiled = torch.compile(lambda x: 2 * layer(x), backend="aot_eager")
    [x] = wanting(scene, "x")
    y = compiled(x)
    y.abs().square().sum().backward()
    assert torch.equal(y.detach(), 2 * (A @ scene["x"]))
    assert torch.allclose(x.grad, 8 * (A.N @ scene["x"]))


def test_vmap_maps_images_maps_points_and_fields(scene):
    g = torch.Generator().manual_seed(5)
    images = torch.randn(3, *MODES, dtype=C128, generator=g)
    points = scene["points"] + torch.rand(3, 1, 1, 2, dtype=F64, generator=g)
    fields = scene["field"] * torch.tensor([0.5, 1.0, 2.0], dtype=F64)[:, None, None]
    A = linop.gradient(MODES, dtype=np.complex128)
    for function, tensors, dims in (
            (lambda x: lt.nufft(x, scene["points"], tol=1e-12), (images,), 0),
            (lambda x: lt.nufft(x, scene["points"], tol=1e-12), (images.movedim(0, 2),), 2),
            (lambda k: lt.nufft(scene["x"], k, tol=1e-12), (points,), 0),
            (lambda x, k: lt.sense(x, scene["maps"], k, tol=1e-12), (images, points), (0, 0)),
            (lambda x, f: lt.sense(**{**scene, "x": x, "field": f}, **EXACT), (images, fields), 0),
            (lambda x: lt.apply(A, x), (images,), 0)):
        mapped = torch.vmap(function, in_dims=dims)(*tensors)
        places = dims if isinstance(dims, tuple) else (dims,) * len(tensors)
        parts = [[t.select(d, i) for t, d in zip(tensors, places, strict=True)] for i in range(3)]
        each = torch.stack([function(*part) for part in parts])
        assert torch.allclose(mapped, each, rtol=1e-9, atol=1e-9)


def test_batches_and_mapped_axes_of_size_0_give_empty_results_with_gradients_of_0(scene):
    x, y = torch.zeros(0, 2, *MODES, dtype=C128), torch.zeros(0, 2, 3, 4, dtype=C128)
    points, fields = scene["points"].expand(0, 3, 4, 2), scene["field"].expand(0, *MODES)
    A = linop.gradient(MODES, dtype=np.complex128)
    rest = {name: value for name, value in scene.items() if name != "x"}
    for function, shape, *tensors in (
            (lt.nufft, (0, 2, 3, 4), x, scene["points"]),
            (lambda y, k: lt.nufft_adjoint(y, k, MODES), (0, 2, *MODES), y, scene["points"]),
            (lambda x: lt.sense(x[:, 0], **rest), (0, 2, 3, 4), x),
            (lambda y: lt.sense_adjoint(y, **rest), (0, *MODES), y),
            (lambda f, t: lt.nufft_field(x, scene["points"], f, t), (0, 2, 3, 4), scene["field"], scene["times"]),
            (lt.DataConsistency(lt.SENSE(**rest)), (0, *MODES), y),
            (torch.vmap(lambda x: lt.nufft(x, scene["points"])), (0, 2, 3, 4), x),
            (torch.vmap(lambda k: lt.nufft(scene["x"], k)), (0, 3, 4), points),
            (torch.vmap(lambda y, k: lt.nufft_adjoint(y, k, MODES)), (0, 2, *MODES), y, points),
            (torch.vmap(lambda f: lt.sense(**{**scene, "field": f})), (0, 2, 3, 4), fields),
            (torch.vmap(lambda x: lt.apply(A, x)), (0, 2, *MODES), x[:, 0]),
            (torch.compile(lt.nufft, fullgraph=True, backend="eager"), (0, 2, 3, 4), x,
             scene["points"])):
        given = [t.clone().requires_grad_() for t in tensors]
        found = function(*given)
        assert tuple(found.shape) == shape
        for gradient, t in zip(torch.autograd.grad(found.abs().sum(), given), tensors, strict=True):
            assert gradient.shape == t.shape and not gradient.any()


def test_torch_func_gives_the_gradients_of_autograd_and_each_samples(scene):
    def loss(x, points):
        return lt.nufft(x, points, tol=1e-12).abs().square().sum()

    x, points = wanting(scene, "x", "points")
    loss(x, points).backward()
    gx, gk = torch.func.grad(loss, (0, 1))(scene["x"], scene["points"])
    assert torch.allclose(gx, x.grad) and torch.allclose(gk, points.grad)
    images = torch.stack([scene["x"], 2 * scene["x"]])
    each = torch.vmap(torch.func.grad(loss), (0, None))(images, scene["points"])
    assert torch.allclose(each, torch.stack([gx, 2 * gx]))
    value, back = torch.func.vjp(lambda x: lt.nufft(x, scene["points"], tol=1e-12), scene["x"])
    assert torch.allclose(back(value)[0], gx / 2)


def test_where_a_weight_is_0_its_gradient_is_0_and_all_others_are_those_without_it(scene):
    w, k = scene["weights"].flatten(), scene["points"].flatten(0, 1)
    w[[1, 4]] = 0
    left = w > 0

    def found(points, w):
        def loss(w):
            y = lt.sense(scene["x"], scene["maps"], points, weights=w, tol=1e-12)
            back = lt.sense_adjoint(y, scene["maps"], points, weights=w, tol=1e-12)
            return y.abs().square().sum() + back.abs().square().sum()

        def gradient(w):
            return torch.func.grad(loss)(w)

        w = w.clone().requires_grad_()
        return [*torch.autograd.grad(loss(w), w), *torch.func.jvp(gradient, (w.detach(),), (torch.ones_like(w),))]

    for every, expected in zip(found(k, w), found(k[left], w[left]), strict=True):
        assert torch.allclose(every[left], expected)
        assert not every[~left].any()


def test_data_consistency_has_gradients_of_weights_of_which_some_are_0(scene):
    scene["weights"][0] = 0
    A = lt.SENSE(scene["maps"], scene["points"], weights=scene["weights"], learn=("weights", "maps"))
    lt.DataConsistency(A, 1.0)(torch.ones(2, 3, 4, dtype=C128)).abs().sum().backward()
    assert not A.weights.grad[0].any() and torch.isfinite(A.weights.grad).all() and A.weights.grad[1:].all()
    assert torch.isfinite(A.maps.grad).all()


@pytest.mark.parametrize("lam", [0.3, 20.0])
def test_data_consistency_is_the_minimum_and_agrees_with_larmors_solver(scene, lam):
    A = lt.SENSE(scene["maps"], scene["points"], weights=scene["weights"], tol=1e-12)
    layer = lt.DataConsistency(A, lam, iterations=100, tol=1e-12)
    g = torch.Generator().manual_seed(2)
    y, z = torch.randn(3, 2, 3, 4, dtype=C128, generator=g), torch.randn(3, *MODES, dtype=C128, generator=g)
    x = layer(y, z)
    assert torch.allclose(A.normal(x) + lam * x, A.adjoint(y) + lam * z, rtol=1e-8, atol=1e-8)
    B = linop.sense(scene["maps"].numpy(), scene["points"].numpy(), weights=scene["weights"].numpy(), tol=1e-12)
    theirs, _ = solve.cg(B, y[1].numpy(), lam=lam, iterations=200, tol=1e-12)
    assert np.allclose(layer(y)[1].numpy(), theirs, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("times", [1, 2])
def test_gradients_of_data_consistency_are_those_of_the_minimum(scene, times):
    y = torch.randn(2, 3, 4, dtype=C128, generator=torch.Generator().manual_seed(2), requires_grad=True)
    z, maps, weights = wanting(scene, "x", "maps", "weights")
    lam = torch.tensor(0.7, dtype=F64, requires_grad=True)

    def call(y, z, maps, weights, lam):
        A = lt.SENSE(scene["maps"], scene["points"], weights=scene["weights"], **EXACT)
        A.maps, A.weights = maps, weights
        layer = lt.DataConsistency(A, 1.0, iterations=40, tol=1e-13)
        layer.log_lam = lam.log()
        return layer(y, z)

    inputs = (y, z, maps, weights, lam)
    if times == 1:
        assert torch.autograd.gradcheck(call, inputs, atol=1e-5, rtol=1e-3, fast_mode=True)
    else:
        fixed = [t.detach() for t in (z, maps)]
        assert torch.autograd.gradgradcheck(lambda y, w, lam: call(y, *fixed, w, lam),
                                            (y, weights, lam), atol=1e-4, rtol=1e-3, fast_mode=True)


def test_the_gradient_of_data_consistency_with_a_field_is_that_of_a_difference(scene):
    A = lt.SENSE(**{k: v for k, v in scene.items() if k != "x"}, **EXACT, learn=("field",))
    layer = lt.DataConsistency(A, 0.7, iterations=30, tol=1e-12)
    y = torch.randn(2, 3, 4, dtype=C128, generator=torch.Generator().manual_seed(2))
    layer(y).abs().square().sum().backward()
    direction, values = torch.linspace(-1, 1, 20, dtype=F64).reshape(MODES), []
    with torch.no_grad():
        for step in (1e-3, -2e-3):
            A.field += step * direction
            values.append(layer(y).abs().square().sum())
    slope = (values[0] - values[1]) / 2e-3
    assert torch.allclose((A.field.grad * direction).sum(), slope, rtol=1e-5)


def test_layers_learn_what_they_are_told_to(scene):
    """From a wrong field and wrong maps, steps along the gradient lead back to the samples."""
    truth = lt.SENSE(**{k: v for k, v in scene.items() if k != "x"}, **EXACT)
    y = truth(scene["x"]).detach()
    layer = lt.SENSE(scene["maps"] * 1.1, scene["points"], weights=scene["weights"], field=scene["field"] + 4,
                     times=scene["times"], learn=("maps", "field"))
    assert sorted(name for name, _ in layer.named_parameters()) == ["field", "maps"]
    optimiser = torch.optim.Adam([{"params": [layer.maps], "lr": 2e-2}, {"params": [layer.field], "lr": 0.5}])
    losses = []
    for _ in range(40):
        optimiser.zero_grad()
        loss = (layer(scene["x"]) - y).abs().square().sum()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.05 * losses[0]


def test_layers_are_copied_saved_and_read_again(scene):
    A = lt.SENSE(scene["maps"], scene["points"], weights=scene["weights"], field=scene["field"], times=scene["times"],
                 learn=("maps",), **EXACT)
    layer = lt.DataConsistency(A, 0.5, learn=True)
    y = A(scene["x"]).detach()
    kept = io.BytesIO()
    torch.save(layer, kept)
    kept.seek(0)
    wrong = lt.SENSE(2 * scene["maps"], scene["points"] + 1, weights=scene["weights"], field=scene["field"],
                     times=scene["times"], learn=("maps",), **EXACT)
    other = lt.DataConsistency(wrong, learn=True)
    other.load_state_dict(layer.state_dict())
    for again in (copy.deepcopy(layer), torch.load(kept, weights_only=False), other):
        assert torch.equal(again(y), layer(y))
    single = lt.NUFFT(scene["points"].float())
    assert single(scene["x"].to(torch.complex64)).dtype == torch.complex64


class Samples(torch.utils.data.Dataset):
    """K-space of images that workers compute."""

    def __init__(self, scene):
        self.A = linop.sense(scene["maps"].numpy(), scene["points"].numpy(), tol=1e-10)
        self.x = scene["x"]

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return self.A @ ((i + 1) * self.x)


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_workers_of_a_data_loader_compute_what_this_process_does(scene, way):
    data = Samples(scene)
    expected = torch.stack([data[i] for i in range(4)])  # the threads of this process have run before it is copied
    workers = 2 if way == "fork" else 1
    loader = torch.utils.data.DataLoader(data, num_workers=workers, timeout=120, multiprocessing_context=way)
    assert torch.allclose(torch.cat(list(loader)), expected, rtol=1e-12)



@pytest.mark.parametrize(("call", "line"), [
    (lambda s: lt.nufft(s["x"].to(torch.complex32), s["points"]),
     "a tensor of torch.complex32: larmor computes in complex64 and complex128; hand in x.to(torch.complex64)"),
    (lambda s: linop.gradient(MODES) @ s["x"].to(torch.complex32),
     "a tensor of torch.complex32: larmor computes in complex64 and complex128; hand in x.to(torch.complex64)"),
    (lambda s: linop.gradient(MODES) @ s["x"].real.bfloat16(),
     "a tensor of torch.bfloat16: larmor computes in complex64 and complex128; hand in x.to(torch.complex64)"),
    (lambda s: lt.Linear(3), "A: got int, expected an operator: larmor's, or anything with shape, dtype, H and @"),
    (lambda s: lt.nufft(s["x"].real.half(), s["points"]),
     "a tensor of torch.float16: larmor computes in complex64 and complex128; hand in x.to(torch.complex64)"),
    (lambda s: lt.sense(s["x"], s["maps"], s["points"], field=s["field"]),
     "times: none; a field needs the times of the samples"),
    (lambda s: lt.sense(s["x"], s["maps"], s["points"], weights=torch.full((3, 4), -9.5)),
     "weights: the least is -9.5, expected at least 0"),
    (lambda s: lt.sense_adjoint(torch.ones(2, 3, 4, dtype=C128), s["maps"], s["points"],
                                weights=torch.full((3, 4), -9.5)),
     "weights: the least is -9.5, expected at least 0"),
    (lambda s: lt.SENSE(s["maps"], s["points"], learn=("field",)),
     "learn: got 'field', expected some of maps, points"),
    (lambda s: lt.DataConsistency(lt.SENSE(s["maps"], s["points"]), 0), "lam: got 0, expected a number above 0")])
def test_what_has_no_gradient_or_no_type_is_refused_in_a_line(scene, call, line):
    with pytest.raises(larmor.ArgumentError) as refused:
        call(scene)
    assert str(refused.value) == line
