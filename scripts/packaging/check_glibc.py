#!/usr/bin/env python3
"""Whether a wheel needs no newer C library than its name says.

Usage: scripts/packaging/check_glibc.py WHEEL...
Every library and program in the wheel is asked by readelf for the versions of glibc's symbols that it needs; the
newest must not be above X.Y of manylinux_X_Y in the wheel's name. SPDX-License-Identifier: Apache-2.0
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile


def needed(elf: pathlib.Path) -> "tuple[int, int]":
    """The newest GLIBC_X.Y among the versions that a file needs; (0, 0) if it needs none."""
    shown = subprocess.run(["readelf", "-VW", str(elf)], capture_output=True, text=True, check=True).stdout
    needs = shown.partition("Version needs section")[2]
    versions = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", needs)
    return max(((int(major), int(minor)) for major, minor in versions), default=(0, 0))


def check(wheel: pathlib.Path) -> bool:
    """Print what the wheel needs; false where that is newer than its name, or where it holds no library."""
    tags = [(int(major), int(minor)) for major, minor in re.findall(r"manylinux_(\d+)_(\d+)_", wheel.name)]
    if not tags:
        print(f"glibc: {wheel.name} has no tag manylinux_X_Y")
        return False
    newest, owner, count = (0, 0), "", 0
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(wheel).extractall(folder)
        for file in sorted(pathlib.Path(folder).rglob("*")):
            if not file.is_file() or file.read_bytes()[:4] != b"\x7fELF":
                continue
            count += 1
            newest, owner = max((newest, owner), (needed(file), file.name))
    if not count:
        print(f"glibc: {wheel.name} holds no library")
        return False
    text = f"{wheel.name}: {count} libraries and programs need glibc {newest[0]}.{newest[1]} ({owner})"
    print("glibc:", text if newest <= min(tags) else f"{text}, which is newer than its name says")
    return newest <= min(tags)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(not all([check(pathlib.Path(name)) for name in sys.argv[1:]]))
