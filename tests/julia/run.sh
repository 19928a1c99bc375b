#!/bin/sh
# The package of julia/ and the commands of its page. Usage: tests/julia/run.sh JULIA LARMOR LIBRARY READER SOURCES
# Environment: AbstractNFFTs is found where JULIA_LOAD_PATH has it, else its part is left out; NFFT_SOURCES, a checkout of
# NFFT.jl, whose own tests are run, too. SPDX-License-Identifier: Apache-2.0
set -eu
julia=$1 larmor=$2 LARMOR_LIBRARY=$3 LARMOR_READER=$4 sources=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
LARMOR_SCAN=$work/scan.h5 LARMOR_IMAGE=$work/image LARMOR_GRIDDED=$work/gridded OMP_WAIT_POLICY=passive
JULIA_LOAD_PATH=$sources/julia:${JULIA_LOAD_PATH:-@stdlib} JULIA_DEPOT_PATH=$work/depot
export LARMOR_LIBRARY LARMOR_READER LARMOR_SCAN LARMOR_IMAGE LARMOR_GRIDDED OMP_WAIT_POLICY JULIA_LOAD_PATH JULIA_DEPOT_PATH
"$larmor" phantom -o scan.h5 --matrix 48 --readouts 60 --coils 4 --noise 1e-4 2>phantom.log
"$larmor" recon scan.h5 -o image.cfl --device cpu --method cg --lambda 0.01 --matrix 40,48 2>recon.log
"$larmor" recon scan.h5 -o gridded.cfl --device cpu --method grid 2>recon.log
"$julia" --startup-file=no "$sources/julia/Larmor/test/runtests.jl"

# The page's commands run as they stand.
mkdir page
cd page
"$larmor" phantom -o scan.h5 --matrix 96 --readouts 40 --noise 1e-4 2>phantom.log
sed -n '/^```julia$/,/^```$/{/^```/!p}' "$sources/docs/reference/julia.md" >page.jl
[ "$(grep -c Larmor page.jl)" -ge 6 ] || { echo "julia.md: got few commands"; exit 1; }
"$julia" --startup-file=no page.jl >page.log 2>&1 || { tail page.log; exit 1; }
echo "julia.md: its commands run"
[ -z "${NFFT_SOURCES:-}" ] || "$julia" --startup-file=no "$sources/tests/julia/nfft_tests.jl"
