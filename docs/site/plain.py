"""The plain text of comments and docstrings as reStructuredText: paragraphs, rows of names, indented formulas.

Rows are lines of a name, two blanks or more, and what it is; the lines that go on with it are indented.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_ROW = re.compile(r"(\S+(?:,? \S+){0,2}) {2,}(\S.*)")


def _escaped(text: str) -> str:
    return re.sub(r"([\\*`|_<>])", r"\\\1", text)


def inline(text: str, link: Callable[[str], str] = lambda name: "") -> str:
    """Text in which `code` is literal, and names that `link` knows become what it returns."""
    parts = re.split(r"(``[^`]+``|`[^`]+`|\blarmor(?:_[a-z0-9]+)+\b)", text)
    made = ""
    for part in parts:
        if part.startswith("`") and len(part) > 2:
            new = f"``{part.strip('`')}``"
        elif part.startswith("larmor_"):
            new = link(part) or _escaped(part)
        else:
            made += _escaped(part)
            continue
        # Markup begins and ends at a blank, or at one that is not shown.
        made += ("" if not made or made[-1].isspace() else "\\ ") + new + "\\ "
    return made.removesuffix("\\ ")


def to_rst(lines: Sequence[str], link: Callable[[str], str] = lambda name: "") -> list[str]:
    """The lines of a comment, without its margin, as lines of reStructuredText."""
    made: list[str] = []
    kind = ""

    def begin(new: str) -> None:
        nonlocal kind
        if made and made[-1] and new != kind:
            made.append("")
        kind = new

    for line in lines:
        row = _ROW.fullmatch(line)
        if not line.strip():
            begin("")
        elif row:
            begin("row")
            is_heading = row[1].isalpha() and row[1][0].isupper() and row[1][1:].islower()
            made += [f"*{row[1]}*" if is_heading else f"``{row[1]}``", f"   {inline(row[2], link)}"]
        elif line[0] == " " and kind == "row":
            made.append(f"   {inline(line.strip(), link)}")
        elif line[0] == " ":
            if kind != "code":
                begin("code")
                made.extend(["::", ""])
            made.append(f"   {line}")
        else:
            begin("text")
            made.append(inline(line, link))
    return made
