#!/bin/sh
# --report and -o image.html: a page holds the images, to the 8 bits that it says, and what else it shows.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
cat >page.py <<'END'
import base64, json, re, struct, sys, zlib

def data_of(path):
    html = open(path, encoding="utf-8").read()
    parts = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    assert len(parts) == 1, f"{len(parts)} scripts of data"
    assert not re.search(r'(src|href)="(?!data:)[^"]+"|https?://(?!www\.w3\.org/2000/svg)', html.replace(parts[0], "")), "it needs something else"
    return json.loads(parts[0])

def pixels(picture):
    """Width, height, bytes a pixel, and rows of a PNG of 8 bits."""
    png = base64.b64decode(picture.split(",")[1])
    at, packed = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        if kind == b"IHDR": width, height, _, colour = struct.unpack(">IIBB", png[at + 8:at + 18])
        if kind == b"IDAT": packed += png[at + 8:at + 8 + size]
        at += 12 + size
    each, raw, rows, above = {0: 1, 2: 3}[colour], zlib.decompress(packed), [], None
    for y in range(height):
        kind, row = raw[y * (width * each + 1)], bytearray(raw[y * (width * each + 1) + 1:(y + 1) * (width * each + 1)])
        above = above or bytearray(len(row))
        for i in range(len(row)):
            a, b, c = row[i - each] if i >= each else 0, above[i], above[i - each] if i >= each else 0
            p = a + b - c
            nearest = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            row[i] = (row[i] + [0, a, b, (a + b) // 2, nearest][kind]) % 256
        rows.append(row)
        above = row
    return width, height, each, rows

def values(v, name="grey"):
    """[frame][z][y][x] of a volume, as a page unpacks it."""
    nx, ny, nz = -(-v["n"][0] // v["shrink"]), -(-v["n"][1] // v["shrink"]), v["n"][2]
    width, height, each, rows = pixels(v[name])
    columns = width // nx
    tile = lambda t, y: rows[t // columns * ny + y][t % columns * nx:(t % columns + 1) * nx]
    return [[[tile(f * nz + z, y) for y in range(ny)] for z in range(nz)] for f in range(len(v["frames"]))]
END
look() { PYTHONPATH=. python3 -c "from page import *; import cmath, math
$1" || fail "$last: $1"; }
floats() { tail -c +129 "$1" | od -An -v -tf4 -w4 >"$2"; } # of a .npy, a number a line

# Two slices of three repetitions are a volume of two planes in three frames; each voxel is the root of its magnitude.
expect 0 phantom -o 'a<b.h5' --traj golden --matrix 24,20 --coils 4 --snr 30 --slices 2 --repetitions 3 -q
expect 0 recon 'a<b.h5' -o image.h5 -o image.npy --report page.html --method tv -q
floats image.npy numbers
look "
d = data_of('page.html'); v, = d['volumes']
assert v['n'] == [24, 20, 2] and len(v['frames']) == 3 and v['shrink'] == 1 and d['title'] == 'a<b.h5', v['n']
x = [float(s) for s in open('numbers')]; x = [complex(*p) for p in zip(x[::2], x[1::2])]
grey, phase, largest = values(v), values(v, 'phase'), max(map(abs, x))
assert abs(v['largest'] / largest - 1) < 1e-5
for i, s in enumerate(x):
    at = i // 960, i // 480 % 2, i // 24 % 20, i % 24
    g, p = (a[at[0]][at[1]][at[2]][at[3]] for a in (grey, phase))
    assert abs(g / 255 - math.sqrt(abs(s) / largest)) < .51 / 255, (at, g, s)
    if abs(s) > .021 * largest: assert abs(cmath.phase(cmath.rect(1, ((p - 1) / 254 - .5) * 2 * math.pi) / s)) < .02, (at, p, s)
    if abs(s) < .019 * largest: assert p == 0
r = d['reports'][0]
assert dict(r['figures'])['method'] == 'tv' and len(d['reports']) == 6 and len(r['rings']) == 8
assert len(r['weights']) > 3 and r['weights'] == sorted(r['weights']) and len(r['misfits']) == len(r['weights'])
assert r['weights'][0] <= r['chosen'] <= r['weights'][-1]
assert d['maps']['coils'] == 4 and d['trajectory']['nd'] == 2 and len(d['trajectory']['lines']) > 10
s = dict(d['settings']); assert s['method'] == 'tv' and 'page.html' in s['command']
assert any('lambda' in l for l in d['log']), d['log']
density = d['trajectory']['density']; assert density[0] > 5 > density[-2] > .5, density
"
# What the log warns of stands first.
expect 0 phantom -o few.h5 --traj cartesian --matrix 32 --coils 1 --partial-fourier 0.6 -q
expect 0 recon few.h5 -o few.npy --report few.html --partial-fourier zero --method cg -q
look "assert any('partial Fourier' in w for w in data_of('few.html')['warnings'])"

# Images without a reconstruction, of any file that has them; a volume is planes of one image.
expect 0 convert image.h5 same.html
look "assert data_of('same.html')['volumes'] == data_of('page.html')['volumes']"
expect 0 phantom -o koosh.h5 --traj koosh --matrix 12,14,10 --coils 2 --truth truth.npy -q
expect 0 convert truth.npy truth.html
look "v, = data_of('truth.html')['volumes']; assert v['n'] == [12, 14, 10] and len(values(v)[0]) == 10"

# Pictures get smaller, then frames fewer, so that a page stays below 5 MB.
python3 - <<'END'
import random, struct
for name, n in ("large.npy", (256, 256, 64)), ("long.npy", (64, 64, 1, 400)):
    head = str({"descr": "<f4", "fortran_order": True, "shape": n}).encode()
    head += b" " * ((64 - (11 + len(head)) % 64) % 64) + b"\n"
    count = 1
    for k in n: count *= k
    bits = random.Random(1).randbytes(count)
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
        f.write(struct.pack(f"<{count}f", *bits))
END
for name in large long; do
    expect 0 convert $name.npy $name.html
    [ "$(wc -c <$name.html)" -lt 5000000 ] || fail "$name.html has $(wc -c <$name.html) bytes"
done
look "v, = data_of('large.html')['volumes']; assert v['shrink'] > 1 and 'grey' in v"

# What cannot be is said before the work.
expect 2 recon 'a<b.h5' -o x.npy --report page.txt -q
said 'larmor: --report page.txt: a name that ends in .html expected.'
expect 5 recon 'a<b.h5' -o x.npy --report page.html -q
[ ! -e x.npy ] || fail "x.npy is there"
expect 2 info page.html
said "larmor: page.html: the suffix names no format that can be read; use one of .h5, .nii, .nii.gz, .cfl, .npy"
