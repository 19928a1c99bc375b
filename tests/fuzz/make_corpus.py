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

OPTIONS = ["recon = {method = \"tv\", iters = 12, lambda = 'noise:2', weighted = true, output = [\"a.h5\", \"b\"]}\n",
           "# scan\n[recon]\nfov = [ 200, 220 ]\r\nmemory = '8G'\ndcf=\"pipe\" # how\ntol = 1e-3\nnote = \"\\\"\\\\ \\n\"\n"]


SEQUENCE = """[VERSION]
major 1
minor 5
revision 1

[DEFINITIONS]
BlockDurationRaster 1e-05
FOV 0.2 0.2 0.005
Name fuzz

[BLOCKS]
1 20 1 0 0 0 0 0
2 40 0 1 2 3 1 1
3 40 2 4 5 0 2 4

[RF]
1 2500 1 2 0 50 20 0 0 0 0 e
2 5000 1 2 0 50 20 0 0 0 0 r

[TRAP]
1 1000 100 200 100 0

[GRADIENTS]
2 1000 0 0 3 0 10
3 2000 0 0 3 -1 0
4 2000 0 0 4 5 0
5 500 10 20 3 0 0

[ADC]
1 20 10000 20 0 0 100 0.5 0
2 4 10000 0 0 0 0 0 4

[SHAPES]

shape_id 1
num_samples 100
1
0
0
97

shape_id 2
num_samples 100
0
0
98

shape_id 3
num_samples 5
0.1
0.2
0.3
0.2
0.1

shape_id 4
num_samples 4
0
1
1
0

shape_id 5
num_samples 4
0
1
2
4

[EXTENSIONS]
1 1 1 2
2 2 1 3
3 3 1 0
4 4 1 0

extension LABELSET 1
1 3 LIN

extension LABELINC 2
1 1 SLC

extension ROTATIONS 3
1 0.5 0.5 0.5 0.5

extension DELAYS 4
1 0 100 2 TE

[SIGNATURE]
Type md5
Hash 00
"""

OLD_SEQUENCE = """[VERSION]
major 1
minor 3
revision 1
[BLOCKS]
1 1 1 0 0 0 0 0
2 0 0 1 2 0 1 1
3 0 0 2 0 0 1 0
[RF]
1 2500 1 2 20 0 0
[TRAP]
1 1000 100 200 100 0
[GRADIENTS]
2 1000 3 10
[ADC]
1 20 10000 20 0 0
[DELAYS]
1 1000
[SHAPES]
shape_id 1
num_samples 100
1
0
0
97

shape_id 2
num_samples 100
0
0
98

shape_id 3
num_samples 9
0.1
0.1
7
[EXTENSIONS]
1 1 1 0
extension LABELSET 1
1 3 NAV
"""


def binary_sequence():
    """Two blocks, a pulse, a trapezoid, a shaped gradient, an ADC event and labels."""
    def section(code, count):
        return struct.pack("<Qq", 0xFFFFFFFF00000000 | code, count)

    shapes = struct.pack("<iqq4f", 1, 100, 4, 1, 0, 0, 97) + struct.pack("<iqq3f", 2, 100, 3, 0, 0, 98)
    return b"".join([
        b"\x01pulseq\x02", struct.pack("<3q", 1, 5, 2),
        section(1, 1), struct.pack("<i3sic3d", 3, b"FOV", 3, b"f", .2, .2, .005),
        section(2, 2), struct.pack("<q6i", 40, 1, 1, 2, 0, 0, 1), struct.pack("<q6i", 200, 0, 0, 0, 0, 1, 0),
        section(3, 1), struct.pack("<id3iqq4dc", 1, 2500, 1, 2, 0, 50000000, 20000000, 0, 0, 0, 0, b"e"),
        section(4, 1), struct.pack("<i3d2iq", 2, 1000, 0, 0, 1, 0, 0),
        section(5, 1), struct.pack("<id4q", 1, 1000, 100000000, 200000000, 100000000, 0),
        section(6, 1), struct.pack("<i3q4di", 1, 20, 10000000, 20000000, 0, 0, 0, 0, 0),
        section(8, 2), shapes,
        section(9, 2), struct.pack("<8i", 1, 1, 1, 2, 2, 2, 1, 0),
        struct.pack("<Qiq3i", 0xFFFFFFFF0000000B, 1, 1, 1, 3, 8),
        struct.pack("<Qiqi4d", 0xFFFFFFFF0000000F, 2, 1, 1, .5, .5, .5, .5),
        struct.pack("<Qi3sihq", 0xFFFFFFFF00FFFFFF, 3, b"md5", 2, 7, 99)])


def twix(is_vb):
    """A measurement of two readouts of two channels, with a packet between them."""
    yaps = (b"### ASCCONV BEGIN ###\ntProtocolName = \"gre\"\nsKSpace.lBaseResolution = 4\nsKSpace.ucTrajectory = 0x1\n"
            b"sSliceArray.asSlice[0].dReadoutFOV = 200\nalTE[0] = 3000\nsPat.lAccelFactPE = 2\n### ASCCONV END ###\n\0")
    config = (b"<ParamDouble.\"flReadoutOSFactor\"> { <Precision> 6 2.0 }\n<ParamLong.\"alRegridRampupTime\"> { 30 0 }\n"
              b"<ParamString.\"tPatientName\"> { \"a\xf6<&\" }\n\0")
    text = b"".join(name + b"\0" + struct.pack("<I", len(data)) + data for name, data in ((b"Config", config), (b"MeasYaps", yaps)))
    text = struct.pack("<2I", 8 + len(text), 2) + text

    def mdh(mask, length):
        head = struct.pack("<5I", length, 7, 1, 1000, 5) + (b"" if is_vb else bytes(20))
        head += struct.pack("<Q20H2I2H", mask, 4, 2, *range(14), 0, 0, 2, 0, 0, 9, 1, 0)
        place = struct.pack("<7f", 1, 2, 3, 1, 0, 0, 0)
        return head + (bytes(16) + place + bytes(4) if is_vb else place + bytes(64))

    def readout(mask):
        channel = mdh(mask, 160) if is_vb else struct.pack("<3I", 64, 7, 1) + bytes(20)
        return (b"" if is_vb else mdh(mask, 320)) + 2 * (channel + struct.pack("<8f", *range(8)))

    size = 128 if is_vb else 192
    data = text + readout(1 << 25) + mdh(1 << 5, size + 32) + bytes(32) + readout(1 << 24) + mdh(1, size)
    if is_vb:
        return data
    return struct.pack("<2I2I2Q64s64s", 0, 1, 3, 4, 320, len(data), b"", b"gre") + bytes(160) + data


def mrd2():
    """A header of one encoding, a waveform and an acquisition, behind the schema."""
    space = b"\x10\x10\1" + struct.pack("<3f", 200, 200, 5)
    header = bytes(5) + b"\2\1" + 2 * space + bytes(18) + b"\4" + bytes(6)
    waveform = b"\1" + bytes(4) + struct.pack("<f", 1) + b"\0\2\2" + bytes(4)
    head = bytes(11) + b"\x87\x40" + bytes(9) + struct.pack("<15f", *range(15)) + bytes(2)
    return b"\1" + header + b"\2" + waveform + b"\0" + head + b"\1\2" + bytes(16) + b"\1\2" + bytes(8) + b"\0"


def stream():
    """A message of each kind."""
    def text(kind, content):
        return struct.pack("<HI", kind, len(content) + 1) + content + b"\0"

    parameters = b'{"version": "1.1.0", "parameters": {"config": "x", "a": [1, -2.5e3, true], "b": {"c": null}, "d": "\\u00e9"}}'
    readout = struct.pack("<HQ", 1, 1 << 7) + bytes(24) + struct.pack("<3H", 4, 2, 2) + bytes(128)
    readout += struct.pack("<5H", 0, 0, 2, 0, 2) + bytes(340 - 178)
    image = struct.pack("<2HQI3H", 1, 5, 0, 7, 3, 2, 1) + bytes(12) + struct.pack("<H", 1) + bytes(198 - 36)
    waveform = bytes(28) + struct.pack("<2H", 3, 2) + bytes(8)
    return b"".join([struct.pack("<H1024s", 1, b"larmor"), text(2, b"<config/>"), text(3, b"<ismrmrdHeader/>"), text(5, parameters),
                     struct.pack("<H", 1008), readout, bytes(4 * 2 * 4), bytes(4 * 2 * 2 * 4),
                     struct.pack("<H", 1022), image, struct.pack("<Q", 4), b"<a/>", bytes(3 * 2 * 4),
                     struct.pack("<H", 1026), waveform, bytes(3 * 2 * 4),
                     struct.pack("<4H2Q", 1030, 2, 0, 2, 2, 3), bytes(12), struct.pack("<H", 4)])


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
    for i, text in enumerate(OPTIONS):
        put(folder, "settings", "%d" % i, text.encode())
    put(folder, "header", "blank", b" ")
    put(folder, "stream", "messages", stream())
    put(folder, "pulseq", "text", SEQUENCE.encode())
    put(folder, "pulseq", "old", OLD_SEQUENCE.encode())
    put(folder, "pulseq", "binary", binary_sequence())
    put(folder, "mrd2", "all", mrd2())
    put(folder, "twix", "vb", twix(True))
    put(folder, "twix", "vd", twix(False))
    formats = [".cfl", ".npy", ".nii", ".nii.gz", ".png", ".h5", ".dcm"]
    put(folder, "image", "frames.dcm", bytes([formats.index(".dcm")]) + dicom())
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


def element(tag, vr, value):
    """An element of Explicit VR Little Endian; items and their ends have no VR."""
    head = struct.pack("<HH", tag >> 16, tag & 0xffff)
    if tag >> 16 == 0xfffe:
        return head + struct.pack("<I", len(value)) + value
    value += b"" if len(value) % 2 == 0 else b" "
    if vr == "SQ":
        return head + b"SQ\0\0" + struct.pack("<I", len(value)) + value
    return head + vr.encode() + struct.pack("<H", len(value)) + value


def dicom():
    """Two frames of Enhanced MR Image Storage, without pixels."""
    frames = b""
    for z in b"0", b"2.5":
        place = element(0xfffee000, "", element(0x00200032, "DS", b"1\\2\\" + z))
        axes = element(0xfffee000, "", element(0x00200037, "DS", b"1\\0\\0\\0\\1\\0"))
        frames += element(0xfffee000, "", element(0x00209113, "SQ", place) + element(0x00209116, "SQ", axes))
    return (bytes(128) + b"DICM" + element(0x00020010, "UI", b"1.2.840.10008.1.2.1\0") +
            element(0x00280008, "IS", b"2") + element(0x00280010, "US", b"\4\0") + element(0x00280011, "US", b"\6\0") +
            element(0x00280030, "DS", b"1\\2") + element(0x52009230, "SQ", frames))


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
