"""The examples run, and do what they say. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import os
import pathlib
import runpy
import subprocess
import sys

import numpy as np
import pytest

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"


def test_an_unrolled_network_learns_to_remove_artefacts():
    pytest.importorskip("torch")
    losses, before, after = runpy.run_path(str(EXAMPLES / "unrolled.py"))["main"](epochs=4)
    assert losses[-1] < 0.6 * losses[0]
    assert after < 0.6 * before


def test_the_gradient_of_the_trajectory_finds_a_shift():
    pytest.importorskip("torch")
    runpy.run_path(str(EXAMPLES / "torch_gradient.py"))


def test_a_network_of_onnx_is_nearer_to_the_truth_than_cg():
    pytest.importorskip("torch")
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    plain, found = runpy.run_path(str(EXAMPLES / "onnx_prior.py"))["main"](steps=150)
    assert found < 0.8 * plain


def test_langevin_samples_of_a_gaussian_posterior_have_its_mean_and_deviations():
    names = runpy.run_path(str(EXAMPLES / "langevin.py"))
    eta, tau, step = 2.0, 0.5, 0.2
    A, y, _ = names["scan"](eta)
    n = int(np.prod(A.in_shape))
    matrix = np.stack([(A @ e.reshape(A.in_shape)).ravel() for e in np.eye(n, dtype=np.complex64)], 1)
    precision = matrix.conj().T @ matrix / eta**2 + np.eye(n) / tau**2
    assert np.linalg.eigvalsh(precision)[-1] * tau**2 > 100  # what it is preconditioned for
    mean = np.linalg.solve(precision, matrix.conj().T @ y.ravel() / eta**2)
    variance = np.diag(np.linalg.inv(precision)).real
    samples = names["langevin"](A, y, lambda x: -x / tau**2, eta=eta, s=tau, steps=150, step=step, burn=30)
    found = (samples.real.var(0) + samples.imag.var(0)).ravel() / 2
    assert np.linalg.norm(samples.mean(0).ravel() - mean) < 0.3 * np.sqrt(2 * variance.sum())
    assert abs((found / variance).mean() * (1 - step / 2) - 1) < 0.15


def test_the_mean_of_langevin_samples_by_a_denoiser_is_nearer_to_the_truth_than_cg():
    plain, found, deviation = runpy.run_path(str(EXAMPLES / "langevin.py"))["main"](steps=100)
    assert found < 0.95 * plain
    assert deviation.min() > 0


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("plot_*.py")), ids=lambda p: p.stem)
def test_the_notebooks_run(path, tmp_path):
    pytest.importorskip("matplotlib")
    subprocess.run([sys.executable, str(path)], check=True, cwd=tmp_path, timeout=900,
                   env={**os.environ, "MPLBACKEND": "Agg"})
