#!/bin/sh
# Gradient delays and impulse responses from the command line. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

below() {
    awk -v a="$1" -v b="$2" -v f="${4:-1}" 'BEGIN { exit !(a < f * b) }' || fail "$3: $1, expected below ${4:-1} x $2"
}
# error SCAN FLAGS: how far the image of the scan is from the truth, with the true maps; the log is in `log`.
error() {
    scan=$1
    shift
    expect 0 recon "$scan.h5" -o image.npy --maps maps.cfl --force "$@"
    mv err log
    expect 0 compare image.npy truth.npy
    cut -d' ' -f2 out
}

# Images after correction are as good as those without delays, and nothing is seen outside the field of view; where there
# are none the image is that of --delays off.
while read -r traj delays noise flags; do
    snr="--snr $noise"
    [ "$noise" = none ] && snr=
    set -- --traj "$traj" $snr --coils 6 --force -q $flags
    name="$traj, SNR $noise"
    expect 0 phantom -o prompt.h5 --truth truth.npy --maps maps.cfl "$@"
    expect 0 phantom -o late.h5 --delays "$delays" "$@"
    prompt=$(error prompt)
    grep -q "delays: none that the data show clearly" log || fail "$name: delays found where there are none: $(cat log)"
    mv image.npy auto.npy
    plain=$(error prompt --delays off)
    cmp -s image.npy auto.npy || fail "$name: the image of a scan without delays is not that of --delays off"
    corrected=$(error late)
    grep -q "delays: the gradients are late by" log || fail "$name: delays not found: $(cat log)"
    ! grep -q "field of view: signal reaches" log || fail "$name: delays are still taken for a wide object: $(cat log)"
    # Without noise the weights that are chosen for the two scans are small, and far apart.
    most=1.1
    [ "$noise" != none ] || most=1.15
    below "$corrected" "$prompt" "$name: error after the correction and without delays" $most
    given=$(error late --delays "$delays")
    below "$corrected" "$given" "$name: errors with delays found and given" 1.03
    late=$(error late --delays off --method cg --iters 20)
    below 2 "$late" "$name: error without delays, times two, and with them" "$(awk -v p="$plain" 'BEGIN { print 1 / p }')"
done <<END
golden 1.5,-1,0.4 20 --matrix 48 --readouts 76
golden 1.5,-1,0.4 none --matrix 48 --readouts 76
golden 6,6 20 --matrix 48 --readouts 76
radial -2,2 20 --matrix 48 --readouts 76
radial -2,2 none --matrix 48 --readouts 76
spiral 1.5,1 30 --matrix 48 --readouts 12
koosh 1,-1.5,0.5,0.3,-0.2,0.1 20 --matrix 16 --readouts 420
koosh 1,-1.5,0.5,0.3,-0.2,0.1 none --matrix 16 --readouts 420
END

# Readouts of which samples are left out, as a smaller matrix asks for, are corrected one by one.
expect 0 phantom -o late.h5 --matrix 48 --readouts 76 --coils 6 --delays 1.5,-1,0.4 --maps maps.cfl --force -q
expect 0 phantom -o prompt.h5 --matrix 48 --readouts 76 --coils 6 --force -q
expect 0 recon prompt.h5 -o prompt.npy --method cg --matrix 32 --maps maps.cfl --delays off --force
grep -q "samples beyond the resolution of reconSpace left out" err || fail "all samples are used: $(cat err)"
expect 0 recon late.h5 -o image.npy --method cg --matrix 32 --maps maps.cfl --force
grep -q "delays: the gradients are late by x 1.5, y -1, xy 0.4 samples" err || fail "delays of cut readouts: $(cat err)"
expect 0 compare image.npy prompt.npy
below "$(cut -d' ' -f2 out)" 0.1 "images of cut readouts after the correction and without delays"
expect 0 recon late.h5 -o image.npy --method cg --matrix 32 --maps maps.cfl --delays off --force
expect 0 compare image.npy prompt.npy
below 0.2 "$(cut -d' ' -f2 out)" "images of cut readouts with delays and without"

# Lines of the grid, oversampled ones, too: given delays move the image, and it stays that of FFTs unless axes are coupled.
while read -r samples delays ffts; do
    expect 0 phantom -o prompt.h5 --traj cartesian --matrix 32 --samples "$samples" --coils 4 --maps maps.cfl --force -q
    expect 0 phantom -o late.h5 --traj cartesian --matrix 32 --samples "$samples" --coils 4 --delays "$delays" --force -q
    expect 0 recon prompt.h5 -o prompt.npy --maps maps.cfl --method cg --force -q
    expect 0 recon late.h5 -o image.npy --maps maps.cfl --method cg --delays "$delays" --force
    [ "$(grep -c "one FFT of each coil" err)" -eq "$ffts" ] || fail "lines with delays $delays: $(cat err)"
    expect 0 compare image.npy prompt.npy
    below "$(cut -d' ' -f2 out)" 0.08 "lines of $samples samples with delays $delays, and those without"
    expect 0 recon late.h5 -o image.npy --maps maps.cfl --method cg --delays off --force -q
    expect 0 compare image.npy prompt.npy
    below 0.2 "$(cut -d' ' -f2 out)" "lines of $samples samples with delays $delays that are not corrected"
done <<END
32 0.4,0 1
64 0.8,0 1
64 0.4,0,0.2 0
END

# Where nothing can be found, it is said.
expect 0 phantom -o spiral.h5 --traj spiral --matrix 32 --readouts 1 --coils 2 --force -q
expect 0 check spiral.h5
grep -q "note: delays: not looked for: 0 readouts go straight" out || fail "check says nothing of delays: $(cat out)"
expect 4 traj --from spiral.h5 --delays
grep -q "delays: 0 readouts go straight" err || fail "traj --delays: $(cat err)"

# Alone: printed as --delays takes them, and the trajectory corrected.
expect 0 phantom -o late.h5 --matrix 48 --readouts 40 --coils 6 --delays 1.5,-1,0.4 --truth truth.npy --maps maps.cfl --force -q
expect 0 traj --from late.h5 --delays -q
cp out found
awk -F, '{ exit !($1 > 1.49 && $1 < 1.51 && $2 < -0.99 && $2 > -1.01 && $3 > 0.39 && $3 < 0.41) }' out ||
    fail "traj --delays: $(cat out), expected 1.5,-1,0.4"
expect 0 recon late.h5 -o image.npy --method cg --delays "$(cat found)" --force -q
expect 0 traj --from late.h5 --delays --json -q
grep -q '"significant": true' out || fail "traj --delays --json: $(cat out)"
expect 0 traj --from late.h5 -o nominal.npy -q
expect 0 traj --from late.h5 --delays -o corrected.npy -q
expect 0 phantom -o prompt.h5 --matrix 48 --readouts 40 --coils 6 --force -q
expect 0 traj --from prompt.h5 -o other.npy -q
cmp -s nominal.npy other.npy || fail "the stored trajectory of a delayed scan is not the nominal one"
expect 2 traj --delays -o x.npy
grep -q "delays: has no effect without --from" err || fail "$(cat err)"
expect 2 traj --from late.h5 --matrix 32 -o x.npy
grep -q -- "--matrix: has no effect with --from" err || fail "$(cat err)"
expect 2 recon late.h5 -o image.npy --delays 1 --force
grep -q -- '--delays "1": auto, off or X,Y\[,XY\], in 3D X,Y,Z\[,XY,XZ,YZ\], of numbers .* expected' err || fail "$(cat err)"
expect 2 phantom -o none.h5 --matrix 48 --delays 1 -q
expect 2 phantom -o none.h5 --matrix 12 --traj koosh --delays 1,2 -q
expect 2 recon late.h5 -o image.npy --delays 1,2,3,4 --force
grep -q -- '--delays "1,2,3,4": auto, off or X,Y\[,XY\], in 3D .* expected' err || fail "$(cat err)"
expect 2 phantom -o x.h5 --traj koosh --matrix 8 --delays 1,2,3,4
grep -q "X,Y,Z or X,Y,Z,XY,XZ,YZ expected" err || fail "$(cat err)"
[ ! -e x.h5 ] || fail "phantom wrote a file after refusing its delays"

# Perfect gradients change nothing; a response needs its spacing.
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do printf '\000\000\200\077\000\000\000\000'; done >one.cfl
printf '# Dimensions\n4 3\n' >one.hdr
expect 0 recon prompt.h5 -o plain.npy --method cg --maps maps.cfl -q --force
expect 0 recon prompt.h5 -o girf.npy --method cg --maps maps.cfl --girf one.cfl --girf-spacing 100 -q --force
expect 0 compare plain.npy girf.npy
below "$(cut -d' ' -f2 out)" 1e-4 "images with and without perfect gradients"
expect 2 recon prompt.h5 -o girf.npy --girf one.cfl --force
grep -q -- "--girf: has no effect without --girf-spacing" err || fail "$(cat err)"
# Halved gradients make another image.
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do printf '\000\000\000\077\000\000\000\000'; done >one.cfl
expect 0 recon prompt.h5 -o girf.npy --method cg --maps maps.cfl --girf one.cfl --girf-spacing 100 -q --force
expect 0 compare plain.npy girf.npy
below 0.3 "$(cut -d' ' -f2 out)" "images with whole and with halved gradients"
