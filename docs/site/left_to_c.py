"""Which functions of the library the Python package does not call, and which of them docs/python.md leaves to C.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import fnmatch
import pathlib
import re
from collections.abc import Iterable

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _used() -> set[str]:
    sources = "".join(path.read_text() for path in (ROOT / "python" / "larmor").glob("*.py") if path.name != "_abi.py")
    return set(re.findall(r"larmor_[a-z0-9_]+\{?", sources))


def _listed() -> list[str]:
    section = (ROOT / "docs" / "python.md").read_text().split("## What is left to C")[1].split("\n## ")[0]
    return re.findall(r"`(larmor_[a-z0-9_*]+)`", section)


def missing(public: Iterable[str]) -> list[str]:
    """Functions that are neither called nor listed."""
    used, listed = _used(), _listed()
    begun = tuple(name[:-1] for name in used if name.endswith("{"))  # names that are put together
    return [name for name in sorted(public) if name not in used and not name.startswith(begun)
            and not any(fnmatch.fnmatch(name, pattern) for pattern in listed)]


def stale(public: Iterable[str]) -> list[str]:
    """Names that are listed, but called or not there."""
    used, names = _used(), set(public)
    return [name for name in _listed() if "*" not in name and (name in used or name not in names)]
