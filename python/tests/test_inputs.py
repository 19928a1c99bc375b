"""Wrong inputs are refused in a line, and those that NumPy allows are read. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import larmor
from larmor import linop, nufft, prox, solve

SHAPE = (6, 6)
POINTS = np.random.default_rng(3).uniform(-3, 3, (20, 2))
IMAGE = np.random.default_rng(4).standard_normal((6, 6)).astype(np.complex64)
TRAJ = np.tile(np.linspace(-3, 3, 8)[:, None] / 2, (5, 1, 2))
KSPACE = np.ones((2, 5, 8), np.complex64)


def identity(x):
    return x


def of_arrays(**more):
    given = {"kspace": KSPACE, "traj": TRAJ, "matrix": SHAPE, **more}
    return larmor.recon(larmor.ScanArrays(**given), method="grid")


@pytest.mark.parametrize("call, kind, line", [
    (lambda: nufft.type2(None, IMAGE), larmor.ArgumentError, "points: got None, expected an array"),
    (lambda: nufft.type2("k.npy", IMAGE), larmor.ArgumentError,
     "points: a text where an array is expected; larmor.read(FILE) reads the arrays of a file"),
    (lambda: nufft.type2(POINTS, np.ma.masked_array(IMAGE, mask=IMAGE.real > 0)), larmor.ArgumentError,
     "modes: a masked array, whose mask larmor does not take; fill it, as by x.filled(0)"),
    (lambda: nufft.type1(POINTS, POINTS[:, 0], (6.5, 6)), larmor.ArgumentError,
     "modes: got 6.5, expected a whole number"),
    (lambda: nufft.type1(POINTS, POINTS[:, 0], (float("nan"), 6)), larmor.ArgumentError,
     "modes: got nan, expected a whole number"),
    (lambda: nufft.type1(POINTS, POINTS[:, 0], SHAPE, tol=0), larmor.ArgumentError,
     "tol: got 0, expected 0 < tol < 1"),
    (lambda: nufft.type2(POINTS, IMAGE, sign=0), larmor.ArgumentError, "sign: got 0, expected -1 or 1"),
    (lambda: nufft.type2(POINTS, IMAGE, threads=2**40), larmor.ArgumentError,
     "threads: got 1099511627776, which is too large"),
    (lambda: nufft.type2(POINTS + 1j, IMAGE), larmor.ArgumentError, "points: got complex128, expected real numbers"),
    (lambda: nufft.type2(POINTS.astype(str), IMAGE), larmor.ArgumentError,
     "points: got an array of <U32, expected numbers"),
    (lambda: nufft.type2(POINTS, IMAGE, device=3), larmor.ArgumentError,
     'device: got 3, expected a text such as "cpu:4", or a larmor.Device'),
    (lambda: nufft.type2(POINTS, IMAGE, out=[1]), larmor.ShapeError, "out: got list, expected complex64 of (20,)"),
    (lambda: linop.identity((2.5, 6)), larmor.ArgumentError, "shape: got 2.5, expected a whole number"),
    (lambda: linop.identity((-1, 6)), larmor.ArgumentError, "shape: got (-1, 6), expected sizes of 0 or more"),
    (lambda: linop.fft(SHAPE, unitary="no"), larmor.ArgumentError, "unitary: got 'no', expected True or False"),
    (lambda: solve.cg(linop.identity(SHAPE), IMAGE, iterations=None), larmor.ArgumentError,
     "iterations: got None, expected a whole number"),
    (lambda: prox.l1(SHAPE, "a"), larmor.ArgumentError, "weight: got 'a', expected a number"),
    (lambda: larmor.phantom(SHAPE, 3), larmor.ArgumentError, "name: got 3, expected a text"),
    (lambda: larmor.delays(KSPACE, np.where(TRAJ > 1, np.nan, TRAJ)), larmor.ArgumentError,
     "traj: got numbers that are not finite"),
    (lambda: larmor.resize([[1, 2], [3]], SHAPE), larmor.ArgumentError,
     "image: got lists of unequal lengths, expected an array"),
    (lambda: larmor.delayed(TRAJ, "ab"), larmor.ArgumentError, "delay: got 'ab', expected numbers"),
    (lambda: linop.off_resonance(3, IMAGE.real, TRAJ[..., 0]), larmor.ArgumentError,
     "transform: got 3, expected an operator of larmor.linop"),
    (lambda: larmor.density(3, SHAPE), larmor.ArgumentError, "traj: got a number, expected an array"),
    (lambda: of_arrays(matrix=(6.5, 6)), larmor.ArgumentError, "matrix: got (6.5, 6), expected whole numbers"),
    (lambda: linop.Function(lambda x: x[:1], identity, SHAPE, SHAPE) @ IMAGE, larmor.ShapeError,
     "forward: returned shape (1, 6), expected an array of shape (6, 6)"),
    (lambda: linop.Function(identity, lambda x: None, SHAPE, SHAPE).H @ IMAGE, larmor.ShapeError,
     "adjoint: returned None, expected an array of shape (6, 6)"),
    (lambda: linop.Function(identity, 3, SHAPE, SHAPE), larmor.ArgumentError,
     "adjoint: got int, expected a function of an array"),
    (lambda: prox.Function(lambda t, x: 0, lambda x: 0, SHAPE)(1, IMAGE), larmor.ShapeError,
     "apply: returned shape (), expected an array of shape (6, 6)"),
    (lambda: prox.Function(SHAPE, lambda x: 0, SHAPE), larmor.ArgumentError, "apply: got tuple, expected a function"),
    (lambda: prox.stack([]), larmor.ArgumentError, "parts: got none, expected one proximal map or more"),
    (lambda: prox.conjugate("l1"), larmor.ArgumentError, "g: got str, expected a map of larmor.prox"),
    (lambda: prox.l2_ball(SHAPE, -1), larmor.ArgumentError, "radius: got -1, expected a finite number >= 0"),
    (lambda: solve.fista(linop.identity(SHAPE), IMAGE, 3), larmor.ArgumentError,
     "g: got int, expected a map of larmor.prox"),
    (lambda: solve.pdhg(linop.identity(SHAPE), IMAGE, [prox.l1(SHAPE)]), larmor.ArgumentError,
     "g: got list, expected a map of larmor.prox"),
    (lambda: solve.cg(linop.identity(SHAPE), IMAGE, monitor="bar"), larmor.ArgumentError,
     "monitor: got str, expected a function of larmor.solve.Progress"),
    (lambda: solve.regularised(linop.identity(SHAPE), IMAGE, "tv", lam=-0.5), larmor.ArgumentError,
     "lam: got -0.5, expected a finite number >= 0, or None for the regulariser's own"),
    (lambda: solve.admm(linop.identity(SHAPE), IMAGE, prox.l1(SHAPE), circulant=3), larmor.ArgumentError,
     "circulant: got int, expected a larmor.solve.Circulant"),
    (lambda: solve.cg(linop.identity(SHAPE), IMAGE, precondition=3), larmor.ArgumentError,
     "A: got int, expected an operator: larmor's, or anything with shape, dtype, H and @"),
    (lambda: solve.pnp(linop.identity(SHAPE), IMAGE, lambda x, sigma: x, IMAGE[:1], sigma=1), larmor.ShapeError,
     "x0: got shape (1, 6), expected (6, 6)"),
    (lambda: solve.pnp(linop.identity(SHAPE), IMAGE, lambda x, sigma: None, sigma=1), larmor.ShapeError,
     "prior <lambda>: got NoneType, expected (6, 6)"),
    (lambda: larmor.recon(larmor.ScanArrays(KSPACE, TRAJ, SHAPE), frames="10"), larmor.ArgumentError,
     'frames: got str, expected names and numbers, like {"spokes": 20}'),
    (lambda: of_arrays(matrix=6), larmor.ArgumentError,
     "matrix and fov_mm: got 6 and None, expected 2 or 3 numbers of both"),
    (lambda: of_arrays(fov_mm=(6,)), larmor.ArgumentError,
     "matrix and fov_mm: got (6, 6) and (6,), expected 2 or 3 numbers of both"),
    (lambda: larmor.recon(larmor.ScanArrays(KSPACE, TRAJ, SHAPE), maps="espirit"), larmor.ArgumentError,
     "maps: a text where an array is expected; larmor.read(FILE) reads the arrays of a file, and maps_method says "
     "how maps are found"),
    (lambda: larmor.recon(larmor.ScanArrays(KSPACE, TRAJ, SHAPE), method="cg", tol=1), larmor.ArgumentError,
     "tol: got 1, expected -inf to 0.99"),
    (lambda: list(larmor.live([(KSPACE[:, 0],)], SHAPE)), larmor.ArgumentError,
     "readout: got 1 parts, expected (kspace, traj), (kspace, traj, flags) or (kspace, traj, members)"),
    (lambda: larmor.scan_of([KSPACE], SHAPE), larmor.ArgumentError,
     "readout: got ndarray, expected (kspace, traj), (kspace, traj, flags) or (kspace, traj, members)"),
])
def test_a_wrong_input_is_refused_in_a_line(call, kind, line):
    with pytest.raises(kind) as raised:
        call()
    assert str(raised.value) == line


@pytest.mark.parametrize("dtype, offset", [(np.complex64, 1), (np.complex64, 4), (np.complex128, 8)])
def test_memory_that_is_not_aligned_is_read_as_its_copy(dtype, offset):
    image, points = IMAGE.astype(dtype), POINTS.astype(np.float64)
    of = [np.frombuffer(bytes(offset) + x.tobytes(), np.uint8)[offset:].view(x.dtype).reshape(x.shape)
          for x in (image, points)]
    plan, odd = (nufft.Plan(2, SHAPE, dtype=dtype).set_points(k) for k in (points, of[1]))
    want = plan.execute(image)
    assert np.array_equal(odd.execute(of[0]), want)
    A = linop.nufft(of[1], SHAPE, dtype=dtype)
    assert np.array_equal(A @ of[0], linop.nufft(points, SHAPE, dtype=dtype) @ image)
    assert np.array_equal(prox.l1(SHAPE, 0.1, dtype=dtype)(1, of[0]), prox.l1(SHAPE, 0.1, dtype=dtype)(1, image))


def odd_copies(x):
    """The same numbers in other orders of memory and of bytes."""
    apart = np.zeros(tuple(2 * n for n in x.shape), x.dtype)[tuple(slice(None, None, 2) for _ in x.shape)]
    apart[...] = x
    kept = x.copy()
    kept.flags.writeable = False
    return [apart, np.ascontiguousarray(x[..., ::-1])[..., ::-1], x.astype(x.dtype.newbyteorder(">")),
            np.asfortranarray(x), kept]


@pytest.mark.parametrize("call, x", [
    (lambda x: nufft.type2(x, IMAGE), POINTS), (lambda x: nufft.type2(POINTS, x), IMAGE),
    (lambda x: linop.coils(x) @ IMAGE, np.stack([IMAGE, 2 * IMAGE])),
    (lambda x: linop.subspace(x, (6,)) @ IMAGE, IMAGE), (lambda x: larmor.whiten(x, KSPACE), IMAGE[:2, :2]),
    (lambda x: larmor.whiten(np.eye(2), x), KSPACE), (larmor.normalise, np.stack([IMAGE, 2 * IMAGE])),
    (larmor.band_limit, IMAGE), (larmor.combine_coils, np.stack([IMAGE, 2 * IMAGE])),
])
def test_the_order_of_memory_and_of_bytes_does_not_matter(call, x):
    want = call(x)
    for odd in odd_copies(x):
        got = call(odd)
        assert got.dtype == want.dtype
        assert np.array_equal(got, want)


def test_a_batch_of_none_is_an_array_without_numbers():
    assert nufft.type1(POINTS, np.zeros((0, 20), complex), SHAPE).shape == (0, 6, 6)
    assert nufft.type2(POINTS, np.zeros((0, 6, 6), np.complex64)).shape == (0, 20)


def test_what_is_shown_of_plans_and_arrays_is_short():
    plan = nufft.Plan(2, SHAPE, batch=3, device="cpu:1")
    assert repr(plan) == "<larmor plan of type 2, modes (6, 6), no points, batch 3, complex64 cpu:1>"
    assert repr(plan.set_points(POINTS)) == ("<larmor plan of type 2, modes (6, 6), points (20,), batch 3, complex64 "
                                             "cpu:1>")
    scan = larmor.ScanArrays([KSPACE, KSPACE], TRAJ, SHAPE)
    assert repr(scan) == "<larmor.ScanArrays kspace (2, 5, 8), 2 images, matrix (6, 6)>"


def test_a_reconstruction_is_pickled_and_copied_with_its_report(tmp_path):
    traj = larmor.traj("golden", (16, 16), readouts=20)
    scan = larmor.ScanArrays(larmor.phantom_kspace(traj, coils=2), traj, (16, 16))
    done = larmor.recon(scan, method="cg", iters=3)
    done.write_page(tmp_path / "page.html", title="page")
    for again in (pickle.loads(pickle.dumps(done)), copy.deepcopy(done)):
        assert np.array_equal(again.images, done.images)
        assert (again.reports, again.log) == (done.reports, done.log)
        again.write_page(tmp_path / "again.html", title="page")
        assert (tmp_path / "again.html").read_bytes() == (tmp_path / "page.html").read_bytes()
        (tmp_path / "again.html").unlink()
