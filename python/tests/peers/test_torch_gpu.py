"""CUDA graphs of PyTorch with larmor's plans and operators; skipped without a GPU.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import larmor  # noqa: E402
import larmor.torch as lt  # noqa: E402
from larmor import linop, nufft  # noqa: E402

C64 = torch.complex64
MODES = (64, 48)

if not (torch.cuda.is_available() and any(d["available"] and d["spec"].startswith("cuda") for d in larmor.devices())):
    pytest.skip("no GPU, or larmor is built without its plugin", allow_module_level=True)


@pytest.fixture
def tensors():
    g = torch.Generator(device="cuda").manual_seed(1)
    points = (torch.rand(40, 96, 2, device="cuda", generator=g) - 0.5) * torch.tensor(MODES, device="cuda")
    maps = torch.randn(4, *MODES, dtype=C64, device="cuda", generator=g)
    return points, maps, torch.randn(3, *MODES, dtype=C64, device="cuda", generator=g)


def near(a, b):
    return float(torch.linalg.vector_norm(a - b) / torch.linalg.vector_norm(b)) < 1e-5


def captured(function, x):
    """A graph of function(x), made after calls on another stream, as PyTorch's manual has it, and its output."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            function(x)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = function(x)
    return graph, y


@pytest.mark.parametrize("what", ["plan", "operator", "toeplitz", "adjoint", "with torch's own calls"])
def test_a_graph_replays_plans_and_operators_with_new_contents(tensors, what):
    points, maps, images = tensors
    x = images[0].clone()
    A = linop.sense(maps, points)
    plan = nufft.Plan(2, MODES, device="cuda", both_directions=True).set_points(points)
    function = {"plan": plan.execute, "operator": lambda x: lt.apply(A, x), "toeplitz": A.normal,
                "adjoint": lambda x: plan.adjoint(plan.execute(x)),
                "with torch's own calls": lambda x: lt.apply(A, torch.fft.fft2(x) / 50).abs().square()}[what]
    graph, y = captured(function, x)
    for image in images:
        x.copy_(image)
        graph.replay()
        torch.cuda.synchronize()
        assert near(y, function(image)), what
    assert near(function(images[1]), function(images[1].clone()))  # outside of the graph, on the usual stream


def test_a_graph_replays_a_step_of_training(tensors):
    points, maps, images = tensors
    A, target = linop.sense(maps, points), images[1]
    data = A @ target
    x = torch.zeros_like(target, requires_grad=True)

    def slope(x):
        return torch.autograd.grad((lt.apply(A, x) - data).abs().square().sum(), x)[0]

    graph, gradient = captured(slope, x)
    with torch.no_grad():
        x.copy_(images[2])
    graph.replay()
    torch.cuda.synchronize()
    assert near(gradient, slope(images[2].clone().requires_grad_()))


def test_to_make_a_plan_within_a_graph_is_refused_and_the_device_works_on(tensors):
    points, maps, images = tensors
    x = images[0]
    plan = nufft.Plan(2, MODES, device="cuda").set_points(points)
    before = plan.execute(x)
    for made in (lambda: lt.nufft(x, points), lambda: linop.sense(maps, points), lambda: plan.set_points(points)):
        graph = torch.cuda.CUDAGraph()
        with pytest.raises(larmor.ArgumentError) as error, torch.cuda.graph(graph):
            made()
        assert str(error.value) == ("a CUDA graph is captured, in which no plan and no operator can be made; make it "
                                    "before, call it once, and capture plan.execute(x) or larmor.torch.apply(A, x)")
    torch.cuda.synchronize()
    assert near(plan.execute(x), before)
    assert np.isfinite(before.cpu().numpy()).all()


@pytest.mark.parametrize("on", ["cpu", "cuda"])
def test_a_scan_in_either_memory_is_reconstructed_on_either_device(on):
    shape = (48, 40)
    traj = larmor.traj("golden", shape, readouts=60)
    kspace = larmor.phantom_kspace(traj, coils=4).astype("c8")
    maps = larmor.phantom_coils(shape, 4)

    def image(kspace, traj, maps):
        done = larmor.recon(larmor.ScanArrays(kspace, traj, shape), method="cg", maps=maps, device=on)
        return np.asarray(done)

    there = [torch.from_numpy(np.ascontiguousarray(x)).cuda() for x in (kspace, traj, maps)]
    expected = np.asarray(larmor.recon(larmor.ScanArrays(kspace, traj, shape), method="cg", maps=maps, device="cpu"))
    for given in ([kspace, traj, maps], there):
        assert np.linalg.norm(image(*given) - expected) < 2e-3 * np.linalg.norm(expected)
