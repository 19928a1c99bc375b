"""Options of larmor.recon by the library's table. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

import larmor
from larmor._runs import recon as _recon

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference" / "settings.md"
SHAPE = (24, 24)


@pytest.fixture(scope="module")
def scan():
    traj = larmor.traj("radial", SHAPE, readouts=30)
    return larmor.ScanArrays(larmor.phantom_kspace(traj, coils=3), traj, SHAPE, density=np.ones(traj.shape[:2]))


def row(setting):
    values = setting["choices"] or setting["expected"] or setting["type"]
    if setting["type"] in ("integer", "number", "sizes", "numbers"):
        values += f" from {setting['low']:.9g} to {setting['high']:.9g}"
    cells = (f"`{setting['name']}`", f"`--{setting['option']}`" if setting["option"] else "",
             values.replace("|", ", "),
             setting["standard"] or "", setting["help"], f"[{setting['page']}](../{setting['page']}.md)")
    return f"| {' | '.join(cells)} |"


def test_the_page_of_settings_has_each_row_of_the_table():
    rows = [row(setting) for setting in larmor.settings() if setting["type"] != "none"]
    assert len(rows) > 30
    lines = PAGE.read_text().split("\n## The table\n")[1].splitlines()
    assert [line for line in lines if line.startswith("| `")] == rows  # what the page must have, if it differs
    for setting in larmor.settings():
        assert not setting["page"] or (PAGE.parents[1] / f"{setting['page']}.md").exists()


@pytest.mark.parametrize(("text", "value"), [
    ({"toeplitz": "off"}, {"toeplitz": -1}), ({"lam": "1e-3"}, {"lam": 1e-3}),
    ({"density": "file", "weighted": True}, {"density": "stored", "weighted": True}),
    ({"compress": "off"}, {"compress": -1}),
    ({"no_whitening": "off"}, {"no_whitening": 1}), ({"tol": "0"}, {"tol": -1}),
    ({"memory": "1G"}, {"memory": 10**9}), ({"precondition": "none"}, {"precondition": -1})])
def test_a_text_is_the_value_that_the_program_makes_of_it(scan, text, value):
    plain = {"method": "cg", "iters": 5, "delays": "off"}
    a, b = (larmor.recon(scan, **plain, **options) for options in (text, value))
    assert np.array_equal(a.images, b.images)
    assert a.provenance["settings"] == b.provenance["settings"]


def test_penalties_that_are_listed_are_the_method_of_their_sum(scan):
    a = larmor.recon(scan, lam=1e-3, iters=8, delays="off", reg=["tv:xy", "l1=0.1"])
    b = larmor.recon(scan, lam=1e-3, iters=8, delays="off", method="tv:xy+l1=0.1")
    assert np.array_equal(a.images, b.images)


@pytest.mark.parametrize(("options", "line"), [
    ({"toeplitz": "of"}, 'toeplitz: got "of", expected auto, on or off'),
    ({"memory": "much"}, 'memory: got "much", expected bytes > 0, with K, M, G or T for thousands ...'),
    ({"method": "sense"}, 'method: got "sense", expected auto, cg, grid, nlinv or the name of a regulariser'),
    ({"lam": "noise:-1"},
     'lam: got "noise:-1", expected auto, a number from 0 to 1000000, or noise: and such a number'),
    ({"eps": "1"}, 'eps: got "1", expected a number from 1e-13 to 0.1')])
def test_a_text_that_is_no_value_is_refused_with_what_may_be(scan, options, line):
    with pytest.raises(larmor.ArgumentError) as refused:
        larmor.recon(scan, **options)
    assert str(refused.value) == line


def test_a_run_is_repeated_from_the_file_of_its_options(scan, tmp_path):
    first = larmor.recon(scan, method="tv", iters=5, lam="noise:2", oversample=(1, 1.25), toeplitz="off")
    first.write_settings(tmp_path / "run.toml")
    options = larmor.read_settings(tmp_path / "run.toml")
    assert options["lam"] == "noise:2"
    again = larmor.recon(scan, **options)
    assert np.array_equal(first.images, again.images)
    assert first.provenance["settings"] == again.provenance["settings"]
    first.write(tmp_path / "image.h5")
    notes = (tmp_path / "image.h5").read_bytes().replace(b"&quot;", b'"')
    assert (tmp_path / "run.toml").read_bytes().strip() in notes


def samples_of(setting):
    """Texts that the option may be."""
    some = {"method": ["tv", "tv:xy+l1=0.5"], "lambda": ["0.001", "noise:2"], "compress": ["off", "4", "0.99"],
            "maps_method": ["walsh"], "reg": ["tv:xy"], "constraint": ["real"]}
    if setting["name"] in some:
        return some[setting["name"]]
    if setting["choices"]:
        return setting["choices"].split("|")
    whole = setting["type"] in ("integer", "sizes")
    low, high = (str(int(setting[end])) if whole else f"{setting[end]:.9g}" for end in ("low", "high"))
    return {"flag": ["true"], "integer": [low, high], "number": [low, high], "bytes": ["1000000"],
            "sizes": [f"{low},{high}"], "numbers": [f"{low},{high}"]}[setting["type"]]


def test_every_option_and_value_is_the_same_after_a_file(tmp_path):
    path, written = tmp_path / "one.toml", 0
    for setting in larmor.settings():
        for value in samples_of(setting) if setting["type"] != "none" else []:
            path.write_text(_recon._settings_line({setting["name"]: value}) + "\n")
            name = "lam" if setting["name"] == "lambda" else setting["name"]
            read = larmor.read_settings(path)
            if value == setting["standard"] and not read:
                continue  # what is the default is left out
            assert set(read) == {name}, (setting["name"], value, read)
            path.write_text(_recon._settings_line({setting["name"]: read[name]} if isinstance(read[name], str)
                                                  else {setting["name"]: value}) + "\n")
            assert larmor.read_settings(path) == read
            written += 1
    assert written > 60


@pytest.mark.parametrize(("frames", "options"), [
    ({"spokes": 10}, {"spokes_per_frame": "10"}),
    ({"spokes": 10, "step": 5, "join_rest": 1}, {"spokes_per_frame": "10", "frame_step": "5", "frame_rest": "join"}),
    ({"ms": 60, "step": 30.5, "tick_ms": 2}, {"frame_time": "60", "frame_step": "30.5", "tick": "2"}),
    ({"phases": 3, "gate": 1}, {"cardiac_phases": "3", "gate": "1"}),
    ({"time": 4}, {"bins": "time:4"}),
    ({"time": 4, "breath": 2, "breath_signal": None}, {"bins": "breath:2,time:4"})])
def test_frames_are_in_the_file_of_options_and_the_run_by_it_is_the_same(tmp_path, frames, options):
    path, run = tmp_path / "scan.h5", tmp_path / "run.toml"
    readouts = 600 if "breath" in frames else 120
    larmor.Simulation((16, 16), traj={"readouts": readouts}, coils=1, snr=50, tr_ms=20,
                      breath={"rate": 15, "size": 30}, heart={"rate": 60, "size": 0.3},
                      waveforms="triggers").write(path)
    if "phases" in frames:
        with pytest.raises(larmor.ArgumentError, match="stamp"):
            larmor.recon(path, method="grid", frames=frames)
        assert _recon.framing_texts(frames) == options
        return
    known = {"delays": "off", "memory": "1000000000"}  # with a limit no other descriptions of the scan are tried
    first = larmor.recon(path, method="grid", frames=frames, **known)
    first.write_settings(run)
    assert larmor.read_settings(run) == {"method": "grid", **known, **options}
    again = larmor.recon(path, **larmor.read_settings(run))
    assert len(first.images) > 3 and np.array_equal(first.images, again.images)


def test_a_file_of_options_has_those_of_the_program_too_and_a_mistake_is_refused_with_its_line(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text("[recon]\nfov = [200, 220]\niters = 12\nmaps = 'm.h5'\nframe-step = 3\noutput = ['a.h5', "
                    "'b.h5']\n")
    assert larmor.read_settings(path) == {"fov_mm": "200,220", "iters": "12", "maps": "m.h5", "frame_step": "3",
                                          "output": ["a.h5", "b.h5"]}
    path.write_text("iters = 12\ntol = 2\n")
    with pytest.raises(larmor.ArgumentError) as refused:
        larmor.read_settings(path)
    assert str(refused.value) == f'{path}:2: tol: got "2", expected a number from 0 to 0.99'
    with pytest.raises(larmor.FileError):
        larmor.read_settings(tmp_path / "none.toml")
