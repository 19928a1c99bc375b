#!/bin/sh
# A plugin exports one symbol and takes none of larmor's; without them nothing of CUDA, MPI, DCMTK and libmicrohttpd is needed.
# Usage: tests/check_plugin.sh PROGRAM LIBRARY [PLUGIN...]. SPDX-License-Identifier: Apache-2.0
set -eu
status=0

for file in "$1" "$2"; do
    found=$(ldd "$file" | grep -iE 'lib(cu|nv|mpi|dcm|ofstd|microhttpd|stdc\+\+)' | grep -v 'libcurl' || true)
    [ -z "$found" ] || { echo "$file needs what is a plugin's: $found"; status=1; }
done
found=$(nm -D --defined-only "$2" | awk '$2 != "A" {print $3}' | grep -vE '^larmor_' || true)
[ -z "$found" ] || { echo "$2 exports more than larmor_*: $found"; status=1; }

shift 2
for plugin; do
    case ${plugin##*/} in
    larmor_mpi.so) entry=lmr_transport_entry ;;
    larmor_dicom.so) entry=lmr_dicom_entry ;;
    larmor_http.so) entry=lmr_http_entry ;;
    *) entry=lmr_backend_entry ;;
    esac
    found=$(nm -D --defined-only "$plugin" | awk '{print $3}')
    [ "$found" = $entry ] || { echo "$plugin exports $found, expected $entry alone"; status=1; }
    found=$(nm -D --undefined-only "$plugin" | awk '{print $2}' | grep -E '^(larmor|lmr)_' || true)
    [ -z "$found" ] || { echo "$plugin imports $found"; status=1; }
done

[ $status -ne 0 ] || echo "plugin: as it should be"
exit $status
