"""A scan in, images out: larmor.recon, and larmor.reconstruct, which gives them as they come.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import collections
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from larmor import _arguments, _arrays
from larmor import prior as _prior
from larmor._arrays import Device
from larmor._library import Stopped, Turns, answer_ctrl_c, check, created, ffi, lib, message, version
from larmor._runs import html as _html
from larmor._runs import recon as _recon
from larmor._runs.options import HELP, ReconOptions
from larmor._runs.recon import Listener, Reconstruction, Source
from larmor.typing import Array, Complexes, DenoiserFunction, Floats, Path

if TYPE_CHECKING:
    from typing_extensions import TypeAlias, Unpack

Progress: TypeAlias = "bool | Listener | Any"  # or a bar of tqdm or rich, which have no types
Prior: TypeAlias = "_prior.Denoiser | DenoiserFunction | Path"


@dataclass(frozen=True, repr=False)
class Image(_html.Picture):
    """An image of a run; `numpy.asarray` of it is the image."""

    image: Complexes  # [(z,) y, x]
    meta: dict[str, Any]  # geometry and counters
    report: dict[str, Any]  # of its series: weight, iterations, noise, warnings, ...
    noise: Floats | None = None  # these seven as of Reconstruction
    g: Floats | None = None
    height: Floats | None = None
    width: Floats | None = None
    posterior_mean: Complexes | None = None
    posterior_deviation: Floats | None = None


_MORE = ("noise", "g", "height", "width", "posterior_mean", "posterior_deviation")


class Run(_arguments.Made):
    """A reconstruction whose images come one after the other, by `for` or `async for`; made by `larmor.reconstruct`.

    After an exception, Ctrl-C among them, the images that are finished stay, and after Ctrl-C iterating again goes on
    with the series that it ended. It is a context manager, whose end frees what the run took.
    """

    def __init__(self, scan: Source, *, method: str = "auto", device: str | Device | None = "auto",
                 progress: Progress = False, frames: Mapping[str, Any] | None = None,
                 multiband: Mapping[str, Any] | None = None, maps: Array | bool | None = None,
                 lam: float | str | None = None, checkpoint: Path | None = None, traj_units: str | None = None,
                 prior: Prior | None = None, noise: bool | int | str = False, response: bool | int = False,
                 point_contrast: float = 0.1, posterior: bool | int = False, **options: Unpack[ReconOptions]) -> None:
        answer_ctrl_c()
        self._began = time.perf_counter()
        self.device: Device = _arrays.device(device)
        self._keep: list[Any] = []
        others, frames = _recon.framing_of(options, frames)
        self._asked = {"method": method, "maps": maps, "lam": lam, **others}
        _recon.check_names(self._asked)
        self._listener = _recon._Listener(progress)
        self._opts = _recon._options(self._asked, self.device, self._listener, self._keep)
        source = self._source_of(scan, traj_units, frames, multiband)
        self._denoiser = None if prior is None else _prior._taken(prior)
        if self._denoiser is not None:
            self._opts.prior = self._denoiser._denoiser
        self._counts = (_samples_of(noise), 4 if response is True else int(response),
                        32 if posterior is True else int(posterior))
        self._contrast, self._options = point_contrast, options
        self._images: list[Image] = []
        self._own: list[Any] = []  # reports as the library has them
        self._waiting: collections.deque[Image] = collections.deque()
        self._left: tuple[Any, Any, Any, Any] = (None, None, None, None)  # maps, density, eigenvalues, poses
        self._next, self._turns, self._settings = 0, Turns(), _recon._settings_of(self._opts)
        self._settings.update(_recon.framing_texts(frames))
        self._place = self._run = None
        try:
            if checkpoint is not None:
                self._place = created(lib.larmor_checkpoint_file, "larmor_checkpoint", lib.larmor_checkpoint_free,
                                      os.fsencode(checkpoint))
                self._opts.checkpoint = self._place
            self._run = created(lib.larmor_recon_create, "larmor_recon", lib.larmor_recon_free, source,
                                self.device.pointer, self._opts)
            self.series: int = int(lib.larmor_recon_series(self._run))
        except BaseException as raised:
            self._fail(raised)
            raise

    def _source_of(self, scan: Any, traj_units: str | None, frames: Any, multiband: Any) -> Any:
        source, self._header, self._name = _recon._source(scan, self.device, traj_units, self._asked, self._keep)
        if multiband is not None:
            source = _recon._banded(source, multiband, self.device, self._keep)
        return source if frames is None else _recon._framed(source, frames, self.device, self._keep)

    # ---- images one after the other ----

    def __iter__(self) -> Run:
        return self

    def __next__(self) -> Image:
        with self._turns:
            while not self._waiting:
                if self._run is None or self._next >= self.series:
                    self._close()
                    raise StopIteration
                self._compute()
            return self._waiting.popleft()

    def _compute(self) -> None:
        """The images of the next series."""
        answer_ctrl_c()
        result = ffi.new("larmor_recon_result *")
        try:
            check(lib.larmor_recon_run(self._run, self._next, result))
            if self._listener.cancelled:
                raise Stopped("the run was cancelled")
            found = self._images_of(result)
        except BaseException as raised:
            self._fail(raised)
            raise
        finally:
            lib.larmor_recon_result_free(result)
        self._next += 1
        self._images.extend(one for one, _ in found)
        self._waiting.extend(one for one, _ in found)
        self._own.extend(kept for _, kept in found)

    def _images_of(self, result: Any) -> list[tuple[Image, Any]]:
        """Each image, and its report as the library has it."""
        samples, probes, drawn = self._counts
        parts = (_noise_of(self._run, self._next, result, samples),
                 _response_of(self._run, self._next, result, probes, self._contrast),
                 _posterior_of(self._run, self._next, result, drawn))
        return [(Image(image, meta, report, *(one for pair in more for one in pair)), kept)
                for (image, meta, report, kept), *more in zip(_recon._images_of(result), *parts)]

    def _fail(self, raised: BaseException) -> None:
        """After an exception: the run ends but for Ctrl-C, and that of a denoiser takes the place of larmor's."""
        goes_on = self._run is not None and (isinstance(raised, KeyboardInterrupt) or self._listener.cancelled)
        if not goes_on:
            self._close()
        if self._denoiser is not None and isinstance(raised, Exception):
            self._denoiser._answer()

    # ---- the same for `async for` ----

    def __aiter__(self) -> Run:
        return self

    async def __anext__(self) -> Image:
        """The next image, computed in a thread meanwhile. A task that is cancelled ends the series' computation."""
        import asyncio

        work = asyncio.get_running_loop().run_in_executor(None, self._next_or_none)
        try:
            found = await asyncio.shield(work)
        except asyncio.CancelledError:
            self._listener.cancelled = True
            await _end_of(work)
            self._listener.cancelled = False
            raise
        if found is None:
            raise StopAsyncIteration
        return found

    def _next_or_none(self) -> Image | None:
        return next(self, None)

    # ---- the end ----

    def finished(self) -> Reconstruction:
        """All images that are finished so far, as `larmor.recon` returns them."""
        if self._run is not None:
            self._left = self._arrays_left()
        images, reports = self._images, [one.report for one in self._images]
        taken = reports[-1]["method"]["name"] if reports else self._asked["method"]
        provenance = {"larmor": version, "method": taken, "source": self._name, "device": self.device.spec,
                      "reason": self.device.reason, "seconds": time.perf_counter() - self._began,
                      "options": {k: v for k, v in self._options.items() if _is_short(v)},
                      "lam": self._asked["lam"], "settings": self._settings}
        more = {name: self._together_of(name) for name in _MORE}
        maps, density, eigenvalues, motion = self._left
        return Reconstruction(_together([one.image for one in images]), [one.meta for one in images], reports, maps,
                              list(self._listener.log), list(self._listener.warnings), provenance, density,
                              eigenvalues, **more, motion=motion, _header=self._header, _reports=list(self._own))

    def _together_of(self, name: str) -> Any:
        """A member of all images, or None where none has it."""
        values = [getattr(one, name) for one in self._images]
        return _together(values) if any(value is not None for value in values) else None

    def _arrays_left(self) -> tuple[Any, Any, Any, Any]:
        """Maps, density, eigenvalues and poses of the last series."""
        has_maps = self._images and self._asked["maps"] is None
        kept = [self._options.get(name) for name in ("keep_density", "keep_eigenvalues")]
        poses = _recon._result(lib.larmor_recon_motion, self._run) if self._options.get("motion_states") else None
        return (_recon._result(lib.larmor_recon_maps, self._run, ffi.NULL) if has_maps else None,
                _recon._result(lib.larmor_recon_density, self._run) if kept[0] else None,
                _recon._result(lib.larmor_recon_eigenvalues, self._run) if kept[1] else None,
                None if poses is None else poses.T)

    @property
    def log(self) -> list[str]:
        """What was found so far."""
        return self._listener.log

    @property
    def warnings(self) -> list[str]:
        """Of all images so far."""
        return self._listener.warnings

    def close(self) -> None:
        """The end of the run: frees what it took. Images that are finished stay, and before the last series a
        checkpoint keeps them."""
        with self._turns:
            self._close()

    def _close(self) -> None:
        if self._run is not None:
            if self._next < self.series and lib.larmor_recon_save(self._run):
                self._listener.warnings.append(message(lib.larmor_last_error()))
            self._left = self._arrays_left()
        self._listener.close()
        for made in (self._run, self._place):  # a traceback may keep this run, and with it the checkpoint's file
            if made is not None:
                ffi.release(made)
        self._run = self._place = None

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "" if self._run is not None else ", closed"
        return (f"<larmor.Run of {self._name}: {len(self._images)} images, {self._next} of {self.series} "
                f"series{state}>")


# ---- functions ----


def reconstruct(scan: Source, *, method: str = "auto", device: str | Device | None = "auto",
                progress: Progress = False, frames: Mapping[str, Any] | None = None,
                multiband: Mapping[str, Any] | None = None, maps: Array | bool | None = None,
                lam: float | str | None = None, checkpoint: Path | None = None, traj_units: str | None = None,
                prior: Prior | None = None, noise: bool | int | str = False, response: bool | int = False,
                point_contrast: float = 0.1, posterior: bool | int = False, **options: Unpack[ReconOptions]) -> Run:
    """The images of a scan as they come, with the arguments of `larmor.recon`:

        for image in larmor.reconstruct("scan.h5", progress=True):
            show(numpy.asarray(image))

    `async for` computes in a thread meanwhile. `Run.finished` has what there is as one Reconstruction, after Ctrl-C
    too.
    """
    return Run(scan, method=method, device=device, progress=progress, frames=frames, multiband=multiband, maps=maps,
               lam=lam, checkpoint=checkpoint, traj_units=traj_units, prior=prior, noise=noise, response=response,
               point_contrast=point_contrast, posterior=posterior, **options)


def recon(scan: Source, *, method: str = "auto", device: str | Device | None = "auto", progress: Progress = False,
          frames: Mapping[str, Any] | None = None, multiband: Mapping[str, Any] | None = None,
          maps: Array | bool | None = None, lam: float | str | None = None, checkpoint: Path | None = None,
          traj_units: str | None = None, prior: Prior | None = None, noise: bool | int | str = False,
          response: bool | int = False, point_contrast: float = 0.1, posterior: bool | int = False,
          **options: Unpack[ReconOptions]) -> Reconstruction:
    """Reconstruct the images of a scan.

    scan        path of an ISMRMRD file, a larmor.Scan, or larmor.ScanArrays.
    method      "auto" (default): "tv", or "tgv" without edges, where samples predict one another, else "cg"
                (SENSE by conjugate gradients); one of them, "grid", or another penalty: "tgv", "wavelet", "llr",
                "l1", "fft", "lowrank", "lowrank-sparse", "lowrank-multiscale", "clear", or several, such as
                "tv:xy+tv:t".
    device      default "auto": the first GPU that opens, else the processor. The program `larmor recon` takes the
                processor for small scans, as it pays a GPU's start each time; here that is paid once.
    progress    True: a bar (tqdm where it is installed); a bar of tqdm or a rich.progress.Progress of yours; or a
                function of each event, a dict with the members of larmor_event, which stops the run by returning
                True.
    frames      cut each image's readouts into frames: members of larmor_frames_opts, e.g. {"spokes": 21};
                or sort them into bins: members of larmor_bins_opts, e.g. {"heart": 20, "breath": 4}, with signals of
                your own as arrays: heart_times, heart_phase, breath_times, breath_signal; or by the options bins,
                gating and tick, as the program takes them.
    multiband   slices that were excited together: {"offset_mm": [-30, 0, 30]} in mm along the slice direction, with
                "shifts": N for phases 2 pi s j / N of slice s in readout j (default: as many as slices), or "phase":
                an array [slices, readouts] in rad. Images are volumes of them.
    maps        coil maps [(sets,) coils, image...]; default: from the data. False: root sum of squares, of "grid".
    lam         weight of the penalty as in `larmor recon --lambda`: a number or "noise:2"; default: from the data.
    prior       a denoiser in the place of a penalty: a function of x and sigma, a larmor.prior.Denoiser, or the path
                of a plugin; with prior_method ("admm", "red") and prior_sigma, in units of the noise in the image
                by cg. An exception of the function ends the run and is that of this call.
    scale       of the images: "integral" (default), whose k-space is their Fourier integral over the field of view,
                as of phantoms; "sum", whose k-space is the sum over their voxels, as in linop and nufft.
    noise       True, or a number of samples (64): also the noise in the images, as members noise, snr and g; from so
                many samples of noise, each of which costs a solution, where there is no formula. "quick": from one,
                averaged over neighbours; None of images by penalties.
    posterior   True, or a number of samples (32): also what the object may be, as members posterior_mean and
                posterior_deviation, by cg, tv or wavelet; each sample costs a solution.
    response    True, or a number of probes (4): also what becomes of a point, as members height and width; each probe
                costs a solution.
    point_contrast  the height of these points over the intensity of the object.
    checkpoint  path of a file in which the state is kept, and from which an interrupted run goes on.
    options     the other members of larmor_recon_opts, whose types are those of `larmor.ReconOptions`. Those along
                image axes are in NumPy's order; texts are what the program takes, as density="pipe" or memory="8G":

        {options}

    Ctrl-C leaves the images that are finished as the member `reconstruction` of its KeyboardInterrupt; before the
    first image is begun that is None.
    """
    run = None
    try:
        run = Run(scan, method=method, device=device, progress=progress, frames=frames, multiband=multiband,
                  maps=maps, lam=lam, checkpoint=checkpoint, traj_units=traj_units, prior=prior, noise=noise,
                  response=response, point_contrast=point_contrast, posterior=posterior, **options)
        for _ in run:
            pass
    except KeyboardInterrupt as raised:
        raised.reconstruction = None if run is None else run.finished()  # type: ignore[attr-defined]
        raise
    finally:
        if run is not None:
            run.close()
    return run.finished()


def _is_short(value: Any) -> bool:
    """Whether it is no array of two axes or more."""
    return bool(np.ndim(value) < 2)


recon.__doc__ = str(recon.__doc__).replace("{options}", HELP.rstrip())


async def _end_of(work: Any) -> None:
    """Until the work is done, however often the task is cancelled meanwhile; its exception does not count."""
    import asyncio

    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError:
            continue
    if not work.cancelled():
        work.exception()


def _together(images: list[Any]) -> Any:
    """One array where all have one shape."""
    alike = len({image.shape for image in images}) == 1
    return np.stack(images) if alike else images or np.empty((0,))


def _samples_of(noise: bool | int | str) -> int | str:
    """Samples of noise, or "quick"."""
    if not isinstance(noise, str):
        return 64 if noise is True else int(noise)
    if noise != "quick":
        raise ValueError(f'noise: got "{noise}", expected "quick", True or a number of samples')
    return noise


def _noise_of(run: Any, series: int, result: Any, samples: int | str) -> list[tuple[Any, Any]]:
    """The deviation and g of each image of a series; 0 samples, and quick maps that are none: None of each."""
    if not samples or not result.count:
        return [(None, None)] * result.count
    maps = ffi.new("larmor_noise_maps *")
    opts = ffi.new("larmor_noise_opts *", {"quick": 1} if samples == "quick" else {"samples": samples})
    check(lib.larmor_recon_noise(run, series, result, opts, maps))
    try:
        each = [maps.map[i] for i in range(maps.count)]
        if not each:
            return [(None, None)] * result.count
        return [(_arrays.to_numpy(lib.larmor_array_ref(one.deviation)),
                 _arrays.to_numpy(lib.larmor_array_ref(one.g)) if one.g else None) for one in each]
    finally:
        lib.larmor_noise_maps_free(maps)


def _response_of(run: Any, series: int, result: Any, probes: int, contrast: float) -> list[tuple[Any, Any]]:
    """The height and width of a point in each image of a series; 0 probes: None of each."""
    if not probes or not result.count:
        return [(None, None)] * result.count
    maps = ffi.new("larmor_response_maps *")
    opts = ffi.new("larmor_response_opts *", {"probes": probes, "contrast": contrast})
    check(lib.larmor_recon_response(run, series, result, opts, maps))
    try:
        each = [maps.map[i] for i in range(maps.count)]
        return [(_arrays.to_numpy(lib.larmor_array_ref(one.height)),
                 _arrays.to_numpy(lib.larmor_array_ref(one.width)))
                for one in each]
    finally:
        lib.larmor_response_maps_free(maps)


def _posterior_of(run: Any, series: int, result: Any, samples: int) -> list[tuple[Any, Any]]:
    """The mean and the deviation of each image of a series; 0 samples: None of each."""
    if not samples or not result.count:
        return [(None, None)] * result.count
    maps = ffi.new("larmor_posterior_maps *")
    check(lib.larmor_recon_posterior(run, series, result, samples, maps))
    try:
        each = [maps.map[i] for i in range(maps.count)]
        return [(_arrays.to_numpy(lib.larmor_array_ref(one.mean)),
                 _arrays.to_numpy(lib.larmor_array_ref(one.deviation))) for one in each]
    finally:
        lib.larmor_posterior_maps_free(maps)
