#!/bin/sh
# Messages of the library name what a caller gives by members of the library's options, "opts.traj_units", and no option
# of a program, "--traj-units": no string of its sources has one. Each member that a string names is one of a struct or
# an argument in include/larmor, and an option of the program larmor has it (app_option.member, or the option's name), so
# that the program's line has the option in its place. Usage: tests/check_messages.sh [ROOT].
# SPDX-License-Identifier: Apache-2.0
set -eu
cd "${1:-$(dirname "$0")/..}"
find core nufft recon fit io scan pipeline check schedule phantoms finufft \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) | sort | python3 -c '
import pathlib, re, sys

TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\x27(?:\\.|[^\x27\\\n])*\x27""", re.S)
OPTION = re.compile(r"""(?:^|[\s("\x27])--[a-z][a-z-]*""")
MEMBER = re.compile(r"(?<![\w./])opts\.([a-z0-9_]+(?:\.[a-z0-9_]+)*)")


def strings(text):
    for found in TOKEN.finditer(text):
        if found[0][0] == "\"":
            yield text.count("\n", 0, found.start()) + 1, found[0][1:-1]


headers = "".join(path.read_text() for path in pathlib.Path("include/larmor").glob("*.h"))
known = set(re.findall(r"\b[a-z_]\w*(?=(?:\[\w+\])?[;,)])", headers))
tables = "".join(path.read_text() for folder in ("apps/*", "bench") for path in pathlib.Path().glob(folder + "/*.[ch]"))
members = set(re.findall(r"\.member = \"([a-z0-9_.]+)", tables))
members |= set(re.findall(r"\bSETTING\((\w+)", tables))
members |= {name.replace("-", "_") for name in re.findall(r"\"([a-z][a-z0-9-]*)\", \\?\s*\"", tables)}

wrong, count = 0, 0
for name in sys.stdin.read().split():
    for line, string in strings(pathlib.Path(name).read_text(encoding="utf-8")):
        faults = ["names the option %s of a program" % found.strip(" (\"\x27") for found in OPTION.findall(string)]
        for member in MEMBER.findall(string):
            count += 1
            if any(part not in known for part in member.split(".")):
                faults.append("opts.%s is in no header" % member)
            if member not in members:
                faults.append("opts.%s is no option of a command" % member)
        for fault in faults:
            print("%s:%d: %s" % (name, line, fault))
            wrong = 1
if not count:
    print("no message names a member")
    wrong = 1
if not wrong:
    print("messages: %d name members, none an option" % count)
sys.exit(wrong)
'
