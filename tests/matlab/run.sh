#!/bin/sh
# The functions of matlab/ under Octave. Usage: tests/matlab/run.sh OCTAVE LARMOR FOLDER SOURCES VERSION, where FOLDER holds
# larmor_mex.mex. SPDX-License-Identifier: Apache-2.0
set -eu
octave=$1 larmor=$2 mex=$3 sources=$4 VERSION=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
SCAN=$work/scan.h5 IMAGE=$work/image GRIDDED=$work/gridded DAMAGED=$work/damaged.h5
export SCAN IMAGE GRIDDED DAMAGED VERSION OMP_WAIT_POLICY=passive
"$larmor" phantom -o scan.h5 --matrix 48 --readouts 60 --coils 4 --noise 1e-4 2>phantom.log
"$larmor" recon scan.h5 -o image.cfl --device cpu --method cg --lambda 0.01 --matrix 40,48 2>recon.log
"$larmor" recon scan.h5 -o gridded.cfl --device cpu --method grid 2>recon.log
printf 'no scan' >damaged.h5
octave() { timeout 120 "$octave" --no-init-file --no-history --path "$mex" --path "$sources/matlab" "$@"; }
octave "$sources/tests/matlab/test_matlab.m"

# The page's commands run as they stand.
mkdir page
cd page
"$larmor" phantom -o scan.h5 --matrix 96 --readouts 40 --noise 1e-4 2>phantom.log
sed -n '/^```matlab$/,/^```$/{/^```/!p}' "$sources/docs/reference/matlab.md" >page.m
[ "$(grep -c larmor page.m)" -ge 8 ] || { echo "matlab.md: got few commands"; exit 1; }
echo "assert(all(isfinite(snr(:))) && numel(frames.meta) == 2 && isequal(size(x), [16 12 4]) && !isempty(wrong.message))" >>page.m
octave page.m >page.log 2>&1 || { tail page.log; exit 1; }
echo "matlab.md: its commands run"
