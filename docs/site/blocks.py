"""Runs the code of a page: its blocks of sh and Python, one after the other, in one folder and one interpreter.

Of two blocks with nothing but blank lines between them the first is another program's; larmor's, the second, is run.
Usage: PATH=FOLDER_OF_LARMOR:$PATH PYTHONPATH=... python3 docs/site/blocks.py [--both] PAGE.md FOLDER
--both runs the other programs' blocks, too. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

_FENCE = re.compile(r"^```(sh|python)\n(.*?)^```$\n?", re.S | re.M)


class Block(NamedTuple):
    """A block of a page."""

    kind: str  # sh or python
    code: str
    start: int
    end: int
    whose: str  # "theirs", "ours", or "" of one that stands alone


def blocks(text: str) -> list[Block]:
    """The blocks of a page in their order."""
    found = list(_FENCE.finditer(text))
    whose = [""] * len(found)
    for i, (a, b) in enumerate(zip(found, found[1:])):
        if not whose[i] and not text[a.end():b.start()].strip():
            whose[i], whose[i + 1] = "theirs", "ours"
    return [Block(m[1], m[2], m.start(), m.end(), who) for m, who in zip(found, whose)]


def run(text: str, folder: pathlib.Path, both: bool = False) -> Iterator[tuple[Block, str, list[pathlib.Path]]]:
    """Run larmor's blocks of a page in a folder: each block, what it printed, and the pictures that it made.

    Those of the other program have names of their own; a block that stands alone is for both.
    """
    ours: dict[str, Any] = {"__name__": "__main__"}
    theirs: dict[str, Any] = {"__name__": "__main__"}
    before = os.getcwd()
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    seen = set(folder.rglob("*.png"))
    try:
        for block in blocks(text):
            if block.whose == "theirs" and not both:
                continue
            line = text.count("\n", 0, block.start) + 1
            if block.kind == "sh":
                done = subprocess.run(["sh", "-euc", block.code], capture_output=True, text=True, timeout=900,
                                      check=False)
                if done.returncode:
                    raise RuntimeError(f"line {line}: the commands ended with {done.returncode}: {done.stderr}")
                said = done.stdout
            else:
                into = io.StringIO()
                code = compile(block.code, f"line {line}", "exec")
                with contextlib.redirect_stdout(into):
                    exec(code, theirs if block.whose == "theirs" else ours)
                    if both and not block.whose:
                        exec(code, theirs)
                said = into.getvalue()
            made = sorted(set(folder.rglob("*.png")) - seen)
            seen.update(made)
            yield block, said, made
    finally:
        os.chdir(before)


def main() -> None:
    both = "--both" in sys.argv
    given = [word for word in sys.argv[1:] if word != "--both"]
    if len(given) != 2:
        sys.exit(__doc__)
    for block, said, made in run(pathlib.Path(given[0]).read_text(), pathlib.Path(given[1]).resolve(), both):
        print(f"# {block.kind}: {block.code.splitlines()[0]}")
        print(said, end="")
        for path in made:
            print(f"made {path.name}")


if __name__ == "__main__":
    main()
