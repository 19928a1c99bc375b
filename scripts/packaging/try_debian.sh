#!/bin/sh
# Build larmor and run its tests in a bare Debian, made by debootstrap in a folder: before a release in 12, in 13, and in a
# 13 without a terminal, as containers have it. Root is needed. Sources are those of this checkout, committed or not.
# Usage: scripts/packaging/try_debian.sh [-R PATTERN] [-j JOBS] [-f FOLDER] 12|13|12-no-terminal|13-no-terminal...
#   -R  only the tests whose name fits; by default the README's second command, scripts/check.sh
#   -j  so many jobs of the build, and of the tests with -R; default: one for each core
#   -f  where the systems lie and stay (scripts/packaging/in_debian.sh); default build/debian
# DEBIAN_MIRROR names another mirror than deb.debian.org. SPDX-License-Identifier: Apache-2.0
set -eu
pattern='' jobs=$(nproc 2>/dev/null || echo 2) systems=$(dirname "$0")/../../build/debian
while getopts R:j:f: option; do
    case $option in
    R) pattern=$OPTARG ;;
    j) jobs=$OPTARG ;;
    f) systems=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || { echo "try_debian.sh: 12, 13, 12-no-terminal or 13-no-terminal expected." >&2; exit 2; }

# shellcheck disable=SC2016 # variables of the shell inside
tests='
. /etc/os-release
echo "$PRETTY_NAME"
[ -n "$1" ] || exec env LARMOR_WERROR=ON scripts/check.sh
scripts/deps.sh all
cmake --preset cpu -DLARMOR_TESTS=ON -DLARMOR_WERROR=ON -DLARMOR_PYTHON=OFF >/dev/null
cmake --build --preset cpu -j "$2" >build.log || { tail -n 50 build.log; exit 1; }
exec ctest --preset cpu -j "$2" -R "$1"'

status=0
for name; do
    case $name in
    12 | 13) terminal='' ;;
    12-no-terminal | 13-no-terminal) terminal=-n ;;
    *) echo "try_debian.sh: \"$name\": 12, 13, 12-no-terminal or 13-no-terminal expected." >&2; exit 2 ;;
    esac
    "$(dirname "$0")/in_debian.sh" -f "$systems" $terminal "${name%-no-terminal}" "$tests" "$pattern" "$jobs" && code=0 || code=$?
    echo "try_debian.sh: $name: exit code $code"
    [ "$code" -eq 0 ] || status=1
done
exit $status
