"""Write larmor/_abi.py: what is in larmor's headers, for cffi, which needs no compiler when it is used.

Usage: python3 python/abi.py INCLUDE_FOLDER OUTPUT.py [C_COMPILER]

The C preprocessor removes comments and attributes, and cffi reads what is left. So a function that is added to the
headers is there for Python without a line of glue. SPDX-License-Identifier: Apache-2.0
"""

import pathlib
import subprocess
import sys
import tempfile

import cffi

HEADERS = ("stddef.h", "stdint.h")  # whose types cffi knows


def declarations(include: pathlib.Path, compiler: str) -> str:
    """The headers' declarations without directives, comments and attributes."""
    with tempfile.TemporaryDirectory() as folder:
        for name in HEADERS:
            pathlib.Path(folder, name).touch()
        # Without __GNUC__ the headers use none of its attributes.
        command = [compiler, "-E", "-P", "-nostdinc", "-U__GNUC__", "-I", str(include), "-I", folder, "-x", "c", "-"]
        done = subprocess.run(command, input='#include "larmor/larmor.h"\n', capture_output=True, text=True,
                              check=True)
    return done.stdout


def main() -> None:
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    ffi = cffi.FFI()
    ffi.set_source("larmor._abi", None)
    ffi.cdef(declarations(pathlib.Path(sys.argv[1]), sys.argv[3] if len(sys.argv) == 4 else "cc"))
    ffi.emit_python_code(sys.argv[2])


if __name__ == "__main__":
    main()
