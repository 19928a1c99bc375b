"""Scans in memory from a source of readouts and waveforms: larmor.scan_of. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from larmor import _arrays, _scan, _structs
from larmor._library import ArgumentError, ShapeError, answer_ctrl_c, check, created, ffi, lib
from larmor.typing import ArrayLike, Item, Readout

_HEADER = """<?xml version="1.0"?>
<ismrmrdHeader xmlns="http://www.ismrm.org/ISMRMRD"><encoding>{spaces}<encodingLimits/>\
<trajectory>other</trajectory></encoding>{waves}</ismrmrdHeader>"""
_SPACE = "<{name}><matrixSize>{matrix}</matrixSize><fieldOfView_mm>{fov}</fieldOfView_mm></{name}>"
_WAVE = """<waveformInformation><waveformName>{kind}</waveformName><waveformType>{kind}</waveformType>\
<userParameters><userParameterLong><name>WaveformId</name><value>{number}</value></userParameterLong>\
<userParameterLong><name>TriggerChannel</name><value>{trigger}</value></userParameterLong>\
</userParameters></waveformInformation>"""
_KINDS = ("ecg", "pulse", "respiratory")  # by the numbers of ISMRMRD


@dataclass(frozen=True, repr=False)
class Waveform(_arrays.Brief):
    """A block of an ECG, of the pulse or of the breath, as `scan_of` takes it between readouts.

    kind        "ecg", "pulse" or "respiratory", or a number that the header says more of.
    data        [channels, samples], whole numbers from -2^31 to 2^31.
    time_stamp  of the first sample, in the ticks of the readouts.
    sample_us   from one sample to the next.
    trigger     the channel with the scanner's triggers, if there is one; of a header of one's own its
                waveformInformation counts.
    """

    kind: str | int
    data: ArrayLike
    time_stamp: int
    sample_us: float
    trigger: int | None = None

    @property
    def _number(self) -> int:
        if isinstance(self.kind, int):
            return self.kind
        if self.kind not in _KINDS:
            raise ArgumentError(f'waveform: got "{self.kind}", expected {", ".join(_KINDS)} or a number')
        return _KINDS.index(self.kind)

    def _block(self, keep: list[Any]) -> Any:
        data = np.atleast_2d(np.asarray(self.data))
        if data.ndim != 2 or not np.issubdtype(data.dtype, np.number) or not np.array_equal(data, np.rint(data)):
            raise ShapeError(f"waveform: got {data.dtype} of shape {data.shape}, expected whole numbers [channels, "
                             "samples]")
        if data.size and (data.min() < -2**31 or data.max() >= 2**32):
            raise ArgumentError(f"waveform: got {data.min()} to {data.max()}, expected numbers of 32 bits")
        numbers = np.ascontiguousarray(data.astype(np.int64).astype(np.uint32))
        keep.append(ffi.from_buffer("uint32_t[]", numbers))
        block = ffi.new("larmor_waveform *")
        _structs.fill(block, {"id": self._number, "channels": data.shape[0], "samples": data.shape[1],
                              "time_stamp": self.time_stamp, "sample_us": self.sample_us})
        block.data = keep[-1]
        return block


def _xyz(values: Sequence[Any], third: Any) -> str:
    along = [*values[::-1], third][:3]
    return "".join(f"<{axis}>{value}</{axis}>" for axis, value in zip("xyz", along))


def header_of(matrix: Sequence[int], fov_mm: Sequence[float] | None, waves: Iterable[Waveform] = ()) -> str:
    """An ISMRMRD header that says the grid, and the channels of triggers."""
    sizes = [int(n) for n in matrix]
    lengths = [float(n) for n in (sizes if fov_mm is None else fov_mm)]
    if len(sizes) not in (2, 3) or len(lengths) != len(sizes):
        raise ArgumentError(f"matrix and fov_mm: got {len(sizes)} and {len(lengths)} numbers, expected 2 or 3 of "
                            "both")
    values = {"matrix": _xyz(sizes, 1), "fov": _xyz(lengths, 1.0)}
    both = ("encodedSpace", "reconSpace")
    said = {wave._number: wave.trigger for wave in waves if wave.trigger is not None and wave._number < len(_KINDS)}
    return _HEADER.format(
        spaces="".join(_SPACE.format(name=name, **values) for name in both),
        waves="".join(_WAVE.format(kind=_KINDS[number], number=number, trigger=channel)
                      for number, channel in sorted(said.items())))


def parts_of(kspace: ArrayLike, traj: ArrayLike) -> tuple[Any, Any]:
    """K-space [coils, readouts, samples] and trajectory [readouts, samples, ndim] of one readout or several."""
    data, k = _arrays.as_input(kspace, np.complex64, name="kspace"), np.asarray(traj, dtype=np.float32)
    if np.ndim(data) == 2 and k.ndim == 2:
        data, k = data[:, None], k[None]
    if np.ndim(data) != 3 or k.ndim != 3 or tuple(data.shape[1:]) != k.shape[:2]:
        raise ShapeError(f"kspace and traj: got shapes {tuple(np.shape(kspace))} and {tuple(np.shape(traj))}, "
                         "expected [coils, readouts, samples] and [readouts, samples, ndim]")
    return data, k


def fill_acquisition(one: Any, data: Any, traj: Any, flags: int, members: Any) -> list[Any]:
    """A larmor_acquisition of k-space [coils, samples]; what has to stay as long as it."""
    numbers, points = np.ascontiguousarray(data), _scan.flipped(traj)
    one.flags, one.samples, one.coils, one.traj_dims = flags, traj.shape[0], data.shape[0], traj.shape[1]
    one.center_sample = int(np.argmin(np.sum(points * points, axis=-1)))
    held = [ffi.from_buffer("float[]", numbers), ffi.from_buffer("float[]", points)]
    one.data, one.traj = held
    _structs.fill(one, members)
    return held


def taken_apart(item: Any) -> tuple[Any, Any, dict[str, Any]]:
    """K-space, trajectory, and members of larmor_acquisition."""
    if not isinstance(item, (tuple, list)) or len(item) not in (2, 3):
        got = f"{len(item)} parts" if isinstance(item, (tuple, list)) else type(item).__name__
        raise ArgumentError(f"readout: got {got}, expected (kspace, traj), (kspace, traj, flags) or (kspace, traj, "
                            "members)")
    kspace, traj, *more = item
    rest = more[0] if more else 0
    return kspace, traj, dict(rest) if isinstance(rest, dict) else {"flags": rest}


def _readouts(item: Readout, keep: list[Any]) -> list[Any]:
    kspace, traj, members = taken_apart(item)
    flags = members.pop("flags", 0)
    data, k = parts_of(kspace, traj)
    each = np.broadcast_to(np.asarray(flags, dtype=np.uint64), k.shape[:1])
    found = []
    for r in range(k.shape[0]):
        found.append(ffi.new("larmor_acquisition *"))
        keep.extend(fill_acquisition(found[-1], data[:, r], k[r], int(each[r]), members))
    return found


def scan_of(items: Iterable[Item], header: _scan.Scan | str | bytes | Sequence[int], *,
            fov_mm: Sequence[float] | None = None, **options: Any) -> _scan.Scan:
    """A `larmor.Scan` in memory of readouts, and of waveforms between them, as a generator yields them; as a file
    that has the same would be. `larmor.recon(scan, bins="heart:20,breath:4")` takes its waveforms.

    items    in the order of acquisition, each (kspace, traj), (kspace, traj, flags) or (kspace, traj, members), or
             a `larmor.Waveform`. kspace is [coils, samples] of one readout or [coils, readouts, samples], complex64;
             traj [samples, ndim] or [readouts, samples, ndim], columns (kz,) ky, kx; flags are ISMRMRD's; members
             those of larmor_acquisition, as {"time_stamp": 40, "step1": 3, "flags": 0}.
    header   a `larmor.Scan`, the XML text of an ISMRMRD header, or [y, x] or [z, y, x] of the image, of voxels of
             1 mm or with `fov_mm`; the trajectory is then in cycles per field of view.
    options  as of `larmor.Scan`.
    """
    keep: list[Any] = []
    waves: list[Waveform] = []
    acquisitions: list[Any] = []
    for item in items:
        answer_ctrl_c()
        if isinstance(item, Waveform):
            waves.append(item)
        else:
            acquisitions.extend(_readouts(item, keep))
    if isinstance(header, _scan.Scan):
        xml = header.xml.encode()
    elif isinstance(header, (str, bytes)):
        xml = header.encode() if isinstance(header, str) else header
    else:
        xml, options = header_of(header, fov_mm, waves).encode(), {"traj_units": "1/fov", **options}
    all_of_them = ffi.new("larmor_acquisition[]", [one[0] for one in acquisitions])
    opts = ffi.new("larmor_raw_opts *")
    _structs.fill(opts, _scan.raw_options(options, keep), None, keep)
    pointer = created(lib.larmor_raw_of_acquisitions, "larmor_raw", lib.larmor_raw_free, xml, len(xml), all_of_them,
                      len(acquisitions), opts)
    blocks = ffi.new("larmor_waveform[]", [wave._block(keep)[0] for wave in waves])
    check(lib.larmor_raw_add_waveforms(pointer, blocks, len(waves)))
    return _scan.Scan._in_memory(pointer)
