"""What the tests share. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import inspect
import os
import random
import re
import sys

import numpy as np
import pytest

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # many small calls, on a machine that may be busy

PEER = re.compile(r"importorskip\(\"(?!matplotlib)")  # docs/site runs the notebooks, which have plots


def pytest_addoption(parser):
    parser.addoption("--peers", action="store_true",
                     help="only tests that need packages such as PyTorch, all of which "
                                                          "must be installed")


def needs_peer(item):
    """Whether the test or its file skips itself where a package is not installed."""
    top = [line for line in inspect.getsource(item.module).splitlines() if line[:1].strip()]
    return any(PEER.search(text) for text in (*top, inspect.getsource(item.function)))


def pytest_collection_modifyitems(config, items):
    if config.getoption("--peers"):
        wanted = [item for item in items if needs_peer(item)]
        config.hook.pytest_deselected(items=[item for item in items if item not in wanted])
        items[:] = wanted


def pytest_sessionfinish(session):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    missing = [report for report in reporter.stats.get("skipped", []) if "could not import" in str(report.longrepr)]
    if session.config.getoption("--peers") and missing:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(autouse=True)
def same_numbers_each_time():
    """Seeds the generators that other packages' own checks draw from, such as gradcheck and adjointness_test."""
    seed = 5
    random.seed(seed)
    np.random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


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
