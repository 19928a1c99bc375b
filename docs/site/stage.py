"""Put the site's sources together for Sphinx: docs's pages with their links turned into the site's, a page for each
header of include/larmor, one for each command from `larmor manual`, the examples, and the pages whose code is run.

Usage: PATH=FOLDER_OF_LARMOR:$PATH PYTHONPATH=... python3 docs/site/stage.py FOLDER   (scripts/docs.sh does it)
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import blocks
import left_to_c
import montage
from headers import Headers
from plain import inline

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"
OTHERS = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "reporting.md"}
RUN = ("gallery.md", "stories/*.md", "from_bart.md", "from_sigpy.md", "from_finufft.md", "from_mrinufft.md")
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)#\s]*)(#[^)\s]*)?\)")


class Links:
    """The links of a page of the repository, as links of the site."""

    def __init__(self, page: pathlib.Path, out: pathlib.Path) -> None:
        self.page, self.out = page, out
        docs = ROOT / "docs"
        self.folder = page.parent.relative_to(docs) if page.is_relative_to(docs) else pathlib.Path()

    def __call__(self, match: re.Match[str]) -> str:
        bang, label, path, anchor = match[1], match[2], match[3], match[4] or ""
        if not path or re.match(r"https?:|mailto:", path):
            return match[0]
        where = (self.page.parent / path).resolve()
        if not where.exists() or not where.is_relative_to(ROOT):
            sys.exit(f"{self.page.relative_to(ROOT)}: {path} leads nowhere")
        to = self._of(where.relative_to(ROOT), anchor)
        if not to:
            return label
        return f"{bang}[{label}]({os.path.relpath(to, self.folder)})"

    def _of(self, where: pathlib.Path, anchor: str) -> str:
        """Where a file of the repository is on the site, from its root; nothing for a folder."""
        name = str(where)
        if where.is_relative_to("docs") and where.suffix == ".md":
            page = where.relative_to("docs")
            return ("documents.md" if page == pathlib.Path("index.md") else str(page)) + anchor
        if where.parent == pathlib.Path("docs/images"):
            return f"images/{where.name}"
        if name in OTHERS:
            return OTHERS[name] + anchor
        if name == "README.md":
            return "index.md"
        if name == "include/larmor":
            return "c/index.rst"
        if where.parent == pathlib.Path("include/larmor"):
            return f"c/{where.stem}.rst"
        if name == "examples":
            return "examples.md"
        if where.parent == pathlib.Path("examples") and where.suffix in (".c", ".cu"):
            return f"examples.md#{where.name.replace('.', '')}"
        if (ROOT / where).is_dir():
            return ""
        target = self.out / "files" / where
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / where, target)
        return f"files/{name}"


def with_results(name: str, text: str, out: pathlib.Path) -> str:
    """A page with what its commands print, and the pictures that they make, behind them.

    Those of a story and of the first page stand in the picture at its head.
    """
    made, position, head = "", 0, montage.head(name)
    with tempfile.TemporaryDirectory() as folder:
        drawn: list[pathlib.Path] = []
        for block, said, pictures in blocks.run(text, pathlib.Path(folder)):
            made += text[position:block.end]
            position = block.end
            if said.strip():
                made += f"\n```text\n{said.rstrip()}\n```\n"
            drawn += pictures
            if not head:
                made += _shown(pathlib.Path(name).stem, pictures, out / "made")
        if head:
            montage.draw(montage.in_order(text, drawn), out / "images" / head)
    return made + text[position:]


def _shown(stem: str, pictures: list[pathlib.Path], folder: pathlib.Path) -> str:
    """The lines that show pictures which the site made."""
    shown = []
    for picture in pictures:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(picture, folder / f"{stem}_{picture.name}")
        shown.append(f"![what these lines made: {picture.name}](made/{stem}_{picture.name})")
    if len(shown) < 2:
        return "".join(f"\n{line}\n" for line in shown)
    rows = (" | ".join(picture.stem for picture in pictures), "|".join("---" for _ in shown), " | ".join(shown))
    return "\n" + "".join(f"| {row} |\n" for row in rows)  # side by side, with their names


def documents(out: pathlib.Path) -> None:
    """The pages of docs and its folders, and what lies in the root."""
    docs = ROOT / "docs"
    pages = {path: str(path.relative_to(docs)) for path in sorted(docs.glob("**/*.md"))
             if not path.is_relative_to(SITE)}
    pages[ROOT / "docs" / "index.md"] = "documents.md"
    for name, to in OTHERS.items():
        pages[ROOT / name] = to
    shutil.copytree(ROOT / "docs" / "images", out / "images")
    for path, name in pages.items():
        text = path.read_text()
        if any(fnmatch.fnmatch(name, pattern) for pattern in RUN):
            print(f"running {path.relative_to(ROOT)}", flush=True)
            text = with_results(name, text, out)
        if name == "reference/subjects.md":
            text = _by_name(text)
        parts = re.split(r"(^```.*?^```$)", text, flags=re.S | re.M)
        links = Links(path, out)
        text = "".join(part if part.startswith("```") else _LINK.sub(_unless_made(links), part) for part in parts)
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text(text)


def _by_name(text: str) -> str:
    """Names of functions of C and Python as links to where they are described."""
    text = re.sub(r"`(larmor_[a-z0-9_]+)`", r"{c:func}`\1`", text)
    return re.sub(r"`(larmor\.[A-Za-z0-9_.]+)`", r"{py:obj}`\1`", text)


def _unless_made(links: Links):  # type: ignore[no-untyped-def]
    """The pictures that the site made stay where they are."""

    def call(match: re.Match[str]) -> str:
        return match[0] if match[3].startswith("made/") else links(match)

    return call


def examples(out: pathlib.Path) -> None:
    """The programs in C, whole."""
    made = ["# Programs in C\n",
            "Each is a file of `examples` in the sources; `make -C examples` builds them against an installed "
            "larmor.\n"]
    for path in sorted((ROOT / "examples").glob("*.c*")):
        if path.suffix in (".c", ".cu"):
            made += [f"## {path.name}\n", f"```c\n{path.read_text()}```\n"]
    (out / "examples.md").write_text("\n".join(made))


def c_pages(out: pathlib.Path) -> None:
    """A page for each header."""
    headers = Headers(ROOT / "include" / "larmor")
    functions = [name for name, kind in headers.kinds.items() if kind == "function"]
    faults = left_to_c.faults(functions)
    if faults:
        sys.exit("\n".join(faults))
    folder = out / "c"
    folder.mkdir()
    names = [path.name for path in headers.files]
    for name in names:
        (folder / f"{pathlib.Path(name).stem}.rst").write_text(headers.page(name))
    rows = "\n".join(f"   {pathlib.Path(name).stem}" for name in names)
    (folder / "index.rst").write_text(
        "The C library\n=============\n\nThe headers of ``include/larmor``, and what their comments say. "
        "``larmor/larmor.h`` includes all of them. :ref:`genindex` lists every function and type.\n\n"
        f".. toctree::\n   :maxdepth: 1\n\n{rows}\n")


def _unroff(text: str) -> str:
    for sign, plain in ((r"\-", "-"), (r"\(aq", "'"), (r"\&", ""), (r"\e", "\\")):
        text = text.replace(sign, plain)
    return re.sub(r"\\f[BIR]", "", text)


def command_page(roff: str, command: str) -> str:
    """The page of a command from its manual: what `man` shows."""
    title = f"larmor {command}"
    made = [title, "=" * len(title), "", f".. program:: {title}", ""]
    depth, literal, term, section = 0, False, False, ""
    synopsis: list[str] = []
    for line in roff.splitlines():
        margin = "   " * depth
        if line.startswith((".TH", ".\\\"")):
            continue
        if line.startswith(".SH"):
            section = _unroff(line[4:].strip('"')).capitalize()
            if section == "Description":
                made += ["", f"``{' '.join(synopsis)}``"]
            if section not in ("Name", "Synopsis"):
                made += ["", section, "-" * len(section), ""]
            depth = 0
        elif line == ".RS":
            depth += 1
        elif line == ".RE":
            depth -= 1
        elif line in (".PP", ".P"):
            made.append("")
        elif line == ".nf":
            literal = True
            made += ["", "::", ""]
        elif line == ".fi":
            literal = False
            made.append("")
        elif literal:
            made.append(f"   {_unroff(line)}")
        elif line == ".TP":
            term = True
        elif section in ("Name", "Synopsis"):
            synopsis += [_unroff(re.sub(r"^\.[BI] ", "", line))] * (section == "Synopsis")
        elif term:
            text = _unroff(re.sub(r"^\.[BIR]+ ", "", line))
            made += ["", f"{margin}.. option:: {text}", ""] if text.startswith("-") else ["", f"{margin}``{text}``"]
            term = False
        else:
            indent = f"{margin}   " if section == "Options" else ""
            made.append(indent + inline(_unroff(re.sub(r"^[.][BIR]+ ", "", line))))
    return "\n".join(made) + "\n"


def command_pages(out: pathlib.Path) -> None:
    """A page for each command, from the table of options that reads its command line."""
    def said(*words: str) -> str:
        return subprocess.run(["larmor", *words], capture_output=True, text=True, check=True).stdout

    folder = out / "commands"
    folder.mkdir()
    names = re.findall(r"^  ([a-z0-9]+) {2,}", said("--help"), flags=re.M)
    for name in names:
        (folder / f"{name}.rst").write_text(command_page(said("manual", name), name))
    rows = "\n".join(f"   {name}" for name in names)
    (folder / "index.rst").write_text(
        "Commands\n========\n\nWhat ``larmor manual COMMAND`` prints, from the tables of options that read the "
        f"command line.\n\n.. toctree::\n   :maxdepth: 1\n\n{rows}\n\n.. code-block:: text\n\n"
        + "\n".join(f"   {line}" for line in said("--help").splitlines()) + "\n")


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    os.environ.setdefault("MPLBACKEND", "Agg")
    out = pathlib.Path(sys.argv[1]).resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for path in SITE.glob("*.rst"):
        shutil.copyfile(path, out / path.name)
    shutil.copyfile(SITE / "site.css", out / "site.css")
    documents(out)
    (out / "index.md").write_text(with_results("index.md", (SITE / "index.md").read_text(), out))
    examples(out)
    c_pages(out)
    command_pages(out)


if __name__ == "__main__":
    main()
