"""Objects that move: one image of all frames by displaced voxels. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import numpy as np
import pytest
from conftest import relative

import larmor
from larmor import linop

C128 = np.complex128


def breath(shape, frames, mm=12.0):
    """Where voxels are in each frame, mm: [frames, ndim, (z,) y, x], in the order x, y, z; the first stands still."""
    r = np.stack(np.meshgrid(*[(np.arange(n) - n // 2) / n for n in shape], indexing="ij"))[::-1]
    near = np.exp(-((r[0] - 0.05) ** 2 + r[1] ** 2) / 0.08)
    along = [-0.3 * near * np.sin(4 * r[1]), near, 0.5 * near * np.cos(3 * r[-1])][:len(shape)]
    return np.stack([mm * np.sin(np.pi * m / frames) * np.stack(along) for m in range(frames)])


@pytest.mark.parametrize("shape", [(20, 16), (7, 8, 6)])
def test_states_of_one_image_are_the_sum_of_their_definition(shape, numbers, rng):
    grid = np.stack(np.meshgrid(*[np.arange(n) - n // 2 for n in shape], indexing="ij"), axis=-1)
    fields = breath(shape, 3, 1.5)
    maps, image = numbers(2, *shape), numbers(*shape)
    ops, exact = [], []
    for m, readouts in enumerate((4, 5, 2)):
        points = rng.uniform(-0.5, 0.5, (readouts, 9, len(shape))) * shape
        ops.append(linop.sense(maps * (m + 1), points, tol=1e-9, displacement=fields[m]))
        at = (grid + np.moveaxis(fields[m][::-1], 0, -1)) / shape
        waves = np.exp(-2j * np.pi * np.tensordot(at, points, axes=(-1, 2)))
        exact.append(np.stack([np.tensordot((m + 1) * s * image, waves, len(shape)) for s in maps]))
    A = linop.states(ops)
    assert relative(A @ image, np.concatenate(exact, axis=1)) < 1e-8
    assert A.adjoint_error() < 1e-12
    assert relative(A.normal(image), A.H @ (A @ image)) < 1e-12
    with pytest.raises(larmor.ShapeError, match="operator 1 is of another device, type, image or number of coils"):
        linop.states([ops[0], linop.sense(maps[:1], points, displacement=fields[0])])



@pytest.mark.parametrize(("matrix", "trajectory", "readouts", "snr", "worse"), [
    ((32, 32), "spiral", 4, 30, 1.5), ((32, 32), "golden", 16, 10, 1.1), ((8, 8, 8), "koosh", 24, 30, 1.1)])
def test_an_image_of_what_moves_is_as_near_as_that_of_what_stands_still(tmp_path, matrix, trajectory, readouts, snr,
                                                                        worse):
    fields = breath(matrix, 3)
    errors = []
    for moves, taken in ((0 * fields, 0 * fields), (fields, 0 * fields), (fields, fields)):
        scene = larmor.Simulation(matrix, trajectory, traj={"readouts": readouts}, coils=3, snr=snr, repetitions=3,
                                  phantom="texture", motion_fields=moves)
        scene.write(tmp_path / "scan.h5", force=True)
        made = larmor.recon(tmp_path / "scan.h5", method="cg", lam=2e-3, delays="off", iterations=20, tol=1e-3,
                            memory="1G", maps=scene.maps(), motion_fields=taken)
        assert "motion: one image of 3 frames, each with its displacement" in made.log
        errors.append(larmor.compare(np.squeeze(made.images), np.squeeze(scene.expected()[0][0]))["nrmse"])
    assert errors[1] > worse * errors[0]
    assert errors[2] < 1.1 * errors[0]


def test_motion_that_does_not_fit_is_refused(tmp_path):
    scene = larmor.Simulation((16, 16), "golden", coils=2, repetitions=3)
    scene.write(tmp_path / "scan.h5")
    for fields, said in ((np.zeros((4, 2, 16, 16)), "motion_fields: has 4 frames, and .* has 3 of a slice"),
                         (np.zeros((2, 16, 16)),
                          r"motion_fields: the array is .*, expected \[x, y, 2 or 3, frames\]"),
                         (np.full((3, 2, 16, 16), np.nan), "motion_fields")):
        with pytest.raises(larmor.Error, match=said):
            larmor.recon(tmp_path / "scan.h5", method="cg", motion_fields=fields)
    with pytest.raises(larmor.Error, match=r"motion_fields: is not for .*displacement; add one to the other"):
        larmor.recon(tmp_path / "scan.h5", method="cg", motion_fields=np.zeros((3, 2, 16, 16)),
                     displacement=np.zeros((2, 16, 16)))
