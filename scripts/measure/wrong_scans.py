#!/usr/bin/env python3
"""Scans whose description is wrong, kind by kind, and right ones: does larmor recon say so?

Each scan is a phantom of ellipses with exact Fourier integrals and coils that are exact in k-space. A wrong scan is
reconstructed with its fault and without; NRMSE is of magnitudes within the sampled disc, after the best scale.
A wrong scan is refused, warned of (a line of the log with `warning:`), harmless (an error within 1.25 times that
without the fault) or SILENT. The table of docs/validation.md is of this program.
Needs NumPy, SciPy and h5py. SPDX-License-Identifier: Apache-2.0
"""
import argparse
import copy
import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from exact_scans import (CALIB, CALIB_IMAGING, DUMMY, NAVIGATION, NOISE, OBJECTS, PHASECORR, REVERSE, Readout, Scan,
                         coil_images, coils, integral, koosh, moved, sample, spiral, spokes, truth, write)

GOLDEN = np.deg2rad(111.246117975)
HARMLESS = 1.25


def make(traj, rng, count=None, obj=None, snr="any", n=None, unit=None, given=None, R=None, angles=None):
    """A right scan; what is None is drawn."""
    nd = 3 if traj in ("koosh", "stars", "cart3") else 2
    if n is None:
        n = 24 if nd == 3 else int(rng.choice([48, 64, 64, 72]))
    count = count or int(rng.choice([1, 2, 4, 4, 6, 8]))
    obj = obj or str(rng.choice(list(OBJECTS)))
    snr = rng.choice([10, 20, 40, 100, 0]) if snr == "any" else snr
    size = (n,) * nd if traj != "stars" else (n, n, 12)
    if traj in ("cart", "cart2", "epi") and rng.random() < .4:
        size = (n, n - 8)
    scan = Scan(size, OBJECTS[obj](rng), coils(count, nd, rng), snr=float(snr or 0), unit=unit or "1/fov")
    scan.name = f"{traj} {n} {count} coils {obj} snr {snr}"
    if nd == 3 and traj == "stars":
        scan.fov = (256.0, 256.0, 128.0)
    if unit is None and traj not in ("cart", "cart2", "epi", "cart3"):
        scan.unit = str(rng.choice(["1/fov", "norm", "rad", "1/m"]))
    if traj in ("radial", "golden", "tiny"):
        R = R or float(rng.choice([1, 1.5, 2]))
        m = int(n * 1.57 / R) | 1
        step = {"radial": np.pi / m, "golden": GOLDEN, "tiny": np.deg2rad(23.6281)}[traj]
        ks = spokes(n, step * np.arange(m))
        scan.type = "radial" if traj == "radial" else "goldenangle"
    elif traj == "spiral":
        arms = int(rng.choice([8, 12, 16]))
        R = R or int(rng.choice([1, 1, 2])) if count >= 4 else 1
        ks = spiral(n, arms, float(rng.choice([1, 1.5])))[:: int(R)]
        scan.type = "spiral"
    elif traj == "koosh":
        ks = koosh(n, int(n * n * .8))
    elif traj == "stars":
        m = int(n * 1.3) | 1
        ks = [np.concatenate([p, np.full((len(p), 1), z)], 1) for z in range(-6, 6) for p in spokes(n, GOLDEN * np.arange(m))]
    elif traj in ("cart", "cart2", "epi"):
        over = 2 if traj == "cart2" else 1
        R = R or (int(rng.choice([1, 2, 3])) if count >= 6 and traj != "epi" else 1)
        nx, ny = scan.n
        centre = ny // 2
        lines = [y for y in range(ny) if (y - centre) % R == 0 or (R > 1 and abs(y - centre) < 10)]
        kx = np.arange(nx * over) - nx * over // 2
        kx = kx / over
        scan.type = "epi" if traj == "epi" else "cartesian"
        scan.limits = {"kspace_encoding_step_0": (0, nx * over - 1, nx * over // 2),
                       "kspace_encoding_step_1": (0, ny - 1, centre)}
        if over > 1:
            scan.encoded, scan.encoded_fov = (nx * over, ny), (scan.fov[0] * over, scan.fov[1])
        for i, y in enumerate(lines):
            back = traj == "epi" and i % 2 == 1
            k = np.stack([kx, np.full(len(kx), y - centre)], -1)
            flags = [CALIB_IMAGING] if R > 1 and abs(y - centre) < 10 and (y - centre) % R == 0 else []
            flags += [CALIB] if R > 1 and (y - centre) % R else []
            r = Readout(k[::-1] if back else k, None, {"kspace_encode_step_1": y}, flags + ([REVERSE] if back else []))
            if back:
                r.head["center_sample"] = len(kx) - 1 - len(kx) // 2
            scan.readouts.append(r)
        if R > 1:
            scan.parallel = (f"<parallelImaging><accelerationFactor><kspace_encoding_step_1>{R}"
                             "</kspace_encoding_step_1><kspace_encoding_step_2>1</kspace_encoding_step_2>"
                             "</accelerationFactor><calibrationMode>embedded</calibrationMode></parallelImaging>")
        scan.disc = False
    elif traj == "cart3":
        kx = np.arange(n) - n // 2
        for z in range(n):
            for y in range(n):
                k = np.stack([kx, np.full(n, y - n // 2), np.full(n, z - n // 2)], -1)
                scan.readouts.append(Readout(k, None, {"kspace_encode_step_1": y, "kspace_encode_step_2": z}))
        scan.type, scan.disc = "cartesian", False
        for i in range(3):
            scan.limits[f"kspace_encoding_step_{i}"] = (0, n - 1, n // 2)
    if not scan.readouts:
        for i, k in enumerate(ks):
            idx = {"kspace_encode_step_1": i}
            if traj == "stars":
                idx = {"kspace_encode_step_1": i % m, "kspace_encode_step_2": i // m}
            scan.readouts.append(Readout(k, k.copy(), idx))
    scan.truth = truth(scan.e, scan.waves, scan.n)
    given = given if given is not None else False
    if given:
        scan.maps = coil_images(scan.waves, scan.n)
    scan.noise_scan = int(rng.choice([0, 0, 4])) if scan.snr and len(scan.waves) > 1 else 0
    return scan


# ---- faults: each draws a right scan and returns it with a function that makes it wrong ----

def everything(change):
    def fault(scan):
        for i, r in enumerate(scan.readouts):
            change(scan, r, i)
    return fault


def early_late(change, rng, start=None):
    """The change for a later part of the readouts."""
    begin = start if start is not None else rng.uniform(.3, .6)

    def fault(scan):
        for i, r in enumerate(scan.readouts):
            if i >= begin * len(scan.readouts):
                change(scan, r, i)
    return fault


def set_unit(name):
    def fault(scan):
        scan.wrong_unit = name
    return fault


def after(change):
    """A change of the data once they are there."""
    def fault(scan):
        scan.after.append(change)
    return fault


def imaging(scan):
    return [r for r in scan.readouts if NOISE not in r.flags]


NC = ["radial", "golden", "spiral", "tiny"]


def units_faults(rng):
    def oversampled(scan):
        scan.encoded, scan.encoded_fov = tuple(2 * m for m in scan.n), tuple(2 * f for f in scan.fov)
        scan.unit = "1/fov"

    def axis(scan):
        scan.wrong_unit = np.where(np.arange(scan.nd()) == 1, 1 / scan.n[1], 1) if scan.unit == "1/fov" else 1

    def half_axis(factor, which):
        def fault(scan):
            scan.wrong_unit = np.where(np.arange(scan.nd()) == which, factor, 1)
        return fault
    pick = lambda: make(str(rng.choice(NC)), rng)
    return [(pick(), set_unit(float(rng.choice([.5, .75, .8])))),
            (make("golden", rng, unit="1/fov"), oversampled),
            (make("spiral", rng, unit="1/fov"), oversampled),
            (pick(), half_axis(float(rng.choice([.5, .7])), 1)),
            (make("koosh", rng), half_axis(.5, 2)),
            (make("stars", rng, unit="1/fov"), half_axis(1 / 12 if rng.random() < .5 else .5, 2)),
            (make("radial", rng, unit="1/fov"), axis),
            (pick(), set_unit(float(rng.choice([.9, 1.1, 1.06]))))]


def centres_faults(rng):
    def shifted_said(by, axis=None):
        """The readout is described some samples beside where it was."""
        def change(scan, r, i):
            r.said = np.roll(r.said, by, 0)
            r.said[:by] = r.said[by] - (np.arange(by, 0, -1)[:, None]) * (r.said[by + 1] - r.said[by])
        return everything(change)

    def header_centre(by):
        def change(scan, r, i):
            r.head["center_sample"] = len(r.k) // 2 + by
        return everything(change)

    def ky_centre(by):
        def fault(scan):
            a, b, c = scan.limits["kspace_encoding_step_1"]
            scan.limits["kspace_encoding_step_1"] = (a, b, c + by)
        return fault

    def reversed_centre(scan):
        for r in scan.readouts:
            if REVERSE in r.flags:
                r.head["center_sample"] = r.head["center_sample"] + 3

    def echo(by):
        """The echo comes later than the header says, for all lines."""
        def change(scan, r, i):
            r.k = r.k - np.array([by * (r.k[1, 0] - r.k[0, 0]), 0])
        return everything(change)
    return [(make("golden", rng), shifted_said(int(rng.integers(2, 5)))),
            (make("radial", rng), shifted_said(int(rng.integers(1, 3)))),
            (make("epi", rng), reversed_centre),
            (make("cart", rng, count=8, R=2), ky_centre(int(rng.choice([-6, -4, 5])))),
            (make("epi", rng), echo(int(rng.integers(3, 7)))),
            (make("spiral", rng), shifted_said(int(rng.integers(4, 9)))),
            (make("cart", rng, R=1), header_centre(int(rng.choice([-7, 5, 9])))),
            (make("koosh", rng), shifted_said(2))]


def flags_faults(rng):
    def lost_noise(scan):
        """Noise readouts without their flag."""
        for i in range(6):
            r = Readout(scan.readouts[-1].k, scan.readouts[0].said, {"kspace_encode_step_1": i})
            r.noise_only = True
            scan.readouts.insert(i, r)

        def quiet(s):
            g = np.random.default_rng(1)
            level = 3e-3 * max(abs(r.data).max() for r in imaging(s))
            for r in s.readouts:
                if getattr(r, "noise_only", False):
                    r.data = level * (g.normal(size=r.data.shape) + 1j * g.normal(size=r.data.shape))
        scan.after.append(quiet)

    def no_reverse(scan):
        for r in scan.readouts:
            r.flags = [f for f in r.flags if f != REVERSE]
            r.head["center_sample"] = len(r.k) // 2

    def all_reverse(scan):
        for r in scan.readouts[::3]:
            r.flags.append(REVERSE)

    def navigators(scan):
        """Readouts of the centre, without a flag, between the others, as if they were lines or spokes."""
        out = []
        for i, r in enumerate(scan.readouts):
            out.append(r)
            if i % 4 == 3:
                nav = copy.deepcopy(r)
                nav.k = np.zeros_like(nav.k)
                nav.k[:, 0] = scan.readouts[0].k[:, 0] if scan.type == "cartesian" else np.linspace(-3, 3, len(nav.k))
                out.append(nav)
        scan.readouts = out

    def dummies(scan):
        """The first readouts are of a signal that is not steady yet, another contrast."""
        for i in range(10):
            r = copy.deepcopy(scan.readouts[-1 - i])
            r.object = moved([(A * (3 if j % 2 else -2), *rest) for j, (A, *rest) in enumerate(scan.e)])
            scan.readouts.insert(0, r)

    def noise_second(scan):
        lost_noise(scan)
        for r in scan.readouts:
            if getattr(r, "noise_only", False):
                r.flags = [NOISE, NAVIGATION]
    return [(make("golden", rng), lost_noise), (make("epi", rng), no_reverse), (make("cart", rng), all_reverse),
            (make("cart", rng, R=1), navigators), (make("golden", rng), dummies), (make("radial", rng), navigators),
            (make("spiral", rng), lost_noise)]


def delays_faults(rng):
    def delay(each, only=None):
        """Samples come later along the readout than described, for each axis its own number of samples."""
        def change(scan, r, i):
            if only is not None and i % 2 != only:
                return
            at = np.arange(len(r.k))
            for d in range(scan.nd()):
                r.k[:, d] = np.interp(at - each[d], at, r.k[:, d])
        return everything(change)

    def lines(by):
        def change(scan, r, i):
            if REVERSE in r.flags:
                r.k = r.k + np.array([by, 0])
        return everything(change)
    x = rng.uniform(1.2, 2.5)
    return [(make("golden", rng, R=1), delay((x, x, x))), (make("radial", rng, R=1), delay((x, .2 * x))),
            (make("spiral", rng, R=1), delay((2 * x, 3 * x))), (make("epi", rng), lines(float(rng.uniform(.8, 1.6)))),
            (make("koosh", rng), delay((x, -x, .5 * x))), (make("golden", rng, R=2), delay((x, x), only=1)),
            (make("stars", rng), delay((x, x, 0)))]


def axes_faults(rng):
    def swap_half(scan):
        for r in scan.readouts[::2]:
            r.said = r.said[:, [1, 0] + ([2] if scan.nd() == 3 else [])]

    def mirror(axis, part=None):
        def fault(scan):
            for i, r in enumerate(scan.readouts):
                if part is None or i % part == 0:
                    r.said = r.said.copy()
                    r.said[:, axis] *= -1
        return fault

    def mirror_given(axis):
        return mirror(axis)

    def swap_all(scan):
        for r in scan.readouts:
            r.said = r.said[:, [1, 0] + ([2] if scan.nd() == 3 else [])]

    def swap_z(scan):
        for r in scan.readouts:
            r.said = r.said[:, [0, 2, 1]]

    def transposed(scan):
        """Stored component by component."""
        for r in scan.readouts:
            r.said = r.said.T.copy().reshape(r.said.shape)

    def step_mirror(scan):
        for r in scan.readouts:
            r.idx["kspace_encode_step_1"] = scan.n[1] - 1 - r.idx["kspace_encode_step_1"]
    m = lambda t, **k: make(t, rng, count=int(rng.choice([4, 6, 8])), given=True, **k)
    return [(m("golden"), mirror_given(1)), (m("spiral"), swap_all), (make("golden", rng), mirror(1, 2)),
            (make("spiral", rng), swap_half), (make("radial", rng), transposed), (m("koosh", obj="brain"), swap_z),
            (m("cart", R=2), step_mirror), (make("stars", rng, count=6, given=True), mirror(2))]


def angles_faults(rng):
    def said(step, scale=1.0):
        def fault(scan):
            n = scan.n[0]
            for r, k in zip(scan.readouts, spokes(n, step * np.arange(len(scan.readouts)))):
                r.said = k
        return fault

    def no_traj(scan):
        for r in scan.readouts:
            r.said = None
        scan.type = "radial"

    def rotated(step):
        def fault(scan):
            for i, r in enumerate(scan.readouts):
                c, s = np.cos(step * i), np.sin(step * i)
                r.said = r.said @ np.array([[c, s], [-s, c]])
        return fault

    def arms_back(scan):
        said = [r.said for r in scan.readouts]
        for i, r in enumerate(scan.readouts):
            r.said = said[-i]

    def off_by_one(scan):
        said = [r.said for r in scan.readouts]
        for i, r in enumerate(scan.readouts):
            r.said = said[(i + 1) % len(said)]
    m = len(make("radial", np.random.default_rng(0), R=1, n=64).readouts)
    g = make("golden", rng, n=64)
    return [(g, said(np.deg2rad(rng.choice([32.0397, 23.6281, 19.9, 68.7539])))),
            (make("radial", rng, n=64, R=1), said(2 * np.pi / m)),
            (make("tiny", rng), rotated(np.deg2rad(rng.uniform(.5, 2)))),
            (make("spiral", rng), arms_back), (make("golden", rng), off_by_one),
            (make("golden", rng), said(np.deg2rad(111.0 if rng.random() < .5 else 111.9)) if False else
             rotated(np.deg2rad(rng.uniform(-1.2, -.6)))), (make("radial", rng), said(GOLDEN))]


def motion_faults(rng):
    def later(turn, *shift):
        def change(scan, r, i):
            r.object = moved(scan.e, shift, turn)
        return early_late(change, rng)

    def drift(turn, *shift):
        def change(scan, r, i):
            t = i / len(scan.readouts)
            r.object = moved(scan.e, tuple(t * s for s in shift), t * turn)
        return everything(change)

    def breathing(size, period):
        def change(scan, r, i):
            w = np.sin(np.pi * i / period) ** 2
            r.object = moved(scan.e, (0, size * w, 0))
        return everything(change)
    s = lambda: float(rng.choice([-1, 1]) * rng.uniform(.05, .1))
    return [(make("golden", rng), later(0, s(), s(), 0)), (make("spiral", rng), later(rng.uniform(8, 20), 0, 0, 0)),
            (make("cart", rng, R=1), later(rng.uniform(8, 15), s(), 0, 0)), (make("golden", rng), drift(0, s(), 2 * s(), 0)),
            (make("koosh", rng), later(10, s(), s(), 0)), (make("golden", rng), breathing(.1, 9.3)),
            (make("radial", rng), later(12, 0, 0, 0)), (make("cart", rng, count=8, R=2), later(0, s(), s(), 0))]


def spikes_faults(rng):
    def spikes(count, size):
        def change(scan):
            g, rs = np.random.default_rng(7), imaging(scan)
            top = max(abs(r.data).max() for r in rs)
            for _ in range(count):
                r = rs[g.integers(len(rs))]
                r.data[:, g.integers(r.data.shape[1])] += size * top * np.exp(2j * np.pi * g.random(r.data.shape[0]))
        return after(change)

    def clip(level):
        def change(scan):
            rs = imaging(scan)
            top = level * max(np.maximum(abs(r.data.real), abs(r.data.imag)).max() for r in rs)
            for r in rs:
                r.data = np.clip(r.data.real, -top, top) + 1j * np.clip(r.data.imag, -top, top)
        return after(change)

    def interference(size):
        """A carrier of one frequency in all readouts."""
        def change(scan):
            rs, g = imaging(scan), np.random.default_rng(5)
            top = max(abs(r.data).max() for r in rs)
            phase = 2j * np.pi * g.random(len(scan.waves))
            for r in rs:
                turn = 2j * np.pi * (.23 * np.arange(r.data.shape[1]) + g.random())
                r.data = r.data + size * top * np.exp(phase[:, None] + turn)
        return after(change)
    return [(make("golden", rng), spikes(3, .5)), (make("cart", rng, R=1), spikes(1, .6)), (make("spiral", rng), clip(.15)),
            (make("cart", rng, R=1), clip(.1)), (make("koosh", rng), spikes(6, .5)), (make("radial", rng), clip(.3)),
            (make("golden", rng), interference(.03)), (make("cart2", rng), spikes(8, .1))]


def coils_faults(rng):
    C = lambda t, **k: make(t, rng, count=int(rng.choice([4, 6, 8])), **k)

    def phase_half(scan):
        rs = imaging(scan)
        for r in rs[len(rs) // 2:]:
            r.data[1] *= np.exp(2j)

    def swapped_half(scan):
        rs = imaging(scan)
        for r in rs[len(rs) // 3:]:
            r.data[[0, 2]] = r.data[[2, 0]]

    def conjugated(scan):
        for r in imaging(scan):
            r.data[1] = r.data[1].conj()

    def swapped_given(scan):
        for r in imaging(scan):
            r.data = np.roll(r.data, 1, 0)

    def noisy(scan):
        g, rs = np.random.default_rng(3), imaging(scan)
        level = .2 * max(abs(r.data).max() for r in rs)
        for r in rs:
            r.data[0] = level * (g.normal(size=r.data.shape[1]) + 1j * g.normal(size=r.data.shape[1]))

    def jitter(scan):
        """The receiver's phase is another one in each readout."""
        g = np.random.default_rng(4)
        for r in imaging(scan):
            r.data *= np.exp(1j * g.normal() * .8)

    def gain(scan):
        rs = imaging(scan)
        for r in rs[len(rs) // 2:]:
            r.data *= 2.5
    return [(C("golden"), after(phase_half)), (C("spiral"), after(swapped_half)), (C("radial"), after(conjugated)),
            (C("golden", given=True), after(swapped_given)), (C("spiral"), after(noisy)), (C("golden"), after(jitter)),
            (C("cart", R=1), after(gain)), (C("cart", R=2, given=True), after(swapped_given))]


def header_faults(rng):
    def smaller_fov(f):
        def fault(scan):
            scan.header_fov = tuple(f * v for v in scan.fov)
        return fault

    def small_matrix(scan):
        scan.header_n = tuple(int(m * .75) // 2 * 2 for m in scan.n)

    def kind(t):
        def fault(scan):
            scan.type = t
            for r in scan.readouts:
                r.said = None
        return fault

    def fold(scan):
        """The object is larger than the field of view of the lines."""
        for r in scan.readouts:
            r.object = moved(scan.e, scale=1.7)

    def other_n(scan):
        scan.header_n = (scan.n[0], scan.n[1] * 2) + scan.n[2:]

    def limits(scan):
        scan.limits["kspace_encoding_step_1"] = (0, scan.n[1] * 2 - 1, scan.n[1])
    return [(make("golden", rng, unit="1/m"), smaller_fov(float(rng.choice([.5, .7])))),
            (make("radial", rng, unit="1/fov"), small_matrix),
            (make("golden", rng), kind("cartesian")), (make("cart", rng, R=1), fold), (make("spiral", rng, unit="1/fov"), other_n),
            (make("cart", rng, R=1), limits), (make("spiral", rng, unit="1/m"), smaller_fov(1.5))]


def padding_faults(rng):
    def zero_end(scan):
        for r in imaging(scan):
            r.data[:, int(.8 * r.data.shape[1]):] = 0

    def zero_readouts(scan):
        rs = imaging(scan)
        for r in rs[::3]:
            r.data[:] = 0

    def late_start(scan):
        """Samples before the readout, not in discard_pre."""
        pad = 8
        for r in imaging(scan):
            lead = np.zeros((r.data.shape[0], pad))
            r.data = np.concatenate([lead, r.data[:, :-pad]], 1)

    def zero_middle(scan):
        rs = imaging(scan)
        for r in rs:
            c = r.data.shape[1] // 2
            r.data[:, c - 2:c + 3] = 0

    def copies(scan):
        """Readouts that were never written repeat the ones before."""
        rs = imaging(scan)
        for i, r in enumerate(rs):
            if i % 4 == 3:
                r.data = rs[i - 1].data.copy()
    return [(make("golden", rng), after(zero_end)), (make("golden", rng), after(zero_readouts)),
            (make("spiral", rng), after(late_start)), (make("radial", rng), after(zero_middle)),
            (make("golden", rng), after(copies)), (make("cart", rng, R=1), after(zero_readouts)),
            (make("spiral", rng), after(zero_end)), (make("koosh", rng), after(zero_readouts))]


def maps_faults(rng):
    def maps(change):
        def fault(scan):
            scan.maps = change(scan.maps)
        return fault
    m = lambda t, **k: make(t, rng, count=int(rng.choice([4, 6, 8])), given=True, **k)
    zoom = lambda f: lambda v: np.array([zoomed(c, f) for c in v])
    return [(m("golden", R=2), maps(np.conj)), (m("spiral", R=1), maps(lambda v: np.roll(v, 1, 0))),
            (m("golden"), maps(lambda v: v[:, ::-1])), (m("cart", R=2), maps(lambda v: v.swapaxes(1, 2) if v.shape[1] == v.shape[2] else v[:, :, ::-1])),
            (m("radial"), maps(lambda v: np.roll(v, v.shape[1] // 3, 1))), (m("spiral"), maps(zoom(.6))),
            (m("koosh"), maps(lambda v: v[:, :, :, ::-1])), (m("golden"), maps(np.conj)),
            (m("cart", R=3), maps(np.conj)), (m("golden"), maps(lambda v: v * np.exp(2j * np.arange(len(v)) ** 2)[:, None, None]))]


def zoomed(image, f):
    n = image.shape
    at = [np.clip(np.round((np.arange(m) - m // 2) * f + m // 2).astype(int), 0, m - 1) for m in n]
    return image[np.ix_(*at)]


KINDS = {"units": units_faults, "centres": centres_faults, "flags": flags_faults, "delays": delays_faults,
         "axes": axes_faults, "angles": angles_faults, "motion": motion_faults, "spikes": spikes_faults,
         "coils": coils_faults, "header": header_faults, "padding": padding_faults, "maps": maps_faults}


# ---- running ----

def inside(image):
    f = np.fft.fftshift(np.fft.fftn(np.fft.ifftshift(image)))
    g = np.meshgrid(*[(np.arange(m) - m // 2) / (m / 2) for m in image.shape[:2]], indexing="ij")
    m = sum(x * x for x in g) <= 1
    m = m[..., None] if image.ndim == 3 else m
    return np.fft.fftshift(np.fft.ifftn(np.fft.ifftshift(f * m)))


def error(image, scan):
    image = np.squeeze(image)
    if image.shape != scan.truth.shape:
        return float("inf")
    a, b = (abs(inside(v)) if scan.disc else abs(v) for v in (image, scan.truth))
    power = np.vdot(a, a).real
    return float(np.linalg.norm((np.vdot(a, b).real / power if power > 0 else 0) * a - b) / np.linalg.norm(b))


def reconstruct(larmor, scan, seed, folder, name):
    """The exit code, NRMSE, lines of the log that warn, and the whole log."""
    scan = copy.deepcopy(scan)
    sample(scan, seed)
    path, out = folder / f"{name}.h5", folder / f"{name}.npy"
    write(path, scan)
    words = [larmor, "recon", path, "-o", out, "-f", "--threads", "1", *scan.args]
    if scan.maps is not None:
        np.save(folder / f"{name}_maps.npy", np.asfortranarray(np.moveaxis(scan.maps, 0, -1).astype(np.complex64)))
        words += ["--maps", folder / f"{name}_maps.npy"]
    out.unlink(missing_ok=True)
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"})
    (folder / f"{name}.log").write_text(done.stderr)
    lines = [line for line in done.stderr.splitlines() if "warning:" in line]
    nrmse = error(np.load(out), scan) if done.returncode == 0 and out.exists() else float("nan")
    return done.returncode, nrmse, lines, done.stderr


def right_scan(i, rng):
    kinds = ["radial", "golden", "spiral", "cart", "epi", "tiny", "cart2", "golden", "cart", "spiral", "stars", "koosh"]
    t = kinds[i % len(kinds)]
    scan = make(t, rng)
    if i % 5 == 4 and len(scan.waves) > 1:
        scan.maps = coil_images(scan.waves, scan.n)
        scan.name += " given"
    return scan


def judge(larmor, kind, i, pair, seed, folder):
    scan, fault = pair
    wrong = copy.deepcopy(scan)
    fault(wrong)
    name = f"{kind}{i}"
    first, without, before, _ = reconstruct(larmor, scan, seed, folder, name + "_right")
    code, wrong_error, lines, log = reconstruct(larmor, wrong, seed, folder, name)
    if code:
        said, lines = "refused", [log.strip().splitlines()[-1] if log.strip() else ""]
    elif lines:
        said = "warned"
    elif wrong_error <= HARMLESS * without:
        said = "harmless"
    else:
        said = "SILENT"
    return {"kind": kind, "i": i, "scan": scan.name, "fault": getattr(fault, "__qualname__", "").split(".<")[0] + " " +
            fault.__qualname__.split(".")[-1], "code": code, "right": without, "wrong": wrong_error, "said": said,
            "lines": lines, "twin": {"i": name, "scan": scan.name, "code": first, "nrmse": without, "lines": before}}


def main():
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("larmor")
    parse.add_argument("--seed", type=int, default=1)
    parse.add_argument("--each", type=int, default=5, help="wrong scans of each kind")
    parse.add_argument("--right", type=int, default=60, help="right scans beside those that wrong ones are made from")
    parse.add_argument("--kinds", default=",".join(KINDS))
    parse.add_argument("--folder")
    parse.add_argument("--json", help="a file for all results")
    a = parse.parse_args()
    folder = Path(a.folder or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    results = []
    for kind in [k for k in a.kinds.split(",") if k]:
        number = list(KINDS).index(kind)
        pairs = KINDS[kind](np.random.default_rng([a.seed, number]))
        order = np.random.default_rng([a.seed, number, 1]).permutation(len(pairs))
        for i in order[: a.each]:
            one = judge(a.larmor, kind, int(i), pairs[i], [a.seed, number, int(i)], folder)
            results.append(one)
            print(f"{kind:8} {i:2} {one['said']:8} {one['right']:.3f} {one['wrong']:.3f}  {one['scan']} | "
                  f"{one['lines'][0][:150] if one['lines'] else ''}", flush=True)
    rights = [r["twin"] for r in results]
    for r in rights:
        if r["code"] or r["lines"]:
            print(f"right    {r['i']} code {r['code']} {r['nrmse']:.3f} {r['scan']} | {(r['lines'] or [''])[0][:200]}")
    for i in range(a.right):
        scan = right_scan(i, np.random.default_rng([a.seed, 100, i]))
        code, nrmse, lines, log = reconstruct(a.larmor, scan, [a.seed, 100, i], folder, f"right{i}")
        rights.append({"i": i, "scan": scan.name, "code": code, "nrmse": nrmse, "lines": lines})
        if code or lines or not nrmse < .6:
            print(f"right    {i:3} code {code} {nrmse:.3f} {scan.name} | {(lines or [log.strip()[-200:]])[0][:200]}", flush=True)
    print("\n| kind | scans | refused | warned of | harmless | silent and wrong |\n|---|---|---|---|---|---|")
    for kind in [*KINDS, "all"]:
        of = [r for r in results if kind in (r["kind"], "all")]
        if of:
            count = [sum(r["said"] == s for r in of) for s in ("refused", "warned", "harmless", "SILENT")]
            print(f"| {kind} | {len(of)} | " + " | ".join(map(str, count)) + " |")
    if rights:
        print(f"\nof {len(rights)} right scans {sum(bool(r['lines'] or r['code']) for r in rights)} were warned of or refused")
    if a.json:
        Path(a.json).write_text(json.dumps({"seed": a.seed, "wrong": results, "right": rights}, indent=1))


if __name__ == "__main__":
    main()
