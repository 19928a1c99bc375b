"""The share of lines that were run, for each file and each room: coverage_lines.py ROOT BUILD [--missing].

Reads the counters that programs of a build with gcc's --coverage have left, by gcov, but not those of the tests' own
objects. A line counts once, in whatever objects it is. --missing lists the numbers of the lines that did not run.
SPDX-License-Identifier: Apache-2.0
"""

import collections
import json
import pathlib
import subprocess
import sys

AT_ONCE = 32  # files for one call of gcov
PROGRAMS = ("apps", "bench", "finufft", "examples")  # all else is the library


def counters(build: pathlib.Path) -> list[str]:
    """The files of counters, without those of tests."""
    return [str(path) for path in sorted(build.rglob("*.gcda")) if "tests" not in path.relative_to(build).parts]


def count(root: pathlib.Path, build: pathlib.Path) -> dict[str, dict[int, int]]:
    """How often each line of each file ran."""
    lines: dict[str, dict[int, int]] = collections.defaultdict(collections.Counter)
    files = counters(build)
    for first in range(0, len(files), AT_ONCE):
        command = ["gcov", "--json-format", "--stdout", *files[first : first + AT_ONCE]]
        made = subprocess.run(command, capture_output=True, cwd=build, text=True, check=True)
        for text in made.stdout.splitlines():
            data = json.loads(text)
            for file in data["files"]:
                path = (pathlib.Path(data["current_working_directory"]) / file["file"]).resolve()
                if path.is_relative_to(root) and not path.is_relative_to(build):
                    for line in file["lines"]:
                        lines[str(path.relative_to(root))][line["line_number"]] += line["count"]
    return lines


def rooms_of(name: str) -> list[str]:
    """The rooms that a file counts for."""
    room = name.split("/")[0]
    return [room] if room in PROGRAMS else [room, "the library"]


def main() -> None:
    root, build = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    lines = count(root, build)
    rooms: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])
    for name in sorted(lines):
        run = sum(times > 0 for times in lines[name].values())
        for room in rooms_of(name):
            rooms[room][0] += run
            rooms[room][1] += len(lines[name])
        print(f"{100 * run / len(lines[name]):6.1f} % {run:6d} of {len(lines[name]):6d}  {name}")
        if "--missing" in sys.argv[3:]:
            print("         ", *sorted(line for line, times in lines[name].items() if not times))
    for room, (run, total) in sorted(rooms.items()):
        print(f"{100 * run / total:6.1f} % {run:6d} of {total:6d}  = {room}")


if __name__ == "__main__":
    main()
