"""Operators of series, of off-resonance and of several devices, and what they share.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import numpy as np
import pytest
from conftest import relative

import larmor
from larmor import linop

SHAPE = (20, 16)
C128 = np.complex128


@pytest.fixture
def traj():
    return larmor.traj("golden", SHAPE, readouts=12, samples=24)


def test_the_factors_of_a_basis_are_its_values_at_the_readouts_frames(rng):
    basis = rng.normal(size=(3, 5))
    frame = [4, 0, 0, 2]
    factors = linop.basis_factors(basis, frame, 7, dtype=C128)
    assert factors.shape == (3, 4, 7)
    assert np.allclose(factors, np.repeat(basis[:, frame][:, :, None], 7, axis=2))


@pytest.mark.parametrize("toeplitz", [True, False])
def test_sense_in_a_subspace_is_sense_of_each_frame(toeplitz, traj, numbers, rng):
    maps, basis = numbers(2, *SHAPE), rng.normal(size=(2, 4))
    frame = np.arange(12) % 4
    factors = linop.basis_factors(basis, frame, 24, dtype=C128)
    A = linop.subspace_sense(maps, traj, factors, tol=1e-9, toeplitz=toeplitz)
    x = numbers(2, *SHAPE)
    y = A @ x
    for t in range(4):
        one = linop.sense(maps, traj[frame == t], tol=1e-9)
        assert relative(y[:, frame == t], one @ np.tensordot(basis[:, t], x, 1)) < 1e-7
    assert A.uses_toeplitz == toeplitz
    assert A.adjoint_error() < 1e-12
    assert relative(A.normal(x), A.H @ (A @ x)) < 1e-7


def test_the_mixed_convolution_is_the_normal_map_of_a_sum_of_images(traj, numbers, rng):
    factors, w = numbers(2, 12, 24), rng.uniform(0.5, 1, (12, 24))
    F = linop.nufft(traj, SHAPE, dtype=C128, tol=1e-9)
    N = linop.toeplitz_mixed(traj, SHAPE, factors, weights=w, dtype=C128, tol=1e-9)
    x = numbers(2, *SHAPE)
    y = w * sum(f * (F @ part) for f, part in zip(factors, x, strict=True))
    expected = np.stack([F.H @ (np.conj(f) * y) for f in factors])
    assert relative(N @ x, expected) < 1e-7


def test_the_normal_map_on_the_grid_is_adjoint_weights_forward(numbers, rng):
    traj = larmor.traj("cartesian", SHAPE)[::2]
    A = linop.cartesian(traj, SHAPE, dtype=C128)
    w = rng.uniform(0.5, 1, traj.shape[:2])
    x = numbers(*SHAPE)
    N = linop.cartesian_normal(traj, SHAPE, weights=w, dtype=C128)
    assert relative(N @ x, A.H @ (w * (A @ x))) < 1e-12


def test_shared_segments_are_those_of_off_resonance(traj, numbers, rng):
    field, times = rng.uniform(-60, 60, SHAPE), np.linspace(0, 5e-3, 24) * np.ones((12, 1))
    F = linop.nufft(traj, SHAPE, dtype=C128, tol=1e-9)
    shared = linop.Segments(field, times, error=1e-5)
    A = linop.segments(F, shared)
    x = numbers(*SHAPE)
    assert relative(A @ x, linop.off_resonance(F, field, times, error=1e-5) @ x) < 1e-12
    direct = np.stack([F @ (x * np.exp(2j * np.pi * field * t)) for t in times[0]])
    assert relative(A @ x, np.stack([direct[s, :, s] for s in range(24)], axis=1)) < 1e-3
    N = linop.segments_toeplitz(traj, SHAPE, shared, dtype=C128, tol=1e-9)
    assert relative(N @ x, A.H @ (A @ x)) < 1e-3
    info = shared.info
    assert 1 < info["segments"] < info["terms"]
    assert info["error"] <= 1e-5
    assert info["low_hz"] <= field.min() < field.max() <= info["high_hz"]


def test_sense_takes_segments(traj, numbers, rng):
    maps, times = numbers(2, *SHAPE), np.linspace(0, 3e-3, 24) * np.ones((12, 1))
    field = rng.uniform(-50, 50, SHAPE)
    A = linop.sense(maps, traj, tol=1e-9, off_resonance=linop.Segments(field, times))
    F = linop.off_resonance(linop.nufft(traj, SHAPE, dtype=C128, tol=1e-9), field, times)
    x = numbers(*SHAPE)
    assert relative(A @ x, np.stack([F @ (s * x) for s in maps])) < 1e-3


def test_terms_of_a_model_are_the_sum_of_their_definition(traj, numbers, rng):
    y, x = np.meshgrid(np.linspace(-0.1, 0.1, SHAPE[0]), np.linspace(-0.1, 0.1, SHAPE[1]), indexing="ij")
    position = np.stack((x, y, np.full(SHAPE, 0.05)), axis=-1)
    h = larmor.solid_harmonics(position, 2)
    assert np.allclose(h[:4], [np.ones(SHAPE), x, y, position[..., 2]])
    assert np.allclose(h[8], x * x - y * y)
    k = np.concatenate((traj[..., ::-1] / 0.2, np.zeros((*traj.shape[:2], 1))), axis=-1)
    bent = larmor.concomitant(k, position, dwell_s=4e-6, tesla=0.05)
    t = np.linspace(0, 1, 24) * np.ones((12, 1))
    decay = (1 / rng.uniform(0.02, 0.1, SHAPE), 5e-3 * t, True)
    terms = [*bent, (h[8], -150 * t * t), decay]
    shared = linop.Segments.of_terms(terms, error=1e-5)
    A = linop.segments(linop.nufft(traj, SHAPE, dtype=C128, tol=1e-9), shared)
    exponent = sum((-1 if len(term) > 2 else 1j) * term[0][..., None, None] * term[1] for term in terms)
    grid = np.stack(np.meshgrid(*[np.arange(n) - n // 2 for n in SHAPE], indexing="ij"), axis=-1) / SHAPE
    waves = np.exp(-2j * np.pi * np.tensordot(grid, traj, axes=(2, 2)) + exponent)
    image = numbers(*SHAPE)
    assert relative(A @ image, np.tensordot(image, waves, 2)) < 2e-5
    assert A.adjoint_error() < 1e-12
    assert shared.info["error"] <= 1e-5


def test_images_of_decaying_samples_are_nearer_to_the_object_with_a_map_of_t2star(rng):
    shape = (32, 32)
    image, maps = larmor.phantom(shape), larmor.phantom_coils(shape, 4)
    t2star = np.linspace(6, 18, 32)[:, None] * np.ones(32)
    traj = larmor.traj("spiral", shape, readouts=6)
    times = np.linspace(0, 15e-3, traj.shape[1]) * np.ones((len(traj), 1))
    decay = linop.Segments.of_terms([(1e3 / t2star, times, True)], error=1e-5)
    A = linop.sense(maps, traj, tol=1e-6, off_resonance=decay)
    kspace = A @ image.astype(A.dtype)
    kspace += 3e-4 * np.abs(kspace).max() * (rng.normal(size=kspace.shape) + 1j * rng.normal(size=kspace.shape))
    scan = larmor.ScanArrays(kspace.astype(np.complex64), traj, shape, times=times)
    options = {"maps": maps, "method": "cg", "lam": 1e-3, "delays": "off", "memory": "1G"}
    errors = [larmor.compare(np.squeeze(larmor.recon(scan, **options, **more).images), image)["nrmse"]
              for more in ({}, {"t2star": t2star})]
    assert errors[1] < 0.7 * errors[0]


GRADIENTS = "radius 0.25\nAlpha_x 3 1 -0.18\nBeta_y 3 1 -0.22\nAlpha_z 3 0 -0.2\n"


def bent(tmp_path, shape, fov_mm):
    path = tmp_path / "bent.txt"
    path.write_text(GRADIENTS)
    return larmor.gradient_displacement(larmor.gradient_field(path), shape, fov_mm=fov_mm, position_mm=(10, 20, 30))


def test_displaced_voxels_are_the_sum_of_their_definition(traj, numbers, tmp_path):
    d = bent(tmp_path, SHAPE, (256, 256))
    assert d.shape == (2, *SHAPE)
    assert 0.5 < np.abs(d).max() < 4
    grid = np.stack(np.meshgrid(*[np.arange(n) - n // 2 for n in SHAPE], indexing="ij"), axis=-1)
    at = (grid + np.stack((d[1], d[0]), axis=-1)) / SHAPE
    image, maps = numbers(*SHAPE), numbers(2, *SHAPE)
    waves = np.exp(-2j * np.pi * np.tensordot(at, traj, axes=(2, 2)))
    A = linop.nufft_displaced(traj, d, dtype=C128, tol=1e-9)
    assert relative(A @ image, np.tensordot(image, waves, 2)) < 1e-8
    assert A.adjoint_error() < 1e-12
    S = linop.sense(maps, traj, tol=1e-9, displacement=d)
    assert relative(S @ image, np.stack([np.tensordot(s * image, waves, 2) for s in maps])) < 1e-8


def test_images_of_bent_gradients_are_corrected_in_the_model_and_after(tmp_path, rng):
    shape = (48, 48)
    image, maps = larmor.phantom(shape), larmor.phantom_coils(shape, 4)
    d = bent(tmp_path, shape, (256, 256))
    traj = larmor.traj("spiral", shape, readouts=8)
    A = linop.sense(maps, traj, tol=1e-6, displacement=d)
    kspace = A @ image.astype(A.dtype)
    kspace += 3e-4 * np.abs(kspace).max() * (rng.normal(size=kspace.shape) + 1j * rng.normal(size=kspace.shape))
    scan = larmor.ScanArrays(kspace.astype(np.complex64), traj, shape)
    one = np.ones((1, *shape), np.complex64)
    # voxels are of 1 mm
    options = {"maps": maps, "method": "cg", "lam": 1e-3, "delays": "off", "memory": "1G"}
    made = [np.squeeze(larmor.recon(scan, **options, **more).images)
            for more in ({}, {"displacement": d})]
    errors = [larmor.compare(x, image)["nrmse"] for x in (*made, larmor.warp(made[0], d))]
    assert errors[1] < 0.4 * errors[0]
    assert errors[2] < 0.6 * errors[0]
    assert np.allclose(larmor.warp(one, 0 * d), 1)
    back = larmor.warp(larmor.warp(image.astype(complex), larmor.displacement_inverse(d), cubic=True), d, cubic=True)
    assert larmor.compare(back, image)["nrmse"] < 0.25
    assert larmor.displacement_jacobian(d).min() > 0.5


def test_operators_on_members_of_a_group_are_a_stack(traj, numbers):
    members = larmor.Device("cpu:1,1").members
    assert len(members) == 2
    assert larmor.Device("cpu:1").members == []
    parts = [traj[:5], traj[5:]]
    A = linop.distribute([linop.nufft(t, SHAPE, dtype=C128, device=on) for t, on in zip(parts, members, strict=True)])
    B = linop.stack([linop.nufft(t, SHAPE, dtype=C128) for t in parts])
    x = numbers(*SHAPE)
    assert A.out_shape == B.out_shape == (12, 24)
    assert relative(A @ x, B @ x) < 1e-12
    assert relative(A.H @ (A @ x), B.H @ (B @ x)) < 1e-12


def test_a_device_knows_its_memory():
    free, total = larmor.Device("cpu").memory
    assert 0 < free <= total


def test_a_shifted_wavelet_is_the_transform_of_the_shifted_image(numbers):
    x = numbers(16, 16)
    W = linop.wavelet((16, 16), dtype=C128)
    expected = W @ np.roll(x, (-1, -3), axis=(0, 1))
    linop.shift_wavelet(W, (1, 3))
    assert relative(W @ x, expected) < 1e-12


def test_a_measured_response_and_a_cameras_terms_are_those_that_were_put_in():
    half = 8 + 3 * (np.arange(9) % 3)
    rate = np.maximum(0, half[:, None] - np.abs(np.arange(200) - half[:, None] - 5))
    k = np.zeros((3, 9, 200))
    for p in range(9):
        k[p // 3, p, 1:] = np.cumsum(rate[p])[:-1]
    late = np.roll(k, 2, axis=-1)
    late[..., :2] = 0
    response, b0, report = larmor.girf_measure(k, late, dwell_s=4e-6, least=1e-3)
    hz = (np.arange(response.shape[-1]) - response.shape[-1] // 2) * report["spacing_hz"]
    expected = np.eye(3)[:, :, None] * np.exp(-2j * np.pi * hz * 8e-6)
    assert b0 is None and report["band_hz"] > 5e3
    assert np.abs(response - expected).max() < 1e-9

    places = np.random.default_rng(1).uniform(-0.1, 0.1, (20, 3))
    known = 100 * np.sin(0.02 * np.arange(300) + np.arange(9)[:, None, None])
    phases = np.einsum("ljs,lp->pjs", known, larmor.solid_harmonics(places, 2))
    terms, report = larmor.field_camera(np.exp(-1j * phases), places, order=2, relative=True)
    assert report["order"] == 2 and report["residual"] < 1e-9
    assert np.abs(terms - (known - known[..., :1])).max() < 1e-8
    traj = larmor.camera_traj(known, (0.2, 0.3))
    assert np.allclose(traj[0, :, 1], known[1, 0] / (2 * np.pi) * 0.3)
    assert np.allclose(traj[0, :, 0], known[2, 0] / (2 * np.pi) * 0.2)


def test_an_object_that_moves_between_coils_is_found_and_corrected(tmp_path):
    poses = np.zeros((110, 6))
    poses[55:] = 5, -4, 0, 0, 0, 9
    scan = larmor.Simulation([32, 32], traj={"readouts": 110}, coils=3, motion=poses)
    data, maps, fov = scan.samples(), scan.maps(), (256, 256)
    found, how = larmor.find_motion(data.kspace, data.traj, maps, fov, states=2)
    assert how["helps"] == 1
    assert np.abs(found - poses).max() < 0.2
    states = larmor.motion_states(poses, fov, tolerance_mm=1)
    assert states["pose"].tolist() == [poses[0].tolist(), poses[-1].tolist()]
    traj, kspace = larmor.moved(data.traj, poses, fov, data.kspace)
    seen = np.stack([larmor.move_maps(maps, pose, fov) for pose in states["pose"]]).astype(np.complex64)
    A = linop.sense_states(seen, states["state"], traj, scale="integral")
    truth = scan.expected()[0][0]
    y = A @ truth.astype(np.complex64)
    assert relative(y, kspace) < 0.1
    still = linop.sense(maps, data.traj, scale="integral") @ truth.astype(np.complex64)
    assert relative(still, data.kspace) > 3 * relative(y, kspace)
    field = np.linspace(-40, 40, 32)[None] * np.ones((32, 1))
    times = 1e-4 * np.ones((110, 1)) * np.arange(traj.shape[1])
    shared = linop.Segments(field, times)
    each = [shared.of_readouts(np.flatnonzero(np.asarray(states["state"]) == m)) for m in range(2)]
    by = [linop.sense_states(seen, states["state"], traj, off_resonance=s) @ truth.astype(np.complex64)
          for s in (shared, each, None)]
    assert relative(by[0], by[1]) < 1e-6
    assert relative(by[0], by[2]) > 0.1
    with pytest.raises(larmor.ArgumentError, match="off_resonance: got 1 segments, expected those of 2 states"):
        linop.sense_states(seen, states["state"], traj, off_resonance=each[:1])
    scan.write(tmp_path / "scan.h5")
    done = larmor.recon(tmp_path / "scan.h5", maps=maps, motion_states=2, method="cg", lam=1e-3)
    again = larmor.recon(tmp_path / "scan.h5", maps=maps, motion=done.motion, method="cg", lam=1e-3)
    assert done.motion.shape == (2, 7) and done.motion[1, 0] == 55
    assert np.array_equal(done.images[0], again.images[0])
