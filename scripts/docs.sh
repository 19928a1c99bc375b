#!/bin/sh
# The documentation's site from the pages of docs, the headers, the commands' tables, the docstrings and python/examples, for reading
# with nothing but a browser: build/site/index.html. What its pages show is run for it. Warnings and broken links are errors,
# and so is what tests/look_at_site.py finds cut, missing or not found by the search, where there is Chromium.
# Usage: scripts/docs.sh [FOLDER]      FOLDER: what the site is written to, default build/site
# SPDX-License-Identifier: Apache-2.0
set -eu
cd "$(dirname "$0")/.."
site=${1:-build/site}
scripts/deps.sh docs
python=/usr/bin/python3 # whose packages deps.sh installs
cmake --preset cpu -DLARMOR_PYTHON=ON -DPython3_EXECUTABLE=$python >/dev/null
cmake --build --preset cpu --target larmor_cli larmor_python
PATH=$PWD/build/cpu/apps:$PATH
PYTHONPATH=$PWD/build/cpu/python
export PATH PYTHONPATH OMP_WAIT_POLICY=passive MPLBACKEND=Agg PYTHONDONTWRITEBYTECODE=1
$python docs/site/stage.py build/site-source
rm -rf "$site"
$python -m sphinx -j 2 -q -W --keep-going -b html -c docs/site -d build/site-doctrees build/site-source "$site"
$python tests/look_at_site.py "$site" off-resonance=off_resonance.html lambda=choosing.html spiral=stories/spiral.html \
    streaks=stories/streaks.html motion=reference/motion.html nufft=nufft.html delays=delays.html dicom=dicom.html \
    epi=epi.html jax=reference/jax.html torch=reference/torch.html pytorch=reference/torch.html
echo "$site/index.html"
