"""Scans of a source of readouts and waveforms are those of a file that has the same. SPDX-License-Identifier:
Apache-2.0"""

from __future__ import annotations

import numpy as np
import pytest

import larmor
from larmor._library import check, ffi, lib

OPTIONS = {"method": "grid", "bins": "heart:2,breath:2", "gating": "waveforms"}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    name = tmp_path_factory.mktemp("readouts") / "scan.h5"
    larmor.Simulation((16, 16), traj={"readouts": 600}, coils=2, snr=20, tr_ms=20, breath={"rate": 20, "size": 10},
                      heart={"rate": 70, "size": 0.3}, waveforms="triggers").write(name)
    return name


def readouts_of(scan):
    """Each readout as (kspace, traj, members)."""
    one = ffi.new("larmor_acquisition *")
    for i in range(scan.info["acquisitions"]):
        check(lib.larmor_raw_acquisition(scan.pointer, i, one))
        data = np.frombuffer(ffi.buffer(one.data, 8 * one.samples * one.coils), np.complex64)
        points = np.frombuffer(ffi.buffer(one.traj, 4 * one.samples * one.traj_dims), np.float32)
        members = {"time_stamp": one.time_stamp, "step1": one.step1, "read_dir": (1, 0, 0), "phase_dir": (0, 1, 0),
                   "slice_dir": (0, 0, 1), "flags": one.flags}
        yield data.reshape(one.coils, -1), points.reshape(one.samples, -1)[:, ::-1], members


def waves_of(scan, with_trigger=False):
    block = ffi.new("larmor_waveform *")
    for i in range(lib.larmor_raw_waveforms(scan.pointer)):
        check(lib.larmor_raw_waveform(scan.pointer, i, block))
        numbers = np.frombuffer(ffi.buffer(block.data, 4 * block.channels * block.samples), np.uint32)
        kind = ("ecg", "pulse", "respiratory")[block.id] if with_trigger else block.id
        trigger = block.trigger if with_trigger and block.trigger >= 0 else None
        yield larmor.Waveform(kind, numbers.reshape(block.channels, -1), block.time_stamp, block.sample_us, trigger)


def mixed(scan, **options):
    """A generator of both, blocks between readouts."""
    waves = list(waves_of(scan, **options))
    for i, readout in enumerate(readouts_of(scan)):
        yield readout
        if i % 20 == 0 and waves:
            yield waves.pop(0)
    yield from waves


def test_bins_of_a_source_of_readouts_and_waveforms_are_those_of_the_file_bit_for_bit(path):
    file = larmor.Scan(path, as_stored=1)
    expected = larmor.recon(path, **OPTIONS)
    scan = larmor.scan_of(mixed(file), file)
    assert scan.info["acquisitions"] == 600 and "600 readouts of 2 coils" in repr(scan)
    found = larmor.recon(scan, **OPTIONS)
    assert expected.images.shape == (4, 16, 16) and np.array_equal(found.images, expected.images)
    assert [line for line in found.log if "triggers" in line] == [line for line in expected.log if "triggers" in line]


def test_a_header_of_the_matrix_alone_has_the_channel_of_triggers(path):
    file = larmor.Scan(path, as_stored=1)
    scan = larmor.scan_of(mixed(file, with_trigger=True), (16, 16), fov_mm=(256, 256))
    assert "<name>TriggerChannel</name><value>1</value>" in scan.xml
    found, expected = (larmor.recon(one, **OPTIONS) for one in (scan, path))
    scale = np.linalg.norm(expected.images) / np.linalg.norm(found.images)
    assert np.allclose(scale * found.images, expected.images, atol=1e-5 * np.abs(expected.images).max())


def test_a_source_with_waveforms_is_a_live_source_too(path):
    file = larmor.Scan(path, as_stored=1)
    options = {"window": 100, "first": 200, "device": "cpu"}
    found, expected = (list(larmor.live(one, file, **options)) for one in (mixed(file), readouts_of(file)))
    assert len(found) == 5
    assert all(np.array_equal(a.image, b.image) for a, b in zip(found, expected))


@pytest.mark.parametrize(("wave", "kind", "line"), [
    (larmor.Waveform("eeg", [[1]], 0, 100), larmor.ArgumentError,
     'waveform: got "eeg", expected ecg, pulse, respiratory or a number'),
    (larmor.Waveform("ecg", [[1.5]], 0, 100), larmor.ShapeError,
     "waveform: got float64 of shape (1, 1), expected whole numbers [channels, samples]"),
    (larmor.Waveform("ecg", [[2**32]], 0, 100), larmor.ArgumentError,
     "waveform: got 4294967296 to 4294967296, expected numbers of 32 bits"),
    (larmor.Waveform("ecg", [[1, 2]], 0, 0.1), larmor.ArgumentError, "")])
def test_a_waveform_that_is_none_is_refused_in_a_line(path, wave, kind, line):
    file = larmor.Scan(path, as_stored=1)
    with pytest.raises(kind) as refused:
        larmor.scan_of([*readouts_of(file), wave], file)
    assert line in str(refused.value) and "\n" not in str(refused.value)
