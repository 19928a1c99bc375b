#!/bin/sh
# Heart and breath by waveforms: the page's commands, what the log and the drawings say, and what is refused.
# SPDX-License-Identifier: Apache-2.0
page=$(cd "$(dirname "$0")/../.." && pwd)/docs/reference/waveforms.md
. "$(dirname "$0")/support.sh"
export LARMOR_DEVICE=cpu
mkdir bin
ln -s "$LARMOR" bin/larmor
PATH=$folder/bin:$PATH
awk '/^```sh/ { inside = 1; n++; next } /^```/ { inside = 0 } inside && n == 1' "$page" >commands
awk '/^```sh/ { inside = 1; n++; next } /^```/ { inside = 0 } inside && n == 2' "$page" >live
[ "$(grep -c '^larmor ' commands)" -eq 3 ] || fail "docs/reference/waveforms.md has no three commands"
[ "$(grep -c '^larmor ' live)" -eq 5 ] || fail "docs/reference/waveforms.md has no five commands of a live scan"
last="docs/reference/waveforms.md"
sh -eux ./commands >out 2>err || fail "the commands of docs/reference/waveforms.md"

# The rates of the phantom, by R waves and the belt, then by the samples.
truth=$(sed -n 's/^heart: \([0-9.]*\) a minute$/\1/p' err)
found=$(sed -n 's/^heart: \([0-9.]*\) a minute, reliability .*, by R waves of the ECG$/\1/p' err)
awk -v a="$truth" -v b="$found" 'BEGIN { exit !(a > 60 && b / a > .99 && b / a < 1.01) }' || fail "$last: $found of $truth"
grep -q '^breath: 1[34][.0-9]* a minute, reliability [01][.0-9]*, by the respiration$' err || fail "$last: the belt expected"
grep -q '^heart: .*, by samples in the centre of k-space$' err || fail "$last: the samples expected"
grep -q '>heart: R waves of the ECG, ' gating.svg || fail "gating.svg has no title of the heart"
[ "$(grep -c '<circle' gating.svg)" -eq 1500 ] || fail "gating.svg has not all readouts"
grep -q 'u003csvg\|\\u003csvg' page.html || fail "page.html has no drawing"
grep -q '"gating":null' page.html && fail "page.html has no drawing"

# Live: the page compares the images with those of the file; what bins rest on is said at both ends.
{ echo "server=; trap '[ -z \"\$server\" ] || kill \$server 2>/dev/null || true' EXIT"; cat live; } >guarded
sh -eu ./guarded >out 2>err || fail "the commands of a live scan in docs/reference/waveforms.md"
for said_by in log err; do
    grep -q 'heart: 6[67][.0-9]* a minute, reliability 1.00, by the triggers of the ECG, channel 1' $said_by ||
        fail "$last: the triggers in $said_by expected"
    grep -q 'bins: 6 of ' $said_by || fail "$last: six bins in $said_by expected"
done

# Triggers; the report says what bins rest on.
expect 0 phantom -o beats.h5 --matrix 16 --readouts 1000 --coils 2 --tr 20 --heart 80,0.3 --waveforms triggers -q
reconstruct beats.h5 -o b.nii --bins heart:3 --method grid --json
grep -q '"from": "the triggers of the ECG, channel 1"' out || fail "$last: the triggers in the report expected"

# What is not there is refused, and nothing is written.
expect 2 recon beats.h5 -o g.nii --bins heart:2,breath:2 --gating waveforms
said "larmor: bins: no waveform of the breath; the file has none."
expect 2 recon beats.h5 -o g.nii --gating-plot g.svg
said "larmor: --gating-plot: has no effect without --bins."
expect 2 recon beats.h5 -o g.nii --bins heart:2 --gating-plot g.png
said_like "^larmor: g.png: a drawing is written to .svg"
expect 2 phantom -o g.h5 --tr 20 --waveforms triggers
said "larmor: --waveforms: has no effect without --breath or --heart."
for file in g.nii g.svg g.png g.h5; do [ ! -e $file ] || fail "an output of a refused run"; done

# The method that bins choose by themselves is in the report.
expect 0 phantom -o small.h5 --matrix 8 --readouts 600 --tr 20 --coils 2 --breath 20,10 --heart 70,0.3 \
    --waveforms triggers -q
reconstruct small.h5 -o small.npy --bins heart:2,breath:2 --json
grep -q '"method_from": *"bins"' out || fail "$last: method_from of the report"
grep -q '"readouts_left_out": *0' out || fail "$last: readouts_left_out of the report"
reconstruct small.h5 -o small.npy --bins heart:6,breath:4 --json -f
grep -q '"method": *"tv:xy+tv:h=2+tv:b=1.33"' out || fail "$last: finer bins weigh more"
# The weight that half of the bins predict best with is that of all: as if it were given.
grep -q '^lambda: searched in 12 of 24 bins, those in the middle along the second dimension$' err || fail "$last: $(cat err)"
weight=$(sed -n 's/.*: lambda \([0-9.e+-]*\), chosen from the samples.*/\1/p' err)
reconstruct small.h5 -o given.npy --bins heart:6,breath:4 --joint --method tv:xy+tv:h=2+tv:b=1.33 --lambda "$weight"
expect 0 compare given.npy small.npy --tol 5e-3
