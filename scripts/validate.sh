#!/bin/sh
# The error of recon's images at the weight it chooses, --lambda auto, beside the best of a sweep, over trajectories,
# undersampling, noise, phantoms and maps. docs/validation.md has its results. SPDX-License-Identifier: Apache-2.0
set -eu
usage() {
    cat <<'TEXT'
usage: scripts/validate.sh [--quick] [--only REGEX] [--methods LIST] [--jobs N] [--seed S] FOLDER

Writes FOLDER/table.md, a row for each scene and method, and FOLDER/summary.md; prints the summary.
Scenes are named TRAJECTORY-R-NOISE-PHANTOM-MAPS, like spiral-2-heavy-texture-given. What is in FOLDER/rows already is
not done again.

  --quick         matrices of 64 and 24, few scenes, 2 weights a decade near the chosen one; otherwise 128 and 32, the
                  whole grid, 4 weights a decade over 6 decades
  --list          only name the scenes
  --only REGEX    of them only those whose names match
  --methods LIST  of cg, tv, wavelet, with blanks between (default: all)
  --jobs N        scenes at a time, with one thread each (default: 1)
  --seed S        of the noise (default: 1)
  --sweep FLAGS   for recon at the weights of the sweep, like "--iters 100 --tol 1e-3" (default: none, as the program
                  stops at a given lambda)
  --scene NAME    this scene alone, here and now

LARMOR names the program (default: build/cpu/apps/larmor).
TEXT
}
here=$(cd "$(dirname "$0")" && pwd)
LARMOR=${LARMOR:-$here/../build/cpu/apps/larmor}
quick=0 only=. methods='cg tv wavelet' jobs=1 seed=1 scene='' folder='' list=0 flags=
while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=1 ;;
    --list) list=1 ;;
    --only) only=$2 && shift ;;
    --methods) methods=$2 && shift ;;
    --jobs) jobs=$2 && shift ;;
    --seed) seed=$2 && shift ;;
    --sweep) flags=$2 && shift ;;
    --scene) scene=$2 && shift ;;
    -h | --help) usage && exit 0 ;;
    -*) usage >&2 && exit 2 ;;
    *) folder=$1 ;;
    esac
    shift
done
export OMP_WAIT_POLICY=passive

# ---- the scenes ----

scenes_quick() {
    for noise in none light heavy; do
        for where in golden-1 golden-4 radial-2 spiral-1 spiral-4 vds-2 cartesian-2 koosh-1 koosh-8 stars-4; do
            case $where in golden* | cartesian* | stars*) echo "$where-$noise-shepp-given" ;; esac
            case $where in golden* | radial* | spiral* | vds* | koosh*) echo "$where-$noise-texture-given" ;; esac
        done
    done
    for where in golden-2 spiral-2 cartesian-2 koosh-4; do
        for noise in light heavy; do echo "$where-$noise-texture-data"; done
    done
}

scenes_full() {
    for where in golden-1 golden-2 golden-4 radial-1 radial-2 radial-4 spiral-1 spiral-2 spiral-4 vds-1 vds-2 vds-4 \
        cartesian-1 cartesian-2 cartesian-4 koosh-1 koosh-2 koosh-4 koosh-8 stars-1 stars-2 stars-4 stars-8; do
        for noise in none light medium heavy; do
            for object in shepp texture; do
                for maps in given data; do echo "$where-$noise-$object-$maps"; done
            done
        done
    done
}

scenes() {
    if [ $quick -eq 1 ]; then scenes_quick; else scenes_full; fi | grep -E -- "$only"
}

# ---- one scene ----

# simulate TRAJECTORY R NOISE PHANTOM: scan.h5, truth.h5 and maps.cfl. Medium noise has a noise scan, the other levels
# are found from the data.
simulate() {
    plane=128 volume=32 slab=32,32,16
    if [ $quick -eq 1 ]; then plane=64 volume=24 slab=24,24,12; fi
    case $1 in
    vds) trajectory="spiral --density 2 --matrix $plane --undersampling $2" ;;
    cartesian) trajectory="cartesian --matrix $plane --acceleration $2 --calibration-lines 24" ;;
    koosh) trajectory="koosh --matrix $volume --undersampling $2" ;;
    stars) trajectory="stars --matrix $slab --undersampling $2" ;;
    *) trajectory="$1 --matrix $plane --undersampling $2" ;;
    esac
    case $3 in
    none) noise= ;;
    light) noise='--snr 50' ;;
    medium) noise='--snr 20 --noise-scan 4096' ;;
    heavy) noise='--snr 5' ;;
    esac
    case $4 in shepp) object=shepp-logan ;; *) object=$4 ;; esac
    # shellcheck disable=SC2086 # words are meant
    "$LARMOR" phantom -o scan.h5 --truth truth.h5 --maps maps.cfl --coils 8 --seed "$seed" --phantom $object \
        --traj $trajectory $noise -q --force
}

# recon METHOD LAMBDA FLAGS: the error of the image; with maps from the data magnitudes are compared.
recon() {
    # shellcheck disable=SC2086 # words are meant
    "$LARMOR" recon scan.h5 -o image.h5 -m "$1" --lambda "$2" $3 --maps "$maps" --threads 1 --json -q --force >report.json 2>log ||
        { cat log >&2 && echo "nan" && return; }
    # shellcheck disable=SC2086
    "$LARMOR" compare image.h5 truth.h5 $magnitude 2>/dev/null | cut -d' ' -f2
}

# The weights of the sweep beside the chosen one, nearest first on each side: sweep METHOD CHOSEN >"LAMBDA ERROR".
sweep() {
    reach=12 step=4
    if [ $quick -eq 1 ]; then reach=4 step=2; fi
    for side in 1 -1; do
        i=$side
        while [ "$i" -le $reach ] && [ "$i" -ge -$reach ]; do
            lambda=$(awk -v l="$2" -v i="$i" -v s=$step 'BEGIN { printf "%.6g", l * 10 ^ (i / s) }')
            echo "$lambda $(recon "$1" "$lambda" "$flags")"
            i=$((i + side))
        done
    done
}

# A row: scene, method, chosen weight, its error, the same inside the sampled part of k-space, best weight, its error.
one_scene() {
    name=$1
    mkdir -p "$folder/rows" "$folder/work/$name"
    cd "$folder/work/$name"
    IFS=- read -r trajectory factor noise object kind <<TEXT
$name
TEXT
    simulate "$trajectory" "$factor" "$noise" "$object"
    for method in $methods; do
        row=$folder/rows/$name-$method
        [ ! -s "$row" ] || continue
        maps=maps.cfl magnitude=
        if [ "$kind" = data ]; then
            "$LARMOR" recon scan.h5 -o image.h5 --save-maps own.cfl --lambda 1e-3 -q --force 2>log
            maps=own.cfl magnitude=--magnitude
        fi
        error=$(recon "$method" auto "")
        chosen=$(sed -n 's/^  "lambda": \([^,]*\),$/\1/p' report.json)
        case $name in koosh*) solid=3 ;; *) solid=2 ;; esac
        inside=$("$LARMOR" compare image.h5 truth.h5 --inside $solid $magnitude 2>/dev/null | cut -d' ' -f2)
        sweep "$method" "$chosen" >"sweep-$method"
        sort -g -k2 "sweep-$method" | grep -v nan | sed -n 1p |
            awk -v name="$name" -v m="$method" -v l="$chosen" -v e="$error" -v i="$inside" \
                '{ print name, m, l, e, i, $1, $2 }' >"$row.part"
        mv "$row.part" "$row"
    done
    rm -f scan.h5 image.h5 maps.* own.*
}

# ---- all of them ----

table() {
    echo "| scene | method | lambda | NRMSE | inside | best lambda | its NRMSE | ratio |"
    echo "|---|---|---|---|---|---|---|---|"
    awk '{ printf "| %s | %s | %.3g | %.4f | %.4f | %.3g | %.4f | %.3f |\n", $1, $2, $3, $4, $5, $6, $7, $4 / $7 }'
}

# Ratios below 1, where the sweep does not hit the chosen weight, count as 1.
summary() {
    echo "| method | scenes | geometric mean of the ratios | worst | above 1.15 | worst scene | without noise, R = 1, inside: worst in 2D | in 3D |"
    echo "|---|---|---|---|---|---|---|---|"
    awk -v methods="$methods" '
        function add(m, r, name) {
            n[m]++; sum[m] += log(r); if (r > 1.15) above[m]++
            if (r > worst[m]) { worst[m] = r; where[m] = name }
        }
        { r = $4 / $7; if (r < 1) r = 1; add($2, r, $1); add("all", r, $1 " " $2) }
        $1 ~ /-1-none-.*-given$/ { solid = $1 ~ /^(koosh|stars)/; for (i = 0; i < 2; i++) { m = i ? "all" : $2
            seen[m, solid] = 1; if ($5 > clean[m, solid]) clean[m, solid] = $5 } }
        END {
            count = split(methods " all", list, " ")
            for (i = 1; i <= count; i++) { m = list[i]; if (!n[m]) continue
                printf "| %s | %d | %.3f | %.3f | %d | %s |", m, n[m], exp(sum[m] / n[m]), worst[m], above[m], where[m]
                for (solid = 0; solid < 2; solid++) printf " %s |", seen[m, solid] ? sprintf("%.4f", clean[m, solid]) : "-"
                print "" } }'
}

if [ $list -eq 1 ]; then scenes && exit 0; fi
[ -n "$folder" ] || { usage >&2 && exit 2; }
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
if [ -n "$scene" ]; then one_scene "$scene" && exit 0; fi
if [ $quick -eq 1 ]; then set -- --quick; else set --; fi
export LARMOR
scenes | xargs -P "$jobs" -I '{}' sh "$here/validate.sh" "$@" --methods "$methods" --seed "$seed" --sweep "$flags" --scene '{}' "$folder"
cat "$folder"/rows/* | table >"$folder/table.md"
cat "$folder"/rows/* | summary >"$folder/summary.md"
cat "$folder/summary.md"
