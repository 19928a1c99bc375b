#!/usr/bin/env python3
"""Whether what users get names a folder of its build, where others might put files that would then be run.

Usage: scripts/packaging/check_paths.py [--not FOLDER]... THING...
THING is a file, a folder, a wheel or a .tar.gz. --not names the folders of the build and of the sources.
In no file may one of those folders stand, in no binary (but for what debuggers read) and no script of larmor's a path
below a folder for temporary files. Libraries are looked for from $ORIGIN or in CUDA's folders. In liblarmor and the
programs stands no path at all but those of the kernel. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")
KERNEL = (b"/proc/", b"/sys/", b"/dev/", b"/lib64/ld-", b"/lib/ld-")
WITHOUT_PATHS = re.compile(r"^(liblarmor.*\.so[.0-9]*|larmor|larmor-bench)$")
SCRIPTS = (".py", ".pc", ".cmake", ".sh")
PATH = re.compile(rb"(?<=\0)(?:/[\w.+@-]{2,}){2,}(?=[/\0])")


def run_paths(elf: pathlib.Path) -> list[str]:
    """The folders that the loader looks into for what this file needs."""
    shown = subprocess.run(["readelf", "-dW", elf], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]$", shown, re.MULTILINE)
    return [folder for path in found for folder in path.split(":")]


def without_debug(elf: pathlib.Path) -> bytes:
    """What is loaded, without what debuggers read, which names the sources; a GPU's code holds that itself."""
    with tempfile.TemporaryDirectory() as folder:
        stripped = pathlib.Path(folder, "stripped")
        subprocess.run(["objcopy", "--strip-debug", "--remove-section", ".nv_fatbin", elf, stripped], check=True)
        return stripped.read_bytes()


def faults(file: pathlib.Path, folders: list[str], temporary: list[str]) -> list[str]:
    """What is wrong with one file."""
    found = []
    content = file.read_bytes()
    is_elf = content.startswith(b"\x7fELF")
    is_own = "larmor" in file.name or "larmor" in file.parent.name
    if is_elf:
        content = without_debug(file)
        found += [f"looks for libraries in \"{folder}\"" for folder in run_paths(file)
                  if not re.match(r"\$ORIGIN(/|$)", folder)
                  and not (file.name == "larmor_cuda.so" and re.match(r"/(usr|opt)/|/.*cuda", folder))]
    found += [f"names {folder}, a folder of the build" for folder in folders
              if re.search(re.escape(folder.encode()) + rb"(?![\w.+@-])", content)]
    if is_own and (is_elf or file.suffix in SCRIPTS):
        for folder in temporary:
            found += [f"names {path.decode()}, where any user may put files" for path in
                      set(re.findall(re.escape(folder.encode()) + rb"/[\w.+@/-]+", content))]
    if is_elf and WITHOUT_PATHS.match(file.name):
        found += [f"names {path.decode()}" for path in set(PATH.findall(content)) if not path.startswith(KERNEL)]
    return found


def unpacked(thing: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """The thing as a folder or as one file."""
    if thing.suffix in (".whl", ".zip"):
        zipfile.ZipFile(thing).extractall(folder)
    elif thing.name.endswith(".tar.gz"):
        folder.mkdir()
        subprocess.run(["tar", "-xf", thing, "-C", folder], check=True)
    else:
        return thing
    return folder


def main() -> None:
    """Print each fault; the exit status is 1 where there is one, or where nothing of larmor's was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--not", dest="folders", action="append", default=[])
    parser.add_argument("things", nargs="+", type=pathlib.Path)
    asked = parser.parse_args()
    folders = sorted({os.path.abspath(folder) for folder in asked.folders})
    temporary = sorted({*TEMPORARY, os.path.abspath(tempfile.gettempdir())})
    wrong, binaries = False, 0
    with tempfile.TemporaryDirectory() as folder:
        for i, thing in enumerate(asked.things):
            start = unpacked(thing, pathlib.Path(folder, str(i)))
            for file in sorted(start.rglob("*")) if start.is_dir() else [start]:
                if not file.is_file() or (file.is_symlink() and start.is_dir()):
                    continue
                binaries += file.open("rb").read(4) == b"\x7fELF"
                for fault in faults(file, folders, temporary):
                    print(f"paths: {file.relative_to(start) if file != start else file} {fault}")
                    wrong = True
    if not binaries:
        print("paths: there is no library and no program")
        wrong = True
    if not wrong:
        print(f"paths: {binaries} libraries and programs name no folder of their build")
    sys.exit(wrong)


if __name__ == "__main__":
    main()
