"""NUFFTs and SENSE in JAX: for jit, grad, jvp, vmap, scan and shard_map, on processors and NVIDIA's GPUs.

Transforms are custom calls of XLA, and the derivatives with respect to values, points and targets are transforms
again, so that they can be differentiated again. With y = A x of type 2, and r_d the index of a mode along axis d,

    dy_j = (A dx)_j + sum_d dk_jd (A (-2 pi i r_d / N_d x))_j

Points that have been seen before are not sorted again: plans are kept with a copy of their points, and values and
gradients share them (`keep`, `kept`). Options are those of larmor.nufft: Python's numbers, known when JAX traces.
Source: Wang, Fessler, IEEE Trans. Comput. Imaging 9, 1020 (2023).
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import functools
import math
import operator
import pathlib
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jax.typing import ArrayLike

from larmor import _jax_segments as _segments
from larmor import _library
from larmor import nufft as _nufft
from larmor._library import ArgumentError, ShapeError

__all__ = ["Opts", "keep", "kept", "nufft", "nufft1", "nufft2", "nufft3", "nufft_adjoint", "nufft_field", "sense",
           "sense_adjoint", "type1", "type2", "type3"]

if TYPE_CHECKING:
    from typing_extensions import Unpack

Array = Any  # jax.Array or a tracer within; public functions take ArrayLike
class _Options(TypedDict, total=False):
    """Of type1, type2 and type3, which has no mode_order: as of `larmor.nufft.Plan`."""

    tol: float
    sign: int | None
    units: Literal["cycles", "radians"]
    mode_order: Literal["centred", "fft"]
    upsample: float
    threads: int


_COUNTS = ("plans", "bytes", "sorted", "found")


def _load() -> Any:
    """liblarmor_xla, which is built with the package and lies beside liblarmor."""
    path = pathlib.Path(_library._path()).parent / "liblarmor_xla.so"
    try:
        return ctypes.CDLL(str(path))
    except OSError as reason:
        raise ImportError(f"larmor.jax: {path} cannot be loaded ({reason}); install larmor by pip, or build it with "
                          "-DLARMOR_PYTHON=ON, and let LARMOR_LIBRARY name that build's library") from None


_lib = _load()
_lib.larmor_xla_keep.argtypes = (ctypes.c_int64, ctypes.c_int64)
_lib.larmor_xla_count.argtypes = (ctypes.POINTER(ctypes.c_int64),)
_capsule: Any = jax.ffi.pycapsule
jax.ffi.register_ffi_target("larmor_nufft", _capsule(_lib.larmor_xla_nufft), platform="cpu")
jax.ffi.register_ffi_target("larmor_nufft", _capsule(_lib.larmor_xla_nufft_cuda), platform="CUDA")


def keep(plans: int = 16, memory: int = 1 << 30) -> None:
    """Keep so many plans for later calls on each device, and about so many bytes of its memory; 0 frees them all.

    The least recently used go first. A plan serves calls with the same points, batch, shapes and options.
    """
    _lib.larmor_xla_keep(int(plans), int(memory))


def kept() -> dict[str, int]:
    """How many plans are kept, and their bytes; how often points were sorted, and how often they were found
    sorted."""
    counts = (ctypes.c_int64 * len(_COUNTS))()
    _lib.larmor_xla_count(counts)
    return dict(zip(_COUNTS, (int(n) for n in counts)))


# ---- the primitive: values or modes [sets, batch, ...], points [sets, ndim, points], targets likewise ----


class _How(NamedTuple):
    """What is known when JAX traces."""

    kind: int
    modes: tuple[int, ...]  # of type 3 a 0 for each dimension
    sign: int
    mode_order: str
    radians: bool
    tol: float
    upsample: float
    threads: int


_transform_p: Any = Primitive("larmor_nufft")


@functools.lru_cache(maxsize=1024)
def _compiled(how: _How) -> Any:
    return jax.jit(functools.partial(_transform_p.bind, how=how))


@_transform_p.def_impl
def _execute(*arrays: Array, how: _How) -> Array:
    return _compiled(how)(*arrays)


@_transform_p.def_abstract_eval
def _shape(x: Any, points: Any, *targets: Any, how: _How) -> Any:
    after = how.modes if how.kind == 1 else (targets[0] if targets else points).shape[2:]
    return x.update(shape=(*x.shape[:2], *after), weak_type=False)


def _lower(ctx: Any, *arrays: Any, how: _How) -> Any:
    attributes = {"kind": np.int64(how.kind), "sign": np.int64(how.sign), "radians": np.int64(how.radians),
                  "mode_order": np.int64(how.mode_order == "fft"), "threads": np.int64(how.threads),
                  "tol": np.float64(how.tol), "upsample": np.float64(how.upsample)}
    return jax.ffi.ffi_lowering("larmor_nufft")(ctx, *arrays, **attributes)


for _platform in ("cpu", "cuda"):
    mlir.register_lowering(_transform_p, _lower, platform=_platform)


def _transposed(how: _How) -> tuple[_How, Callable[[Array], Array]]:
    """Type 1 of type 2 and back, as the conjugate of the conjugate transpose, which has the same plan."""
    return how._replace(kind=3 - how.kind, sign=-how.sign), jnp.conj


def _transpose(ct: Any, x: Any, points: Array, *targets: Array, how: _How) -> Any:
    if type(ct) is ad.Zero:
        return (ad.Zero(x.aval), *(None for _ in (points, *targets)))
    if targets:
        return _transform_p.bind(ct, *targets, points, how=how), None, None
    back, conj = _transposed(how)
    return conj(_transform_p.bind(conj(ct), points, how=back)), None


def _many(xs: Sequence[Array], points: Array, targets: Sequence[Array], how: _How) -> list[Array]:
    """The transforms of several inputs of the same points, as one batch."""
    y = _transform_p.bind(jnp.concatenate(xs, axis=1), points, *targets, how=how)
    return list(jnp.split(y, len(xs), axis=1))


def _ramps(how: _How, dtype: Any) -> list[Any]:
    """The factor of each axis of the modes by which the derivative along it differs from the transform."""
    found = []
    for d, n in enumerate(how.modes):
        r = np.arange(n) - n // 2
        r = np.fft.ifftshift(r) if how.mode_order == "fft" else r
        shape = [1] * len(how.modes)
        shape[d] = n
        found.append((_unit(how) * (r if how.radians else r / n)).astype(dtype).reshape(shape))
    return found


def _unit(how: _How) -> complex:
    return 1j * how.sign * (1 if how.radians else 2 * math.pi)


def _rows(coordinates: Array, dtype: Any) -> list[Array]:
    """[sets, ndim, points] as factors of values [sets, batch, points]."""
    real = jnp.zeros((), dtype).real.dtype
    return [coordinates[:, d, None, :].astype(real) for d in range(coordinates.shape[1])]


def _jvp(primals: Any, tangents: Any, how: _How) -> Any:
    (x, points, *targets), (dx, dpoints, *dtargets) = primals, tangents
    moved = [t for t in dtargets if type(t) is not ad.Zero]
    inputs, factors = [x], []  # of the values, and the derivatives that only depend on them
    if how.kind == 2 and type(dpoints) is not ad.Zero:
        inputs += [ramp * x for ramp in _ramps(how, x.dtype)]
        factors = _rows(dpoints, x.dtype)
    if moved:
        inputs += [_unit(how) * row * x for row in _rows(points, x.dtype)]
        factors = _rows(moved[0], x.dtype)
    y, *slopes = _many(inputs, points, targets, how)
    terms = [factor * slope for factor, slope in zip(factors, slopes)]
    inputs, factors = [], []  # those whose inputs have tangents
    if type(dx) is not ad.Zero:
        inputs, factors = [dx], [1]
    if how.kind != 2 and type(dpoints) is not ad.Zero:
        inputs += [row * x for row in _rows(dpoints, x.dtype)]
        factors += _ramps(how, x.dtype) if how.kind == 1 else [_unit(how) * row for row in _rows(targets[0], x.dtype)]
    if inputs:
        terms += [a * b for a, b in zip(factors, _many(inputs, points, targets, how))]
    return y, functools.reduce(jnp.add, terms) if terms else jnp.zeros_like(y)


def _batch(arrays: Sequence[Array], dims: Sequence[int | None], how: _How) -> tuple[Array, int]:
    """One call whatever is mapped: inputs of the same points are a batch, others are sets."""
    x, *points = arrays
    if all(dim is None for dim in dims[1:]):
        x = jnp.moveaxis(x, next(dim for dim in dims if dim is not None), 1)
        sets, *both = x.shape[:3]  # a -1 of reshape is unknown where an axis has no elements
        y = _transform_p.bind(x.reshape(sets, math.prod(both), *x.shape[3:]), *points, how=how)
        return y.reshape(sets, *both, *y.shape[2:]), 1
    size = next(a.shape[dim] for a, dim in zip(arrays, dims) if dim is not None)
    each = [jnp.broadcast_to(a, (size, *a.shape)) if dim is None else jnp.moveaxis(a, dim, 0)
            for a, dim in zip(arrays, dims)]
    sets = each[0].shape[1]
    y = _transform_p.bind(*(a.reshape(size * sets, *a.shape[2:]) for a in each), how=how)
    return y.reshape(size, sets, *y.shape[1:]), 0


for _rules, _rule in ((ad.primitive_jvps, _jvp), (ad.primitive_transposes, _transpose),
                      (batching.primitive_batchers, _batch)):
    _rules.__setitem__(_transform_p, _rule)  # which the site's stand-in for JAX has, but not assignment


# ---- options, types and shapes ----


@functools.lru_cache(maxsize=1024)
def _accepted(how: _How, dtype: str) -> _How:
    """Refuses what no plan takes, such as a tolerance out of reach."""
    _nufft.Plan(how.kind, len(how.modes) if how.kind == 3 else how.modes, tol=how.tol, sign=how.sign, dtype=dtype,
                mode_order=how.mode_order, upsample=how.upsample, threads=how.threads)
    return how


def _number(name: str, value: Any, to: Callable[[Any], Any]) -> Any:
    if isinstance(value, jax.core.Tracer):
        raise ArgumentError(f"{name}: traced by JAX, expected a number of Python; name it in static_argnames of jit")
    return _library.number(name, value, to)


def _how(kind: int, modes: Sequence[int], x: Array, *, tol: float = 1e-5, sign: int | None = None,
         units: str = "cycles", mode_order: str = "centred", upsample: float = 0, threads: int = 0) -> _How:
    if units not in ("cycles", "radians"):
        raise ArgumentError(f"units: got {units!r}, expected cycles or radians")
    usual = -1 if kind == 2 else 1
    sign = _number("sign", usual if sign is None else sign, operator.index)
    if sign not in (-1, 1):
        raise ArgumentError(f"sign: got {sign}, expected -1 or 1")
    how = _How(kind, tuple(_number("modes", n, operator.index) for n in modes), sign, mode_order, units == "radians",
               _number("tol", tol, float), _number("upsample", upsample, float),
               _number("threads", threads, operator.index))
    return _accepted(how, str(x.dtype))


def _sizes(modes: Any) -> tuple[Any, ...]:
    return (modes,) if np.ndim(modes) == 0 else tuple(modes)


def _values(x: Any) -> Array:
    """Complex numbers of the precision that they have."""
    x = jnp.asarray(x)
    if x.dtype in (jnp.float16, jnp.bfloat16):
        raise ArgumentError(f"values of {x.dtype}: larmor computes in complex64 and complex128; hand in "
                            "x.astype(jax.numpy.complex64)")
    return x.astype(jnp.result_type(x.dtype, jnp.complex64))


def _points(points: Any, name: str) -> Array:
    points = jnp.asarray(points)
    if points.ndim < 1 or not 1 <= points.shape[-1] <= 3:
        raise ShapeError(f"{name}: got shape {points.shape}, expected [..., ndim], 1 to 3 columns")
    if jnp.iscomplexobj(points):
        raise ArgumentError(f"{name}: got {points.dtype}, expected real numbers")
    double = points.dtype == jnp.float64 or not jnp.issubdtype(points.dtype, jnp.floating)
    return points.astype(jax.dtypes.canonicalize_dtype(jnp.float64) if double else jnp.float32)


def _varying(x: Array) -> Any:
    """The mesh axes of shard_map along which an array differs, as this version of JAX has them."""
    kind = jax.typeof(x) if hasattr(jax, "typeof") else None
    return getattr(kind, "manual_axis_type", None) or getattr(kind, "vma", None)


def _alike(*arrays: Array) -> tuple[Array, ...]:
    """Under shard_map arrays that vary along the same axes: JAX knows that a sum does, even one of no elements."""
    if all(_varying(a) == _varying(arrays[0]) for a in arrays):
        return arrays
    nothing: Any = sum(jnp.sum(a.real.reshape(-1)[:0]) for a in arrays)
    return tuple(a + nothing.astype(a.dtype) for a in arrays)


@functools.partial(jax.jit, static_argnames=("how",))
def _run(x: Array, points: Array, targets: Array | None, how: _How) -> Array:
    """values [batch..., points...] or modes [batch..., modes...]; points and targets [..., ndim]."""
    before = how.modes if how.kind == 2 else points.shape[:-1]
    after = {1: how.modes, 2: points.shape[:-1]}.get(how.kind) or targets.shape[:-1]  # type: ignore[union-attr]
    lead = x.shape[:x.ndim - len(before)]
    inner = how.modes if how.kind == 2 else (math.prod(before),)
    rows = [jnp.reshape(k, (1, -1, k.shape[-1])).swapaxes(1, 2) for k in (points, targets) if k is not None]
    y = _transform_p.bind(*_alike(x.reshape(1, math.prod(lead), *inner), *rows), how=how)
    return y.reshape(*lead, *after)


def _expect(x: Array, last: tuple[int, ...], what: str) -> None:
    if x.shape[max(x.ndim - len(last), 0):] != last:
        raise ShapeError(f"{what}: got shape {x.shape}, expected {last} after the axes of a batch")


# ---- transforms ----


def type1(points: ArrayLike, values: ArrayLike, modes: int | Sequence[int], **options: Unpack[_Options]) -> jax.Array:
    """Values [batch..., points...] at points [points..., ndim] to modes [batch..., modes...].

    tol         relative l2 error asked for; default 1e-5.
    sign        of the exponent, -1 or +1; default +1 for types 1 and 3, -1 for type 2.
    units       "cycles" (per field of view) or "radians" (FINUFFT's).
    mode_order  "centred" or "fft".
    upsample, threads  as of larmor.nufft.Plan.
    """
    k, x, shape = _points(points, "points"), _values(values), _sizes(modes)
    if len(shape) != k.shape[-1]:
        raise ShapeError(f"modes: got {len(shape)} sizes for points of {k.shape[-1]} columns")
    _expect(x, k.shape[:-1], "values")
    return _run(x, k, None, _how(1, shape, x, **options))


def type2(points: ArrayLike, modes: ArrayLike, **options: Unpack[_Options]) -> jax.Array:
    """Modes [batch..., modes...] to values [batch..., points...] at points [points..., ndim]. Options: see type1."""
    k, x = _points(points, "points"), _values(modes)
    ndim = k.shape[-1]
    if x.ndim < ndim:
        raise ShapeError(f"modes: got shape {x.shape} for points of {ndim} columns")
    return _run(x, k, None, _how(2, x.shape[x.ndim - ndim:], x, **options))


def type3(points: ArrayLike, values: ArrayLike, targets: ArrayLike, **options: Unpack[_Options]) -> jax.Array:
    """Values [batch..., points...] at points [points..., ndim] to targets [targets..., ndim]. Options: see type1,
    which has mode_order alone."""
    k, to, x = _points(points, "points"), _points(targets, "targets"), _values(values)
    if k.shape[-1] != to.shape[-1]:
        raise ShapeError(f"targets: got {to.shape[-1]} columns for points of {k.shape[-1]}")
    if "mode_order" in options:
        raise ArgumentError("mode_order: type 3 has no modes; leave it out")
    _expect(x, k.shape[:-1], "values")
    both = jnp.result_type(k, to)
    return _run(x, k.astype(both), to.astype(both), _how(3, (0,) * k.shape[-1], x, **options))


def nufft(x: ArrayLike, points: ArrayLike, *, tol: float = 1e-5) -> jax.Array:
    """Type 2: images [batch..., modes...] to values [batch..., points...] at points [points..., ndim] in cycles per
    field of view, as larmor.torch.nufft."""
    return type2(points, x, tol=tol)


def nufft_adjoint(y: ArrayLike, points: ArrayLike, modes: int | Sequence[int], *, tol: float = 1e-5) -> jax.Array:
    """The conjugate transpose of `nufft`: values [batch..., points...] to [batch..., modes...]."""
    return type1(points, y, modes, tol=tol)


def nufft_field(x: ArrayLike, points: ArrayLike, field: ArrayLike, times: ArrayLike, *, adjoint: bool = False,
                tol: float = 1e-5, error: float = 1e-3, band: Sequence[float] | None = None,
                span: Sequence[float] | None = None) -> jax.Array:
    """As `nufft`, or with adjoint as `nufft_adjoint`, with the phase exp(2 pi i f t) of a field map [modes...] in Hz
    and of the samples' times [points...] in s. All of x, points, field and times have derivatives of any order.

    error  of that phase at most, by segments in time.
    band   (least, greatest) of the field in Hz, on which the number of segments depends; needed where JAX traces the
           field, as under jit. Values outside are refused where their numbers are known; traced ones are NaN, and an
           error under jax.experimental.checkify.
    span   likewise of the times in s.
    """
    given, k = _values(x), _points(points, "points")
    ndim, count = k.shape[-1], k.ndim - 1
    modes = jnp.shape(field)
    if len(modes) != ndim:
        raise ShapeError(f"field: got shape {modes}, expected [modes...] for points of {ndim} columns")
    _expect(given, k.shape[:-1] if adjoint else modes, "values" if adjoint else "modes")
    of_field, of_times = _segments.factors(field, times, modes, k.shape[:-1], given.dtype,
                                           _number("error", error, float), band, span)
    if adjoint:
        parts = nufft_adjoint(jnp.conj(of_times) * jnp.expand_dims(given, -count - 1), k, modes, tol=tol)
        return jnp.sum(jnp.conj(of_field) * parts, axis=-ndim - 1)
    return jnp.sum(of_times * nufft(of_field * jnp.expand_dims(given, -ndim - 1), k, tol=tol), axis=-count - 1)


def _expect_maps(maps: Array, points: Array) -> None:
    if maps.ndim != points.shape[-1] + 1:
        raise ShapeError(f"maps: got shape {maps.shape}, expected [coils, modes...] for points of {points.shape[-1]} "
                         "columns")


def _root(weights: Array, shape: tuple[int, ...]) -> Array:
    given, weights = weights, jnp.asarray(weights)
    if jnp.iscomplexobj(weights):
        raise ArgumentError(f"weights: got {weights.dtype}, expected real numbers")
    if any(own not in (1, size) for own, size in zip(reversed(weights.shape), reversed(shape))):
        raise ShapeError(f"weights: got shape {weights.shape}, expected {shape}")
    seen = given if isinstance(given, np.ndarray) else weights  # under jit only the former has its numbers
    if not isinstance(seen, jax.core.Tracer):
        with jax.ensure_compile_time_eval():
            least = float(jnp.min(jnp.real(seen), initial=0))
        if not least >= 0:
            raise ArgumentError(f"weights: the least is {least:g}, expected at least 0")
    else:
        checkify.debug_check(jnp.all(jnp.real(weights) >= 0), "weights: the least is {least}, expected at least 0",
                             least=jnp.min(jnp.real(weights), initial=0))
    nothing = weights == 0  # also of what is differentiated, as 0 times infinity is no number
    return jnp.where(nothing, 0, jnp.sqrt(jnp.where(nothing, jnp.ones_like(weights), weights)))


def _encode(x: Array, points: Array, modes: tuple[int, ...], adjoint: bool, tol: float, field: Any, times: Any,
            more: dict[str, Any]) -> Array:
    """The transform of images of coils or back, with a field where there is one."""
    if field is None:
        return nufft_adjoint(x, points, modes, tol=tol) if adjoint else nufft(x, points, tol=tol)
    if times is None:
        raise ArgumentError("times: none; a field needs the times of the samples")
    return nufft_field(x, points, field, times, adjoint=adjoint, tol=tol, **more)


def sense(x: ArrayLike, maps: ArrayLike, points: ArrayLike, *, weights: ArrayLike | None = None,
          field: ArrayLike | None = None, times: ArrayLike | None = None, tol: float = 1e-5, error: float = 1e-3,
          band: Sequence[float] | None = None, span: Sequence[float] | None = None) -> jax.Array:
    """Images [batch..., modes...] to the k-space [batch..., coils, points...] of coils with maps [coils, modes...].

    weights  [points...], at least 0, whose root is a factor of the samples, as of larmor.linop.sense. Where one is 0,
             where the root has no finite derivative, its derivatives are 0. Below 0 they are refused where their
             numbers are known; traced ones make NaN of their samples alone, and an error under
             jax.experimental.checkify.
    field    [modes...] in Hz, with times [points...] in s, error, band and span: as of `nufft_field`.
    """
    image, coils, k = _values(x), _values(maps), _points(points, "points")
    _expect_maps(coils, k)
    _expect(image, coils.shape[1:], "image")
    y = _encode(coils * jnp.expand_dims(image, -coils.ndim), k, coils.shape[1:], False, tol, field, times,
                {"error": error, "band": band, "span": span})
    return y if weights is None else _root(weights, k.shape[:-1]) * y


def sense_adjoint(y: ArrayLike, maps: ArrayLike, points: ArrayLike, *, weights: ArrayLike | None = None,
                  field: ArrayLike | None = None, times: ArrayLike | None = None, tol: float = 1e-5,
                  error: float = 1e-3, band: Sequence[float] | None = None,
                  span: Sequence[float] | None = None) -> jax.Array:
    """The conjugate transpose of `sense`: [batch..., coils, points...] to [batch..., modes...]."""
    samples, coils, k = _values(y), _values(maps), _points(points, "points")
    _expect_maps(coils, k)
    _expect(samples, (coils.shape[0], *k.shape[:-1]), "samples")
    samples = samples if weights is None else _root(weights, k.shape[:-1]) * samples
    images = _encode(samples, k, coils.shape[1:], True, tol, field, times,
                     {"error": error, "band": band, "span": span})
    return jnp.sum(jnp.conj(coils) * images, axis=-coils.ndim)


# ---- jax-finufft's functions ----


@functools.lru_cache(maxsize=1024)
def _within_reach(eps: float, kind: int, shape: tuple[int, ...], dtype: str, order: str, upsample: float) -> float:
    """eps, or the least that larmor can reach, as FINUFFT does."""
    least = _nufft.least_tol(kind, shape, dtype=dtype, mode_order=order, upsample=upsample)
    if eps < least:
        warnings.warn(f"eps: {eps:g} is out of reach in {dtype}; {least:.3g} is taken", stacklevel=4)
    return max(eps, least)


class Opts(NamedTuple):
    """Those of jax_finufft.options.Opts that larmor has; modeord: modes in the order of numpy.fft."""

    modeord: bool = False
    upsampfac: float = 0.0
    nthreads: int = 0


def _own_opts(opts: Any, kind: int) -> Any:
    """Of jax-finufft's NestedOpts those of this transform. Derivatives are of the transform as it is."""
    if hasattr(opts, "forward"):
        opts = getattr(opts, f"type{kind}") if opts.forward is None else opts.forward
    opts = Opts() if opts is None else opts
    if not all(hasattr(opts, name) for name in Opts._fields):
        raise ArgumentError(f"opts: got {_library.shown(opts)}, expected a larmor.jax.Opts, or jax-finufft's")
    return opts


def _finuffts(kind: int, shape: Sequence[int], x: Array, iflag: int, eps: float, opts: Any) -> _How:
    """FINUFFT's arguments, and those of its options that larmor has. shape: of type 3 a 0 for each dimension."""
    opts = _own_opts(opts, kind)
    order = "fft" if opts.modeord and kind != 3 else "centred"
    upsample, threads = _number("upsampfac", opts.upsampfac, float), _number("nthreads", opts.nthreads, int)
    sizes = tuple(_number("output_shape", n, operator.index) for n in shape)
    tol = _within_reach(_number("eps", eps, float), kind, sizes, str(x.dtype), order, upsample)
    return _how(kind, sizes, x, tol=tol, sign=1 if _number("iflag", iflag, int) >= 0 else -1,
                units="radians", mode_order=order, upsample=upsample, threads=threads)


def _coordinates(given: Sequence[Any], name: str) -> Array:
    """x, y, z [batch..., points] as [batch..., ndim, points]."""
    if not 1 <= len(given) <= 3:
        raise ShapeError(f"{name}: got {len(given)} coordinates, expected 1 to 3")
    each = jnp.broadcast_arrays(*(_points(jnp.asarray(k)[..., None], name)[..., 0] for k in given))
    return jnp.stack(each, axis=-2)


def _in_sets(x: Array, before: int, coordinates: list[Array], how: _How) -> Array:
    """Inputs whose leading axes are broadcast with those of the points; axes that points lack are a batch."""
    batch = jnp.broadcast_shapes(*(k.shape[:-2] for k in coordinates))
    lead = x.shape[:x.ndim - before]
    batch = (*batch, *(1,) * (len(lead) - len(batch)))
    whole = jnp.broadcast_shapes(lead, batch)
    own = [i for i, n in enumerate(batch) if n != 1]
    order = own + [i for i, n in enumerate(batch) if n == 1]
    sets, rest = math.prod(batch), math.prod(whole[i] for i in order[len(own):])
    x = jnp.broadcast_to(x, (*whole, *x.shape[x.ndim - before:]))
    x = x.transpose(*order, *range(len(whole), x.ndim)).reshape(sets, rest, *x.shape[len(whole):])
    rows = [jnp.broadcast_to(k.reshape(*k.shape[:-2], *(1,) * (len(batch) - k.ndim + 2), *k.shape[-2:]),
                             (*batch, *k.shape[-2:])).reshape(sets, *k.shape[-2:]) for k in coordinates]
    y = _transform_p.bind(*_alike(x, *rows), how=how)
    y = y.reshape(*(whole[i] for i in order), *y.shape[2:])
    return y.transpose(*np.argsort(order), *range(len(whole), y.ndim))


def nufft1(output_shape: int | Sequence[int], source: ArrayLike, *points: ArrayLike, iflag: int = 1,
           eps: float = 1e-6, opts: Any = None) -> jax.Array:
    """As jax_finufft.nufft1: points x, y, z in radians, x for the first axis of the modes."""
    x, k = _values(source), _coordinates(points, "points")
    shape = _sizes(output_shape)
    if len(shape) != len(points):
        raise ShapeError(f"output_shape: got {len(shape)} sizes for {len(points)} coordinates")
    _expect(x, k.shape[-1:], "source")
    return _in_sets(x, 1, [k], _finuffts(1, shape, x, iflag, eps, opts))


def nufft2(source: ArrayLike, *points: ArrayLike, iflag: int = -1, eps: float = 1e-6,
           opts: Any = None) -> jax.Array:
    """As jax_finufft.nufft2: points x, y, z in radians, x for the first axis of the modes."""
    x, k = _values(source), _coordinates(points, "points")
    if x.ndim < len(points):
        raise ShapeError(f"source: got shape {x.shape} for {len(points)} coordinates")
    how = _finuffts(2, x.shape[x.ndim - len(points):], x, iflag, eps, opts)
    return _in_sets(x, len(points), [k], how)


def nufft3(source: ArrayLike, *points: ArrayLike, iflag: int = -1, eps: float = 1e-6,
           opts: Any = None) -> jax.Array:
    """As jax_finufft.nufft3: points x, y, z, then targets s, t, u, whose products are in radians."""
    if len(points) % 2:
        raise ShapeError(f"points: got {len(points)} coordinates, expected as many of points as of targets")
    x, half = _values(source), len(points) // 2
    k, s = _coordinates(points[:half], "points"), _coordinates(points[half:], "targets")
    _expect(x, k.shape[-1:], "source")
    return _in_sets(x, 1, [k, s.astype(k.dtype)], _finuffts(3, (0,) * half, x, iflag, eps, opts))
