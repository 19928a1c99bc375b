"""What is found from samples and trajectories: noise, few coils for many, coil maps, delays, field maps, bases.

Shapes as elsewhere: kspace [coils, readouts, samples], traj [readouts, samples, ndim] with columns (kz,) ky, kx,
images [y, x] or [z, y, x]. Delays alone are named: x, y, z, xy, xz, yz. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

import numpy as np

from larmor import _arguments, _arrays, _scan, _structs
from larmor._arrays import Device
from larmor._library import ArgumentError, Turns, answer_ctrl_c, check, created, ffi, lib, text
from larmor._scan import flipped, out_array
from larmor.linop import _bits
from larmor.nufft import choice
from larmor.typing import ArrayLike, Complexes, Floats, Integers, Numbers, Path

DELAYS = ("x", "y", "z", "xy", "xz", "yz")


def _wrapped(x: Any, on: Device) -> Any:
    return _arrays.wrap(_arrays.as_input(x), on)


def _points(traj: Any, on: Device) -> Any:
    return _wrapped(flipped(np.asarray(traj)), on)


def _complex(x: Any) -> Any:
    x = np.asarray(x)
    return x if x.dtype.kind == "c" else x.astype(np.complex128)


def _by_axis(values: Sequence[float] | None) -> Any:
    """Numbers of image axes in the library's order, or NULL."""
    return ffi.NULL if values is None else ffi.new("double[]", [*map(float, values)][::-1])


# ---- noise and coils ----


def whitening(noise: ArrayLike, *, scale: float = 1) -> Complexes:
    """The matrix [coils, coils] that makes noise [coils, samples] white, of variance 1 in its real and in its
    imaginary part. scale: sqrt(dwell time of the data / that of the noise * ratio of the receivers' bandwidths)."""
    on = _arrays.device("cpu")
    made = out_array(lib.larmor_noise_whitening, _wrapped(_complex(noise), on), scale)
    return np.ascontiguousarray(made.T)


def whiten(W: ArrayLike, kspace: ArrayLike) -> Complexes:
    """k-space mixed over its coils, its first axis, by W as `whitening` makes it."""
    on = _arrays.device("cpu")
    mixed = np.array(_complex(kspace), order="C")
    check(lib.larmor_whiten(_wrapped(np.asarray(W).T.astype(mixed.dtype), on), _arrays.wrap(mixed, on, write=True)))
    return mixed


def colouring(W: ArrayLike) -> Complexes:
    """The inverse of a whitening matrix: `whiten` with it gives maps of whitened coils back to the coils
    themselves."""
    on = _arrays.device("cpu")
    return np.ascontiguousarray(out_array(lib.larmor_noise_colouring, _wrapped(np.asarray(W).T, on)).T)


def noise_level(kspace: ArrayLike, traj: ArrayLike) -> float:
    """The deviation of the real and of the imaginary part of the noise, from the samples at the rim of k-space."""
    on = _arrays.device("cpu")
    level = ffi.new("double *")
    check(lib.larmor_noise_level(_wrapped(np.asarray(kspace, np.complex64), on), _points(traj, on), level))
    return float(level[0])


def noise_of_lines(kspace: ArrayLike, traj: ArrayLike) -> float:
    """The noise of parallel lines at even distances, by how well samples predict those beside them; 0 of others."""
    on = _arrays.device("cpu")
    level = ffi.new("double *")
    check(lib.larmor_noise_of_lines(_wrapped(np.asarray(kspace, np.complex64), on), _points(traj, on), level,
                                     ffi.NULL))
    return float(level[0])


def compression(kspace: ArrayLike, traj: ArrayLike | None = None, *, radius: float = 16, coils: int = 0,
                energy: float = 0) -> Complexes:
    """The matrix [virtual coils, coils] that mixes coils into few, by the samples within `radius` of the centre.

    coils: virtual coils; default: as many as hold `energy`, 0.999999 by default. C @ kspace mixes, C^H undoes it.
    """
    on = _arrays.device("cpu")
    samples = _complex(kspace)
    R = np.zeros((len(samples), len(samples)), np.complex128)
    count = ffi.new("int64_t *")
    check(lib.larmor_coils_covariance(_wrapped(samples, on), ffi.NULL if traj is None else _points(traj, on), radius,
                                      1, _arrays.wrap(R, on, write=True), count))
    opts = ffi.new("larmor_compression_opts *", {"coils": coils, "energy": energy, "samples": count[0]})
    out = ffi.new("larmor_array **")
    check(lib.larmor_compression(_arrays.wrap(R, on), opts, out, ffi.NULL))
    return np.ascontiguousarray(_arrays.to_numpy(out[0]).T)


def espirit(kspace: ArrayLike, traj: ArrayLike, shape: Sequence[int], *, side: int = 0,
            fov: Sequence[float] = (1, 1, 1), device: str | Device | None = None,
            **options: Any) -> tuple[Complexes, Floats, dict[str, Any]]:
    """Coil maps [(sets,) coils, image...] by ESPIRiT, their eigenvalues [sets, image...], and a report.

    side     most samples of the centre of k-space along each axis; fov: encoded, as part of the image's.
    options  members of larmor_espirit_opts: sets, threshold, noise, crop, cropped_below, kernel, coils.
    """
    answer_ctrl_c()
    on = _arrays.device(device)
    points, image = _points(traj, on), _arrays.shape_of(tuple(shape))
    encoded = [*map(float, fov[-len(shape):])][::-1]
    wanted = ffi.new("larmor_region_opts *", {"side": [side] * 3, "encoded": encoded})
    found = ffi.new("larmor_region_report *")
    out = ffi.new("larmor_array *[3]")
    check(lib.larmor_calibration_region(_wrapped(_complex(kspace), on), points, image, wanted, out, found))
    region = ffi.gc(out[0], lib.larmor_array_free)
    opts = ffi.new("larmor_espirit_opts *", {"fov": list(found.fov)})
    _structs.fill(opts, options)
    report = ffi.new("larmor_espirit_report *")
    check(lib.larmor_espirit(region, image, opts, out + 1, out + 2, report))
    return _arrays.to_numpy(out[1]), _arrays.to_numpy(out[2]).real, _structs.to_dict(report)


def nlinv(kspace: ArrayLike, traj: ArrayLike, shape: Sequence[int], *, weights: ArrayLike | None = None,
          device: str | Device | None = None, **options: Any) -> tuple[Complexes, Complexes, dict[str, Any]]:
    """Image [(sets,) image...] and coil maps [(sets,) coils, image...] at once by regularised nonlinear inversion,
    and a report. options: members of larmor_nlinv_opts: steps, alpha, reduction, sets, inner, ..."""
    answer_ctrl_c()
    on = _arrays.device(device)
    keep: list[Any] = []
    opts = ffi.new("larmor_nlinv_opts *")
    _structs.fill(opts, {"weights": weights, **options}, on, keep)
    report = ffi.new("larmor_nlinv_report *")
    out = ffi.new("larmor_array *[2]")
    check(lib.larmor_nlinv(_wrapped(_complex(kspace), on), _points(traj, on), _arrays.shape_of(tuple(shape)), opts,
                           out, out + 1, report))
    return _arrays.to_numpy(out[0]), _arrays.to_numpy(out[1]), _structs.to_dict(report)


class NlinvSeries(_arguments.Made):
    """Nonlinear inversion of frames one after the other, each begun at and held to the one before; image and coil
    maps of each are found together.

    Threads take turns.

    shape    of all images.
    options  members of larmor_nlinv_series_opts: steps, alpha, reduction, damping, median, all (those of `nlinv`).
    """

    def __init__(self, shape: Sequence[int], *, device: str | Device | None = None, **options: Any) -> None:
        self.device: Device = _arrays.device(device)
        self._kept: list[Any] = []
        self._turns = Turns()
        opts = ffi.new("larmor_nlinv_series_opts *")
        _structs.fill(opts, options, self.device, self._kept)
        self._series = created(lib.larmor_nlinv_series_create, "larmor_nlinv_series", lib.larmor_nlinv_series_free,
                               _arrays.shape_of(tuple(shape)), opts)

    def add(self, kspace: ArrayLike, traj: ArrayLike) -> tuple[Complexes, Complexes, dict[str, Any]]:
        """The next frame's image, coil maps and report, as `nlinv` has them; all frames have as many coils."""
        answer_ctrl_c()
        report = ffi.new("larmor_nlinv_report *")
        out = ffi.new("larmor_array *[2]")
        with self._turns:
            check(lib.larmor_nlinv_series_add(self._series, _wrapped(_complex(kspace), self.device),
                                              _points(traj, self.device), out, out + 1, report))
        return _arrays.to_numpy(out[0]), _arrays.to_numpy(out[1]), _structs.to_dict(report)


def normalise(maps: ArrayLike, by: str = "rss", *, sets: int = 1) -> Complexes:
    """Coil maps [(sets,) coils, image...] divided at each voxel by one real number, which decides on the shading that
    stays in the image: "sum" or "body", as in `larmor maps --normalise`. "rss" leaves them, as `espirit` makes
    them."""
    on = _arrays.device("cpu")
    made = np.array(_complex(maps), order="C")
    modes = {"rss": lib.LARMOR_NORMALISE_RSS, "sum": lib.LARMOR_NORMALISE_SUM, "body": lib.LARMOR_NORMALISE_BODY}
    check(lib.larmor_maps_normalise(_arrays.wrap(made, on, write=True), sets, choice(modes, by, "by")))
    return made


def aliasing(traj: ArrayLike, shape: Sequence[int], *, fov: Sequence[float] | None = None) -> float:
    """How much images of the centre of k-space alias: below 0.03 where it is sampled densely, near R - 1 where it is
    undersampled R times. fov: the part of the image's field of view that holds the object, for each axis."""
    answer_ctrl_c()
    found = ffi.new("double *")
    check(lib.larmor_calibration_aliasing(_points(traj, _arrays.device("cpu")), _arrays.shape_of(tuple(shape)),
                                          _by_axis(fov), found))
    return float(found[0])


def extent(kspace: ArrayLike, traj: ArrayLike, shape: Sequence[int], *, most: float = 0,
           threshold: float = 0) -> tuple[tuple[float, ...], float]:
    """How far the object reaches beyond the field of view: the factor along each axis that holds it, up to `most`,
    and the signal outside along the axis that has most, relative to that inside."""
    answer_ctrl_c()
    on = _arrays.device("cpu")
    opts = ffi.new("larmor_extent_opts *", {"most": most, "threshold": threshold})
    found = ffi.new("larmor_extent *")
    check(lib.larmor_field_of_view_extent(_wrapped(_complex(kspace), on), _points(traj, on),
                                          _arrays.shape_of(tuple(shape)), opts, found))
    return tuple(found.factor)[:len(shape)][::-1], float(found.outside)


def predict_field_of_view(kspace: ArrayLike, traj: ArrayLike, shape: Sequence[int]) -> dict[str, float]:
    """Whether a larger field of view predicts samples better, for several coils and an undersampled centre: factor,
    error and gain of larmor_prediction."""
    answer_ctrl_c()
    on = _arrays.device("cpu")
    found = ffi.new("larmor_prediction *")
    check(lib.larmor_predict_field_of_view(_wrapped(_complex(kspace), on), _points(traj, on),
                                           _arrays.shape_of(tuple(shape)), found))
    return _structs.to_dict(found)


# ---- partial Fourier and oversampling ----


def _reach(reach: Any, ndim: int) -> Any:
    """Cycles of each axis in the library's order; a number is for all axes."""
    values = [float(reach)] * ndim if np.ndim(reach) == 0 else [*map(float, reach)]
    return ffi.new("double[3]", [*values[::-1], 0.0, 0.0][:3])


def centre_phase(image: ArrayLike, reach: float | Sequence[float]) -> Complexes:
    """The phase of an image's centre of k-space as complex numbers of magnitude 1: for `solve.pocs` and
    `linop.phase`.

    reach: cycles per field of view of each axis that both sides of k-space hold; 0: no window.
    """
    x = _complex(image)
    return out_array(lib.larmor_centre_phase, _wrapped(x, _arrays.device("cpu")), _reach(reach, x.ndim))


def off_phase(image: ArrayLike, reach: float | Sequence[float], phase: ArrayLike) -> tuple[float, float]:
    """How much of an image's centre of k-space is at right angles to a phase: the norm of that, and of all of it."""
    x = _complex(image)
    on = _arrays.device("cpu")
    off, whole = ffi.new("double *"), ffi.new("double *")
    check(lib.larmor_off_phase(_wrapped(x, on), _reach(reach, x.ndim), _wrapped(np.asarray(phase, x.dtype), on), off,
                               whole))
    return float(off[0]), float(whole[0])


def crop_readouts(kspace: ArrayLike, traj: ArrayLike, part: float) -> tuple[Complexes, Floats, float]:
    """Readouts along x on a part of their field of view, by which oversampling is removed: samples, trajectory, and
    the deviation of white noise after this over that before."""
    on = _arrays.device("cpu")
    out, noise = ffi.new("larmor_array *[2]"), ffi.new("double *")
    check(lib.larmor_crop_readouts(_wrapped(_complex(kspace), on), _points(traj, on), part, out, out + 1, noise))
    return _arrays.to_numpy(out[0]), flipped(_arrays.to_numpy(out[1])), float(noise[0])


# ---- gradients ----


def delays(kspace: ArrayLike, traj: ArrayLike, *, fov: Sequence[float] | None = None) -> dict[str, Any]:
    """The delays of the gradients of spokes, in samples, as in `larmor traj --delays`.

    delay and deviation are (x, y, z, xy, xz, yz), as `delayed` and `recon(delays="given", delay=...)` take them.
    fov: relative lengths of the image axes.
    """
    answer_ctrl_c()
    on = _arrays.device("cpu")
    opts = ffi.new("larmor_delays_opts *")
    if fov is not None:
        opts.fov = [*map(float, fov)][::-1]
    found = ffi.new("larmor_delays *")
    check(lib.larmor_delays_estimate(_wrapped(_complex(kspace), on), _points(traj, on), opts, found))
    return _structs.to_dict(found)


def consistency(kspace: ArrayLike, traj: ArrayLike) -> float:
    """How badly one image explains the centre of k-space of 2D readouts: 0 where data and trajectory are
    consistent."""
    answer_ctrl_c()
    on = _arrays.device("cpu")
    residual = ffi.new("double *")
    check(lib.larmor_traj_consistency(_wrapped(_complex(kspace), on), _points(traj, on), residual))
    return float(residual[0])


def compare_descriptions(kspace: ArrayLike, traj: ArrayLike) -> dict[str, Any]:
    """Whether another description of readouts off the grid explains their samples better than the trajectory does.

    misfit and better: of the trajectory and of the best other description, name; is_clear: whether that is
    clearly better; reach: the centre of k-space that was compared, in 1/FOV, 0 where it is sampled too sparsely.
    """
    answer_ctrl_c()
    on = _arrays.device("cpu")
    found = ffi.new("larmor_description *")
    check(lib.larmor_compare_descriptions(_wrapped(_complex(kspace), on), _points(traj, on), found))
    return _structs.to_dict(found)


def compare_lines(kspace: ArrayLike, traj: ArrayLike) -> dict[str, Any]:
    """Whether every second or third line of a grid fits better reversed, moved or turned: as compare_descriptions,
    with logarithms of eigenvalues instead of misfits."""
    answer_ctrl_c()
    on = _arrays.device("cpu")
    found = ffi.new("larmor_description *")
    check(lib.larmor_compare_lines(_wrapped(_complex(kspace), on), _points(traj, on), found))
    return _structs.to_dict(found)


def compare_repeats(kspace: ArrayLike, traj: ArrayLike) -> dict[str, Any]:
    """Whether readouts that repeat the places of earlier ones contradict those: as compare_descriptions."""
    answer_ctrl_c()
    on = _arrays.device("cpu")
    found = ffi.new("larmor_description *")
    check(lib.larmor_compare_repeats(_wrapped(_complex(kspace), on), _points(traj, on), found))
    return _structs.to_dict(found)


def compare_coil_steps(kspace: ArrayLike, traj: ArrayLike) -> dict[str, Any]:
    """Whether lines of a grid fit better with another gain of a coil, or two coils in each other's place, from one
    readout on: as compare_descriptions, with misfits of samples that other coils predict."""
    answer_ctrl_c()
    on = _arrays.device("cpu")
    found = ffi.new("larmor_description *")
    check(lib.larmor_compare_coil_steps(_wrapped(_complex(kspace), on), _points(traj, on), found))
    return _structs.to_dict(found)


def compare_coils(kspace: ArrayLike, traj: ArrayLike, shape: Sequence[int]) -> dict[str, Any]:
    """Whether the samples of one coil fit the others better conjugated: as compare_lines. shape: of the image."""
    answer_ctrl_c()
    on = _arrays.device("cpu")
    centre, found = ffi.new("larmor_region_report *"), ffi.new("larmor_description *")
    out = ffi.new("larmor_array **")
    image = _arrays.shape_of(tuple(shape))
    data, points = _wrapped(_complex(kspace), on), _points(traj, on)
    check(lib.larmor_calibration_region(data, points, image, ffi.NULL, out, centre))
    region = ffi.gc(out[0], lib.larmor_array_free)
    check(lib.larmor_compare_coils(region, found))
    return _structs.to_dict(found)


def compare_maps(kspace: ArrayLike, traj: ArrayLike, maps: ArrayLike) -> dict[str, Any]:
    """Whether coil maps fit the coils' images of low resolution, and whether others do: as compare_descriptions."""
    answer_ctrl_c()
    on = _arrays.device("cpu")
    points, image = _points(traj, on), _arrays.shape_of(tuple(np.shape(maps)[1:]))
    centre, found = ffi.new("larmor_region_report *"), ffi.new("larmor_description *")
    out = ffi.new("larmor_array **")
    check(lib.larmor_calibration_region(_wrapped(_complex(kspace), on), points, image, ffi.NULL, out, centre))
    region = ffi.gc(out[0], lib.larmor_array_free)
    check(lib.larmor_compare_maps(region, centre.fov, _wrapped(_complex(maps), on), found))
    return _structs.to_dict(found)


def delayed(traj: ArrayLike, delay: Sequence[float] | Mapping[str, float], *,
            fov: Sequence[float] | None = None) -> Floats:
    """The trajectory of delayed gradients; delay: numbers x, y, z, xy, xz, yz, or some of them by name."""
    if isinstance(delay, Mapping):
        unknown = set(delay) - set(DELAYS)
        if unknown:
            raise ArgumentError(f"delay: {', '.join(sorted(unknown))} unknown, expected {', '.join(DELAYS)}")
        delay = [delay.get(name, 0) for name in DELAYS]
    if len(delay) > len(DELAYS):
        raise ArgumentError(f"delay: got {len(delay)} numbers, expected at most {len(DELAYS)}")
    values = [*map(float, delay), *[0.0] * (len(DELAYS) - len(delay))]
    on = _arrays.device("cpu")
    return flipped(out_array(lib.larmor_traj_delay, _points(traj, on), values, _by_axis(fov)))


def girf(traj: ArrayLike, response: ArrayLike, *, spacing_hz: float, dwell_s: float,
         fov: Sequence[float] | None = None) -> Floats:
    """The trajectory that gradients of an impulse response make where `traj` was asked for.

    response: [axes, frequencies] or [axes asked for, axes, frequencies], axes x, y, z; frequencies from
    -floor(n / 2) spacing_hz on.
    """
    on = _arrays.device("cpu")
    wrapped = _wrapped(_complex(response), on)
    how = ffi.new("larmor_girf *", {"response": wrapped, "spacing_hz": spacing_hz, "dwell_s": dwell_s})
    if fov is not None:
        how.fov = [*map(float, fov)][::-1]
    return flipped(out_array(lib.larmor_girf_apply, _points(traj, on), how))


def girf_phase(traj: ArrayLike, response: ArrayLike, *, spacing_hz: float, dwell_s: float,
               fov: Sequence[float] | None = None) -> Floats:
    """The phase of order 0 in rad [readouts, samples] that gradients make, of signals exp(-i phase).

    response: [axes asked for, frequencies], as `girf_measure` finds it of k in 1/m. fov: in m.
    """
    on = _arrays.device("cpu")
    wrapped = _wrapped(_complex(response), on)
    how = ffi.new("larmor_girf *", {"response": wrapped, "spacing_hz": spacing_hz, "dwell_s": dwell_s})
    if fov is not None:
        how.fov = [*map(float, fov)][::-1]
    return out_array(lib.larmor_girf_phase, _points(traj, on), how)


def girf_measure(nominal: ArrayLike, measured: ArrayLike, *, dwell_s: float, resolution_hz: float = 0,
                 least: float = 0) -> tuple[Complexes, Complexes | None, dict[str, Any]]:
    """The impulse response of gradients from pulses: that of `girf` [axes asked for, axes, frequencies], that of
    order 0 or None, and a report with spacing_hz, band_hz, residual and deviation.

    nominal   [axes, pulses, samples] k that was asked for, at rest at both ends. measured: what came of it, in the
              same unit, with order 0 as a last row if it was measured.
    """
    on = _arrays.device("cpu")
    wanted, got = (np.ascontiguousarray(x, np.float64) for x in (nominal, measured))
    opts = ffi.new("larmor_girf_opts *", {"dwell_s": dwell_s, "resolution_hz": resolution_hz, "least": least})
    out, report = ffi.new("larmor_array *[2]"), ffi.new("larmor_girf_report *")
    b0 = out + 1 if len(got) > len(wanted) else ffi.NULL
    check(lib.larmor_girf_measure(_wrapped(wanted, on), _wrapped(got, on), opts, out, b0, report))
    return _arrays.to_numpy(out[0]), _arrays.to_numpy(out[1]) if b0 else None, _structs.to_dict(report)


def field_camera(phase: ArrayLike, position: ArrayLike, *, order: int = 0,
                 relative: bool = False) -> tuple[Floats, dict[str, Any]]:
    """The phases of solid harmonics [9 or 16, readouts, samples] that a field camera's probes have seen, and a
    report.

    phase     [probes, readouts, samples] in rad of signals exp(-i phase), or complex signals.
    position  [probes, 3] of x, y, z in m. order: 1 to 3; default: the highest that the probes determine.
    """
    on = _arrays.device("cpu")
    seen = np.ascontiguousarray(phase, np.complex128 if np.iscomplexobj(phase) else np.float64)
    opts = ffi.new("larmor_camera_opts *", {"order": order, "relative": int(relative)})
    out, report = ffi.new("larmor_array **"), ffi.new("larmor_camera_report *")
    places = _wrapped(np.ascontiguousarray(position, np.float64), on)
    check(lib.larmor_field_camera(_wrapped(seen, on), places, opts, out, report))
    return _arrays.to_numpy(out[0]), _structs.to_dict(report)


def camera_traj(terms: ArrayLike, fov_m: Sequence[float], *,
                directions: Sequence[Sequence[float]] | None = None) -> Floats:
    """The trajectory [readouts, samples, ndim] of the terms of first order.

    fov_m       (z,) y, x of the image in m. directions: of x, y and z of the image along those of the positions.
    """
    on = _arrays.device("cpu")
    axes = ffi.NULL if directions is None else ffi.new("double[][3]", [[*map(float, d)] for d in directions])
    wrapped = _wrapped(np.ascontiguousarray(terms, np.float64), on)
    return flipped(out_array(lib.larmor_camera_traj, wrapped, axes, [*map(float, fov_m)][::-1], len(fov_m)))


def solid_harmonics(position: ArrayLike, order: int = 3) -> Floats:
    """The real solid harmonics up to an order of 0 to 3, [(order + 1)^2, image...], as larmor_solid_harmonics in
    physics.h lists them, at positions [image..., 3] of x, y, z in m."""
    on = _arrays.device("cpu")
    return out_array(lib.larmor_solid_harmonics, _wrapped(np.ascontiguousarray(position, np.float64), on), order)


def concomitant(traj: ArrayLike, position: ArrayLike, *, dwell_s: float, tesla: float,
                gamma_hz: float = 0) -> list[tuple[Floats, Floats]]:
    """The terms (space, time) of concomitant fields for linop.Segments.of_terms.

    traj      [readouts, samples, 3], in 1/m along x, y, z of the magnet, the main field along z.
    position  [image..., 3] of x, y, z in m from the isocentre. gamma_hz: in Hz/T; default: of protons.
    """
    on = _arrays.device("cpu")
    k = _wrapped(np.ascontiguousarray(traj, np.float64), on)
    time = out_array(lib.larmor_concomitant_phase, k, dwell_s, tesla, gamma_hz)
    space = out_array(lib.larmor_concomitant_places, _wrapped(np.ascontiguousarray(position, np.float64), on))
    return [(space[i], -time[i]) for i in range(len(space))]


# ---- displacement ----


def gradient_field(path: Path) -> Numbers:
    """The errors of a gradient system from a file of its spherical harmonics (larmor_gradient_field_read in physics.h
    says its layouts): [3, 2, N + 1, N + 1] along L, P, S of the patient, cosines and sines, degrees, orders."""
    on = _arrays.device("cpu")
    return out_array(lib.larmor_gradient_field_read, _scan._path(path), on.pointer)


def gradient_displacement(field: ArrayLike, shape: Sequence[int], *, fov_mm: Sequence[float],
                          position_mm: Sequence[float] = (0, 0, 0),
                          directions: Sequence[Sequence[float]] = ((1, 0, 0), (0, 1, 0), (0, 0, 1))) -> Floats:
    """From the voxels of an image [(z,) y, x] to where such gradients show them: [ndim, (z,) y, x] in voxels, in the
    order x, y, z.

    field       of `gradient_field`. fov_mm: along the axes (z,) y, x.
    position_mm of the centre from the isocentre, and directions of x, y and z of the image, along L, P, S.
    """
    on = _arrays.device("cpu")
    meta = ffi.new("larmor_image_meta *", {"position_mm": [*map(float, position_mm)]})
    sides = [*map(float, fov_mm)][::-1]
    meta.fov_mm = sides + [1.0] * (3 - len(sides))
    for name, along in zip(("read_dir", "phase_dir", "slice_dir"), directions):
        setattr(meta, name, [*map(float, along)])
    dims = [*map(int, shape)][::-1]
    image = ffi.new("larmor_shape *", {"ndim": len(dims), "dim": dims})
    return out_array(lib.larmor_gradient_displacement, _wrapped(np.ascontiguousarray(field, np.float64), on), meta,
                     image[0])


def displacement_jacobian(displacement: ArrayLike) -> Floats:
    """The determinant of the derivatives of r + d(r), [(z,) y, x] of d [ndim, (z,) y, x] in voxels."""
    on = _arrays.device("cpu")
    return out_array(lib.larmor_displacement_jacobian, _wrapped(np.ascontiguousarray(displacement, np.float64), on))


def displacement_inverse(displacement: ArrayLike) -> Floats:
    """e(r) with e(r + d(r)) = -d(r): from where a place is shown to where it is."""
    on = _arrays.device("cpu")
    return out_array(lib.larmor_displacement_inverse, _wrapped(np.ascontiguousarray(displacement, np.float64), on))


def warp(image: ArrayLike, displacement: ArrayLike, *, jacobian: bool = True, cubic: bool = False) -> Numbers:
    """image [..., (z,) y, x] at r + d(r), times the Jacobian: corrects a finished image.

    displacement  [ndim, (z,) y, x] in voxels, of `gradient_displacement` for example; by its `displacement_inverse` a
                  true image becomes one that such gradients show.
    cubic         by cubic convolution; else exact for the image's own frequencies.
    """
    on = _arrays.device("cpu")
    opts = ffi.new("larmor_warp_opts *", {"by": lib.LARMOR_WARP_CUBIC if cubic else lib.LARMOR_WARP_BAND,
                                          "jacobian": int(jacobian)})
    return out_array(lib.larmor_warp, _wrapped(image, on),
                     _wrapped(np.ascontiguousarray(displacement, np.float64), on), opts)


# ---- an object that moves ----


def _poses(motion: Any, on: Device) -> Any:
    return _wrapped(np.ascontiguousarray(np.asarray(motion, np.float64).T), on)


@overload
def moved(traj: ArrayLike, motion: ArrayLike, fov_mm: Sequence[float], kspace: None = None) -> Floats: ...


@overload
def moved(traj: ArrayLike, motion: ArrayLike, fov_mm: Sequence[float],
          kspace: ArrayLike) -> tuple[Floats, Complexes]: ...


def moved(traj: ArrayLike, motion: ArrayLike, fov_mm: Sequence[float], kspace: ArrayLike | None = None) -> Any:
    """The trajectory that an object sees which moves; with kspace both it and the samples, in the object's frame.

    motion  [readouts, 6]: shifts along x, y, z in mm, rotations about x, y, z in degrees.
    fov_mm  of the image axes.
    """
    on = _arrays.device("cpu")
    data = ffi.NULL if kspace is None else np.array(_complex(kspace), order="C")
    wrapped = data if kspace is None else _arrays.wrap(data, on, write=True)
    points = flipped(out_array(lib.larmor_motion_apply, wrapped, _points(traj, on), _poses(motion, on),
                               _by_axis(fov_mm)))
    return points if kspace is None else (points, data)


def move_maps(maps: ArrayLike, pose: Sequence[float], fov_mm: Sequence[float]) -> Complexes:
    """Coil maps [coils, image...] as an object sees them in a pose, six numbers as in `moved`: the coils stay."""
    on = _arrays.device("cpu")
    numbers = ffi.new("double[6]", [*map(float, pose)])
    return out_array(lib.larmor_maps_move, _wrapped(_complex(maps), on), numbers, _by_axis(fov_mm))


def find_motion(kspace: ArrayLike, traj: ArrayLike, maps: ArrayLike, fov_mm: Sequence[float], *,
                states: int = 0) -> tuple[Floats, dict[str, Any]]:
    """The poses [readouts, 6] of a few groups of readouts, found from the samples, and how well they explain them.

    maps    [coils, image...]. states: groups; default: 4. Where they do not help, the poses are zeros.
    """
    answer_ctrl_c()
    on = _arrays.device("cpu")
    out, found = ffi.new("larmor_array **"), ffi.new("larmor_motion_found *")
    check(lib.larmor_motion_find(_wrapped(_complex(kspace), on), _points(traj, on), _wrapped(_complex(maps), on),
                                 _by_axis(fov_mm), states, out, found))
    return np.ascontiguousarray(_arrays.to_numpy(out[0]).T), _structs.to_dict(found)


def motion_states(motion: ArrayLike, fov_mm: Sequence[float], *, tolerance_mm: float,
                  most: int = 64) -> dict[str, Any]:
    """Poses [readouts, 6] as few states: `state` of each readout, `pose` of each state, and within_mm, how far a
    point of the object may be from where its state has it."""
    on = _arrays.device("cpu")
    found = ffi.new("larmor_motion_states *")
    check(lib.larmor_motion_states_find(_poses(motion, on), len(fov_mm), _by_axis(fov_mm), tolerance_mm, most, found))
    try:
        pose = np.array([found.pose[i] for i in range(6 * found.count)]).reshape(found.count, 6)
        return {"state": np.array([found.state[i] for i in range(found.readouts)]), "pose": pose,
                "within_mm": found.within_mm, "largest_mm": found.largest_mm, "largest_deg": found.largest_deg}
    finally:
        lib.larmor_motion_states_free(found)


# ---- field maps and bases ----


def field_map(echoes: ArrayLike, seconds: Sequence[float], *, spacing: Sequence[float] | None = None,
              smooth: float = 0, threshold: float = 0) -> tuple[Floats, dict[str, Any]]:
    """Off-resonance in Hz of images [echoes, (z,) y, x] at these times in s, and a report."""
    answer_ctrl_c()
    on = _arrays.device("cpu")
    images = _complex(echoes)
    if len(seconds) != len(images):
        raise ArgumentError(f"seconds: got {len(seconds)} times, expected {len(images)}, one for each echo")
    opts = ffi.new("larmor_field_map_opts *", {"smooth": smooth, "threshold": threshold})
    if spacing is not None:
        opts.spacing = [*map(float, spacing)][::-1]
    out, report = ffi.new("larmor_array **"), ffi.new("larmor_field_map_report *")
    check(lib.larmor_field_map(_wrapped(images, on), images.ndim - 1, ffi.new("double[]", [*map(float, seconds)]),
                               opts, out, report))
    return _arrays.to_numpy(out[0]), _structs.to_dict(report)


def _fit_models() -> list[str]:
    names: list[str] = []
    while name := lib.larmor_fit_model_name(len(names), ffi.NULL):
        names.append(text(name))
    return names


def fit(images: ArrayLike, ms: Sequence[float], model: str, *, noise: float | Floats = 0,
        mask: ArrayLike | None = None, threshold: float = 0, field_strength: float = 0,
        field_map: ArrayLike | None = None, fat_above: bool = False) -> tuple[dict[str, Floats], dict[str, Any]]:
    """Maps of images [times, (z,) y, x] at these times in ms, and a report.

    model: "t2", "t2star", "t1-ir", "t1-ll" or "water-fat". The maps by name, times in ms: "T2", "T2_std" for its
    standard deviation, "M0" and so on, and "residual". noise: the standard deviation of real and imaginary part, a
    number or a map.
    field_strength, in T, field_map, in Hz, and fat_above: of water-fat alone, as larmor_fit_opts has them.
    """
    answer_ctrl_c()
    on = _arrays.device("cpu")
    images, names = np.asarray(images), _fit_models()
    if model not in names:
        raise ArgumentError(f'model: got "{model}", expected {", ".join(names)}')
    if images.ndim < 1 or len(ms) != len(images):
        raise ArgumentError(f"ms: got {len(ms)} times, expected {len(images)}, one for each image")
    opts, maps = ffi.new("larmor_fit_opts *"), ffi.new("larmor_fit_maps *")
    _structs.fill(opts, {"threshold": threshold, "field_strength": field_strength, "fat_above": int(fat_above)})
    kept = []
    for member, voxels in (("noise_map", noise if np.ndim(noise) else None), ("mask", mask),
                           ("field_map", field_map)):
        if voxels is not None:
            kept.append(_wrapped(np.ascontiguousarray(voxels, dtype=np.float32), on))
            setattr(opts, member, kept[-1])
    if not np.ndim(noise):
        opts.noise = float(noise)
    if images.dtype.kind not in "fc":
        images = images.astype(np.float32)
    found = {}
    check(lib.larmor_fit(_wrapped(images, on), names.index(model), ffi.new("double[]", [*map(float, ms)]), opts,
                         maps))
    for i in range(maps.count):
        name = text(maps.map[i].name)
        found[name] = _arrays.to_numpy(lib.larmor_array_ref(maps.map[i].value))
        if maps.map[i].deviation:
            found[f"{name}_std"] = _arrays.to_numpy(lib.larmor_array_ref(maps.map[i].deviation))
    found["residual"] = _arrays.to_numpy(lib.larmor_array_ref(maps.residual))
    report = {"voxels": int(maps.inside), "failed": int(maps.failed), "threshold": float(maps.threshold),
              "polarity_restored": bool(maps.polarity), "lowered": int(maps.lowered),
              "other_sign": float(maps.other_sign)}
    lib.larmor_fit_maps_free(maps)
    return found, report


def fit_dictionary(images: ArrayLike, dictionary: ArrayLike, *, basis: ArrayLike | None = None,
                   mask: ArrayLike | None = None) -> tuple[Integers, Complexes, Floats]:
    """The entry of a dictionary [times, entries] that matches each voxel of images [times, (z,) y, x] best, -1 for
    none; M0, complex; and the match from 0 to 1. basis [coefficients, times]: the images are its coefficients."""
    answer_ctrl_c()
    on = _arrays.device("cpu")
    kept = [_wrapped(_complex(x), on) if x is not None else ffi.NULL for x in (images, dictionary, basis)]
    kept.append(ffi.NULL if mask is None else _wrapped(np.ascontiguousarray(mask, dtype=np.float32), on))
    out = [ffi.new("larmor_array **") for _ in range(3)]
    check(lib.larmor_fit_dictionary(*kept, *out))
    entry, m0, match = (_arrays.to_numpy(o[0]) for o in out)
    return entry, m0, match


def fit_table(images: ArrayLike, dictionary: ArrayLike, table: ArrayLike, *, basis: ArrayLike | None = None,
              mask: ArrayLike | None = None, noise: float | Floats = 0) -> tuple[Any, Any, Any, Any]:
    """The columns of a dictionary's table [columns, entries] at each voxel, between its entries, as an array
    [columns, (z,) y, x]; their standard deviations, None where they are not known; M0 and the match.

    The rest is as of fit_dictionary. noise: the standard deviation of real and imaginary part, a number or a map.
    """
    answer_ctrl_c()
    on = _arrays.device("cpu")
    entry, _, match = fit_dictionary(images, dictionary, basis=basis, mask=mask)
    kept = [_wrapped(_complex(x), on) if x is not None else ffi.NULL for x in (images, dictionary, basis)]
    kept += [_wrapped(np.asarray(table, np.float64), on), _wrapped(entry, on)]
    is_map = np.ndim(noise) > 0
    kept += [0 if is_map else float(noise),
             _wrapped(np.ascontiguousarray(noise, dtype=np.float32), on) if is_map else ffi.NULL]
    out = [ffi.new("larmor_array **") for _ in range(3)]
    check(lib.larmor_fit_table(*kept, *out))
    value, deviation, m0 = (_arrays.to_numpy(o[0]) if o[0] else None for o in out)
    return value, deviation, m0, match


def fit_spread(value: Floats, deviation: Floats) -> tuple[Floats, float]:
    """What neighbours of a map [(z,) y, x] of fit differ by beyond their noise, and its median over the deviation.

    At edges images are blurred and ring, and voxels hold two tissues, which the deviations of fits do not have:
    np.hypot(deviation, spread) is a deviation with both. Voxels whose deviation is 0 do not count.
    """
    answer_ctrl_c()
    on = _arrays.device("cpu")
    kept = [_wrapped(np.ascontiguousarray(x, dtype=np.float32), on) for x in (value, deviation)]
    out, ratio = ffi.new("larmor_array **"), ffi.new("double *")
    check(lib.larmor_fit_spread(*kept, out, ratio))
    return _arrays.to_numpy(out[0]), float(ratio[0])


def epg_fisp(table: ArrayLike, degrees: Sequence[float], tr_ms: Sequence[float], *, te_ms: float = 0,
             inversion_ms: float = 0) -> Numbers:
    """The signals [pulses, entries] of a FISP sequence by extended phase graphs, a dictionary for fit_dictionary.

    table [2, entries]: T1 and T2 in ms; the rest is as larmor_fisp has it.
    """
    answer_ctrl_c()
    if len(degrees) != len(tr_ms):
        raise ArgumentError(f"tr_ms: got {len(tr_ms)} times, expected {len(degrees)}, one for each flip angle")
    on = _arrays.device("cpu")
    angles, times = (ffi.new("double[]", [*map(float, x)]) for x in (degrees, tr_ms))
    sequence = ffi.new("larmor_fisp *", {"pulses": len(degrees), "degrees": angles, "tr_ms": times, "te_ms": te_ms,
                                         "inversion_ms": inversion_ms})
    return out_array(lib.larmor_epg_fisp, _wrapped(np.asarray(table, np.float64), on), sequence)


def basis(curves: ArrayLike, rank: int = 0, *, energy: float = 0) -> tuple[Numbers, float]:
    """The basis [coefficients, frames] that holds most of the energy of curves [curves, frames], and the part that it
    holds. rank 0: as many coefficients as hold `energy`, 0.9999 by default."""
    on = _arrays.device("cpu")
    out, kept = ffi.new("larmor_array **"), ffi.new("double *")
    check(lib.larmor_basis_of_curves(_wrapped(curves, on), rank, energy, out, kept))
    return _arrays.to_numpy(out[0]), float(kept[0])


def resize(image: ArrayLike, shape: Sequence[int], *, band_limited: bool = False) -> Numbers:
    """The same field of view with other voxels, by cubic convolution; leading axes stay. band_limited: by the Fourier
    transform, without leading axes."""
    on = _arrays.device("cpu")
    function = lib.larmor_resize_band if band_limited else lib.larmor_resize
    return out_array(function, _wrapped(_complex(image), on), _arrays.shape_of(tuple(shape)))


def compare(a: ArrayLike, b: ArrayLike, *, magnitude: bool = False, inside: int = 0) -> dict[str, Any]:
    """The error of an image against a reference, up to the complex factor that makes it least, as `larmor compare`
    has it: nrmse, largest, factor, without_phase.

    magnitude  compare magnitudes. inside: 2 or 3, within the ellipse of k-space along so many last axes.
    """
    on = _arrays.device("cpu")
    opts = ffi.new("larmor_compare_opts *", {"magnitude": magnitude, "inside": inside})
    found = ffi.new("larmor_comparison *")
    check(lib.larmor_compare(_wrapped(a, on), _wrapped(b, on), opts, found))
    made = _structs.to_dict(found)
    made["factor"] = complex(*found.factor)
    return made


def compare_regions(a: ArrayLike, b: ArrayLike, mask: ArrayLike | None = None, *, magnitude: bool = False,
                    factor: complex | None = None) -> list[dict[str, Any]]:
    """The error of an image against a reference in each region of a mask, as larmor_compare_regions in operators.h
    has it: label, voxels, nrmse, rmse and largest error in the unit of b, ratio of the sums of magnitudes.

    mask    as that of stats; default: where b is above a tenth of its largest magnitude. factor: what a is multiplied
            by, such as that of compare for all frames; default: that of the least error.
    """
    on = _arrays.device("cpu")
    found, count = ffi.new("larmor_region_error[]", lib.LARMOR_MAX_REGIONS), ffi.new("int *")
    regions = ffi.NULL if mask is None else _wrapped(np.asarray(mask, np.float64), on)
    parts = ffi.NULL if factor is None else ffi.new("double[2]", [complex(factor).real, complex(factor).imag])
    check(lib.larmor_compare_regions(_wrapped(a, on), _wrapped(b, on), regions, magnitude, parts, found, count))
    return [_structs.to_dict(found[i]) for i in range(count[0])]


def stats(image: ArrayLike, mask: ArrayLike | None = None, second: ArrayLike | None = None) -> list[dict[str, Any]]:
    """Statistics of an image in each region of a mask, as larmor_region_stats in operators.h has them: label, voxels,
    mean, deviation, lowest, highest, median, phase, coherence, ratio (to region 1), snr; NaN where there is none.

    mask    of the image's shape: numbers of regions from 1, or booleans; default: above a tenth of the largest
            magnitude. second: another image of the same scan, whose difference from the first gives the SNR.
    """
    on = _arrays.device("cpu")
    found, count = ffi.new("larmor_region[]", lib.LARMOR_MAX_REGIONS), ffi.new("int *")
    others = [ffi.NULL if x is None else _wrapped(x, on)
              for x in (second, None if mask is None else np.asarray(mask, np.float64))]
    check(lib.larmor_region_stats(_wrapped(image, on), *others, found, count))
    return [_structs.to_dict(found[i]) for i in range(count[0])]


def band_limit(image: ArrayLike, axes: Sequence[int] | None = None) -> Complexes:
    """An image without what lies outside the ellipsoid of k-space that fits into its matrix: spokes and spirals
    sample no more. axes: default all."""
    made = np.array(_complex(image), order="C")
    check(lib.larmor_band_limit(_arrays.wrap(made, _arrays.device("cpu"), write=True), _bits(axes, made.ndim)))
    return made


# ---- scans ----


def _readout(flags: int, data: Any, traj: Any, step: int, repetition: int, keep: list[Any]) -> Any:
    """One acquisition of data [coils, samples]."""
    values = np.ascontiguousarray(data, np.complex64)
    keep.append(values)
    made = ffi.new("larmor_acquisition *", {"flags": flags, "samples": values.shape[1], "coils": values.shape[0],
                                            "center_sample": values.shape[1] // 2, "step1": step,
                                            "repetition": repetition})
    made.read_dir, made.phase_dir, made.slice_dir = [1, 0, 0], [0, 1, 0], [0, 0, 1]
    made.data = ffi.cast("float *", values.ctypes.data)
    if traj is not None:
        points = np.ascontiguousarray(flipped(traj), np.float32)
        keep.append(points)
        made.traj_dims = points.shape[1]
        made.traj = ffi.cast("float *", points.ctypes.data)
    return made


_NOISE, _CALIBRATION, _LAST = 1 << 18, 1 << 19, 1 << 24  # LARMOR_ACQ_NOISE and so on, which are macros


def write_scan(path: Path, scan: Any, *, force: bool = False, description: str | None = None) -> None:
    """larmor.ScanArrays as an ISMRMRD file: noise, calibration and the readouts of each image, which is a repetition.

    An existing file stays as it is until the new one is complete. Density weights and times have no place in it.
    """
    answer_ctrl_c()
    if scan.density is not None or scan.times is not None:
        raise ArgumentError("density and times: an ISMRMRD file has no place for them; write the scan without")
    several = isinstance(scan.kspace, (list, tuple))
    spaces = [np.asarray(k) for k in (scan.kspace if several else [scan.kspace])]
    points = [np.asarray(k) for k in (scan.traj if several else [scan.traj])]
    for k, t in zip(spaces, points):
        if k.ndim != 3 or t.shape[:2] != k.shape[1:]:
            raise ArgumentError(f"kspace: got shape {k.shape} with traj {t.shape}, expected [coils, readouts, "
                                "samples] and [readouts, samples, ndim]")
    matrix = [int(n) for n in scan.matrix][::-1]
    fov = [float(n) for n in scan.matrix][::-1] if scan.fov_mm is None else [float(n) for n in scan.fov_mm][::-1]
    matrix, fov = [*matrix, 1][:3], [*fov, 1.0][:3]
    keep: list[Any] = []
    about = ffi.new("larmor_scan *", {"coils": spaces[0].shape[0], "readouts": max(k.shape[1] for k in spaces),
                                      "repetitions": len(spaces)})
    about.encoding.matrix = about.encoding.recon_matrix = matrix
    about.encoding.fov_mm = about.encoding.recon_fov_mm = fov
    about.encoding.ndim = len(scan.matrix)
    about.encoding.trajectory = (scan.trajectory or "other").encode()
    if description:
        line = ffi.new("char[]", description.encode())
        about.description = line
    parts: list[tuple[int, Any, Any, int]] = []
    if scan.noise is not None:
        parts.append((_NOISE, np.asarray(scan.noise)[:, None], None, 0))
    if scan.calibration is not None:
        first = scan.calibration[0] if isinstance(scan.calibration, (list, tuple)) else scan.calibration
        where = scan.calibration_traj
        where = where[0] if isinstance(where, (list, tuple)) else where
        parts.append((_CALIBRATION, np.asarray(first), np.asarray(where), 0))
    parts += [(0, k, t, i) for i, (k, t) in enumerate(zip(spaces, points))]
    with _scan.output(path, force) as output:
        out = ffi.new("larmor_raw_writer **")
        check(lib.larmor_raw_create(output, about, out))
        writer = ffi.gc(out[0], lib.larmor_raw_writer_free)
        try:
            for flags, k, t, repetition in parts:
                for j in range(k.shape[1]):
                    last = repetition == len(spaces) - 1 and j == k.shape[1] - 1 and not flags
                    readout = _readout(flags | (_LAST if last else 0), k[:, j], None if t is None else t[j], j,
                                       repetition, keep)
                    check(lib.larmor_raw_append(writer, readout))
                    keep.clear()
            check(lib.larmor_raw_finish(writer))
        finally:
            ffi.release(writer)


_arguments.check_all(globals())
