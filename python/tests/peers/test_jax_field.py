"""Off-resonance in larmor.jax, beside JAX's own of the sum term by term. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import functools

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from conftest import relative  # noqa: E402
from jax.experimental import checkify  # noqa: E402

import larmor  # noqa: E402
import larmor.jax as lj  # noqa: E402
from larmor import _jax_segments, linop  # noqa: E402

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_disable_most_optimizations", True)  # compiling takes most of the time

MODES = {1: (9,), 2: (6, 5), 3: (4, 3, 5)}
LAST = 0.02  # s


@pytest.fixture(autouse=True)
def defaults():
    yield
    lj.keep(0)
    lj.keep()


def draw(seed, ndim=2, spread=30.0, readouts=3, samples=4):
    """Image, maps of 2 coils, points, weights, field in Hz, times in s, k-space, all different."""
    rng = np.random.default_rng(seed)
    modes, lead = MODES[ndim], (readouts, samples)

    def complex_of(*shape):
        return rng.normal(size=shape) + 1j * rng.normal(size=shape)

    return (complex_of(*modes), complex_of(2, *modes), rng.uniform(-0.5, 0.5, (*lead, ndim)) * np.array(modes),
            rng.uniform(0.5, 2, lead), rng.uniform(-spread, 2 * spread, modes), rng.uniform(0, LAST, lead),
            complex_of(2, *lead))


def exact(x, maps, points, weights, field, times):
    """What sense stands for: sum_r sqrt(w_j) c(r) x(r) exp(-2 pi i k_j r / N + 2 pi i f(r) t_j)."""
    modes = field.shape
    grid = np.meshgrid(*((np.arange(n) - n // 2) / n for n in modes), indexing="ij")
    phase = -sum(points[..., d, None] * grid[d].ravel() for d in range(len(modes))) + times[..., None] * field.ravel()
    coils = (maps * x).reshape(len(maps), -1)
    return jnp.sqrt(weights) * jnp.einsum("jkr,cr->cjk", jnp.exp(2j * np.pi * phase), coils)


def found(x, maps, points, weights, field, times, **options):
    return lj.sense(x, maps, points, weights=weights, field=field, times=times, tol=1e-12, **options)


def both_directions(maps, points, x, y, **options):
    return lj.sense(x, maps, points, **options), lj.sense_adjoint(y, maps, points, **options)


@pytest.mark.parametrize(("ndim", "spread"), [(1, 90.0), (2, 2.0), (2, 60.0), (3, 30.0)])
def test_values_are_the_sum_within_the_error_and_the_adjoint_is_exact(ndim, spread):
    for seed in range(2):
        *inputs, y = draw(seed, ndim, spread)
        x, maps, points, weights, field, times = inputs
        for error in (1e-2, 1e-6):
            both = functools.partial(both_directions, maps, points, weights=weights, field=field, times=times,
                                     tol=1e-12, error=error)
            samples, back = jax.jit(both)(x, y)
            assert relative(samples, exact(*inputs)) < error
            assert abs(np.vdot(y, samples) - np.vdot(back, x)) < 1e-12 * np.linalg.norm(y) * np.linalg.norm(samples)


@pytest.mark.parametrize("end", [1.0, 200.0])
def test_phase_and_slopes_are_within_the_error_by_less_than_twice_the_segments_of_larmor_linop(end):
    f, t = np.linspace(-80, end, 41), np.linspace(0.003, 0.03, 57)
    band, span, phase = (f[0], f[-1]), (t[0], t[-1]), np.exp(2j * np.pi * np.outer(f, t))
    for error in (1e-2, 1e-3, 1e-6):
        def both(f, t, error=error):
            return _jax_segments.factors(f, t, f.shape, t.shape, np.complex128, error, band, span)

        def product(*a, both=both):
            of_field, of_times = both(*a)
            return of_field.T @ of_times

        assert len(both(f, t)[0]) < 2 * linop.Segments(f, t, error=error).info["segments"]
        value, of_f = jax.jvp(product, (f, t), (np.ones_like(f), np.zeros_like(t)))
        of_t = jax.jvp(product, (f, t), (np.zeros_like(f), np.ones_like(t)))[1]
        assert np.max(np.abs(value - phase)) < error
        assert np.max(np.abs(of_f - 2j * np.pi * t * phase)) < 2 * np.pi * np.max(np.abs(t)) * error
        assert np.max(np.abs(of_t - 2j * np.pi * f[:, None] * phase)) < 2 * np.pi * np.max(np.abs(f)) * error


@pytest.mark.parametrize(("seed", "spread"), [(1, 1e-3), (2, 90.0)])
def test_all_inputs_have_the_derivatives_of_the_sum_in_both_modes_and_twice(seed, spread):
    *inputs, _ = draw(seed, 2, spread)
    weights = 1 + np.arange(2 * 3 * 4).reshape(2, 3, 4)
    steps = [np.cos(a) * s for a, s in zip(inputs, (1, 1, 1, 1, 10, 1e-3), strict=True)]

    def derivatives(function):
        def loss(*a):
            y = function(*a)
            return jnp.sum(weights * (y.real * y.imag + jnp.abs(y)**2))
        first, second = jax.jit(lambda *a: jax.jvp(jax.grad(loss, range(6)), a, tuple(steps)))(*inputs)
        return [*first, *second, jax.jvp(function, tuple(inputs), tuple(steps))[1]]

    options = {"error": 1e-8, "band": (-spread, 2 * spread), "span": (0, LAST)}
    wanted = derivatives(exact)
    for a, b in zip(derivatives(functools.partial(found, **options)), wanted, strict=True):
        assert relative(a, b) < 1e-5


def test_times_that_are_all_the_same_and_a_field_that_is_have_derivatives():
    *inputs, _ = draw(5, 2)
    for i, value in ((4, 13.0), (5, 0.007)):
        same = [np.full_like(a, value) if i == j else a for j, a in enumerate(inputs)]

        def slopes(function, same=same):
            return jax.grad(lambda f, t: jnp.sum(jnp.real(function(*same[:4], f, t))**2), (0, 1))(*same[4:])

        single = [a.astype("c8" if np.iscomplexobj(a) else "f4") for a in same]

        def rounded(*a, single=single):
            return lj.sense(*single[:3], weights=single[3], field=a[4], times=a[5])

        wanted = slopes(exact)
        for function, given in ((found, same), (rounded, single)):
            for a, b in zip(slopes(function, given), wanted, strict=True):
                assert relative(a, b) < 5e-3


def test_single_precision_stays_single_and_is_that_of_the_operators():
    *inputs, _ = draw(6, 2, 60.0)
    x, maps, points, weights, field, times = (a.astype("c8" if np.iscomplexobj(a) else "f4") for a in inputs)
    y = lj.sense(x, maps, points, weights=weights, field=field, times=times)
    assert y.dtype == jnp.complex64
    A = linop.sense(maps, points, weights=weights, off_resonance=linop.Segments(field, times))
    assert relative(y, exact(*inputs)) < 1e-3
    assert relative(y, A @ x) < 2e-3


def test_batches_mapped_fields_and_times_of_one_readout_keep_their_axes():
    x, maps, points, _, field, times, _ = draw(7)
    two = np.stack([x, 2j * x])
    y = lj.nufft_field(two, points, field, times[0])
    assert y.shape == (2, 3, 4)
    assert relative(y[1], 2j * y[0]) < 1e-12
    assert relative(y[0], lj.nufft_field(x, points, field, np.broadcast_to(times[0], (3, 4)))) < 1e-12
    assert lj.nufft_field(y, points, field, times, adjoint=True).shape == two.shape
    assert lj.nufft_field(x, points[:0], field, times[:0]).shape == (0, 4)
    fields = np.stack([field, field / 3])
    mapped = jax.vmap(lambda f: lj.sense(x, maps, points, field=f, times=times, band=(-30, 60)))(fields)
    for one, f in zip(mapped, fields, strict=True):
        assert relative(one, lj.sense(x, maps, points, field=f, times=times, band=(-30, 60))) < 1e-12


def test_a_field_is_found_by_its_gradient():
    """A scan with 3 numbers as its field: the data say which they were."""
    x, maps, points, _, _, times, _ = draw(8, readouts=8, samples=6)
    y, x0 = np.meshgrid(*(np.linspace(-1, 1, n) for n in MODES[2]), indexing="ij")
    basis, truth = np.stack([np.ones_like(x0), x0, y]), np.array([12.0, -8.0, 5.0])

    def residual(c):
        d = lj.sense(x, maps, points, field=jnp.tensordot(c, basis, 1), times=times, tol=1e-9, error=1e-6,
                     band=(-60, 60))
        return jnp.concatenate([(d - data).real.ravel(), (d - data).imag.ravel()])

    data = exact(x, maps, points, np.ones(points.shape[:-1]), np.tensordot(truth, basis, 1), times)
    c, steps = jnp.zeros(3), jax.jit(lambda c: (residual(c), jax.jacfwd(residual)(c)))
    for _ in range(12):
        r, J = steps(c)
        c = c - jnp.linalg.lstsq(J, r)[0]
    assert np.max(np.abs(c - truth)) < 1e-3


def test_traced_values_out_of_their_range_are_nan_and_checkify_says_so():
    x, _, points, _, field, times, _ = draw(9)

    def call(f, t):
        return lj.nufft_field(x, points, f, t, band=(-30, 60), span=(0, LAST))

    assert not np.any(np.isnan(jax.jit(call)(field, times)))
    late, high = times.copy(), field.copy()
    late[1, 2], high[3, 3] = 2 * LAST, 61
    assert np.array_equal(np.isnan(jax.jit(call)(field, late)), late > LAST)
    assert np.all(np.isnan(jax.jit(call)(high, times)))
    error, _ = checkify.checkify(jax.jit(call))(high, times)
    assert "field: not within band: -30 to 60 Hz" in error.get()


def test_what_is_wrong_is_said_when_jax_traces():
    x, maps, points, _, field, times, _ = draw(10)
    nan = np.where(field == field.max(), np.nan, field)
    ends = np.array([0.0, 1.0])
    for call, error, line in (
            (lambda: lj.sense(x, maps, points, field=field), larmor.ArgumentError,
             "times: none; a field needs the times of the samples"),
            (lambda: lj.nufft_field(x, points, field[0], times), larmor.ShapeError,
             "field: got shape (5,), expected [modes...] for points of 2 columns"),
            (lambda: lj.sense(x, maps, points, field=field.T, times=times), larmor.ShapeError,
             "modes: got shape (2, 6, 5), expected (5, 6) after the axes of a batch"),
            (lambda: lj.nufft_field(x, points, field, times.T), larmor.ShapeError,
             "times: got shape (4, 3), expected (3, 4)"),
            (lambda: lj.nufft_field(x, points, field + 0j, times), larmor.ArgumentError,
             "field: got complex128, expected real numbers"),
            (lambda: lj.nufft_field(x, points, nan, times), larmor.ArgumentError,
             "field: has values that are not finite"),
            (lambda: lj.nufft_field(x, points, field, times, error=0), larmor.ArgumentError,
             "error: got 0.0, expected 0 < error < 1"),
            (lambda: lj.nufft_field(x, points, 0 * field, times, band=3), larmor.ArgumentError,
             "band: got 3, expected (least, greatest) in Hz"),
            (lambda: lj.nufft_field(x, points, 0 * field, times, span=(1, 0)), larmor.ArgumentError,
             "span: got (1, 0), expected (least, greatest) in s"),
            (lambda: lj.nufft_field(x, points, 0 * field + 7, times, band=(-5, 5)), larmor.ArgumentError,
             "field: from 7 to 7 Hz, expected within band: -5 to 5"),
            (lambda: jax.jit(lambda f: lj.nufft_field(x, points, f, times))(field), larmor.ArgumentError,
             "field: traced by JAX, so that its range is not known; name it by band=(least, greatest) in Hz"),
            (lambda: jax.jit(lambda t: lj.nufft_field(x, points, field, t))(times), larmor.ArgumentError,
             "times: traced by JAX, so that its range is not known; name it by span=(least, greatest) in s"),
            (lambda: lj.nufft_field(ends, ends[:, None], 1e4 * ends, ends), larmor.NumericError,
             "field: 512 segments do not keep the error 0.001 over 1e+04 turns of the phase; ask for a larger "
             "error")):
        with pytest.raises(error) as raised:
            jax.eval_shape(call)
        assert str(raised.value) == line
