"""The league's mathematics without any peer: errors, shifts, bold losses, the page, processes, who takes part.

Run by pytest; needs NumPy.

SPDX-License-Identifier: Apache-2.0
"""

import json
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/league"))

import adapter  # noqa: E402
import league  # noqa: E402
import metrics  # noqa: E402
import page  # noqa: E402
import scans  # noqa: E402
import tools  # noqa: E402

SIZES = [(40, 40), (41, 36), (24, 26, 12)]


def blob(n, seed=1):
    return scans.blobs(n, np.random.default_rng(seed))


def moved(image, by):
    """The image shifted by fractions of voxels, by the phase of its spectrum."""
    phase = sum(
        d * np.fft.ifftshift(np.arange(m) - m // 2).reshape([-1 if a == i else 1 for i in range(image.ndim)]) / m
        for a, (d, m) in enumerate(zip(by, image.shape))
    )
    return np.fft.ifftn(np.fft.fftn(image) * np.exp(-2j * np.pi * phase))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("factor", [1, -2.5j, 3e-6 + 1e-6j])
def test_a_complex_factor_is_no_error(n, factor):
    found = metrics.errors(factor * blob(n), blob(n))
    assert found["inside"] < 1e-12
    assert found["outside"] < 1e-12
    assert found["ssim"] == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("size", [0.01, 0.3])
def test_errors_are_those_of_a_perturbation_within_and_outside(size):
    truth = blob((40, 40))
    mask = metrics.support(truth)
    rng = np.random.default_rng(5)
    wrong = rng.normal(size=truth.shape) + 1j * rng.normal(size=truth.shape)
    inside = wrong * mask
    inside -= truth * mask * np.vdot(truth * mask, inside) / np.vdot(truth * mask, truth * mask)
    inside *= size * np.linalg.norm(truth) / np.linalg.norm(inside)
    outside = wrong * ~mask * 0.2 * np.linalg.norm(truth) / np.linalg.norm(wrong * ~mask)
    own = np.linalg.norm(truth[mask])
    shrunk = own**2 / (own**2 + np.linalg.norm(inside) ** 2)  # the best factor of truth + what is orthogonal to it
    found = metrics.errors(truth + inside + outside, truth)
    rest = np.hypot(shrunk * size * np.linalg.norm(truth), (1 - shrunk) * own) / np.linalg.norm(truth)
    assert found["inside"] == pytest.approx(rest, rel=1e-9)
    assert found["outside"] == pytest.approx(
        np.linalg.norm(shrunk * (truth + outside)[~mask] - truth[~mask]) / np.linalg.norm(truth), rel=1e-9
    )


def test_phase_counts_unless_magnitudes_are_asked_for():
    truth = blob((40, 40))
    turned = truth * np.exp(2j * np.arange(40) / 40)
    assert metrics.errors(turned, truth, magnitude=True)["inside"] < 1e-12
    assert metrics.errors(turned, truth)["inside"] > 0.1


def test_an_image_that_is_not_finite_has_an_infinite_error():
    truth = blob((40, 40))
    broken = truth.copy()
    broken[3, 4] = np.nan
    assert metrics.errors(broken, truth) == {"inside": float("inf"), "outside": float("inf"), "ssim": 0.0}


def test_an_image_whose_power_single_precision_does_not_hold_is_judged():
    truth = blob((40, 40))
    assert metrics.errors((1e25 * truth).astype(np.complex64), truth)["inside"] < 1e-6


def test_images_of_another_size_are_refused():
    with pytest.raises(ValueError, match=r"^image: got \(40, 41\), expected \(40, 40\) as the truth$"):
        metrics.errors(np.zeros((40, 41)), blob((40, 40)))


def test_ssim_is_the_mean_of_direct_sums_over_windows():
    rng = np.random.default_rng(3)
    x, y = rng.random((14, 12)), rng.random((14, 12))
    at = np.arange(-5, 6)
    window = np.exp(-0.5 * (at / 1.5) ** 2)
    window = np.outer(window, window) / window.sum() ** 2
    wx, wy = np.pad(x, 5, mode="edge"), np.pad(y, 5, mode="edge")
    c1, c2 = (0.01 * y.max()) ** 2, (0.03 * y.max()) ** 2
    total = 0
    for i in range(14):
        for j in range(12):
            a, b = wx[i : i + 11, j : j + 11], wy[i : i + 11, j : j + 11]
            ma, mb = (window * a).sum(), (window * b).sum()
            va, vb = (window * a * a).sum() - ma * ma, (window * b * b).sum() - mb * mb
            cov = (window * a * b).sum() - ma * mb
            total += (2 * ma * mb + c1) * (2 * cov + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2))
    assert metrics.ssim(x, y) == pytest.approx(total / (14 * 12), rel=1e-12)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("by", [(0.5, 0, 0), (-0.3, 0.7, 0.2), (1, 0, -0.5)])
def test_shifts_are_found_to_a_thousandth_of_a_voxel(n, by):
    by = by[: len(n)]
    assert metrics.shift(moved(blob(n), by), blob(n)) == pytest.approx(list(by), abs=1e-3)


@pytest.mark.parametrize("n", [tuple(s["n"]) for s in scans.proofs()])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_adapter_that_is_half_a_voxel_off_is_not_proved(n, seed):
    truth = blob(n, seed)
    for axis in range(len(n)):
        by = [0.5 if a == axis else 0 for a in range(len(n))]
        assert metrics.errors(moved(truth, by), truth)["inside"] > 2 * league.PROOF_MOST


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_wrong_orientation_is_named_and_not_proved(seed):
    truth = blob((33, 33), seed)
    for name, way in metrics.turns(2)[1:]:
        assert metrics.orientation(way(truth), truth)[0] == name
        assert metrics.errors(way(truth), truth)["inside"] > 2 * league.PROOF_MOST
    assert metrics.orientation(truth, truth)[0] == "as it is"


@pytest.mark.parametrize("n", [tuple(s["n"])[:2] for s in scans.proofs()])
def test_the_smooth_object_has_no_power_at_the_edge_of_k_space(n):
    power = abs(metrics.spectrum(blob(n)))
    assert max(power[0].max(), power[:, 0].max()) < 2e-3 * power.max()


def test_files_of_bart_are_read_as_they_were_written(tmp_path):
    x = (np.arange(24) + 1j).astype(np.complex64).reshape(2, 3, 4)
    scans.write_cfl(tmp_path / "x", x)
    assert np.array_equal(scans.read_cfl(tmp_path / "x"), x)
    assert np.fromfile(tmp_path / "x.cfl", np.complex64)[1] == x[1, 0, 0]


def test_trajectories_of_bart_have_the_axes_first_and_zeros_for_those_that_are_missing():
    traj = np.random.default_rng(1).normal(size=(5, 7, 2))
    points = scans.cfl_traj(traj)
    assert points.shape == (3, 7, 5)
    assert np.array_equal(points[1, 6, 4], traj[4, 6, 1])
    assert not points[2].any()


# ---- losses ----


@pytest.mark.parametrize(
    ("values", "greater", "bold"),
    [
        ({"larmor": 0.101, "bart": 0.1}, False, True),
        ({"larmor": 0.1004, "bart": 0.1}, False, False),
        ({"larmor": 0.09, "bart": 0.1}, False, False),
        ({"larmor": 0.2, "bart": None, "sigpy": 0.1}, False, True),
        ({"larmor": None, "bart": 0.1}, False, True),
        ({"larmor": 0.1, "bart": None}, False, False),
        ({"larmor": 0.8, "bart": 0.9}, True, True),
        ({"larmor": 0.9, "bart": 0.8}, True, False),
    ],
)
def test_larmor_is_bold_where_it_lost_and_only_there(values, greater, bold):
    row = page.cells(values, list(values), page.NEAR, "{:.4f}", greater)
    assert row[0].startswith("**") == bold
    assert not any("*" in cell for cell in row[1:])


def test_a_tool_that_failed_has_its_reason_in_its_cell():
    assert page.cells({"bart": None}, ["bart"], 1, "{}", why={"bart": "bart pics ended with 1"}) == [
        "bart pics ended with 1"
    ]


class Folder(league.Places):
    """A league of two scans, by rows that are given."""

    def put(self, scene, tool, column, errors, **more):
        rows = [
            {"setting": [f"--{i}"], "inside": e, "outside": e, "ssim": 1 - e, **more} for i, e in enumerate(errors)
        ]
        if rows:
            rows[int(np.argmin(errors))]["best"] = True
        self.row(scene, tool, column).write_text(json.dumps(rows or [{"setting": [], "error": "it | failed"}]))


@pytest.fixture
def two(tmp_path):
    places = Folder(tmp_path)
    scenes = [
        scans.scan("one", "blobs", "golden", (8, 8), 1, 5),
        scans.scan("two", "blobs", "golden", (8, 8), 1, 5),
    ]
    errors = {
        "larmor": ([0.10], [0.09, 0.11], [0.08]),
        "bart": ([0.20], [0.095], [0.06]),
        "sigpy": ([0.05], [0.3], []),
    }
    for scene, scale in zip(scenes, (1, 2)):
        for tool, columns in errors.items():
            for (column, _), values in zip(page.COLUMNS, columns):
                if values or scene is scenes[1]:
                    places.put(scene, tool, column, [scale * v for v in values])
    return places, scenes


FOUND = {
    "larmor": ("here", "1"),
    "bart": ("here", "0.8"),
    "sigpy": ("here", "2"),
    "riesling": (None, "no such program"),
}


def written(places, scenes, **more):
    page.write(places, FOUND, [], scenes, {"cores": 2}, {"bart": [({"pics": ["-R"]}, "its page")]}, **more)
    return (places.folder / "league.md").read_text()


def test_losses_have_every_pair_of_columns_the_largest_first(two):
    lines = page.losses(page.Results(two[0], two[1], ["larmor", "bart", "sigpy"])).split("\n")[2:-1]
    assert lines == [
        "| one | none | **0.1000** | sigpy | none | 0.0500 | 2.000 |",
        "| two | none | **0.2000** | sigpy | none | 0.1000 | 2.000 |",
        "| one | none | **0.1000** | bart | grid | 0.0600 | 1.667 |",
        "| two | none | **0.2000** | bart | grid | 0.1200 | 1.667 |",
        "| one | grid | **0.0800** | bart | grid | 0.0600 | 1.333 |",
        "| two | grid | **0.1600** | bart | grid | 0.1200 | 1.333 |",
        "| one | none | **0.1000** | bart | documented | 0.0950 | 1.053 |",
        "| two | none | **0.2000** | bart | documented | 0.1900 | 1.053 |",
    ]


def test_the_summary_has_geometric_means_and_counts_what_others_won(two):
    lines = page.summary(page.Results(two[0], two[1], ["larmor", "bart", "sigpy"])).split("\n")
    assert lines[2] == (
        "| bart | 2.000, 0 of 2 | 0.950, **2** of 2 | 1.056, 0 of 2 | 0.600, **2** of 2 | 0.750, **2** of 2 |"
    )
    assert lines[3].startswith("| sigpy | 0.500, **2** of 2 | 3.000, 0 of 2 | 3.333, 0 of 2 |")


def test_the_page_has_a_row_for_a_tool_that_is_missing(two):
    assert "| riesling | **not in the league**: no such program |" in written(*two)


def test_the_page_has_losses_in_bold_and_reasons_of_failures(two):
    text = written(*two)
    assert "| one | **0.1000** | 0.2000 | 0.0500 |" in text
    assert "| one | 0.0900 | 0.0950 | 0.3000 |" in text
    assert "| two | **0.1600** | 0.1200 | it / failed |" in text


def test_a_cell_says_how_many_of_the_settings_were_done(two):
    places, scenes = two
    row = {"setting": [], "inside": 0.5, "outside": 0.5, "ssim": 0.5, "best": True}
    places.row(scenes[0], "sigpy", "documented").write_text(json.dumps([row, {"setting": [], "error": "no time"}]))
    assert "| one | 0.0900 | 0.0950 | 0.5000 (1 of 2) |" in written(places, scenes)


def test_the_method_that_larmor_chose_is_read_from_its_log(tmp_path):
    (tmp_path / "log").write_text("method from somewhere\nimage 1 of 1: method cg: its image leaves 0.2\n")
    assert tools.larmor_said(tmp_path / "log") == "cg"


def test_the_best_of_a_grid_includes_what_the_tool_was_run_with_otherwise(tmp_path):
    places, scene = Folder(tmp_path), scans.scan("one", "blobs", "golden", (8, 8), 1, 5)
    for column, error in (("none", 0.3), ("documented", 0.1), ("grid", 0.2)):
        places.put(scene, "bart", column, [error])
    assert page.Results(places, [scene], ["bart"]).value(scene, "bart", "grid", "inside") == 0.1


def test_the_least_of_several_times_counts_and_larmor_slower_is_bold(two):
    places, scenes = two
    places.put(
        scenes[0], "larmor", "none", [0.1], times=[{"process": 3.0, "memory": 90}, {"process": 2.0, "memory": 80}]
    )
    places.put(scenes[0], "bart", "none", [0.1], times=[{"process": 1.5, "memory": 100}])
    text = written(places, scenes)
    assert "| one | **2.00** | 1.50 | – |" in text
    assert "| one | 80 | 100 | – |" in text


def test_where_others_use_the_machine_only_memory_and_the_processors_seconds_are_compared(two):
    places, scenes = two
    times = [{"process": 9.0, "processor": 2.0, "seconds": 8.0, "memory": 80}]
    places.put(scenes[0], "larmor", "none", [0.1], times=times)
    places.put(scenes[0], "bart", "none", [0.1], times=[{"process": 1.0, "processor": 3.0, "memory": 100}])
    text = written(places, scenes, busy=True)
    assert "| one | 2.00 | 3.00 | – |" in text
    assert "| one | 80 | 100 | – |" in text
    assert "9.00" not in text
    assert "8.00" not in text
    assert "| one | **9.00** | 1.00 | – |" in written(places, scenes)
    places.put(scenes[0], "sigpy", "none", [0.1], processor=4.0, memory=120)
    assert "| one | 2.00 | 3.00 | 4.00 |" in written(places, scenes, busy=True)
    assert "| one | **9.00** | 1.00 | – |" in written(places, scenes)


# ---- who takes part ----


class Arguments:
    larmor, jobs, threads = "larmor", 1, 1


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        (lambda x: 2j * x, True),
        (lambda x: moved(x, (0.5, 0.5)[: x.ndim] + (0,) * (x.ndim - 2)), False),
        (np.conj, False),
    ],
)
def test_only_a_tool_whose_image_is_the_truth_takes_part(tmp_path, monkeypatch, wrong, part):
    places = league.Places(tmp_path)

    def simulate(scene, folder, larmor):
        folder.mkdir(parents=True)
        np.save(folder / "truth.npy", blob(tuple(scene["n"])))
        np.save(folder / "maps.npy", np.ones((1, *scene["n"])))

    def run(tool, where, folder, out, scene, settings, threads, limit):
        return [({"seconds": 1}, wrong(np.load(folder / "truth.npy")))]

    monkeypatch.setattr(scans, "simulate", simulate)
    monkeypatch.setattr(tools, "run", run)
    found = {"bart": ("bart", "0.8"), "riesling": (None, "no such program")}
    league.prove(places, found, Arguments)
    assert (found["bart"][0] is not None) == part
    assert part or found["bart"][1].startswith("0.8; not proved: proof-golden: 0.")
    assert found["riesling"] == (None, "no such program")


def test_tools_that_were_not_asked_for_have_a_row_that_says_so():
    found = {"larmor": ("larmor", "1"), "bart": ("bart", "0.8"), "mrpro": ("python", "3")}
    assert league.chosen(found, "bart")["mrpro"] == (None, "3; left out by --tools")
    assert league.chosen(found, "bart")["larmor"] == ("larmor", "1")
    assert league.chosen(found, None) == found
    with pytest.raises(SystemExit, match="^league: --tools: got barf, expected some of larmor, bart, mrpro$"):
        league.chosen(found, "barf")


def test_a_scan_is_done_by_every_tool_before_the_next_begins():
    found = {"larmor": ("larmor", "1"), "riesling": (None, "none"), "bart": ("bart", "0.8")}
    order = [(t[1], t[4], t[2]) for t in league.tasks(None, found, ["a", "b"], ["none", "grid"], 1)]
    assert order == [(s, c, t) for s in "ab" for c in ("none", "grid") for t in ("larmor", "bart")]


def test_every_tool_has_settings_of_all_columns_and_a_source_for_each_that_is_documented():
    for scene in (scans.SCANS[0], scans.SCANS[7]):
        scene = {"n": scene[2], "maps": "own"}
        for tool in league.PROOF:
            assert len(tools.grid(tool, scene)) >= 10
            for setting, source in tools.documented(tool, scene):
                assert len(source) > 10
                assert setting is not None


def test_names_of_scans_are_their_own():
    names = [s["name"] for s in scans.league(False, [1, 2]) + scans.proofs()]
    assert len(set(names)) == len(names)
    assert len(scans.league(True, [1])) == 8


def test_the_survey_has_every_trajectory_at_every_snr_and_its_timed_scans_first():
    listed = scans.league(False, [1], scans.survey())
    assert {(s["traj"], s["snr"]) for s in listed} == {(t[1], q) for t in scans.TRAJECTORIES for q in scans.SNRS}
    assert len({s["name"] for s in listed}) == len(listed) == 12
    assert [s["snr"] for s in listed[:4]] == [20] * 4


# ---- processes ----


def test_the_processors_seconds_are_those_of_a_process_and_its_children_and_not_of_what_waits():
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'for i in range(6_000_000): pass'])"
    _, _, status, busy = tools.measured([sys.executable, "-c", code], 1)
    assert status == 0
    assert busy > 0.05
    assert tools.measured(["sleep", "0.5"], 1)[3] < 0.2


def test_the_memory_of_a_process_is_its_largest(tmp_path):
    _, small, status, _ = tools.measured([sys.executable, "-c", "pass"], 1)
    _, large, *_ = tools.measured([sys.executable, "-c", "x = bytearray(200_000_000); x[::4096] = x[::4096]"], 1)
    assert status == 0
    assert 150 < large - small < 250


def test_a_process_sees_the_number_of_threads_and_its_exit_status_is_kept():
    code = "import os, sys; sys.exit(int(os.environ['OMP_NUM_THREADS']) + int(os.environ['NUMBA_NUM_THREADS']))"
    assert tools.measured([sys.executable, "-c", code], 3)[2] == 6


def test_a_process_that_computes_or_waits_past_the_limit_is_ended_but_not_one_that_others_delay():
    assert tools.measured(["sleep", "1000"], 1, limit=0.1)[2] == 124
    assert tools.measured(["sh", "-c", "while :; do :; done"], 1, limit=1)[2] == 124
    assert tools.measured(["sleep", "1"], 1, limit=0.5)[2] == 0


def test_a_run_that_is_interrupted_leaves_no_process(tmp_path):
    note = tmp_path / "pid"
    code = f"echo $$ >{note}.part; mv {note}.part {note}; exec sleep 1000"
    measure = ROOT / "scripts/league/measure.py"
    words = [sys.executable, "-I", "-S", measure, tmp_path / "result", "900", "sh", "-c", code]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as run:
        while not note.exists():
            time.sleep(0.01)
        run.send_signal(signal.SIGTERM)
    assert run.returncode != 0
    process = pathlib.Path("/proc") / note.read_text().strip()
    while process.exists() and "(sleep) Z" not in (process / "stat").read_text():
        time.sleep(0.01)


def test_a_chain_names_the_command_that_failed_and_its_last_line(tmp_path):
    log = tmp_path / "log"
    with pytest.raises(RuntimeError, match=r"^sh -c ended with 3: no such thing$"):
        tools.chain(
            [["true"], ["sh", "-c", "echo no such thing; exit 3"], ["touch", tmp_path / "after"]], 1, 60, log
        )
    assert not (tmp_path / "after").exists()


def test_an_adapter_has_a_row_for_each_setting_whatever_fails(tmp_path, monkeypatch, capsys):
    (tmp_path / "scan.json").write_text(json.dumps({"n": [4, 4], "maps": "own"}))
    np.save(tmp_path / "kspace.npy", np.ones((1, 2, 3), np.complex64))
    np.save(tmp_path / "traj.npy", np.ones((2, 3, 2), np.float32))

    def reconstruct(arrays, settings, cache):
        if settings["fails"]:
            raise ValueError("no\nimage")
        return np.full(arrays.n, cache.setdefault("made", 7))

    monkeypatch.setattr(
        sys,
        "argv",
        ["adapter", str(tmp_path), str(tmp_path / "out"), json.dumps([{"fails": True}, {"fails": False}])],
    )
    adapter.loop(reconstruct)
    rows = [json.loads(line[4:]) for line in capsys.readouterr().out.split("\n") if line.startswith("row ")]
    assert rows[0] == {"error": "ValueError: no"}
    assert rows[1]["seconds"] >= 0
    assert np.array_equal(np.load(tmp_path / "out1.npy"), np.full((4, 4), 7))
    assert not (tmp_path / "out0.npy").exists()
