#!/bin/sh
# Run the tests of the Python package that need other packages (PyTorch, JAX, deepinv, SigPy, PyLops, mri-nufft, ONNX), which
# elsewhere skip themselves, on the package in build/cpu, with these packages from PyPI in a virtual environment of their own:
# 6.2 GB, as PyTorch's wheel of PyPI has its parts for GPUs. A test that lacks a package all the same is a failure.
# Where PyPI cannot be reached and they are not there yet, it says so and succeeds, or fails where CI is set.
# Usage: scripts/python_peers.sh [--install] [FOLDER [OPTION...]]
#   --install  only install the packages
#   FOLDER     of the virtual environment, default build/peers; OPTION: of pytest, for example -k torch
# SPDX-License-Identifier: Apache-2.0
set -eu
cd "$(dirname "$0")/.."
only_install=
if [ "${1:-}" = --install ]; then
    only_install=yes
    shift
fi
place=${1:-build/peers}
[ $# -eq 0 ] || shift
packages="torch==2.15.0 deepinv==0.5.0 jax==0.10.2 sigpy==0.1.27 pylops==2.8.0 mri-nufft==1.5.1 scipy==1.17.1
          onnx==1.23.2 onnxruntime==1.32.0 tqdm==4.70.1 rich==15.0.0 numpy==2.4.6 cffi==2.1.1 pytest==9.2.0"
# uv downloads and unpacks side by side, in a quarter of pip's time.
fill() {
    # shellcheck disable=SC2086 # a list of packages
    "$place/bin/pip" install -q --disable-pip-version-check uv &&
        "$place/bin/uv" pip install -q --no-cache --python "$place/bin/python" $packages
}
if [ ! -e "$place/installed" ] || [ "$(cat "$place/installed")" != "$packages" ]; then
    if ! python3 -m venv "$place" || ! fill; then
        echo "python_peers.sh: PyTorch and others could not be installed; their tests were not run." >&2
        [ -z "${CI:-}" ] || exit 1
        exit 0
    fi
    echo "$packages" >"$place/installed"
fi
[ -z "$only_install" ] || exit 0
python=$PWD/$place/bin/python
case $place in /*) python=$place/bin/python ;; esac
PYTHONPATH=$PWD/build/cpu/python LARMOR_PROGRAM=$PWD/build/cpu/apps/larmor PYTHONDONTWRITEBYTECODE=1 \
    "$python" -m pytest -q -p no:cacheprovider --peers -rs "$@" python/tests
