#!/bin/sh
# larmor and its peers on the same scans, without flags, by the settings that each tool documents, and by the best of
# a grid: errors, times, memory and pictures. Peers: BART in PATH; SigPy, mri-nufft and mrpro in virtual
# environments that --setup makes from PyPI. A tool that is missing has a row that says so. docs/reference/league.md
# Usage: scripts/league.sh [--setup] [--scans DIR] [--out DIR] [--quick] [OPTION of scripts/league/league.py...]
# LEAGUE_VENV names their folder (default: build/league). SPDX-License-Identifier: Apache-2.0
set -eu
here=$(cd "$(dirname "$0")" && pwd)
place=${LEAGUE_VENV:-$here/../build/league}
tools="sigpy==0.1.27 mri-nufft==1.5.1 finufft==2.5.1 numpy scipy h5py matplotlib scikit-image"
apart="mrpro==0.261015" # with PyTorch, which the others would import as well
install() { # NAME PACKAGE...
    folder=$place/$1
    shift
    "${LEAGUE_PYTHON:-python3}" -m venv "$folder"
    "$folder/bin/pip" install -q --disable-pip-version-check "$@"
}
if [ "${1:-}" = --setup ]; then
    shift
    # shellcheck disable=SC2086 # a list of packages
    install main $tools
    install mrpro "$apart"
    [ $# -gt 0 ] || exit 0
fi
python=python3
[ ! -x "$place/main/bin/python" ] || python=$place/main/bin/python
exec "$python" "$here/league/league.py" "$@"
