# Sourced by scripts whose arguments are LARMOR [FOLDER]: the program's whole path is in $larmor, and the work goes on in
# FOLDER, which is kept, or in a temporary one, which is not. SPDX-License-Identifier: Apache-2.0
larmor=$(realpath "$1")
if [ $# -gt 1 ]; then
    folder=$2
    mkdir -p "$folder"
else
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
fi
cd "$folder"
