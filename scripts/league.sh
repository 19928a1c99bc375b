#!/bin/sh
# larmor and its peers on the same scans, without flags, by the settings that each tool documents, and by the best of
# a grid: errors, times, memory and pictures. Peers: BART in PATH; SigPy, mri-nufft and mrpro in the virtual
# environment that --setup makes from PyPI. A tool that is missing has a row that says so. docs/reference/league.md
# Usage: scripts/league.sh [--setup] [--scans DIR] [--out DIR] [--quick] [OPTION of scripts/league/league.py...]
# LEAGUE_VENV names the virtual environment (default: build/league). SPDX-License-Identifier: Apache-2.0
set -eu
here=$(cd "$(dirname "$0")" && pwd)
place=${LEAGUE_VENV:-$here/../build/league}
tools="sigpy==0.1.27 mri-nufft==1.5.1 finufft==2.5.1 mrpro==0.261015 numpy scipy h5py matplotlib scikit-image"
if [ "${1:-}" = --setup ]; then
    shift
    "${LEAGUE_PYTHON:-python3}" -m venv "$place"
    # shellcheck disable=SC2086 # a list of packages
    "$place/bin/pip" install -q --disable-pip-version-check $tools
    [ $# -gt 0 ] || exit 0
fi
python=python3
[ ! -x "$place/bin/python" ] || python=$place/bin/python
exec "$python" "$here/league/league.py" "$@"
