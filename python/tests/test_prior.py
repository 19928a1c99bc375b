"""Images by denoisers: larmor.solve.pnp, larmor.prior and larmor.recon(prior=). SPDX-License-Identifier:
Apache-2.0"""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
from conftest import relative

import larmor
from larmor import linop, prior, prox, solve


@pytest.fixture
def problem(numbers):
    matrix, b = numbers(20, 12), numbers(20)
    A = linop.Function(lambda x: matrix @ x, lambda y: matrix.conj().T @ y, (12,), (20,), dtype=np.complex128)
    return matrix, A, b


@pytest.mark.parametrize("method", ["admm", "fista"])
def test_a_proximal_map_gives_the_minimiser_of_its_penalty(method, problem):
    _, A, b = problem
    g = prox.l1((12,), 0.5, dtype=np.complex128)
    weight = 1.2 * solve.largest_eigenvalue(A, 50)
    best, _ = solve.fista(A, b, g, iterations=5000, tol=1e-12)
    x, report = solve.pnp(A, b, lambda x, sigma: g(1 / weight, x), sigma=1, method=method, weight=weight,
                          iterations=3000, tol=1e-10)
    assert report.end == "tolerance"
    assert relative(x, best) < 1e-6


@pytest.mark.parametrize("form", ["complex", "channels", "magnitude"])
@pytest.mark.parametrize("residual", [False, True])
def test_functions_get_each_form_and_give_the_image_or_the_noise(form, residual, numbers):
    x = numbers(4, 3)
    seen = []

    def function(given, sigma):
        seen.append((given.shape, given.dtype, sigma))
        return 0.75 * given if residual else 0.25 * given

    z = prior.Function(function, form=form, residual=residual)(x, 2.0)
    shape = (2, 4, 3) if form == "channels" else (4, 3)
    assert seen == [(shape, np.dtype(np.complex128 if form == "complex" else np.float64), 2.0)]
    # the noise of a magnitude has the phase of the image
    assert relative(z, 0.25 * x) < 1e-9


def test_channels_are_the_real_and_the_imaginary_parts(numbers):
    x = numbers(4, 3)

    def swap(channels, sigma):
        assert np.array_equal(channels[0], x.real)
        return channels[::-1]

    assert np.array_equal(prior.Function(swap, form="channels")(x, 1), x.imag + 1j * x.real)


def test_an_exception_of_the_function_is_that_of_the_call_and_the_next_call_is_as_if_there_had_been_none(problem):
    _, A, b = problem
    calls = []

    def failing(x, sigma):
        calls.append(sigma)
        if len(calls) == 3:
            raise LookupError("no weights for this contrast")
        return x

    d = prior.Function(failing)
    with pytest.raises(LookupError, match="no weights for this contrast"):
        solve.pnp(A, b, d, sigma=1)
    assert len(calls) == 3
    _, report = solve.pnp(A, b, d, sigma=1, iterations=2)
    assert report.denoised == 2


def test_wrong_shapes_and_nan_are_refused_in_a_line(problem):
    _, A, b = problem
    with pytest.raises(larmor.ShapeError, match=r"prior short: got an array of shape \(11,\), expected \(12,\)"):
        solve.pnp(A, b, prior.Function(lambda x, sigma: x[1:], name="short"), sigma=1)
    with pytest.raises(larmor.NumericError, match="prior none: 12 values are not finite"):
        solve.pnp(A, b, prior.Function(lambda x, sigma: x * np.nan, name="none"), sigma=1)
    with pytest.raises(larmor.ArgumentError, match="form: got 'real', expected one of complex, channels, magnitude"):
        prior.Function(lambda x, sigma: x, form="real")
    with pytest.raises(larmor.ArgumentError, match="method: got 'vamp', expected one of admm, fista, red"):
        solve.pnp(A, b, lambda x, sigma: x, sigma=1, method="vamp")
    with pytest.raises(larmor.FileError, match="give the path of a shared object"):
        prior.open("/nowhere/plugin.so")


def test_ctrl_c_ends_the_run_with_keyboard_interrupt(problem):
    _, A, b = problem
    calls = []

    def interrupted(x, sigma):
        calls.append(sigma)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return x

    assert threading.current_thread() is threading.main_thread()
    with pytest.raises(KeyboardInterrupt):
        solve.pnp(A, b, interrupted, sigma=1, iterations=50, tol=-1)
    assert len(calls) < 5


def test_a_monitor_stops_it_and_it_ends_at_the_noise(problem):
    matrix, A, b = problem
    x, report = solve.pnp(A, b, lambda x, sigma: x, sigma=1, tol=-1, monitor=lambda p: p.iteration == 3)
    assert (report.end, report.iterations) == ("stopped", 3)
    least = np.linalg.norm(matrix @ np.linalg.lstsq(matrix, b, rcond=None)[0] - b)
    noise = 0.9 * least + 0.1 * np.linalg.norm(b)
    x, report = solve.pnp(A, b, lambda x, sigma: x, sigma=1, noise=noise)
    assert report.end == "noise"
    assert np.linalg.norm(A @ x - b) <= noise


SHAPE = (32, 32)


@pytest.fixture(scope="module")
def scan():
    """A few spokes of a phantom, with noise."""
    traj = larmor.traj("golden", SHAPE, readouts=17)
    kspace = larmor.phantom_kspace(traj, coils=4).astype(np.complex64)
    return larmor.ScanArrays(kspace + solve.noise(kspace.shape, 5e-4), traj, SHAPE)


def test_recon_with_a_function_is_nearer_to_the_truth_than_cg(scan):
    maps, truth = larmor.phantom_coils(SHAPE, 4), larmor.phantom(SHAPE)
    sigmas = []
    tv = prior.named("tv")

    def denoiser(x, sigma):
        sigmas.append(sigma)
        return tv(x, sigma)

    plain = larmor.recon(scan, method="cg", maps=maps, device="cpu").images[0]
    found = larmor.recon(scan, prior=denoiser, maps=maps, device="cpu")
    assert sigmas[0] == pytest.approx(3 * sigmas[-1])
    assert relative(found.images[0], truth) < 0.9 * relative(plain, truth)
    assert any("prior denoiser: " in line for line in found.log)
    assert "prior" not in found.provenance["settings"]


def test_recon_ends_with_the_exception_of_the_function(scan):
    maps = larmor.phantom_coils(SHAPE, 4)

    def failing(x, sigma):
        raise LookupError("no weights")

    with pytest.raises(LookupError, match="no weights"):
        larmor.recon(scan, prior=failing, maps=maps, device="cpu")
    with pytest.raises(larmor.ArgumentError, match="prior: has no effect with method tv"):
        larmor.recon(scan, prior=failing, maps=maps, device="cpu", method="tv")


def test_a_file_of_options_loads_no_code(tmp_path):
    path = tmp_path / "options"
    path.write_text('prior = "./plugin.so"\n')
    with pytest.raises(larmor.ArgumentError, match="prior: a file of options loads no code"):
        larmor.read_settings(path)


def test_tensors_of_torch_go_to_functions_of_tensors(problem):
    torch = pytest.importorskip("torch")
    _, A, b = problem
    kinds = []

    def halve(x, sigma):
        kinds.append(type(x))
        return x / 2

    x, _ = solve.pnp(A, torch.as_tensor(b), halve, sigma=1, iterations=3, tol=-1)
    y, _ = solve.pnp(A, b, lambda x, sigma: x / 2, sigma=1, iterations=3, tol=-1)
    assert set(kinds) == {torch.Tensor} and isinstance(x, torch.Tensor)
    assert np.allclose(x.numpy(), y, rtol=1e-12)
