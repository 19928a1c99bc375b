#!/bin/sh
# From a scan to maps: the page's commands, and errors of the maps within tissues. SPDX-License-Identifier: Apache-2.0
page=$(cd "$(dirname "$0")/../.." && pwd)/docs/reference/tissues.md
. "$(dirname "$0")/support.sh"
export LARMOR_DEVICE=cpu
mkdir bin
ln -s "$LARMOR" bin/larmor
PATH=$folder/bin:$PATH
awk '/^```sh/ { inside = 1; next } /^```/ { inside = 0 } inside' "$page" >commands
[ "$(grep -c '^larmor ' commands)" -eq 11 ] || fail "docs/reference/tissues.md has not eleven commands"
last="docs/reference/tissues.md"

# region ROW COLUMN MOST: of the table of compare.
at_most() {
    awk -v row="$1" -v column="$2" -v most="$3" '$3 == row && NF == 8 { found = 1; if ($column > most) exit 2 }
        END { if (!found) exit 1 }' out || fail "$last: region $1 of $(cat out), at most $3 expected"
}

# Water and fat: muscle, liver and fluid by the rmse of the fraction.
grep -n '' commands | grep -E 'wf|echoes' | cut -d: -f2- >water_fat
sh -eux ./water_fat >out 2>err || fail "the commands of water and fat"
at_most 3 6 0.04
at_most 5 6 0.03
grep -q 'wf_FF.npy and its standard deviation' err || fail "$last: error bars expected"
grep -q '^6 times from the header: 1.2 to 6.3 ms$' err || fail "$last: times of the header expected"

# Bins of true states: each state is seen.
grep -E 'moving|states' commands >states
sh -eux ./states >out 2>err || fail "the commands of states"
[ "$(awk 'NF == 8 && $1 ~ /^[0-9]+$/ && $5 < 0.25' out | wc -l)" -eq 9 ] || fail "$last: nine states expected in $(cat out)"

# Fingerprinting needs Python for its dictionary (python.docs); here that it is a series, and what is refused.
expect 0 phantom -o mrf.h5 --matrix 16 --readouts 3 --repetitions 20 --coils 2 --signal fisp --truth-maps real.npy
grep -q '^wrote real_T1.npy: the truth of T1$' err || fail "$last: T1 expected"
expect 2 phantom -o g.h5 --signal water-fat
said "larmor: --signal water-fat: needs --echo-times MS,MS,MS, too."
expect 2 phantom -o g.h5 --r2star 40
said "larmor: --r2star: has no effect without --signal water-fat."
expect 2 phantom -o g.h5 --truth-bins heart:2
said "larmor: --truth-bins heart:2: bins of heart and breath of a --truth expected."
expect 2 phantom -o g.h5 --phantom disc --signal fisp --repetitions 3
said_like "^larmor: simulation: got signal 2 of disc, expected 0 to 2, of tissues"
[ ! -e g.h5 ] || fail "an output of a refused run"
