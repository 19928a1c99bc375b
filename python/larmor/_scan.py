"""Scans, images and arrays in files, phantoms, trajectories and their weights. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from larmor import _arguments, _arrays, _structs
from larmor._arrays import Device
from larmor._library import ArgumentError, ShapeError, answer_ctrl_c, check, created, ffi, lib, message, text
from larmor.typing import Array, ArrayLike, Complexes, DType, Floats, Numbers, Path


def _path(path: Path) -> bytes:
    return os.fsencode(path)


def out_array(function: Any, *arguments: Any) -> Any:
    """Call a function whose last argument gets an array: NumPy's."""
    answer_ctrl_c()
    out = ffi.new("larmor_array **")
    check(function(*arguments, out))
    return _arrays.to_numpy(out[0])


def flipped(points: Any) -> Any:
    """The columns of points in the opposite order."""
    return np.ascontiguousarray(points[..., ::-1])


def _points(traj: Any) -> Any:
    """A trajectory as a larmor_array."""
    return _arrays.wrap(_arrays.as_input(flipped(np.asarray(traj))), _arrays.device("cpu"))


# ---- files ----


@dataclass(frozen=True, repr=False)
class Samples(_arrays.Brief):
    """Of one image: kspace [coils, readouts, samples]; traj [readouts, samples, ndim] or None, columns (kz,) ky, kx
    in cycles per field of view of the grid; density [readouts, samples] or None."""

    kspace: Complexes
    traj: Floats | None
    density: Floats | None


class Trajectory(_arguments.Made):
    """Where the samples of a scan are, in the place of what its file stores: `larmor.Scan(path, trajectory=...)`.

    k: [readouts, samples, ndim], columns (kz,) ky, kx, or a list of readouts [samples, ndim] of their own lengths.
    times in s and weights: of the same shape without the last axis. units: as traj_units of `larmor.Scan`, which
    holds where this is None.
    """

    def __init__(self, k: Sequence[ArrayLike] | Floats, *, times: Sequence[ArrayLike] | Floats | None = None,
                 weights: Sequence[ArrayLike] | Floats | None = None, units: str | None = None,
                 name: str = "given") -> None:
        readouts = [flipped(np.asarray(r, dtype=np.float64)) for r in k]
        if not readouts or any(r.ndim != 2 or r.shape[1] != readouts[0].shape[1] for r in readouts):
            raise ShapeError("k: expected readouts [samples, ndim] of one ndim")
        self.pointer: Any = ffi.new("larmor_trajectory *")
        self._kept: list[Any] = []
        self.pointer.dims = readouts[0].shape[1]
        self.pointer.readouts = len(readouts)
        self.pointer.first = self._keep("int64_t[]", np.cumsum([0] + [len(r) for r in readouts]))
        self.pointer.k = self._keep("double[]", np.concatenate(readouts))
        samples = int(self.pointer.first[len(readouts)])
        for member, values in (("time_s", times), ("weight", weights)):
            if values is None:
                continue
            flat = np.concatenate([np.ravel(np.asarray(r, dtype=np.float64)) for r in values])
            if len(flat) != samples:
                raise ShapeError(f"{'times' if member == 'time_s' else 'weights'}: got {len(flat)} numbers, expected "
                                 f"{samples}, one for each sample")
            setattr(self.pointer, member, self._keep("double[]", flat))
        self.pointer.units = (units or "").encode()
        self.pointer.name = name.encode()[:199]

    def __repr__(self) -> str:
        t = self.pointer
        return (f"<larmor.Trajectory {text(t.name)}: {t.readouts} readouts, {t.first[t.readouts]} samples, {t.dims} "
                f"dimensions{', unit ' if text(t.units) else ''}{text(t.units)}>")

    def _keep(self, kind: str, values: Any) -> Any:
        made = ffi.new(kind, np.ravel(values).tolist())
        self._kept.append(made)
        return made

    @classmethod
    def _of(cls, pointer: Any) -> Trajectory:
        made = cls.__new__(cls)
        made.pointer = ffi.gc(pointer, lib.larmor_trajectory_free)
        made._kept = []
        return made

    @classmethod
    def read(cls, path: Path, *, times: Path | None = None, weights: Path | None = None,
             units: str | None = None) -> Trajectory:
        """Of a .npy or .cfl, with times and weights of others, or that of another scan .h5, whose unit is `units`."""
        answer_ctrl_c()
        opts = ffi.new("larmor_trajectory_opts *")
        keep: list[Any] = []
        files = {name: None if value is None else os.fspath(value)
                 for name, value in (("times", times), ("weights", weights))}
        _structs.fill(opts, {**files, "units": units}, None, keep)
        out = ffi.new("larmor_trajectory *")
        check(lib.larmor_trajectory_read(_path(path), opts, out))
        return cls._of(out)

    def _parts(self, values: Any, shape: tuple[int, ...] = ()) -> list[Any] | None:
        if not values:
            return None
        t = self.pointer
        count = int(t.first[t.readouts])
        numbers = int(np.prod(shape, dtype=np.int64))
        flat = np.frombuffer(ffi.buffer(values, count * numbers * 8), dtype=np.float64).reshape(count, *shape).copy()
        return [flat[t.first[r]:t.first[r + 1]] for r in range(t.readouts)]

    @property
    def k(self) -> list[Floats]:
        """Each readout [samples, ndim]."""
        return [flipped(r) for r in self._parts(self.pointer.k, (self.pointer.dims,)) or []]

    @property
    def times(self) -> list[Floats] | None:
        """Each readout [samples] in s, or None."""
        return self._parts(self.pointer.time_s)

    @property
    def weights(self) -> list[Floats] | None:
        """Each readout [samples], or None."""
        return self._parts(self.pointer.weight)

    @property
    def units(self) -> str | None:
        """Of k, or None: the scan's traj_units holds."""
        return text(self.pointer.units) or None


class Pulseq(_arguments.Made):
    """A Pulseq file, text or binary, and k of its samples. soft_delays: {"TE": 0.01} in s; adc_phases: which are
    turned back, "shape", "none" or "all"."""

    def __init__(self, path: Path, *, soft_delays: Mapping[str, float] | None = None,
                 adc_phases: str | None = None) -> None:
        opts = ffi.new("larmor_pulseq_opts *")
        keep: list[Any] = []
        delays = ",".join(f"{name}={value!r}" for name, value in soft_delays.items()) if soft_delays else None
        _structs.fill(opts, {"soft_delays": delays, "adc_phases": adc_phases}, None, keep)
        self.pointer: Any = created(lib.larmor_pulseq_read, "larmor_pulseq", lib.larmor_pulseq_free, _path(path),
                                    opts)

    @property
    def info(self) -> dict[str, Any]:
        """Version, counts, duration, field of view, largest k and warnings; vectors are along x, y and z."""
        described = lib.larmor_pulseq_describe(self.pointer)
        found = {**_structs.to_dict(described), "warnings": message(described.warnings)}
        return {**found, "fov_mm": tuple(described.fov_mm)}

    @property
    def readouts(self) -> list[dict[str, Any]]:
        """Each ADC event: block, first sample and samples, times in s, phase and frequency, labels by name."""
        names: list[str] = []
        while name := text(lib.larmor_pulseq_label(len(names))):
            names.append(name)
        readout = ffi.new("larmor_pulseq_readout *")
        found = []
        for i in range(lib.larmor_pulseq_describe(self.pointer).readouts):
            check(lib.larmor_pulseq_readout_at(self.pointer, i, readout))
            one = _structs.to_dict(readout)
            one["labels"] = dict(zip(names, one.pop("label")))
            found.append(one)
        return found

    @property
    def trajectory(self) -> Trajectory:
        """Of all readouts, in cycles per metre."""
        out = ffi.new("larmor_trajectory *")
        check(lib.larmor_pulseq_trajectory(self.pointer, out))
        return Trajectory._of(out)


def _trajectory(given: Any, units: str | None) -> Trajectory:
    if isinstance(given, Trajectory):
        return given
    if isinstance(given, (str, bytes, os.PathLike)):
        return Trajectory.read(os.fsdecode(given), units=units)
    return Trajectory(given)


def raw_options(options: Mapping[str, Any], keep: list[Any]) -> dict[str, Any]:
    """Options of larmor_raw_opts whose trajectory is a pointer."""
    if options.get("trajectory") is None:
        return dict(options)
    keep.append(_trajectory(options["trajectory"], options.get("traj_units")))
    return {**options, "trajectory": keep[-1].pointer}


class Scan(_arguments.Made):
    """An ISMRMRD file, opened and checked. Options are those of larmor_raw_opts: group, traj_units, drop_nonfinite,
    join, ramp, conjugate, memory, shift_mm (along read, phase and slice direction), phase_terms ("trajectory": its 4,
    9 or 16 rows are the phases of a field camera). trajectory, a
    `larmor.Trajectory`, an array or a file, takes the place of what the file stores. It is a context manager, whose
    end closes the file."""

    def __init__(self, path: Path, **options: Any) -> None:
        opts = ffi.new("larmor_raw_opts *")
        keep: list[Any] = []
        _structs.fill(opts, raw_options(options, keep), None, keep)
        self.path: str = os.fspath(path)
        self._pointer: Any = created(lib.larmor_raw_open, "larmor_raw", lib.larmor_raw_free, _path(path), opts)

    @classmethod
    def _in_memory(cls, pointer: Any) -> Scan:
        scan = cls.__new__(cls)
        scan.path, scan._pointer = "readouts", pointer
        return scan

    @property
    def pointer(self) -> Any:
        """A larmor_raw."""
        if self._pointer is None:
            raise ArgumentError(f"{self.path}: the scan was closed; open it again")
        return self._pointer

    def close(self) -> None:
        """The end of it; a run of `larmor.reconstruct` that has begun with it goes on. A second time does nothing."""
        self._pointer = None

    def __enter__(self) -> Scan:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._pointer is None:
            return f"<larmor.Scan {self.path}, closed>"
        info = self.info
        return (f"<larmor.Scan {self.path}: {info['acquisitions']} readouts of {info['coils']} coils, "
                f"{info['groups']} images>")

    @property
    def info(self) -> dict[str, Any]:
        """What is in the file."""
        described = lib.larmor_raw_describe(self.pointer)
        return {**_structs.to_dict(described), "warnings": message(described.warnings)}

    @property
    def xml(self) -> str:
        """The header."""
        return text(lib.larmor_raw_xml(self.pointer))

    @property
    def encodings(self) -> list[dict[str, Any]]:
        """Each <encoding> of the header."""
        found = []
        for i in range(self.info["encodings"]):
            encoding = ffi.new("larmor_encoding *")
            check(lib.larmor_raw_encoding(self.pointer, i, encoding))
            found.append(_structs.to_dict(encoding))
        return found

    @property
    def groups(self) -> list[dict[str, Any]]:
        """The readouts of each image."""
        found = []
        for i in range(self.info["groups"]):
            group = ffi.new("larmor_group *")
            check(lib.larmor_raw_group(self.pointer, i, group))
            found.append(_structs.to_dict(group))
        return found

    def samples(self, group: int = 0, calibration: bool = False) -> Samples:
        """The samples of an image on the grid of its encoding, or those of the calibration of its slice."""
        answer_ctrl_c()
        info = ffi.new("larmor_group *")
        check(lib.larmor_raw_group(self.pointer, group, info))
        grid = ffi.new("larmor_grid *")
        check(lib.larmor_raw_grid(self.pointer, info.encoding, ffi.NULL, grid))
        out = ffi.new("larmor_samples *")
        on = _arrays.device("cpu")
        check(lib.larmor_raw_samples(self.pointer, group, grid, int(calibration), on.pointer, out))
        try:
            arrays: list[Any] = [_arrays.to_numpy(lib.larmor_array_ref(a)) if a else None
                                 for a in (out.kspace, out.traj, out.density)]
        finally:
            lib.larmor_samples_free(out)
        if arrays[1] is not None:
            arrays[1] = flipped(arrays[1])
        return Samples(*arrays)

    def times(self, group: int = 0) -> Floats:
        """When the samples of an image were taken, [readouts, samples] in s from the beginning of their readout."""
        answer_ctrl_c()
        info = ffi.new("larmor_group *")
        check(lib.larmor_raw_group(self.pointer, group, info))
        grid = ffi.new("larmor_grid *")
        check(lib.larmor_raw_grid(self.pointer, info.encoding, ffi.NULL, grid))
        return out_array(lib.larmor_raw_times, self.pointer, group, ffi.NULL, 0, grid, _arrays.device("cpu").pointer)

    def phase_terms(self, group: int = 0) -> Floats:
        """The phases of a field camera [4, 9 or 16, readouts, samples] in rad/m^n along the patient's axes, of a scan
        that was opened with phase_terms="trajectory"; those of x, y and z are what the trajectory leaves."""
        answer_ctrl_c()
        info = ffi.new("larmor_group *")
        check(lib.larmor_raw_group(self.pointer, group, info))
        grid = ffi.new("larmor_grid *")
        check(lib.larmor_raw_grid(self.pointer, info.encoding, ffi.NULL, grid))
        return out_array(lib.larmor_raw_phase_terms, self.pointer, group, ffi.NULL, 0, grid,
                         _arrays.device("cpu").pointer)

    def noise(self) -> Complexes | None:
        """The noise scans [coils, samples], or None."""
        out = ffi.new("larmor_array **")
        check(lib.larmor_raw_noise(self.pointer, _arrays.device("cpu").pointer, out))
        return _arrays.to_numpy(out[0]) if out[0] else None


def read(path: Path) -> Numbers:
    """An image or any array from .h5, .nii, .nii.gz, .cfl or .npy, its axes in NumPy's order: [..., z, y, x].

    .npy: axis 0 of the file is x in both orders of memory; `read` gives the transpose of what numpy.load gives.
    """
    return out_array(lib.larmor_image_read, _path(path), _arrays.device("cpu").pointer)


def read_meta(path: Path) -> dict[str, Any]:
    """The geometry of the first image of an .h5 or a .nii file."""
    meta = ffi.new("larmor_image_meta *")
    check(lib.larmor_image_read_meta(_path(path), meta))
    return _structs.to_dict(meta)


def read_images(path: Path) -> tuple[Complexes | list[Complexes], list[dict[str, Any]]]:
    """The images of a file one by one [images, (z,) y, x], and the geometry and counters of each.

    Of .h5 those of a series, of .nii and .nii.gz each volume, of .npy and .cfl what follows the first three axes of
    the file.
    """
    answer_ctrl_c()
    found = ffi.new("larmor_image_set *")
    check(lib.larmor_images_read(_path(path), _arrays.device("cpu").pointer, found))
    try:
        images = [_arrays.to_numpy(lib.larmor_array_ref(found.image[i].data)).copy() for i in range(found.count)]
        return np.stack(images), [_structs.to_dict(found.image[i].meta) for i in range(found.count)]
    finally:
        lib.larmor_images_free(found)


def stack_images(images: Sequence[Any], metas: Sequence[Mapping[str, Any]]) -> Complexes:
    """Images with their geometry as NIfTI has them [volumes, z, y, x]: slices of one volume by their positions.

    Axes of 1 at the beginning are dropped.
    """
    keep: list[Any] = []
    return out_array(lib.larmor_images_stack, _list_of(images, metas, keep), len(images))


def describe(path: Path) -> dict[str, Any]:
    """What an image file is: format, shape, range, geometry, notes, as in `larmor info`."""
    info = ffi.new("larmor_image_info *")
    check(lib.larmor_image_describe(_path(path), _arrays.device("cpu").pointer, info))
    found = _structs.to_dict(info)
    found["shape"] = _arrays.dims(info.shape)
    return found


def _notes(notes: Mapping[str, str], keep: list[Any]) -> Any:
    keys = [ffi.new("char[]", str(k).encode()) for k in notes]
    values = [ffi.new("char[]", str(v).encode()) for v in notes.values()]
    key_list, value_list = ffi.new("char *[]", keys), ffi.new("char *[]", values)
    keep.extend([keys, values, key_list, value_list])
    return {"keys": ffi.cast("char **", key_list), "values": ffi.cast("char **", value_list), "count": len(keys)}


@contextlib.contextmanager
def output(path: Path, force: bool) -> Iterator[Any]:
    """A file to be written, which is complete or stays as it was. It is given up at the end of the block, whatever a
    traceback keeps."""
    made = created(lib.larmor_output_open, "larmor_output", lib.larmor_output_free, _path(path), int(force))
    try:
        yield made
    finally:
        ffi.release(made)


def bids_path(folder: Path, name: str, *, echo: int = 0) -> str:
    """Where an image of this name lies in a data set of BIDS: "FOLDER/sub-01/anat/sub-01_T1w.nii.gz".

    name  entities in any order and the suffix, as "sub-01_ses-2_task-rest_bold"; one that BIDS forbids is an error.
    echo  from 1: the image is this echo, which the name does not say.
    """
    path = ffi.new("char[4096]")
    check(lib.larmor_bids_path(_path(folder), name.encode(), echo, path, len(path)))
    return os.fsdecode(ffi.string(path))


def bids_part(name: str) -> str:
    part = ffi.new("larmor_part *")
    check(lib.larmor_bids_part(name.encode(), part))
    return ("magnitude", "phase", "real", "imaginary")[part[0]]


@contextlib.contextmanager
def bids_output(folder: Path, name: str, echo: int, force: bool) -> Iterator[Any]:
    """The output of bids_path, with a sidecar."""
    made = created(lib.larmor_bids_open, "larmor_output", lib.larmor_output_free, _path(folder), name.encode(), echo,
                   int(force))
    try:
        yield made
    finally:
        ffi.release(made)


def bids_describe(folder: Path, name: str, title: str | None, derivative: bool, replace: bool) -> None:
    opts = ffi.new("larmor_bids_opts *", {"derivative": derivative, "replace": replace})
    kept = ffi.new("char[]", (title or "").encode())
    if title:
        opts.title = kept
    check(lib.larmor_bids_describe(_path(folder), name.encode(), opts))


def _list_of(images: Sequence[Any], metas: Sequence[Mapping[str, Any]], keep: list[Any]) -> Any:
    """A larmor_image[] in the memory of arrays that `keep` keeps alive."""
    made = ffi.new("larmor_image[]", len(images))
    keep.append(made)
    for i, (image, meta) in enumerate(zip(images, metas)):
        array = _arrays.wrap(_arrays.as_input(image), _arrays.device("cpu"))
        keep.append(array)
        made[i].data = array
        _structs.fill(ffi.addressof(made[i], "meta"), meta)
    return made


def divide(path: Path, images: Sequence[Any], metas: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[int]]]:
    """The files of this path's format that hold the images, and which of them are in each."""
    places = ffi.new("larmor_image_place[]", len(images))
    for place, image, meta in zip(places, images, metas):
        place.shape = _arrays.shape_of(tuple(image.shape))
        _structs.fill(ffi.addressof(place, "meta"), meta)
    file, files = ffi.new("int[]", len(images)), ffi.new("int *")
    check(lib.larmor_images_divide(_path(path), places, len(images), file, files))
    found = []
    for f in range(files[0]):
        name = ffi.new("char[]", _path(path))
        if files[0] > 1:
            name = ffi.new("char[4096]")
            check(lib.larmor_divided_name(_path(path), f, name, 4096))
        found.append((os.fsdecode(ffi.string(name)), [i for i in range(len(images)) if file[i] == f]))
    return found


def write_images(path: Path, images: Sequence[Any], metas: Sequence[Mapping[str, Any]], *, force: bool = False,
                 magnitude: bool = False, header: str | None = None, notes: Mapping[str, str] | None = None,
                 each: Sequence[Mapping[str, str]] | None = None, window: Sequence[float] | None = None,
                 phase: bool = False, anonymous: bool = False, planes: bool = False, colour: bool = False,
                 frames_per_s: float = 0, part: str = "magnitude", opened: Any = None) -> None:
    """Images [y, x] or [z, y, x] of one shape with their geometry, in the format of the path's suffix.

    phase: a .dcm has PATH_phase.dcm beside it. part: of complex images in a .nii, "magnitude", "phase", "real" or
    "imaginary". opened: a context of the output, in the place of path and force.
    """
    keep: list[Any] = []
    list_ = _list_of(images, metas, keep)
    opts = ffi.new("larmor_write_opts *", {"magnitude": magnitude, "phase": phase, "anonymous": anonymous,
                                           "planes": planes, "colour": colour, "frames_per_s": frames_per_s,
                                           "part": getattr(lib, f"LARMOR_PART_{part.upper()}")})
    if header:
        keep.append(ffi.new("char[]", header.encode()))
        opts.header = keep[-1]
    if notes:
        opts.notes = _notes(notes, keep)
    if each:
        several = ffi.new("larmor_notes[]", [_notes(n, keep) for n in each])
        keep.append(several)
        opts.each = several
    if window is not None:
        opts.window = list(window)
    with opened or output(path, force) as target:
        if phase and str(path).lower().endswith(".dcm"):
            check(lib.larmor_output_add_phase(target))
        check(lib.larmor_image_write(target, list_, len(images), opts))


def write_page(path: Path, images: Sequence[Any], metas: Sequence[Mapping[str, Any]], *, reports: Sequence[Any] = (),
               maps: ArrayLike | None = None, traj: ArrayLike | None = None, snr: Sequence[Any] = (), title: str = "",
               lines: Sequence[bytes] = (), warnings: Sequence[bytes] = (), settings: Mapping[str, Any] | None = None,
               force: bool = False) -> None:
    """A page of images; reports are larmor_recon_report of each, the rest as larmor_page has it."""
    keep: list[Any] = []
    page = ffi.new("larmor_page *", {"images": len(images), "lines": len(lines), "warnings": len(warnings)})
    page.image = _list_of(images, metas, keep)
    if len(snr):
        page.snr, page.snrs = _list_of(snr, metas, keep), len(snr)
    own = [ffi.new("char[]", one) for one in (title.encode(), *lines, *warnings)]
    line, warning = ffi.new("char *[]", own[1:1 + len(lines)]), ffi.new("char *[]", own[1 + len(lines):])
    page.title, page.line, page.warning = own[0], ffi.cast("char **", line), ffi.cast("char **", warning)
    if settings:
        page.settings = _notes({k: str(v) for k, v in settings.items()}, keep)
    if reports:
        several = ffi.new("larmor_recon_report[]", [one[0] for one in reports])
        keep.append(several)
        page.report = several
    if maps is not None:
        keep.append(_arrays.wrap(_arrays.as_input(maps), _arrays.device("cpu")))
        page.maps = keep[-1]
    if traj is not None:
        keep.append(_points(traj))
        page.traj = keep[-1]
    with output(path, force) as target:
        check(lib.larmor_page_write(target, page))


def write(path: Path, x: Array, *, force: bool = False, meta: Mapping[str, Any] | None = None) -> None:
    """An array to .cfl or .npy, or an image [y, x] or [z, y, x] to .h5, .nii, .nii.gz, .png or .gif.

    .npy: numpy.load gives the transpose, as axis 0 of the file is x.
    force: replace a file. meta: geometry of the image, members of larmor_image_meta. An existing file stays as it is
    until the new one is complete.
    """
    x = _arrays.as_input(x)
    if lib.larmor_format_of(_path(path)).saves:
        with output(path, force) as target:
            check(lib.larmor_array_save(target, _arrays.wrap(x, _arrays.device("cpu"))))
        return
    place = dict(meta) if meta else {"fov_mm": tuple(float(n) for n in x.shape)}
    write_images(path, [x], [place], force=force)


def read_traj(path: Path, ndim: int) -> Floats:
    """A trajectory [readouts, samples, ndim] from .cfl or .npy as BART has it, [3, samples, readouts] in 1/FOV."""
    return flipped(out_array(lib.larmor_traj_read, _path(path), ndim, _arrays.device("cpu").pointer))


def write_traj(path: Path, traj: ArrayLike, *, force: bool = False) -> None:
    """A trajectory [readouts, samples, ndim] to .cfl or .npy as BART has it. force: replace a file."""
    with output(path, force) as target:
        check(lib.larmor_traj_save(target, _points(traj)))


# ---- phantoms ----


def phantoms() -> dict[str, str]:
    """The names of phantoms, with a line each."""
    found: dict[str, str] = {}
    while (entry := lib.larmor_phantom_entry(len(found))).name != ffi.NULL:
        found[text(entry.name)] = text(entry.help)
    return found


def _phantom(name: str, ndim: int, state: Mapping[str, Any]) -> Any:
    made = created(lib.larmor_phantom_create, "larmor_phantom", lib.larmor_phantom_free, name.encode(), ndim)
    if state:
        wanted = ffi.new("larmor_phantom_state *")
        _structs.fill(wanted, state)
        made = created(lib.larmor_phantom_change, "larmor_phantom", lib.larmor_phantom_free, made, wanted)
    return made


def _members(kind: str, members: Mapping[str, Any]) -> Any:
    made = ffi.new(f"{kind} *")
    _structs.fill(made, members)
    return made


def phantom(shape: Sequence[int], name: str = "shepp-logan", *, dtype: DType = np.complex64,
            band_limited: bool = False, phase: Mapping[str, Any] | None = None, **state: Any) -> Numbers:
    """An image of a phantom, [y, x] or [z, y, x].

    band_limited  the best image that k-space up to the matrix can give, with its ringing, not the mean over voxels.
    phase         members of larmor_phantom_phase: radians, and cycles (x, y, z); of band-limited images alone.
    state         members of larmor_phantom_state: size, degrees, shift (x, y, z) and contrast.
    """
    made = _phantom(name, len(shape), state)
    where = (_arrays.device("cpu").pointer, _arrays.dtype_number(dtype), _arrays.shape_of(tuple(shape)))
    if phase is not None:
        if not band_limited:
            raise ArgumentError("phase: of an image with band_limited=True alone")
        return out_array(lib.larmor_phantom_bandlimited_phase, made, _members("larmor_phantom_phase", phase), *where)
    return out_array(lib.larmor_phantom_bandlimited if band_limited else lib.larmor_phantom_image, made, *where)


def phantom_kspace(traj: ArrayLike, name: str = "shepp-logan", *, coils: int = 0, noise: float = 0, seed: int = 0,
                   dtype: DType = np.complex64, field: Mapping[str, Any] | None = None,
                   times: ArrayLike | None = None, phase: Mapping[str, Any] | None = None, **state: Any) -> Complexes:
    """Its exact k-space [coils, readouts, samples] at traj [readouts, samples, ndim]; coils 0: without that axis.

    noise   the standard deviation of the real and of the imaginary part of noise that is added.
    field   off-resonance, members of larmor_phantom_field: hz, gradient (x, y, z), shim, dipole, dipole_at (x, y, z).
    times   of it, [samples] or [readouts, samples] in s.
    phase   of the image, as of `phantom`; not with a field.
    state   as of `phantom`.
    """
    points = _points(traj)
    made = _phantom(name, np.asarray(traj).shape[-1], state)
    if (field is None) != (times is None) or (field is not None and phase is not None):
        raise ArgumentError("field and times: one needs the other, and neither goes with a phase")
    kind = _arrays.dtype_number(dtype)
    if field is not None:
        when = _arrays.wrap(_arrays.as_input(np.asarray(times)), _arrays.device("cpu"))
        kspace = out_array(lib.larmor_phantom_kspace_off_resonance, made, points,
                           _members("larmor_phantom_field", field), when, coils, kind)
    elif phase is not None:
        kspace = out_array(lib.larmor_phantom_kspace_phase, made, points, _members("larmor_phantom_phase", phase),
                           coils, kind)
    else:
        kspace = out_array(lib.larmor_phantom_kspace, made, points, coils, kind)
    if noise:
        check(lib.larmor_phantom_noise(_arrays.wrap(kspace, _arrays.device("cpu"), write=True), noise, seed))
    return kspace


def phantom_field_map(shape: Sequence[int], field: Mapping[str, Any], *, dtype: DType = np.float32) -> Floats:
    """The off-resonance of `phantom_kspace` in Hz at the voxels of an image."""
    return out_array(lib.larmor_phantom_field_map, _members("larmor_phantom_field", field),
                     _arrays.device("cpu").pointer, _arrays.dtype_number(dtype), _arrays.shape_of(tuple(shape)))


def phantom_noise_level(shape: Sequence[int], snr: float, name: str = "shepp-logan", *, coils: int = 0,
                        **state: Any) -> float:
    """The noise of `phantom_kspace` with which a fully sampled Cartesian image of this shape has this signal-to-noise
    ratio, in the mean over the object."""
    sigma = ffi.new("double *")
    check(lib.larmor_phantom_noise_level(_phantom(name, len(shape), state), _arrays.device("cpu").pointer,
                                         _arrays.shape_of(tuple(shape)), coils, snr, sigma))
    return float(sigma[0])


def phantom_coils(shape: Sequence[int], coils: int, *, dtype: DType = np.complex64,
                  extent: Sequence[float] | None = None, size: float = 1) -> Complexes:
    """The coil maps [coils, (z,) y, x] of phantom_kspace.

    extent  what the maps cover along each axis, in fields of view; default 1.
    size    of the phantom, as in its state: coils stand further away from a larger one.
    """
    around = _phantom("shepp-logan", len(shape), {"size": size} if size != 1 else {})
    cover = ffi.NULL if extent is None else ffi.new("double[]", [*map(float, extent)][::-1])
    return out_array(lib.larmor_phantom_coils_around, around, _arrays.device("cpu").pointer,
                     _arrays.dtype_number(dtype), _arrays.shape_of(tuple(shape)), cover, coils)


class Simulation(_arguments.Made):
    """A simulated scan, as `larmor phantom` writes it: slices, repetitions in which the object may change, echoes,
    EPI.

    matrix      [y, x] or [z, y, x] of the image.
    trajectory  its name. traj: other members of larmor_traj_opts.
    options     members of larmor_simulation_opts: coils, noise, snr, slices, repetitions, echo_ms, field, phase,
                delay, tr_ms, oblique, motion, t2star_ms, ...; field and phase as of `phantom_kspace`. epi: members of
                larmor_simulation_epi, for echo-planar lines of the trajectory "cartesian": shots, navigators, ramp
                (up_us, flat_us, down_us, delay_us), ghost (phase in rad, shift in cycles per field of view),
                phase_step.
    """

    def __init__(self, matrix: Sequence[int], trajectory: str = "golden", *, traj: Mapping[str, Any] | None = None,
                 **options: Any) -> None:
        opts = ffi.new("larmor_simulation_opts *")
        keep: list[Any] = []
        if "echo_ms" in options:
            options["echoes"] = len(options["echo_ms"])
        if options.get("t2star_ms") is not None:
            options["t2star_ms"] = [float(t) for t in np.atleast_1d(options["t2star_ms"])]
            options["t2stars"] = len(options["t2star_ms"])
        if options.get("motion") is not None:
            options["motion"] = np.ascontiguousarray(np.asarray(options["motion"], np.float64).T)
        self._device = _arrays.device("cpu")
        _structs.fill(opts, {"trajectory": trajectory, "traj": {"matrix": list(matrix), **(traj or {})}, **options},
                      self._device, keep)
        self._simulation = created(lib.larmor_simulation_create, "larmor_simulation", lib.larmor_simulation_free,
                                   self._device.pointer, opts)

    @property
    def info(self) -> dict[str, Any]:
        """What it is: matrix, samples, readouts, noise, ..."""
        return _structs.to_dict(lib.larmor_simulation_describe(self._simulation))

    def samples(self, slice: int = 0, repetition: int = 0, contrast: int = 0) -> Samples:
        """The readouts of one image, and their nominal trajectory."""
        answer_ctrl_c()
        out = ffi.new("larmor_array *[2]")
        check(lib.larmor_simulation_samples(self._simulation, slice, repetition, contrast, out, out + 1))
        return Samples(_arrays.to_numpy(out[0]), flipped(_arrays.to_numpy(out[1])), None)

    def write(self, path: Path, *, force: bool = False) -> None:
        """The whole scan as an ISMRMRD file. force: replace a file."""
        answer_ctrl_c()
        with output(path, force) as target:
            check(lib.larmor_simulation_save(self._simulation, target))

    def expected(self) -> tuple[Complexes, list[dict[str, Any]]]:
        """The images to expect [images, (z,) y, x], of each slice all repetitions, and their geometry."""
        found = ffi.new("larmor_expected *")
        check(lib.larmor_simulation_expect(self._simulation, found))
        return self._images(found)

    def states(self, *, heart: int = 0, breath: int = 0) -> tuple[Complexes, list[dict[str, Any]]]:
        """The images to expect of bins of the heart and the breath, breath after breath, by their true states."""
        answer_ctrl_c()
        found = ffi.new("larmor_expected *")
        check(lib.larmor_simulation_states(self._simulation, heart, breath, found))
        return self._images(found)

    def truth(self) -> dict[str, Any]:
        """The maps that a fit of the phantom "tissues" should find, by name, and "tissue", the number of each."""
        found = ffi.new("larmor_truth *")
        check(lib.larmor_simulation_truth(self._simulation, found))
        try:
            return {ffi.string(found.name[i]).decode(): _arrays.to_numpy(lib.larmor_array_ref(found.map[i].data))
                    for i in range(found.count)}
        finally:
            lib.larmor_truth_free(found)

    @staticmethod
    def _images(found: Any) -> tuple[Any, list[dict[str, Any]]]:
        try:
            images = [found.image[i] for i in range(found.count)]
            return (np.stack([_arrays.to_numpy(lib.larmor_array_ref(image.data)) for image in images]),
                    [_structs.to_dict(image.meta) for image in images])
        finally:
            lib.larmor_expected_free(found)

    def maps(self, matrix: Sequence[int] | None = None) -> Complexes:
        """The coils' sensitivities [coils, (z,) y, x]; matrix: more voxels than the image's reach beyond it."""
        size = ffi.new("int64_t[3]", [*map(int, matrix)][::-1]) if matrix is not None else ffi.NULL
        out, meta = ffi.new("larmor_array **"), ffi.new("larmor_image_meta *")
        check(lib.larmor_simulation_maps(self._simulation, size, out, meta))
        return _arrays.to_numpy(out[0])

    def field_map(self) -> Floats:
        """The off-resonance in Hz [(z,) y, x]; zero without a field."""
        out, meta = ffi.new("larmor_array **"), ffi.new("larmor_image_meta *")
        check(lib.larmor_simulation_field(self._simulation, out, meta))
        return _arrays.to_numpy(out[0])

    def t2star_map(self) -> Floats:
        """T2* in ms [(z,) y, x], of an object that decays (t2star_ms)."""
        out, meta = ffi.new("larmor_array **"), ffi.new("larmor_image_meta *")
        check(lib.larmor_simulation_t2star(self._simulation, out, meta))
        return _arrays.to_numpy(out[0])


# ---- trajectories ----


def trajectories() -> dict[str, str]:
    """The names that `traj` knows, with a line each."""
    found: dict[str, str] = {}
    while (entry := lib.larmor_traj_entry(len(found))).name != ffi.NULL:
        found[text(entry.name)] = text(entry.help)
    return found


def traj(name: str, matrix: Sequence[int], **options: Any) -> Floats:
    """A trajectory by name, [readouts, samples, ndim], columns (kz,) ky, kx in cycles per field of view.

    matrix: [y, x] or [z, y, x] of the image. options: the other members of larmor_traj_opts, e.g. readouts, samples,
    undersampling.
    """
    opts = ffi.new("larmor_traj_opts *")
    _structs.fill(opts, {"matrix": list(matrix), **options})
    return flipped(out_array(lib.larmor_traj_create, _arrays.device("cpu").pointer, name.encode(), opts))


def is_cartesian(traj: ArrayLike, tol: float = 1e-5) -> bool:
    """Whether all samples are on the grid: every coordinate a whole number to within tol."""
    found = ffi.new("int *")
    check(lib.larmor_traj_is_cartesian(_points(traj), tol, found))
    return bool(found[0])


def is_stack(traj: ArrayLike, partitions: int) -> tuple[bool, int]:
    """Whether `linop.stack_of_stars` takes this trajectory for so many partitions, and how many distinct sets of
    angles it has."""
    found, sets = ffi.new("int *"), ffi.new("int64_t *")
    check(lib.larmor_traj_is_stack(_points(traj), partitions, found, sets))
    return bool(found[0]), int(sets[0])


def coverage(traj: ArrayLike) -> dict[str, Any]:
    """How far samples reach on either side of the centre of k-space: low, high and partial of each axis of an
    image."""
    found = ffi.new("larmor_coverage *")
    check(lib.larmor_traj_coverage(_points(traj), found))
    ndim = np.asarray(traj).shape[-1]
    return {name: tuple(getattr(found, name))[:ndim][::-1] for name in ("low", "high", "partial")}


def density(traj: ArrayLike, shape: Sequence[int], method: str = "auto", *, iterations: int = 0) -> Floats:
    """Weights [readouts, samples] for gridding images of this shape: "auto", "ramp", "pipe", "voronoi", "spiral"."""
    points = _arrays.wrap(_arrays.as_input(flipped(traj)), _arrays.device("cpu"))
    image = _arrays.shape_of(tuple(shape))
    if method == "auto":
        return out_array(lib.larmor_density_auto, points, image, ffi.new("char **"))
    if method == "pipe":
        return out_array(lib.larmor_density_pipe, points, image, iterations)
    if method not in ("ramp", "voronoi", "spiral"):
        raise ArgumentError(f"method: got {method!r}, expected auto, ramp, pipe, voronoi or spiral")
    return out_array(getattr(lib, f"larmor_density_{method}"), points, image)


def combine_coils(images: ArrayLike, *, device: str | Device | None = None) -> Complexes:
    """One image of coil images [coils, image...], by maps of their own k-space's centre, as method="clear" has it."""
    coils = _arrays.as_input(images)
    out = ffi.new("larmor_array **")
    answer_ctrl_c()
    check(lib.larmor_coils_combine(_arrays.wrap(coils, _arrays.device(device)), out))
    return _arrays.to_numpy(out[0])


def coil_maps(kspace: ArrayLike, traj: ArrayLike, shape: Sequence[int], *, weights: ArrayLike | None = None,
              calibration: int = 0, window: int = 0, device: str | Device | None = None) -> Complexes:
    """Coil maps [coils, image...] from the centre of k-space [coils, readouts, samples], by Walsh's method."""
    samples = _arrays.as_input(kspace)
    if samples.ndim != 3:
        raise ShapeError(f"kspace: got shape {samples.shape}, expected [coils, readouts, samples]")
    on = _arrays.device(device)
    opts = ffi.new("larmor_coils_opts *", {"calibration": calibration, "window": window})
    w = ffi.NULL if weights is None else _arrays.wrap(_arrays.as_input(weights), on)
    out = ffi.new("larmor_array **")
    answer_ctrl_c()
    check(lib.larmor_coils_estimate(_arrays.wrap(samples, on), _arrays.wrap(_arrays.as_input(flipped(traj)), on), w,
                                    _arrays.shape_of(tuple(shape)), opts, out, ffi.NULL))
    return _arrays.to_numpy(out[0])


_arguments.check_all(globals())
