#!/bin/sh
# The trajectory, regulariser, method of coil maps and format of docs/reference/extending.md as they stand there: each a new file, and one line more in a
# copy of its table. Usage: tests/extending/extract.sh ROOT FOLDER. SPDX-License-Identifier: Apache-2.0
set -eu
root=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/recon/traj" "$folder/recon/prox" "$folder/pipeline" "$folder/io/images"

# Blocks of C whose first line is their path, and of a change: "+++ path", the line before, "+" and the new line.
awk -v folder="$folder" '
    /^```(c|diff)$/ { getline
        language = /^\+\+\+ / ? "diff" : "c"; path = ""
        if (match($0, /[a-z_\/]+\.c/)) path = substr($0, RSTART, RLENGTH)
        if (language == "c" && $0 !~ /^\/\* [a-z_\/]+\.c \*\/$/) path = ""
        if (language == "diff") { getline; before = $1; getline; sub(/^\+ */, ""); print path, before, $0; path = "" }
        if (path) print >(folder "/" path)
        next }
    /^```/ { path = ""; next }
    path { print >(folder "/" path) }
' "$root/docs/reference/extending.md" >"$folder/lines"

while read -r path before new; do
    [ ! -e "$folder/$path" ] || { echo "docs/reference/extending.md: $path gets more than one line" >&2; exit 1; }
    awk -v before="$before" -v new="$new" '{ print } $1 == before { print "    " new " \\"; done++ }
        END { exit done != 1 }' "$root/$path" >"$folder/$path" ||
        { echo "docs/reference/extending.md: $path has no line $before" >&2; exit 1; }
done <"$folder/lines"
for table in recon/traj/names.c recon/prox/regulariser.c pipeline/maps.c io/images/formats.c; do
    [ -e "$folder/$table" ] || { echo "docs/reference/extending.md: nothing is added to $table" >&2; exit 1; }
done
