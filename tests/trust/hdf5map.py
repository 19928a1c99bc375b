# Where the parts of a small HDF5 file are: superblock, object headers, trees, heaps, chunks, values. It is for files
# that the seeds' writers have made (version 0 and the oldest object headers), not for damaged ones.
# Source: HDF5 File Format Specification 3.0, sections II to IV. SPDX-License-Identifier: Apache-2.0
import struct

NOWHERE = 0xFFFFFFFFFFFFFFFF
STRUCTURE = ("superblock", "symbols", "tree", "header", "heap", "reference")


class Map:
    """parts: (first, end, kind) without overlaps, in the order in which they were found; fields: (offset, bytes, what) of numbers whose
    change is worth trying: lengths, counts, addresses, versions."""

    def __init__(self, data):
        self.data = data
        self.parts = []
        self.fields = []
        self.seen = set()
        self.heaps = {}
        self.number(24, 8, "base"), self.number(40, 8, "end"), self.number(16, 2, "leaf"), self.number(18, 2, "node")
        for at in (8, 9, 10, 12, 13, 14):
            self.number(at, 1, "version")
        self.part(0, 96, "superblock")
        self.symbol(56)
        self.find_heaps()
        self.find_references()

    def u(self, at, size):
        return int.from_bytes(self.data[at:at + size], "little")

    def part(self, first, end, kind):
        self.parts.append((first, min(end, len(self.data)), kind))

    def number(self, at, size, what):
        self.fields.append((at, size, what))

    def once(self, address):
        if address == NOWHERE or address >= len(self.data) or address in self.seen:
            return False
        self.seen.add(address)
        return True

    # ---- groups ----

    def symbol(self, at):
        """A symbol table entry: name, object header, cached tree and names of a group."""
        self.number(at, 8, "name"), self.number(at + 8, 8, "address"), self.number(at + 16, 4, "cache")
        self.object_header(self.u(at + 8, 8))
        if self.u(at + 16, 4) == 1:
            self.number(at + 24, 8, "address"), self.number(at + 32, 8, "address")

    def group(self, tree, names):
        if self.once(names) and self.data[names:names + 4] == b"HEAP":
            self.part(names, names + 32, "names")
            size, address = self.u(names + 8, 8), self.u(names + 24, 8)
            for at in (8, 16, 24):
                self.number(names + at, 8, "names")
            self.part(address, address + size, "names")
        self.tree(tree, None)

    def tree(self, at, rank):
        """A node of a tree, version 1: of a group if rank is None, else of a dataset's chunks."""
        if not self.once(at) or self.data[at:at + 4] != b"TREE":
            return
        entries = self.u(at + 6, 2)
        self.number(at + 4, 1, "node"), self.number(at + 5, 1, "level"), self.number(at + 6, 2, "count")
        self.number(at + 8, 8, "address"), self.number(at + 16, 8, "address")
        key = 8 if rank is None else 8 + 8 * (rank + 1)
        first = at + 24
        self.part(at, first + entries * (key + 8) + key, "tree")
        for i in range(entries):
            place = first + i * (key + 8)
            child = self.u(place + key, 8)
            self.number(place + key, 8, "address")
            if rank is None:
                self.number(place, 8, "name")
                self.tree(child, None) if self.data[at + 5] else self.symbols(child)
                continue
            self.number(place, 4, "length"), self.number(place + 4, 4, "mask")
            for d in range(rank + 1):
                self.number(place + 8 + 8 * d, 8, "offset")
            if self.data[at + 5]:
                self.tree(child, rank)
            elif self.once(child):
                self.part(child, child + self.u(place, 4), "chunk")

    def symbols(self, at):
        if not self.once(at) or self.data[at:at + 4] != b"SNOD":
            return
        count = self.u(at + 6, 2)
        self.number(at + 6, 2, "count")
        self.part(at, at + 8 + 40 * count, "symbols")
        for i in range(count):
            self.symbol(at + 8 + 40 * i)

    # ---- objects ----

    def object_header(self, at):
        if not self.once(at) or self.data[at] != 1:
            return
        count, size = self.u(at + 2, 2), self.u(at + 8, 4)
        self.part(at, at + 16, "header")
        self.number(at, 1, "version"), self.number(at + 2, 2, "count"), self.number(at + 8, 4, "length")
        self.layout = self.rank = self.tables = None
        blocks = [(at + 16, size)]
        while blocks:
            place, room = blocks.pop(0)
            self.part(place, place + room, "header")
            end = place + room
            while place + 8 <= end:
                kind, length = self.u(place, 2), self.u(place + 2, 2)
                self.number(place, 2, "kind"), self.number(place + 2, 2, "length"), self.number(place + 4, 1, "flags")
                self.message(kind, place + 8, length, blocks)
                place += 8 + length
        self.storage()

    def message(self, kind, at, length, blocks):
        for i in range(0, length, 4):  # every word of a message is a number of some kind
            self.number(at + i, min(4, length - i), "message %d" % kind)
        if kind == 0x01:
            self.rank = self.data[at + 1]
            for d in range(self.rank):
                self.number(at + 8 + 8 * d, 8, "extent")
        elif kind == 0x08 and self.data[at] == 3:
            self.layout = at
        elif kind == 0x10:
            blocks.append((self.u(at, 8), self.u(at + 8, 8)))
        elif kind == 0x11:
            self.tables = (self.u(at, 8), self.u(at + 8, 8))

    def storage(self):
        if self.tables:
            tables, self.tables = self.tables, None
            self.group(*tables)
        if self.layout is None:
            return
        at = self.layout
        if self.data[at + 1] == 1:
            self.number(at + 2, 8, "address"), self.number(at + 10, 8, "length")
            address = self.u(at + 2, 8)
            if self.once(address):
                self.part(address, address + self.u(at + 10, 8), "contiguous")
        elif self.data[at + 1] == 2:
            rank = self.data[at + 2]
            self.number(at + 3, 8, "address")
            for d in range(rank):
                self.number(at + 11 + 4 * d, 4, "chunk size")
            self.tree(self.u(at + 3, 8), rank - 1)

    # ---- values of varying length ----

    def find_heaps(self):
        at = self.data.find(b"GCOL")
        while at >= 0:
            size = self.u(at + 8, 8)
            self.heaps[at] = size
            self.part(at, at + 16, "heap")
            self.number(at + 8, 8, "length")
            place = at + 16
            while place + 16 <= at + size:
                index, length = self.u(place, 2), self.u(place + 8, 8)
                self.part(place, place + 16, "heap")
                self.number(place, 2, "index"), self.number(place + 8, 8, "length")
                if not index:
                    break
                self.part(place + 16, place + 16 + length, "values")
                place += 16 + (length + 7) // 8 * 8
            at = self.data.find(b"GCOL", at + 8)

    def find_references(self):
        for address in self.heaps:
            word = struct.pack("<Q", address)
            at = self.data.find(word)
            while at >= 0:
                if at >= 4 and 0 < self.u(at + 8, 4) < 65536:
                    self.part(at - 4, at + 12, "reference")
                    self.number(at - 4, 4, "length"), self.number(at, 8, "address"), self.number(at + 8, 4, "index")
                at = self.data.find(word, at + 1)

    def kind_at(self, offset):
        """The last part found is the finest: a reference lies in a chunk."""
        for first, end, kind in reversed(self.parts):
            if first <= offset < end:
                return kind
        return "gap"
