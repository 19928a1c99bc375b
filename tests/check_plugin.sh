#!/bin/sh
# The plugin exports one symbol and takes none of larmor's; without it nothing of CUDA is needed.
# Usage: tests/check_plugin.sh PROGRAM LIBRARY [PLUGIN]. SPDX-License-Identifier: Apache-2.0
set -eu
status=0

for file in "$1" "$2"; do
    found=$(ldd "$file" | grep -iE 'lib(cu|nv)' | grep -v 'libcurl' || true)
    [ -z "$found" ] || { echo "$file needs CUDA: $found"; status=1; }
done
found=$(nm -D --defined-only "$2" | awk '$2 != "A" {print $3}' | grep -vE '^larmor_' || true)
[ -z "$found" ] || { echo "$2 exports more than larmor_*: $found"; status=1; }

if [ $# -gt 2 ]; then
    found=$(nm -D --defined-only "$3" | awk '{print $3}')
    [ "$found" = lmr_backend_entry ] || { echo "$3 exports $found, expected lmr_backend_entry alone"; status=1; }
    found=$(nm -D --undefined-only "$3" | awk '{print $2}' | grep -E '^(larmor|lmr)_' || true)
    [ -z "$found" ] || { echo "$3 imports $found"; status=1; }
fi

[ $status -ne 0 ] || echo "plugin: as it should be"
exit $status
