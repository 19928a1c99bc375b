# Damaged files: bits, cuts, splices, and changes that know the format. Each mutant is made from its number alone.
# SPDX-License-Identifier: Apache-2.0
import gzip
import re
import struct
import zlib

import hdf5map

NUMBERS = ["0", "-1", "1", "2", "3", "65535", "65536", "2147483647", "2147483648", "4294967295", "4294967296",
           "9223372036854775807", "18446744073709551616", "1e3", "1e308", "1e-308", "nan", "inf", "-inf", "0x10", "",
           "abc", "1.5", "-0", "+1", " 7 ", "00000000000000000001", "9" * 400]
EDGES = [0, 1, 2, 3, 7, 8, 15, 16, 255, 256, 32767, 32768, 65535, 65536, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**32,
         2**40, 2**48, 2**62, 2**63 - 1, 2**63, 2**64 - 8, 2**64 - 1]


def put(data, at, size, value):
    data[at:at + size] = (value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")


# ---- what fits any bytes; each returns the new bytes ----

def flip_bits(random, data):
    data = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return data


def set_bytes(random, data):
    data = bytearray(data)
    for _ in range(random.choice((1, 2, 4))):
        data[random.randrange(len(data))] = random.choice((0, 1, 127, 128, 255, random.randrange(256)))
    return data


def cut(random, data):
    return data[:random.choice((random.randrange(len(data)), len(data) - 1, random.randrange(min(len(data), 128))))]


def grow(random, data):
    return data + random.randbytes(random.choice((1, 7, 512, 4096)))


def blank(random, data):
    data = bytearray(data)
    first = random.randrange(len(data))
    count = min(random.choice((1, 4, 8, 64, 512, 4096)), len(data) - first)
    data[first:first + count] = bytes([random.choice((0, 255))]) * count
    return data


def scramble(random, data):
    data = bytearray(data)
    first = random.randrange(len(data))
    count = min(random.choice((2, 8, 16, 64, 256)), len(data) - first)
    data[first:first + count] = random.randbytes(count)
    return data


def splice(random, data):
    """A part of the file over another part."""
    data = bytearray(data)
    count = min(random.choice((4, 8, 16, 32, 256, 1024)), len(data) // 2)
    source, target = random.randrange(len(data) - count + 1), random.randrange(len(data) - count + 1)
    data[target:target + count] = data[source:source + count]
    return data


def leave_out(random, data):
    first = random.randrange(len(data))
    return data[:first] + data[first + random.choice((1, 2, 8, 100)):]


def insert(random, data):
    at = random.randrange(len(data))
    return data[:at] + random.randbytes(random.choice((1, 2, 8, 100))) + data[at:]


ANY = (flip_bits, flip_bits, flip_bits, set_bytes, cut, grow, blank, scramble, splice, leave_out, insert)


# ---- HDF5 ----

def hdf5_number(random, data, parts):
    """Numbers of the structure at their edges, a little off, or those of another place."""
    data = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        at, size, _ = random.choice(parts.fields)
        old = int.from_bytes(data[at:at + size], "little")
        how = random.randrange(6)
        if how == 0:
            new = random.choice(EDGES)
        elif how == 1:
            new = old + random.choice((-8, -1, 1, 2, 8, 64, 4096))
        elif how == 2:
            new = len(data) + random.choice((-1, 0, 1, 4096))
        elif how == 3:
            other = random.choice([f for f in parts.fields if f[1] == size])
            new = int.from_bytes(data[other[0]:other[0] + size], "little")
        elif how == 4:
            new = old ^ 1 << random.randrange(8 * size)
        else:
            new = old * random.choice((2, 3, 256, 65536))
        put(data, at, size, new)
    return data


def hdf5_structure(random, data, parts):
    """Bits of the structure alone."""
    data = bytearray(data)
    pieces = [p for p in parts.parts if p[2] in hdf5map.STRUCTURE and p[1] > p[0]]
    for _ in range(random.choice((1, 1, 2, 4))):
        first, end, _ = random.choice(pieces)
        data[random.randrange(first, end)] ^= 1 << random.randrange(8)
    return data


def hdf5_end(random, data, parts):
    """Cut short, but the superblock says so."""
    data = bytearray(data[:random.randrange(96, len(data))])
    put(data, 40, 8, len(data))
    return data


def hdf5_swap(random, data, parts):
    """Two parts of a kind change places."""
    data = bytearray(data)
    kind = random.choice(("reference", "tree", "header", "heap", "symbols"))
    pieces = [p for p in parts.parts if p[2] == kind]
    if len(pieces) > 1:
        a, b = random.sample(pieces, 2)
        size = min(a[1] - a[0], b[1] - b[0])
        data[a[0]:a[0] + size], data[b[0]:b[0] + size] = data[b[0]:b[0] + size], data[a[0]:a[0] + size]
    return data


def hdf5_attribute_or_head(random, data, parts):
    """Numbers in the elements: heads of readouts, references, extents of images."""
    data = bytearray(data)
    chunks = [p for p in parts.parts if p[2] in ("chunk", "contiguous") and p[1] - p[0] >= 8]
    if chunks:
        first, end, _ = random.choice(chunks)
        for _ in range(random.choice((1, 2))):
            size = random.choice((2, 4, 8))
            put(data, random.randrange(first, end - size + 1) & ~1, size, random.choice(EDGES))
    return data


HDF5 = (hdf5_number, hdf5_number, hdf5_number, hdf5_structure, hdf5_structure, hdf5_end, hdf5_swap,
        hdf5_attribute_or_head)


# ---- texts ----

def text_number(random, text):
    """A number becomes another one, or none."""
    places = list(re.finditer(rb"[-+]?[0-9][0-9.eE+-]*", text))
    if not places:
        return flip_bits(random, text)
    at = random.choice(places)
    return text[:at.start()] + random.choice(NUMBERS).encode() + text[at.end():]


def text_words(random, text):
    """Words or tags are left out, repeated or moved."""
    words = re.findall(rb"<[^>]*>|[^<\s]+|\s+", text)
    if len(words) < 3:
        return flip_bits(random, text)
    how, i, j = random.randrange(4), random.randrange(len(words)), random.randrange(len(words))
    if how == 0:
        del words[i]
    elif how == 1:
        words.insert(j, words[i])
    elif how == 2:
        words[i], words[j] = words[j], words[i]
    else:
        words[i:i + 1] = [words[i]] * random.choice((2, 50))
    return b"".join(words)


def text_odd(random, text):
    """What parsers stumble over."""
    odd = random.choice((b"\0", b"\xff\xfe", b"&#0;", b"&amp;", b"&x;", b"<!DOCTYPE x [<!ENTITY x 'y'>]>", b"<![CDATA[", b"]]>", b"<!--",
                         b"<a " + b"b='c' " * 200, b"<a>" * 70, b"\n" * 50, b"%s%n", b"'", b'"', b"{", b"}", b",",
                         b"\xc3", b"A" * 5000, "\u2028".encode()))
    at = random.randrange(len(text) + 1)
    return text[:at] + odd + text[at:]


TEXT = (text_number, text_number, text_number, text_words, text_words, text_odd, flip_bits, cut, leave_out)


# ---- formats; each takes the files of a seed and returns those of the mutant ----

def hdf5(random, seed):
    data = seed.files[seed.name]
    if random.random() < 0.35:
        return {seed.name: bytes(random.choice(ANY)(random, data))}
    return {seed.name: bytes(random.choice(HDF5)(random, data, seed.parts))}


def header(random, seed):
    """The XML header of a scan, which a fixed-length string with room at its end holds."""
    data, first, room = seed.files[seed.name], seed.text_at, seed.text_room
    text = data[first:first + room].rstrip(b" \0")
    for _ in range(random.choice((1, 1, 2, 3))):
        text = bytes(random.choice(TEXT)(random, text)) or b" "
    return {seed.name: data[:first] + text[:room].ljust(room, b" ") + data[first + room:]}


def text(random, seed):
    changed = seed.files[seed.name]
    for _ in range(random.choice((1, 1, 2, 3))):
        changed = bytes(random.choice(TEXT)(random, changed or b" "))
    return {seed.name: changed}


def cfl(random, seed):
    stem = seed.name[:-len(".cfl")]
    files = dict(seed.files)
    if random.random() < 0.7:
        files[stem + ".hdr"] = bytes(random.choice(TEXT)(random, files[stem + ".hdr"]))
    else:
        files[seed.name] = bytes(random.choice(ANY)(random, files[seed.name]))
    return files


def npy(random, seed):
    data = seed.files[seed.name]
    end = 10 + int.from_bytes(data[8:10], "little")
    how = random.randrange(4)
    if how == 0:
        return {seed.name: bytes(random.choice(ANY)(random, data))}
    if how == 1:
        changed = bytearray(data)
        put(changed, random.choice((6, 7, 8)), random.choice((1, 2)), random.choice(EDGES))
        return {seed.name: bytes(changed)}
    text = bytes(random.choice(TEXT)(random, data[10:end]))
    room = end - 10 if how == 2 else min(len(text), 65535)
    return {seed.name: data[:8] + struct.pack("<H", room) + text[:room].ljust(room) + data[end:]}


NIFTI_SHORTS = [40 + 2 * i for i in range(8)] + [36, 68, 70, 72, 74, 120, 252, 254]
NIFTI_FLOATS = [76 + 4 * i for i in range(8)] + [108, 112, 116, 124, 128, 132, 136] + list(range(256, 328, 4))


def nifti_bytes(random, data):
    changed = bytearray(data)
    how = random.randrange(4)
    if how == 0:
        return random.choice(ANY)(random, data)
    if how == 1:
        changed[random.randrange(352)] ^= 1 << random.randrange(8)
    for _ in range(random.choice((1, 2))):
        if how == 2:
            put(changed, random.choice(NIFTI_SHORTS), 2, random.choice(EDGES + [-1, -2, 5, 4, 64, 512, 1792]))
        elif how == 3:
            value = random.choice((0.0, -1.0, 352.0, 351.0, 1e30, float("nan"), float("inf"), 16.0, 1e-40))
            struct.pack_into("<f", changed, random.choice(NIFTI_FLOATS), value)
    return changed


def nifti(random, seed):
    data = seed.files[seed.name]
    if not seed.name.endswith(".gz"):
        return {seed.name: bytes(nifti_bytes(random, data))}
    if random.random() < 0.4:
        return {seed.name: bytes(random.choice(ANY)(random, data))}
    return {seed.name: gzip.compress(bytes(nifti_bytes(random, gzip.decompress(data))), mtime=0)}


def png(random, seed):
    data = seed.files[seed.name]
    if random.random() < 0.4:
        return {seed.name: bytes(random.choice(ANY)(random, data))}
    chunks, at = [], 8
    while at + 12 <= len(data):
        size = int.from_bytes(data[at:at + 4], "big")
        chunks.append([data[at + 4:at + 8], data[at + 8:at + 8 + size], size])
        at += 12 + size
    for _ in range(random.choice((1, 2))):
        how, i = random.randrange(5), random.randrange(len(chunks))
        if how == 0:
            chunks[i][1] = bytes(random.choice(ANY)(random, chunks[i][1])) if chunks[i][1] else b"x"
        elif how == 1:
            chunks.insert(random.randrange(len(chunks) + 1), list(chunks[i]))
        elif how == 2 and len(chunks) > 1:
            del chunks[i]
        elif how == 3:
            chunks[i][2] = random.choice(EDGES) & 0xFFFFFFFF
        else:
            head = bytearray(chunks[0][1].ljust(13, b"\0"))
            head[random.randrange(13)] = random.choice((0, 1, 3, 16, 127, 255))
            chunks[0][1] = bytes(head)
    out = data[:8]
    for kind, body, size in chunks:
        out += struct.pack(">I", size if size > 0x1000000 else len(body)) + kind + body
        out += struct.pack(">I", zlib.crc32(kind + body))
    return {seed.name: out}


def kinds_touched(seed, files):
    """Which parts of an HDF5 seed a mutant of the same length differs in; None if the lengths differ."""
    old, new = seed.files[seed.name], files[seed.name]
    if len(old) != len(new):
        return None
    found = set()
    for first in range(0, len(old), 256):
        if old[first:first + 256] == new[first:first + 256]:
            continue
        for i in range(first, min(first + 256, len(old))):
            if old[i] != new[i]:
                found.add(seed.parts.kind_at(i))
    return found
