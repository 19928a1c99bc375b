#!/usr/bin/env python3
"""Seeds of the fuzzing targets, made by larmor's own writers: make_corpus.py LARMOR MAKE_SEEDS FOLDER.

SPDX-License-Identifier: Apache-2.0
"""
import os
import struct
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "trust"))
sys.dont_write_bytecode = True

import running  # noqa: E402
import seeds  # noqa: E402

LINES = ["recon scan.h5 -o image.nii --method tv --lambda 0.01 --iters 20", "info --json scan.h5 --group=dataset",
         "phantom -o s.h5 --traj stars --matrix 8,8,4 --tiny 7 --noise 1e-3", "traj -o t.cfl --traj spiral --density 2",
         "compare a.npy b.nii --tol 1e-3 --inside 2 -q", "convert --traj t.cfl --kspace k.cfl -o s.h5 --fov 200,200",
         "nufft --type 3 -t t.npy --targets s.npy x.npy -o y.npy --tol 1e-9", "recon -- -x.h5 -f -q --memory 512M --window 0,1",
         "devices --json", "version"]


def put(folder, target, name, data):
    os.makedirs(os.path.join(folder, target), exist_ok=True)
    running.write(os.path.join(folder, target, name), data)


def main():
    larmor, make_seeds, folder = (os.path.abspath(p) for p in sys.argv[1:4])
    with tempfile.TemporaryDirectory() as scratch:
        runner = running.Runner(larmor, os.path.join(scratch, "seeds"))
        found = seeds.make(runner, make_seeds)
    for i, line in enumerate(LINES):
        put(folder, "arguments", "%d" % i, b"\0".join(line.encode().split()))
    put(folder, "header", "blank", b" ")
    formats = [".cfl", ".npy", ".nii", ".nii.gz", ".png", ".h5"]
    for seed in found:
        data = seed.files[seed.name]
        if seed.kind == "scan":
            put(folder, "scan", seed.name, data)
            put_parts(folder, seed, data)
        elif seed.kind == "header":
            put(folder, "header", "header", data[seed.text_at:seed.text_at + seed.text_room].rstrip(b" \0"))
        elif seed.kind == "wisdom":
            put(folder, "wisdom", "wisdom", data)
        elif seed.kind in ("image.h5", "npy", "nifti", "png", "cfl"):
            suffix = seed.name[seed.name.index("."):]
            if suffix == ".cfl":
                data = seed.files[seed.name[:-4] + ".hdr"] + b"\0" + data
            put(folder, "image", seed.name, bytes([formats.index(suffix)]) + data)


def put_parts(folder, seed, data):
    """What the heap's and the filters' targets take, from a scan; references beyond its first 64 KB are of no use."""
    places = [p[0] for p in seed.parts.parts if p[2] == "reference"][:8]
    if places:
        references = b"".join(data[at:at + 16] for at in places).ljust(8 * 16, b"\0")
        put(folder, "heap", seed.name, references + data)
    for first, end, kind in seed.parts.parts:
        if kind == "chunk":
            body = data[first:end]
            if seed.name == "packed.h5":
                put(folder, "filter", "%s-%d" % (seed.name, first), filters((2, 1, 3), 376, 8 * 376) + body)
            else:
                packed = zlib.compress(body)
                put(folder, "filter", "%s-%d" % (seed.name, first), filters((1,), 376, len(body)) + packed)
            break
    xml = data.find(b"<?xml")
    if xml >= 0:
        put(folder, "header", seed.name, data[xml:data.index(b"</ismrmrdHeader>") + 16])


def filters(which, element, size):
    """The head of fuzz_filter's input."""
    return bytes([len(which)]) + bytes(f - 1 for f in which) + b"\0" + struct.pack("<H", element - 1) + (size - 1).to_bytes(3, "little")


if __name__ == "__main__":
    main()
