#!/bin/sh
# Files that Python's h5py writes, whose HDF5 is mostly newer than larmor-reader's: the same image, bit by bit.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

python3 -c 'import h5py, numpy' 2>/dev/null || { echo "skipped: python3 has no h5py"; exit 77; }

expect 0 phantom -o good.h5 --traj radial --matrix 16 --coils 2 --noise 1e-3 -q
expect 0 recon -q -i 2 --threads 1 good.h5 -o good.npy

cat >rewrite.py <<'END'
import sys
import h5py
good = h5py.File("good.h5")
xml, data = good["dataset/xml"][0], good["dataset/data"][:]
kind = good["dataset/data"].dtype
for libver in "earliest", "v110", "v112", "v114", "latest":
    for block in 0, 512:
        for way, options in (("chunks", {"chunks": (8,), "maxshape": (None,)}), ("whole", {}),
                             ("fixed", {"chunks": (5,)}), ("packed", {"chunks": (64,), "compression": "gzip"})):
            if way == "packed" and libver == "latest" and h5py.version.hdf5_version_tuple >= (2, 0, 0):
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
