#!/bin/sh
# The layout of fastMRI: kspace [slices, coils, samples, lines] beside ismrmrd_header. The image is that of the same samples
# as ISMRMRD acquisitions, bit by bit. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

python3 -c 'import h5py, numpy' 2>/dev/null || { echo "skipped: python3 has no h5py"; exit 77; }
export LARMOR_DEVICE=cpu LARMOR_THREADS=1

expect 0 phantom -o good.h5 --truth truth.npy --traj cartesian --matrix 32,24 --coils 4 --slices 2 --noise 1e-4 -q

cat >rewrite.py <<'END'
import h5py, numpy as np, re
good = h5py.File("good.h5")
xml, data = good["dataset/xml"][0].decode(), good["dataset/data"][:]
kind = good["dataset/data"].dtype
heads = data["head"]
slices, lines, coils = heads["idx"]["slice"].max() + 1, 24, heads["active_channels"][0]
n = heads["number_of_samples"][0]
k = np.zeros((slices, coils, n, lines), np.complex64)
for a in data:
    k[a["head"]["idx"]["slice"], :, :, a["head"]["idx"]["kspace_encode_step_1"]] = a["data"].view(np.complex64).reshape(coils, n)
# readouts of twice the field of view, by zeros around the coils' images
image = np.fft.fftshift(np.fft.ifft(np.fft.ifftshift(k, 2), axis=2), 2)
wide = np.zeros((slices, coils, 2 * n, lines), np.complex64)
wide[:, :, n // 2:n // 2 + n] = image
wide = np.fft.fftshift(np.fft.fft(np.fft.ifftshift(wide, 2), axis=2), 2).astype(np.complex64)
x = re.search(r"<encodedSpace>.*?<x>(\d+)</x>.*?<x>([\d.e+]+)</x>", xml, re.S)
assert int(x[1]) == n, x[1]
double = xml[:x.start(1)] + str(2 * n) + xml[x.end(1):x.start(2)] + str(2 * float(x[2])) + xml[x.end(2):]

def ismrmrd(name, k, xml, first, last):
    with h5py.File(name, "w") as f:
        group = f.create_group("dataset")
        group.create_dataset("xml", (1,), dtype=h5py.string_dtype())[0] = xml
        heads, values = [], []
        for s in range(len(k)):
            for line in range(first, last):
                if not k[s, :, :, line].any():
                    continue
                head = np.zeros((), kind["head"])
                head["version"], head["number_of_samples"], head["center_sample"] = 1, k.shape[2], k.shape[2] // 2
                head["available_channels"] = head["active_channels"] = k.shape[1]
                head["idx"]["slice"], head["idx"]["kspace_encode_step_1"] = s, line - first
                heads.append(head)
                values.append(np.ascontiguousarray(k[s, :, :, line]).view(np.float32).ravel())
        rows = np.zeros(len(heads), kind)
        for i, head in enumerate(heads):
            rows["head"][i], rows["data"][i], rows["traj"][i] = head, values[i], np.zeros(0, np.float32)
        group.create_dataset("data", data=rows)

def fastmri(name, k, xml, **options):
    with h5py.File(name, "w") as f:
        f.create_dataset("kspace", data=k, **options)
        f.create_dataset("ismrmrd_header", data=xml, dtype=h5py.string_dtype())
        f.create_dataset("reconstruction_rss", data=np.zeros((len(k), 8, 8), np.float32))

def write(name, k, xml, **options):
    ismrmrd(f"{name}_mrd.h5", k, xml, 0, k.shape[-1])
    fastmri(f"{name}.h5", k, xml, **options)

write("multi", k, xml)
write("oversampled", wide, double)
ismrmrd("single_mrd.h5", k[:, :1], xml, 0, lines)
fastmri("single.h5", k[:, 0], xml)
masked = k.copy()
masked[..., [0, 2, 4, 6, 18, 20, 22]] = 0
write("masked", masked, xml)
# the header's limits count from the first line that was acquired, and zeros are before it
padded = k.copy()
padded[..., :4] = 0
limits = re.sub(r"(<kspace_encoding_step_1>\s*<minimum>)\d+(</minimum>\s*<maximum>)\d+(</maximum>\s*<center>)\d+",
                rf"\g<1>0\g<2>{lines - 5}\g<3>{lines // 2 - 4}", xml)
assert limits != xml
ismrmrd("padded_mrd.h5", padded, limits, 4, lines)
fastmri("padded.h5", padded, limits)
fastmri("swapped.h5", np.ascontiguousarray(k.swapaxes(2, 3)), xml)
fastmri("chunked.h5", k, xml, chunks=(1, 1, n, lines), compression="gzip")
fastmri("double.h5", k.astype(np.complex128), xml)
END
python3 rewrite.py || fail "h5py cannot write the scans"

for name in multi oversampled single masked padded; do
    expect 0 recon -q -i 5 "$name.h5" -o "$name.npy"
    expect 0 recon -q -i 5 "${name}_mrd.h5" -o "${name}_mrd.npy"
    cmp -s "$name.npy" "${name}_mrd.npy" || fail "$name: another image than that of the same samples as acquisitions"
done
expect 0 info masked.h5
printed '48 acquisitions'
for name in multi oversampled; do
    expect 0 recon -q "$name.h5" -o "$name.npy" --force
    expect 0 compare "$name.npy" truth.npy
    nrmse_at_most 0.15
done
expect 0 info swapped.h5
line='/kspace has 32 lines of 24 samples, if it is [slices, coils, samples, lines] as in fastMRI; encodedSpace is 32 x 24.'
grep -qF "$line" err || fail "$last: expected on stderr: $line"
refuse() {
    expect 3 recon -q "$1" -o refused.npy
    said "larmor: $1: $2"
    [ ! -e refused.npy ] || fail "$last: made an output"
}
refuse chunked.h5 '/kspace is in chunks, which is not read in the fastMRI layout. Use h5repack -l CONTI -f NONE.'
refuse double.h5 '/kspace is complex[2][4][32][24]; in the fastMRI layout complex[slices][coils][samples][lines] of single precision, or [slices][samples][lines] of one coil, expected.'
