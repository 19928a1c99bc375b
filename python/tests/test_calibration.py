"""What is found from samples and trajectories, and scans that Python writes. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import threading

import numpy as np
import pytest
from conftest import relative

import larmor

SHAPE = (32, 40)


@pytest.fixture(scope="module")
def scan():
    """k-space of a phantom that is not square, on spokes."""
    traj = larmor.traj("radial", SHAPE, readouts=64)
    return larmor.ScanArrays(larmor.phantom_kspace(traj, coils=4), traj, SHAPE)


def covariance(noise):
    return noise @ noise.conj().T / (noise.shape[1] - 1)


def test_whitened_noise_is_white_with_variance_two(numbers):
    noise = numbers(4, 4) @ numbers(4, 5000)
    W = larmor.whitening(noise)
    assert relative(covariance(W @ noise), 2 * np.eye(4)) < 1e-10
    assert relative(larmor.whiten(W, noise.reshape(4, 50, 100)).reshape(4, -1), W @ noise) < 1e-12


def test_few_virtual_coils_hold_signals_that_depend_on_each_other(numbers):
    kspace = np.tensordot(numbers(6, 2), numbers(2, 20, 30), 1)
    C = larmor.compression(kspace)
    assert C.shape == (2, 6)
    assert relative(C @ C.conj().T, np.eye(2)) < 1e-12
    back = np.tensordot(C.conj().T @ C, kspace, 1)
    assert relative(back, kspace) < 1e-10


@pytest.mark.parametrize("find", [
    lambda s: larmor.espirit(s.kspace, s.traj, SHAPE, side=20)[0],
    lambda s: larmor.nlinv(s.kspace, s.traj, SHAPE)[1],
    lambda s: larmor.find_maps(s, device="cpu").maps,
], ids=["espirit", "nlinv", "find_maps"])
def test_coil_maps_are_the_phantoms_up_to_a_factor_for_all_coils(scan, find):
    maps, truth = find(scan), larmor.phantom_coils(SHAPE, 4)
    inside = abs(larmor.phantom(SHAPE)) > 0.1
    assert maps.shape == truth.shape
    m, t = maps[:, inside], truth[:, inside]
    likeness = abs((m.conj() * t).sum(0)) / np.sqrt((abs(m) ** 2).sum(0) * (abs(t) ** 2).sum(0))
    assert np.median(likeness) > 0.99


def test_delays_that_a_trajectory_was_given_are_found_again(scan):
    """Signals of spokes that are late, and the names of their axes: y is image axis 0."""
    for name in ("x", "y"):
        late = larmor.delayed(scan.traj, {name: 0.5})
        found = larmor.delays(larmor.phantom_kspace(late, coils=4), scan.traj, fov=SHAPE)
        assert found["significant"]
        delay = dict(zip(("x", "y", "z", "xy", "xz", "yz"), found["delay"], strict=True))
        assert delay[name] == pytest.approx(0.5, abs=0.1)
        assert abs(delay["x" if name == "y" else "y"]) < 0.1
    assert np.allclose(larmor.delayed(scan.traj, ()), scan.traj)
    with pytest.raises(larmor.ArgumentError, match="zx"):
        larmor.delayed(scan.traj, {"zx": 1})


def test_a_response_that_only_delays_is_a_delay(scan):
    """Phases exp(-2 pi i f tau) along y alone move ky, and kx stays."""
    n, spacing, dwell = 201, 500.0, 1e-5
    f = (np.arange(n) - n // 2) * spacing
    response = np.ones((3, n), complex)
    response[1] = np.exp(-2j * np.pi * f * 0.5 * dwell)
    moved = larmor.girf(scan.traj, response, spacing_hz=spacing, dwell_s=dwell)
    asked = larmor.delayed(scan.traj, {"y": 0.5})
    assert relative(moved[..., 1], scan.traj[..., 1]) < 1e-6
    assert relative(moved[:, 5:-5, 0], asked[:, 5:-5, 0]) < 0.01


def test_a_flat_response_of_order_0_is_a_phase_that_follows_k_and_a_delayed_one_follows_late():
    """.12 rad m along x, -.07 along y; columns of a trajectory are (z,) y, x, and so is fov."""
    n, dwell, late, fov = 101, 4e-6, 6, (0.2, 0.25)
    spacing = 1 / (n * dwell)
    f = (np.arange(n) - n // 2) * spacing
    flat = np.array([0.12, -0.07])[:, None] * np.ones(n, complex)
    delayed = flat * np.exp(-2j * np.pi * f * late * dwell)
    for name, near in (("golden", 1e-9), ("spiral", 0.03)):  # spirals begin with a jump of the gradient
        traj = larmor.traj(name, (32, 32))
        expected = 0.12 * traj[..., 1] / fov[1] - 0.07 * traj[..., 0] / fov[0]
        phase = larmor.girf_phase(traj, flat, spacing_hz=spacing, dwell_s=dwell, fov=fov)
        assert abs(expected).max() > 5
        assert phase.shape == traj.shape[:2]
        assert abs(phase - expected).max() < near
        after = larmor.girf_phase(traj, delayed, spacing_hz=spacing, dwell_s=dwell, fov=fov)
        assert abs(after[:, 20:] - expected[:, 20 - late:-late]).max() < near
    with pytest.raises(larmor.ShapeError, match="order 0"):
        larmor.girf_phase(traj, np.ones((2, 3, n), complex), spacing_hz=spacing, dwell_s=dwell, fov=fov)


def test_field_maps_are_the_frequency_that_turns_the_phase():
    object_ = larmor.phantom((24, 32)).real + 0.2
    y, x = np.mgrid[:24, :32]
    truth = 10 + 0.5 * x - 0.8 * y
    seconds = (0.002, 0.004)
    echoes = np.stack([object_ * np.exp(2j * np.pi * truth * t) for t in seconds])
    found, report = larmor.field_map(echoes, seconds)
    assert found.shape == truth.shape
    inside = abs(object_) > 0.25 * abs(object_).max()
    assert np.sqrt(np.mean((found - truth)[inside] ** 2)) < 1
    assert report["regions"] >= 1
    with pytest.raises(larmor.ArgumentError, match="seconds"):
        larmor.field_map(echoes, (0.002,))


def test_fits_are_the_times_of_the_decay_with_their_error_bars():
    ms = (10, 20, 40, 80, 160)
    truth = np.linspace(30, 200, 12 * 16).reshape(12, 16)
    rng = np.random.default_rng(3)
    decay = 5 * np.exp(-np.reshape(ms, (-1, 1, 1)) / truth) * np.exp(1j)
    noise = 0.01 * (rng.standard_normal(decay.shape) + 1j * rng.standard_normal(decay.shape))
    maps, report = larmor.fit(decay + noise, ms, "t2", noise=0.01, mask=np.ones(truth.shape))
    assert report["voxels"] == truth.size and report["failed"] == 0
    assert maps["T2"].shape == truth.shape
    assert 0.8 < np.std((maps["T2"] - truth) / maps["T2_std"]) < 1.2
    assert np.allclose(maps["M0"], 5, rtol=0.05)
    same, _ = larmor.fit(decay + noise, ms, "t2", noise=np.full(truth.shape, 0.01))
    assert np.allclose(same["T2_std"], maps["T2_std"], rtol=1e-4)
    with pytest.raises(larmor.ArgumentError, match=r"ms: got 2 times, expected 5"):
        larmor.fit(decay, (1, 2), "t2")
    with pytest.raises(larmor.ArgumentError, match='model: got "t3"'):
        larmor.fit(decay, ms, "t3")


def test_fractions_of_fat_are_those_of_the_signal():
    peaks = np.array([[-3.8, 87], [-3.4, 693], [-2.6, 128], [-1.94, 4], [-0.39, 39], [0.6, 48]])
    ms, part = np.array([1.2, 2.1, 3.3, 4.2]), np.linspace(0, 1, 64).reshape(8, 8)
    turn = np.exp(2j * np.pi * 42.577478518 * 1.5e-3 * ms[:, None] * peaks[:, 0]) @ peaks[:, 1] / 999
    echoes = np.array([(1 - part + part * c) * np.exp(2j * np.pi * 0.03 * t) for c, t in zip(turn, ms, strict=True)])
    maps, report = larmor.fit(echoes, ms, "water-fat", field_strength=1.5, field_map=np.zeros(part.shape))
    assert report["failed"] == 0
    assert np.allclose(maps["FF"], part, atol=1e-3)
    assert np.allclose(maps["field"], 30, atol=0.1)
    with pytest.raises(larmor.ArgumentError, match="field_strength"):
        larmor.fit(echoes, ms, "water-fat")


def test_signals_of_fisp_are_matched_to_the_times_that_they_are_of():
    t1, t2 = (g.ravel() for g in np.meshgrid(np.geomspace(300, 3000, 16), np.geomspace(20, 300, 16)))
    degrees = 10 + 50 * np.abs(np.sin(np.arange(300) * np.pi / 100))
    tr = np.full(300, 12.0)
    signals = larmor.epg_fisp([t1, t2], degrees, tr, te_ms=3, inversion_ms=20)
    assert signals[0] == pytest.approx((1 - 2 * np.exp(-20 / t1)) * np.sin(np.pi / 18) * np.exp(-3 / t2), abs=1e-6)
    truth = np.array([[800.0, 1400], [60, 110]])
    value, _, _, _ = larmor.fit_table(larmor.epg_fisp(truth, degrees, tr, te_ms=3, inversion_ms=20), signals,
                                      np.array([t1, t2]))
    assert np.allclose(value, truth, rtol=0.01)
    with pytest.raises(larmor.ArgumentError, match="tr_ms: got 2 times"):
        larmor.epg_fisp(truth, degrees, [1, 2])


def test_coefficients_of_a_basis_are_matched_to_the_entries_of_a_dictionary():
    t = np.arange(40)
    times = np.geomspace(5, 80, 60)
    curves = np.exp(-t / times[:, None])
    kept, _ = larmor.basis(curves.astype(np.complex64), 4)
    truth = np.arange(48).reshape(6, 8)
    m0 = (1 + truth) * np.exp(1j * truth)
    coefficients = np.einsum("kt,yxt->kyx", kept.conj(), m0[..., None] * curves[truth])
    entry, found, match = larmor.fit_dictionary(coefficients, curves.T, basis=kept)
    assert np.array_equal(entry, truth)
    assert np.allclose(found, m0, rtol=1e-3)
    between = np.sqrt(times[:-1] * times[1:])[truth]
    series = np.exp(-t[:, None, None] / between)
    value, deviation, found, match = larmor.fit_table(series, curves.T, times[None], noise=0.01)
    assert np.allclose(value[0], between, rtol=1e-3)
    assert np.all(deviation[0] > 0)
    assert np.allclose(found, 1, atol=1e-3)
    assert match.min() > 0.999


def test_a_basis_holds_the_curves_it_was_made_of():
    t = np.arange(30)
    curves = np.stack([np.exp(-t / T) for T in (5, 8, 12, 20)])
    found, kept = larmor.basis(curves, 3)
    assert found.shape == (3, 30)
    assert relative((curves @ found.conj().T) @ found, curves) < 1e-2
    assert kept > 0.9999


def test_resizing_keeps_leading_axes_and_the_centre():
    image = larmor.phantom((32, 32)).astype(complex)
    both = larmor.resize(np.stack([image, 2 * image]), (64, 64))
    assert both.shape == (2, 64, 64)
    assert relative(both[1], 2 * both[0]) < 1e-12
    assert relative(larmor.resize(image, (64, 64), band_limited=True)[::2, ::2], image) < 1e-12


def test_a_scan_that_python_writes_is_the_one_that_is_read(tmp_path, scan, numbers):
    noise = 1e-3 * numbers(4, 500).astype(np.complex64)
    series = larmor.ScanArrays([scan.kspace, 2 * scan.kspace], [scan.traj, scan.traj], SHAPE, fov_mm=(240, 300),
                               noise=noise)
    path = tmp_path / "scan.h5"
    larmor.write_scan(path, series)
    raw = larmor.Scan(path)
    assert raw.info["groups"] == 2
    assert raw.encodings[0]["fov_mm"][1:] == (240, 300)
    assert relative(raw.noise(), noise) < 1e-6
    second = raw.samples(1)
    assert relative(second.kspace, 2 * scan.kspace) < 1e-6
    assert np.abs(second.traj - scan.traj).max() < 1e-4
    with pytest.raises(larmor.FileError):
        larmor.write_scan(path, series)
    scan_with_times = larmor.ScanArrays(scan.kspace, scan.traj, SHAPE, times=np.zeros(scan.traj.shape[:2]))
    with pytest.raises(larmor.ArgumentError, match="times"):
        larmor.write_scan(tmp_path / "t.h5", scan_with_times)
    with pytest.raises(larmor.ArgumentError, match="kspace"):
        larmor.write_scan(tmp_path / "t.h5", larmor.ScanArrays(scan.kspace[:, :9], scan.traj, SHAPE))
    assert not (tmp_path / "t.h5").exists()


def test_scans_are_examined_and_images_described(tmp_path, scan):
    path = tmp_path / "scan.h5"
    broken = scan.kspace.copy()
    broken[2] = 0
    larmor.write_scan(path, larmor.ScanArrays(broken, scan.traj, SHAPE))
    findings = larmor.examine(path)
    assert [f.severity for f in findings if f.code == "dead-coil"] == ["warning"]
    path.write_bytes(b"no scan")
    assert [f.severity for f in larmor.examine(path)][:1] == ["error"]
    larmor.write(tmp_path / "x.npy", np.zeros((2, 3, 4)))
    assert larmor.describe(tmp_path / "x.npy")["shape"] == (2, 3, 4)


def test_a_run_keeps_weights_and_eigenvalues_that_are_asked_for(scan):
    done = larmor.recon(scan, method="grid", device="cpu", keep_density=True, keep_eigenvalues=True,
                        maps_method="espirit")
    assert done.density.shape == scan.traj.shape[:2]
    assert done.eigenvalues.shape[-2:] == SHAPE
    plain = larmor.recon(scan, method="grid", device="cpu")
    assert plain.density is None
    assert plain.eigenvalues is None


def test_counters_that_are_not_named_mean_all(tmp_path, scan):
    series = larmor.ScanArrays([scan.kspace, 2 * scan.kspace], [scan.traj, scan.traj], SHAPE)
    assert len(larmor.recon(series, method="grid", device="cpu", only={"slice": 0}).images) == 2
    assert len(larmor.recon(series, method="grid", device="cpu", only={"repetition": 1}).images) == 1


def test_frames_by_nonlinear_inversion_follow_one_another():
    traj = larmor.traj("golden", (32, 24), readouts=48)
    kspace = larmor.phantom_kspace(traj, coils=6)
    series = larmor.NlinvSeries((32, 24), steps=4, all={"steps": 12})
    _, _, first = series.add(kspace, traj)
    assert first["steps"] <= 12
    image, maps, report = series.add(kspace[:, :9], traj[:9])
    assert image.shape == (32, 24) and maps.shape == (6, 32, 24) and report["steps"] == 4
    alone, _, _ = larmor.nlinv(kspace[:, :9], traj[:9], (32, 24))
    truth = abs(larmor.phantom((32, 24)) * np.linalg.norm(larmor.phantom_coils((32, 24), 6), axis=0))

    def error(x):
        return relative(abs(x) * np.vdot(abs(x), truth) / np.vdot(abs(x), abs(x)), truth)

    assert error(image) < 0.9 * error(alone)


def test_threads_take_turns_with_a_series():
    traj = larmor.traj("golden", (32, 32), readouts=78)
    kspace = larmor.phantom_kspace(traj, coils=4)
    series, reports = larmor.NlinvSeries((32, 32)), []
    series.add(kspace[:, :65], traj[:65])

    def add():
        for _ in range(6):
            reports.append(series.add(kspace[:, 65:], traj[65:])[2])

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reports) == 24
    assert all(np.isfinite(report["residual"]) for report in reports)
