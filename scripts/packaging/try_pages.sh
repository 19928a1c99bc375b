#!/bin/sh
# A newcomer's walk: the commands and the Python of docs/stories and docs/course, on a wheel in an environment of its own
# with the newest NumPy and matplotlib of PyPI, in a folder without the sources. Minutes.
# Usage: scripts/packaging/try_pages.sh WHEEL [PAGE...]      PAGE: only these, such as heart or plot_2_gridding
# PYTHON names another python3. SPDX-License-Identifier: Apache-2.0
set -eu
[ $# -ge 1 ] || { echo "try_pages.sh: a wheel expected." >&2; exit 2; }
sources=$(cd "$(dirname "$0")/../.." && pwd)
wheel=$(realpath "$1")
shift
unset LARMOR_LIBRARY LARMOR_READER LARMOR_PLUGIN_DIR LD_LIBRARY_PATH PYTHONPATH || true
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"${PYTHON:-python3}" -m venv venv
venv/bin/pip install -q --disable-pip-version-check "$wheel" matplotlib
PATH=$work/venv/bin:$PATH
export PATH MPLBACKEND=Agg OMP_WAIT_POLICY=passive
cp "$sources"/docs/stories/*.md "$sources"/docs/course/plot_*.py "$sources/docs/site/blocks.py" .
[ $# -gt 0 ] || for page in *.md plot_*.py; do set -- "$@" "${page%.*}"; done
failed=0
for page; do
    mkdir "$page"
    if [ -e "$page.md" ]; then
        set -- python blocks.py "$page.md" "$page"
    else
        set -- env -C "$page" python "../$page.py"
    fi
    if "$@" >"$page/log" 2>&1; then
        echo "$page: runs"
    else
        echo "$page: $(tail -n 1 "$page/log")"
        failed=$((failed + 1))
    fi
done
[ $failed -eq 0 ] || { echo "try_pages.sh: $failed pages failed" >&2; exit 1; }
