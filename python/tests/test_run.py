"""Images as they come: larmor.reconstruct by for and async for, after Ctrl-C, and what notebooks show.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ctypes
import re
import signal
import struct
import threading
import zlib

import numpy as np
import pytest

import larmor
from larmor import _library

SHAPE = (24, 24)
OPTIONS = {"method": "cg", "iterations": 6, "device": "cpu:1", "at_once": 1}


@pytest.fixture(scope="module")
def series():
    traj = larmor.traj("radial", SHAPE, readouts=30)
    kspace = larmor.phantom_kspace(traj, coils=3, noise=1e-4)
    return larmor.ScanArrays([kspace, 2 * kspace, 3 * kspace], [traj] * 3, SHAPE)


@pytest.fixture(scope="module")
def whole(series):
    return larmor.recon(series, **OPTIONS)


def ctrl_c_in(which):
    """A listener that is interrupted once, in a step of this series."""
    begun = []

    def listen(event):
        if event["kind"] == "step" and event["series"] == which and not begun:
            begun.append(event)
            signal.raise_signal(signal.SIGINT)

    return listen


def test_images_come_before_the_next_series_begins(series, whole):
    seen = []

    def listen(event):
        if event["kind"] == "step":
            seen.append(event["series"])

    run = larmor.reconstruct(series, progress=listen, **OPTIONS)
    found = []
    for image in run:
        assert max(seen) == len(found) + 1
        found.append(image)
    assert np.array_equal(np.stack(found), whole.images)
    assert [one.meta["repetition"] for one in found] == [0, 1, 2]
    assert [one.report["solver"]["iters"] for one in found] == [one["solver"]["iters"] for one in whole.reports]
    done = run.finished()
    assert np.array_equal(done.maps, whole.maps) and len(done.log) == len(whole.log)
    assert next(run, None) is None


def test_async_for_gives_the_same_images_while_other_tasks_run(series, whole):
    async def collect():
        ticks, found = [], []

        async def tick():
            while True:
                ticks.append(len(found))
                await asyncio.sleep(0)

        other = asyncio.create_task(tick())
        async for image in larmor.reconstruct(series, **OPTIONS):
            found.append(np.asarray(image))
        other.cancel()
        return found, ticks

    found, ticks = asyncio.run(collect())
    assert np.array_equal(found, whole.images)
    assert {0, 1, 2} <= set(ticks)


def test_a_task_that_is_cancelled_ends_its_series_and_the_run_goes_on(series, whole):
    async def cancelled():
        loop, begun, held = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

        def listen(event):
            if event["kind"] == "step" and event["series"] == 2:
                loop.call_soon_threadsafe(begun.set)
                held.wait()

        run = larmor.reconstruct(series, progress=listen, **{**OPTIONS, "iterations": 10**6, "tol": -1.0})
        first = await run.__anext__()
        task = asyncio.ensure_future(run.__anext__())
        await begun.wait()
        task.cancel()
        while not run._listener.cancelled:
            await asyncio.sleep(0)
        held.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        return first, run

    first, run = asyncio.run(cancelled())
    assert len(run.finished().images) == 1 and np.array_equal(run.finished().images[0], first.image)
    run.close()


def test_ctrl_c_leaves_what_is_finished_and_iterating_again_goes_on(series, whole):
    run, found = larmor.reconstruct(series, progress=ctrl_c_in(2), **OPTIONS), []
    with pytest.raises(KeyboardInterrupt):
        for image in run:
            found.append(image)
    assert np.array_equal(run.finished().images, whole.images[:1])
    found.extend(run)
    assert np.array_equal(np.stack(found), whole.images)


def test_ctrl_c_in_recon_brings_what_is_finished(series, whole):
    with pytest.raises(KeyboardInterrupt) as raised:
        larmor.recon(series, progress=ctrl_c_in(3), **OPTIONS)
    kept = raised.value.reconstruction
    assert np.array_equal(kept.images, whole.images[:2]) and len(kept.reports) == 2


@contextlib.contextmanager
def signals_between():
    """The library asks whether to stop by C's raise(SIGINT), so that the signal waits where a callback begins."""
    raises = ctypes.cast(ctypes.CDLL(None)["raise"], ctypes.c_void_p).value
    _library.lib.larmor_stop_when(_library.ffi.cast("int (*)(void *)", raises),
                                  _library.ffi.cast("void *", int(signal.SIGINT)))
    try:
        yield
    finally:
        _library.lib.larmor_stop_when(_library._stop_asked, _library.ffi.NULL)


def test_ctrl_c_where_a_listener_a_monitor_or_an_operator_begins_is_no_other_error(series, capfd):
    A, samples = larmor.linop.nufft(series.traj[0], SHAPE), series.kspace[0][0]
    own = larmor.linop.Function(lambda x: A @ x, lambda y: A.H @ y, A.in_shape, A.out_shape)
    for call in (lambda: larmor.recon(series, progress=lambda event: None, **OPTIONS),
                 lambda: larmor.solve.cg(A, samples, monitor=lambda p: None),
                 lambda: larmor.solve.cg(own, samples)):
        with pytest.raises(KeyboardInterrupt), signals_between():
            call()
    assert capfd.readouterr().err == ""


def test_ctrl_c_before_the_first_series_leaves_no_reconstruction(series):
    with pytest.raises(KeyboardInterrupt) as raised:
        larmor.recon(series, progress=lambda e: e["series"] or signal.raise_signal(signal.SIGINT), **OPTIONS)
    assert raised.value.reconstruction is None


def test_a_run_that_is_closed_has_its_images_and_lets_go_of_its_checkpoint(series, whole, tmp_path):
    for expected in (1, 2):  # the second run goes on from the file of the first
        with larmor.reconstruct(series, checkpoint=tmp_path / "state", checkpoint_every=0, **OPTIONS) as run:
            for _ in range(expected):
                next(run)
        assert next(run, None) is None
        assert np.array_equal(run.finished().images, whole.images[:expected])
        assert ", closed>" in repr(run)


def test_a_run_that_is_closed_early_keeps_the_series_that_are_done(series, whole, tmp_path):
    with larmor.reconstruct(series, checkpoint=tmp_path / "state", **OPTIONS) as run:
        next(run)
    steps = []
    done = larmor.recon(series, checkpoint=tmp_path / "state", **OPTIONS,
                        progress=lambda e: steps.append(e["series"]) if e["kind"] == "step" else None)
    assert set(steps) == {2, 3} and np.array_equal(done.images, whole.images)


def test_an_exception_in_a_listener_ends_the_run(series):
    run = larmor.reconstruct(series, progress=lambda e: 1 / 0 if e["series"] == 2 else None, **OPTIONS)
    next(run)
    with pytest.raises(ZeroDivisionError):
        next(run)
    assert next(run, None) is None and len(run.finished().images) == 1


def test_images_are_arrays_and_context_managers_let_go_of_them(series, whole, tmp_path):
    done = larmor.recon(series, **OPTIONS)
    assert np.asarray(done) is done.images and np.array(done) is not done.images
    assert np.asarray(done, np.complex128).dtype == np.complex128
    with pytest.raises(ValueError, match="is a copy of one of complex64"):
        done.__array__(np.complex128, copy=False)
    with done as same:
        assert same is done
    assert done.images.size == 0 and done.maps is None and len(done.reports) == 3


def test_a_scan_that_is_closed_is_refused_but_by_the_run_that_has_begun(tmp_path):
    larmor.Simulation(SHAPE, "golden", traj={"readouts": 30}, coils=2).write(tmp_path / "scan.h5")
    with larmor.Scan(tmp_path / "scan.h5") as scan:
        assert repr(scan) == f"<larmor.Scan {tmp_path}/scan.h5: 30 readouts of 2 coils, 1 images>"
        run = larmor.reconstruct(scan, method="grid", device="cpu:1")
        whole = larmor.recon(scan, method="grid", device="cpu:1")
    assert np.array_equal(next(run), whole.images[0])
    assert repr(scan) == f"<larmor.Scan {tmp_path}/scan.h5, closed>"
    for use in (lambda: scan.info, lambda: larmor.recon(scan), scan.samples):
        with pytest.raises(larmor.ArgumentError, match="the scan was closed; open it again"):
            use()


def test_bars_of_tqdm_in_percent_and_rich_end_with_the_run(series):
    class Tqdm:
        n, total, closed = 0, None, False

        def update(self, step):
            assert step >= 0 and step == int(step)
            self.n += step

        def set_postfix_str(self, said, refresh):
            self.said = said

        def close(self):
            self.closed = True

    class Rich:
        def __init__(self):
            self.seen = []

        def add_task(self, description, total):
            assert total == 1
            return 7

        def update(self, task, *, completed, description):
            assert task == 7
            self.seen.append(completed)

    bar, progress = Tqdm(), Rich()
    larmor.recon(series, progress=bar, **OPTIONS)
    larmor.recon(series, progress=progress, **OPTIONS)
    assert (bar.n, bar.total, bar.unit, bar.closed) == (100, 100, "%", False) and bar.said is not None
    assert progress.seen == sorted(progress.seen) and progress.seen[-1] == 1
    with pytest.raises(larmor.ArgumentError) as refused:
        larmor.recon(series, progress="tqdm", **OPTIONS)
    assert str(refused.value) == ("progress: got 'tqdm', expected True, False, a function of each event, a bar of "
                                  "tqdm, or a rich.progress.Progress")


def test_real_bars_are_taken(series):
    tqdm, rich = pytest.importorskip("tqdm"), pytest.importorskip("rich.progress")
    with tqdm.tqdm(disable=False, file=open("/dev/null", "w")) as bar:
        larmor.recon(series, progress=bar, **OPTIONS)
        assert (bar.n, bar.total) == (100, 100)
    with rich.Progress(disable=True) as progress:
        larmor.recon(series, progress=progress, **OPTIONS)
        assert progress.tasks[0].finished


def test_readouts_of_an_asynchronous_generator_are_a_stream_of_images():
    samples = larmor.Simulation(SHAPE, "golden", traj={"readouts": 40}, coils=3, snr=40).samples()
    options = {"window": 10, "first": 20, "device": "cpu"}
    plain = [(samples.kspace[:, r], samples.traj[r]) for r in range(40)]

    async def readouts():
        for one in plain:
            await asyncio.sleep(0)
            yield one

    async def collect():
        return [one.image async for one in larmor.live(readouts(), SHAPE, **options)]

    expected = [one.image for one in larmor.live(iter(plain), SHAPE, **options)]
    assert len(expected) == 3 and np.array_equal(asyncio.run(collect()), expected)


def pixels(data):
    """Of a PNG of grey bytes."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, packed, size = 8, b"", None
    while at < len(data):
        (length,), kind = struct.unpack(">I", data[at:at + 4]), data[at + 4:at + 8]
        body = data[at + 8:at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0] == zlib.crc32(kind + body)
        size = struct.unpack(">II", body[:8]) if kind == b"IHDR" else size
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    lines = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(size[1], size[0] + 1)
    return lines[:, 1:]


def test_what_has_arrays_is_one_line_of_their_shapes(series):
    sim = larmor.Simulation(SHAPE, "golden", traj={"readouts": 30}, coils=2)
    samples, traj = sim.samples(), larmor.Trajectory(np.zeros((5, 8, 2)), units="1/fov")
    lines = {repr(samples): "<larmor.Samples kspace 2 x 30 x 48 complex64, traj 30 x 48 x 2 float64>",
             repr(traj): "<larmor.Trajectory given: 5 readouts, 40 samples, 2 dimensions, unit 1/fov>",
             repr(larmor.Waveform("ecg", np.zeros((1, 8)), 40, 2500.0)):
             "<larmor.Waveform kind 'ecg', data 1 x 8 float64, time_stamp 40, sample_us 2500.0>",
             repr(larmor.prior.named("tv")): "<larmor.prior.Denoiser tv>"}
    assert [*lines] == [*lines.values()]
    readouts = ((samples.kspace[:, r], samples.traj[r]) for r in range(30))
    live = next(iter(larmor.live(readouts, SHAPE, window=10, first=30, device="cpu:1")))
    assert repr(live) == "<larmor.LiveImage 24 x 24 complex64>" and np.asarray(live) is live.image
    assert live._repr_html_().count("<img ") == 1
    assert len(repr(larmor.find_maps(series, device="cpu:1"))) < 120


def test_notebooks_show_a_line_and_the_images(whole):
    assert re.fullmatch(r"<larmor.Reconstruction 3 images of 24 x 24, cg, [\d.]+ s(, \d+ warnings)?>", repr(whole))
    page = whole._repr_html_()
    pictures = re.findall(r'base64,([^"]+)"', page)
    assert len(pictures) == 3 and "&lt;larmor.Reconstruction" in page
    for picture, image in zip(pictures, whole.images, strict=True):
        magnitude = abs(image)
        expected = np.minimum(magnitude / np.quantile(magnitude, 0.995), 1) * 255
        assert abs(pixels(base64.b64decode(picture)) - expected).max() <= 1
    flat = larmor._runs.html.thumbnail(np.zeros((4, 500, 300)))
    assert pixels(flat).shape == (125, 75) and not pixels(flat).any()


@pytest.mark.parametrize(("call", "options", "line"), [
    (larmor.recon, {"oversampel": 2}, "oversampel: no option of larmor.recon; did you mean oversample?; "
     "larmor.settings() lists them"),
    (larmor.reconstruct, {"iteration": 2}, "iteration: no option of larmor.recon; did you mean iterations?; "
     "larmor.settings() lists them"),
    (larmor.recon, {"lamda": 2}, "lamda: no option of larmor.recon; did you mean lam?; larmor.settings() lists them"),
    (larmor.plan, {"xyz": 2}, "xyz: no option of larmor.recon; larmor.settings() lists them"),
    (larmor.find_maps, {"maps_metod": 2}, "maps_metod: no option of larmor.recon; did you mean maps_method?; "
     "larmor.settings() lists them")])
def test_a_name_that_is_none_is_refused_before_the_scan_is_opened(call, options, line):
    with pytest.raises(TypeError) as refused:
        call("/nowhere/scan.h5", **options)
    assert str(refused.value) == line


@pytest.mark.parametrize(("options", "line"), [
    ({"iterations": 2.5}, "iterations: got 2.5, expected a whole number, True or False"),
    ({"tol": [1]}, "tol: got [1], expected a number")])
def test_a_value_of_another_kind_is_refused_with_the_name_of_its_option(options, line):
    with pytest.raises(larmor.ArgumentError) as refused:
        larmor.recon("/nowhere/scan.h5", **options)
    assert str(refused.value) == line
