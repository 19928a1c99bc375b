#!/usr/bin/env python3
"""Put the statements of copyright of the libraries that auditwheel copied into a wheel.

Usage: scripts/packaging/wheel_licences.py WHEEL REPAIRED: the libraries that WHEEL needs are looked up, those that REPAIRED has in
larmor.libs are kept, and the archives that are in larmor-reader; the statements of their Debian or RPM packages go to
REPAIRED's dist-info/licenses, with what they mean for the wheel. LARMOR_NEEDS names the folder of libraries that
packaging/manylinux.sh built, whose terms lie in its share/licenses. SPDX-License-Identifier: Apache-2.0
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

# What the metadata say of a wheel with FFTW; packaging/conda/recipe.yaml and packaging/Dockerfile say the same.
EXPRESSION = "Apache-2.0 AND GPL-3.0-or-later"

MEANING = """larmor's own files are under the Apache License 2.0.

This wheel holds the libraries in larmor.libs, whose statements of copyright are beside this file, and in larmor-reader parts
of HDF5, expat and niftiio. FFTW is among them, under the GPL, version 2 or later: so this wheel may be distributed only as
a whole under the GPL, version 3, with its complete source. That does not affect using it.
"""


def output(*command: str) -> str:
    """What a command prints; nothing where it fails or is not there."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return ""


def statements(library: str) -> tuple[str, list[pathlib.Path]]:
    """The package that a library is from, and the files that state its licence."""
    owner = ""
    for name in {library, str(pathlib.Path(library).resolve()), library.removeprefix("/usr")}:
        owner = owner or output("dpkg-query", "-S", name).partition(":")[0]
    statement = pathlib.Path("/usr/share/doc", owner, "copyright")
    if owner and statement.exists():
        common = set(re.findall(r"/usr/share/common-licenses/[\w.+-]*\w", statement.read_text("utf-8", "replace")))
        return owner, [statement, *(pathlib.Path(c) for c in sorted(common) if pathlib.Path(c).exists())]
    owner = output("rpm", "-qf", "--qf", "%{NAME}", library)
    return owner, [pathlib.Path(f) for f in output("rpm", "-q", "--licensefiles", owner).split()]


def mend_metadata(info: pathlib.Path) -> None:
    """The terms of the wheel as a whole, and the files that state them, in its METADATA (PEP 639)."""
    head, gap, text = info.joinpath("METADATA").read_text("utf-8").partition("\n\n")
    kept = [line for line in head.split("\n") if not re.match(r"License(-Expression|-File)?:", line)]
    files = sorted(f.relative_to(info / "licenses").as_posix() for f in info.joinpath("licenses").rglob("*") if f.is_file())
    lines = [*kept, f"License-Expression: {EXPRESSION}", *(f"License-File: {name}" for name in files)]
    info.joinpath("METADATA").write_text("\n".join(lines) + gap + text, "utf-8")


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        for wheel, name in ((sys.argv[1], "raw"), (sys.argv[2], "repaired")):
            subprocess.run([sys.executable, "-m", "wheel", "unpack", "-d", f"{folder}/{name}", wheel], check=True)
        [raw] = pathlib.Path(folder, "raw").iterdir()
        [repaired] = pathlib.Path(folder, "repaired").iterdir()
        # auditwheel names libfftw3.so.3.6.9 "libfftw3-1a2b3c4d.so.3.6.9"
        copied = {re.sub(r"-[0-9a-f]{8}\b", "", f.name) for f in repaired.joinpath("larmor.libs").iterdir()}
        needed: set[str] = set()
        for file in raw.rglob("*"):
            if file.is_file() and file.read_bytes()[:4] == b"\x7fELF":
                needed.update(re.findall(r"=> (/\S+)", output("ldd", str(file))))
        linked = raw.joinpath("larmor/share/doc/larmor/linked.txt").read_text().split()
        [info] = repaired.glob("*.dist-info")
        licences = info / "licenses"
        licences.mkdir(exist_ok=True)
        licences.joinpath("BINARIES").write_text(MEANING)
        built = pathlib.Path(os.environ.get("LARMOR_NEEDS", "/nonexistent"))
        for terms in built.glob("share/licenses/*"):
            licences.joinpath(terms.name).write_bytes(terms.read_bytes())
            print(f"{terms.name}: built for the wheel")
        for library in [*sorted(needed), *linked]:
            if built in pathlib.Path(library).parents:
                continue
            names = {pathlib.Path(library).name, pathlib.Path(library).resolve().name}
            if library not in linked and not names & copied:
                continue
            owner, files = statements(library)
            if not files:
                sys.exit(f"wheel_licences.py: no statement of copyright of {library}")
            for file in files:
                target = licences / (owner if file.name == "copyright" else file.name)
                target.write_bytes(file.read_bytes())
            print(f"{library}: {owner}")
        mend_metadata(info)
        subprocess.run([sys.executable, "-m", "wheel", "pack", "-d", str(pathlib.Path(sys.argv[2]).parent), str(repaired)],
                       check=True)


if __name__ == "__main__":
    main()
