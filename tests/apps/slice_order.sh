#!/bin/sh
# What one command writes of several slices the next one takes to the places that it is of, whatever order the slices are
# counted in: all that goes from a file of slices into an option. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
: "${MAKE_SCAN:?names the program that makes scans}"

expect 0 phantom -q -o plain.h5 --traj spiral --matrix 16 --readouts 3 --samples 160 --dwell 60 --coils 2 --slices 3 \
    --echo-times 2,4,7 --phantom tissues --t2star 12,9,7,15,25,10 --snr 100 --field-gradient 10,-5 --maps maps.npy
"$PYTHON" - <<'X'
import npy
moves = [4 * (z + 1) * (axis == 0) for axis in range(3) for z in range(3) for i in range(256)]
npy.save("moves.npy", (16, 16, 3, 3), moves)
X

# made FILE OPTION...: by recon from the scan of this order.
made() {
    file=$1
    shift
    reconstruct "$order.h5" -o "$order/$file" --lambda 1e-3 --maps maps.npy --method cg --iters 4 "$@"
}
# said_order FILE: the log names the counters of a file's slices where they are not 0, 1, 2.
said_order() {
    case $order in
    ascending) ! grep -q 'in the order of their places' err ;;
    shuffled) grep -q "^$1: its slices are in the order of their places, which have the slice counters 2, 0, 1\$" err ;;
    descending) grep -q "^$1: its slices are in the order of their places, which have the slice counters 2, 1, 0\$" err ;;
    esac || fail "$last: which slices $1 has"
}
begin() {
    order=$1
    "$MAKE_SCAN" "$order" plain.h5 "$order.h5" || fail "make_scan $order"
    mkdir "$order"
    expect 0 b0 "$order.h5" -o "$order/b0.npy" --rounds 1 --maps maps.npy
    said_order "$order/b0.npy"
    made by_b0.npy --contrast 0 --b0 "$order/b0.npy"
    said_order "$order/b0.npy"
}
# All other pairs of commands, by a format that says where images lie and one that does not.
play() {
    begin "$1"
    made image.h5 -o "$order/image.npy" --noise-map "$order/noise.h5" --noise-samples 2
    said_order "$order/image.npy"
    expect 0 compare "$order/image.h5" "$order/image.npy" --tol 1e-6
    expect 0 convert "$order/noise.h5" "$order/noise.cfl"
    for format in $2; do
        expect 0 fit "$order/image.h5" --model t2star -o "$order/map.$format" --threshold 0.6 --noise-map "$order/noise.$format"
        made by_T2star.npy --contrast 0 --t2star-map "$order/map_T2star.$format" --force
        made by_support.npy -o "$order/inside.$format" --contrast 0 --constraint "support:$order/map_M0.$format" --force
        expect 0 fit "$order/image.h5" --model t2star -o "$order/masked.npy" --mask "$order/inside.$format" --force
        compare_all
    done
    made by_moves.npy --contrast 0 --displacement moves.npy
}
compare_all() {
    [ "$order" = ascending ] || for file in "$order"/*.npy; do expect 0 compare "$file" "ascending/${file##*/}" --tol 0.02; done
}
play ascending cfl
play shuffled "cfl h5"
compare_all
begin descending
compare_all

# Two slices have no places among three.
"$PYTHON" -c 'import npy; npy.save("two.npy", (16, 16, 2), [0] * 512)'
expect 3 recon shuffled.h5 -o image.npy --b0 two.npy
said 'larmor: two.npy: 2 slices, expected 1 or 3, as the scan has.'
