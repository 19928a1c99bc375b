"""No circles by calls: from the symbols of liblarmor's objects, which file needs which.

A file needs another if its object has an undefined symbol that the other's defines. Files that need each other, directly
or through others, are a circle: none of them can be read, tested or moved alone. Each circle that there is has to be
named in EXCEPTIONS with its reason, and a file that is no longer in one has to go from there.
Usage: tests/check_circles.py ROOT BUILD [--edges], which lists for each circle the symbols that close it; NM names nm.
SPDX-License-Identifier: Apache-2.0
"""

import collections
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

# Reasons, and the files of their circles.
EXCEPTIONS = {
    "the worker pool: a worker has another rank compute what it took, and that rank computes as a worker": """
        schedule/devices.c schedule/ranks.c schedule/worker.c""",
}

LIBRARY = re.compile(r"(?:^|/)CMakeFiles/(?:lmr_\w+|larmor)\.dir/")


def objects(root: pathlib.Path, build: pathlib.Path) -> dict[pathlib.Path, str]:
    """The objects of the library's layers, each with its source's path in the tree."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        made = words[words.index("-o") + 1]
        source = pathlib.Path(entry["file"]).resolve()
        if LIBRARY.search(made) and source.is_relative_to(root):
            found[pathlib.Path(entry["directory"]) / made] = str(source.relative_to(root))
    return found


def symbols(made: dict[pathlib.Path, str]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """The files that define each symbol, and the symbols that each file needs."""
    defined = collections.defaultdict(set)
    needed = collections.defaultdict(set)
    missing = [str(path) for path in made if not path.exists()]
    if missing:
        sys.exit(f"circles: {missing[0]} is not there; build the library first")
    command = [os.environ.get("NM", "nm"), "-P", "-A", *map(str, made)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        path, _, rest = line.partition(": ")
        source = made[pathlib.Path(path)]
        name, kind = rest.split()[:2]
        if kind in "Uw":
            needed[source].add(name)
        elif kind.isupper() or kind == "v":
            defined[name].add(source)
    return defined, needed


def graph(defined: dict[str, set[str]], needed: dict[str, set[str]]) -> dict[str, dict[str, set[str]]]:
    """graph[file][other]: the symbols of other that file needs."""
    edges: dict[str, dict[str, set[str]]] = collections.defaultdict(lambda: collections.defaultdict(set))
    for source, names in needed.items():
        for name in names:
            for other in defined.get(name, ()):
                if other != source:
                    edges[source][other].add(name)
    return edges


def circles(edges: dict[str, dict[str, set[str]]]) -> list[list[str]]:
    """Strongly connected components of more than one file (Tarjan 1972)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(file: str) -> None:
        number[file] = low[file] = len(number)
        stack.append(file)
        for other in edges.get(file, ()):
            if other not in number:
                visit(other)
                low[file] = min(low[file], low[other])
            elif other in stack:
                low[file] = min(low[file], number[other])
        if low[file] == number[file]:
            at = stack.index(file)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for file in sorted(edges):
        if file not in number:
            visit(file)
    return sorted(found)


def main() -> None:
    root, build = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    edges = graph(*symbols(objects(root, build)))
    found = circles(edges)
    wrong = 0
    excepted = {reason: set(files.split()) for reason, files in EXCEPTIONS.items()}
    seen: dict[str, set[str]] = collections.defaultdict(set)
    for circle in found:
        reason = next((name for name, files in excepted.items() if set(circle) <= files), None)
        if reason is not None:
            seen[reason] |= set(circle)
        else:
            wrong = 1
            known = set().union(*excepted.values()) if excepted else set()
            print(f"{len(circle)} files need each other: {' '.join(circle)}")
            print(f"  not named as exceptions: {' '.join(sorted(set(circle) - known)) or 'their circle'}")
        if reason is None or "--edges" in sys.argv[3:]:
            for file in circle:
                for other in sorted(set(edges[file]) & set(circle)):
                    print(f"  {file} -> {other}: {' '.join(sorted(edges[file][other]))}")
    for reason, files in excepted.items():
        for file in sorted(files - seen[reason]):
            wrong = 1
            print(f'{file}: in no circle; take it off the exceptions of "{reason}"')
    if not wrong:
        print(f"circles: none but the {len(seen)} that are named")
    sys.exit(wrong)


if __name__ == "__main__":
    main()
