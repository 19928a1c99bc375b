#!/bin/sh
# larmor-bench: its files and its mistakes; times are not judged. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

# Each line is JSON; all together have so many errors of larmor's, up to a limit.
within() {
    python3 - "$@" <<'END' || fail "$last: $3 errors up to $2 expected in $1"
import json, sys
errors = [json.loads(line)["larmor"]["error"] for line in open(sys.argv[1])]
sys.exit(not (len(errors) == int(sys.argv[3]) and all(0 < e <= float(sys.argv[2]) for e in errors)))
END
}
expect 0 --help
printed '^  nufft '
printed '^  planner '
printed '^  normal '
printed '^  scaling '
expect 0 planner --help
printed '^usage: larmor-bench planner \[options\]$'

small="--device cpu --threads 1 --repeats 1 --points 500"

for dims in 1 2 3; do
    # shellcheck disable=SC2086 # words are meant
    expect 0 nufft $small --type 1,2,3 --dims $dims --modes 12 --batch 2 --json $dims.json
    within $dims.json 1e-5 3
    printed "^${dims}D 12[x12]* uniform M=500 x2 type 1 single 1e-05 "
    printed "^${dims}D 12[x12]* uniform M=500 x2 type 2 single 1e-05 "
    printed "^${dims}D 12[x12]* uniform M=500 x2 type 3 single 1e-05 "
done
rm ./*.json

# A decade to both sides of the tolerance, in half decades, as far as the precision goes.
# shellcheck disable=SC2086
expect 0 nufft $small --type 2 --modes 12 --tol 1e-3 --equal-error
for tol in 1e-02 3e-03 1e-03 3e-04 1e-04; do printed "^2D 12x12 uniform M=500 type 2 single $tol "; done
[ "$(grep -c '^2D 12x12' out)" -eq 5 ] || fail "$last: five tolerances expected"
# shellcheck disable=SC2086
expect 0 nufft $small --type 2 --modes 12 --tol 1e-6 --equal-error
[ "$(grep -c '^2D 12x12' out)" -eq 3 ] || fail "$last: three tolerances within single precision expected"

for distribution in cluster radial spiral stars cones koosh; do
    case $distribution in radial | spiral | cluster) modes=12,10 ;; *) modes=8,8,6 ;; esac
    # shellcheck disable=SC2086
    expect 0 nufft $small --modes $modes --distribution $distribution --precision double --tol 1e-11 --json a.json
    within a.json 1e-11 2
    rm a.json
done

# The precomputed forms; type 3 has none.
for form in none partial full; do
    # shellcheck disable=SC2086
    expect 0 nufft $small --modes 20 --batch 3 --precompute $form --json a.json
    within a.json 1e-5 2
    printed "^2D 20x20 uniform M=500 x3 type 2 single 1e-05 precomputed $form "
    grep -q "\"precompute\": \"$form\"" a.json || fail "$last: the form is not in a.json"
    rm a.json
done
# shellcheck disable=SC2086
expect 2 nufft $small --modes 20 --type 3 --precompute full
said_like '^larmor-bench: nufft: precompute: got full with type 3, which has none; leave it 0$'

# Sets of cases, and what the other options leave of them.
expect 0 nufft --device cpu --threads 1 --repeats 1 --matrix paper --scale 1e-5 --dims 2 --type 1 --precision double \
    --tol 1e-9 --json a.json
within a.json 1e-9 2
printed '^2D 1000x1000 uniform M=100 type 1 double 1e-09 '
printed '^2D 1000x1000 cluster M=100 type 1 double 1e-09 '
[ "$(grep -c ' type ' out)" -eq 2 ] || fail "$last: two cases expected"

rm a.json

# The other sets; each case of a sweep with the chosen factor and with fixed ones.
expect 0 nufft --device cpu --threads 1 --repeats 1 --matrix cpu --scale 1e-4 --dims 1 --type 1,2 --points 1000000 \
    --json a.json
[ "$(grep -c '^1D 10000 uniform M=100 ' out)" -eq 8 ] || fail "$last: eight cases expected"
rm a.json
expect 0 nufft --device cpu --threads 1 --repeats 1 --matrix gnufftw --scale 1e-3 --modes 62 --undersampling 16 \
    --distribution cones --tol 1e-2 --type 2 --upsample 1.25,2
[ "$(grep -c '^3D 62x62x62 cones M=15 type 2 single 1e-02' out)" -eq 3 ] || fail "$last: three cases expected"
printed '^3D 62x62x62 cones M=15 type 2 single 1e-02 at 1.25 '

# Neighbours of a sweep share points, data and sums: each has the error that it has alone.
sweep="--device cpu --threads 1 --repeats 1 --matrix gnufftw --scale 1e-3 --undersampling 1 --modes 62 --upsample 1.25"
error_of() { awk -v label="$1" 'index($0, label " ") == 1 { print $NF }' "$2"; }
# shellcheck disable=SC2086
expect 0 nufft $sweep
cp out swept
[ "$(grep -c '^3D .* type ' swept)" -eq 32 ] || fail "$last: 32 cases expected"
for case in 'koosh 1 1e-03' 'stars 1 1e-02' 'cones 2 1e-02' 'uniform 2 1e-03'; do
    # shellcheck disable=SC2086
    set -- $case
    # shellcheck disable=SC2086
    expect 0 nufft $sweep --distribution $1 --type $2 --tol $3
    [ "$(grep -c '^3D .* type ' out)" -eq 2 ] || fail "$last: two cases expected"
    label=$(grep -o "^3D .* $1 .* type $2 single $3 at 1.25" out)
    alone=$(error_of "$label" out)
    [ -n "$alone" ] && [ "$alone" = "$(error_of "$label" swept)" ] || fail "$last: another error than in the sweep"
    awk -v error="$alone" -v tol=$3 'BEGIN { exit !(error > 0 && error <= tol) }' || fail "$last: error $alone"
done

rm swept

# A file grows by what it has not; what it has is not run again.
# shellcheck disable=SC2086
expect 0 nufft $small --modes 8 --type 1 --json a.jsonl
cp a.jsonl before.jsonl
# shellcheck disable=SC2086
expect 0 nufft $small --modes 8 --json a.jsonl
said 'a.jsonl: had 1 of 2 cases already'
[ "$(grep -c ' type ' out)" -eq 1 ] || fail "$last: one case expected"
head -n 1 a.jsonl | cmp -s - before.jsonl || fail "$last: the first line was changed"
within a.jsonl 1e-5 2

# A file with other lines is left alone, one that ends in the middle of a line too.
head -c -9 before.jsonl >cut.jsonl
echo mine >>a.jsonl
for line in 3:a.jsonl 1:cut.jsonl; do
    cp "${line#*:}" copy
    # shellcheck disable=SC2086
    expect 3 nufft $small --modes 8 --json "${line#*:}"
    said "larmor-bench: ${line#*:}: line ${line%:*} is no result of larmor-bench; give another name"
    cmp -s copy "${line#*:}" || fail "$last: the file was changed"
done
rm a.jsonl before.jsonl cut.jsonl copy

# A case that is impossible is reported, and leaves no files.
# shellcheck disable=SC2086
expect 1 nufft $small --modes 8 --tol 1e-12 --json a.json
said_like '^larmor-bench: .*1e-12'
only

# Sizes whose product no 63 bits hold.
for huge in '--dims 3 --modes 268435456' '--dims 3 --modes 1048576 --distribution koosh' \
    '--modes 8 --points 1099511627776 --scale 1000 --batch 65536'; do
    # shellcheck disable=SC2086
    expect 2 nufft $huge --device cpu
    said_like '^larmor-bench: --modes .*: more bytes than 63 bits count; give less$'
done

# The planner's efforts beside each other: one of its cases, small.
small="--device cpu --threads 1 --repeats 1 --scale 0.002"
# shellcheck disable=SC2086
expect 0 planner $small --dims 1 --type 2 --precision double --json a.jsonl
[ "$(grep -c '^planner 1D 100 ' out)" -eq 1 ] || fail "$last: one case expected"
python3 - <<'END' || fail "$last: seconds of every effort expected in a.jsonl"
import json
(case,) = [json.loads(line) for line in open("a.jsonl")]
assert all(case[effort]["seconds"] > 0 for effort in ("estimate", "measure", "exhaustive"))
assert len(case["fixed_seconds"]) == len(case["factors"]) == 8
END
cp a.jsonl before.jsonl
# shellcheck disable=SC2086
expect 0 planner $small --dims 1 --type 2 --precision double --json a.jsonl
cmp -s a.jsonl before.jsonl || fail "$last: the file was changed"
rm a.jsonl before.jsonl
# shellcheck disable=SC2086
expect 2 planner $small --tol 1e-8
said 'larmor-bench: planner: no case fits the options'

# The normal map both ways: what they differ by is within the tolerance.
for size in "--modes 24 --coils 3" "--modes 12,10,8 --coils 2 --precision double --tol 1e-9"; do
    # shellcheck disable=SC2086 # words are meant
    expect 0 normal --device cpu --threads 1 --repeats 1 $size --json n.json
    printed '^normal [23]D .*: Toeplitz [0-9.]* ms, NUFFTs [0-9.]* ms, difference .*; a step of conjugate gradients '
    python3 - n.json "$size" <<'END' || fail "$last: both maps were expected to agree"
import json, sys
line = json.loads(open(sys.argv[1]).readlines()[-1])
limit = 1e-9 if "double" in sys.argv[2] else 1e-5
sys.exit(not (0 < line["difference"] < limit and line["toeplitz_seconds"] > 0 and line["nufft_seconds"] > 0))
END
done
# shellcheck disable=SC2086
expect 0 normal --device cpu --threads 1 --repeats 1 --modes 24 --coils 3 --json n.json
said 'n.json: had this case already'
rm n.json

# Scaling: a line for each number of devices, of weak scaling for both types.
for what in weak frames slices coils; do
    expect 0 scaling --what $what --device cpu:1,1 --modes 12 --points 300 --coils 2 --images 3 --iters 2 --repeats 1 --json s.json
    python3 - s.json $what <<'END' || fail "$last: JSON with the gains expected"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
weak = sys.argv[2] == "weak"
sys.exit(not ([line["devices"] for line in lines] == ([1, 2, 1, 2] if weak else [1, 2]) and
              all(line["scaling"] == sys.argv[2] and line["seconds"] > 0 and
                  abs(line["gain"] * line["seconds"] / line["seconds_of_one"] / (line["devices"] if weak else 1) - 1)
                  < 1e-6 for line in lines)))
END
    rm s.json
done
expect 2 scaling --what slabs --device cpu:1
said 'larmor-bench: --what slabs: is for processes; start it by mpirun -n 2 or more.'

expect 2 fft
said "larmor-bench: unknown command \"fft\", did you mean nufft; 'larmor-bench --help' lists them."
expect 2 nufft --matrix paper --points 10
said 'larmor-bench: --matrix paper: no case of it fits the other options'
expect 2 nufft --matrix paper --distribution radial
said 'larmor-bench: --matrix paper: no case of it fits the other options'
expect 2 nufft --dims 3 --modes 8,8
said 'larmor-bench: --dims 3, but --modes has 2 numbers'
expect 2 nufft --dims 2,3
said 'larmor-bench: more than one --dims is for --matrix'
expect 2 nufft --undersampling 4
said 'larmor-bench: nufft: --undersampling is for --matrix gnufftw.'
expect 2 nufft --device cpu --distribution stars
said 'larmor-bench: --distribution stars: got 2 dimensions, expected 3'
expect 2 nufft --peer-library ./none.so
said 'larmor-bench: nufft: --peer-library needs --peer.'
expect 2 nufft --device cpu --peer cufinufft
said_like '^larmor-bench: --peer cufinufft: got device cpu:[0-9]+, expected a CUDA device$'
expect 4 nufft --device cpu --peer finufft --peer-library ./none.so
said_like '^larmor-bench: (--peer-library: ./none.so|--peer finufft: finufft.h was not there)'
expect 1 nufft --device cpu --json missing/a.json
said_like '^larmor-bench: missing/a.json: cannot be written: '
only
