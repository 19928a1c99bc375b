#!/bin/sh
# larmor fit: files, times from where they are, and what is refused. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

python=$(command -v python3 || true)
if [ -z "$python" ] || ! "$python" -c "import numpy" 2>/dev/null; then
    echo "no python3 with numpy, which makes the images: left out"
    exit 0
fi

"$python" - <<'PY'
import json
import numpy as np

ms = np.array([10, 20, 40, 80, 160.0])
truth = np.linspace(30, 200, 12)[:, None, None, None] * np.ones((12, 10, 3, 1))
decay = (100 * np.exp(-ms / truth) * np.exp(1j)).astype(np.complex64)
np.save("complex.npy", np.asfortranarray(decay))
np.save("magnitude.npy", np.asfortranarray(abs(decay)))
for i in range(5):
    np.save(f"echo-{i}.npy", np.asfortranarray(abs(decay[..., i])))
    json.dump({"EchoTime": ms[i] / 1000}, open(f"echo-{i}.json", "w"))
np.save("truth.npy", np.asfortranarray(truth[..., 0].astype(np.float32)))
ti = np.array([50, 200, 500, 1000, 2000, 5000.0])
np.save("ir.npy", np.asfortranarray(abs(1 - 1.9 * np.exp(-ti / (10 * truth))).astype(np.float32)))

te = np.array([1.2, 2.1, 3.3, 4.2, 5.4, 6.3]) / 1000
peaks = np.array([[-3.8, 87], [-3.4, 693], [-2.6, 128], [-1.94, 4], [-0.39, 39], [0.6, 48]])
turns = np.exp(2j * np.pi * 42.577478518 * 3 * te[:, None] * peaks[:, 0]) @ peaks[:, 1] / 999
part = np.linspace(0, 1, 12)[:, None, None, None] * np.ones((12, 10, 3, 1))
echoes = (1 - part + part * turns) * np.exp((2j * np.pi * 60 - 30) * te)
np.save("gradient.npy", np.asfortranarray(echoes.astype(np.complex64)))
np.save("part.npy", np.asfortranarray(part[..., 0].astype(np.float32)))
np.save("near.npy", np.asfortranarray(np.full((12, 10, 3), 40, np.float32)))

t = np.arange(30)
T1, T2 = (g.ravel() for g in np.meshgrid(np.linspace(20, 60, 20), np.linspace(3, 15, 15)))
signals = ((1 - 2 * np.exp(-t / T1[:, None])) * np.exp(-t / T2[:, None])).astype(np.complex64)
np.save("signals.npy", np.asfortranarray(signals))
np.save("table.npy", np.asfortranarray(np.stack([T1, T2], 1)))
np.savetxt("table.csv", np.stack([T1, T2], 1), delimiter=",", header="T1,T2", comments="", fmt="%.17g")
basis = np.linalg.svd(signals.T, full_matrices=False)[0][:, :6]
np.save("basis.npy", np.asfortranarray(basis))
pick = (np.arange(12 * 10 * 3) * 37 % 300).reshape(12, 10, 3)
np.save("coefficients.npy", np.asfortranarray((3j * signals[pick] @ basis.conj()).astype(np.complex64)))
np.save("frames.npy", np.asfortranarray(3j * signals[pick]))
np.save("T1_truth.npy", np.asfortranarray(T1[pick].astype(np.float32)))
np.save("T2_truth.npy", np.asfortranarray(T2[pick].astype(np.float32)))
PY

within() { expect 0 compare "$1" truth.npy --tol 1e-4; }

# Arrays, NIfTI, a folder, several files with their sidecars: all give the truth.
expect 0 fit complex.npy -m t2 --times 10,20,40,80,160 -o c.npy -q
within c_T2.npy
for name in T2 T2_std M0 M0_std residual; do [ -f "c_$name.npy" ] || fail "c_$name.npy is not there"; done

# Error bars of noise alone say so where neighbours differ by more; with --edge-bars they hold what the steps of 15.5 ms
# along x add, for two of four to six neighbours.
expect 0 fit complex.npy -m t2 --times 10,20,40,80,160 --noise 0.5 -o alone.npy --json
grep -q "T2: error bars are of noise alone; neighbours differ by [0-9.]* times as much beyond it" err || fail "the log"
grep -q '"beyond_noise": [0-9]' out || fail "beyond_noise in the report"
grep -q "times --noise" err && fail "$last: a right fit leaves more than the noise"
expect 0 fit complex.npy -m t2 --times 10,160,20,80,40 --noise 0.5 -o wrong.npy
grep -q "^warning: the residual is [0-9.]* times --noise in half of the voxels" err || fail "$last: not said"
expect 0 fit complex.npy -m t2 --times 10,20,40,80,160 --noise 0.5 --edge-bars -o wide.npy
grep -q "of noise alone" err && fail "$last: error bars are said to be of noise alone"
"$python" -c '
import numpy as np
bars, both = (np.load(f"{p}_T2_std.npy").squeeze() for p in ("alone", "wide"))
step = np.sqrt(np.maximum(0, both**2 - bars**2))[1:-1, 1:-1, 1]
assert np.all((step > 0.9 * 15.45 * np.sqrt(2 / 6)) & (step < 15.5)), step' || fail "$last: deviations"

# Slices with gaps are no neighbours: --edge-bars of two are those of each.
expect 0 phantom -o slices.h5 --matrix 24 --coils 2 --slices 2 --echo-times 4,9,20 --t2star 30 --snr 30 -q
expect 0 recon slices.h5 -o both.h5 --method grid -q
expect 0 fit both.h5 -m t2star --noise 0.01 --edge-bars -o both.npy -q
for s in 0 1; do
    expect 0 recon slices.h5 -o slice$s.h5 --slice $s --method grid -q
    expect 0 fit slice$s.h5 -m t2star --noise 0.01 --edge-bars -o slice$s.npy -q
done
"$python" -c '
import numpy as np
both, *each = (np.load(f"{p}_T2star_std.npy").squeeze() for p in ("both", "slice0", "slice1"))
for s in range(2):
    here = (both[..., s] > 0) & (each[s] > 0)
    assert here.sum() > 200 and np.array_equal(both[..., s][here], each[s][here]), s' || fail "bars of slices"

# The same in a volume of NIfTI: by the description that larmor writes, else by the sidecar; if neither says so the log does.
for s in 0 1; do
    expect 0 recon slices.h5 -o slice$s.nii --slice $s --method grid -q
    expect 0 fit slice$s.nii -m t2star --times 4,9,20 --noise 0.01 --threshold 1e-6 --edge-bars -o volume$s.npy -q
done
expect 0 recon slices.h5 -o volume.nii --method grid -q
"$python" -c '
raw = open("volume.nii", "rb").read()
assert raw[148:].startswith(b"larmor, 2D slices")
raw = raw[:148] + raw[148:228].replace(b"larmor, 2D", b"elsewhere ") + raw[228:]
for name, kind in ("none", ""), ("two", "2D"), ("three", "3D"):
    open(f"{name}.nii", "wb").write(raw)
    if kind: open(f"{name}.json", "w").write("{\"MRAcquisitionType\" :\n \"%s\"}" % kind)'
for name in volume none two three; do
    expect 0 fit $name.nii -m t2star --times 4,9,20 --noise 0.01 --threshold 1e-6 --edge-bars -o v_$name.npy
    said=0
    grep -q "slices of none.nii are taken for neighbours; they are not where its .json has" err && said=1
    [ "$said" -eq "$([ $name = none ] && echo 1 || echo 0)" ] || fail "$last: what is said of neighbours"
done
"$python" -c '
import numpy as np
bars = {n: np.load(f"v_{n}_T2star_std.npy").squeeze() for n in ("volume", "none", "two", "three")}
assert np.array_equal(bars["volume"], bars["two"]) and np.array_equal(bars["none"], bars["three"])
for s in range(2):
    each = np.load(f"volume{s}_T2star_std.npy").squeeze()
    here = (bars["volume"][..., s] > 0) & (each > 0)
    assert here.sum() > 200 and np.array_equal(bars["volume"][..., s][here], each[here]), s
    assert not np.array_equal(bars["none"][..., s][here], each[here])' || fail "bars of slices of NIfTI"
expect 0 convert magnitude.npy magnitude.nii
echo 10 20 40, 80 160 >times.txt
expect 0 fit magnitude.nii -m t2star --times-file times.txt -o m.nii.gz -q
within m_T2star.nii.gz
mkdir maps
for i in 0 1 2 3 4; do expect 0 convert echo-$i.npy echo-$i.nii; done
expect 0 fit echo-0.nii echo-1.nii echo-2.nii echo-3.nii echo-4.nii -m t2 -o maps/
grep -q "5 times from the header: 10 to 160 ms" err || fail "the log does not say where times are from"
within maps/T2.nii
expect 0 fit ir.npy -m t1-ir --times 50,200,500,1000,2000,5000 -o ir.nii --json
grep -q '"failed": 0' out || fail "voxels failed"

# Fractions of fat are the truth; phases taken the other way are a warning.
W="-m water-fat --times 1.2,2.1,3.3,4.2,5.4,6.3"
expect 0 fit gradient.npy $W --field-strength 3 --field-map near.npy -o w.npy --json
grep -q '"other_sign"' out || fail "the report does not compare the signs"
expect 0 compare w_FF.npy part.npy --tol 1e-4
for name in water fat FF R2star field; do [ -f w_${name}_std.npy ] || fail "w_${name}_std.npy is not there"; done
expect 0 fit gradient.npy $W --field-strength 3 --fat-above -o x.npy
grep -q "is it without --fat-above?" err || fail "no warning of phases that turn the other way"
expect 2 fit complex.npy -m t2 --times 10,20,40,80,160 --field-strength 3 -o n.npy

# Frames and coefficients of a basis are matched to the dictionary's entries, whatever the table is.
expect 0 fit frames.npy -m dictionary --dictionary signals.npy --table table.csv -o f.npy
for name in T1 T2; do expect 0 compare f_$name.npy ${name}_truth.npy --tol 1e-4; done
[ -f f_T1_std.npy ] && [ -f f_T2_std.npy ] || fail "there are no deviations of a match"
expect 0 fit coefficients.npy -m dictionary --dictionary signals.npy --basis basis.npy --table table.npy \
    --columns T1,T2 -o k.nii --json
grep -q '"voxels": 360' out || fail "not all voxels are matched"
printed '"beyond_noise": {'
printed '"T1": [0-9]'
for name in T1 T2; do expect 0 compare k_$name.nii ${name}_truth.npy --tol 1e-4; done
[ -f k_M0.nii ] && [ -f k_match.nii ] || fail "M0 or the match is not there"
expect 2 fit frames.npy -m dictionary --dictionary signals.npy -o n.npy
expect 2 fit frames.npy -m dictionary --dictionary signals.npy --table table.npy --columns T1 -o n.npy
expect 2 fit frames.npy -m t2 --times 1,2 --basis basis.npy -o n.npy

refuses() {
    text=$1
    shift
    expect 3 fit "$@"
    grep -qF "$text" err || fail "expected: $text"
}
refuses "magnitude.nii: got 5 images, expected 2, one for each time of --times." magnitude.nii -m t2 --times 10,20 -o n.nii
refuses "neither header nor sidecar says inversion times; give --times MS,MS,..." magnitude.nii -m t1-ir -o n.nii
expect 2 fit magnitude.nii -m t2 --times 5,5,5,5,5 -o n.nii
grep -qF "ms: got 1 different time, expected at least 2 for t2" err || fail "times that are one are not refused"
refuses "basis: got " frames.npy -m dictionary --dictionary signals.npy --basis basis.npy --table table.csv -o n.npy
refuses "gradient.npy: the header does not say the magnet's field; give --field-strength T." gradient.npy $W -o n.npy
head -20 table.csv >short.csv
refuses "short.csv: got 19 rows, expected 300, one for each entry of signals.npy." frames.npy -m dictionary \
    --dictionary signals.npy --table short.csv -o n.npy
echo "T1;T2" >bad.csv
refuses "bad.csv: got no names in the first line" frames.npy -m dictionary --dictionary signals.npy --table bad.csv -o n.npy
printf 'T1,T2\n1,x\n' >bad.csv
refuses "bad.csv: got a line that is not so" frames.npy -m dictionary --dictionary signals.npy --table bad.csv -o n.npy
expect 5 fit complex.npy -m t2 --times 10,20,40,80,160 -o c.npy
expect 2 fit complex.npy -m t2 --times 10,x -o n.npy
expect 2 fit complex.npy -m t3 --times 10,20 -o n.npy
[ ! -e n_T2.nii ] || fail "a refused fit left a file"
