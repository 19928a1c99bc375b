"""Images while a scan runs are those of the C library's session, and come as they are complete.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import os
import signal
import subprocess
import threading

import numpy as np
import pytest

import larmor

SHAPE = (24, 32)
WINDOW, FIRST, READOUTS = 8, 40, 64
OPTIONS = {"window": WINDOW, "first": FIRST, "device": "cpu"}


@pytest.fixture(scope="module")
def simulation():
    return larmor.Simulation(SHAPE, "golden", traj={"readouts": READOUTS}, coils=4, snr=40)


@pytest.fixture(scope="module")
def path(simulation, tmp_path_factory):
    name = tmp_path_factory.mktemp("live") / "scan.h5"
    simulation.write(name)
    return name


@pytest.fixture(scope="module")
def images(path):
    return list(larmor.live(path, **OPTIONS))


def alike(found, expected):
    return np.array_equal([one.image for one in found], [one.image for one in expected])


def test_an_image_comes_with_the_first_readouts_and_then_with_every_window(images):
    assert [one.readouts for one in images] == [FIRST, FIRST + WINDOW, FIRST + 2 * WINDOW, FIRST + 3 * WINDOW]
    assert all(one.image.shape == SHAPE and one.image.dtype == np.complex64 for one in images)
    assert all(one.report["status"] == "ok" for one in images)


def test_the_images_are_those_of_a_session_of_the_server_bit_for_bit(path, images, tmp_path):
    program = os.environ.get("LARMOR_PROGRAM")
    if not program:
        pytest.skip("LARMOR_PROGRAM is not set")
    with subprocess.Popen([program, "serve", "--port", "0", "--device", "cpu"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as server:
        try:
            address = server.stdout.readline().split()[-1]
            subprocess.run([program, "send", str(path), address, "-o", str(tmp_path / "sent.h5"), "--set",
                            "images=readouts", "--set", f"window={WINDOW}", "--set", f"first={FIRST}"], check=True,
                           capture_output=True, timeout=600)
        finally:
            server.terminate()
    sent, _ = larmor.read_images(tmp_path / "sent.h5")
    assert np.array_equal(np.squeeze(np.asarray(sent)), [one.image for one in images])


def test_pushed_arrays_give_the_images_of_the_file(simulation, images):
    samples = simulation.samples()
    with larmor.Live(SHAPE, fov_mm=[6 * n for n in SHAPE], **OPTIONS) as session:
        assert session.push(samples.kspace[:, :FIRST], samples.traj[:FIRST]) == 1
        for r in range(FIRST, READOUTS):
            session.push(samples.kspace[:, r], samples.traj[r])
        assert session.log
    assert alike(session, images)
    assert not list(session)
    one_by_one = ((samples.kspace[:, r], samples.traj[r]) for r in range(READOUTS))
    assert alike(larmor.live(one_by_one, SHAPE, **OPTIONS), images)


def test_images_come_before_the_readouts_that_follow_are_asked_for(simulation):
    samples, asked = simulation.samples(), []

    def readouts():
        for r in range(READOUTS):
            asked.append(r)
            yield samples.kspace[:, r], samples.traj[r]

    for one in larmor.live(readouts(), SHAPE, **OPTIONS):
        assert len(asked) == one.readouts


def test_ctrl_c_leaves_the_images_that_are_finished_and_the_scan(simulation, images):
    samples, steps = simulation.samples(), []

    def interrupt(event):
        if event["kind"] == "step" and begun:
            steps.append(event["step"])
            if steps.count(1) == 2:  # of the second image after the first
                steps.append(1)
                signal.raise_signal(signal.SIGINT)

    begun = []
    session = larmor.Live(SHAPE, progress=interrupt, **OPTIONS)
    session.push(samples.kspace[:, :FIRST], samples.traj[:FIRST])
    begun.append(FIRST)
    with pytest.raises(KeyboardInterrupt):
        session.push(samples.kspace[:, FIRST:], samples.traj[FIRST:])
    assert alike(session, images[:2])
    after = FIRST + 2 * WINDOW
    assert session.push(samples.kspace[:, after:], samples.traj[after:]) == 1
    session.close()
    assert [one.readouts for one in session] == [after + WINDOW]


def test_a_listener_can_neither_push_nor_close(simulation, images):
    samples, refused = simulation.samples(), []

    def listen(event):
        for call in (session.close, lambda: session.push(samples.kspace[:, 0], samples.traj[0])):
            with pytest.raises(larmor.ArgumentError, match="a listener cannot use"):
                call()
            refused.append(event)

    session = larmor.Live(SHAPE, progress=listen, **OPTIONS)
    session.push(samples.kspace, samples.traj)
    assert refused
    assert alike(session, images)


def test_threads_take_turns(simulation):
    samples = simulation.samples()
    session = larmor.Live(SHAPE, **OPTIONS)
    threads = [threading.Thread(target=session.push, args=(samples.kspace, samples.traj)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(session)) == 1 + (4 * READOUTS - FIRST) // WINDOW


def test_images_by_nonlinear_inversion_are_near_those_by_conjugate_gradients(path, images):
    found = list(larmor.live(path, method="nlinv", **OPTIONS))
    assert [one.readouts for one in found] == [one.readouts for one in images]
    for one, other in zip(found, images, strict=True):
        a, b = abs(one.image).ravel(), abs(other.image).ravel()
        assert a @ b > 0.97 * np.linalg.norm(a) * np.linalg.norm(b)


def test_what_makes_no_image_is_passed_over_or_refused(simulation):
    samples = simulation.samples()
    session = larmor.Live(SHAPE, **OPTIONS)
    navigator = 1 << 22
    assert session.push(samples.kspace, samples.traj, flags=navigator) == 0
    assert session.push(samples.kspace[:, :FIRST], samples.traj[:FIRST], flags=[0] * FIRST) == 1
    with pytest.raises(larmor.ShapeError, match="kspace and traj: got shapes"):
        session.push(samples.kspace, samples.traj[:3])
    with pytest.raises(larmor.ShapeError, match="complex64"):
        session.push(samples.kspace.astype(np.complex128), samples.traj)
    with pytest.raises(larmor.UnsupportedError, match="a readout of slice 1"):
        session.push(samples.kspace[:, 0], samples.traj[0], slice=1)
    with pytest.raises(TypeError, match="no member"):
        session.push(samples.kspace[:, 0], samples.traj[0], slices=1)
    session.close()
    with pytest.raises(larmor.ArgumentError, match="the scan has ended"):
        session.push(samples.kspace[:, 0], samples.traj[0])
    with pytest.raises(larmor.ArgumentError, match="a method other than cg and nlinv"):
        larmor.Live(SHAPE, method="tv")
    with pytest.raises(larmor.ArgumentError, match="matrix and fov_mm"):
        larmor.Live((8, 8), fov_mm=(1,))
    with pytest.raises(larmor.ArgumentError, match="header: needed"):
        next(larmor.live([]))
