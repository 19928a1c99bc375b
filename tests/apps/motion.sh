#!/bin/sh
# larmor phantom --motion and larmor recon --motion: images of an object that moves between readouts are as near to the
# truth as those of one that rests, where its poses are given. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

# rows READOUTS STATES by blocks or in turn: a pose for each readout, that of state 0 at rest
rows() {
    awk -v n="$1" -v m="$2" -v turn="$3" 'BEGIN {
        for (j = 0; j < n; j++) {
            s = turn == "turn" ? j % m : int(j * m / n)
            printf "%g %g %g %g %g %g\n", 7 * sin(2 * s), 8 * sin(3 * s), 5 * sin(5 * s), 8 * sin(1.3 * s),
                8 * sin(2.2 * s), 9 * sin(1.7 * s)
        } }'
}

# With a limit of memory no other descriptions of the scan are tried.
recon_options="--lambda 2e-3 --memory 1G --delays off"

# scene NAME SNR STATES WORSE OPTION...: poses.txt is there. WORSE: what motion costs at least that is not corrected.
scene() {
    name="$1 at an SNR of $2"
    snr=$2 states=$3 worse=$4
    shift 4
    expect 0 phantom -q --force -o still.h5 --truth truth.h5 --maps maps.cfl --snr "$snr" "$@"
    expect 0 phantom -q --force -o moved.h5 --snr "$snr" --motion poses.txt "$@"
    best=$(nrmse still.h5)
    blurred=$(nrmse moved.h5)
    corrected=$(nrmse moved.h5 --motion poses.txt)
    grep -q "^motion: up to [0-9.]* mm and [0-9.]* degrees; coil maps of $states states, within " log ||
        fail "$name: $(cat log)"
    at_least "$blurred" "$best" "$worse" "$name, not corrected"
    at_most "$corrected" "$best" 1.1 "$name, corrected"
}
rows 110 6 blocks >poses.txt
scene "spokes" 30 6 2.5 --traj golden --matrix 64 --readouts 110 --coils 3
in_all scene "spokes" 10 6 1.5 --traj golden --matrix 64 --readouts 110 --coils 3 --seed 5
rows 24 3 turn >poses.txt
in_all scene "spiral arms" 30 3 2.5 --traj spiral --matrix 64 --readouts 24 --coils 3
scene "spiral arms" 10 3 1.5 --traj spiral --matrix 48 --readouts 24 --coils 3 --seed 7
rows 500 2 blocks >poses.txt
in_all scene "spokes in space" 30 2 1.3 --traj koosh --matrix 16 --readouts 500 --coils 3 --phantom texture
rows 500 4 blocks >poses.txt
in_all scene "spokes in space" 10 4 1.1 --traj koosh --matrix 16 --readouts 500 --coils 3 --seed 3 --phantom texture
# Turned lines leave gaps between them, which coils fill.
awk 'BEGIN { for (j = 0; j < 64; j++) { s = int(j / 22); print 5 * s, -4 * s, 0, 0, 0, 3 * s * (s - 1.5) } }' >poses.txt
scene "lines" 30 3 2 --traj cartesian --matrix 64 --coils 4

# A penalty, one coil, and poses of which none is like another.
awk 'BEGIN { for (j = 0; j < 84; j++) print 8 * sin(j / 20), j / 20, 0, 0, 0, 12 * sin(j / 30) }' >poses.txt
spokes="--traj golden --matrix 48 --readouts 84"
# shellcheck disable=SC2086
expect 0 phantom -q --force -o still.h5 --truth truth.h5 --maps maps.cfl --snr 30 --coils 3 $spokes
# shellcheck disable=SC2086
expect 0 phantom -q --force -o moved.h5 --snr 30 --coils 3 --motion poses.txt $spokes
method=tv
at_most "$(nrmse moved.h5 --motion poses.txt)" "$(nrmse still.h5)" 1.1 "a smooth motion, by tv"
method=cg maps=auto
# shellcheck disable=SC2086
expect 0 phantom -q --force -o still.h5 --truth truth.h5 --snr 30 --coils 1 $spokes
# shellcheck disable=SC2086
expect 0 phantom -q --force -o moved.h5 --snr 30 --coils 1 --motion poses.txt $spokes
best=$(nrmse still.h5)
at_most "$(nrmse moved.h5 --motion poses.txt)" "$best" 1.2 "one coil"
grep -q '^motion: up to [0-9.]* mm and [0-9.]* degrees$' log || fail "one coil: $(cat log)"

# Maps from the data lie still with the coils: the object is turned back between them.
# shellcheck disable=SC2086
expect 0 phantom -q --force -o still.h5 --snr 30 --coils 3 $spokes
# shellcheck disable=SC2086
expect 0 phantom -q --force -o moved.h5 --snr 30 --coils 3 --motion poses.txt $spokes
reconstruct still.h5 -o truth.h5 --force --method cg --lambda 2e-3
far=$(nrmse moved.h5)
at_most "$(nrmse moved.h5 --motion poses.txt)" "$far" 0.5 "maps from the data"

# Poses that are found make as good an image as those that are given; a scan at rest has none, and its image is the same.
found() {
    name=$1 states=$2
    shift 2
    expect 0 phantom -q --force -o still.h5 --truth truth.h5 --maps maps.cfl "$@"
    expect 0 phantom -q --force -o moved.h5 --motion given.txt "$@"
    given=$(nrmse moved.h5 --motion given.txt)
    at_most "$(nrmse moved.h5 --motion-states "$states")" "$given" 1.03 "$name, found"
    grep -q "^motion: found in $states groups of readouts, .* standard errors)$" log || fail "$name: $(cat log)"
    at_least "$(nrmse moved.h5)" "$given" "$worse" "$name, not corrected"
    nrmse still.h5 >/dev/null
    mv image.h5 rest.h5
    nrmse still.h5 --motion-states "$states" >/dev/null
    grep -q "^motion: none in $states groups of readouts: " log || fail "$name, at rest: $(cat log)"
    expect 0 compare image.h5 rest.h5 --tol 0
}
maps=maps.cfl worse=2
printf '%s\n' 0,0,0,0,0,0,0 28,4,-3,0,0,0,5 55,-3,6,0,0,0,-8 83,7,2,0,0,0,10 >given.txt
in_all found "spokes" 4 --traj golden --matrix 64 --readouts 110 --coils 3 --snr 30
# Of 24 arms four are held out, whose coils count by themselves; arms in order leave gaps, so that poses are not exact.
printf '%s\n' 0,0,0,0,0,0,0 12,8,-3,0,0,0,3 >arms.txt
arms="--traj spiral --matrix 48 --readouts 24 --coils 6 --snr 30 --phantom texture --seed 3"
# shellcheck disable=SC2086
expect 0 phantom -q --force -o moved.h5 --truth truth.h5 --maps maps.cfl --motion arms.txt $arms
at_most "$(nrmse moved.h5 --motion-states 2)" "$(nrmse moved.h5)" 0.5 "24 arms, found"
# shellcheck disable=SC2086
expect 0 phantom -q --force -o still.h5 $arms
nrmse still.h5 --motion-states 2 >/dev/null
grep -q "^motion: none in 2 groups of readouts: " log || fail "24 arms, at rest: $(cat log)"
# Most of what eight held-out readouts tell is of one group.
printf '%s\n' 0,0,0,0,0,0,0 12,2,1,0,0,0,5 24,4,0,0,0,0,2 36,-11,9,0,0,0,8 >given.txt
in_all found "few spokes" 4 --traj golden --matrix 32 --readouts 48 --coils 4 --snr 300 --phantom texture
printf '%s\n' 0,0,0,0,0,0,0 21,4,-3,0,0,0,5 42,-3,6,0,0,0,-8 63,7,2,0,0,0,10 >given.txt
found "spokes with noise" 4 --traj golden --matrix 48 --readouts 84 --coils 3 --snr 10 --seed 4
worse=1.1
printf '%s\n' 0,0,0,0,0,0,0 250,9,-7,8,4,-6,7 >given.txt
in_all found "spokes in space" 2 --traj koosh --matrix 16 --readouts 500 --coils 3 --snr 30
spokes="--traj golden --matrix 24 --readouts 110"
# shellcheck disable=SC2086
expect 0 phantom -q --force -o still.h5 --snr 30 --coils 3 $spokes

# A file of names, comments and the readouts from which on poses hold says the same as one row for each readout; poses
# of zeros are none.
printf 'readout,x,y,z,rx,ry,rz\n0,0,0,0,0,0,0 # at rest\n\n55,4,-3,0,0,0,10\n' >short.csv
awk 'BEGIN { for (j = 0; j < 110; j++) print j < 55 ? "0 0 0 0 0 0" : "4\t-3\t0 0 0 10" }' >long.txt
for file in short.csv long.txt; do
    reconstruct still.h5 -o "$file.npy" --force --motion "$file" --method cg --lambda 1e-3
done
cmp short.csv.npy long.txt.npy || fail "one pose is another by two files"
# A pose that begins after the last readout is none, which is said.
printf '0,0,0,0,0,0,0\n55,4,-3,0,0,0,10\n110,9,9,0,0,0,20\n' >late.csv
reconstruct still.h5 -o late.npy --motion late.csv --method cg --lambda 1e-3
grep -q 'motion: 1 of 3 poses are left out, as they begin at readout 110 or later, and images have 110 readouts at most' err ||
    fail "$last: $(cat err)"
cmp late.npy short.csv.npy || fail "a pose after the last readout changes the image"
echo 0 0 0 0 0 0 >rest.txt
reconstruct still.h5 -o rest.npy --motion rest.txt --method cg --lambda 1e-3 --json
grep -q '"motion_states": 1' out || fail "$last: $(cat out)"
reconstruct still.h5 -o plain.npy --method cg --lambda 1e-3
cmp rest.npy plain.npy || fail "an object at rest is another by a file"

# says PATTERN: the last line.
says() { tail -n 1 err | grep -qE -- "^$1" || fail "$last: expected at the end: $1"; }

# What makes no sense is refused in a line, without an image.
rm -f image.h5
refused() {
    text=$1
    shift
    expect "$@"
    said "$text"
    [ ! -e image.h5 ] || fail "$last: an image was written"
}
printf '1 2 3\n' >bad.txt
refused 'larmor: --motion bad.txt: line 1: 6 numbers expected, shifts in mm and rotations in degrees, or 7 with the readout from which on they hold first; as many in each line.' \
    3 recon still.h5 -o image.h5 --motion bad.txt
printf '1 2 3 4 5 6\n1 2 3 4 5 6\n' >bad.txt
expect 3 recon still.h5 -o image.h5 --motion bad.txt
says 'larmor: motion: the array is .*, expected real \[110, 6\], one row for each readout, or \[rows, 7\]'
printf '1 0 0 0 0 0 0\n' >bad.txt
expect 2 recon still.h5 -o image.h5 --motion bad.txt
says 'larmor: motion: row 0 begins at readout 1, expected whole numbers that ascend, from 0'
printf '0 0 0 0 0 nan\n' >bad.txt
expect 3 recon still.h5 -o image.h5 --motion bad.txt
expect 3 recon still.h5 -o image.h5 --motion /nowhere
said 'larmor: --motion /nowhere: cannot be read.'
expect 2 recon still.h5 -o image.h5 --motion-states 3 --motion short.csv
said 'larmor: --motion-states: is not for --motion; poses are given.'
expect 2 recon still.h5 -o image.h5 --motion-states 32
says 'larmor: still.h5: motion: got 32 states of 110 readouts, expected 2 to 32 of at least 4 readouts each'
for other in "--method nlinv" "--method grid" "--map-sets 2"; do
    # shellcheck disable=SC2086
    expect 2 recon still.h5 -o image.h5 --motion short.csv $other
done
expect 2 phantom -o other.h5 --motion short.csv --breathing 10
expect 2 phantom -o other.h5 --matrix 16 --readouts 55 --motion short.csv
said_like '^larmor: simulation: a pose holds from readout 55 on, but there are 55, which count from 0; leave it out\.$'
expect 2 recon still.h5 -o image.h5 --save-motion other.npy
said 'larmor: --save-motion: has no effect without --motion-states.'
expect 2 recon still.h5 -o image.h5 --motion-states 2 --save-motion other.csv
said 'larmor: --save-motion other.csv: a name that ends in .npy expected.'
[ ! -e other.npy ] || fail "poses were written"
[ ! -e image.h5 ] && [ ! -e other.h5 ] || fail "something was written"
