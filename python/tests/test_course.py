"""The notebooks of the course (docs/course) run, and find what they say. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import pathlib
import runpy

import numpy as np
import pytest

COURSE = pathlib.Path(__file__).parents[2] / "docs" / "course"


def _run(name, monkeypatch, tmp_path):
    """The names that a notebook has at its end."""
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    plt.switch_backend("Agg")
    try:
        return runpy.run_path(str(COURSE / f"plot_{name}.py"))
    finally:
        plt.close("all")


@pytest.fixture
def notebook(monkeypatch, tmp_path):
    return lambda name: _run(name, monkeypatch, tmp_path)


def test_every_notebook_of_the_course_has_a_claim():
    claims = pathlib.Path(__file__).read_text()
    names = [path.stem.removeprefix("plot_") for path in COURSE.glob("*.py")]
    assert len(names) == 8
    assert [name for name in names if f'"{name}")' not in claims] == []


def test_the_first_notebook_of_the_course_has_the_sum_by_hand_and_the_fold_of_every_second_line(notebook):
    found = notebook("1_kspace")
    assert found["difference"] < 1e-5
    assert found["back"] < 1e-6
    assert found["fold"] < 1e-6


def test_the_second_notebook_of_the_course_has_an_adjoint_and_three_images_each_better(notebook):
    found = notebook("2_gridding")
    assert found["gap"] < 1e-5
    assert found["errors"]["adjoint"] > 3 * found["errors"]["gridding"] > 4 * found["errors"]["least squares"]


def test_the_third_notebook_of_the_course_has_more_streaks_and_errors_for_fewer_spokes(notebook):
    found = notebook("3_undersampling")
    counts = sorted(found["errors"], reverse=True)
    assert np.all(np.diff([found["far"][count] for count in counts]) > 0)
    assert np.all(np.diff([found["errors"][count] for count in counts], axis=0) > 0)
    assert all(solved < gridded for gridded, solved in found["errors"].values())


def test_the_fourth_notebook_of_the_course_finds_the_maps_and_removes_streaks_by_coils(notebook):
    found = notebook("4_coils")
    assert np.median(found["angle"]) < 3
    assert found["errors"]["eight coils"] < 0.6 * found["errors"]["one coil"]
    assert found["deviation"].min() > 0


def test_the_fifth_notebook_of_the_course_chooses_a_weight_near_the_best(notebook):
    found = notebook("5_penalties")
    assert found["automatic"] < 1.3 * min(found["errors"].values())
    assert found["automatic"] < 0.7 * found["linear"]
    assert max(found["errors"].values()) > 2 * found["automatic"]


def test_the_sixth_notebook_of_the_course_corrects_the_field_and_doubles_the_blur_by_the_wrong_sign(notebook):
    found = notebook("6_fields")
    assert found["gap"] < 1e-5
    assert found["errors"]["in the model"] < 0.2 * found["errors"]["ignored"]
    assert found["errors"]["wrong sign"] > found["errors"]["ignored"]


def test_the_seventh_notebook_of_the_course_follows_the_motion_best_by_all_frames_together(notebook):
    errors = notebook("7_time")["errors"]
    assert errors["frames together"] < 0.9 * errors["each frame alone"] < 0.81 * errors["all spokes"]


def test_the_eighth_notebook_of_the_course_sorts_heart_and_breath_by_the_samples_alone(notebook):
    found = notebook("8_heart")
    assert found["five"].shape == (3, 4, 24, 24, 24)
    of_mean, of_bins = found["errors"].mean(1).T
    assert np.all(of_bins < 0.85 * of_mean)
    five, true, error = found["five"], found["true"], found["error"]
    half_a_beat_late = np.mean([error(five[b, (h + 2) % 4], true[b, h]) for b in range(2) for h in range(4)])
    assert half_a_beat_late > 1.1 * of_bins[:2].mean()
