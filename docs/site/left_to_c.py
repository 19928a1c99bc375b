"""Which functions of the library the Python package does not call, and which docs/reference/python.md leaves to C.

Usage: python3 docs/site/left_to_c.py    (tests/check_site.sh does it)
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import fnmatch
import pathlib
import re
import sys
from collections.abc import Iterable

from headers import Headers

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _used() -> set[str]:
    files = (ROOT / "python" / "larmor").rglob("*.py")
    sources = "".join(path.read_text() for path in files if path.name != "_abi.py")
    return set(re.findall(r"larmor_[a-z0-9_]+\{?", sources))


def _listed() -> list[str]:
    page = (ROOT / "docs" / "reference" / "python.md").read_text()
    section = page.split("## What is left to C")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.*?) \|", section, re.M)
    return [name for row in rows for name in re.findall(r"`(larmor_[a-z0-9_*]+)`", row)]


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


def faults(public: Iterable[str]) -> list[str]:
    """A line for each name that is missing or listed in vain, which says what to do."""
    names = list(public)
    where = "docs/reference/python.md, \"What is left to C\""
    lines = [f"{where}: {name} is called nowhere in python/larmor and named in no row of the table. Add `{name}` to "
             f"the first column of the row whose second says what Python's users do in its place, or a row of its "
             f"own: | `{name}` | what they do |" for name in missing(names)]
    lines += [f"{where}: take {name} out of the table. python/larmor calls it now, or no header declares it."
              for name in stale(names)]
    return lines


def main() -> None:
    """Print the faults of the table; the exit status is 1 where there are any."""
    headers = Headers(ROOT / "include" / "larmor")
    found = faults(name for name, kind in headers.kinds.items() if kind == "function")
    print("\n".join(found) or "left to C: all functions are called by the package or in docs/reference/python.md")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
