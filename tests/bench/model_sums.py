"""Models of what samples see at 64^3 voxels beside their direct sums: docs/records/physics.md.

Each kind of term alone and all together, readouts of 5, 20 and 60 ms: the error of the operator at some samples, the
one that the sum of products reports, the number of products, and the largest error of the adjoints.
Usage: PYTHONPATH=build/cpu/python python3 tests/bench/model_sums.py [WORD...]; a WORD: kinds that have it alone.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys

import larmor
import numpy as np
from larmor import linop

SIDE, EDGE_M, READOUTS, SAMPLES, SUMMED = 64, 0.1, 8, 512, 768
IMAGES = 6  # of random voxels, as an error of few modes may be small or large in one of them
TESLA, GRADIENT_T_M, GAMMA_HZ_T = 0.55, 12e-3, 42.577e6
FOV_MM = (2e3 * EDGE_M,) * 3
POSES = np.array([(0, 0, 0, 0, 0, 0), (9, -6, 5, 4, -6, 9)], float)  # of the first and the last half of the readouts

AXIS = (np.arange(SIDE) - SIDE // 2) / SIDE * 2 * EDGE_M
REST = np.stack(np.meshgrid(AXIS, AXIS, AXIS, indexing="ij")[::-1], -1)  # [z, y, x, 3] in m: x, y, z


def trajectory(duration):
    """[readouts, samples, 3] in cycles per field of view, z y x: spirals on cones, of one gradient strength."""
    part = (np.arange(SAMPLES) + 0.5) / SAMPLES
    most = SIDE / 2 / (2 * EDGE_M)
    turns = GRADIENT_T_M * GAMMA_HZ_T * duration / (np.pi * most)
    k = np.empty((READOUTS, SAMPLES, 3))
    for n in range(READOUTS):
        height = (2 * n + 1) / READOUTS - 1
        angle = 2 * np.pi * (turns * part + n * 0.618)
        radius = np.sqrt(1 - height**2) * part
        k[n] = np.stack((height * part, radius * np.sin(angle), radius * np.cos(angle)), -1)
    return k * SIDE / 2


def field_hz(r):
    x, y, z = np.moveaxis(r, -1, 0)
    return 120 * np.exp(-((x - 0.02) ** 2 + (y - 0.07) ** 2 + z**2) / 9e-4) - 250 * y + 100 * z


def harmonics(order, swing_rad):
    """Those of an order, which reach about swing_rad in the field of view and differ between readouts."""
    first, last = order**2, (order + 1) ** 2

    def terms(r, t, part, k):
        h, of_rest = larmor.solid_harmonics(r, 3), larmor.solid_harmonics(REST, 3)
        n = np.arange(READOUTS)[:, None]
        return [(h[i] / np.abs(of_rest[i]).max(),
                 -swing_rad * (0.8 * part * np.cos(i) + 0.25 * np.sin(2 * np.pi * (i % 5 + 2) * part + n)))
                for i in range(first, last)]
    return terms


def per_readout(r, t, part, k):
    h, of_rest = larmor.solid_harmonics(r, 2), larmor.solid_harmonics(REST, 2)
    n = np.arange(READOUTS)[:, None] + 0 * part
    return [(h[i] / np.abs(of_rest[i]).max(), np.cos(3 * n + i) * (2 if i < 4 else 1)) for i in range(9)]


def concomitant(r, t, part, k):
    return larmor.concomitant(k[..., ::-1] / (2 * EDGE_M), r, dwell_s=t.max() / SAMPLES, tesla=TESLA)


# Terms of places [..., 3] and times: of the object, which move with it, and of the scanner, which stay.
OBJECT = {
    "off-resonance, -35 to 145 Hz": lambda r, t, part, k: [(2 * np.pi * field_hz(r), t)],
    "T2* of 10 to 50 ms": lambda r, t, part, k: [(1 / (0.03 + 0.02 * np.cos(30 * r[..., 0])), t, True)],
}
SCANNER = {
    "order 1, 2 rad": harmonics(1, 2),
    "order 2, 1 rad": harmonics(2, 1),
    "order 3, .4 rad": harmonics(3, 0.4),
    "concomitant fields, .55 T, 12 mT/m": concomitant,
    "phases of each readout, orders 0 to 2": per_readout,
}


def bend(r):
    """The displacement in m of gradients that are not linear: third order, 4 % at the middle of a face."""
    square = (r**2).sum(-1, keepdims=True)
    return r * square / EDGE_M**2 * np.array((0.04, -0.03, 0.035))


def coil(r):
    return np.exp(-((r - (0.06, -0.05, 0.04)) ** 2).sum(-1) / 0.02 + 1j * (9 * r[..., 0] - 6 * r[..., 2]))


def place_in(pose):
    """[z, y, x, 3]: where the voxels of the object are."""
    a = np.radians(pose[3:])
    c, s = np.cos(a), np.sin(a)
    about_z = np.array(((c[2], -s[2], 0), (s[2], c[2], 0), (0, 0, 1)))
    turn = about_z @ ((c[1], 0, s[1]), (0, 1, 0), (-s[1], 0, c[1])) @ ((1, 0, 0), (0, c[0], -s[0]), (0, s[0], c[0]))
    return REST @ turn.T + 1e-3 * pose[:3]


def direct(images, k, seen, maps, terms, some):
    """The samples some, by their definition: k [samples, 3], of voxels that are at seen."""
    flat = (images * maps).reshape(IMAGES, -1)
    out = np.empty((IMAGES, len(some)), complex)
    for n, j in enumerate(some):
        phase = -2 * np.pi * (seen / (2 * EDGE_M)) @ k[j, ::-1]
        decay = 0
        for space, time, *is_decay in terms:
            if is_decay:
                decay = decay + space * time.ravel()[j]
            else:
                phase = phase + space * time.ravel()[j]
        out[:, n] = flat @ np.exp(1j * phase - decay).ravel()
    return out


def operator(k, seen, maps, terms, error):
    """[z, y, x] to [readouts, samples], and what its sum of products reports."""
    options = {"tol": error / 100, "dtype": np.complex128}
    shift = np.moveaxis(seen - REST, -1, 0) * SIDE / (2 * EDGE_M)
    A = linop.nufft_displaced(k, shift, **options) if shift.any() else linop.nufft(k, (SIDE,) * 3, **options)
    info = {}
    if terms:
        model = linop.Segments.of_terms(terms, error=error)
        A, info = linop.segments(A, model), model.info
    return A @ linop.diag(np.asarray(maps, complex)), info


class Scene:
    """One of some kinds of term, with or without displacement and motion."""

    def __init__(self, kinds, duration, bends=False, moves=False):
        self.k = trajectory(duration)
        part = (np.arange(SAMPLES) + 0.5)[None] / SAMPLES + np.zeros((READOUTS, 1))
        self.states = []  # readouts, where voxels are seen, maps, terms
        for state in range(2 if moves else 1):
            readouts = slice(state * READOUTS // 2, (state + 1) * READOUTS // 2) if moves else slice(None)
            r = place_in(POSES[state]) if moves else REST
            terms = []
            for table, at in ((OBJECT, REST), (SCANNER, r)):
                for name in table:
                    if name in kinds:
                        terms += table[name](at, duration * part, part, self.k)
            own = [(np.array(term[0]), np.array(term[1][readouts]), *term[2:]) for term in terms]
            seen = r + bend(r) if bends else r
            self.states.append((readouts, seen, coil(r) if moves else np.ones((SIDE,) * 3), own))

    def expected(self, images, some):
        out = np.empty((IMAGES, len(some)), complex)
        for readouts, seen, maps, terms in self.states:
            first = (readouts.start or 0) * SAMPLES
            own = (some >= first) & (some < first + self.k[readouts].size // 3)
            out[:, own] = direct(images, self.k[readouts].reshape(-1, 3), seen, maps, terms, some[own] - first)
        return out

    def measure(self, images, some, expected, error):
        got, products, reported, adjoint = [], [], 0, 0
        for readouts, seen, maps, terms in self.states:
            A, info = operator(self.k[readouts], seen, maps, terms, error)
            got.append([np.asarray(A(image)).ravel() for image in images])
            products.append(str(info.get("segments", "-")))
            reported = max(reported, info.get("error", 0))
            adjoint = max(adjoint, A.adjoint_error())
        off = np.linalg.norm(np.concatenate(got, axis=1)[:, some] - expected) / np.linalg.norm(expected)
        return off, reported, "+".join(products), adjoint


def main():
    rng = np.random.default_rng(38)
    images = rng.normal(size=(IMAGES,) + (SIDE,) * 3) + 1j * rng.normal(size=(IMAGES,) + (SIDE,) * 3)
    some = rng.choice(READOUTS * SAMPLES, SUMMED, replace=False)
    every = [*OBJECT, *SCANNER]
    rows = {name: ([name], False, False) for name in every}
    rows |= {"gradients that are not linear, up to 12 mm": ([], True, False),
             "rigid motion, 2 poses": ([], False, True),
             "off-resonance, orders 2 and 3": ([every[0], *every[3:5]], False, False),
             "all terms": (every, False, False), "all terms, displacement and motion": (every, True, True)}
    print("| terms | asked for | 5 ms | 20 ms | 60 ms | adjoint |\n|---|---|---|---|---|---|")
    for name, (kinds, bends, moves) in rows.items():
        if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
            continue
        lasting = [5e-3, 20e-3, 60e-3] if kinds else [20e-3]
        scenes = [Scene(kinds, duration, bends, moves) for duration in lasting]
        expected = [scene.expected(images, some) for scene in scenes]
        for error in (1e-3, 1e-5):
            cells, adjoint = [], 0
            for scene, known in zip(scenes, expected):
                off, reported, products, own = scene.measure(images, some, known, error)
                adjoint = max(adjoint, own)
                cells.append(f"{off:.1e}, {reported:.1e}, {products}" if kinds else f"{off:.1e}")
            cells += [""] * (3 - len(cells))
            print(f"| {name} | {error:g} | " + " | ".join(cells) + f" | {adjoint:.0e} |", flush=True)


if __name__ == "__main__":
    main()
