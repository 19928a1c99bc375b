#!/bin/sh
# FINUFFT's own MATLAB interface under Octave on larmor's drop-in library: builds its MEX file in a copy of its matlab/ and runs
# its tests and examples there. Usage: scripts/finufft_octave.sh CHECKOUT [BUILD]; CHECKOUT of FINUFFT 2.6, BUILD a folder of
# larmor's build (build/cpu). LONG=1: tolsweeptest, too, which takes minutes.
# SPDX-License-Identifier: Apache-2.0
set -eu
checkout=${1:?scripts/finufft_octave.sh CHECKOUT [BUILD]}
library=$(cd "${2:-$(dirname "$0")/../build/cpu}/lib" && pwd)
headers=$(cd "$checkout/include" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$checkout/matlab/." "$work"
cd "$work"
mkoctfile --mex finufft.cpp -I"$headers" -DR2008OO -L"$library" -llarmor_finufft -Wl,-rpath,"$library" -output finufft 2>mex.log ||
    { cat mex.log; exit 1; }

tests="fullmathtest check_finufft check_finufft_single check_opts check_modeords guru_setpts_issue test_strictadjoint"
[ "${LONG:-0}" = 0 ] || tests="$tests tolsweeptest"
wrong=0
# 0 if Octave ends well and nothing says FAIL or has an error of .1 or more.
try() {
    log=$(basename "$1").log
    if octave-cli --no-init-file --no-history --path "$work:$work/test:$work/examples" "$1.m" >"$log" 2>&1 &&
        ! grep -E 'FAIL|err[^:]* is (0\.[1-9]|[1-9]|NaN|Inf)[^e]*$' "$log"; then
        echo "pass  $1"
    else
        echo "FAIL  $1"
        tail -5 "$log"
        wrong=1
    fi
}
for name in $tests; do try "test/$name"; done
for name in guru1d1 guru1d1_single guru1d1_adjoint; do try "examples/$name"; done
exit $wrong
