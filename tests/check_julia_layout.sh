#!/bin/sh
# The Julia package knows where members of the library's structs are, and numbers of its enums.
# Usage: tests/check_julia_layout.sh PROGRAM ROOT, where PROGRAM is that of julia/layout.c. SPDX-License-Identifier: Apache-2.0
set -eu
file=$2/julia/Larmor/src/layout.jl
"$1" | diff - "$file" && echo "layout: as it should be" && exit
echo "julia/Larmor/src/layout.jl: the headers have changed; write it anew: $1 >$file"
exit 1
