#!/bin/sh
# Files that Python's h5py writes, whose HDF5 is mostly newer than larmor-reader's: the same image, bit by bit, or a line
# that says so. Scans whose last chunk was never written: the image of the others.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

python3 -c 'import h5py, numpy' 2>/dev/null || { echo "skipped: python3 has no h5py"; exit 77; }

expect 0 phantom -o good.h5 --traj radial --matrix 16 --coils 2 --noise 1e-3 -q
expect 0 recon -q -i 2 --threads 1 good.h5 -o good.npy
expect 0 recon -q -i 2 --threads 1 good.h5 -o image.h5
expect 0 convert image.h5 image.npy

cat >rewrite.py <<'END'
import sys
import h5py
good = h5py.File("good.h5")
xml, data = good["dataset/xml"][0], good["dataset/data"][:]
kind = good["dataset/data"].dtype
for libver in "earliest", "v110", "v112", "v114", "v200", "latest":
    for block in 0, 512:
        for way, options in (("chunks", {"chunks": (8,), "maxshape": (None,)}), ("whole", {}),
                             ("fixed", {"chunks": (5,)}), ("packed", {"chunks": (64,), "compression": "gzip"})):
            newest = libver in ("v200", "latest") and h5py.version.hdf5_version_tuple >= (2, 0, 0)
            if way == "packed" and newest:
                options = {"chunks": data.shape, "compression": "gzip"}
            name = f"{libver}_{block}_{way}.h5"
            if block and way != "chunks":
                continue
            try:
                file = h5py.File(name, "w", libver=libver, userblock_size=block)
            except ValueError:
                continue  # a release that this h5py does not know
            group = file.create_group("dataset")
            group.create_dataset("xml", (1,), dtype=h5py.string_dtype())[0] = xml
            options["chunks"] = options.get("chunks") and tuple(min(c, len(data)) for c in options["chunks"])
            dataset = group.create_dataset("data", data.shape, dtype=kind, **options)
            for i, readout in enumerate(data):
                dataset[i] = readout
            file.close()
            print(name)
END
python3 rewrite.py >names || fail "h5py cannot write the copies"
[ "$(wc -l <names)" -ge 15 ] || fail "h5py wrote $(wc -l <names) copies, at least 15 expected"
while read -r name; do
    expect 0 recon -q -i 2 --threads 1 "$name" -o "$name.npy"
    cmp -s good.npy "$name.npy" || fail "$name: another image than that of the same scan"
done <names

# What HDF5 2 packs in several chunks, with libver v200, is refused by an older one as what it is, in scans, in a group of
# another name, in images and in fastMRI's layout; images of every libver, behind a user block, too, are the same ones.
cat >others.py <<'END'
import sys
import h5py, numpy as np
newer = int(sys.argv[1]) < 2 and h5py.version.hdf5_version_tuple >= (2, 0, 0)
good, image = h5py.File("good.h5"), h5py.File("image.h5")
xml, data = good["dataset/xml"][0], good["dataset/data"][:]


def scan(file, group, rows, **options):
    made = file.create_group(group)
    made.create_dataset("xml", (1,), dtype=h5py.string_dtype())[0] = xml
    dataset = made.create_dataset("data", data.shape, dtype=data.dtype, **options)
    for row in rows:
        dataset[row] = data[row]


for libver in "earliest", "v110", "v112", "v114", "v200", "latest":
    for packed in 0, 1:
        for block in 0, 2048:
            try:
                file = h5py.File(f"image_{libver}_{packed}_{block}.h5", "w", libver=libver, userblock_size=block)
            except ValueError:
                continue
            for name in "dataset/xml", "dataset/image_0/attributes", "dataset/image_0/header", "dataset/image_0/data":
                values, of = image[name], {}
                if packed and name.endswith("/data"):
                    of = {"chunks": tuple(max(1, n // 2) for n in values.shape), "compression": "gzip"}
                file.create_dataset(name, values.shape, dtype=values.dtype, **of)[...] = values[...]
            file.close()
            refused = newer and packed and libver in ("v200", "latest")
            print("refused" if refused else "image", f"image_{libver}_{packed}_{block}.h5 /dataset/image_0/data")
    last = len(data) // 4 * 4
    try:
        file = h5py.File(f"stopped_{libver}.h5", "w", libver=libver)
    except ValueError:
        continue
    scan(file, "dataset", range(last - 4), chunks=(4,), maxshape=(None,))
    file.close()
    print("stopped", f"stopped_{libver}.h5", len(data) - last + 4)
with h5py.File("short.h5", "w") as file:
    made = file.create_group("dataset")
    made.create_dataset("xml", (1,), dtype=h5py.string_dtype())[0] = xml
    made.create_dataset("data", (last - 4,), dtype=data.dtype)[:] = data[:last - 4]
if newer:
    with h5py.File("named.h5", "w", libver="v200") as file:
        scan(file, "scan_1", range(len(data)), chunks=(4,), compression="gzip")
    print("refused", "named.h5", "/scan_1/data")
    with h5py.File("slices.h5", "w", libver="v200") as file:
        file.create_dataset("ismrmrd_header", (), dtype=h5py.string_dtype())[()] = xml
        file["kspace"] = np.zeros((1, 1), np.complex64)
        del file["kspace"]
        file.create_dataset("kspace", (2, 2, 16, 16), np.complex64, chunks=(1, 2, 16, 16), compression="gzip")
    print("refused", "slices.h5", "/kspace")
END
hdf5=$("$LARMOR" version --json | sed -n 's/.*"hdf5": "\([0-9.]*\).*/\1/p')
[ -n "$hdf5" ] || fail "larmor version --json does not say which HDF5 it has"
python3 others.py "${hdf5%%.*}" >names || fail "h5py cannot write the others"
[ "$(wc -l <names)" -ge 20 ] || fail "h5py wrote $(wc -l <names) of the others, at least 20 expected"
short=${hdf5#*.} # major and minor are in the message
short=${hdf5%%.*}.${short%%.*}
expect 0 recon -q -i 2 --threads 1 short.h5 -o short.npy
while read -r kind name more; do
    rm -f got.npy
    case $kind in
    image)
        expect 0 convert "$name" got.npy
        cmp -s image.npy got.npy || fail "$name: another image than the one that was copied"
        ;;
    refused)
        expect 3 info "$name"
        said "larmor: $name: $more was written by a newer HDF5, in a form that HDF5 $short does not read. Write it with libver \"v114\", or use the h5repack of a newer HDF5."
        ;;
    stopped)
        expect 0 recon -q -i 2 --threads 1 "$name" -o got.npy
        grep -q "$more of .* acquisitions were never written" err || fail "$name: what was not written is not said"
        cmp -s short.npy got.npy || fail "$name: another image than that of what was written"
        ;;
    esac
done <names
