#!/bin/sh
# larmor bench: its files and its mistakes; times are not judged. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

# A small case on one thread: the errors that the table and the JSON file tell are within the tolerance.
within() {
    if command -v python3 >/dev/null; then python3 -m json.tool "$1" >/dev/null || fail "$last: $1 is no JSON"; fi
    awk -v limit="$2" -v cases="$3" '$1 == "\"error\":" { seen += $2 + 0 > 0 && $2 + 0 <= limit }
        END { exit seen != cases }' "$1" || fail "$last: $3 errors up to $2 expected in $1"
}
small="--device cpu --threads 1 --repeats 1 --points 500"

for dims in 1 2 3; do
    # shellcheck disable=SC2086 # words are meant
    expect 0 bench nufft $small --type 1,2,3 --dims $dims --modes 12 --batch 2 --json $dims.json -o $dims.png
    within $dims.json 1e-5 3
    printed "^${dims}D 12[x12]* uniform M=500 x2 type 1 single 1e-05 "
    printed "^${dims}D 12[x12]* uniform M=500 x2 type 2 single 1e-05 "
    printed "^${dims}D 12[x12]* uniform M=500 x2 type 3 single 1e-05 "
    [ "$(head -c 4 $dims.png | tail -c 3)" = PNG ] || fail "$last: $dims.png is no PNG"
done
rm ./*.png ./*.json

for distribution in cluster radial spiral stars cones koosh; do
    case $distribution in radial | spiral | cluster) modes=12,10 ;; *) modes=8,8,6 ;; esac
    # shellcheck disable=SC2086
    expect 0 bench $small --modes $modes --distribution $distribution --precision double --tol 1e-11 --json a.json
    within a.json 1e-11 2
    rm a.json
done

# The precomputed forms; type 3 has none.
for form in none partial full; do
    # shellcheck disable=SC2086
    expect 0 bench $small --modes 20 --batch 3 --precompute $form --json a.json
    within a.json 1e-5 2
    printed "^2D 20x20 uniform M=500 x3 type 2 single 1e-05 precomputed $form "
    grep -q "\"precompute\": \"$form\"" a.json || fail "$last: the form is not in a.json"
    rm a.json
done
# shellcheck disable=SC2086
expect 2 bench $small --modes 20 --type 3 --precompute full
said_like 'nufft: precompute: got full with type 3, which has none; leave it 0$'

# Sets of cases, and what the other options leave of them.
expect 0 bench --device cpu --threads 1 --repeats 1 --matrix paper --scale 1e-5 --dims 2 --type 1 --precision double \
    --tol 1e-9 --json a.json
within a.json 1e-9 2
printed '^2D 1000x1000 uniform M=100 type 1 double 1e-09 '
printed '^2D 1000x1000 cluster M=100 type 1 double 1e-09 '
[ "$(grep -c ' type ' out)" -eq 2 ] || fail "$last: two cases expected"

rm a.json

# The other sets; each case of a sweep with the chosen factor and with fixed ones.
expect 0 bench --device cpu --threads 1 --repeats 1 --matrix cpu --scale 1e-4 --dims 1 --type 1,2 --points 1000000 \
    --json a.json
[ "$(grep -c '^1D 10000 uniform M=100 ' out)" -eq 8 ] || fail "$last: eight cases expected"
rm a.json
expect 0 bench --device cpu --threads 1 --repeats 1 --matrix gnufftw --scale 1e-3 --modes 62 --undersampling 16 \
    --distribution cones --tol 1e-2 --type 2 --upsample 1.25,2 --json a.jsonl -o a.png
[ "$(grep -c '^3D 62x62x62 cones M=15 type 2 single 1e-02' out)" -eq 3 ] || fail "$last: three cases expected"
printed '^3D 62x62x62 cones M=15 type 2 single 1e-02 at 1.25 '
printed '^against a fixed upsampling of 1.25: geometric mean .* 1 case$'
[ "$(head -c 4 a.png | tail -c 3)" = PNG ] || fail "$last: a.png is no PNG"
rm a.png a.jsonl

# Neighbours of a sweep share points, data and sums: each has the error that it has alone.
sweep="--device cpu --threads 1 --repeats 1 --matrix gnufftw --scale 5e-3 --undersampling 1 --modes 62 --upsample 1.25"
error_of() { awk -v label="$1" 'index($0, label " ") == 1 { print $NF }' "$2"; }
# shellcheck disable=SC2086
expect 0 bench $sweep --json a.jsonl
cp out swept
[ "$(grep -c '^3D .* type ' swept)" -eq 32 ] || fail "$last: 32 cases expected"
for case in 'koosh 1 1e-03' 'stars 1 1e-02' 'cones 2 1e-02' 'uniform 2 1e-03'; do
    # shellcheck disable=SC2086
    set -- $case
    # shellcheck disable=SC2086
    expect 0 bench $sweep --distribution $1 --type $2 --tol $3
    [ "$(grep -c '^3D .* type ' out)" -eq 2 ] || fail "$last: two cases expected"
    label=$(grep -o "^3D .* $1 .* type $2 single $3 at 1.25" out)
    alone=$(error_of "$label" out)
    [ -n "$alone" ] && [ "$alone" = "$(error_of "$label" swept)" ] || fail "$last: another error than in the sweep"
    awk -v error="$alone" -v tol=$3 'BEGIN { exit !(error > 0 && error <= tol) }' || fail "$last: error $alone"
done

# What the options leave of a file, as a page of its own.
expect 0 bench --report --json a.jsonl --distribution stars --tol 1e-3 -o a.png
grep '^3D .* stars .* 1e-03' swept >wanted
grep '^3D .* type ' out | cmp -s - wanted || fail "$last: the stars of the sweep expected"
expect 2 bench --report --json a.jsonl --distribution cluster
said 'larmor: a.jsonl: no case in it fits the other options'
rm a.jsonl a.png swept wanted

# A file of lines grows by what it has not; its cases are not run again and can be reported alone.
# shellcheck disable=SC2086
expect 0 bench $small --modes 8 --type 1 --json a.jsonl
cp a.jsonl before.jsonl
# shellcheck disable=SC2086
expect 0 bench $small --modes 8 --json a.jsonl
[ "$(grep -c ' type ' out)" -eq 2 ] || fail "$last: two cases expected"
[ "$(wc -l <a.jsonl)" -eq 2 ] || fail "$last: two lines expected"
head -n 1 a.jsonl | cmp -s - before.jsonl || fail "$last: the first line was changed"
while read -r line; do printf '%s\n' "$line" >one.json && within one.json 1e-5 0; done <a.jsonl
cp out ran
printf 'damaged\n' >>a.jsonl
expect 0 bench --report --json a.jsonl -o a.png
said 'a.jsonl: line 3 is no case and is left out'
grep ' type ' out >reported
grep ' type ' ran | cmp -s - reported || fail "$last: other numbers than were printed when it ran"
rm a.jsonl a.png before.jsonl one.json ran reported

# An existing file stays, unless --force is given.
echo mine >b.json
# shellcheck disable=SC2086
expect 1 bench $small --modes 8 --json b.json
said 'larmor: b.json: exists; give --force to replace it.'
[ "$(cat b.json)" = mine ] || fail "$last: b.json was changed"
# shellcheck disable=SC2086
expect 0 bench $small --modes 8 --json b.json --force
within b.json 1e-5 2
rm b.json

# A case that cannot be is told, and leaves no files.
# shellcheck disable=SC2086
expect 1 bench $small --modes 8 --tol 1e-12 --json a.json -o a.png
said_like '^larmor: .*1e-12'
only

# The planner's efforts beside each other: one of its cases, small.
small="--device cpu --threads 1 --repeats 1 --scale 0.002"
# shellcheck disable=SC2086
expect 0 bench planner $small --dims 1 --type 2 --precision double --json a.json -o a.png
[ "$(grep -c '^1D 100 ' out)" -eq 1 ] || fail "$last: one case expected"
printed '^measure / exhaustive .* over 1 case$'
if command -v python3 >/dev/null; then python3 -m json.tool a.json >/dev/null || fail "$last: a.json is no JSON"; fi
for ratio in estimate_over_exhaustive measure_over_exhaustive 1.25_over_measure 2_over_measure; do
    awk -v key="\"$ratio\":" '$1 == key { found = $2 + 0 > 0 } END { exit !found }' a.json ||
        fail "$last: no $ratio in a.json"
done
[ "$(head -c 4 a.png | tail -c 3)" = PNG ] || fail "$last: a.png is no PNG"
rm a.json a.png
# shellcheck disable=SC2086
expect 2 bench planner $small --tol 1e-8
said_like '^larmor: bench: no case of planner fits the other options$'

expect 2 bench fft
said 'larmor: bench: "fft" is nothing to measure; expected nufft or planner.'
expect 2 bench --matrix paper --points 10
said_like '^larmor: bench: no case of --matrix paper fits the other options$'
expect 2 bench --matrix paper --distribution radial
said 'larmor: bench: no case of --matrix paper fits the other options'
expect 2 bench --dims 3 --modes 8,8
said 'larmor: bench: --dims 3, but --modes has 2 numbers'
expect 2 bench --dims 2,3
said 'larmor: bench: more than one --dims is for --matrix'
expect 2 bench --undersampling 4
said 'larmor: bench: --undersampling is for --matrix gnufftw.'
expect 2 bench --report --json a.json
said 'larmor: bench: --report needs --json with a name ending in .jsonl.'
expect 3 bench --report --json none.jsonl
said 'larmor: none.jsonl: no case is in it'
expect 2 bench --device cpu --distribution stars
said 'larmor: --distribution stars: got 2 dimensions, expected 3'
expect 2 bench --peer cufinufft
said 'larmor: bench: --peer and --peer-library belong together.'
expect 2 bench --device cpu --peer cufinufft --peer-library ./none.so
said_like '^larmor: --peer cufinufft: got device cpu:[0-9]+, expected a CUDA device$'
expect 4 bench --device cpu --peer finufft --peer-library ./none.so
said_like '^larmor: --peer-library: '
expect 2 bench -o a.nii
said 'larmor: a.nii: expected a name ending in .png.'
expect 1 bench --json missing/a.json
said_like '^larmor: missing/a.json: cannot be made: '
only
