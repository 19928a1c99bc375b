"""The backend of mri-nufft. Its own tests are larger, and docs/reference/python.md says how to run them.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import numpy as np
import pytest
from conftest import relative

pytest.importorskip("mrinufft")

from mrinufft import get_operator

import larmor.mrinufft


def test_importing_registers_a_backend_that_is_the_unitary_like_sum(rng, numbers, dense):
    shape = (6, 8)
    samples = rng.uniform(-0.5, 0.5, (20, 2))
    x = numbers(*shape)
    A = get_operator("larmor")(samples, shape, eps=1e-10)
    matrix = dense(samples * shape, shape)
    assert relative(np.squeeze(A.op(x)), np.einsum("jab,ab->j", matrix, x) / A.norm_factor) < 1e-9


def test_coils_batches_and_groups_of_transforms_agree(rng, numbers):
    shape, samples = (6, 8), rng.uniform(-0.5, 0.5, (20, 2))
    x = numbers(2, 4, *shape)
    one = get_operator("larmor")(samples, shape, n_coils=4, n_batchs=2, eps=1e-9)
    two = get_operator("larmor")(samples, shape, n_coils=4, n_batchs=2, n_trans=2, eps=1e-9)
    assert relative(two.op(x), one.op(x)) < 1e-12
    y = numbers(2, 4, 20)
    assert relative(two.adj_op(y), one.adj_op(y)) < 1e-12
    assert abs(np.vdot(y, one.op(x)) - np.vdot(one.adj_op(y), x)) < 1e-9


def test_gram_op_is_the_normal_map(rng, numbers):
    samples, x = rng.uniform(-0.5, 0.5, (60, 2)), numbers(3, 6, 8)
    A = get_operator("larmor")(samples, (6, 8), density=rng.uniform(0.5, 1, 60), eps=1e-9)
    expected = np.stack([np.squeeze(A.adj_op(A.op(image))) for image in x])
    assert relative(A.gram_op(x), expected) < 1e-7


def test_pipe_gives_weights_that_rise_with_the_radius_of_spokes():
    traj = larmor.traj("radial", (32, 32)) / 32
    weights = get_operator("larmor").pipe(traj.reshape(-1, 2), (32, 32))
    radius = np.linalg.norm(traj.reshape(-1, 2), axis=1)
    assert np.corrcoef(weights, radius)[0, 1] > 0.9
