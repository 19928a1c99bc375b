#!/bin/sh
# BART ecalib and larmor maps on the same calibration data, in 2D and 3D: how far the maps' directions are apart, and how
# good BART's own reconstruction of undersampled lines is with either. Needs bart 0.8.
# Usage: tests/bench/ecalib_compare.sh LARMOR [FOLDER]   (FOLDER keeps the files). SPDX-License-Identifier: Apache-2.0
set -eu
. "$(dirname "$0")/folder.sh"

seconds() {
    began=$(date +%s.%N)
    "$@" >/dev/null 2>&1
    echo "$began $(date +%s.%N)" | awk '{ printf "%.1f", $2 - $1 }'
}

# BART's k-space [N, N(, N), coils] as a scan of readouts along x on the grid, of every R-th line and 24 in the middle;
# under.cfl has zeros for the others.
make_scan() { # N DIMENSIONS COILS R KSPACE SCAN
    python3 - "$1" "$2" "$3" "$4" "$5" <<'PYTHON'
import struct, sys
n, nd, coils, R = map(int, sys.argv[1:5])
data = open(sys.argv[5] + ".cfl", "rb").read()
line = 8 * n
lines = [(y, z) for z in range(n if nd > 2 else 1) for y in range(n)]
kept = [i for i, (y, z) in enumerate(lines) if (y - n // 2) % R == 0 or -12 <= y - n // 2 < 12]
chosen = set(kept)
with open("traj.cfl", "wb") as f:
    for i in kept:
        y, z = lines[i]
        at = (y - n // 2, z - n // 2 if nd > 2 else 0)
        f.write(b"".join(struct.pack("<ffffff", x - n // 2, 0, at[0], 0, at[1], 0) for x in range(n)))
open("traj.hdr", "w").write(f"# Dimensions\n3 {n} {len(kept)}\n")
with open("readouts.cfl", "wb") as f, open("under.cfl", "wb") as u:
    for c in range(coils):
        for i in range(len(lines)):
            at = line * (i + len(lines) * c)
            if i in chosen: f.write(data[at:at + line])
            u.write(data[at:at + line] if i in chosen else bytes(line))
open("readouts.hdr", "w").write(f"# Dimensions\n1 {n} {len(kept)} {coils}\n")
open("under.hdr", "w").write(f"# Dimensions\n{n} {n} {n if nd > 2 else 1} {coils}\n")
PYTHON
    "$larmor" convert --traj traj.cfl --kspace readouts.cfl --matrix "$1" -o "$6" --force -q
}

# projection MASK A B: |b - a (a^H b)| / |b| over the mask, a and b of unit norm there.
projection() {
    bart fmac "$3" "$1" b
    bart fmac -C -s 8 b "$2" along
    bart fmac "$2" along projected
    bart nrmse b projected | tail -1
}

echo "| | rows of the windows' matrix | BART ecalib s | larmor maps s | projection error in the object | in BART's mask |"
echo "|---|---|---|---|---|---|"
for case in "2 128 8 0" "2 128 8 20" "2 96 8 50" "3 40 4 0" "3 40 8 20"; do
    # shellcheck disable=SC2086 # words are meant
    set -- $case
    solid=$([ "$1" = 3 ] && echo -3 || true)
    # shellcheck disable=SC2086
    bart phantom $solid -x "$2" -k -s "$3" clean
    # shellcheck disable=SC2086
    bart phantom $solid -x "$2" image
    bart noise -s 7 -n "$4" clean kspace
    make_scan "$2" "$1" "$3" 1 kspace scan.h5
    bart_time=$(OMP_NUM_THREADS=1 seconds bart ecalib -m1 -r 24 kspace bart_maps)
    larmor_time=$(seconds "$larmor" maps scan.h5 -o larmor_maps.cfl --method espirit --map-sets 1 --calibration 24 \
        --crop none --force -q --threads 1)
    bart rss 8 bart_maps size
    bart threshold -B 0.5 size inside
    bart scale 1 image object_image
    bart threshold -B 0.05 object_image object
    bart fmac inside object both
    echo "| ${1}D, ${2} voxels a side, ${3} coils, noise ${4} | $(($3 * ($1 > 2 ? 216 : 36))) | $bart_time | $larmor_time | $(projection both larmor_maps bart_maps) | $(projection inside larmor_maps bart_maps) |"
done

# Every R-th line and 24 lines in the middle; the same reconstruction by BART with either maps, and larmor's own. Errors are
# those of magnitudes, against the coils' root sum of squares without noise.
echo
echo "| R | bart pics, ecalib's maps | bart pics, larmor's maps | larmor recon --maps espirit | larmor recon |"
echo "|---|---|---|---|---|"
bart phantom -x 128 -k -s 8 clean
bart fft -u -i 3 clean coils
bart rss 8 coils truth
error() {
    "$larmor" compare "$1.cfl" truth.cfl --magnitude -q | cut -d' ' -f2
}
for R in 2 3 4; do
    bart noise -s 5 -n 20 clean kspace
    make_scan 128 2 8 $R kspace lines.h5
    OMP_NUM_THREADS=1 bart ecalib -m1 -r 24 under bart_maps >/dev/null
    "$larmor" maps lines.h5 -o larmor_maps.cfl --method espirit --map-sets 1 --crop hard --force -q
    for maps in bart larmor; do
        bart pics -d0 -S -l2 -r 0.001 -i 50 under ${maps}_maps ${maps}_image >/dev/null
    done
    for maps in espirit auto; do
        "$larmor" recon lines.h5 -o own_$maps.cfl --maps $maps --force -q
    done
    echo "| $R | $(error bart_image) | $(error larmor_image) | $(error own_espirit) | $(error own_auto) |"
done
