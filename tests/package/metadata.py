#!/usr/bin/env python3
"""What packages say of themselves agrees, the package is Python of its oldest version, and a wheel's name says its glibc.

Usage: tests/package/metadata.py SOURCE LIBRARY; LIBRARY is liblarmor of this build. The exit status is 77 where Python has no
tomllib. SPDX-License-Identifier: Apache-2.0
"""

import ast
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

try:
    import tomllib
except ImportError:
    sys.exit(77)

source, library = (pathlib.Path(name) for name in sys.argv[1:3])


def read(name):
    return source.joinpath(name).read_text("utf-8")


def found(name, pattern):
    """The one place of a file that a pattern fits."""
    places = re.findall(pattern, read(name), re.MULTILINE)
    assert len(places) == 1, f"{name}: {pattern} fits {len(places)} times"
    return places[0]


def same(what, values):
    assert len(set(values.values())) == 1, f"{what} differs: {values}"


project = tomllib.loads(read("pyproject.toml"))["project"]
plugin = tomllib.loads(read("python/cuda/pyproject.toml"))["project"]


def the_oldest_python_is_the_same_everywhere():
    same("the oldest Python", {
        "pyproject.toml": project["requires-python"].removeprefix(">= "),
        "python/cuda/pyproject.toml": plugin["requires-python"].removeprefix(">= "),
        "python/CMakeLists.txt": found("python/CMakeLists.txt", r"find_package\(Python3 ([\d.]+)"),
        "packaging/conda/recipe.yaml": found("packaging/conda/recipe.yaml", r"- python >=([\d.]+)"),
        "ruff": "3." + found("pyproject.toml", r'target-version = "py3(\d+)"'),
        "the first classifier": next(c for c in project["classifiers"] if "Python :: 3." in c).rpartition(" ")[2],
        "docs/python.md": found("docs/python.md", r"for Python (3\.\d+) and later"),
    })


def licences_and_authors_are_the_same_everywhere():
    authors = [a["name"] for a in project["authors"]]
    same("the licence of the sources", {"pyproject.toml": project["license"], "python/cuda": plugin["license"],
                                        "CITATION.cff": found("CITATION.cff", r"^license: (.*)")})
    spec = importlib.util.spec_from_file_location("wheel_licences", source / "scripts/packaging/wheel_licences.py")
    licences = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(licences)
    same("the licence of binaries with FFTW", {
        "the wheel": licences.EXPRESSION,
        "conda": found("packaging/conda/recipe.yaml", r"^  license: (.*)"),
        "the container": found("packaging/Dockerfile", r'image\.licenses="(.*?)"'),
    })
    assert authors == [a["name"] for a in plugin["authors"]]
    assert authors == re.findall(r"^  - name: (.*)", read("CITATION.cff").partition("authors:")[2], re.MULTILINE)
    assert not any("License ::" in c for c in project["classifiers"]), "PEP 639: an expression, or classifiers"


def the_release_has_one_date():
    version, date = re.search(r"^## \[([\d.]+)\] - ([\d-]+)", read("CHANGELOG.md"), re.MULTILINE).groups()
    same("the version", {"CHANGELOG.md": version, "CITATION.cff": found("CITATION.cff", r"^version: (.*)")})
    same("the date", {"CHANGELOG.md": date, "CITATION.cff": found("CITATION.cff", r"^date-released: (.*)")})


def the_package_is_python_of_its_oldest_version():
    oldest = tuple(int(n) for n in project["requires-python"].removeprefix(">= ").split("."))
    for file in sorted(source.glob("python/larmor/**/*.py")):
        if file.name == "_abi.py":
            continue
        tree = ast.parse(file.read_text("utf-8"), feature_version=oldest)
        late = any(isinstance(n, ast.ImportFrom) and n.module == "__future__" for n in tree.body)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and oldest < (3, 10):
                name = getattr(node.func, "id", "") or getattr(node.func, "attr", "")
                new = {"zip": {"strict"}, "dataclass": {"slots", "kw_only"}}.get(name, set())
                assert not new & {k.arg for k in node.keywords}, f"{file.name}:{node.lineno}: {name}() of Python 3.10"
                unions = [a for a in node.args[1:] if name == "isinstance" and isinstance(a, ast.BinOp)]
                assert not unions, f"{file.name}:{node.lineno}: a union of types in isinstance() is of Python 3.10"
            annotation = getattr(node, "annotation", None) or getattr(node, "returns", None)
            if annotation and not late:
                unions = [a for a in ast.walk(annotation) if isinstance(a, ast.BinOp)]
                assert not unions, f"{file.name}:{node.lineno}: an annotation of Python 3.10 is evaluated"


def a_wheel_that_needs_a_newer_glibc_than_its_name_says_is_refused():
    def refuses(name, folder, files):
        with zipfile.ZipFile(folder / name, "w") as wheel:
            for file in files:
                wheel.write(file, "larmor/" + file.name)
        done = subprocess.run([sys.executable, source / "scripts/packaging/check_glibc.py", folder / name], capture_output=True, text=True)
        assert done.returncode in (0, 1) and done.stdout.count("\n") == 1, done
        return done.returncode == 1, done.stdout
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        assert not refuses("a-1-py3-none-manylinux_9_99_x86_64.whl", folder, [library])[0]
        refused, said = refuses("a-1-py3-none-manylinux_2_3_x86_64.whl", folder, [library])
        assert refused and "which is newer than its name says" in said and library.name in said, said
        assert refuses("a-1-py3-none-linux_x86_64.whl", folder, [library])[0]
        assert refuses("a-1-py3-none-manylinux_9_99_x86_64.whl", folder, [source / "LICENSE"])[0]
    built = sorted(source.glob("build/packages/larmor-*manylinux*.whl"))
    for wheel in built:
        subprocess.run([sys.executable, source / "scripts/packaging/check_glibc.py", wheel], check=True)


for law in (the_oldest_python_is_the_same_everywhere, licences_and_authors_are_the_same_everywhere, the_release_has_one_date,
            the_package_is_python_of_its_oldest_version, a_wheel_that_needs_a_newer_glibc_than_its_name_says_is_refused):
    law()
    print(f"metadata: {law.__name__}")
