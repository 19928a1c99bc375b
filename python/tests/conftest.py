"""What the tests share. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import os

import numpy as np
import pytest

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # many small calls, on a machine that may be busy


@pytest.fixture
def rng():
    return np.random.default_rng(11)


@pytest.fixture
def numbers(rng):
    """Complex numbers of a shape."""
    return lambda *shape: rng.normal(size=shape) + 1j * rng.normal(size=shape)


def exponent(points, modes):
    """[points, modes...] of k . r / N, column d for axis d."""
    phase = 0
    for d, n in enumerate(modes):
        r = (np.arange(n) - n // 2) / n
        shape = [1] * (len(modes) + 1)
        shape[d + 1] = n
        phase = phase + points[:, d].reshape([-1] + [1] * len(modes)) * r.reshape(shape)
    return phase


@pytest.fixture
def dense():
    """The sum that type 2 stands for, as an array [points, modes...]."""
    return lambda points, modes: np.exp(-2j * np.pi * exponent(points, modes))


def relative(a, b):
    return np.linalg.norm(a - b) / np.linalg.norm(b)
