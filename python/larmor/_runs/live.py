"""Images while a scan runs: larmor.live and larmor.Live. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import collections
import os
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from larmor import _arguments, _arrays, _scan, _structs
from larmor._arrays import Device
from larmor._library import ArgumentError, Turns, answer_ctrl_c, check, created, ffi, lib
from larmor._runs import html as _html
from larmor._runs import readouts as _readouts
from larmor._runs import recon as _recon
from larmor.typing import ArrayLike, Complexes, Path, Readout

if TYPE_CHECKING:
    from typing_extensions import TypeAlias


@dataclass(frozen=True, repr=False)
class LiveImage(_html.Picture):
    """An image of the last readouts; `numpy.asarray` of it is the image."""

    image: Complexes  # [(z,) y, x]
    meta: dict[str, Any]  # geometry and counters
    report: dict[str, Any]  # weight, iterations, noise, warnings, ...
    readouts: int  # that had been pushed when it was complete, those included that make no image


class Live(_arguments.Made):
    """Images of the last readouts while a scan runs: push readouts, and take images as they come.

    Each image begins at the one before and is held to it; coil maps, delays and virtual coils are those of the first
    readouts. Iterating takes the images that are finished and not yet taken. They stay where a push is ended by an
    exception, as by Ctrl-C, and the next readouts may follow it. It is a context manager, whose end frees what the
    scan took; images stay. Threads take turns; a listener cannot push or close.

    header      a `larmor.Scan`, the XML text of an ISMRMRD header, or [y, x] or [z, y, x] of the image, of voxels of
                1 mm or with `fov_mm`; the trajectory is then in cycles per field of view.
    window      readouts of an image; default 21. every: from one image to the next; default the window.
    first       readouts of the first image; default 5 windows.
    iterations  of each image; default 5. hold: the weight of the image before; default 0.003.
    device, progress, maps, options   as of `larmor.recon`; methods are "cg" and "nlinv"; lam and tol are
                refused.
    traj_units  as of `larmor.Scan`. raw: its other options.
    """

    def __init__(self, header: _scan.Scan | str | bytes | Sequence[int], *, fov_mm: Sequence[float] | None = None,
                 window: int | None = None, every: int | None = None, first: int | None = None,
                 iterations: int | None = None, hold: float | None = None, device: str | Device | None = "auto",
                 progress: bool | _recon.Listener = False, traj_units: str | None = None,
                 raw: Mapping[str, Any] | None = None, **options: Any) -> None:
        if isinstance(header, _scan.Scan):
            header = header.xml
        elif not isinstance(header, (str, bytes)):
            header, traj_units = _readouts.header_of(header, fov_mm), traj_units or "1/fov"
        xml = header.encode() if isinstance(header, str) else header
        self.device: Device = _arrays.device(device)
        self._listener = _recon._Listener(progress)
        self._kept: list[Any] = []
        self._finished: collections.deque[LiveImage] = collections.deque()
        self._readouts, self._turns = 0, Turns()
        opts = ffi.new("larmor_live_opts *")
        _structs.fill(opts, {"window": window, "every": every, "first": first, "iters": iterations, "hold": hold,
                             "raw": {"traj_units": traj_units, **(raw or {})}}, self.device, self._kept)
        opts.recon = _recon._options(options, self.device, self._listener, self._kept)[0]
        self._live: Any = created(lib.larmor_live_create, "larmor_live", lib.larmor_live_free, xml, len(xml),
                                  self.device.pointer, opts)

    @property
    def log(self) -> list[str]:
        """What was found for the first image."""
        return self._listener.log

    @property
    def warnings(self) -> list[str]:
        """Of all images."""
        return self._listener.warnings

    def push(self, kspace: ArrayLike, traj: ArrayLike, *, flags: int | Sequence[int] = 0, **members: Any) -> int:
        """The next readouts, in the order of acquisition. Returns how many images are there to be taken.

        kspace   [coils, samples] of one readout, or [coils, readouts, samples]; complex64.
        traj     [samples, ndim] or [readouts, samples, ndim], columns (kz,) ky, kx.
        flags    of ISMRMRD, of all readouts or of each: noise readouts whiten, navigators are passed over.
        members  others of larmor_acquisition: dwell_us, time_stamp, position_mm, read_dir, center_sample (default
                 the sample that is nearest to the centre of k-space), ...
        """
        data, k = _readouts.parts_of(kspace, traj)
        each = np.broadcast_to(np.asarray(flags, dtype=np.uint64), k.shape[:1])
        one = ffi.new("larmor_acquisition *")
        for r in range(k.shape[0]):
            held = _readouts.fill_acquisition(one, data[:, r], k[r], int(each[r]), members)
            self._add(one)
            del held
        return len(self._finished)

    def _add(self, readout: Any) -> None:
        with self._turns:
            if self._live is None:
                raise ArgumentError("the scan has ended")
            answer_ctrl_c()
            self._readouts += 1
            result = ffi.new("larmor_recon_result *")
            try:
                check(lib.larmor_live_add(self._live, readout, result))
                self._finished.extend(LiveImage(image, meta, report, self._readouts)
                                      for image, meta, report, _ in _recon._images_of(result))
            finally:
                lib.larmor_recon_result_free(result)

    def __iter__(self) -> Iterator[LiveImage]:
        while self._finished:
            yield self._finished.popleft()

    def close(self) -> None:
        """The end of the scan. Images that are finished may still be taken."""
        with self._turns:
            if self._live is not None:
                ffi.release(self._live)
                self._live = None
                self._listener.close()

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


Header: TypeAlias = "_scan.Scan | str | bytes | Sequence[int]"


@overload
def live(readouts: Path | _scan.Scan | Iterable[Readout], header: Header | None = None,
         **options: Any) -> Iterator[LiveImage]: ...


@overload
def live(readouts: AsyncIterable[Readout], header: Header | None = None,
         **options: Any) -> AsyncIterator[LiveImage]: ...


def live(readouts: Any, header: Header | None = None,
         **options: Any) -> Iterator[LiveImage] | AsyncIterator[LiveImage]:
    """The images of the last readouts of a scan, each as soon as it is complete.

    readouts  the path of an ISMRMRD file; a `larmor.Scan`, best opened with as_stored=1, which keeps noise readouts;
              or what gives them one after the other, such as a generator: what `larmor.scan_of` takes, of which
              waveforms do not count. Of an asynchronous one the images come by `async for`, computed in a thread
              meanwhile.
    header    and options as of `larmor.Live`; default that of the scan.
    """
    if isinstance(readouts, (str, bytes, os.PathLike)):
        readouts = _scan.Scan(os.fsdecode(readouts), as_stored=1)
    if header is None and not isinstance(readouts, _scan.Scan):
        raise ArgumentError("header: needed where readouts are no scan")
    session = Live(readouts if header is None else header, **options)
    if isinstance(readouts, _scan.Scan):
        return _of_scan(session, readouts)
    return _as_they_come(session, readouts) if hasattr(readouts, "__aiter__") else _of_arrays(session, readouts)


def _push(session: Live, one: Any) -> None:
    if isinstance(one, _readouts.Waveform):
        return
    kspace, traj, members = _readouts.taken_apart(one)
    session.push(kspace, traj, **members)


async def _as_they_come(session: Live, readouts: Any) -> AsyncIterator[LiveImage]:
    import asyncio

    with session:
        async for one in readouts:
            await asyncio.to_thread(_push, session, one)
            for image in session:
                yield image


def _of_scan(session: Live, scan: _scan.Scan) -> Iterator[LiveImage]:
    one = ffi.new("larmor_acquisition *")
    with session:
        for i in range(scan.info["acquisitions"]):
            check(lib.larmor_raw_acquisition(scan.pointer, i, one))
            if one.data:
                session._add(one)
                yield from session


def _of_arrays(session: Live, readouts: Iterable[Any]) -> Iterator[LiveImage]:
    with session:
        for one in readouts:
            _push(session, one)
            yield from session
