#!/bin/sh
# How far images of virtual coils are from those of all coils: NRMSE of magnitudes, and the time of both, over coils,
# trajectories, undersampling and noise, for several parts of the signal's energy; with maps from the data and true maps.
# Usage: tests/bench/compression.sh LARMOR [ENERGY ...]. SPDX-License-Identifier: Apache-2.0
set -eu
larmor=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- 0.99 0.995 0.999
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

apart() {
    "$larmor" compare "$1" "$2" -q --magnitude | cut -d' ' -f2
}
header="| scene | coils | SNR |"
rule="|---|---|---|"
for energy in "$@"; do
    header="$header virtual at $energy | own maps | true maps |"
    rule="$rule---|---|---|"
done
echo "$header"
echo "$rule"
for scene in "golden 128 1" "golden 128 2" "golden 128 4" "spiral 128 2" "cartesian 128 2" "koosh 32,32,32 2" "stars 32,32,16 3"; do
    # shellcheck disable=SC2086 # words are meant
    set -- $scene "$@"
    trajectory=$1 matrix=$2 undersampling=$3
    shift 3
    for coils in 16 32; do
        for snr in 5 50 none; do
            noise="--snr $snr"
            [ $snr != none ] || noise="--noise 0"
            # shellcheck disable=SC2086
            "$larmor" phantom -o scan.h5 --traj "$trajectory" --matrix "$matrix" --undersampling "$undersampling" \
                --coils $coils --phantom texture $noise --maps maps.cfl --force -q
            "$larmor" recon scan.h5 -o own.cfl --compress off --force -q 2>/dev/null
            "$larmor" recon scan.h5 -o true.cfl --compress off --maps maps.cfl --force -q 2>/dev/null
            line="| $trajectory $matrix, R = $undersampling | $coils | $snr |"
            for energy in "$@"; do
                "$larmor" recon scan.h5 -o own_less.cfl --compress "$energy" --force 2>log >/dev/null
                "$larmor" recon scan.h5 -o true_less.cfl --compress "$energy" --maps maps.cfl --force -q 2>/dev/null
                virtual=$(sed -n 's/.*compressed to \([0-9]*\) virtual.*/\1/p' log)
                line="$line ${virtual:-$coils} | $(apart own_less.cfl own.cfl) | $(apart true_less.cfl true.cfl) |"
            done
            echo "$line"
        done
    done
done
