#!/usr/bin/env python3
"""The tables of nufft/choose/cost_table.c from what nufft_rates printed.

    rates.py processor.txt gpu.txt > nufft/choose/cost_table.c

Needs numpy. Least squares of relative errors; what a fit would make negative is zero. A width that a precision does
not reach costs as much more than the last as it does in double precision. SPDX-License-Identifier: Apache-2.0"""
import sys
import numpy as np

WIDTHS = range(2, 17)
SIDE = (2048, 32, 16)  # of a processor's tiles, as in nufft/cpu/tiles.h
CHUNK, CHUNKS, FEW = 512, 64, 27
START = {"gpu": 3e3}       # ns of a kernel's launch


def solve(columns, times):
    """Not negative x with columns x ~ times, relatively."""
    a, active = np.array(columns, float) / np.array(times)[:, None], list(range(len(columns[0])))
    x = np.zeros(len(active))
    while active:
        part = np.linalg.lstsq(a[:, active], np.ones(len(a)), rcond=None)[0]
        x[:] = 0
        x[active] = part
        if (part >= 0).all():
            break
        active = [c for c, v in zip(active, part) if v > 0]
    return x


def read(path):
    lines = [line.split() for line in open(path)]
    return lines[0][1].rstrip(":"), lines


def touched(side, ndim, m):
    """Cells that a GPU brings to shared memory, as lmr_nufft_cost_points has it."""
    return -np.expm1(-m * SIDE[ndim - 1] ** ndim / side ** ndim) * side ** ndim


def portions(kind, ndim, side, width, m):
    """What a processor's threads share: padded cells, and how much longer one of two works than its share."""
    tiles = max(1, side // SIDE[ndim - 1]) ** ndim
    volume = (side / max(1, side // SIDE[ndim - 1]) + width) ** ndim
    occupied = -tiles * np.expm1(-m / tiles)
    each, size = m / occupied, max(CHUNK, m / CHUNKS)
    chunks = np.ceil(each / size)
    cut = each > 2 * size or (ndim == 3 and 1 < tiles <= FEW)
    count = occupied * (chunks if kind == 2 or cut else 1)
    whole = max(1, np.rint(count))
    return volume * count * (2 if kind == 1 and cut else 1), np.ceil(whole / 2) * 2 / whole


def point_rows(lines, device, precision, kind, ndim, width, method):
    for p in lines:
        if p[0] != "points" or int(p[1]) != kind or p[2] != precision or int(p[3]) != ndim or int(p[4]) != width:
            continue
        if int(p[9]) != method:
            continue
        cells, m, batch, per_pass = float(p[5]) ** ndim, float(p[6]), float(p[7]), float(p[8])
        padded, longer = (touched(int(p[5]), ndim, m), 1) if device == "gpu" else \
            portions(kind, ndim, int(p[5]), width, m)
        columns = (longer * np.ceil(batch / per_pass) * m, longer * batch * m, longer * batch * padded)
        yield columns, 1e9 * float(p[11]) - START.get(device, 0), m / cells


def points(lines, device, precision, kind, ndim):
    """ns for each point and pass; and for each width: a value, a cell, a value by threads that use no tiles."""
    gm = device == "gpu" and kind == 2 and ndim == 1
    rows = {w: list(point_rows(lines, device, precision, kind, ndim, w, 1 if gm else 0)) for w in WIDTHS}
    rows = {w: r for w, r in rows.items() if r}
    dense = {w: [r for r in rs if device != "gpu" or r[2] > 0.1] for w, rs in rows.items()}
    each = {w: solve([c for c, _, _ in rs], [t for _, t, _ in rs]) for w, rs in dense.items()}
    point = float(np.median([x[0] for x in each.values()]))
    value, pad, sparse = {}, {}, {}
    for w, rs in dense.items():
        left = [(c[1:], t - point * c[0], t) for c, t, _ in rs]
        a = [np.array(c) / t for c, _, t in left]
        b = [rest / t for _, rest, t in left]
        x = np.maximum(np.linalg.lstsq(np.array(a), np.array(b), rcond=None)[0], 0)
        if x.min() == 0:
            k = int(np.argmax(x))
            col = np.array([r[k] for r in a])
            x[k] = max(col @ np.array(b) / (col @ col), 0)
        value[w], pad[w] = x
        if device == "gpu" and ndim > 1:
            alone = list(point_rows(lines, device, precision, kind, ndim, w, 1 if kind == 2 else 0))
            thin = [t / c[1] for c, t, density in alone if density < 0.1]
            sparse[w] = float(np.mean(thin))
    return point, value, pad, sparse


def factors(n):
    e = []
    for prime in (2, 3, 5, 7):
        e.append(0)
        while n % prime == 0:
            n //= prime
            e[-1] += 1
    return e


def lines_left(device, cells, modes, ndim):
    """Of an FFT's lines along all axes, as nufft/choose/cost.c has it."""
    return sum((modes / cells) ** d for d in range(ndim)) / ndim if device == "gpu" else 1


def grid(lines, device, precision, ndim):
    """ns: of an execute, and for each cell: always, and for each factor 2, 3, 5 and 7 of a side."""
    columns, times = [], []
    for g in lines:
        if g[0] != "grid" or g[2] != precision or int(g[3]) != ndim or int(g[6]) != 1:
            continue
        n = int(g[4])
        if n % 4 or n < (1000 if ndim == 1 else 24):
            continue
        if device == "cpu" and n / int(g[5]) > 1.8:
            continue
        cells = float(n) ** ndim * lines_left(device, n, int(g[5]), ndim)
        columns.append([1, cells] + [cells * e for e in factors(n)])
        times.append(1e9 * float(g[8]))
    x = solve(columns, times)
    miss = np.array(columns) @ x / np.array(times) - 1
    sys.stderr.write(f"grid {precision} {ndim}D: rms {np.sqrt((miss ** 2).mean()):.2f}\n")
    return x


def extended(values, by):
    """To all widths, with the growth of `by`."""
    last = max(values)
    return [values[w] if w in values else values[last] * by[w] / max(by[last], 1e-9) for w in WIDTHS]


def text(numbers):
    return "{" + ", ".join(f"{x:.3g}" for x in numbers) + "}"


def table(path, threads):
    device, lines = read(path)
    device = "gpu" if device == "cuda" else "cpu"
    for p in lines:  # as on one thread
        if p[0] == "points":
            p[11] = float(p[11]) * threads
        elif p[0] == "grid":
            p[8] = float(p[8]) * threads
    print(f"/* {' '.join(lines[0][1:])} */")
    print(f"const lmr_nufft_rates lmr_nufft_{'gpu' if device == 'gpu' else 'processor'}_rates[LMR_PRECISIONS] = {{")
    double = {(k, d): points(lines, device, "double", k, d) for k in (1, 2) for d in (1, 2, 3)}
    for precision, name in (("single", "LMR_F32"), ("double", "LMR_F64")):
        print(f"    [{name}] = {{.points = {{")
        for kind in (1, 2):
            print("        {")
            for ndim in (1, 2, 3):
                point, value, pad, sparse = points(lines, device, precision, kind, ndim)
                wide = double[kind, ndim]
                print(f"         {{.point = {point:.3g},")
                print(f"          .value = {text(extended(value, wide[1]))},")
                tail = f",\n          .sparse = {text(extended(sparse, wide[3]))}" if sparse else ""
                print(f"          .pad = {text(extended(pad, wide[2]))}{tail}}},")
            print("        },")
        print("        },")
        grids = [grid(lines, device, precision, ndim) for ndim in (1, 2, 3)]
        print(f"        .start = {text([x[0] for x in grids])},")
        print(f"        .cell = {text([x[1] for x in grids])},")
        print("        .fft = {" + ", ".join(text(x[2:]) for x in grids) + "}" + ",\n" + TAIL[device] + "},")
    print("};")


# of nufft/cpu/tiles.h; a GPU's FFT leaves out what is not wanted
TAIL = {"cpu": "        .tiling = {.side = {2048, 32, 16}, .chunk = 512, .most_chunks = 64, .few = 27}",
        "gpu": "        .prunes = 1"}

if __name__ == "__main__":
    print("""/* What the planner's model of cost has for constants: printed by tests/bench/rates.py from measurements by
 * nufft_rates, as docs/reference/planner.md says. SPDX-License-Identifier: Apache-2.0 */
#include "nufft/choose/cost.h"

/* clang-format off */
""")
    table(sys.argv[1], 2)
    print()
    table(sys.argv[2], 1)
