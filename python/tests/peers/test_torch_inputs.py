"""larmor.torch refuses wrong tensors in a line. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import larmor  # noqa: E402
import larmor.torch as lt  # noqa: E402

X = torch.ones(6, 6, dtype=torch.complex64)
MAPS = torch.ones(2, 6, 6, dtype=torch.complex64)
K = torch.linspace(-2, 2, 30).reshape(5, 3, 2)
W = torch.ones(5, 3)
Y = torch.ones(2, 5, 3, dtype=torch.complex64)
TIMES, FIELD = torch.zeros(5, 3), torch.zeros(6, 6)


@pytest.mark.parametrize("call, kind, line", [
    (lambda: lt.nufft(X.numpy(), K), larmor.ArgumentError,
     "x: got ndarray, expected a tensor; torch.as_tensor makes one"),
    (lambda: lt.nufft(X, K.numpy()), larmor.ArgumentError,
     "points: got ndarray, expected a tensor; torch.as_tensor makes one"),
    (lambda: lt.nufft(X, K.bfloat16()), larmor.ArgumentError,
     "points: got torch.bfloat16, expected real numbers of float32 or float64"),
    (lambda: lt.nufft(X.to_sparse(), K), larmor.ArgumentError,
     "x: got a tensor of torch.sparse_coo, expected a dense one; to_dense() makes it"),
    (lambda: lt.nufft(X, K.to("meta")), larmor.ArgumentError,
     "points: on meta, and x on cpu; expected on one device"),
    (lambda: lt.nufft(X[0], K), larmor.ShapeError,
     "x: got shape (6,), expected 2 axes or more, as points have columns"),
    (lambda: lt.nufft(X, K[..., 0, 0]), larmor.ShapeError,
     "points: got shape (5,), expected [..., ndim], 1 to 3 columns"),
    (lambda: lt.nufft_adjoint(Y[..., :2], K, (6, 6)), larmor.ShapeError,
     "y: got shape (2, 5, 2), expected points (5, 3) behind a batch"),
    (lambda: lt.nufft_adjoint(Y, K, (6,)), larmor.ShapeError, "modes: got 1 sizes for points of 2 columns"),
    (lambda: lt.sense(X, MAPS[:, :4], K), larmor.ShapeError,
     "x: got shape (6, 6), expected modes (4, 6) behind a batch"),
    (lambda: lt.sense(X, MAPS[0], K), larmor.ShapeError,
     "maps: got shape (6, 6), expected [coils, modes...] for points of 2 columns"),
    (lambda: lt.sense_adjoint(Y[:1], MAPS, K), larmor.ShapeError,
     "y: got shape (1, 5, 3), expected coils and points (2, 5, 3) behind a batch"),
    (lambda: lt.sense(X, MAPS, K, weights=W[:2]), larmor.ShapeError, "weights: got shape (2, 3), expected (5, 3)"),
    (lambda: lt.sense(X, MAPS, K, weights=W + 0j), larmor.ArgumentError,
     "weights: got torch.complex64, expected real numbers of float32 or float64"),
    (lambda: lt.sense(X, MAPS, K, weights=W * torch.nan), larmor.ArgumentError,
     "weights: the least is nan, expected at least 0"),
    (lambda: lt.sense(X, MAPS, K, field=FIELD[:2], times=TIMES), larmor.ShapeError,
     "field: got shape (2, 6), expected (6, 6)"),
    (lambda: lt.nufft_field(X, K, FIELD[0], TIMES), larmor.ShapeError, "field: got shape (6,), expected (6, 6)"),
    (lambda: lt.SENSE(MAPS, K, field=FIELD), larmor.ArgumentError,
     "times: none; a field needs the times of the samples"),
    (lambda: lt.DataConsistency("A"), larmor.ArgumentError, "A: got str, expected a larmor.torch.SENSE"),
    (lambda: lt.DataConsistency(lt.SENSE(MAPS, K), iterations=0), larmor.ArgumentError,
     "iterations and tol: got 0 and 1e-05, expected at least 1 and 0"),
    (lambda: lt.DataConsistency(lt.SENSE(MAPS, K))(Y, X[:3]), larmor.ShapeError,
     "z: got shape (3, 6), expected modes (6, 6) behind a batch"),
])
def test_a_wrong_tensor_is_refused_in_a_line(call, kind, line):
    with pytest.raises(kind) as raised:
        call()
    assert str(raised.value) == line


def test_weights_of_fewer_axes_are_those_of_each_readout():
    line = torch.tensor([1.0, 0.25, 4.0])
    assert torch.equal(lt.sense(X, MAPS, K, weights=line), lt.sense(X, MAPS, K, weights=line.expand(5, 3)))


def test_layers_show_what_they_hold():
    assert repr(lt.SENSE(MAPS, K, weights=W)) == "SENSE(maps (2, 6, 6), points (5, 3, 2), weights (5, 3), tol=1e-05)"
    assert repr(lt.NUFFT(K)) == "NUFFT(points (5, 3, 2), tol=1e-05)"
