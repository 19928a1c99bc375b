"""Typical use of larmor as mypy and pyright see it, by scripts/lint_python.sh; nothing of it is run.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import larmor
from larmor import linop, nufft, prior, prox, solve
from larmor.typing import Array, Complexes, Floats, OperatorLike

if TYPE_CHECKING:
    from typing_extensions import assert_type


class Tensor:
    """An array of another library, as larmor's types see PyTorch's or CuPy's."""

    dtype, ndim = "complex64", 2

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape


def what_moves_has_samples_where_they_are_given(points: Floats, poses: Floats, kspace: Complexes) -> None:
    assert_type(larmor.moved(points, poses, (200.0, 200.0)), Floats)
    assert_type(larmor.moved(points, poses, (200.0, 200.0), kspace), tuple[Floats, Complexes])


def operators_give_complex_arrays_of_numpy(x: NDArray[np.float32], maps: Complexes, points: Floats) -> None:
    A = linop.sense(maps, points)
    assert_type(A, linop.Operator)
    assert_type(A @ x, Complexes)
    assert_type(A.H @ (A @ x), Complexes)
    assert_type(A.N, linop.Operator)
    assert_type(A.forward(x), Complexes)
    assert_type(A(x), Complexes)
    assert_type(A @ A.H, linop.Operator)
    assert_type(A * 2j, linop.Operator)
    assert_type(2 * A + A / 3 - A, linop.Operator)
    assert_type(A[0], linop.Operator)
    assert_type(A.shape, tuple[int, int])
    assert_type(A.in_shape, tuple[int, ...])
    assert_type(A.todense(), Complexes)
    assert_type(A.adjoint_error(), float)


class Matrix:
    """An operator of another library."""

    shape: tuple[int, int] = (3, 2)
    dtype = np.dtype(np.complex64)

    @property
    def H(self) -> Matrix:
        return self

    def __matmul__(self, x: Any) -> Any:
        return x


def solvers_take_operators_of_other_libraries(A: linop.Operator, B: OperatorLike, y: Complexes) -> None:
    everything: list[OperatorLike] = [A, A.H, B, Matrix()]
    assert_type(solve.cg(everything[0], y)[0], Complexes)
    assert_type(linop.as_operator(Matrix()), linop.Operator)
    assert_type(solve.largest_eigenvalue(Matrix()), float)


def solvers_give_images_and_reports(A: linop.Operator, y: Complexes) -> None:
    x, report = solve.cg(A, y, iterations=10, lam=0.1)
    assert_type(x, Complexes)
    assert_type(report.iterations, int)
    g = prox.l1(A.in_shape, 0.1)
    assert_type(solve.admm(A, y, g)[0], Complexes)
    assert_type(solve.fista(A, y, g, monitor=solve.History())[0], Complexes)
    assert_type(g(0.5, x), Complexes)
    assert_type(g.value(x), float)
    found, pnp = solve.pnp(A, y, prior.named("tv"), sigma=0.1)
    assert_type(found, Complexes)
    assert_type(pnp.end, str)
    assert_type(solve.largest_eigenvalue(A), float)


def transforms_have_types_of_their_own(points: Floats, values: Complexes, image: Complexes) -> None:
    assert_type(nufft.type2(points, image, tol=1e-6), Complexes)
    assert_type(nufft.type1(points, values, (8, 8)), Complexes)
    plan = nufft.Plan(2, (8, 8), tol=1e-6).set_points(points)
    assert_type(plan, nufft.Plan)
    assert_type(plan.execute(image), Complexes)


def arrays_of_other_libraries_stay_what_they_are(A: linop.Operator, x: Tensor, points: Tensor) -> None:
    kept: Array = x
    assert_type(kept.shape, tuple[int, ...])
    assert_type(A @ x, Tensor)
    assert_type(A.normal(x), Tensor)
    assert_type(solve.cg(A, x)[0], Tensor)
    assert_type(nufft.type2(points, x), Tensor)


def scans_give_images(path: str) -> None:
    scan = larmor.Scan(path)
    done = larmor.recon(scan, method="tv", lam=0.1, iterations=20, memory="8G")
    assert_type(done, larmor.Reconstruction)
    assert_type(done.maps, Complexes | None)
    for image in larmor.reconstruct(scan, method="cg"):
        assert_type(image, larmor.Image)
        assert_type(image.image, Complexes)
    with larmor.reconstruct(path) as run:
        assert_type(next(run), larmor.Image)
    assert_type(scan.samples(0).kspace, Complexes)


def readouts_come_from_a_generator(scan: larmor.Scan, kspace: Complexes, traj: Floats) -> None:
    def readouts() -> Iterator[tuple[Complexes, Floats]]:
        yield kspace, traj

    for image in larmor.live(readouts(), scan):
        assert_type(image.image, Complexes)
        assert_type(image.readouts, int)


def a_denoiser_is_any_function_of_an_image_and_a_deviation(scan: larmor.Scan) -> None:
    def denoise(x: Any, sigma: float) -> Complexes:
        return np.asarray(x / (1 + sigma), np.complex64)

    assert_type(prior.Function(denoise), prior.Denoiser)
    assert_type(larmor.recon(scan, prior=denoise), larmor.Reconstruction)


def phantoms_and_trajectories(shape: tuple[int, int]) -> tuple[Floats, Complexes]:
    traj = larmor.traj("golden", shape, readouts=60)
    assert_type(traj, Floats)
    kspace = larmor.phantom_kspace(traj, coils=4)
    assert_type(kspace, Complexes)
    assert_type(larmor.density(traj, shape), Floats)
    assert_type(larmor.espirit(kspace, traj, shape)[0], Complexes)
    larmor.recon(larmor.ScanArrays(kspace, traj, shape))
    return traj, kspace


def what_makes_no_sense_is_refused(A: linop.Operator, scan: larmor.Scan, y: Complexes) -> None:
    A @ [1, 2, 3]  # type: ignore[operator]
    larmor.recon(scan, metod="tv")  # type: ignore[call-arg]
    larmor.recon(scan, iterations=[20])  # type: ignore[arg-type]
    solve.cg(A, y, iterations="many")  # type: ignore[call-overload]
    nufft.type2(y, "image")  # type: ignore[call-overload]
