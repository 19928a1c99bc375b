"""The examples run, and do what they say. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import os
import pathlib
import runpy
import subprocess
import sys

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


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("plot_*.py")), ids=lambda p: p.stem)
def test_the_notebooks_run(path, tmp_path):
    pytest.importorskip("matplotlib")
    subprocess.run([sys.executable, str(path)], check=True, cwd=tmp_path, timeout=900,
                   env={**os.environ, "MPLBACKEND": "Agg"})
