"""Time segmentation in JAX: exp(2 pi i f t) of fields and times as a sum of products, for larmor.jax.

With u in -1 to 1 for the times, exp(2 pi i f t) is interpolated in u by Chebyshev's polynomials at their L zeros u_l,

    exp(i z u) = sum_l exp(i z u_l) (2 / L) sum'_m T_m(u_l) T_m(u),

which has derivatives of any order. z is the phase from the middle of the times to their end, by the field's distance
from the middle of its range.
Source: Sutton, Noll, Fessler, IEEE Trans. Med. Imaging 22, 178 (2003), for segments by interpolation in time.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify
from numpy.polynomial import chebyshev

from larmor._library import ArgumentError, NumericError, ShapeError

MAX_SEGMENTS = 512      # as of larmor.linop.off_resonance
MIN_SEGMENTS = 3        # so that second derivatives are not those of a line
MIN_PHASE = 0.1         # rad, to which the times' interval is widened, so that derivatives are not lost in rounding,
MIN_HALF_SPAN = 1e-3    # s, but not beyond this
RANGE_ROUNDING = 1e-5   # of a range that is named, relative: single precision

Array = Any  # jax.Array, or what becomes one
Range = Sequence[float]
Numbers = np.ndarray[Any, Any]


def _nodes(count: int) -> Numbers:
    return np.cos(math.pi * (np.arange(count) + 0.5) / count)


def _coefficients(count: int) -> Numbers:
    """[m, node]: of T_m, of the polynomials that are 1 at one node and 0 at the others."""
    found: Numbers = 2 / count * chebyshev.chebvander(_nodes(count), count - 1).T
    found[0] /= 2
    return found


def _error(count: int, z: float) -> float:
    """The largest error of exp(i y u), of its derivative by u relative to z, and of that by y, for all y up to z."""
    u, y = np.linspace(-1, 1, 4 * count + 40), z * np.linspace(0, 1, 16)
    nodes, basis = _nodes(count), _coefficients(count)
    at_nodes, expected = np.exp(1j * np.outer(y, nodes)), np.exp(1j * np.outer(y, u))
    of_u = at_nodes @ chebyshev.chebval(u, chebyshev.chebder(basis)) - 1j * y[:, None] * expected
    weights = chebyshev.chebval(u, basis)
    errors = (at_nodes @ weights - expected, of_u / z, (nodes * at_nodes) @ weights - u * expected)
    return max(float(np.max(np.abs(e))) for e in errors)


@functools.lru_cache(maxsize=256)
def count_for(z: float, error: float) -> int:
    """The least number of segments whose error is at most `error`."""
    low, high = MIN_SEGMENTS - 1, MIN_SEGMENTS
    while _error(high, z) > error:
        if high == MAX_SEGMENTS:
            raise NumericError(f"field: {MAX_SEGMENTS} segments do not keep the error {error:g} over "
                               f"{2 * z / math.pi:.3g} turns of the phase; ask for a larger error")
        low, high = high, min(2 * high, MAX_SEGMENTS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _error(middle, z) <= error else (middle, high)
    return high


def _extent(name: str, values: Array) -> tuple[float, float] | None:
    """Least and largest, or None where only JAX will know them. values: as given, as under jit those have numbers."""
    if np.size(values) == 0:
        return 0.0, 0.0
    # what is differentiated without jit has numbers only outside of compile time, constants of a jit only inside
    for context in (contextlib.nullcontext, jax.ensure_compile_time_eval):
        with contextlib.suppress(jax.errors.ConcretizationTypeError), context():
            numbers = jax.lax.stop_gradient(jnp.asarray(values))
            found = float(jnp.min(numbers)), float(jnp.max(numbers))
            if not all(map(math.isfinite, found)):
                raise ArgumentError(f"{name}: has values that are not finite")
            return found
    return None


def _named(option: str, unit: str, given: Range) -> tuple[float, float]:
    try:
        least, most = map(float, given)
    except (TypeError, ValueError):
        least, most = math.nan, math.nan
    if not (math.isfinite(most - least) and least <= most):
        raise ArgumentError(f"{option}: got {given!r}, expected (least, greatest) in {unit}")
    return least, most


def _real(name: str, values: Array, shape: tuple[int, ...], dtype: Any) -> Array:
    found = jnp.asarray(values)
    if jnp.iscomplexobj(found):
        raise ArgumentError(f"{name}: got {found.dtype}, expected real numbers")
    try:
        return jnp.broadcast_to(found.astype(dtype), shape)
    except ValueError:
        raise ShapeError(f"{name}: got shape {found.shape}, expected {shape}") from None


def _ranged(name: str, given: Array, shape: tuple[int, ...], dtype: Any, option: str, unit: str,
            named: Range | None) -> tuple[Array, float, float]:
    """The values and their range. Those outside of one that was named are refused, or NaN where they are traced."""
    values, found = _real(name, given, shape, dtype), _extent(name, given)
    if named is None:
        if found is None:
            raise ArgumentError(f"{name}: traced by JAX, so that its range is not known; name it by "
                                f"{option}=(least, greatest) in {unit}")
        return values, *found
    least, most = _named(option, unit, named)
    room = RANGE_ROUNDING * max(abs(least), abs(most))
    if found is not None:
        if found[0] < least - room or found[1] > most + room:
            raise ArgumentError(f"{name}: from {found[0]:g} to {found[1]:g} {unit}, expected within {option}: "
                                f"{least:g} to {most:g}")
        return values, least, most
    inside = (values >= least - room) & (values <= most + room)
    checkify.debug_check(jnp.all(inside), f"{name}: not within {option}: {least:g} to {most:g} {unit}")
    return jnp.where(inside, values, math.nan), least, most


def factors(field: Array, times: Array, modes: tuple[int, ...], points: tuple[int, ...], dtype: Any, error: float,
            band: Range | None, span: Range | None) -> tuple[Array, Array]:
    """[segments, modes...] and [segments, points...], whose products add up to exp(2 pi i field times).

    dtype  of the values, complex.
    """
    if not 0 < error < 1:
        raise ArgumentError(f"error: got {error!r}, expected 0 < error < 1")
    real = np.finfo(dtype).dtype
    field, least, most = _ranged("field", field, modes, real, "band", "Hz", band)
    times, first, last = _ranged("times", times, points, real, "span", "s", span)
    centre, start, half, width = (least + most) / 2, (first + last) / 2, (last - first) / 2, math.pi * (most - least)
    half = max(half, min(MIN_PHASE / width, MIN_HALF_SPAN) if width > 0 else MIN_HALF_SPAN)
    count = count_for(max(width * half, MIN_PHASE), error)
    at = jnp.asarray(start + half * _nodes(count), real).reshape(-1, *(1,) * field.ndim)
    of_field = jnp.exp(2j * math.pi * ((field - centre) * at + centre * start)).astype(dtype)
    u = (times - start) / half
    polynomials = [jnp.ones_like(u), u]
    while len(polynomials) < count:
        polynomials.append(2 * u * polynomials[-1] - polynomials[-2])
    weights = jnp.tensordot(jnp.asarray(_coefficients(count).T, real), jnp.stack(polynomials), 1)
    return of_field, (weights * jnp.exp(2j * math.pi * centre * (times - start))).astype(dtype)
