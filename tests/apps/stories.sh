#!/bin/sh
# The commands of docs/reference/low_field.md and seven_tesla.md run as they stand, and their images with every fault in
# the model are nearer to the truth than those without. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

docs=$(cd "$(dirname "$0")/../../docs/reference" && pwd)
larmor() { "$LARMOR" "$@"; }

# story PAGE WORSE: the page's blocks; the last two comparisons of a block are those of the image and of faults ignored.
story() {
    awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on' "$docs/$1" >commands.sh
    # shellcheck disable=SC1091
    . ./commands.sh >said.txt 2>err || fail "$1: $(tail -n 3 err)"
    awk -v worse="$2" '/^nrmse/ { n++; value[n] = $2 }
        END { exit !(n >= 2 && value[1] > 0 && value[2] > worse * value[1]) }' said.txt || fail "$1: $(cat said.txt)"
}
story low_field.md 1.4
awk '/^nrmse/ { n++; if (n == 3 && $2 < 0.06) found = 1 } END { exit !found }' said.txt || fail "volume: $(cat said.txt)"
rm -f ./*.h5 ./*.nii ./*.cfl ./*.hdr
if python3 -c 'import numpy' 2>/dev/null; then
    story seven_tesla.md 4
    expect 0 recon plain.h5 -o image.h5 --force --maps maps.cfl --method cg --delays off
    expect 0 compare image.h5 truth.h5
    awk -v plain="$(awk '{print $2}' out)" '/^nrmse/ { exit !($2 <= 1.1 * plain) }' said.txt ||
        fail "a spiral at 7 T beside one without faults: $(cat said.txt out)"
fi
