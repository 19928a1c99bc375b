#!/usr/bin/env python3
# same_place.py OURS.nii THEIRS.nii...: each volume of theirs has the values of one of ours at the same places, within 1e-4
# mm and 1e-4 of the largest; volumes of ours are all met. SPDX-License-Identifier: Apache-2.0
import struct
import sys

import numpy as np

TYPES = {4: np.int16, 8: np.int32, 16: np.float32, 512: np.uint16}


def read(path):
    with open(path, "rb") as f:
        data = f.read()
    dim = struct.unpack("<8h", data[40:56])
    size = [max(n, 1) for n in dim[1:5]]
    kind = TYPES[struct.unpack("<h", data[70:72])[0]]
    start, slope, inter = struct.unpack("<3f", data[108:120])
    affine = np.vstack([np.frombuffer(data[280:328], "<f4").reshape(3, 4), [0, 0, 0, 1]]).astype(float)
    values = np.frombuffer(data, kind, int(np.prod(size)), int(start)).astype(float).reshape(size, order="F")
    return affine, values * (slope or 1) + inter


def main():
    affine, ours = read(sys.argv[1])
    largest, met = np.abs(ours).max(), set()
    for path in sys.argv[2:]:
        theirs_affine, theirs = read(path)
        index = np.indices(theirs.shape[:3]).reshape(3, -1)
        to_ours = np.linalg.inv(affine) @ theirs_affine
        exact = to_ours[:3, :3] @ index + to_ours[:3, 3:]
        near = np.rint(exact).astype(int)
        off = np.abs(affine[:3, :3] @ (exact - near)).max()
        if off > 1e-4:
            sys.exit(f"{path}: voxels lie {off:.2g} mm from ours")
        there = ours[tuple(near)]
        for v in range(theirs.shape[3]):
            apart = np.abs(there - theirs[..., v].reshape(-1, 1)).max(axis=0) / largest
            if apart.min() > 1e-4:
                sys.exit(f"{path}: volume {v} is none of ours: {apart.min():.2g}")
            met.add(int(apart.argmin()))
    if len(met) != ours.shape[3]:
        sys.exit(f"{len(met)} of {ours.shape[3]} volumes were found")


main()
