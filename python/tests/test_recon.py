"""A scan in, images out: from arrays, from files, and back to files. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import numpy as np
import pytest
from conftest import relative

import larmor
from larmor._library import in_pythons_words

SHAPE = (40, 48)


@pytest.fixture(scope="module")
def scan():
    """k-space of a phantom that is not square, on spokes."""
    traj = larmor.traj("radial", SHAPE, readouts=70)
    return larmor.ScanArrays(larmor.phantom_kspace(traj, coils=4), traj, SHAPE)


def magnitude_error(image, truth):
    return relative(abs(image), abs(truth))


def test_images_trajectories_and_maps_have_the_same_axes(scan):
    truth = larmor.phantom(SHAPE)
    assert truth.shape == SHAPE
    limits = abs(scan.traj).max(axis=(0, 1))
    assert np.allclose(limits, [20, 24], rtol=0.02)  # ky, kx
    done = larmor.recon(scan, maps=larmor.phantom_coils(SHAPE, 4), lam=1e-6, iterations=30)
    assert done.images.shape == (1, *SHAPE)
    assert magnitude_error(done.images[0], truth) < 0.3
    direct = larmor.linop.sense(larmor.phantom_coils(SHAPE, 4), scan.traj)
    again, _ = larmor.solve.cg(direct, scan.kspace * float(np.prod(SHAPE)), iterations=30)
    assert magnitude_error(again, truth) < 0.3


@pytest.mark.parametrize("method", ["cg", "grid", "tv"])
def test_methods_give_the_object_and_say_how(scan, method):
    said = []
    done = larmor.recon(scan, method=method, progress=lambda e: said.append(e["stage"]), device="cpu:1")
    assert magnitude_error(done.images[0], larmor.phantom(SHAPE)) < 0.45
    assert done.maps.shape == (4, *SHAPE)
    assert done.reports[0]["status"] == "ok"
    assert done.reports[0]["is_suspect"] == 0
    misfit = done.reports[0]["misfit"]
    assert misfit["measured"] and 0 <= misfit["beyond_noise"] <= misfit["relative"] < 1
    assert done.provenance["method"] == method
    assert done.provenance["device"] == "cpu:1"
    assert done.log
    assert "coil maps" in said


def test_lists_are_a_series(scan):
    series = larmor.ScanArrays([scan.kspace, 2 * scan.kspace], [scan.traj, scan.traj], SHAPE)
    done = larmor.recon(series, method="grid")
    assert done.images.shape == (2, *SHAPE)
    assert [m["repetition"] for m in done.meta] == [0, 1]
    assert relative(done.images[1], 2 * done.images[0]) < 1e-3


def test_a_listener_stops_with_the_iterate_and_its_exceptions_arrive(scan):
    done = larmor.recon(scan, lam=1e-3, tol=-1, progress=lambda e: e["kind"] == "step" and e["step"] >= 2)
    assert done.reports[0]["interrupted"]
    assert done.reports[0]["solver"]["iters"] < 5
    with pytest.raises(ZeroDivisionError):
        larmor.recon(scan, progress=lambda e: 1 / 0)


@pytest.mark.parametrize("options, kind, says", [
    ({"method": "magic"}, larmor.ArgumentError, "magic"),
    ({"wishes": 3}, TypeError, "wishes"),
    ({"density": "thick"}, larmor.ArgumentError, "pipe"),
    ({"matrix": (1, 2, 3, 4)}, larmor.ArgumentError, "matrix"),
    ({"maps": np.zeros((4, 3, 3), np.complex64)}, larmor.Error, "maps"),
    ({"lam": -1.0}, larmor.ArgumentError, "^lam: got -1, expected 0 to"),
    ({"iterations": -1}, larmor.ArgumentError, "^iterations: got -1, expected 0 to"),
    ({"b0": "x"}, larmor.ArgumentError, "^b0: a text where an array is expected"),
    ({"maps_method": "espirt"}, larmor.ArgumentError, "espirt\", expected auto, walsh, espirit or nlinv"),
    ({"listener": 1}, TypeError, "listener"),
])
def test_options_that_make_no_sense_are_refused(scan, options, kind, says):
    with pytest.raises(kind, match=says):
        larmor.recon(scan, **options)


def test_a_scan_and_its_images_go_through_files(tmp_path, scan):
    """The program makes the scan; Python reads it, reconstructs it, and writes what it reads again."""
    program = os.environ.get("LARMOR_PROGRAM")
    if not program:
        pytest.skip("LARMOR_PROGRAM names no program")
    path = tmp_path / "scan.h5"
    subprocess.run([program, "phantom", "--matrix", "32", "--coils", "3", "--traj", "radial", "-o", str(path)],
                   check=True, capture_output=True)
    raw = larmor.Scan(path)
    assert raw.encodings[0]["matrix"] == (1, 32, 32)
    samples = raw.samples()
    assert samples.kspace.shape[0] == 3
    assert samples.traj.shape == (*samples.kspace.shape[1:], 2)
    done = larmor.recon(path, lam=1e-3, iterations=5)
    assert relative(done.images, larmor.recon(raw, lam=1e-3, iterations=5).images) < 1e-6
    for suffix in (".h5", ".nii"):
        out = tmp_path / f"image{suffix}"
        done.write(out)
        assert magnitude_error(larmor.read(out), done.images[0]) < 1e-6
    with pytest.raises(larmor.FileError, match="exists"):
        done.write(tmp_path / "image.nii")
    assert "LarmorVersion" in subprocess.run([program, "info", str(tmp_path / "image.h5")], check=True,
                                             capture_output=True, text=True).stdout


def test_images_are_part_of_a_data_set_of_bids(tmp_path):
    program = os.environ.get("LARMOR_PROGRAM")
    if not program:
        pytest.skip("LARMOR_PROGRAM names no program")
    path, folder = tmp_path / "s.h5", tmp_path / "set"
    subprocess.run([program, "phantom", "-o", str(path), "--matrix", "24", "--coils", "2", "--echo-times", "4,9",
                    "-q"],
                   check=True)
    done = larmor.recon(path, method="grid")
    paths = done.write_bids(folder, "sub-1_part-phase_MEGRE", title="Echoes")
    assert paths == [larmor.bids_path(folder, "sub-1_part-phase_MEGRE", echo=echo) for echo in (1, 2)]
    sidecar = json.loads(pathlib.Path(paths[1].replace(".nii.gz", ".json")).read_text())
    assert sidecar["EchoTime"] == 0.009 and sidecar["Units"] == "rad"
    assert np.abs(larmor.read(paths[1]) - np.angle(done.images[1])).max() < 1e-6
    assert json.loads((folder / "dataset_description.json").read_text())["Name"] == "Echoes"
    assert (folder / "participants.tsv").read_text() == "participant_id\nsub-1\n"
    with pytest.raises(larmor.ArgumentError, match="must have"):
        larmor.bids_path(folder, "sub-1_bold")


def test_a_page_is_served_until_it_is_closed(tmp_path, scan):
    done = larmor.recon(scan, method="grid")
    done.write(tmp_path / "x.h5")
    done.write_page(tmp_path / "x.html")
    for image in (done, done.images[0], tmp_path / "x.h5", tmp_path / "x.html"):
        try:
            served = larmor.view(image)
        except larmor.UnsupportedError:
            pytest.skip("built without libmicrohttpd")
        with served:
            page = urllib.request.urlopen(served.address, timeout=60).read()
            assert page.startswith(b"<!DOCTYPE html>") and served.address in repr(served)
        with pytest.raises(urllib.error.URLError):
            urllib.request.urlopen(served.address, timeout=60)
        served.close()
        assert "closed" in repr(served)
    assert page == (tmp_path / "x.html").read_bytes()
    with pytest.raises(larmor.ArgumentError, match="nowhere"):
        larmor.view(done, address="nowhere")


def test_arrays_come_back_from_files_with_their_axes(tmp_path, numbers):
    x = numbers(3, 4, 5).astype(np.complex64)
    for name in ("x.npy", "x.cfl"):
        larmor.write(tmp_path / name, x)
        assert np.array_equal(larmor.read(tmp_path / name), x)
        with pytest.raises(larmor.FileError):
            larmor.write(tmp_path / name, x)
        larmor.write(tmp_path / name, 2 * x, force=True)
    assert np.array_equal(np.load(tmp_path / "x.npy").T, 2 * x)


def test_images_of_a_series_keep_their_places_through_files(tmp_path, numbers):
    slices, repetitions = 3, 2
    images = [numbers(4, 5).astype(np.complex64) for _ in range(slices * repetitions)]
    metas = [{"fov_mm": (5.0, 40.0, 50.0), "position_mm": (1.0, 2.0, 6.0 * (slices - 1 - i % slices)),
              "read_dir": (1.0, 0.0, 0.0), "phase_dir": (0.0, 1.0, 0.0), "slice_dir": (0.0, 0.0, 1.0),
              "slice": i % slices, "repetition": i // slices} for i in range(slices * repetitions)]
    larmor.write_images(tmp_path / "x.h5", images, metas)
    back, places = larmor.read_images(tmp_path / "x.h5")
    assert np.array_equal(back, images)
    assert [m["position_mm"][2] for m in places] == [m["position_mm"][2] for m in metas]
    expected = np.reshape(images, (repetitions, slices, 4, 5))[:, ::-1]
    assert np.array_equal(larmor.stack_images(back, places), expected)
    larmor.write_images(tmp_path / "x.nii", back, places)
    volumes, (place, _) = larmor.read_images(tmp_path / "x.nii")
    assert np.allclose(volumes, np.abs(expected))
    assert np.allclose(place["fov_mm"], (18, 40, 50))


def test_images_that_one_file_cannot_hold_are_written_to_several(tmp_path, numbers):
    images = [numbers(4, 4).astype(np.complex64) for _ in range(3)]
    axes = np.eye(3)
    metas = [{"fov_mm": (5.0, 40.0, 40.0), "read_dir": tuple(axes[i]), "phase_dir": tuple(axes[(i + 1) % 3]),
              "slice_dir": tuple(axes[(i + 2) % 3]), "slice": i} for i in range(3)]
    reports = [{"method": {"name": "grid", "from": "caller"},
                "lambda": 0.0, "lambda_from": "none", "solver": {"iters": 0}, "warnings": [],
                "misfit": {"measured": 0}}] * 3
    done = larmor.Reconstruction(images, metas, reports, None, [], [], {"method": "grid"})
    done.write(tmp_path / "x.nii")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x_1.nii", "x_2.nii", "x_3.nii"]
    for i in range(3):
        assert np.allclose(larmor.read(tmp_path / f"x_{i + 1}.nii"), np.abs(images[i]))
        assert np.allclose(larmor.read_meta(tmp_path / f"x_{i + 1}.nii")["read_dir"], axes[i])
    done.images[2] = numbers(2, 2).astype(np.complex64)
    done.write(tmp_path / "x.h5")
    assert len(larmor.read_images(tmp_path / "x_1.h5")[0]) == 2


def test_npy_files_that_are_equal_to_numpy_are_equal_here(tmp_path, numbers):
    for x in (numbers(3, 4, 5), numbers(4, 4).astype(np.complex64), numbers(7, 2).real):
        for order in (np.ascontiguousarray, np.asfortranarray):
            np.save(tmp_path / "x.npy", order(x))
            assert np.array_equal(larmor.read(tmp_path / "x.npy"), x.T)


def test_files_that_are_damaged_or_missing_are_named(tmp_path):
    wrong = tmp_path / "wrong.h5"
    wrong.write_bytes(b"no scan")
    with pytest.raises(larmor.FormatError, match=r"wrong\.h5"):
        larmor.recon(wrong)
    with pytest.raises(OSError, match=r"none\.h5"):
        larmor.recon(tmp_path / "none.h5")
    with pytest.raises(larmor.ArgumentError, match=r"jpeg"):
        larmor.write(tmp_path / "x.jpeg", np.zeros((3, 3)))


def test_names_and_devices_are_listed():
    assert "radial" in larmor.trajectories()
    assert larmor.devices()[0]["available"]
    assert larmor.device("cpu:1").spec == "cpu:1"


def test_noise_is_the_deviation_and_snr_the_magnitude_over_it(scan):
    done = larmor.recon(scan, method="grid", noise=True)
    assert done.noise.shape == done.g.shape == done.images.shape
    assert done.noise.dtype == np.float32
    seen = done.noise > 0
    assert np.allclose(done.snr[seen], np.abs(done.images)[seen] / done.noise[seen], rtol=1e-5)
    few = larmor.recon(scan, method="cg", lam=1e-3, noise=4)
    assert "noise map: from 4 samples of noise" in "\n".join(few.log)
    with pytest.raises(ValueError, match=r"noise: it was not asked for"):
        _ = larmor.recon(scan, method="grid").snr
    with pytest.raises(larmor.ArgumentError, match=r"noise.samples: 1 is not from 2"):
        larmor.recon(scan, method="cg", noise=1)


def test_a_quick_map_is_near_that_of_many_samples_and_leaves_the_image(scan):
    quick, many = (larmor.recon(scan, method="cg", lam=1e-2, noise=n) for n in ("quick", 96))
    assert np.array_equal(quick.images, many.images)
    inside = np.abs(many.images) > 0.2 * np.abs(many.images).max()
    assert np.mean(np.abs(quick.noise / many.noise - 1)[inside] < 0.3) > 0.85
    with pytest.raises(ValueError, match=r'noise: got "much", expected "quick"'):
        larmor.recon(scan, method="cg", noise="much")


def test_the_response_says_what_becomes_of_a_point(scan):
    done = larmor.recon(scan, method="tv", lam=1e-2, response=2)
    assert done.height.shape == done.width.shape == done.images.shape
    smooth = larmor.recon(scan, method="tv", lam=1e-1, response=2)
    assert np.median(smooth.height) < np.median(done.height) < 1
    high = larmor.recon(scan, method="tv", lam=1e-2, response=2, point_contrast=5)
    assert np.median(high.height) > np.median(done.height)
    assert "(2 probes, " in "\n".join(done.log)
    with pytest.raises(larmor.ArgumentError, match=r"response.probes: -1 is not from 1 to 4096"):
        larmor.recon(scan, method="cg", response=-1)


def test_the_posterior_is_what_the_object_may_be(scan):
    done = larmor.recon(scan, method="cg", lam=1e-3, posterior=8)
    assert done.posterior_mean.shape == done.posterior_deviation.shape == done.images.shape
    assert np.array_equal(done.posterior_mean, done.images)
    with pytest.raises(larmor.ArgumentError, match=r"posterior: images by gridding, which has no prior"):
        larmor.recon(scan, method="grid", posterior=True)


def test_a_page_has_images_maps_figures_and_options(scan, tmp_path):
    done = larmor.recon(scan, lam=1e-3, iterations=5, noise=3)
    done.write_page(tmp_path / "page.html", traj=scan.traj, title="a < b")
    html = (tmp_path / "page.html").read_text()
    data = json.loads(re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1])
    assert data["title"] == "a < b"
    assert data["volumes"][0]["n"] == [SHAPE[1], SHAPE[0], 1]
    assert data["volumes"][0]["largest"] == pytest.approx(float(abs(done.images).max()), rel=1e-4)
    assert dict(data["reports"][0]["figures"])["method"] == "cg"
    assert data["volumes"][1]["name"] == "signal-to-noise ratio"
    assert data["volumes"][1]["largest"] == pytest.approx(float(done.snr.max()), rel=1e-4)
    assert data["maps"]["coils"] == 4
    assert data["trajectory"]["readouts"] == 70
    assert data["log"] == done.log
    assert dict(data["settings"])["iterations"] == "5"
    with pytest.raises(FileExistsError):
        done.write_page(tmp_path / "page.html")


def test_density_weights_and_maps_have_the_shapes_of_their_data(scan):
    for method in ("auto", "ramp", "pipe", "voronoi"):
        assert larmor.density(scan.traj, SHAPE, method).shape == scan.traj.shape[:2]
    assert larmor.coil_maps(scan.kspace, scan.traj, SHAPE).shape == (4, *SHAPE)


def test_coil_images_without_maps_become_one_image(scan):
    """Products of an image and maps, whose root sum of squares is the image's shading, are that image again."""
    image, maps = larmor.phantom(SHAPE), larmor.phantom_coils(SHAPE, 4)
    combined = larmor.combine_coils(maps * image)
    expected = np.sqrt((abs(maps * image) ** 2).sum(0))
    assert np.linalg.norm(abs(combined) - expected) < .02 * np.linalg.norm(expected)
    clear, cg = (larmor.recon(scan, method=method).images[0] for method in ("clear", "cg"))
    assert clear.shape == SHAPE
    assert magnitude_error(clear, cg) < 0.3
    with pytest.raises(larmor.ShapeError, match="combine: got complex64"):
        larmor.combine_coils(np.zeros(8, np.complex64))


def test_the_package_needs_numpy_alone():
    """Without torch, CuPy, SciPy and tqdm it imports."""
    code = ("import sys\nfor name in ('torch', 'cupy', 'scipy', 'tqdm'): sys.modules[name] = None\n"
            "import larmor; print(larmor.phantom((8, 8)).shape)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(8, 8)"


@pytest.mark.parametrize(("scale", "unit"), [(1, "norm"), (2, "pm1"), (2 * np.pi, "rad")])
def test_arrays_with_a_trajectory_in_another_unit_are_refused(scan, scale, unit):
    wrong = larmor.ScanArrays(scan.kspace, scan.traj / np.array(SHAPE) * scale, SHAPE)
    with pytest.raises(larmor.FormatError, match=f'they are in "{unit}", multiply them by'):
        larmor.recon(wrong)


def interrupt(call, when):
    """What Ctrl-C raises in a call, once an event is as `when` has it, with its frames."""

    def listen(event):
        if when(event):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as raised:
        call(progress=listen)
    return raised.value


def test_a_number_of_0_is_what_the_program_takes_0_for(scan):
    def settings_of(**options):
        done = larmor.recon(scan, method="cg", lam=1e-3, delays="off", device="cpu:1", **options)
        return done.reports[0]["solver"]["iters"], done.provenance["settings"]

    assert settings_of(tol=0) == settings_of(tol="0") == settings_of(tol=-1) != settings_of()
    assert settings_of(checkpoint_every=0.0)[1]["checkpoint_every"] == "0"
    with pytest.raises(larmor.ArgumentError, match=r"^eps: got .0., expected a number from 1e-13 to 0.1"):
        larmor.recon(scan, eps=0)


def test_a_call_that_is_repeated_after_ctrl_c_goes_on_from_its_checkpoint(scan, tmp_path):
    series = larmor.ScanArrays([scan.kspace, 2 * scan.kspace, 3 * scan.kspace], [scan.traj] * 3, SHAPE)

    def call(**options):
        return larmor.recon(series, method="cg", iterations=8, at_once=1, device="cpu:1",
                            checkpoint=tmp_path / "state", **options)

    kept = interrupt(call, lambda e: e["kind"] == "step" and e["series"] == 2)
    steps = []
    done = call(progress=lambda e: steps.append(e["series"]) if e["kind"] == "step" else None)
    assert kept.__traceback__ is not None and set(steps) == {2, 3}  # the first one was done
    whole = larmor.recon(series, method="cg", iterations=8, at_once=1, device="cpu:1")
    assert np.array_equal(done.images, whole.images)


def test_a_file_that_was_not_written_to_its_end_can_be_written_again(scan, tmp_path, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    path = tmp_path / "scan.h5"
    with monkeypatch.context() as patch:
        patch.setattr(larmor._calibration, "_readout", interrupted)
        with pytest.raises(KeyboardInterrupt) as kept:
            larmor.write_scan(path, scan)
    assert not path.exists()
    larmor.write_scan(path, scan)
    assert kept.value.__traceback__ is not None and larmor.Scan(path).samples().kspace.shape == scan.kspace.shape


@pytest.mark.parametrize("scale", ["sum", "integral"])
@pytest.mark.parametrize("method", ["cg", "grid"])
def test_recon_and_operators_have_either_scale(scan, scale, method):
    maps, truth = larmor.phantom_coils(SHAPE, 4), larmor.phantom(SHAPE)
    kspace = larmor.linop.sense(maps, scan.traj, scale=scale) @ truth
    image = larmor.recon(larmor.ScanArrays(kspace, scan.traj, SHAPE), method=method, maps=maps, scale=scale).images[0]
    assert np.vdot(image, truth).real / np.vdot(image, image).real == pytest.approx(1, abs=0.05)
    factors = np.ones((1, *scan.traj.shape[:2]))
    subspace = larmor.linop.subspace_sense(maps, scan.traj, factors, scale=scale)
    assert relative(subspace @ truth[None], kspace) < 1e-4


def test_samples_of_double_precision_are_those_of_single(scan):
    double = larmor.ScanArrays(scan.kspace.astype(np.complex128), scan.traj, SHAPE,
                               calibration=scan.kspace.astype(np.complex128), calibration_traj=scan.traj)
    single = larmor.ScanArrays(scan.kspace, scan.traj, SHAPE, calibration=scan.kspace, calibration_traj=scan.traj)
    images = [larmor.recon(of, method="grid").images for of in (double, single)]
    assert np.array_equal(*images)


def test_a_scale_that_is_none_is_refused(scan):
    for call in (lambda: larmor.recon(scan, scale="voxels"),
                 lambda: larmor.linop.sense(larmor.phantom_coils(SHAPE, 4), scan.traj, scale="voxels")):
        with pytest.raises(larmor.ArgumentError, match=r"scale: got .voxels., expected"):
            call()


def test_messages_have_numpys_shapes_and_members_for_options(scan):
    A = larmor.linop.sense(larmor.phantom_coils(SHAPE, 4), scan.traj)
    with pytest.raises(larmor.ShapeError, match=re.escape("is complex64 (4, 6720)")) as wrong:
        larmor.solve.cg(A, scan.kspace.reshape(4, -1))
    assert "expected complex64 (4, 70, 96)" in str(wrong.value)
    with pytest.raises(larmor.ShapeError, match=re.escape("expected [coils, image...]")):
        larmor.linop.coils(np.ones(4, np.complex64))
    with pytest.raises(larmor.Error) as refused:
        larmor.recon(scan, method="cg", maps=False)
    assert str(refused.value) == "maps=False: only method grid and clear work without coil maps."
    with pytest.raises(larmor.ShapeError) as refused:
        larmor.recon(scan, method="cg", b0=np.zeros((5, 4, 3)))
    assert "b0 map: 5x4x3 voxels, expected 1 or 1 slices, as the scan has." in str(refused.value)
    with pytest.raises(larmor.ArgumentError, match=r"^precondition circulant: .* and map_sets has 2"):
        larmor.recon(scan, method="cg", precondition=1, map_sets=2, maps_method="espirit")
    with pytest.raises(larmor.ArgumentError, match=re.escape('frames["spokes"] 71: the images of arrays have 70')):
        larmor.recon(scan, frames={"spokes": 71})


def test_bins_of_ones_own_signals_are_images_of_their_readouts(scan):
    signal = np.arange(70) % 3
    bins = larmor.recon(scan, method="grid", frames={"breath": 2, "time": 5, "breath_signal": signal})
    assert bins.images.shape[0] == 10
    with pytest.raises(larmor.ShapeError, match="bins: got 69 numbers of the breath, expected one of each readout"):
        larmor.recon(scan, method="grid", frames={"breath": 2, "breath_signal": signal[1:]})


@pytest.fixture(scope="module")
def beating(tmp_path_factory):
    """A file of an object with heart and breath, with an ECG and a belt."""
    path = tmp_path_factory.mktemp("beating") / "scan.h5"
    larmor.Simulation((16, 16), traj={"readouts": 600}, coils=2, snr=20, tr_ms=20, breath={"rate": 20, "size": 10},
                      heart={"rate": 70, "size": 0.3}, waveforms="triggers").write(path)
    return path


def test_bins_are_options_by_the_programs_texts_and_stay_in_files_of_options(beating, tmp_path):
    frames = larmor.recon(beating, method="grid", frames={"heart": 2, "breath": 2})
    bins = larmor.recon(beating, method="grid", bins="heart:2,breath:2", gating="waveforms", tick=2.5)
    assert bins.images.shape == (4, 16, 16) and np.array_equal(bins.images, frames.images)
    bins.write_settings(tmp_path / "recon.toml")
    settings = larmor.read_settings(tmp_path / "recon.toml")
    assert settings == {"method": "grid", "bins": "heart:2,breath:2", "gating": "waveforms", "tick": "2.5"}
    with pytest.raises(ValueError, match="tick: got 0, expected a number of ms above 0"):
        larmor.recon(beating, method="grid", bins="heart:2", tick=0)
    assert np.array_equal(larmor.recon(beating, **settings).images, bins.images)
    assert sum(len(series["places"]) for series in larmor.plan(beating, **settings)) == 4


@pytest.mark.parametrize(("options", "kind", "line"), [
    ({"bins": "heart:0"}, larmor.ArgumentError,
     'bins: got "heart:0", expected one or two of heart:N, breath:N and time:N, like heart:20,breath:4'),
    ({"bins": "heart:2", "gating": "signals.txt"}, larmor.ArgumentError,
     'gating: got "signals.txt", expected auto, waveforms, header or self'),
    ({"gating": "self"}, TypeError, "gating: has no effect without bins"),
    ({"bins": "heart:2", "frames": {"spokes": 21}}, TypeError,
     "frames and bins exclude each other; give one of them")])
def test_bins_that_cannot_be_are_refused_in_a_line(beating, options, kind, line):
    for call in larmor.recon, larmor.plan:
        with pytest.raises(kind) as refused:
            call(beating, method="grid", **options)
        assert str(refused.value) == line


@pytest.mark.parametrize(("line", "ours"), [
    ("use opts.traj_units.", "use traj_units."),
    ("a smaller opts.lambda (opts.iters)", "a smaller lam (iterations)"),
    ("maps of 64x48x1 voxels over 256 x 192.5 x 5 mm. Say (opts.maps_place X,Y,Z in mm)",
     'maps of 1x48x64 voxels over 5 x 192.5 x 256 mm. Say (maps_place["fov_mm"] Z,Y,X in mm)'),
    ("/data/64x48/scan_32x16.h5: 3 of popts.maps", "/data/64x48/scan_32x16.h5: 3 of popts.maps"),
])
def test_a_line_of_the_library_is_in_pythons_words(line, ours):
    assert in_pythons_words(line) == ours


SEQUENCE = """[VERSION]
major 1
minor 5
revision 0
[DEFINITIONS]
BlockDurationRaster 1e-05
FOV 0.2 0.25 0.005
[BLOCKS]
1 40 0 1 2 0 1 1
2 40 0 1 0 0 2 0
3 10 0 0 0 0 0 2
[TRAP]
1 1000 100 200 100 0
2 2000 100 200 100 0
[ADC]
1 4 10000 200 0 0 0 0.25 0
2 2 10000 200 0 0 0 0 0
[EXTENSIONS]
1 1 1 0
2 2 1 0
extension LABELSET 1
1 3 LIN
extension DELAYS 2
1 0 0 1 TE
"""


def test_a_sequence_has_readouts_labels_and_a_trajectory(tmp_path):
    path = tmp_path / "a.seq"
    path.write_text(SEQUENCE)
    sequence = larmor.Pulseq(path)
    assert sequence.info["version"] == (1, 5, 0)
    assert np.allclose(sequence.info["fov_mm"], (200, 250, 5))
    assert [r["samples"] for r in sequence.readouts] == [4, 2]
    assert [r["labels"]["LIN"] for r in sequence.readouts] == [3, 3]
    k = sequence.trajectory.k
    assert [r.shape for r in k] == [(4, 2), (2, 2)]
    expected = 1000 * (150e-6 + 10e-6 * (np.arange(4) + 0.5))
    assert np.allclose(k[0], np.stack([2 * expected, expected], axis=1))  # ky, kx
    assert sequence.trajectory.units == "1/m"
    longer = larmor.Pulseq(path, soft_delays={"TE": 0.5}, adc_phases="all")
    assert longer.info["duration_s"] == pytest.approx(0.5008)
    with pytest.raises(larmor.ArgumentError, match="no soft delay TR"):
        larmor.Pulseq(path, soft_delays={"TR": 1})
    path.write_text("nothing")
    with pytest.raises(larmor.FormatError, match="no Pulseq sequence"):
        larmor.Pulseq(path)


def test_a_scan_takes_a_given_trajectory(tmp_path):
    traj = larmor.traj("golden", SHAPE, readouts=60, samples=96)
    right, wrong, array, times = (tmp_path / name for name in ("right.h5", "wrong.h5", "k.npy", "t.npy"))
    kspace = larmor.phantom_kspace(traj, coils=2)
    larmor.write_scan(right, larmor.ScanArrays(kspace, traj, SHAPE))
    spokes = larmor.traj("radial", SHAPE, readouts=60, samples=96)
    larmor.write_scan(wrong, larmor.ScanArrays(kspace, spokes, SHAPE))
    larmor.write_traj(array, traj)
    np.save(times, np.arange(96 * 60.0).reshape(96, 60))
    for given in (traj, array, right, larmor.Trajectory.read(array, times=times), larmor.Trajectory(list(traj))):
        found = larmor.Scan(wrong, trajectory=given)
        assert np.allclose(found.samples().traj, traj, atol=1e-5)
        assert found.info["traj_given"].endswith("60 readouts of 96 samples, for each acquisition")
    read = larmor.Trajectory.read(array, times=times, units="norm")
    assert len(read.k) == 60
    assert np.array_equal(read.k[3], np.concatenate([np.zeros((96, 1)), traj[3]], axis=1))
    assert np.array_equal(read.times[3], np.arange(96) * 60.0 + 3)
    assert read.weights is None
    assert read.units is None
    with pytest.raises(larmor.ShapeError, match="trajectory given has 59 readouts of 96 samples"):
        larmor.Scan(wrong, trajectory=traj[1:])
    with pytest.raises(larmor.ShapeError, match="times: got 96 numbers, expected 5760"):
        larmor.Trajectory(traj, times=np.zeros((1, 96)))


def test_slices_that_are_excited_together_are_a_volume_of_them(tmp_path):
    simulation = larmor.Simulation((32, 32), "golden", traj={"readouts": 60}, coils=8, phantom="texture", bands=3)
    simulation.write(tmp_path / "scan.h5")
    truth = simulation.expected()[0][0]
    maps = simulation.maps()
    common = {"maps": maps, "method": "cg", "lam": 1e-5, "delays": "off", "memory": "1G", "device": "cpu"}
    cycled = larmor.recon(tmp_path / "scan.h5", multiband={"offset_mm": [-40, 0, 40]}, **common).images[0]
    phase = 2 * np.pi * np.outer(np.arange(3), np.arange(60)) / 3
    asked = {"offset_mm": [-40, 0, 40], "phase": phase}
    given = larmor.recon(tmp_path / "scan.h5", multiband=asked, **common).images[0]
    assert cycled.shape == (3, 32, 32)
    found = larmor.compare(cycled, truth, inside=2)
    assert found["nrmse"] < 0.02
    assert abs(found["factor"] - 1) < 0.01
    assert np.abs(given - cycled).max() < 1e-2 * np.abs(cycled).max()


def test_phases_in_the_rows_of_a_trajectory_are_those_of_an_array(tmp_path):
    options = {"traj": {"readouts": 6}, "coils": 3, "phantom": "texture", "snr": 30, "position_mm": (0, 30, 40)}
    plain = larmor.Simulation((24, 24), "spiral", **options)
    readouts, samples = plain.samples().traj.shape[:2]
    time = np.linspace(0, 1, samples) * np.ones((readouts, 1))
    phases = np.stack([60 * np.cos(term) * time**2 for term in range(9)])
    phases[1:4] = 0
    simulation = larmor.Simulation((24, 24), "spiral", phase_terms=phases, phase_rows=True, **options)
    simulation.write(tmp_path / "rows.h5")
    common = {"maps": simulation.maps(), "method": "cg", "lam": 1e-3, "iterations": 6, "delays": "off",
              "memory": "1G"}
    scan = larmor.Scan(tmp_path / "rows.h5", phase_terms="trajectory")
    assert scan.info["phase_terms"] == 9
    assert np.abs(scan.phase_terms() - phases).max() < 1e-3
    by_rows = larmor.recon(scan, **common).images[0]
    by_path = larmor.recon(tmp_path / "rows.h5", phase_terms="trajectory", **common).images[0]
    larmor.Simulation((24, 24), "spiral", phase_terms=phases, **options).write(tmp_path / "plain.h5")
    by_array = larmor.recon(tmp_path / "plain.h5", phase_terms=phases, **common).images[0]
    assert (by_path == by_rows).all()
    # each model is within 1e-3 of the phases, which rows have in single precision
    assert larmor.compare(by_rows, by_array)["nrmse"] < 3e-3
    with pytest.raises(larmor.ArgumentError, match="the scan was opened with phases of its own"):
        larmor.recon(scan, phase_terms=phases, **common)
    with pytest.raises(larmor.ArgumentError, match="phase_terms: text is only for paths"):
        larmor.recon(scan, phase_terms="trajectory", **common)
    with pytest.raises(larmor.FormatError, match="use phase_terms trajectory"):
        larmor.Scan(tmp_path / "rows.h5")
    with pytest.raises(larmor.ArgumentError, match="phase_terms: has no effect with method nlinv"):
        larmor.recon(scan, method="nlinv", device="cpu")


def test_slices_that_are_left_out_are_an_image_of_their_sum(tmp_path):
    simulation = larmor.Simulation((24, 24), "golden", traj={"readouts": 40}, coils=4, phantom="texture", bands=3)
    simulation.write(tmp_path / "scan.h5")
    common = {"method": "cg", "lam": 1e-3, "iterations": 6, "delays": "off", "memory": "1G", "device": "cpu"}
    slices = larmor.recon(larmor.Scan(tmp_path / "scan.h5"), **common).images[0]
    together = larmor.recon(larmor.Scan(tmp_path / "scan.h5", multiband_left_out=1), **common).images[0]
    assert slices.shape == (3, 24, 24)
    assert together.shape == (24, 24)


def test_phases_of_slices_may_be_any_and_places_uneven():
    simulation = larmor.Simulation((24, 24), "golden", traj={"readouts": 40}, coils=6, phantom="texture", bands=3)
    traj = simulation.samples().traj
    maps = simulation.maps()
    cycles = 2 * np.pi * np.outer(np.arange(3), np.arange(40)) / 3
    common = {"maps": maps, "method": "cg", "lam": 1e-4, "delays": "off", "memory": "1G", "device": "cpu"}
    alone = [larmor.linop.sense(maps[:, s], traj) for s in range(3)]
    x = simulation.expected()[0][0]
    phase = cycles + np.random.default_rng(4).uniform(-1, 1, cycles.shape)
    made = larmor.linop.multiband(alone, phase) @ x.astype(np.complex64)
    scan = larmor.ScanArrays(np.asarray(made), traj, (24, 24), fov_mm=(256, 256))
    image = larmor.recon(scan, multiband={"offset_mm": [-40, 0, 50], "phase": phase}, **common)
    found = larmor.compare(image.images[0], x, inside=2)
    assert found["nrmse"] < 0.02
    wrong = larmor.recon(scan, multiband={"offset_mm": [-40, 0, 50], "phase": cycles}, **common)
    assert larmor.compare(wrong.images[0], x, inside=2)["nrmse"] > 0.2
    del common["maps"]
    with pytest.raises(larmor.UnsupportedError, match="phases that grow unevenly from slice to slice need coil maps"):
        larmor.recon(scan, multiband={"offset_mm": [-40, 0, 50], "phase": phase}, **common)


def test_the_operator_of_slices_at_once_is_their_sum():
    traj = larmor.traj("golden", (16, 16), readouts=9)
    rng = np.random.default_rng(2)
    maps = rng.standard_normal((2, 2, 16, 16)) + 1j * rng.standard_normal((2, 2, 16, 16))
    ops = [larmor.linop.sense(one, traj) for one in maps]
    phase = rng.standard_normal((2, 9))
    A = larmor.linop.multiband(ops, phase)
    x = rng.standard_normal((2, 16, 16)) + 0j
    turned = [np.exp(1j * phase[s])[None, :, None] * (ops[s] @ x[s].astype(ops[s].dtype)) for s in range(2)]
    y = A @ x.astype(A.dtype)
    assert np.linalg.norm(y - sum(turned)) < 1e-5 * np.linalg.norm(y)
    assert A.adjoint_error() < 1e-6


def test_dead_channels_of_arrays_are_left_out_as_of_files(tmp_path):
    traj = larmor.traj("golden", (32, 24), readouts=40)
    rng = np.random.default_rng(7)
    kspace = larmor.phantom_kspace(traj, coils=4)
    noise = rng.normal(size=kspace.shape) + 1j * rng.normal(size=kspace.shape)
    kspace = np.ascontiguousarray(kspace + 1e-3 * noise)
    wide = np.insert(kspace, 2, 0, axis=0).astype("c8")
    arrays, whole = (larmor.ScanArrays(x.astype("c8"), traj, (32, 24)) for x in (wide, kspace))
    path = tmp_path / "scan.h5"
    larmor.write_scan(path, arrays)
    options = dict(method="cg", device="cpu")
    of_arrays, of_file, alive = (larmor.recon(x, **options) for x in (arrays, path, whole))
    assert of_arrays.warnings == of_file.warnings == ["channel 2 has no signal; left out."]
    assert alive.warnings == []
    assert np.array_equal(of_arrays.images, alive.images)
    assert relative(of_arrays.images, of_file.images) < 1e-3
    with pytest.raises(larmor.FormatError, match="arrays: all data is zero"):
        larmor.recon(larmor.ScanArrays(0 * wide, traj, (32, 24)), **options)


def test_the_name_of_a_file_in_the_place_of_an_array_is_said(scan):
    with pytest.raises(larmor.ArgumentError, match=r"a text where an array is expected; larmor.read\(FILE\)"):
        larmor.recon(scan, maps="maps.cfl")
