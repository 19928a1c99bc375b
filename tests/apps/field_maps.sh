#!/bin/sh
# larmor recon --b0: a warning names the map that samples fit better, of the other sign or unit, or none; times that no
# scanner has are refused. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

# field MAP F X,Y OPTION...: its map, and a scan.
field() {
    map=$1 f=$2 shim=$3
    shift 3
    expect 0 phantom -q --force -o "$map.h5" --field-map "$map.npy" --maps maps.cfl --traj golden --matrix 24 --coils 3 \
        --phantom texture --snr 30 --off-resonance "$f" --field-shim "$shim" "$@"
}
recon() {
    expect "$1" recon true.h5 -o image.h5 --force --maps maps.cfl --method cg --lambda 1e-3 --iters 3 --delays off \
        --oversample 1 --b0 "$2.npy"
}
# better TEXT: is what the warning says.
better() {
    recon 0 "$1"
    grep -q "^warning: --b0: the samples fit the map better $2: misfit [0-9.]* instead of [0-9.]*\. It is taken as it is, in Hz, for phases exp(+2 pi i f t)\. Check its sign, its unit and its place, and the scan's dwell time\.\$" err ||
        fail "$last: $2 expected"
}
field other -40 60,120 --readouts 1 --dwell 1
field negative -20 -60,30 --readouts 1 --dwell 1
field radians 125.7 377,-188 --readouts 1 --dwell 1
field true 20 60,-30 --readouts 30 --dwell 60
recon 0 true
! grep -q 'fit the map better' err || fail "$last: a warning of a map that is right"
better negative "with the other sign"
better radians "divided by 2 pi, as if it were in rad/s"
better other "left out"

# Milliseconds instead of us.
field true 20 60,-30 --readouts 30 --dwell 0.02
rm -f image.h5
recon 3 true
grep -q '^larmor: true.h5: a sample takes 20 ns by the times of its readouts, expected at least 50 ns; state sample_time_us in us\.$' err ||
    fail "$last: $(cat err)"
[ ! -e image.h5 ] || fail "an image was written"

# A thousand times too long, which may be.
field true 0.02 0.06,-0.03 --readouts 30 --dwell 2000
recon 0 true
grep -q '^warning: --b0: a sample takes 2 ms by the header, which is long\. Check that its sample_time_us is in us\.$' err ||
    fail "$last: $(cat err)"
