"""larmor.jax: sums, derivatives and what JAX makes of them, on whatever JAX_PLATFORMS names.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import concurrent.futures
import functools
import os
import pathlib
import re
import subprocess
import sys
import types

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from conftest import exponent, relative  # noqa: E402
from jax.experimental import checkify  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

import larmor  # noqa: E402
import larmor.jax as lj  # noqa: E402
from larmor import linop  # noqa: E402
from larmor import nufft as numpys  # noqa: E402

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_disable_most_optimizations", True)  # compiling takes most of the time
jax.config.update("jax_num_cpu_devices", 2)  # for what is spread over devices

MODES = {1: (9,), 2: (6, 5), 3: (4, 3, 5)}
TOL = 1e-12


@pytest.fixture(autouse=True)
def defaults():
    yield
    lj.keep(0)
    lj.keep()


def draw(seed, ndim, count=11, batch=()):
    """An image, values and points of MODES[ndim], and targets."""
    rng = np.random.default_rng(seed)
    modes = MODES[ndim]
    x = rng.normal(size=(*batch, *modes)) + 1j * rng.normal(size=(*batch, *modes))
    y = rng.normal(size=(*batch, count)) + 1j * rng.normal(size=(*batch, count))
    k = rng.uniform(-0.5, 0.5, (count, ndim)) * np.array(modes)
    return x, y, k, rng.uniform(-0.7, 0.7, (count - 2, ndim))


def sums(x, y, k, s, modes):
    """What types 2, 1 and 3 stand for."""
    A = np.exp(-2j * np.pi * exponent(k, modes)).reshape(len(k), -1)
    return (A @ x.ravel()), (A.conj().T @ y).reshape(modes), np.exp(2j * np.pi * s @ k.T) @ y


# ---- values ----


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_all_types_are_their_sums_within_tol(ndim):
    for seed in range(3):
        x, y, k, s = draw(seed, ndim)
        two, one, three = sums(x, y, k, s, MODES[ndim])
        for tol in (1e-3, 1e-6, 1e-9):
            assert relative(lj.type2(k, x, tol=tol), two) < tol
            assert relative(lj.type1(k, y, MODES[ndim], tol=tol), one) < tol
            assert relative(lj.type3(k, y, s, tol=tol), three) < tol


def test_single_precision_stays_single():
    x, y, k, s = draw(1, 2)
    two, one, three = sums(x, y, k, s, MODES[2])
    x, y, k, s = (np.asarray(a, np.complex64 if np.iscomplexobj(a) else np.float32) for a in (x, y, k, s))
    for found, expected in ((lj.nufft(x, k), two), (lj.nufft_adjoint(y, k, MODES[2]), one),
                            (lj.type3(k, y, s), three)):
        assert found.dtype == jnp.complex64
        assert relative(found, expected) < 1e-5


@pytest.mark.parametrize("units", ["cycles", "radians"])
@pytest.mark.parametrize("sign", [-1, 1])
def test_options_mean_what_they_mean_in_numpy(units, sign):
    x, y, k, s = draw(2, 3)
    options = {"units": units, "sign": sign, "tol": 1e-10}
    assert relative(lj.type3(k, y, s, **options), numpys.type3(k, y, s, **options)) < 1e-9
    for order in ("centred", "fft"):
        options["mode_order"] = order
        assert relative(lj.type2(k, x, **options), numpys.type2(k, x, **options)) < 1e-9
        assert relative(lj.type1(k, y, MODES[3], **options), numpys.type1(k, y, MODES[3], **options)) < 1e-9


def test_batches_and_points_keep_their_axes():
    x, _, k, _ = draw(3, 2, count=12, batch=(2, 3))
    k = k.reshape(3, 4, 2)
    found = lj.type2(k, x, tol=TOL)
    assert found.shape == (2, 3, 3, 4)
    assert relative(found, numpys.type2(k, x, tol=TOL)) < 1e-10
    assert lj.type1(k, found, MODES[2]).shape == x.shape
    assert lj.type2(k[:0], x).shape == (2, 3, 0, 4)
    assert lj.type2(k, x[:0]).shape == (0, 3, 3, 4)
    assert not np.any(lj.type1(k[:0], found[:, :, :0], MODES[2]))


def test_the_adjoint_is_exact_at_any_tol():
    for ndim, modes in MODES.items():
        x, y, k, _ = draw(4, ndim)
        for tol in (1e-2, 1e-8):
            left = np.vdot(y, lj.nufft(x, k, tol=tol))
            assert abs(left - np.vdot(lj.nufft_adjoint(y, k, modes, tol=tol), x)) < 1e-12 * abs(left)


def coils(seed=5):
    x, _, k, _ = draw(seed, 2)
    rng = np.random.default_rng(seed)
    maps = rng.normal(size=(3, *MODES[2])) + 1j * rng.normal(size=(3, *MODES[2]))
    return x, maps, k, rng.uniform(0.5, 2, len(k))


def test_sense_is_that_of_the_operators():
    x, maps, k, w = coils()
    A = linop.sense(maps, k, weights=w, tol=TOL)
    y = lj.sense(x, maps, k, weights=w, tol=TOL)
    assert relative(y, A @ x) < 1e-10
    assert relative(lj.sense_adjoint(y, maps, k, weights=w, tol=TOL), A.H @ np.asarray(y)) < 1e-10
    both = lj.sense(np.stack([x, 2 * x]), maps, k, tol=TOL)
    assert both.shape == (2, 3, len(k))
    assert relative(both[1], 2 * both[0]) < 1e-10


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_jax_finuffts_functions_have_its_conventions(ndim):
    x, y, k, s = draw(6, ndim)
    radians = [2 * np.pi * k[:, d] / n for d, n in enumerate(MODES[ndim])]
    two, one, three = sums(x, y, k, s, MODES[ndim])
    assert relative(lj.nufft2(x, *radians, eps=1e-9), two) < 1e-9
    assert relative(lj.nufft1(MODES[ndim], y, *radians, eps=1e-9), one) < 1e-9
    found = lj.nufft3(y, *k.T, *(2 * np.pi * s.T), iflag=1, eps=1e-9)
    assert relative(found, three) < 1e-9
    with pytest.warns(UserWarning, match="eps: 1e-20 is out of reach in complex128; [0-9.e-]+ is taken"):
        lj.nufft2(x, *radians, eps=1e-20)


def test_jax_finuffts_options_are_taken_alone_nested_or_refused():
    x, y, k, _ = draw(7, 2)
    modes, radians = MODES[2], (2 * np.pi * k / MODES[2]).T
    two, one, _ = sums(np.fft.fftshift(x), y, k, k, modes)
    ordered = lj.Opts(modeord=True, upsampfac=2.0, nthreads=1)
    none = {"type1": None, "type2": None, "type3": None, "forward": None, "backward": lj.Opts()}
    for opts in (ordered, types.SimpleNamespace(**{**none, "type1": ordered, "type2": ordered}),
                 types.SimpleNamespace(**{**none, "type1": lj.Opts(), "forward": ordered})):
        assert relative(lj.nufft2(x, *radians, eps=1e-9, opts=opts), two) < 1e-9
        assert relative(lj.nufft1(modes, y, *radians, eps=1e-9, opts=opts), np.fft.ifftshift(one)) < 1e-9
    gradient = jax.grad(lambda x: jnp.real(lj.nufft2(x, *radians, eps=1e-9, opts=ordered) @ y))(x + 0j)
    assert relative(gradient, np.fft.ifftshift(sums(x, y.conj(), k, k, modes)[1].conj())) < 1e-9
    other = types.SimpleNamespace(**{**none, "type2": ordered})
    assert relative(lj.nufft1(modes, y, *radians, eps=1e-9, opts=other), one) < 1e-9
    for opts in ({"modeord": True}, types.SimpleNamespace(modeord=True)):
        with pytest.raises(larmor.ArgumentError, match=r"^opts: got .*, expected a larmor\.jax\.Opts"):
            lj.nufft2(x, *radians, opts=opts)


# ---- derivatives ----


def slow(kind, modes, radians=False, sign=-1, order="centred"):
    """The sums in JAX, whose derivatives JAX knows."""
    r = [np.arange(n) - n // 2 for n in modes]
    r = [np.fft.ifftshift(a) for a in r] if order == "fft" else r
    grid = np.stack(np.meshgrid(*r, indexing="ij"), -1).reshape(-1, len(modes)) / (1 if radians else np.array(modes))
    unit = 1j * sign * (1 if radians else 2 * np.pi)
    if kind == 3:
        return lambda y, k, s: jnp.exp(unit * s @ k.T) @ y
    if kind == 2:
        return lambda x, k: jnp.exp(unit * k @ grid.T) @ x.ravel()
    return lambda y, k: (jnp.exp(unit * grid @ k.T) @ y).reshape(modes)


def derivatives(function, weights, *arguments):
    """Of a real number that depends on a transform: its gradient, and a derivative of that along some direction."""
    def gradient(*arguments):
        def number(*arguments):
            y = function(*arguments)
            return jnp.sum(weights * (y.real * y.imag + jnp.abs(y)**2))
        return jax.grad(number, argnums=range(len(arguments)))(*arguments)

    directions = tuple(np.cos(a) for a in arguments)
    first, second = jax.jit(lambda *a: jax.jvp(gradient, a, directions))(*arguments)
    return [np.asarray(a) for a in (*first, *second)]


@pytest.mark.parametrize(("ndim", "way"), [(1, "cycles"), (2, "radians"), (3, "cycles")])
def test_first_and_second_derivatives_are_those_of_the_sums(ndim, way):
    modes, radians = MODES[ndim], way == "radians"
    sign, order = (1, "fft") if radians else (-1, "centred")
    x, y, k, s = draw(7, ndim, count=7)
    k = k / np.array(modes) * 2 if radians else k
    options = {"units": way, "sign": sign, "tol": 1e-12}
    for kind, function, arguments in (
            (1, lambda y, k: lj.type1(k, y, modes, mode_order=order, **options), (y, k)),
            (2, lambda x, k: lj.type2(k, x, mode_order=order, **options), (x, k)),
            (3, lambda y, k, s: lj.type3(k, y, s, **options), (y, k, s))):
        sum_of_it = slow(kind, modes, radians, sign, order)
        weights = 1 + np.arange(np.size(sum_of_it(*arguments))).reshape(np.shape(sum_of_it(*arguments)))
        for a, b in zip(derivatives(function, weights, *arguments), derivatives(sum_of_it, weights, *arguments),
                        strict=True):
            assert relative(a, b) < 1e-8


def test_derivatives_are_those_of_differences():
    x, y, k, s = draw(8, 1, count=4)
    for function, arguments in ((lambda x, k: lj.type2(k, x, tol=TOL), (x, k)),
                                (lambda y, k: lj.type1(k, y, MODES[1], tol=TOL), (y, k)),
                                (lambda y, k, s: lj.type3(k, y, s, tol=TOL), (y, k / 4, s))):
        check_grads(jax.jit(function), arguments, 1, atol=1e-4, rtol=1e-4)


def test_derivatives_of_sense_are_those_of_its_sums():
    x, maps, k, w = coils()
    plain = slow(2, MODES[2])

    def sums_of_coils(x, m, k, w):
        return jnp.sqrt(w) * jnp.stack([plain(c * x, k) for c in m])

    weights = np.ones((3, len(k)))
    for a, b in zip(derivatives(lambda x, m, k, w: lj.sense(x, m, k, weights=w, tol=TOL), weights, x, maps, k, w),
                    derivatives(sums_of_coils, weights, x, maps, k, w), strict=True):
        assert relative(a, b) < 1e-8


def test_where_a_weight_is_0_its_derivatives_are_0_and_all_others_are_those_without_it():
    x, maps, k, w = coils()
    w[[1, 4]] = 0
    left = w > 0

    def found(points, w):
        def loss(w):
            y = lj.sense(x, maps, points, weights=w, tol=TOL)
            return jnp.sum(jnp.abs(y)**2) + jnp.sum(jnp.abs(lj.sense_adjoint(y, maps, points, weights=w, tol=TOL))**4)
        return [np.asarray(a) for a in jax.jit(lambda w: jax.jvp(jax.grad(loss), (w,), (jnp.ones_like(w),)))(w)]

    for every, expected in zip(found(k, w), found(k[left], w[left]), strict=True):
        assert relative(every[left], expected) < 1e-10
        assert np.array_equal(every[~left], [0, 0])


def test_weights_below_0_are_refused_where_their_numbers_are_known():
    x, maps, k, w = coils()
    line = "weights: the least is -2, expected at least 0"
    w[3] = -2
    for call in (lambda w: lj.sense(x, maps, k, weights=w),
                 lambda w: lj.sense_adjoint(np.ones((3, len(k))), maps, k, weights=w)):
        for given in (w, jnp.asarray(w), list(w)):
            with pytest.raises(larmor.ArgumentError, match=line):
                call(given)
        with pytest.raises(larmor.ArgumentError, match=line):
            jax.jit(functools.partial(call, w))()
        assert np.any(np.isnan(jax.jit(call)(w)))
    assert lj.sense(x, maps, k, weights=w > 0).shape == (3, len(k))
    assert lj.sense(x, maps, k[:0], weights=w[:0]).shape == (3, 0)


def test_traced_weights_below_0_make_nan_of_their_samples_alone_and_checkify_says_so():
    rng = np.random.default_rng(4)
    maps, points, x, w = rng.normal(size=(2, 6, 5)), rng.uniform(-2, 2, (9, 2)), rng.normal(size=(6, 5)), np.ones(9)
    w[4] = -3

    def call(w):
        return lj.sense(x, maps, points, weights=w, tol=TOL)

    found, expected = np.asarray(jax.jit(call)(w)), np.asarray(call(np.abs(w)))
    assert np.array_equal(np.isnan(found), np.broadcast_to(w < 0, found.shape))
    assert relative(found[:, w > 0], expected[:, w > 0]) < 1e-12
    for of_call, given in ((jax.jit(call), w), (jax.jit(jax.vmap(call)), w[None])):
        error, _ = checkify.checkify(of_call)(given)
        assert "weights: the least is -3.0, expected at least 0" in error.get()
    error, found = checkify.checkify(jax.jit(call))(np.abs(w))
    assert error.get() is None
    assert relative(found, expected) < 1e-12


def test_a_gradient_needs_the_points_sorted_once():
    x, y, k, _ = draw(9, 2)
    loss = jax.jit(jax.value_and_grad(lambda x: jnp.sum(jnp.abs(lj.nufft(x, k) - y)**2)))
    before = lj.kept()
    for _ in range(3):
        jax.block_until_ready(loss(x))
    after = lj.kept()
    assert after["sorted"] - before["sorted"] == 1
    assert after["found"] - before["found"] == 5


# ---- transformations ----


def calls(function, *arguments):
    """The shapes of inputs of each transform in what JAX traces."""
    found = []

    def look(jaxpr):
        for eqn in jaxpr.eqns:
            if eqn.primitive.name == "larmor_nufft":
                found.append(eqn.invars[0].aval.shape)
            for inner in eqn.params.values():
                if hasattr(inner, "jaxpr"):
                    look(inner.jaxpr)

    look(jax.make_jaxpr(function)(*arguments).jaxpr)
    return found


def test_images_that_are_mapped_are_one_batch():
    x, _, k, _ = draw(10, 2, batch=(4, 3))
    both = jax.vmap(jax.vmap(lambda x: lj.nufft(x, k, tol=TOL), in_axes=2))
    assert calls(both, np.moveaxis(x, 1, 3)) == [(1, 12, *MODES[2])]
    assert relative(both(np.moveaxis(x, 1, 3)), lj.nufft(x, k, tol=TOL)) < 1e-12


def test_points_that_are_mapped_are_one_call():
    x, y, _, s = draw(11, 2, batch=(3,))
    k = np.stack([draw(seed, 2)[2] for seed in range(3)])
    for dims in ((0, 0), (None, 0), (0, None), (2, 1)):
        image = x[0] if dims[0] is None else np.moveaxis(x, 0, dims[0])
        points = k[0] if dims[1] is None else np.moveaxis(k, 0, dims[1])
        mapped = jax.vmap(lambda x, k: lj.nufft(x, k, tol=TOL), in_axes=dims)
        assert len(calls(mapped, image, points)) == 1
        for i, found in enumerate(mapped(image, points)):
            one = lj.nufft(x[0 if dims[0] is None else i], k[0 if dims[1] is None else i], tol=TOL)
            assert relative(found, one) < 1e-12
    for i, found in enumerate(jax.vmap(lambda y, k: lj.type3(k, y, s, tol=1e-10))(y, k)):
        assert relative(found, lj.type3(k[i], y[i], s, tol=1e-10)) < 1e-9


def test_an_axis_of_size_0_that_is_mapped_gives_no_results():
    x, y, k, s = draw(18, 2, batch=(0,))
    none = np.zeros((0, *k.shape))
    for mapped, shape, *arguments in (
            (lambda x: lj.nufft(x, k), (0, 11), x), (lambda k: lj.nufft(np.ones(MODES[2]), k), (0, 11), none),
            (lj.nufft, (0, 11), x, none), (lambda k: lj.nufft(x, k), (0, 0, 11), none),
            (lambda y, k: lj.type1(k, y, MODES[2]), (0, 6, 5), y, none),
            (lambda y: lj.type3(k, y, s), (0, 9), y), (lambda k, y: lj.type3(k, y, s), (0, 9), none, y),
            (jax.grad(lambda k: jnp.sum(jnp.abs(lj.nufft(np.ones(MODES[2]), k)))), (0, 11, 2), none),
            (jax.vmap(lambda x: lj.nufft(x, k)), (2, 0, 11), np.zeros((2, *x.shape)))):
        for function in (jax.vmap(mapped), jax.jit(jax.vmap(mapped))):
            assert function(*arguments).shape == shape
    assert lj.nufft2(x, *none.transpose(2, 0, 1)).shape == (0, 11)


def test_gradient_steps_in_a_scan_find_the_image():
    modes, rng = (8, 8), np.random.default_rng(12)
    truth = rng.normal(size=modes) + 1j * rng.normal(size=modes)
    k = rng.uniform(-4, 4, (400, 2))
    y = lj.nufft(truth, k, tol=1e-9)
    step = 1 / (2.5 * len(k))

    @jax.jit
    def solve(y):
        def body(x, _):
            x = x - step * lj.nufft_adjoint(lj.nufft(x, k, tol=1e-9) - y, k, modes, tol=1e-9)
            return x, jnp.linalg.norm(x - truth)
        return jax.lax.scan(body, jnp.zeros(modes, complex), length=120)

    x, errors = solve(y)
    assert relative(x, truth) < 1e-6
    assert errors[-1] < errors[0]


def test_points_are_known_by_their_numbers_and_not_by_their_place():
    x, _, k, _ = draw(13, 2)
    for _ in range(3):
        k = k * 0.9
        assert relative(lj.nufft(x, k, tol=TOL), numpys.type2(k, x, tol=TOL)) < 1e-10


def test_no_more_plans_are_kept_than_asked_for():
    x, _, k, _ = draw(14, 2)
    lj.keep(3)
    for scale in np.linspace(0.5, 1, 8):
        assert relative(lj.nufft(x, k * scale, tol=TOL), numpys.type2(k * scale, x, tol=TOL)) < 1e-10
    assert lj.kept()["plans"] == 3
    for batch in range(1, 5):  # of which none can take another's plan
        jax.block_until_ready(lj.nufft(np.stack([x] * batch), k, tol=TOL))
    assert lj.kept()["plans"] == 3
    lj.keep(16, 0)
    assert lj.kept()["plans"] == lj.kept()["bytes"] == 0
    jax.block_until_ready(lj.nufft(x, k))
    assert lj.kept()["plans"] == 0


def test_threads_get_what_one_gets():
    jobs = [draw(seed % 3, 2) for seed in range(24)]
    transform = jax.jit(lambda x, k: lj.nufft(x, k, tol=TOL))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda job: np.asarray(transform(job[0], job[2])), jobs))
    for (x, _, k, _), y in zip(jobs, found, strict=True):
        assert relative(y, numpys.type2(k, x, tol=TOL)) < 1e-10


def test_two_devices_give_the_sums_and_gradients_of_one():
    if jax.device_count() < 2:
        pytest.skip("one device")
    if not hasattr(jax, "shard_map"):
        pytest.skip("jax.shard_map came with 0.6")
    P = jax.sharding.PartitionSpec
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:2]), ("half",))
    x, y, k, _ = draw(15, 2, count=12)

    def loss(x, k, y):
        return jnp.sum(jnp.abs(lj.nufft(x, k, tol=TOL) - y)**2)

    spread = jax.shard_map(lambda x, k, y: jax.lax.psum(loss(x, k, y), "half"), mesh=mesh,
                           in_specs=(P(), P("half"), P("half")), out_specs=P())
    one = jax.value_and_grad(loss, argnums=(0, 1))(x, k, y)
    two = jax.jit(jax.value_and_grad(spread, argnums=(0, 1)))(x, k, y)
    assert abs(two[0] - one[0]) < 1e-10 * one[0]
    for a, b in zip(two[1], one[1], strict=True):
        assert relative(a, b) < 1e-10
    rows = jax.device_put(np.stack([x, 2 * x]), jax.sharding.NamedSharding(mesh, P("half")))
    assert relative(jax.jit(lambda x: lj.nufft(x, k, tol=TOL))(rows)[1], numpys.type2(k, 2 * x, tol=TOL)) < 1e-10


# ---- errors ----


def test_what_is_wrong_is_said_when_jax_traces():
    x, y, k, s = draw(16, 2)
    for call, error, line in (
            (lambda: lj.nufft(x, k.T), larmor.ShapeError,
             "points: got shape (2, 11), expected [..., ndim], 1 to 3 columns"),
            (lambda: lj.nufft(x[0], k), larmor.ShapeError, "modes: got shape (5,) for points of 2 columns"),
            (lambda: lj.nufft_adjoint(y[:-1], k, MODES[2]), larmor.ShapeError,
             "values: got shape (10,), expected (11,) after the axes of a batch"),
            (lambda: lj.nufft_adjoint(y, k, (6,)), larmor.ShapeError, "modes: got 1 sizes for points of 2 columns"),
            (lambda: lj.type3(k, y, s[:, :1]), larmor.ShapeError, "targets: got 1 columns for points of 2"),
            (lambda: lj.type3(k, y, s, mode_order="fft"), larmor.ArgumentError,
             "mode_order: type 3 has no modes; leave it out"),
            (lambda: lj.nufft(x, k + 0j), larmor.ArgumentError, "points: got complex128, expected real numbers"),
            (lambda: lj.type2(k, x, units="m"), larmor.ArgumentError, "units: got 'm', expected cycles or radians"),
            (lambda: lj.type2(k, x, sign=2), larmor.ArgumentError, "sign: got 2, expected -1 or 1"),
            (lambda: lj.type2(k, x, sign=0), larmor.ArgumentError, "sign: got 0, expected -1 or 1"),
            (lambda: lj.type2(k, x, sign=1.5), larmor.ArgumentError, "sign: got 1.5, expected a whole number"),
            (lambda: lj.type1(k, y, (6, 5.5)), larmor.ArgumentError, "modes: got 5.5, expected a whole number"),
            (lambda: lj.nufft_adjoint(y, k, (6, None)), larmor.ArgumentError,
             "modes: got None, expected a whole number"),
            (lambda: lj.nufft1((6.5, 5), y, *k.T), larmor.ArgumentError,
             "output_shape: got 6.5, expected a whole number"),
            (lambda: lj.nufft(x, k, tol="1e-3"), larmor.ArgumentError, "tol: got '1e-3', expected a number"),
            (lambda: lj.nufft(x, k, tol=None), larmor.ArgumentError, "tol: got None, expected a number"),
            (lambda: lj.nufft(x, k, tol=float("nan")), larmor.ArgumentError,
             "tol: got nan, expected 0 < tol < 1"),
            (lambda: lj.type2(k, x, mode_order="up"), larmor.ArgumentError,
             "mode_order: got 'up', expected one of centred, fft"),
            (lambda: lj.nufft(x.astype(jnp.bfloat16), k), larmor.ArgumentError,
             "values of bfloat16: larmor computes in complex64 and complex128; hand in "
             "x.astype(jax.numpy.complex64)"),
            (lambda: lj.sense(x, x, k), larmor.ShapeError,
             "maps: got shape (6, 5), expected [coils, modes...] for points of 2 columns"),
            (lambda: lj.sense(x, x[None], k, weights=np.ones(3)), larmor.ShapeError,
             f"weights: got shape (3,), expected {k.shape[:-1]}"),
            (lambda: lj.sense(x, x[None], k, weights=1j * np.ones(k.shape[:-1])), larmor.ArgumentError,
             "weights: got complex128, expected real numbers"),
            (lambda: lj.sense(x, x[None], k, weights=np.full(k.shape[:-1], np.nan)), larmor.ArgumentError,
             "weights: the least is nan, expected at least 0"),
            (lambda: jax.jit(lambda tol: lj.nufft(x, k, tol=tol))(1e-3), larmor.ArgumentError,
             "tol: traced by JAX, expected a number of Python; name it in static_argnames of jit")):
        with pytest.raises(error) as raised:
            jax.eval_shape(call)
        assert str(raised.value) == line
    with pytest.raises(larmor.NumericError, match="tol"):
        jax.eval_shape(lambda: lj.nufft(x, k, tol=1e-30))


def test_points_that_are_not_finite_are_an_error_of_the_call():
    x, _, k, _ = draw(17, 2)
    k[3, 1] = np.nan
    with pytest.raises(Exception, match="INVALID_ARGUMENT: nufft: point 3 is not finite"):
        jax.block_until_ready(lj.nufft(x, k))
    k[3, 1] = 0
    assert relative(lj.nufft(x, k, tol=TOL), numpys.type2(k, x, tol=TOL)) < 1e-10


def test_the_page_of_jax_runs(tmp_path):
    page = pathlib.Path(__file__).parents[3] / "docs" / "reference" / "jax.md"
    blocks = page.parents[1] / "site" / "blocks.py"
    done = subprocess.run([sys.executable, str(blocks), str(page), str(tmp_path)], capture_output=True, text=True,
                          timeout=900, check=False,
                          env={**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"})  # most of a GPU is taken
    assert done.returncode == 0, done.stderr
    error = float(re.search(r"^0\.\d+$", done.stdout, re.M)[0])
    assert error < 0.12
