"""Threads of OpenMP that wait sleep soon, and the environment stays as it was. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

NAMES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
IMPORT = """
import os, subprocess, sys
before = dict(os.environ)
import larmor
assert dict(os.environ) == before, "the environment of Python is another"
show = "import os; print(sorted(n for n in os.environ if n in %r))" % (NAMES,)
print(subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True).stdout)
"""


def imported(**own):
    """What a child of a process with larmor sees of NAMES, and how long its OpenMP spins."""
    env = {name: value for name, value in os.environ.items() if name not in NAMES} | own
    done = subprocess.run([sys.executable, "-c", f"NAMES = {NAMES}" + IMPORT], capture_output=True, text=True,
                          env=env | {"OMP_DISPLAY_ENV": "verbose"}, check=False)
    assert done.returncode == 0, done.stderr
    spins = re.findall(r"GOMP_SPINCOUNT = '(\w+)'", done.stderr)
    if not spins:
        pytest.skip("the OpenMP here is not GNU's")
    return done.stdout.strip(), spins[-1]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) == 1, reason="with one core nothing spins")
def test_waiting_threads_sleep_and_children_see_no_change():
    assert imported() == ("[]", "3000")


def test_what_the_user_has_set_is_kept():
    assert imported(GOMP_SPINCOUNT="77") == ("['GOMP_SPINCOUNT']", "77")
    seen, spins = imported(OMP_WAIT_POLICY="active")
    assert seen == "['OMP_WAIT_POLICY']"
    assert spins not in ("0", "3000")
