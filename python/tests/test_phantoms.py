"""Phantoms with fields and phases, comparisons, trajectories in files and what they tell, partial Fourier.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import os
import subprocess

import numpy as np
import pytest
from conftest import relative

import larmor
from larmor import linop, solve

SHAPE = (32, 32)
C128 = np.complex128


def on_grid(**how):
    """The transform of a phantom's exact samples on the grid."""
    lines = larmor.phantom_kspace(larmor.traj("cartesian", SHAPE), dtype=C128, **how).reshape(SHAPE)
    return np.fft.fftshift(np.fft.ifftn(np.fft.ifftshift(lines)))


def test_phantoms_are_listed_and_made():
    assert "shepp-logan" in larmor.phantoms()
    for name in larmor.phantoms():
        assert abs(larmor.phantom(SHAPE, name)).max() > 0


def test_a_band_limited_phantom_is_the_transform_of_its_samples():
    phase = {"radians": 0.7, "cycles": (1, 0.5)}
    plain, spun = on_grid(), on_grid(phase=phase)
    assert abs(larmor.compare(larmor.phantom(SHAPE, band_limited=True), plain)["nrmse"]) < 1e-5
    assert larmor.compare(larmor.phantom(SHAPE, band_limited=True, phase=phase), spun)["nrmse"] < 1e-5
    assert larmor.compare(plain, spun)["nrmse"] > 0.1
    with pytest.raises(larmor.ArgumentError):
        larmor.phantom(SHAPE, phase=phase)


def test_off_resonance_turns_the_phase_of_a_sample_by_its_time():
    traj = larmor.traj("golden", SHAPE, readouts=6)
    times = np.linspace(0, 4e-3, traj.shape[1])
    plain = larmor.phantom_kspace(traj, dtype=C128)
    spun = larmor.phantom_kspace(traj, dtype=C128, field={"hz": 40}, times=times)
    assert relative(spun, plain * np.exp(2j * np.pi * 40 * times)) < 1e-12
    assert np.allclose(larmor.phantom_field_map(SHAPE, {"hz": 40}), 40)
    field = larmor.phantom_field_map(SHAPE, {"gradient": (20, 0)}, dtype=np.float64)
    assert np.allclose(field, 20 * (np.arange(32) - 16) / 32)
    with pytest.raises(larmor.ArgumentError):
        larmor.phantom_kspace(traj, field={"hz": 40})


def test_the_noise_of_a_signal_to_noise_ratio_falls_with_it():
    level = larmor.phantom_noise_level(SHAPE, 20, coils=4)
    assert larmor.phantom_noise_level(SHAPE, 40, coils=4) == pytest.approx(level / 2)


def test_coils_on_half_the_field_of_view_are_those_of_its_middle():
    wide, middle = larmor.phantom_coils((64, 64), 3), larmor.phantom_coils((32, 32), 3, extent=(0.5, 0.5))
    assert relative(middle, wide[:, 16:48, 16:48]) < 1e-6
    assert relative(larmor.phantom_coils(SHAPE, 3, size=1.5), larmor.phantom_coils(SHAPE, 3)) > 0.01


def test_a_comparison_finds_the_factor_and_what_is_left(numbers):
    b = numbers(*SHAPE)
    found = larmor.compare(2j * b, b)
    assert found["factor"] == pytest.approx(-0.5j)
    assert found["nrmse"] < 1e-12
    e = numbers(*SHAPE)
    e -= np.vdot(b, e) / np.vdot(b, b) * b
    s = np.vdot(b + e, b) / np.vdot(b + e, b + e)
    assert larmor.compare(b + e, b)["nrmse"] == pytest.approx(np.linalg.norm(s * (b + e) - b) / np.linalg.norm(b))
    assert larmor.compare(abs(b), b, magnitude=True)["nrmse"] < 1e-12
    inner = larmor.band_limit(b)
    assert larmor.compare(b, inner, inside=2)["nrmse"] < 1e-12 < larmor.compare(b, inner)["nrmse"]


def test_regions_have_their_statistics(numbers):
    x, second = numbers(*SHAPE), numbers(*SHAPE)
    mask = np.zeros(SHAPE)
    mask[4:9, 3:8], mask[20:, 10:12] = 1, 2
    for row, label in zip(larmor.stats(x, mask, second), (1, 2), strict=True):
        inside = x[mask == label]
        size, other = abs(inside), abs(second[mask == label])
        assert (row["label"], row["voxels"]) == (label, inside.size)
        assert row["mean"] == pytest.approx(size.mean())
        assert row["deviation"] == pytest.approx(size.std(ddof=1))
        assert row["median"] == pytest.approx(np.median(size))
        assert row["phase"] == pytest.approx(np.angle(inside.sum()))
        assert row["ratio"] == pytest.approx(size.mean() / abs(x[mask == 1]).mean())
        assert row["snr"] == pytest.approx((size + other).mean() / 2 * 2**0.5 / (size - other).std(ddof=1))
    assert larmor.stats(x, mask == 2)[0]["voxels"] == np.count_nonzero(mask == 2)
    with pytest.raises(larmor.ArgumentError, match=r"the mask has no voxel above 0\.5"):
        larmor.stats(x, 0 * mask)


def test_a_band_limit_leaves_the_ellipse_of_kspace(numbers):
    x = numbers(*SHAPE)
    k = (np.arange(32) - 16) / 16
    inside = k[:, None] ** 2 + k**2 < 1
    spectrum = np.fft.fftshift(np.fft.fftn(x)) * inside
    assert relative(larmor.band_limit(x), np.fft.ifftn(np.fft.ifftshift(spectrum))) < 1e-12
    rows = np.fft.fftshift(np.fft.fft(x, axis=0), axes=0) * (abs(k) < 1)[:, None]
    assert relative(larmor.band_limit(x, [0]), np.fft.ifft(np.fft.ifftshift(rows, axes=0), axis=0)) < 1e-12


def test_trajectories_come_back_from_files_of_bart(tmp_path):
    traj = larmor.traj("golden", SHAPE, readouts=5)
    larmor.write_traj(tmp_path / "t.cfl", traj)
    assert larmor.read("/".join([str(tmp_path), "t.cfl"])).shape[-1] == 3
    assert np.allclose(larmor.read_traj(tmp_path / "t.cfl", 2), traj, atol=1e-5)


def test_what_a_trajectory_is_is_found():
    spokes, grid = larmor.traj("golden", SHAPE, readouts=5), larmor.traj("cartesian", SHAPE)
    assert larmor.is_cartesian(grid)
    assert not larmor.is_cartesian(spokes)
    stars = larmor.traj("stars", (4, 16, 16), readouts=5)
    assert larmor.is_stack(stars, 4)[0]
    assert not larmor.is_stack(larmor.traj("koosh", (16, 16, 16), readouts=20), 4)[0]
    half = larmor.coverage(grid[8:])
    assert half["low"] == (-8, -16)
    assert half["partial"] == (1, 0)


def test_undersampled_centres_alias():
    dense, sparse = (larmor.traj("radial", (64, 64), readouts=n) for n in (100, 6))
    assert larmor.aliasing(dense, (64, 64)) < 0.03 < larmor.aliasing(sparse, (64, 64))


def test_an_object_that_exceeds_the_field_of_view_is_found():
    traj = larmor.traj("golden", SHAPE, readouts=80)
    fits = larmor.phantom_kspace(traj, coils=4, dtype=C128)
    exceeds = larmor.phantom_kspace(traj, coils=4, dtype=C128, size=1.4)
    assert larmor.extent(fits, traj, SHAPE)[0] == (1, 1)
    factor, outside = larmor.extent(exceeds, traj, SHAPE)
    assert max(factor) > 1.1
    assert outside > 0.03
    assert larmor.predict_field_of_view(fits[:, :20], traj[:20], SHAPE)["factor"] == 1


def test_a_wrong_trajectory_is_less_consistent():
    traj = larmor.traj("golden", SHAPE, readouts=60)
    kspace = larmor.phantom_kspace(traj, coils=2, dtype=C128)
    assert larmor.consistency(kspace, traj) < 0.5 * larmor.consistency(kspace, larmor.delayed(traj, {"x": 1.0}))


def test_descriptions_and_maps_that_do_not_fit_are_named():
    traj = larmor.traj("golden", (48, 48), readouts=75)
    kspace, maps = larmor.phantom_kspace(traj, coils=4), larmor.phantom_coils((48, 48), 4)
    assert not larmor.compare_descriptions(kspace, traj)["is_clear"]
    wrong = traj.copy()
    wrong[::2, :, 0] *= -1
    found = larmor.compare_descriptions(kspace, wrong)
    assert found["is_clear"] and found["better"] < 0.5 * found["misfit"]
    assert not larmor.compare_coils(kspace, traj, (48, 48))["is_clear"]
    kspace[2] = kspace[2].conj()
    assert larmor.compare_coils(kspace, traj, (48, 48))["name"] == "the samples of coil 2 (from 0) conjugated"
    kspace[2] = kspace[2].conj()
    assert larmor.compare_repeats(kspace, traj)["reach"] == 0
    twice = larmor.compare_repeats(np.concatenate([kspace, -kspace], 1), np.concatenate([traj, traj]))
    assert twice["is_clear"] and "180 degrees" in twice["name"]
    lines = larmor.traj("cartesian", (48, 48))
    samples = larmor.phantom_kspace(lines, coils=4)
    assert not larmor.compare_coil_steps(samples, lines)["is_clear"]
    samples[1, 24:] *= -1
    assert larmor.compare_coil_steps(samples, lines)["name"].startswith("coil 1 (from 0) at ")
    assert not larmor.compare_maps(kspace, traj, maps)["is_clear"]
    found = larmor.compare_maps(kspace, traj, maps.conj())
    assert found["is_clear"] and found["name"] == "their conjugates"


def test_colouring_undoes_whitening(numbers):
    W = larmor.whitening(numbers(4, 500))
    assert relative(larmor.colouring(W) @ W, np.eye(4)) < 1e-12


def test_normalised_maps_have_the_sum_that_is_asked_for(numbers):
    maps = numbers(3, *SHAPE)
    assert (larmor.normalise(maps) == maps).all()
    assert np.allclose(abs(larmor.normalise(maps, "sum")).sum(axis=0), np.sqrt(3))


def test_cropped_readouts_are_those_of_the_smaller_field_of_view():
    wide = larmor.traj("cartesian", (32, 32), samples=64)
    kspace = larmor.phantom_kspace(wide, coils=2, dtype=C128)
    cropped, traj, noise = larmor.crop_readouts(kspace, wide, 1.0)
    assert cropped.shape == (2, 32, 32)
    assert traj.shape == (32, 32, 2)
    assert noise == pytest.approx(np.sqrt(0.5), rel=1e-6)
    assert relative(cropped, larmor.phantom_kspace(traj, coils=2, dtype=C128)) < 0.05


def test_projections_use_the_phase_for_the_lines_that_are_missing():
    phase_of = {"radians": 0.5, "cycles": (1, 1)}
    full = larmor.traj("cartesian", SHAPE)
    traj = full[10:]
    truth = on_grid(phase=phase_of)
    A = linop.cartesian(traj, SHAPE, dtype=C128)
    b = A @ truth
    start, _ = solve.cg(A, b, iterations=5)
    phase = larmor.centre_phase(start, (5, 0))
    assert np.allclose(abs(phase), 1)
    x, report = solve.pocs(A, b, phase, start, iterations=60, tol=1e-6)
    assert report.iterations > 1
    assert relative(A @ x, b) < 1e-6
    assert relative(x, truth) < 0.7 * relative(start, truth)
    off, whole = larmor.off_phase(start, (5, 0), phase)
    turned = larmor.off_phase(start, (5, 0), 1j * phase)[0]
    assert off < 0.1 * whole
    assert off**2 + turned**2 == pytest.approx(whole**2)


def test_a_plan_says_what_a_reconstruction_would_do():
    traj = larmor.traj("golden", SHAPE, readouts=24)
    scan = larmor.ScanArrays(larmor.phantom_kspace(traj, coils=4), traj, SHAPE)
    planned, = larmor.plan(scan, method="tv", device="cpu")
    assert planned["method"] == "tv"
    assert planned["coils"] == 4
    assert planned["chooses"] == 1
    assert planned["bytes"] > 0
    given, = larmor.plan(scan, method="tv", lam=0.01, device="cpu")
    assert given["lambda"] == 0.01
    assert given["chooses"] == 0


def test_the_times_of_a_scans_samples_are_their_dwell_time_apart(tmp_path):
    traj = larmor.traj("golden", SHAPE, readouts=6)
    larmor.write_scan(tmp_path / "untimed.h5", larmor.ScanArrays(larmor.phantom_kspace(traj, coils=2), traj, SHAPE))
    with pytest.raises(larmor.FormatError, match="time"):
        larmor.Scan(tmp_path / "untimed.h5").times()
    program = os.environ.get("LARMOR_PROGRAM")
    if not program:
        pytest.skip("LARMOR_PROGRAM is not set")
    subprocess.run([program, "phantom", "-o", str(tmp_path / "timed.h5"), "--matrix", "32", "--readouts", "6",
                    "--dwell", "5", "--quiet"], check=True, timeout=900)
    times = larmor.Scan(tmp_path / "timed.h5").times()
    assert times.shape == (6, 64)
    assert np.allclose(np.diff(times), 5e-6)


def test_a_simulated_scan_holds_the_samples_that_it_tells(tmp_path):
    scan = larmor.Simulation((24, 32), coils=3, noise=1e-4, slices=2, repetitions=2, traj={"readouts": 7})
    info = scan.info
    assert info["matrix"][-2:] == (24, 32)
    assert (info["slices"], info["repetitions"], info["readouts"]) == (2, 2, 7)
    scan.write(tmp_path / "s.h5")
    stored = larmor.Scan(tmp_path / "s.h5")
    assert len(stored.groups) == 4
    for i, group in enumerate(stored.groups):
        told, read = scan.samples(group["slice"], group["repetition"]), stored.samples(i)
        assert told.kspace.shape == (3, 7, 64)
        assert relative(read.kspace, told.kspace) < 1e-6
        assert np.allclose(read.traj, told.traj, atol=1e-4)
    images, meta = scan.expected()
    assert images.shape == (4, 24, 32)
    assert sorted((m["slice"], m["repetition"]) for m in meta) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert larmor.compare(images[0], larmor.phantom((24, 32), band_limited=True))["nrmse"] < 1e-5
    assert relative(scan.maps(), larmor.phantom_coils((24, 32), 3)) < 1e-6
    assert scan.maps((48, 64)).shape == (3, 48, 64)


def test_a_simulated_scan_has_the_field_and_the_echoes_that_are_asked_for():
    scan = larmor.Simulation((32, 32), field={"hz": 30}, echo_ms=[1.0, 3.0], traj={"readouts": 5})
    assert scan.info["contrasts"] == 2
    assert np.allclose(scan.field_map(), 30)
    first, second = (scan.samples(contrast=c).kspace for c in (0, 1))
    assert relative(second, first * np.exp(2j * np.pi * 30 * 2e-3)) < 1e-5


def test_a_simulated_scan_decays_from_its_echo_on_by_the_t2star_that_is_asked_for():
    how = {"traj": {"readouts": 5}, "coils": 2, "dwell_us": 20}
    plain, scan = larmor.Simulation((16, 16), **how), larmor.Simulation((16, 16), t2star_ms=3, **how)
    ms = 20e-3 * (np.arange(32) - 16)
    decay = scan.samples().kspace / plain.samples().kspace
    assert abs(decay - np.exp(-ms / 3)).max() < 1e-5
    assert np.allclose(scan.t2star_map(), 3)
    each = larmor.Simulation((16, 16), phantom="tissues", t2star_ms=[3, 4, 5, 6, 7, 8], **how).t2star_map()
    assert each.min() >= 3 - 1e-5
    assert each.max() <= 8 + 1e-5
    assert each.std() > 0.5
    with pytest.raises(larmor.ArgumentError, match="expected t2star_ms"):
        plain.t2star_map()
    with pytest.raises(larmor.ArgumentError, match="got 2 T2"):
        larmor.Simulation((16, 16), t2star_ms=[3, 4], **how)


EPI = {"shots": 2, "navigators": 3, "ramp": {"up_us": 120, "flat_us": 200, "down_us": 120},
       "ghost": {"phase": np.deg2rad(40), "shift": 0.6}, "phase_step": np.deg2rad(15)}


def test_an_echo_planar_scan_is_that_of_the_program(tmp_path):
    program = os.environ.get("LARMOR_PROGRAM")
    if not program:
        pytest.skip("LARMOR_PROGRAM is not set")
    subprocess.run([program, "phantom", "-o", str(tmp_path / "program.h5"), "--traj", "cartesian", "--matrix", "48",
                    "--coils", "3", "--noise", "1e-4", "--epi", "2", "--ramp", "120,200,120", "--ghost", "40,0.6,15",
                    "--seed", "3", "--quiet"], check=True, timeout=900)
    larmor.Simulation((48, 48), "cartesian", coils=3, noise=1e-4, seed=3, epi=EPI).write(tmp_path / "python.h5")
    theirs, ours = (larmor.Scan(tmp_path / name) for name in ("program.h5", "python.h5"))
    assert ours.info == theirs.info
    assert ours.info["navigators"] == 6
    assert ours.encodings == theirs.encodings
    ramp = ours.encodings[0]["ramp"]
    assert (ramp["up_us"], ramp["flat_us"], ramp["down_us"]) == (120, 200, 120)
    assert np.array_equal(ours.samples().kspace, theirs.samples().kspace)
    assert np.array_equal(ours.samples().traj, theirs.samples().traj)


def test_the_ghost_of_an_echo_planar_scan_is_corrected(tmp_path):
    scan = larmor.Simulation((48, 48), "cartesian", coils=4, noise=1e-4, epi=EPI)
    scan.write(tmp_path / "epi.h5")
    truth, maps = scan.expected()[0][0], scan.maps()
    errors = [larmor.compare(larmor.recon(tmp_path / "epi.h5", method="cg", maps=maps, device="cpu",
                                          no_ghost=no_ghost).images[0], truth)["nrmse"] for no_ghost in (0, 1)]
    assert errors[0] < 0.06
    assert errors[1] > 4 * errors[0]
