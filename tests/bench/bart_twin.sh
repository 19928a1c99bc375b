#!/bin/sh
# BART and larmor on the same files: a simulated twin of the RRSG challenge's brain scan (Maier et al., Magn. Reson. Med.
# 85, 1821 (2021)): 12 coils, 96 spokes of 512 samples and every 2nd, 3rd, 4th of them, 300 x 300 pixels. BART simulates
# it on a grid three times as fine, adds noise and makes the true maps. Needs bart 0.8.
# Usage: tests/bench/bart_twin.sh LARMOR [FOLDER]   (FOLDER keeps the files). SPDX-License-Identifier: Apache-2.0
set -eu
. "$(dirname "$0")/folder.sh"

# k from -150 to 150 in 511 steps, in units of 1/FOV.
bart traj -r -x 512 -y 96 spokes
bart scale 0.5870841 spokes traj_1

# Twelve coils: BART's eight and four of them mirrored, normalised to sum |s|^2 = 1; N OUT.
coils() {
    bart phantom -S 8 -x "$1" eight
    bart extract 3 0 4 eight four
    bart flip 1 four mirrored
    bart join 3 eight mirrored twelve
    bart normalize 8 twelve "$2"
}
coils 300 maps
coils 900 fine_maps
bart phantom -x 900 fine
bart fmac fine fine_maps fine_coils
bart nufft traj_1 fine_coils fine_kspace
bart scale 0.33333333 fine_kspace clean
bart noise -s 42 -n 0.0004 clean kspace_1
for R in 2 3 4; do
    for name in traj kspace; do
        bart reshape "$(bart bitmask 2 4)" $R $((96 / R)) ${name}_1 split
        bart slice 2 0 split first
        bart transpose 2 4 first ${name}_$R
    done
done

# The truth is what spokes can see of the phantom: the disc of k-space up to 150/FOV. Images are judged in the same disc.
python3 - <<'PYTHON'
import math, struct
disc = [1.0 if math.hypot(x - 150, y - 150) <= 150 else 0.0 for y in range(300) for x in range(300)]
open("disc.cfl", "wb").write(b"".join(struct.pack("<ff", v, 0) for v in disc))
open("disc.hdr", "w").write("# Dimensions\n300 300\n")
for R in (1, 2, 3, 4):
    spoke = [math.sqrt(max(abs(-150 + j * 300 / 511), 0.25) / 150) for j in range(512)]
    open(f"root_ramp_{R}.cfl", "wb").write(b"".join(struct.pack("<ff", v, 0) for v in spoke) * (96 // R))
    open(f"root_ramp_{R}.hdr", "w").write(f"# Dimensions\n1 512 {96 // R}\n")
PYTHON
in_disc() {
    bart fft -u 3 "$1" spectrum
    bart fmac spectrum disc inside
    bart fft -u -i 3 inside "$2"
}
bart fft -u 3 fine wide
bart resize -c 0 300 1 300 wide spectrum
bart fmac spectrum disc inside
bart fft -u -i 3 inside truth

# error IMAGE: up to a complex factor, by BART's own measure; magnitude_error IMAGE: of magnitudes, for maps that leave a
# phase of their own in the image.
error() {
    in_disc "$1" judged
    bart nrmse -s truth judged | tail -1
}
magnitude_error() {
    in_disc "$1" judged
    "$larmor" compare judged.cfl truth.cfl -q --magnitude | cut -d' ' -f2
}
seconds() {
    began=$(date +%s.%N)
    "$@" >/dev/null
    echo "$began $(date +%s.%N)" | awk '{ printf "%.1f", $2 - $1 }'
}
echo "| R | BART, true maps | s | larmor, the same | s | larmor, true maps | s | BART, ESPIRiT maps (magnitude) | larmor, own maps (magnitude) | s |"
echo "|---|---|---|---|---|---|---|---|---|---|"
for R in 1 2 3 4; do
    "$larmor" convert --traj traj_$R.cfl --kspace kspace_$R.cfl -o scan_$R.h5 --force -q
    bart_time=$(seconds bart pics -d0 -S -i 30 -l2 -r 0 -t traj_$R kspace_$R maps bart_$R)
    # as many unpreconditioned iterations without lambda, which regularise by themselves; then larmor's own defaults
    same_time=$(seconds "$larmor" recon scan_$R.h5 -o same_$R.cfl --maps maps.cfl --precond none --lambda 0 --iters 30 \
        --tol 0 --force -q)
    true_time=$(seconds "$larmor" recon scan_$R.h5 -o true_$R.cfl --maps maps.cfl --force -q)
    own_time=$(seconds "$larmor" recon scan_$R.h5 -o own_$R.cfl --force -q)

    # BART calibrates on a Cartesian grid: the scan gridded with the ramp, its centre, ESPIRiT; then 5 weighted iterations.
    bart fmac root_ramp_$R root_ramp_$R ramp
    bart fmac kspace_$R ramp weighted
    bart nufft -a -d 300:300:1 traj_$R weighted gridded >/dev/null
    bart fft -u 3 gridded spectrum
    bart resize -c 0 32 1 32 spectrum centre
    bart resize -c 0 300 1 300 centre calibration
    OMP_NUM_THREADS=1 bart ecalib -m1 -r 24 -S calibration espirit >/dev/null # it may crash with more threads
    bart pics -d0 -S -i 5 -l2 -r 0 -p root_ramp_$R -t traj_$R kspace_$R espirit bart_own_$R >/dev/null
    echo "| $R | $(error bart_$R) | $bart_time | $(error same_$R) | $same_time | $(error true_$R) | $true_time | $(magnitude_error bart_own_$R) | $(magnitude_error own_$R) | $own_time |"
done

# Penalties, at both programs' settings for all R.
echo
echo "| R | BART, TV | s | larmor, tv | s | BART, wavelets | s | larmor, wavelet | s | larmor, tgv | s |"
echo "|---|---|---|---|---|---|---|---|---|---|---|"
for R in 1 2 3 4; do
    line="| $R"
    for penalty in tv wavelet tgv; do
        case $penalty in
        tv) bart_flags="-i 50 -R T:3:0:0.002" ;;
        wavelet) bart_flags="-i 100 -R W:3:0:0.002" ;;
        *) bart_flags="" ;;
        esac
        if [ "$bart_flags" ]; then
            # shellcheck disable=SC2086 # words are meant
            time=$(seconds bart pics -d0 -S -e $bart_flags -t traj_$R kspace_$R maps bart_$penalty)
            line="$line | $(error bart_$penalty) | $time"
        fi
        time=$(seconds "$larmor" recon scan_$R.h5 -o $penalty.cfl --maps maps.cfl --method $penalty --force -q)
        line="$line | $(error $penalty) | $time"
    done
    echo "$line |"
done
bart join 2 own_1 own_2 own_3 own_4 own
"$larmor" convert own.cfl own.png --force -q
