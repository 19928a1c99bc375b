"""Denoisers for `larmor.solve.pnp` and `larmor.recon(scan, prior=...)`: your own functions, plugins, and larmor's.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from larmor import _arguments, _arrays, _library
from larmor._arrays import Device, Native
from larmor._library import ArgumentError, ShapeError, check, ffi, lib
from larmor.typing import Array, ArrayT, Complexes, DenoiserFunction, Path

__all__ = ["Denoiser", "Function", "named", "open", "tensor_of"]

_FORMS = {"complex": lib.LARMOR_DENOISE_COMPLEX, "channels": lib.LARMOR_DENOISE_CHANNELS,
          "magnitude": lib.LARMOR_DENOISE_MAGNITUDE}
_GPUS = 2  # kDLCUDA


class Denoiser(_arguments.Made):
    """What takes noise of a known deviation from complex arrays; made by the functions of this module. Threads that
    share one take turns."""

    def __init__(self, pointer: Any, own: _Own | None = None) -> None:
        self._denoiser = pointer
        self._own = own
        self.name: str = _library.text(lib.larmor_denoiser_name(pointer))

    def __repr__(self) -> str:
        return f"<larmor.prior.Denoiser {self.name}>"

    @overload
    def __call__(self, x: NDArray[Any], sigma: float, *, device: str | Device | None = None) -> Complexes: ...

    @overload
    def __call__(self, x: ArrayT, sigma: float, *, device: str | Device | None = None) -> ArrayT: ...

    def __call__(self, x: Array, sigma: float, *, device: str | Device | None = None) -> Native:
        """x without noise whose real and imaginary parts have the deviation sigma."""
        _library.answer_ctrl_c()
        x = _arrays.as_input(x, np.complex128 if _arrays.is_double(x) else np.complex64, name="x")
        on = _arrays.device_of(x) if device is None else _arrays.device(device)
        out = _arrays.empty(x, x.shape, np.complex128 if _arrays.is_double(x) else np.complex64)
        with on.turn:
            self._check(lib.larmor_denoiser_apply(self._denoiser, sigma, _arrays.wrap(x, on),
                                                  _arrays.wrap(out, on, write=True)))
        return out

    def _check(self, status: int) -> None:
        """Raise what a call failed with, and before that what the function raised, in whichever thread."""
        self._answer()
        check(status)

    def _answer(self) -> None:
        if self._own is not None and self._own.raised is not None:
            raised, self._own.raised = self._own.raised, None
            raise raised


class _Own:
    def __init__(self, function: Any, form: str, arrays: str | None, name: str, label: Any) -> None:
        self.function: DenoiserFunction = function
        self.form: str = form
        self.arrays: str | None = arrays
        self.name: str = name
        self.label: Any = label
        self.raised: BaseException | None = None

    def view(self, x: Any) -> Any:
        """A larmor_array as the function gets it."""
        number = tensor_of(x).device.device_id
        on_gpu = tensor_of(x).device.device_type == _GPUS
        like = None
        if self.arrays == "torch":
            import torch

            like = torch.empty(0, device=f"cuda:{number}" if on_gpu else "cpu")
        seen = _arrays.view(x, like=like)
        if self.arrays == "torch" and not on_gpu:
            seen = torch.utils.dlpack.from_dlpack(seen)
        if self.form == "channels":
            seen = seen.movedim(-1, 0) if self.arrays == "torch" else np.moveaxis(seen, -1, 0)
        return seen.real if self.form == "magnitude" else seen

    def wait(self, x: Any) -> None:
        """Until all that the function has queued on a GPU is done."""
        if tensor_of(x).device.device_type != _GPUS:
            return
        if self.arrays == "torch":
            import torch

            torch.cuda.current_stream(tensor_of(x).device.device_id).synchronize()
        else:
            import cupy

            cupy.cuda.get_current_stream().synchronize()

    def apply(self, sigma: float, x: Any, z: Any) -> None:
        """z <- function(x, sigma)."""
        check(lib.larmor_device_sync(lib.larmor_array_device(x)))
        seen, target = self.view(x), self.view(z)
        got: Native = self.function(seen, sigma)
        shape = getattr(got, "shape", None)
        if shape is None or tuple(shape) != tuple(seen.shape):
            found = type(got).__name__ if shape is None else f"an array of shape {tuple(shape)}"
            raise ShapeError(f"prior {self.name}: got {found}, expected {tuple(seen.shape)}")
        if self.arrays == "torch":
            target.copy_(got.detach())
        else:
            target[...] = got if isinstance(got, type(target)) else _converted(got, target)
        self.wait(x)


def _converted(got: Any, target: Any) -> Any:
    """An array of another library as one of the target's, by DLPack."""
    got = got.detach() if hasattr(got, "detach") else got
    if isinstance(target, np.ndarray):
        return np.from_dlpack(got) if hasattr(got, "__dlpack__") else np.asarray(got)
    import cupy

    return cupy.from_dlpack(got)


def tensor_of(x: Any) -> Any:
    """A larmor_array as a larmor_dl_tensor, which is DLPack's DLTensor; its shape lives as long as what is
    returned."""
    shape, strides = ffi.new("int64_t[8]"), ffi.new("int64_t[8]")
    tensor = ffi.new("larmor_dl_tensor *")
    check(lib.larmor_array_tensor(x, lib.LARMOR_DENOISE_COMPLEX, shape, strides, tensor))
    return ffi.gc(tensor, lambda _, kept=(shape, strides): None)


@_library.callback("larmor_status(void *, double, const larmor_array *, larmor_array *)", lib.LARMOR_ERR_BACKEND)
def _own_apply(me: Any, sigma: float, x: Any, z: Any) -> int:
    own = _library.held(me)
    try:
        own.apply(sigma, x, z)
        return 0
    except BaseException as raised:  # KeyboardInterrupt, too: nothing may pass through C
        own.raised = raised
        return _library.fail(lib.LARMOR_ERR_BACKEND, raised)


def Function(function: DenoiserFunction, *, form: str = "complex", residual: bool = False,
             arrays: str | None = None, name: str | None = None) -> Denoiser:
    """A denoiser of your own: function(x, sigma) returns x without noise whose real and imaginary parts have the
    deviation sigma, as an array of x's shape. x may be read during the call alone.

    form      "complex": x is [(frames,) image...]; "channels": real numbers [2, (frames,) image...], real and
              imaginary parts; "magnitude": real numbers, and the result gets the phase of the image.
    residual  the function returns the noise.
    arrays    that the function gets: None: NumPy's, and on a GPU CuPy's; "torch": tensors.
    An exception ends the solver and reaches its caller.
    """
    if form not in _FORMS:
        raise ArgumentError(f"form: got {form!r}, expected one of {', '.join(_FORMS)}")
    if arrays not in (None, "torch"):
        raise ArgumentError(f"arrays: got {arrays!r}, expected None or 'torch'")
    said = str(name or getattr(function, "__name__", type(function).__name__))
    label = ffi.new("char[]", said.encode())
    own = _Own(function, form, arrays, said, label)
    impl = ffi.new("larmor_denoiser_impl *", {"name": label, "apply": _own_apply, "form": _FORMS[form],
                                              "destroy": _library.release_handle, "is_residual": residual})
    me = _library.hold(own)
    try:
        made = _library.created(lib.larmor_denoiser_create, "larmor_denoiser", lib.larmor_denoiser_free, impl, me)
    except BaseException:
        _library.let_go(me)
        raise
    return Denoiser(made, own)


def named(name: str, weight: float = 1) -> Denoiser:
    """One of larmor's: argmin over z of |z - x|^2 / 2 + sigma weight R(z), R of `larmor.solve.regularisers`."""
    return Denoiser(_library.created(lib.larmor_denoiser_named, "larmor_denoiser", lib.larmor_denoiser_free,
                                     name.encode(), weight))


def open(path: Path) -> Denoiser:
    """A plugin, whose code runs with the rights of this process: the path of a shared object, with its argument
    behind a colon: "./plugin.so:ARGUMENT"."""
    return Denoiser(_library.created(lib.larmor_prior_open, "larmor_denoiser", lib.larmor_denoiser_free,
                                     os.fsencode(path)))


def _taken(prior: Any, like: Native = None) -> Denoiser:
    """A denoiser from what a caller gives: itself, a path, or a function, which gets arrays like the caller's."""
    if isinstance(prior, Denoiser):
        return prior
    if isinstance(prior, (str, bytes, os.PathLike)):
        return open(os.fsdecode(prior))
    if callable(prior):
        return Function(prior, arrays="torch" if like is not None and _arrays._is_torch(like) else None)
    raise ArgumentError(f"prior: got {type(prior).__name__}, expected a function, a larmor.prior.Denoiser or the "
                        "path of a plugin")
