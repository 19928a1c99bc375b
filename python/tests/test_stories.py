"""The stories of the gallery (docs/stories) show what they say. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import itertools
import os
import pathlib
import re
import subprocess
import sys

import pytest

DOCS = pathlib.Path(__file__).parents[2] / "docs"


def _better(*errors):
    """Each error at most 0.9 of the one before."""
    return all(after < 0.9 * before for before, after in itertools.pairwise(errors))


STORIES = {
    "spiral": lambda numbers, _text: numbers[1] < 0.3 * numbers[0],
    "streaks": lambda numbers, _text: _better(*numbers),
    "heart": lambda numbers, _text: abs(numbers[0] - 66) < 1 and abs(numbers[2] - 14) < 0.5,
    "weight": lambda numbers, _text: numbers[2] < 0.5 * min(numbers[1], numbers[3]),
    "noise": lambda numbers, text: "SNR" in text and numbers[-1] > 5,
    "low_field": lambda numbers, _text: numbers[-1] < 0.5 * numbers[-2],
    "broken_coils": lambda numbers, text: text.count("has no signal") == 3 and numbers[-1] < 0.5 * numbers[-2],
    "network": lambda numbers, text: "adjoint: True" in text and _better(*numbers[-2:]),
    "live": lambda numbers, _text: numbers == [5],
    "from_bart": lambda _numbers, text: "96 96" in text,
}


def test_every_story_has_a_claim():
    assert sorted(STORIES) == sorted(path.stem for path in (DOCS / "stories").glob("*.md"))


@pytest.mark.parametrize("name", STORIES)
def test_the_commands_of_a_story_show_what_it_says(name, tmp_path):
    pytest.importorskip("matplotlib")
    program = os.environ.get("LARMOR_PROGRAM")
    if not program:
        pytest.skip("LARMOR_PROGRAM is not set")
    done = subprocess.run([sys.executable, str(DOCS / "site" / "blocks.py"), str(DOCS / "stories" / f"{name}.md"),
                           str(tmp_path)], capture_output=True, text=True, timeout=300, check=False,
                          env={**os.environ, "MPLBACKEND": "Agg", "OMP_WAIT_POLICY": "passive",
                               "PATH": f"{pathlib.Path(program).parent}:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stderr
    said = "\n".join(line for line in done.stdout.splitlines() if not line.startswith(("# ", "made ")))
    numbers = [float(number) for number in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.]*\w)", said)]
    assert STORIES[name](numbers, said), said
    assert "made " in done.stdout
