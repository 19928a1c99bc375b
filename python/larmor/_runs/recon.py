"""What larmor.recon takes and gives, plans, and maps by themselves. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import os
import pathlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from larmor import _arrays, _scan, _structs
from larmor._arrays import Device
from larmor._library import (
    ArgumentError,
    ShapeError,
    answer_ctrl_c,
    callback,
    check,
    created,
    error,
    ffi,
    held,
    lib,
    message,
    text,
    version,
)
from larmor._runs import html as _html
from larmor._runs.options import ReconOptions
from larmor.typing import Array, ArrayLike, Complexes, DType, Floats, Path

if TYPE_CHECKING:
    from typing_extensions import TypeAlias, Unpack

Listener: TypeAlias = "Callable[[dict[str, Any]], object]"  # of each event
Source: TypeAlias = "Path | _scan.Scan | ScanArrays"


@dataclass(repr=False)
class ScanArrays:
    """A scan in memory, of one image or, where kspace and the others are lists, of several in the order of time.

    Arrays are in host memory or on a GPU, wherever images are computed.

    kspace       [coils, readouts, samples], complex64, in which images are computed; other numbers are converted.
    traj         [readouts, samples, ndim], columns (kz,) ky, kx in cycles per field of view.
    matrix       [y, x] or [z, y, x] of the image.
    fov_mm       in the same order; default: voxels of 1 mm.
    density      [readouts, samples], for density="stored".
    calibration  [coils, readouts, samples] with calibration_traj: the coil maps come from them.
    times        [readouts, samples] in s, for b0.
    noise        [coils, samples] of a noise scan.
    """

    kspace: Array | Sequence[Array]
    traj: Array | Sequence[Array]
    matrix: Sequence[int]
    fov_mm: Sequence[float] | None = None
    density: Array | Sequence[Array] | None = None
    calibration: Array | Sequence[Array] | None = None
    calibration_traj: Array | Sequence[Array] | None = None
    times: Array | Sequence[Array] | None = None
    noise: Array | None = None
    trajectory: str | None = None

    def __repr__(self) -> str:
        spaces = self.kspace if isinstance(self.kspace, (list, tuple)) else [self.kspace]
        shape = getattr(spaces[0], "shape", "of no array") if len(spaces) else "of no image"
        return f"<larmor.ScanArrays kspace {shape}, {len(spaces)} images, matrix {self.matrix}>"


@dataclass(repr=False)
class Reconstruction:
    """Images and how they came about; `numpy.asarray` of it is its images. It is a context manager, whose end lets go
    of its arrays."""

    images: Any  # Complexes [images, (z,) y, x], where the sizes of encodings differ a list of Complexes
    meta: list[dict[str, Any]]  # geometry and counters of each image
    reports: list[dict[str, Any]]  # of the series of each image: weight, iterations, noise, grid, warnings, ...
    maps: Complexes | None  # coil maps of the last series [(sets,) coils, image...], or None
    log: list[str]
    warnings: list[str]
    provenance: dict[str, Any]  # version, options, device, seconds, source
    density: Floats | None = None  # [readouts, samples] of the last series, with keep_density
    eigenvalues: Floats | None = None  # [(sets,) image...] of the maps, with keep_eigenvalues
    noise: Any = None  # standard deviation of the noise in each image, with noise
    g: Any = None  # geometry factor of each image, with noise; None with a basis or several sets of maps
    posterior_mean: Any = None  # of samples of what the object may be, with posterior, and
    posterior_deviation: Any = None  # their deviation: 95 % lie within 1.96 of it
    height: Any = None  # which part of a point's height each image shows, with response
    width: Any = None  # the width of a point in voxels, with response; 0 where next to nothing of it is left
    # poses [rows, 7] found for the last image, as `motion` takes them, with motion_states
    motion: Floats | None = None
    _header: str | None = field(default=None, repr=False)
    _reports: list[Any] = field(default_factory=list, repr=False)  # as the library has them

    def __array__(self, dtype: DType | None = None, copy: bool | None = None) -> NDArray[Any]:
        if isinstance(self.images, list):
            raise ShapeError(f"images of {len(self.images)} shapes are no array; take them from images")
        return _html.as_array(self.images, dtype, copy)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_reports": [bytes(ffi.buffer(report)) for report in self._reports]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _reports=[])
        if any(len(one) != ffi.sizeof("larmor_recon_report") for one in state["_reports"]):
            return  # of another version of larmor
        for one in state["_reports"]:
            self._reports.append(ffi.new("larmor_recon_report *"))
            ffi.memmove(self._reports[-1], one, len(one))

    def __enter__(self) -> Reconstruction:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all arrays; geometry, reports and the log stay."""
        self.images = np.empty((0,))
        for name in ("maps", "density", "eigenvalues", "noise", "g", "posterior_mean", "posterior_deviation",
                     "height", "width", "motion"):
            setattr(self, name, None)

    def __repr__(self) -> str:
        images = list(self.images)
        shapes = {tuple(image.shape) for image in images}
        size = " x ".join(map(str, shapes.pop())) if len(shapes) == 1 else f"{len(shapes)} shapes"
        count = f"{len(images)} images of {size}" if images else "no images"
        warned = f", {len(self.warnings)} warnings" if self.warnings else ""
        return (f"<larmor.Reconstruction {count}, {self.provenance['method']}, {self.provenance['seconds']:.1f} s"
                f"{warned}>")

    def _repr_html_(self) -> str:
        return _html.page(repr(self), list(self.images), self.warnings)

    @property
    def snr(self) -> Floats | list[Floats]:
        """The signal-to-noise ratio of each image in absolute units, with noise; 0 where no coil sees anything."""
        if self.noise is None:
            raise ValueError("noise: it was not asked for; larmor.recon(..., noise=True) makes its maps")
        pairs = zip(self.images, self.noise)
        found = [np.divide(np.abs(x), d, out=np.zeros_like(d), where=d > 0) for x, d in pairs]
        return np.stack(found) if isinstance(self.noise, np.ndarray) else found

    def write_page(self, path: Path, *, traj: ArrayLike | None = None, title: str | None = None,
                   force: bool = False) -> None:
        """A page of HTML, for a browser: images, maps, figures, options and log; it needs no other file.

        traj   [readouts, samples, ndim] of an image, to be shown, too.
        title  default: where the scan is from.
        """
        images, lines = list(self.images), [text_.encode() for text_ in self.log]
        options = {**self.provenance["options"], "method": self.provenance["method"]}
        _scan.write_page(path, images, self.meta, reports=self._reports, maps=self.maps, traj=traj,
                         snr=() if self.noise is None else list(self.snr),
                         title=title or str(self.provenance.get("source", path)), lines=lines,
                         warnings=[text_.encode() for text_ in self.warnings], settings=options, force=force)

    def write_settings(self, path: Path) -> None:
        """The options that are texts or numbers, those of frames and bins among them, as a file for
        `larmor.read_settings` and `larmor recon --config`. Arrays are left out, and so are delays that are given."""
        pathlib.Path(path).write_text(_settings_line(self.provenance["settings"]) + "\n", encoding="utf-8")

    def write(self, path: Path, *, force: bool = False, magnitude: bool = False, phase: bool = False,
              anonymous: bool = False) -> None:
        """All images in the format of the path's suffix, with their geometry; .h5 has the provenance, too.

        What one file cannot hold, as planes that are not parallel in a .nii, goes to PATH_1.nii, PATH_2.nii, ...
        phase, anonymous  of "FOLDER.dcm/": phases as a series of their own; nothing that points to a person. Of
                          "NAME.dcm" the phases go to "NAME_phase.dcm".
        """
        notes = {"LarmorVersion": version, "DataRole": "Image",
                 "ImageProcessingHistory": f"LARMOR:{self.provenance['method'].upper()}",
                 "SeriesDescription": f"larmor {self.provenance['method']}",
                 "LarmorSettings": _settings_line(self.provenance.get("settings", {}))}
        each = []
        for report in self.reports:
            each.append({"LarmorMethod": report["method"]["name"], "LarmorMethodFrom": report["method"]["from"],
                         "LarmorLambda": f"{report['lambda']:g}", "LarmorLambdaFrom": report["lambda_from"],
                         "LarmorIterations": str(report["solver"]["iters"]),
                         **_misfit_notes(report["misfit"]),
                         **({"LarmorWarning": " ".join(report["warnings"])} if report["warnings"] else {})})
        images = list(self.images)
        for name, chosen in _scan.divide(path, images, self.meta):
            _scan.write_images(name, [images[i] for i in chosen], [self.meta[i] for i in chosen], force=force,
                               magnitude=magnitude, header=self._header, notes=notes, each=[each[i] for i in chosen],
                               phase=phase, anonymous=anonymous)


    def write_bids(self, folder: Path, name: str, *, force: bool = False, title: str | None = None,
                   derivative: bool = False, replace: bool = False) -> list[str]:
        """All images as a part of a data set of BIDS, with sidecars and what describes the set; their paths.

        name        as of larmor.bids_path: "sub-01_part-phase_T2starw". Contrasts are files of their own, echo-1,
                    echo-2 and so on, if the scan has several.
        title       of the data set (default: that of its folder); derivative: its DatasetType.
        replace     write a dataset_description.json that is there anew; else it stays.
        """
        images, part = list(self.images), _scan.bids_part(name)
        paths, numbers = [], sorted({meta["contrast"] for meta in self.meta})
        several = len(numbers) > 1 or numbers[0] > 0 or _echoes(self._header) > 1
        said = "_echo-" in name and len(numbers) == 1
        for number in numbers:
            echo = number + 1 if several and not said else 0
            chosen = [i for i, meta in enumerate(self.meta) if meta["contrast"] == number]
            paths.append(_scan.bids_path(folder, name, echo=echo))
            _scan.write_images(paths[-1], [images[i] for i in chosen], [self.meta[i] for i in chosen], part=part,
                               header=self._header, opened=_scan.bids_output(folder, name, echo, force))
        _scan.bids_describe(folder, name, title, derivative, replace)
        return paths


def _echoes(header: str | None) -> int:
    """Echo times of an ISMRMRD header."""
    tags = [element.tag for element in ElementTree.fromstring(header.encode()).iter()] if header else []
    return sum(tag.rpartition("}")[2] == "TE" for tag in tags)


def _misfit_notes(misfit: Mapping[str, Any]) -> dict[str, str]:
    if not misfit["measured"]:
        return {}
    notes = {"LarmorMisfit": f"{misfit['relative']:.4g}", "LarmorMisfitBeyondNoise": f"{misfit['beyond_noise']:.4g}"}
    return {**notes, **({"LarmorChi2": f"{misfit['chi2']:.4g}"} if misfit["chi2"] > 0 else {})}


class _Bar:
    """A bar of tqdm or rich that shows how far a run is."""

    def __init__(self, bar: Any, own: bool) -> None:
        self.bar, self.own, self.done = bar, own, 0.0
        self.task = bar.add_task("larmor", total=1.0) if hasattr(bar, "add_task") else None
        if self.task is None and not own:
            bar.total, bar.unit = 100, "%"

    def show(self, fraction: float, stage: str) -> None:
        """The part that is done, which never falls."""
        before, self.done = self.done, max(self.done, min(fraction, 1.0))
        if self.task is not None:
            self.bar.update(self.task, completed=self.done, description=stage or "larmor")
            return
        self.bar.update(round(100 * self.done) - round(100 * before))
        self.bar.set_postfix_str(stage, refresh=False)

    def close(self) -> None:
        """The end of a bar of larmor's; the caller's stays."""
        if self.own:
            self.bar.close()


def _is_bar(x: Any) -> bool:
    """Whether x is a progress of rich, or a bar of tqdm."""
    return hasattr(x, "update") and (hasattr(x, "add_task") or hasattr(x, "set_postfix_str"))


class _Listener:
    """Gets the events of a run: keeps the log, shows progress, asks the caller's function."""

    def __init__(self, progress: bool | Listener) -> None:
        self.log: list[str] = []
        self.warnings: list[str] = []
        self.call: Any = None
        self.bar: _Bar | None = None
        self.cancelled = False
        self.shown = ("", -1.0, 0.0)
        if _is_bar(progress):
            self.bar = _Bar(progress, False)
        elif callable(progress):
            self.call = progress
        elif progress is True:
            self.show()
        elif progress not in (False, None):
            raise ArgumentError(f"progress: got {progress!r}, expected True, False, a function of each event, a bar "
                                "of tqdm, or a rich.progress.Progress")

    def show(self) -> None:
        """A bar of tqdm, or a line where it is not installed."""
        try:
            from tqdm.auto import tqdm
        except ImportError:
            self.call = self.print_line
        else:
            self.bar = _Bar(tqdm(total=100, bar_format="{l_bar}{bar}| {elapsed}<{remaining} {postfix}"), True)

    def print_line(self, event: dict[str, Any]) -> None:
        """Without tqdm: a line that is written over, at most ten times a second."""
        stage, fraction, when = self.shown
        now = time.monotonic()
        if (event["stage"], event["fraction"]) != (stage, fraction) and now - when > 0.1 and sys.stderr.isatty():
            self.shown = (event["stage"], event["fraction"], now)
            print(f"\r{100 * event['fraction']:3.0f} % {event['stage']:<40.40}", end="", file=sys.stderr, flush=True)

    def event(self, event: Any) -> Any:
        """Returns whether to stop."""
        if event.kind == lib.LARMOR_EVENT_LOG:
            self.log.append(message(event.text))
        if event.kind == lib.LARMOR_EVENT_WARNING:
            self.warnings.append(message(event.text))
        if self.bar is not None:
            self.bar.show(event.fraction, text(event.stage))
        if self.cancelled:
            return True
        return self.call({**_structs.to_dict(event), "text": message(event.text)}) if self.call else None

    def close(self) -> None:
        """The end of the bar or of the line."""
        if self.bar is not None:
            self.bar.close()
        elif self.shown[2]:
            print(file=sys.stderr)


@callback("int(void *, const larmor_event *)", 1)
def _on_event(user: Any, event: Any) -> int:
    return int(bool(held(user).event(event)))


def _several(x: Any, count: int, name: str) -> list[Any]:
    values = x if isinstance(x, (list, tuple)) else [x] * count
    if len(values) != count:
        raise ArgumentError(f"{name}: got {len(values)}, expected {count}, as many as kspace")
    return list(values)


def _samples(x: Any, name: str) -> Any:
    """In complex64, in which images are computed."""
    return None if x is None else _arrays.as_input(x, np.complex64, narrow=True, name=name)


def _source_of_arrays(scan: ScanArrays, on: Device, keep: list[Any]) -> Any:
    spaces = scan.kspace if isinstance(scan.kspace, (list, tuple)) else [scan.kspace]
    members = {name: _several(getattr(scan, name), len(spaces), name)
               for name in ("traj", "density", "calibration", "calibration_traj", "times")}
    sides = len(scan.matrix) if np.ndim(scan.matrix) == 1 and not isinstance(scan.matrix, str) else 0
    lengths = sides if scan.fov_mm is None else np.size(scan.fov_mm)
    if sides not in (2, 3) or lengths != sides:
        raise ArgumentError(f"matrix and fov_mm: got {scan.matrix} and {scan.fov_mm}, expected 2 or 3 numbers of "
                            "both")
    list_ = ffi.new("larmor_readouts[]", len(spaces))
    for i, kspace in enumerate(spaces):
        values = {name: of[i] for name, of in members.items()}
        for name in ("traj", "calibration_traj"):
            if values[name] is not None:
                points = _arrays.on_host(_arrays.readable(values[name], name))
                values[name] = _arrays.as_input(_scan.flipped(np.atleast_1d(points)))
        values["calibration"] = _samples(values["calibration"], "calibration")
        values["kspace"] = _samples(kspace, "kspace")
        _structs.fill(list_ + i, {**values, "meta": {"repetition": i}}, on, keep)
    arrays = ffi.new("larmor_scan_arrays *")
    _structs.fill(arrays, {"matrix": tuple(scan.matrix), "fov_mm": scan.fov_mm,
                           "noise": _samples(scan.noise, "noise"),
                           "trajectory": scan.trajectory}, on, keep)
    arrays.image = list_
    arrays.images = len(spaces)
    keep.append(list_)
    return created(lib.larmor_source_of_arrays, "larmor_source", lib.larmor_source_free, arrays)


def settings() -> list[dict[str, Any]]:
    """The options of `recon`, as the library's table has them: name, type, choices, bounds, unit, default
    ("standard"), a line of help and a page of the documentation; and the option of the program."""
    found: list[dict[str, Any]] = []
    while (entry := lib.larmor_setting_entry(len(found))).name != ffi.NULL:
        found.append({**_structs.to_dict(entry), "help": message(entry.help)})
    return found


def _settings_of(opts: Any) -> dict[str, str]:
    """Those that are not the default, as text."""
    line, plain, changed = ffi.new("char[128]"), ffi.new("larmor_recon_opts *"), {}
    plain.size = opts.size
    for name in (setting["name"] for setting in settings() if setting["type"] != "none"):
        values = []
        for of in (opts, plain):
            check(lib.larmor_setting_text(of, name.encode(), line, len(line)))
            values.append(text(line))
        if values[0] != values[1]:
            changed[name] = values[0]
    if opts.delays == lib.LARMOR_DELAYS_OFF:  # which the library has no text for, as numbers depend on the scan
        changed["delays"] = "off"
    return changed


@callback("larmor_status(void *, const char *, const char *, int)", lib.LARMOR_STOPPED)
def _on_option(user: Any, name: Any, value: Any, i: int) -> int:
    if text(name) == "prior":
        raise ArgumentError("prior: a file of options loads no code; hand it in as an argument")
    before = held(user).setdefault(text(name).replace("-", "_"), text(value))
    if i:
        held(user)[text(name).replace("-", "_")] = [*([before] if isinstance(before, str) else before), text(value)]
    return 0


def read_settings(path: Path) -> dict[str, Any]:
    """Options from a file, as `larmor recon --config` takes it and `Reconstruction.write_settings` writes it: for
    `larmor.recon(scan, **larmor.read_settings(path))`. They are texts; those that are the default are left out.
    Options that only the program has are among them, with _ for -, as it was given them."""
    others: dict[str, Any] = {}
    opts = ffi.new("larmor_recon_opts *")
    opts.size = ffi.sizeof("larmor_recon_opts")
    check(lib.larmor_settings_read(os.fsencode(path), opts, _on_option, ffi.new_handle(others)))
    return {**{_PYTHON.get(k, k): v for k, v in _settings_of(opts).items()}, **others}


def _settings_line(settings: Mapping[str, str]) -> str:
    """A file of options, in one line."""
    line, opts = ffi.new("char[8192]"), ffi.new("larmor_recon_opts *")
    opts.size = ffi.sizeof("larmor_recon_opts")
    for name, value in settings.items():
        if name not in (*FRAMING, "delays"):
            check(lib.larmor_setting_set(opts, name.encode(), value.encode()))
    pairs = [(ffi.new("char[]", name.replace("_", "-").encode()), ffi.new("char[]", settings[name].encode()))
             for name in (*FRAMING, "delays") if name in settings]
    keys, values = ffi.new("char *[]", [key for key, _ in pairs]), ffi.new("char *[]", [value for _, value in pairs])
    others = ffi.new("larmor_notes *", {"keys": keys, "values": values, "count": len(pairs)})
    check(lib.larmor_settings_write(opts, others, line, len(line)))
    return text(line)


_PYTHON = {"lambda": "lam"}
_NAMES = {"iterations": "iters", "lam": "lambda"}
_OWN = ("size", "listener", "user", "lambda_mode")


def _are_rows(options: Mapping[str, Any]) -> bool:
    """Phases are those of the trajectory, which say how the scan is opened."""
    return isinstance(options.get("phase_terms"), str)


def _source(scan: Any, on: Device, traj_units: str | None, options: Mapping[str, Any],
            keep: list[Any]) -> tuple[Any, str | None, str]:
    """What `scan` is as a source, its header and its name. options: those of `recon`."""
    rows = options.get("phase_terms") if _are_rows(options) else None
    if isinstance(scan, (str, bytes, os.PathLike)):
        scan = _scan.Scan(os.fsdecode(scan), traj_units=traj_units, phase_terms=rows)
    elif traj_units is not None:
        raise ArgumentError("traj_units: only for paths; open the scan with it, or convert the arrays")
    elif rows is not None:
        raise ArgumentError("phase_terms: text is only for paths; open the scan with it, or give an array")
    if isinstance(scan, _scan.Scan):
        keep.append(scan.pointer)
        source = created(lib.larmor_source_of_raw, "larmor_source", lib.larmor_source_free, scan.pointer,
                         os.fsencode(scan.path))
        return source, scan.xml, str(scan.path)
    if isinstance(scan, ScanArrays):
        return _source_of_arrays(scan, on, keep), None, "arrays"
    raise ArgumentError(f"scan: got {type(scan).__name__}, expected a path, larmor.Scan or larmor.ScanArrays")


def _framed(source: Any, frames: Mapping[str, Any], on: Device, keep: list[Any]) -> Any:
    """The source whose images are cut into frames, or sorted into bins."""
    if not isinstance(frames, Mapping):
        raise ArgumentError(f'frames: got {type(frames).__name__}, expected names and numbers, like {{"spokes": 20}}')
    if not frames.keys().isdisjoint(("heart", "breath", "time", "bins")):
        frames, sorting = dict(frames), ffi.new("larmor_bins_opts *")
        raw = ffi.typeof("larmor_raw *")
        files = (one for one in keep if isinstance(one, ffi.CData) and ffi.typeof(one) is raw)
        sorting.waveforms = next(files, ffi.NULL)
        sorting.way = lib.LARMOR_GATING_AUTO
        if (bins := frames.pop("bins", None)) is not None:
            check(lib.larmor_bins_read(str(bins).encode(), sorting))
        if (gating := frames.pop("gating", None)) is not None:
            way = ffi.new("larmor_gating_way *")
            check(lib.larmor_gating_read(str(gating).encode(), way))
            sorting.way = way[0]
        _structs.fill(sorting, frames, on, keep)
        return created(lib.larmor_source_of_bins, "larmor_source", lib.larmor_source_free, source, on.pointer,
                       sorting, ffi.NULL)
    cut = ffi.new("larmor_frames_opts *")
    _structs.fill(cut, frames)
    return created(lib.larmor_source_of_frames, "larmor_source", lib.larmor_source_free, source, cut)


# Of frames and bins, as files of options and the program have them, and the members of `frames` that they are.
FRAMING = {"spokes_per_frame": "spokes", "frame_time": "ms", "cardiac_phases": "phases", "bins": "bins",
           "frame_step": "step", "frame_rest": "join_rest", "gate": "gate", "gating": "gating", "tick": "tick_ms"}
# Those that need one of others.
_NEEDED = {"frame_step": ("spokes_per_frame", "frame_time"), "frame_rest": ("spokes_per_frame", "frame_time"),
           "gate": ("cardiac_phases",), "gating": ("bins",), "tick": ("bins", "frame_time", "cardiac_phases")}
_BINS = ("heart", "breath", "time")


def framing_of(options: Mapping[str, Any],
               frames: Mapping[str, Any] | None) -> tuple[dict[str, Any], Mapping[str, Any] | None]:
    """The options without those of frames and bins, and the frames with them."""
    others = {name: value for name, value in options.items() if name not in FRAMING}
    asked = {name: options[name] for name in FRAMING if options.get(name) is not None}
    if not asked:
        return others, frames
    for name in asked:
        if name in _NEEDED and asked.keys().isdisjoint(_NEEDED[name]):
            raise TypeError(f"{name}: has no effect without {' or '.join(_NEEDED[name])}")
    ways = [name for name in asked if name not in _NEEDED] + (["frames"] if frames is not None else [])
    if len(ways) > 1:
        raise TypeError(f"{ways[1]} and {ways[0]} exclude each other; give one of them")
    return others, {FRAMING[name]: _framing_value(name, value) for name, value in asked.items()}


def _framing_value(name: str, value: Any) -> Any:
    if name in ("bins", "gating"):
        return value
    if name == "frame_rest":
        if value not in ("drop", "join"):
            raise ArgumentError(f'frame_rest: got "{value}", expected drop or join')
        return value == "join"
    whole = name in ("spokes_per_frame", "cardiac_phases", "gate")
    try:
        number = int(value) if whole else float(value)
    except ValueError:
        number = -1
    if number < 0 or (number == 0 and name != "gate"):
        unit = " of ms" if name in ("tick", "frame_time") else ""
        raise ArgumentError(f"{name}: got {value}, expected a {'whole ' if whole else ''}number{unit} above 0")
    return number


def framing_texts(frames: Mapping[str, Any] | None) -> dict[str, str]:
    """What of `frames` a file of options has: all but signals of one's own."""
    if frames is None:
        return {}
    values = {name: frames[member] for name, member in FRAMING.items() if frames.get(member) is not None}
    texts = {name: f"{value:.9g}" if isinstance(value, float) else str(value) for name, value in values.items()}
    if frames.get("join_rest") is not None:
        texts["frame_rest"] = "join" if frames["join_rest"] else "drop"
    bins = [f"{name}:{frames[name]}" for name in _BINS if frames.get(name)]
    return {**texts, **({"bins": ",".join(bins)} if bins else {})}


def _banded(source: Any, multiband: Mapping[str, Any], on: Device, keep: list[Any]) -> Any:
    """The source whose images are volumes of slices that were excited together."""
    asked = dict(multiband)
    opts = ffi.new("larmor_multiband_opts *")
    offsets = [float(mm) for mm in asked.pop("offset_mm")]
    if asked.get("phase") is None:
        asked.setdefault("shifts", len(offsets))
    _structs.fill(opts, {"offset_mm": offsets, "bands": len(offsets), **asked}, on, keep)
    return created(lib.larmor_source_of_multiband, "larmor_source", lib.larmor_source_free, source, opts)


def _takes_text(name: str, value: str) -> bool:
    """Whether the library sets the option from this text; constants are set by the last word of their name, too."""
    known = {setting["name"]: setting["type"] for setting in settings()}
    return known.get(name, "none") != "none" and not _structs.is_constant("larmor_recon_opts", name, value)


def motion_rows(rows: Any) -> Any:
    """Poses [readouts, 6] or rows [rows, 7] as the library has them."""
    return np.ascontiguousarray(np.asarray(rows, np.float64).T)


# Of `recon`, beside the members of larmor_recon_opts.
_ARGUMENTS = ("device", "progress", "frames", "multiband", "traj_units", "noise", "response", "point_contrast",
              "posterior", *_NAMES)


def check_names(asked: Mapping[str, Any]) -> None:
    """Refuse what is no option, with the nearest name of one."""
    known = [name for name, _ in ffi.typeof("larmor_recon_opts").fields if name not in _OWN]
    for name in asked:
        if name in _OWN:
            raise TypeError(f"{name!r} is set by larmor itself")
        if name not in known and name not in _NAMES:
            words = [_PYTHON.get(word, word) for word in known]
            raise TypeError(f"{name}: no option of larmor.recon"
                            f"{_structs.nearest(name, [*words, *_ARGUMENTS, *FRAMING])}; "
                            "larmor.settings() lists them")


def _options(asked: Mapping[str, Any], on: Device, listener: _Listener, keep: list[Any]) -> Any:
    """A larmor_recon_opts; maps may be False."""
    check_names(asked)
    if isinstance(asked.get("maps"), str):
        raise ArgumentError("maps: a text where an array is expected; larmor.read(FILE) reads the arrays of a file, "
                            "and maps_method says how maps are found")
    opts = ffi.new("larmor_recon_opts *")
    opts.size = ffi.sizeof("larmor_recon_opts")
    given = {_NAMES.get(k, k): v for k, v in asked.items() if v is not False}
    if _are_rows(asked):
        del given["phase_terms"]
    if given.get("motion") is not None:
        given["motion"] = motion_rows(given["motion"])
    types = {setting["name"]: setting["type"] for setting in settings()}
    words = {k: v for k, v in given.items()
             if types.get(k) == "list" or (isinstance(v, str) and _takes_text(k, v))
             or (types.get(k) == "number" and np.ndim(v) == 0 and v == 0)}  # the member's 0 is the default
    for name, value in words.items():
        for one in value if isinstance(value, (list, tuple)) else [] if value is None else [value]:
            check(lib.larmor_setting_set(opts, name.encode(), str(one).encode()))
    _structs.fill(opts, {k: v for k, v in given.items() if k not in words}, on, keep)
    if asked.get("maps") is False:
        opts.no_maps = 1
    if asked.get("lam") is not None and "lambda" not in words:
        opts.lambda_mode = lib.LARMOR_LAMBDA_RELATIVE
    handle = ffi.new_handle(listener)
    keep.append(handle)
    opts.listener = _on_event
    opts.user = handle
    return opts


def _images_of(result: Any) -> Iterator[tuple[Any, dict[str, Any], dict[str, Any], Any]]:
    """Each image, its geometry, its report, and that as the library has it."""
    report = _structs.to_dict(ffi.addressof(result[0], "report"))
    report["message"] = message(result.report.message)
    report["warnings"] = _warnings(ffi.addressof(result[0], "report"))
    if result.report.status and not result.count:
        raise error(result.report.status, report["message"])
    for i in range(result.count):
        image = result.image[i]
        yield (_arrays.to_numpy(lib.larmor_array_ref(image.data)), _structs.to_dict(image.meta), report,
               ffi.new("larmor_recon_report *", result.report))


def _warnings(report: Any) -> list[str]:
    line = ffi.new("char[512]")
    found: list[str] = []
    while lib.larmor_recon_warning(report, len(found), line, 512):
        found.append(message(line))
    return found


def _opened(scan: Source, device: str | Device | None, traj_units: str | None,
            options: Mapping[str, Any]) -> tuple[Device, list[Any], Any]:
    """Where a call computes, what it keeps alive, and its source; names of options that do not exist are refused."""
    check_names(options)
    answer_ctrl_c()
    on = _arrays.device(device)
    keep: list[Any] = []
    source, _, _ = _source(scan, on, traj_units, options, keep)
    return on, keep, source


def plan(scan: Source, *, method: str = "auto", device: str | Device | None = "auto", traj_units: str | None = None,
         frames: Mapping[str, Any] | None = None, multiband: Mapping[str, Any] | None = None,
         maps: ArrayLike | None = None, lam: float | str | None = None,
         **options: Unpack[ReconOptions]) -> list[dict[str, Any]]:
    """What `recon` with these arguments would do for each series of images: members of larmor_recon_plan, such as
    grid, coils, bytes of memory; and in "places" the shape, geometry and counters of each image. Nothing is
    reconstructed."""
    others, frames = framing_of(options, frames)
    on, keep, source = _opened(scan, device, traj_units, others)
    if multiband is not None:
        source = _banded(source, multiband, on, keep)
    if frames is not None:
        source = _framed(source, frames, on, keep)
    run = created(lib.larmor_recon_create, "larmor_recon", lib.larmor_recon_free, source, on.pointer,
                  _options({"method": method, "maps": maps, "lam": lam, **others}, on, _Listener(False), keep))
    found = []
    for series in range(lib.larmor_recon_series(run)):
        made = ffi.new("larmor_recon_plan *")
        check(lib.larmor_recon_describe(run, series, made))
        found.append(_structs.to_dict(made))
        places = ffi.new("larmor_image_place[]", made.images)
        check(lib.larmor_recon_expect(run, series, places, ffi.NULL))
        found[-1]["places"] = [{"shape": _arrays.dims(place.shape),
                                **_structs.to_dict(place.meta)} for place in places]
    return found


def _result(function: Any, run: Any, *more: Any) -> Any:
    """An array that a run has left, or None."""
    found = ffi.new("larmor_array **")
    return None if function(run, found, *more) else _arrays.to_numpy(found[0])


@dataclass(repr=False)
class CoilMaps(_arrays.Brief):
    """Coil maps of a scan, as `recon` finds and takes them."""

    maps: Complexes  # [(sets,) coils, image...]
    eigenvalues: Floats | None  # [(sets,) image...] of "espirit", with keep_eigenvalues; else None
    meta: dict[str, Any]  # where they are
    report: dict[str, Any]
    log: list[str]
    warnings: list[str]


def find_maps(scan: Source, *, series: int = 0, device: str | Device | None = "auto",
              progress: bool | Listener = False, traj_units: str | None = None,
              **options: Unpack[ReconOptions]) -> CoilMaps:
    """The coil maps of a scan, as in `larmor maps`.

    scan     as of `recon`. series: of this series of images, each slice being one of its own.
    options  members of larmor_recon_opts: maps_method, map_sets, crop, normalise, calibration, matrix, fov_mm,
             no_whitening, memory, keep_eigenvalues, ...
    """
    on, keep, source = _opened(scan, device, traj_units, options)
    listener = _Listener(progress)
    report = ffi.new("larmor_coils_report *")
    meta = ffi.new("larmor_image_meta *")
    try:
        run = created(lib.larmor_recon_create, "larmor_recon", lib.larmor_recon_free, source, on.pointer,
                      _options(options, on, listener, keep))
        check(lib.larmor_recon_find_maps(run, series, report))
    finally:
        listener.close()
    out = ffi.new("larmor_array **")
    check(lib.larmor_recon_maps(run, out, meta))
    eigenvalues = _result(lib.larmor_recon_eigenvalues, run) if options.get("keep_eigenvalues") else None
    return CoilMaps(_arrays.to_numpy(out[0]), eigenvalues, _structs.to_dict(meta), _structs.to_dict(report),
                    listener.log, listener.warnings)


@dataclass(repr=False)
class FieldMaps(_arrays.Brief):
    """Off-resonance of a scan in Hz."""

    maps: Floats  # [slices, y, x] or [z, y, x], as `recon` takes them for b0
    meta: list[dict[str, Any]]  # geometry of each slice
    reports: list[dict[str, Any]]
    log: list[str]
    warnings: list[str]


def field_maps(scan: Source, *, echo_ms: Sequence[float] = (), rounds: int = 0, smooth: float = 0,
               threshold: float = 0, device: str | Device | None = "auto", progress: bool | Listener = False,
               traj_units: str | None = None, **options: Unpack[ReconOptions]) -> FieldMaps:
    """The field maps of a scan with several echoes, as in `larmor b0`.

    scan       as of `recon`.
    echo_ms    times of the echoes; default: the scan's.
    rounds     how often the echoes are reconstructed; default 2.
    smooth     in voxels, negative: hardly; threshold: of the object's magnitude, 0 to 1.
    options    members of larmor_recon_opts: only, memory, maps, ...
    """
    on, keep, source = _opened(scan, device, traj_units, options)
    listener = _Listener(progress)
    echo = ffi.new("larmor_echo_opts *", {"rounds": rounds, "map": {"smooth": smooth, "threshold": threshold}})
    if len(echo_ms):
        times = ffi.new("double[]", list(echo_ms))
        echo.echo_ms, echo.echoes = times, len(echo_ms)
    out = ffi.new("larmor_field_maps *")
    try:
        check(lib.larmor_recon_field_maps(source, on.pointer, _options(options, on, listener, keep), echo, out))
        return FieldMaps(_arrays.to_numpy(lib.larmor_array_ref(out.all)),
                         [_structs.to_dict(out.image[i].meta) for i in range(out.count)],
                         [_structs.to_dict(out.report[i]) for i in range(out.count)], listener.log, listener.warnings)
    finally:
        lib.larmor_field_maps_free(out)
        listener.close()


@dataclass(frozen=True)
class Finding:
    """Something about a scan: severity "error", "warning" or "note", the kind, and a line."""

    severity: str
    code: str
    text: str


def examine(path: Path, *, device: str | Device | None = None, **options: Any) -> list[Finding]:
    """What is wrong with a scan, and what `recon` would do with it, as in `larmor check`: errors first.

    options: those of larmor.Scan.
    """
    answer_ctrl_c()
    keep: list[Any] = []
    opts = ffi.new("larmor_raw_opts *")
    _structs.fill(opts, options, None, keep)
    out = ffi.new("larmor_findings *")
    try:
        check(lib.larmor_check(os.fsencode(path), opts, _arrays.device(device).pointer, out))
        return [Finding(text(lib.larmor_severity_name(f.severity)), text(f.code), message(f.text))
                for f in out.list[0:out.count]]
    finally:
        lib.larmor_findings_free(out)
