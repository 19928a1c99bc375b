#!/bin/sh
# Check the Python package's types and style by mypy --strict, pyright and ruff, of PyPI, in a virtual environment of their own:
# those of the package, those that users see (python/tests/typed_*.py), and that no public one is left out.
# basedpyright is pyright with its own node, which needs no network when it runs.
# Where PyPI cannot be reached and they are not there yet, it says so and succeeds, or fails where CI is set.
# Usage: scripts/lint_python.sh [FOLDER]      FOLDER: of the virtual environment, default build/lint
# SPDX-License-Identifier: Apache-2.0
set -eu
cd "$(dirname "$0")/.."
place=${1:-build/lint}
tools="mypy==2.4.1 ruff==0.17.6 basedpyright==1.40.2 numpy cffi"
if [ ! -e "$place/installed" ] || [ "$(cat "$place/installed")" != "$tools" ]; then
    # shellcheck disable=SC2086 # a list of packages
    if ! python3 -m venv "$place" || ! "$place/bin/pip" install -q --disable-pip-version-check $tools; then
        echo "lint_python.sh: mypy, pyright and ruff could not be installed; the Python package was not checked by them." >&2
        [ -z "${CI:-}" ] || exit 1
        exit 0
    fi
    echo "$tools" >"$place/installed"
fi
"$place/bin/ruff" check python docs/site scripts/packaging/check_paths.py scripts/packaging/check_glibc.py
"$place/bin/mypy"
"$place/bin/mypy" python/tests/typed_use.py
PATH=$(realpath "$place/bin"):$PATH
export PATH PYTHONPATH=python
basedpyright python/tests/typed_use.py
# With the types of PyTorch and JAX, where scripts/python_peers.sh has installed them.
peers=build/peers/bin/python
if [ -x $peers ]; then
    mypy --python-executable $peers
    mypy --python-executable $peers python/tests/typed_peers.py
    basedpyright --pythonpath $peers python/tests/typed_peers.py
else
    echo "lint_python.sh: larmor.torch and larmor.jax were not checked with the types of PyTorch and JAX."
fi
# Of classes of packages that are not installed here, bases are unknown, and so are tensors.
basedpyright --verifytypes larmor --ignoreexternal >"$place/types.txt" || true
grep 'Type completeness score' "$place/types.txt"
! grep 'error: ' "$place/types.txt" | grep -vE 'larmor/(torch|deepinv|jax|mrinufft)\.py|metaclass|base class'
