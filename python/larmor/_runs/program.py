"""The program larmor, which is installed with the package. SPDX-License-Identifier: Apache-2.0"""

import os
import pathlib
import sys


def main() -> None:
    """Become the program."""
    program = pathlib.Path(__file__).parents[1] / "bin" / "larmor"
    if not program.exists():
        sys.exit(f"larmor: {program} is not there; install the package by pip")
    os.execv(program, ["larmor", *sys.argv[1:]])


if __name__ == "__main__":
    main()
