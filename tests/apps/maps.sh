#!/bin/sh
# larmor maps, and --maps of recon by name: files, sets, crops, shading, what auto chooses. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
expect 0 phantom -o lines.h5 --traj cartesian --matrix 48 --coils 6 --acceleration 3 --calibration-lines 24 --snr 30 --noise-scan 60 -q
expect 0 phantom -o spokes.h5 --traj golden --matrix 48 --coils 6 --snr 30 -q
expect 0 phantom -o arms.h5 --traj spiral --density 2 --matrix 48 --coils 6 --snr 30 -q
expect 0 phantom -o few.h5 --traj spiral --undersampling 2 --matrix 48 --coils 6 --snr 30 -q

# What maps writes is what recon uses, for each method and number of sets, in either format.
set -- maps.cfl maps.npy
for how in walsh "espirit" "espirit --crop soft" "espirit --map-sets 2" "walsh --normalise sum" "espirit --normalise body"; do
    # shellcheck disable=SC2086 # words are meant
    reconstruct lines.h5 -o own.npy --lambda 1e-3 --tol 1e-6 --precond none --maps $how --force -q
    # shellcheck disable=SC2086
    expect 0 maps lines.h5 -o "$1" --method $how --force -q
    reconstruct lines.h5 -o given.npy --lambda 1e-3 --tol 1e-6 --precond none --maps "$1" --force -q
    expect 0 compare given.npy own.npy --tol 1e-3
    set -- "$2" "$1"
done
expect 0 maps lines.h5 -o maps.cfl --method espirit --map-sets 2 --force -q
[ "$(sed -n 2p maps.hdr | cut -d' ' -f1-5)" = "48 48 1 6 2" ] || fail "maps.hdr: $(cat maps.hdr)"
expect 0 maps lines.h5 -o one.cfl --method espirit --force -q
for maps in one.h5 one.nii; do
    expect 0 maps lines.h5 -o $maps --method espirit --force -q
    expect 0 compare $maps one.cfl --tol 1e-6
done

# The crop follows the eigenvalues: where they are at most 0.8 the maps are 0, and nowhere else.
expect 0 maps lines.h5 -o hard.npy --method espirit --crop hard --eigenvalues values.npy --force
grep -q '^wrote values.npy: eigenvalues of 1 set' err || fail "the log does not say that eigenvalues are written"
python=$(command -v python3 || true)
[ -z "$python" ] || "$python" - <<'PYTHON' || fail "the crop is not that of the eigenvalues"
import struct, sys
def values(path, width):
    data = open(path, "rb").read()
    data = data[10 + struct.unpack("<H", data[8:10])[0]:]
    return struct.unpack(f"<{len(data) // 4}f", data)
maps, values = values("hard.npy", 2), values("values.npy", 1)
n = 48 * 48
step = len(values) // n
for p in range(n):
    inside = values[step * p] > 0.8
    energy = sum(maps[2 * (p + n * c) + i] ** 2 for c in range(6) for i in (0, 1))
    if abs(values[step * p] - 0.8) > 1e-5 and (energy > 0) != inside: sys.exit(1)
PYTHON

# What auto chooses, and why.
chosen() {
    reconstruct "$1" -o image.npy --force --method cg --lambda 1e-3
}
chosen lines.h5
grep -q '^coil maps: by ESPIRiT, as lines are missing$' err || fail "auto: $(cat err)"
for scan in spokes arms; do
    chosen $scan.h5
    grep -q '^coil maps: by ESPIRiT, as readouts are off the grid$' err || fail "auto: $(cat err)"
done
expect 0 phantom -o noise.h5 --traj golden --matrix 24 --coils 2 --undersampling 4 --noise 0.05 --seed 3 -q
chosen noise.h5
grep -q "^coil maps: by Walsh's method, as the calibration region has no signal above its noise" err || fail "auto: $(cat err)"
chosen few.h5
grep -q '^coil maps: by nonlinear inversion, as the centre of k-space is undersampled: ' err || fail "auto: $(cat err)"

# An object that is half as large again as the field of view folds along the phase encoding.
expect 0 phantom -o folded.h5 --traj cartesian --matrix 48 --coils 8 --object-size 1.6 --snr 30 -q
reconstruct folded.h5 -o image.npy --force
grep -q 'two sets of maps are found$' err || fail "auto: $(cat err)"
expect 0 maps lines.h5 -o auto.npy --json --force
grep -q '"method": "espirit"' out || fail "maps --json: $(cat out)"

# What does not go together.
expect 2 maps lines.h5 -o x.npy --method walsh --crop hard --force -q
said 'larmor: --crop: has no effect with --method walsh; it is an option of --method espirit.'
expect 2 recon lines.h5 -o x.npy --maps walsh --map-sets 2 --force -q
said 'larmor: --map-sets: has no effect with --maps walsh; it is an option of --maps espirit and nlinv.'
expect 2 maps lines.h5 -o two.h5 --method espirit --map-sets 2 --force -q
said 'larmor: two.h5: several sets of maps cannot be written to .h5 files; use one of .cfl, .npy'
expect 0 phantom -o many.h5 --matrix 32 --coils 2 --slices 3 -q
expect 2 maps many.h5 -o x.npy --force -q
said 'larmor: many.h5: there are maps for each of several slices; choose one by --slice.'
expect 0 maps many.h5 -o x.npy --slice 1 --force -q
expect 0 phantom -o single.h5 --matrix 32 --coils 1 -q
expect 2 maps single.h5 -o y.npy -q
said 'larmor: single.h5: one coil has no maps to find.'
[ ! -e y.npy ] || fail "a file of maps that were not found"
