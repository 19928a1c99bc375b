"""The documents' code runs, and the site's pages hold what they should (docs/site).
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import larmor
from larmor._library import lib

DOCS = pathlib.Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "site"))

import blocks  # noqa: E402
import headers  # noqa: E402
import left_to_c  # noqa: E402
import plain  # noqa: E402
import stage  # noqa: E402

REFERENCE = [DOCS / "reference" / f"{name}.md" for name in ("from_sigpy", "priors", "python_runs", "types")]
FIRST = [DOCS.parent / "README.md", DOCS / "site" / "index.md"]
PAGES = [path for path in (*FIRST, *sorted(DOCS.glob("*.md")), *REFERENCE)
         if blocks.blocks(path.read_text())]
OF_THE_SITE = [path for path in PAGES  # which scripts/docs.sh runs, too
               if path == FIRST[1] or any(path.match(f"docs/{pattern}") for pattern in stage.RUN)]
LONG = [DOCS / f"{name}.md" for name in ("cartesian", "choosing", "compression", "delays", "dicom", "dynamics",
                                         "live", "methods", "off_resonance", "outputs", "phantoms", "pictures",
                                         "reference/priors", "regularisers", "report", "scans_beyond", "scans_coils",
                                         "scans_given", "scans_images", "scans_units")]


@pytest.mark.parametrize(("ci", "code"), [(None, 0), ("", 0), ("true", 1)])
def test_packages_that_cannot_be_installed_are_a_failure_where_ci_is_set(tmp_path, ci, code):
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "CI": ci}
    done = subprocess.run([DOCS.parent / "scripts" / "python_peers.sh", tmp_path / "venv"], check=False, timeout=60,
                          capture_output=True, text=True, env={k: v for k, v in env.items() if v is not None})
    assert done.returncode == code
    assert "could not be installed; their tests were not run." in done.stderr


def _named_by_its_folder(page):
    return f"{page.parent.name}-{page.stem}"


@pytest.mark.parametrize("page", OF_THE_SITE, ids=_named_by_its_folder)
def test_larmors_blocks_of_the_site_run(page, tmp_path):
    _run_blocks(page, tmp_path)


@pytest.mark.parametrize("page", [page for page in PAGES if page not in (*OF_THE_SITE, *LONG)],
                         ids=_named_by_its_folder)
def test_larmors_blocks_of_a_page_run(page, tmp_path):
    _run_blocks(page, tmp_path)


@pytest.mark.parametrize("page", LONG, ids=_named_by_its_folder)
def test_larmors_blocks_of_a_long_page_run(page, tmp_path):
    _run_blocks(page, tmp_path)


def test_options_on_pages_are_those_of_their_commands():
    program = os.environ.get("LARMOR_PROGRAM")
    if not program:
        pytest.skip("LARMOR_PROGRAM is not set")
    named = {}
    for block in (block for page in PAGES for block in blocks.blocks(page.read_text())):
        if block.kind == "sh" and block.whose != "theirs":
            for command, words in re.findall(r"\blarmor (\w+)([^|;#\n]*)", block.code.replace("\\\n", " ")):
                named.setdefault(command, set()).update(re.findall(r"(?<!\S)(--[a-z0-9-]+)", words))
    for command, options in named.items():
        offered = subprocess.run([program, "completion", "--words", command, "--"], check=True, capture_output=True,
                                 text=True).stdout.split()
        assert sorted(options - set(offered)) == [], command
    assert len(named["recon"]) > 20


def _run_blocks(page, tmp_path):
    program = os.environ.get("LARMOR_PROGRAM")
    found = blocks.blocks(page.read_text())
    if any(block.kind == "sh" for block in found) and not program:
        pytest.skip("LARMOR_PROGRAM is not set")
    folder = pathlib.Path(program).parent if program else tmp_path
    done = subprocess.run([sys.executable, str(DOCS / "site" / "blocks.py"), str(page), str(tmp_path)],
                          capture_output=True, text=True, timeout=900, check=False,
                          env={**os.environ, "MPLBACKEND": "Agg", "PATH": f"{folder}:{os.environ['PATH']}"})
    if page.stem == "dicom" and "DICOM needs the plugin" in done.stderr:
        pytest.skip("the plugin for DICOM was not built")
    if page.stem == "pictures" and "built without giflib" in done.stderr:
        pytest.skip("larmor was built without giflib")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("# sh: ") + done.stdout.count("# python: ") == sum(b.whose != "theirs" for b in found)


def test_no_page_scales_samples_by_a_number_that_numpy_2_widens_to_double_precision():
    """Since NumPy 2 complex64 times numpy.prod, a numpy.int64, is complex128, which operators of complex64 refuse."""
    pages = [*DOCS.rglob("*.md"), *DOCS.rglob("*.py"), *DOCS.parent.glob("python/examples/*.py")]
    wrong = [path.name for path in pages if re.search(r"[*/] np\.prod\(", path.read_text())]
    assert wrong == []
    assert len(pages) > 50


def test_of_two_neighbouring_blocks_the_first_is_the_other_programs():
    text = "```sh\na\n```\n\n```sh\nb\n```\nwords\n```python\nc\n```\n"
    assert [(b.kind, b.code, b.whose) for b in blocks.blocks(text)] == [
        ("sh", "a\n", "theirs"), ("sh", "b\n", "ours"), ("python", "c\n", "")]


def test_every_function_of_the_library_is_on_one_page_of_the_c_library():
    pages = headers.Headers(DOCS.parent / "include" / "larmor")
    shown = [name for path in pages.files
             for name in re.findall(r"^(?:\.\. c:function:: | {16})[^(]*?(larmor_\w+)\(", pages.page(path.name),
                                    re.M)]
    assert sorted(shown) == sorted(name for name in dir(lib) if name.startswith("larmor_"))


def test_what_is_said_to_be_left_to_c_is_there_and_not_called():
    public = [name for name in dir(lib) if name.startswith("larmor_")]
    assert left_to_c.stale(public) == []
    assert left_to_c.missing(["larmor_cg", "larmor_nothing", "larmor_graph_begin"]) == ["larmor_nothing"]
    assert left_to_c.faults(public) == []
    [line] = left_to_c.faults([*public, "larmor_nothing"])
    assert "docs/reference/python.md" in line and "| `larmor_nothing` | what they do |" in line


def _named(package, name):
    """What a dotted name of the package stands for."""
    for part in name.split(".")[1:]:
        package = getattr(package, part)
    return package


def _commands():
    """The commands of the program, by its source."""
    source = "".join(path.read_text() for path in (DOCS.parent / "apps" / "larmor").glob("*.c"))
    return re.findall(r'^ +\.name = "([a-z0-9]+)"', source, re.M)


def test_names_of_the_page_of_subjects_are_there_and_every_function_of_the_package_has_a_subject():
    text = (DOCS / "reference" / "subjects.md").read_text()
    names = set(re.findall(r"`(larmor\.[A-Za-z0-9_.]+)`", text))
    assert [name for name in sorted(names) if _named(larmor, name) is None] == []
    functions = set(re.findall(r"`(larmor_[a-z0-9_]+)`", text)) - {"larmor_status"}
    assert [name for name in sorted(functions) if not hasattr(lib, name)] == []
    rows = re.findall(r"^\| [^|]+ \| ([^|]*) \|", text, re.M)
    commands = {word for row in rows for word in re.findall(r"`(\w+)", row)} - {"help"}
    assert sorted(commands - set(_commands())) == []
    public = {f"larmor.{name}" for name in larmor.__all__ if not name.startswith("_") and not name.endswith("Error")}
    public -= {f"larmor.{name}" for name in ("linop", "nufft", "prior", "prox", "solve", "Stopped", "View",
                                             "Finding")}
    assert sorted(public - names) == []


def test_calls_of_the_package_that_pages_name_are_there():
    for page in sorted(DOCS.rglob("*.md")):
        if page.parent.name in ("changes", "records"):
            continue
        names = set(re.findall(r"(?<![\w./])(larmor(?:\.\w+)+)\(", page.read_text())) - {"larmor.Plan"}  # MATLAB's
        names = {name for name in names if name.split(".")[1] not in ("torch", "jax", "mrinufft", "sigpy", "deepinv")}
        assert [name for name in sorted(names) if _named(larmor, name) is None] == [], page


def _site(folder, pages):
    for name, body in pages.items():
        (folder / name).write_text(f"<!doctype html><meta charset=utf-8><body style='margin: 0'>{body}")


def test_what_is_cut_missing_or_not_found_on_a_site_is_a_line(tmp_path):
    chromium = shutil.which("chromium")
    if not chromium:
        pytest.skip("no chromium")
    sys.path.insert(0, str(DOCS.parent / "tests"))
    import look_at_site

    _site(tmp_path, {
        "good.html": "<p>all <code>fits</code></p><pre style='white-space: pre-wrap'>a  b</pre>",
        "code.html": f"<pre style='overflow: auto'>{'x' * 90}</pre>",
        "image.html": "<img src=gone.png>",
        "wide.html": "<div style='width: 500px; height: 9px'>wide</div>",
        "table.html": "<div class=table-wrapper style='overflow: auto'><table><td style='min-width: 2000px'>t"
                      "</table></div>",
        "search.html": "<div id=search-results><p class=search-summary>found</p><ul class=search>"
                       "<li><a href='good.html?highlight=a'>good</a></ul></div>"})
    found, pages = look_at_site.look(tmp_path, {"a": "good.html", "b": "code.html"}, chromium)
    assert pages == 6
    assert sorted(found) == [
        f'code.html at 400: code is cut: pre "{40 * "x"}"',
        "image.html at 1280: image gone.png does not load",
        "image.html at 400: image gone.png does not load",
        'search for "b": code.html is not among good.html',
        'table.html at 1280: a table is cut: div.table-wrapper "t"',
        "wide.html at 400: the page scrolls sideways, it is 500 wide",
        'wide.html at 400: wider than the window: div "wide"']


def test_rows_of_a_comment_become_a_list_and_code_stays_as_it_is():
    text = ["What it is, a * b.", "", "name     of |x|", "         going on", "Errors   none", "", "  y = x_", "end"]
    assert plain.to_rst(text) == ["What it is, a \\* b.", "", "``name``", "   of \\|x\\|", "   going on", "*Errors*",
                                  "   none", "", "::", "", "     y = x_", "", "end"]


def test_types_and_help_of_options_are_those_of_the_table():
    sys.path.insert(0, str(DOCS.parent / "scripts"))
    import python_options

    assert python_options.TARGET.read_text() == python_options.text(), "run scripts/python_options.py"
    members = larmor.ReconOptions.__annotations__
    left_out = {*python_options._recon._OWN, *python_options.NAMED}
    known = {setting["name"] for setting in larmor.settings()} - left_out
    assert set(members) == known - {"iters"} | {"iterations"} | set(python_options.PROGRAM)
    for line in ("eps                 number: accuracy of the NUFFT", "memory              bytes: most memory",
                 "b0                  array: off-resonance in Hz", "checkpoint_every    number: from one",
                 "girf_spacing_hz     number: from one frequency of girf to the next; in Hz"):
        assert line in larmor.recon.__doc__
