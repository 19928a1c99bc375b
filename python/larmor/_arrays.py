"""Arrays of NumPy, CuPy, PyTorch and others as larmor's, and back, without a copy.

larmor's dim[0] is the fastest dimension, in NumPy's order the last axis: shapes are reversed, memory is shared.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from larmor._library import (
    ArgumentError,
    ShapeError,
    answer_ctrl_c,
    check,
    ffi,
    hold,
    let_go,
    lib,
    release_memory,
    text,
)
from larmor.typing import DType

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

Native: TypeAlias = Any  # an array of its own library, with what that can do

_TO_LARMOR: dict[Any, int] = {
    np.dtype(np.float32): lib.LARMOR_F32,
    np.dtype(np.float64): lib.LARMOR_F64,
    np.dtype(np.complex64): lib.LARMOR_C64,
    np.dtype(np.complex128): lib.LARMOR_C128,
    np.dtype(np.int64): lib.LARMOR_I64,
}
_TO_NUMPY = {number: kind for kind, number in _TO_LARMOR.items()}


_DLPACK_GPUS = (2, 13)  # kDLCUDA, kDLCUDAManaged

_NULL, _from_buffer = ffi.NULL, ffi.from_buffer
_wrap, _free = lib.larmor_array_wrap, lib.larmor_array_free


class Device:
    """A processor or a GPU. Several threads may use one: calls on a GPU take turns, those on a processor do not.

    spec: "cpu", "cpu:4" (4 threads), "cuda", "cuda:1", or "auto".
    """

    def __init__(self, spec: str = "auto") -> None:
        out = ffi.new("larmor_device **")
        check(lib.larmor_device_open(spec.encode(), out))
        self._take(ffi.gc(out[0], lib.larmor_device_free))
        self._asked = spec

    def _take(self, pointer: Any) -> None:
        self.pointer = pointer
        self.spec: str = text(lib.larmor_device_spec(self.pointer))
        self.is_gpu: bool = not self.spec.startswith("cpu")
        self._asked = self.spec
        self._stream: int | None = None
        # Held while a stream is chosen and work is queued on it; whoever holds it may take it again.
        self.turn: Any = threading.RLock() if self.is_gpu else contextlib.nullcontext()

    def __repr__(self) -> str:
        return f"larmor.Device({self.spec!r})"

    def __reduce__(self) -> Any:
        return device, (self._asked,)

    @property
    def members(self) -> list[Device]:
        """The devices of a group, such as "cpu:2,2" or "cuda:all" opens; none of a single device."""
        found = []
        for i in range(lib.larmor_device_members(self.pointer)):
            member = Device.__new__(Device)
            # A member lives as long as its group, which each holds on to.
            member._take(ffi.gc(lib.larmor_device_member(self.pointer, i), lambda _, group=self.pointer: None))
            found.append(member)
        return found

    @property
    def memory(self) -> tuple[int, int]:
        """Bytes that are free, and all; 0 where that is unknown."""
        available, total = ffi.new("int64_t *"), ffi.new("int64_t *")
        check(lib.larmor_device_memory(self.pointer, available, total))
        return int(available[0]), int(total[0])

    @property
    def reason(self) -> str:
        """Which device it is and, if it was not asked for by name, why this one."""
        return text(lib.larmor_device_reason(self.pointer))

    def synchronize(self) -> None:
        """Wait until all that was queued is done."""
        check(lib.larmor_device_sync(self.pointer))

    def load_wisdom(self, path: str | None = None) -> None:
        """What NUFFT plans have learnt by timing: from a file, or the one in the user's cache."""
        check(lib.larmor_wisdom_load(self.pointer, path.encode() if path else ffi.NULL, ffi.NULL))

    def save_wisdom(self, path: str | None = None) -> None:
        """Write it, beside what the file has about other devices."""
        check(lib.larmor_wisdom_save(self.pointer, path.encode() if path else ffi.NULL))

    def forget_wisdom(self) -> None:
        """Forget all of it, and what `calibrate` found."""
        lib.larmor_wisdom_forget(self.pointer)

    def calibrate(self) -> None:
        """Fit the planner's model to this device, in about two seconds."""
        answer_ctrl_c()
        check(lib.larmor_nufft_calibrate(self.pointer))

    def use_stream(self, stream: int) -> None:
        """Queue what follows on this cudaStream_t."""
        stream = stream or 1  # the legacy default stream, which larmor knows as cudaStreamLegacy
        if self.is_gpu and stream != self._stream:
            check(lib.larmor_device_set_stream(self.pointer, ffi.cast("void *", stream)))
            self._stream = stream


class _Devices(threading.local):
    """Each thread has handles of its own of GPUs, so that threads do not wait for each other."""

    def __init__(self) -> None:
        self.opened: dict[str, Device] = {}


_devices = _Devices()
_processors: dict[str, Device] = {}  # what one thread makes on a processor goes with what another one makes
_opening = threading.Lock()


def device(spec: str | Device | None = None) -> Device:
    """The handle of a device, opened once, of a GPU once in each thread; None: all of the processor's cores."""
    if isinstance(spec, Device):
        return spec
    spec = "cpu" if spec is None else spec
    if not isinstance(spec, str):
        raise ArgumentError(f"device: got {spec!r}, expected a text such as \"cpu:4\", or a larmor.Device")
    found = _processors.get(spec) or _devices.opened.get(spec)
    if found is None:
        answer_ctrl_c()
        with _opening:
            found = _processors.get(spec)
            if found is None:
                found = Device(spec)
                (_devices.opened if found.is_gpu else _processors)[spec] = found
    return found


def devices() -> list[dict[str, Any]]:
    """The processor, every GPU, and each backend that is not available, with the reason."""
    count = ffi.new("int *")
    check(lib.larmor_device_list(ffi.NULL, 0, count))
    infos = ffi.new("larmor_device_info[]", count[0])
    check(lib.larmor_device_list(infos, count[0], count))
    return [{"spec": text(i.spec), "name": text(i.name), "available": bool(i.available), "reason": text(i.reason),
             "threads": int(i.threads), "memory": int(i.memory)} for i in infos]


class Memory(NamedTuple):
    """Where an array's numbers are."""

    address: int
    shape: tuple[int, ...]
    dtype: DType  # numpy.dtype
    gpu: int | None  # None: host memory
    stream: int | None
    owner: Any


def _is_torch(x: Any) -> bool:
    return type(x).__module__.partition(".")[0] == "torch"


def _is_cupy(x: Any) -> bool:
    return type(x).__module__.partition(".")[0] == "cupy"


def _has_tangent(x: Any) -> bool:
    """Whether this tensor has a derivative in forward mode."""
    import torch
    from torch.autograd import forward_ad

    if forward_ad._current_level < 0 or not torch._C._is_fwd_grad_enabled():
        return False
    unpacked: Any = forward_ad.unpack_dual
    return unpacked(x).tangent is not None


def wants_gradient(x: Any) -> bool:
    """Whether autograd is to know what is done with this tensor: for a gradient, in forward mode, or for vmap."""
    if not _is_torch(x):
        return False
    import torch

    is_recorded = x.requires_grad and torch.is_grad_enabled()
    return bool(is_recorded or torch._C._functorch.is_functorch_wrapped_tensor(x) or _has_tangent(x))


def _without_gradient(x: Any) -> Any:
    """The tensor itself, which autograd does not follow; refused where it is asked to."""
    if wants_gradient(x):
        raise ArgumentError("a tensor that requires a gradient, or that torch.func transforms: this call has none; "
                            "use larmor.torch, or hand in x.detach()")
    return x.detach()


def refuse_capture(on: Device) -> None:
    """Refuse to make a plan or an operator while PyTorch captures a CUDA graph, in which memory cannot be had."""
    torch = sys.modules.get("torch") if on.is_gpu else None
    if torch is not None and torch.cuda.is_current_stream_capturing():
        raise ArgumentError("a CUDA graph is captured, in which no plan and no operator can be made; make it before, "
                            "call it once, and capture plan.execute(x) or larmor.torch.apply(A, x)")


def _torch_memory(x: Any) -> Memory:
    import torch

    x = _without_gradient(x)
    if x.is_conj() or x.is_neg():
        raise ArgumentError("a tensor whose conjugation is pending has no memory of its own; call resolve_conj() "
                            "first")
    if not x.is_contiguous():
        raise ShapeError("a contiguous tensor is expected; call contiguous() first")
    dtype = np.dtype(str(x.dtype).removeprefix("torch."))
    if x.device.type == "cpu":
        return Memory(x.data_ptr(), tuple(x.shape), dtype, None, None, x)
    if x.device.type != "cuda":
        raise ArgumentError(f"a tensor on {x.device}: larmor computes on the processor and on NVIDIA's GPUs")
    stream = torch.cuda.current_stream(x.device).cuda_stream
    return Memory(x.data_ptr(), tuple(x.shape), dtype, x.device.index or 0, stream, x)


def _cuda_memory(x: Any) -> Memory:
    interface = x.__cuda_array_interface__
    strides = interface.get("strides")
    dtype = np.dtype(interface["typestr"])
    shape = tuple(interface["shape"])
    steps = tuple(int(np.prod(shape[i + 1:], dtype=np.int64)) * dtype.itemsize for i in range(len(shape)))
    if strides is not None and tuple(strides) != steps:
        raise ShapeError("a C-contiguous array is expected; call cupy.ascontiguousarray first")
    gpu, stream = 0, interface.get("stream")
    if _is_cupy(x):
        import cupy

        gpu, stream = x.device.id, cupy.cuda.get_current_stream().ptr
    return Memory(interface["data"][0], shape, dtype, gpu, stream, x)


def memory(x: Native) -> Memory:
    """The memory of an array, which must be contiguous in C's order."""
    if isinstance(x, np.ndarray):
        if not x.flags.c_contiguous:
            raise ShapeError("an array that is contiguous in C's order is expected; call numpy.ascontiguousarray "
                             "first")
        return Memory(x.ctypes.data, x.shape, x.dtype, None, None, x)
    if _is_torch(x):
        return _torch_memory(x)
    if hasattr(x, "__cuda_array_interface__"):
        return _cuda_memory(x)
    raise ArgumentError(f"{type(x).__name__} is no array that larmor knows; numpy.asarray makes one")


def dtype_of(x: Native) -> Any:
    """The NumPy type of an array's numbers."""
    return x.dtype if type(x) is np.ndarray else memory(x).dtype


def is_double(x: Native) -> bool:
    """Whether these are complex numbers of double precision."""
    return str(getattr(x, "dtype", "")).removeprefix("torch.") == "complex128"


def refuse_narrower(x: Native, dtype: DType, name: str) -> None:
    """Refuse complex128 where complex64 is computed in."""
    if np.dtype(dtype) == np.complex64 and is_double(x):
        raise ShapeError(f"{name}: got complex128, expected complex64; take a type of complex128 for the operator, "
                         "the plan or the maps, or hand in x.astype(numpy.complex64)")


def put(target: Native, found: Any, by: str) -> None:
    """What a function of the user returned, in an array of larmor's, of whose shape it must be."""
    shape = tuple(np.shape(found) if isinstance(found, (list, tuple)) else getattr(found, "shape", ()))
    if found is None or shape != tuple(target.shape):
        got = "None" if found is None else f"shape {shape}"
        raise ShapeError(f"{by}: returned {got}, expected an array of shape {tuple(target.shape)}")
    target[...] = found


def readable(x: Any, name: str) -> Any:
    """An array of numbers in this machine's order of bytes; one of a number or of lists of them."""
    if isinstance(x, (str, bytes)):
        raise ArgumentError(f"{name}: a text where an array is expected; larmor.read(FILE) reads the arrays of a "
                            "file")
    if x is None:
        raise ArgumentError(f"{name}: got None, expected an array")
    if not isinstance(x, np.ndarray):
        if hasattr(x, "__dlpack__") or hasattr(x, "__cuda_array_interface__"):
            return x
        try:
            x = np.asarray(x)
        except ValueError:
            raise ArgumentError(f"{name}: got lists of unequal lengths, expected an array") from None
    if x.dtype.kind not in "biufc":
        raise ArgumentError(f"{name}: got an array of {x.dtype}, expected numbers")
    return x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))


def as_input(x: Native, dtype: DType | None = None, *, narrow: bool = False, name: str = "input") -> Native:
    """An array that larmor can read: of this dtype and contiguous; a copy only where it is not.

    narrow  complex128 becomes complex64 where that is the dtype, which else is refused.
    name    of the array in messages.
    """
    if type(x) is np.ndarray and x.dtype == dtype and x.flags.c_contiguous:
        return x
    narrow = narrow or isinstance(x, (list, tuple))  # whose numbers have no precision of their own
    x = readable(x, name)
    if isinstance(x, np.ndarray) and np.any(getattr(x, "mask", False)):
        raise ArgumentError(f"{name}: a masked array, whose mask larmor does not take; fill it, as by x.filled(0)")
    kind = str(getattr(x, "dtype", ""))
    if dtype is not None and "complex" in kind and np.dtype(dtype).kind == "f":
        raise ArgumentError(f"{name}: got {kind.removeprefix('torch.')}, expected real numbers")
    if not narrow and dtype is not None:
        refuse_narrower(x, dtype, name)
    if _is_torch(x):
        if str(x.dtype) in ("torch.complex32", "torch.float16", "torch.bfloat16"):
            raise ArgumentError(f"a tensor of {x.dtype}: larmor computes in complex64 and complex128; hand in "
                                "x.to(torch.complex64)")
        x = _without_gradient(x).resolve_conj().resolve_neg()
        if dtype is not None:
            import torch

            x = x.to(getattr(torch, np.dtype(dtype).name))
        return x.contiguous()
    if _is_cupy(x):
        import cupy

        return cupy.ascontiguousarray(x, dtype=dtype)
    if hasattr(x, "__cuda_array_interface__"):
        return x
    if not isinstance(x, np.ndarray) and hasattr(x, "__dlpack__"):
        if x.__dlpack_device__()[0] in _DLPACK_GPUS:
            import cupy

            return cupy.ascontiguousarray(cupy.from_dlpack(x), dtype=dtype)
        x = np.from_dlpack(x)
    if dtype is None:
        dtype = np.asarray(x).dtype
        if dtype not in _TO_LARMOR:
            dtype = np.dtype(np.complex128 if dtype.kind == "c" else np.float64)
    return np.asarray(x, dtype=dtype, order="C")


def empty(like: Native, shape: Sequence[int], dtype: DType) -> Native:
    """A new array of the same library, on the same device."""
    if _is_torch(like):
        import torch

        return torch.empty(tuple(shape), dtype=getattr(torch, np.dtype(dtype).name), device=like.device)
    if _is_cupy(like):
        import cupy

        return cupy.empty(tuple(shape), dtype=dtype)
    if hasattr(like, "__cuda_array_interface__") and not isinstance(like, np.ndarray):
        raise ArgumentError(f"larmor cannot make a {type(like).__name__}; hand in the output, or use CuPy or PyTorch")
    return np.empty(tuple(shape), dtype=dtype)


def copied(x: Native) -> Native:
    """The same numbers in memory of their own."""
    return x.clone() if _is_torch(x) else x.copy()


def device_of(x: Native) -> Device:
    """This thread's device for an array, queueing on the stream that is current for it."""
    if isinstance(x, np.ndarray):
        return device("cpu")
    where = memory(x.detach() if _is_torch(x) else x)
    found = device("cpu" if where.gpu is None else f"cuda:{where.gpu}")
    if where.stream is not None:
        found.use_stream(where.stream)
    return found


def beside(x: Native, on: Device) -> Device:
    """The device in whose memory an array is: this one where it can be."""
    return on if (memory(x).gpu is not None) == on.is_gpu else device_of(x)


def on_host(x: Any) -> Any:
    """An array's numbers in host memory: a copy where they are on a GPU."""
    if isinstance(x, np.ndarray) or not hasattr(x, "__cuda_array_interface__"):
        return np.asarray(x)
    where = memory(x)
    out = np.empty(where.shape, where.dtype)
    check(lib.larmor_array_read(wrap(x, device_of(x)), ffi.cast("void *", out.ctypes.data), out.nbytes))
    return out


@functools.lru_cache(maxsize=256)
def shape_of(shape: tuple[int, ...]) -> Any:
    """A larmor_shape, its dimensions in the opposite order."""
    if len(shape) > 8:
        raise ShapeError(f"an array of {len(shape)} dimensions; larmor's have 8 at most")
    return ffi.new("larmor_shape *", (len(shape), list(shape[::-1])))[0]


def dims(shape: Any) -> tuple[int, ...]:
    """The axes of a larmor_shape in NumPy's order."""
    return tuple(shape.dim[shape.ndim - 1 - i] for i in range(shape.ndim))


class Brief:
    """What has members with arrays: its line has their shapes and types, and not their numbers."""

    def __repr__(self) -> str:
        members = ", ".join(f"{name} {_brief(value)}" for name, value in vars(self).items() if value is not None)
        return f"<larmor.{type(self).__name__} {members}>"


def _brief(value: Any) -> str:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{' x '.join(map(str, value.shape))} {value.dtype}"
    return f"of {len(value)}" if isinstance(value, (dict, list, tuple)) else repr(value)


def dtype_number(dtype: DType) -> int:
    """larmor's number of a NumPy type."""
    if np.dtype(dtype).kind in "US":
        raise ArgumentError("a text where an array is expected; larmor.read(FILE) reads the arrays of a file")
    try:
        return _TO_LARMOR[np.dtype(dtype)]
    except KeyError:
        raise ArgumentError(f"numbers of type {np.dtype(dtype)}; larmor has float32, float64, complex64, complex128 "
                            "and int64") from None


def dtype_name(number: int) -> Any:
    """The NumPy type of larmor's number."""
    return _TO_NUMPY[number]


def wrap(x: Native, on: Device, keep: bool = False, write: bool = False) -> Any:
    """A larmor_array in the memory of an array.

    The array lives as long as what is returned. keep: larmor may hold on to it for longer, and so it lives as long as
    larmor needs it.
    write: larmor writes to it, which arrays that are read-only refuse.
    """
    where = memory(x)
    if not write and where.gpu is None and isinstance(x, np.ndarray) and where.address % x.itemsize:
        where = memory(x.copy())  # larmor's numbers are aligned to their size, NumPy's need not be
    if write and isinstance(x, np.ndarray) and not x.flags.writeable:
        raise ArgumentError("the output is read-only")
    if (where.gpu is not None) != on.is_gpu:
        raise ShapeError(f"the array is {'on a GPU' if where.gpu is not None else 'in host memory'}, but the device "
                         f"is {on.spec}")
    out = ffi.new("larmor_array **")
    size = 1
    for n in where.shape:
        size *= n
    data = ffi.cast("void *", where.address) if size else ffi.NULL
    handle = hold(where.owner) if keep and size else ffi.NULL
    release = release_memory if handle else ffi.NULL
    status = lib.larmor_array_wrap(on.pointer, dtype_number(where.dtype), shape_of(where.shape), data, release,
                                   handle, out)
    if status and handle:
        let_go(handle)
    check(status)
    return ffi.gc(out[0], lambda array, owner=where.owner: lib.larmor_array_free(array))


def run(function: Any, handle: Any, on: Device, x: Native, out: Native) -> None:
    """function(handle, x, out). For arrays of NumPy, of which small ones are many, by the shortest way."""
    if on.is_gpu or type(x) is not np.ndarray or type(out) is not np.ndarray or not (x.size and out.size):
        check(function(handle, wrap(x, on), wrap(out, on, write=True)))
        return
    if not out.flags.writeable:
        raise ArgumentError("the output is read-only")
    try:
        source, target = _from_buffer(x), _from_buffer(out)
    except ValueError:
        raise ShapeError("an array that is contiguous in C's order is expected; call numpy.ascontiguousarray "
                         "first") from None
    cell = ffi.new("larmor_array *[2]")
    try:
        if _wrap(on.pointer, _TO_LARMOR[x.dtype], shape_of(x.shape), source, _NULL, _NULL, cell):
            source = _from_buffer(x.copy())  # where it is not aligned
            check(_wrap(on.pointer, _TO_LARMOR[x.dtype], shape_of(x.shape), source, _NULL, _NULL, cell))
        check(_wrap(on.pointer, _TO_LARMOR[out.dtype], shape_of(out.shape), target, _NULL, _NULL, cell + 1))
        check(function(handle, cell[0], cell[1]))
    finally:
        _free(cell[0])
        _free(cell[1])


def run_on(function: Any, handle: Any, on: Device, x: Native, out: Native) -> None:
    """run, on a GPU on the stream that is current for x."""
    if not on.is_gpu:
        run(function, handle, on, x, out)
        return
    with on.turn:
        stream = memory(x).stream
        if stream is not None:
            on.use_stream(stream)
        run(function, handle, on, x, out)


class _Borrowed:
    """Device memory of a larmor_array, for libraries that know the protocol."""

    def __init__(self, pointer: Any, owner: Any) -> None:
        self._owner = owner
        dtype = dtype_name(lib.larmor_array_dtype(pointer))
        self.__cuda_array_interface__ = {
            "shape": dims(lib.larmor_array_shape(pointer)), "typestr": dtype.str, "version": 3, "strides": None,
            "data": (int(ffi.cast("uintptr_t", lib.larmor_array_data(pointer))), False), "stream": None}


def view(pointer: Any, owner: Any = None, like: Native = None) -> Native:
    """An array in the memory of a larmor_array; owner is kept alive with it. On a GPU: of the library of `like`."""
    on_gpu = not text(lib.larmor_device_spec(lib.larmor_array_device(pointer))).startswith("cpu")
    if on_gpu:
        borrowed = _Borrowed(pointer, owner)
        if like is not None and _is_torch(like):
            import torch

            return torch.as_tensor(borrowed, device=like.device)
        import cupy

        return cupy.asarray(borrowed)
    shape = dims(lib.larmor_array_shape(pointer))
    dtype = dtype_name(lib.larmor_array_dtype(pointer))
    size = lib.larmor_array_bytes(pointer)
    if not size:
        return np.empty(shape, dtype)
    data = ffi.cast("char *", lib.larmor_array_data(pointer))
    if owner is not None:
        data = ffi.gc(data, lambda _, kept=owner: None)
    return np.frombuffer(ffi.buffer(data, size), dtype).reshape(shape)


def to_numpy(pointer: Any) -> Any:
    """A larmor_array that the caller owns as a NumPy array: in its memory, or a copy from a GPU."""
    owned = ffi.gc(pointer, lib.larmor_array_free)
    if text(lib.larmor_device_spec(lib.larmor_array_device(pointer))).startswith("cpu"):
        return view(owned, owned)
    out = np.empty(dims(lib.larmor_array_shape(owned)), dtype_name(lib.larmor_array_dtype(owned)))
    check(lib.larmor_array_read(owned, ffi.cast("void *", out.ctypes.data), out.nbytes))
    return out
