#!/bin/sh
# Whether installed packages work, on a machine that has nothing else of larmor: a scan is simulated and reconstructed, and
# where there are a compiler and liblarmor-dev a program is compiled. Usage: scripts/try_packages.sh
# SPDX-License-Identifier: Apache-2.0
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
larmor version
larmor phantom -o scan.h5 --matrix 64 --coils 4 --readouts 64 --noise 1e-4 --truth truth.h5 -q
larmor recon scan.h5 -o image.h5 -o image.nii.gz -o image.png
larmor compare image.h5 truth.h5 --magnitude --tol 0.2
if command -v cc >/dev/null && pkg-config --exists larmor 2>/dev/null; then
    printf '#include <larmor/larmor.h>\n#include <stdio.h>\nint main(void)\n{\n    return puts(larmor_version()) < 0;\n}\n' >mine.c
    # shellcheck disable=SC2046 # a list of options
    cc mine.c $(pkg-config --cflags --libs larmor) -o mine
    [ "$(./mine)" = "$(pkg-config --modversion larmor)" ]
    echo "a program is compiled and starts"
fi
