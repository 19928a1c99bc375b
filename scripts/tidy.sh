#!/bin/sh
# clang-tidy 14 with the checks of .clang-tidy on the sources of the library and the programs: those that differ from a commit,
# or all where a header does. Versions differ in what they find, so that another one, or none, is said and no error.
# Usage: scripts/tidy.sh [--all|COMMIT]; without it the commit is HEAD. SPDX-License-Identifier: Apache-2.0
set -eu
cd "$(dirname "$0")/.."
clang-tidy --version 2>/dev/null | grep -q 'version 14\.' || { echo "tidy: without clang-tidy 14, which is not here"; exit 0; }
changed=$([ "${1:-HEAD}" = --all ] || git diff --name-only --diff-filter=d "${1:-HEAD}" -- '*.[ch]' .clang-tidy | grep -v '^\(tests\|examples\)/') || true
case "${1:-HEAD} $changed" in
--all* | *.h* | *.clang-tidy*) changed= ;;
*.c*) ;;
*) echo "tidy: nothing differs" && exit 0 ;;
esac
cmake --preset tidy -DLARMOR_TESTS=OFF >/dev/null
# Those that a build without a GPU has; the flags are clang's, with nothing compiled.
files=$(python3 -c '
import json, pathlib, sys
built = {str(pathlib.Path(one["file"]).relative_to(sys.argv[1])) for one in json.load(open("build/tidy/compile_commands.json"))
         if one["file"].startswith(sys.argv[1] + "/") and "/build/" not in one["file"]}
print("\n".join(sorted(built & set(sys.argv[2:]) if sys.argv[2:] else built)))' "$PWD" $changed)
found=$(echo "$files" | grep '\.c$' | xargs -r -n 8 -P "$(nproc 2>/dev/null || echo 2)" clang-tidy --quiet -p build/tidy 2>/dev/null |
    grep -E '(warning|error): ' | sed "s#^$PWD/##" | sort -u) || true
[ -z "$found" ] || { printf '%s\n' "$found"; exit 1; }
echo "tidy: as it should be"
