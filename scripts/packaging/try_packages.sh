#!/bin/sh
# Whether packages work, on a machine that has nothing else of larmor.
# Usage: scripts/packaging/try_packages.sh [WHEEL [SCAN.h5]]
# Without a wheel: with the larmor that is installed a scan is simulated and reconstructed, and where there are a compiler
# and liblarmor-dev a program is compiled. A wheel is installed into an environment of its own, where the ten lines of
# docs/python.md reconstruct and draw the scan, or a simulated one, and NUFFTs are compared with direct sums. PYTHON names
# another python3. SPDX-License-Identifier: Apache-2.0
set -eu
sources=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -lt 1 ] || wheel=$(realpath "$1")
[ $# -lt 2 ] || scan=$(realpath "$2")
export OMP_WAIT_POLICY=passive # the machine may be busy
unset LARMOR_LIBRARY LARMOR_READER LARMOR_PLUGIN_DIR LD_LIBRARY_PATH || true
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
if [ -n "${wheel:-}" ]; then
    "${PYTHON:-python3}" -m venv venv
    venv/bin/pip install -q "$wheel" matplotlib
    PATH=$work/venv/bin:$PATH
    cat >sum.py <<'EOF'
import numpy as np

import larmor

rng = np.random.default_rng(1)
points = rng.uniform(-8, 8, (300, 2))
modes = rng.normal(size=(16, 16)) + 1j * rng.normal(size=(16, 16))
place = np.arange(16) - 8
phase = [np.exp(-2j * np.pi * np.outer(points[:, axis], place) / 16) for axis in (0, 1)]
expected = np.einsum("jx,jy,xy->j", *phase, modes)
for dtype, tol in (("c8", 1e-5), ("c16", 1e-12)):
    found = larmor.nufft.type2(points.astype("f8" if dtype == "c16" else "f4"), modes.astype(dtype), tol=tol)
    error = np.linalg.norm(found - expected) / np.linalg.norm(expected)
    assert error < 2 * tol, (dtype, error)
print("NUFFTs are the direct sums")
EOF
    python sum.py
fi
larmor version
larmor phantom -o scan.h5 --matrix 64 --coils 4 --readouts 64 --noise 1e-4 --truth truth.h5 -q
larmor recon scan.h5 -o image.h5 -o image.nii.gz -o image.png
larmor compare image.h5 truth.h5 --magnitude --tol 0.2
if [ -n "${wheel:-}" ]; then
    sed -n '/^import sys$/,/^```$/p' "$sources/docs/python.md" | sed '/^```$/d' >ten_lines.py
    python ten_lines.py "${scan:-scan.h5}"
    [ -s heart.png ] && [ -s heart.nii ]
    echo "the ten lines gave an image"
elif command -v cc >/dev/null && pkg-config --exists larmor 2>/dev/null; then
    printf '#include <larmor/larmor.h>\n#include <stdio.h>\nint main(void)\n{\n    return puts(larmor_version()) < 0;\n}\n' >mine.c
    # shellcheck disable=SC2046 # a list of options
    cc mine.c $(pkg-config --cflags --libs larmor) -o mine
    [ "$(./mine)" = "$(pkg-config --modversion larmor)" ]
    echo "a program is compiled and starts"
fi
