"""Writes .npy files in Fortran order, by Python's own library alone. SPDX-License-Identifier: Apache-2.0"""
import struct


def save(path, shape, values, kind="f"):
    """kind: f in single and d in double precision."""
    head = "{'descr': '<f%d', 'fortran_order': True, 'shape': %s, }" % (struct.calcsize(kind), tuple(shape))
    head += " " * ((54 - len(head)) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        f.write(struct.pack("<%d%s" % (len(values), kind), *values))
