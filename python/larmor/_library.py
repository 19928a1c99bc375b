"""liblarmor, loaded: where it is, its errors as exceptions, Ctrl-C, and what its callbacks share.

cffi lets go of the interpreter's lock in every call, so that other threads of Python run meanwhile.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import operator
import os
import pathlib
import re
import threading
import traceback
from collections.abc import Callable
from typing import Any

from larmor._abi import ffi as _ffi

ffi: Any = _ffi


def _path() -> str:
    """$LARMOR_LIBRARY if that is an absolute path, else the library that was installed with this package."""
    asked = os.environ.get("LARMOR_LIBRARY", "")
    if asked:
        if not os.path.isabs(asked):
            raise ImportError(f"LARMOR_LIBRARY={asked} is not an absolute path; correct or unset it")
        return asked
    for folder in ("lib", "lib64"):
        found = sorted(pathlib.Path(__file__).parent.joinpath(folder).glob("liblarmor.so*"))
        if found:
            return str(found[0])
    raise ImportError("liblarmor is not installed beside larmor's Python files; install the package by pip, or set "
                      "LARMOR_LIBRARY to the path of liblarmor.so")


_SPIN = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "3000"}  # a tenth of a millisecond, as long as waking takes


def _load(path: str) -> Any:
    """liblarmor, whose OpenMP threads sleep soon where they wait, as the program's do: where there are more threads
    than cores, waiting ones take the time of those that compute.

    OpenMP reads its environment once, when it is loaded. What the user has set there is kept, and so is what OpenMP
    read for another package before. Afterwards the environment is what it was."""
    if any(name in os.environ for name in (*_SPIN, "KMP_BLOCKTIME")) or len(os.sched_getaffinity(0)) == 1:
        return ffi.dlopen(path)
    os.environ.update(_SPIN)
    try:
        return ffi.dlopen(path)
    finally:
        for name in _SPIN:
            os.environ.pop(name, None)


lib: Any = _load(_path())


# ---- errors ----


class Error(Exception):
    """What larmor refuses or fails at; the text is larmor's own line: what was wrong, where, what to do."""


class ArgumentError(Error, ValueError):
    """A value makes no sense: fix the call."""


class ShapeError(Error, ValueError):
    """Shapes, types or devices do not fit together."""


class OutOfMemoryError(Error, MemoryError):
    """Host or device memory is not enough: use less."""


class FileError(Error, OSError):
    """The operating system refused: path, permission, disk."""


class ExistsError(FileError, FileExistsError):
    """A file is there that was not to be replaced."""


class FormatError(Error, ValueError):
    """A file's content is damaged or not what it should be."""


class UnsupportedError(Error, NotImplementedError):
    """Correct, but not possible with this build or device."""


class BackendError(Error, RuntimeError):
    """A device or its library failed."""


class NumericError(Error, ArithmeticError):
    """Divergence, non-finite values, tolerance out of reach."""


class Stopped(Error):
    """A monitor or a listener stopped the call."""


_ERRORS: dict[int, type[Error]] = {
    lib.LARMOR_ERR_ARG: ArgumentError,
    lib.LARMOR_ERR_SHAPE: ShapeError,
    lib.LARMOR_ERR_MEMORY: OutOfMemoryError,
    lib.LARMOR_ERR_IO: FileError,
    lib.LARMOR_ERR_FORMAT: FormatError,
    lib.LARMOR_ERR_UNSUPPORTED: UnsupportedError,
    lib.LARMOR_ERR_BACKEND: BackendError,
    lib.LARMOR_ERR_NUMERIC: NumericError,
    lib.LARMOR_STOPPED: Stopped,
    lib.LARMOR_ERR_EXISTS: ExistsError,
}


class _OfThread(threading.local):
    """What callbacks leave for the call in which they ran."""

    raised: BaseException | None = None
    asks: bool = False  # the hook below is in place


_thread = _OfThread()


def error(status: int, line: str) -> Error:
    """The exception of a status."""
    return _ERRORS.get(status, Error)(line)


def check(status: int) -> None:
    """Raise what a call failed with: first of all the exception that one of its callbacks raised, which counts even
    where the call made the best of it."""
    raised = _thread.raised
    if raised is not None:
        _thread.raised = None
        raise raised
    if status:
        raise error(status, message(lib.larmor_last_error()))


_TYPES = {"f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128", "i64": "int64"}


def _reversed(axes: str) -> str:
    return ", ".join(axes.split(", ")[::-1])


_NUMBER = r"\d+(?:\.\d+)?(?:e[+-]\d+)?"
_PRODUCT = re.compile(rf"(?<![\w./-]){_NUMBER}(?: ?x ?{_NUMBER})+(?![\w/-]|\.\w)")


def _turned(product: str) -> str:
    between = " x " if " x " in product else "x"
    return between.join(product.split(between)[::-1])


def in_numpys_order(line: str) -> str:
    """The library's line with shapes as NumPy has them: "complex64 (4, 128)" for "c64 [128, 4]", "[readouts,
    samples]" for "[samples, readouts]", "1x64x32 voxels" for "32x64x1 voxels"."""
    line = re.sub(r"\b(f32|f64|c64|c128|i64) \[((?:\d+(?:, )?)*)\]",
                  lambda found: f"{_TYPES[found[1]]} ({_reversed(found[2])}{'' if ', ' in found[2] else ','})", line)
    line = re.sub(r"\[(\w+(?:\.\.\.)?(?:, \w+(?:\.\.\.)?)+)\]", lambda found: f"[{_reversed(found[1])}]", line)
    return _PRODUCT.sub(lambda found: _turned(found[0]), line).replace("X,Y,Z", "Z,Y,X")


# Arguments whose name is not that of the library's member, which its messages have: "opts.iters".
_ARGUMENTS = {"iters": "iterations", "lambda": "lam", "no_maps": "maps=False", "maps_place": 'maps_place["fov_mm"]',
              "spokes": 'frames["spokes"]', "ms": 'frames["ms"]', "phases": 'frames["phases"]',
              "gate": 'frames["gate"]', "only.slice": 'only["slice"]'}


def in_pythons_words(line: str) -> str:
    """The library's line as Python's callers speak: arguments for members ("lam" for "opts.lambda"), NumPy's
    order."""
    named = re.sub(r"(?<![^\s\"'(])opts\.([a-z0-9_]+(?:\.[a-z0-9_]+)*)",
                   lambda found: _ARGUMENTS.get(found[1], found[1]), line)
    return in_numpys_order(named)


def message(characters: Any) -> str:
    """A line of the library for the user, in Python's words."""
    return in_pythons_words(text(characters))


def text(characters: Any) -> str:
    """A C string; of NULL the empty one."""
    return str(ffi.string(characters).decode("utf-8", "replace")) if characters else ""


def fail(status: int, raised: BaseException) -> int:
    """The status, with the first line of the exception as its message."""
    line = "".join(traceback.format_exception_only(type(raised), raised)).strip().splitlines()
    return int(lib.larmor_fail(status, b"%s", ffi.new("char[]", (line[0] if line else "").encode())))


def _keep(kind: Any, raised: BaseException, trace: Any) -> None:
    """Keep a callback's exception for the call that is going on."""
    if _thread.raised is None:
        _thread.raised = raised
    fail(lib.LARMOR_STOPPED, raised)


def callback(name: str, failed: int) -> Callable[[Callable[..., Any]], Any]:
    """A C callback of this type, which returns `failed` after an exception; the caller of the C function gets that.
    What Ctrl-C raises where the callback begins is one, too, which no `try` within it would see."""
    made: Callable[[Callable[..., Any]], Any] = ffi.callback(name, error=failed, onerror=_keep)
    return made


# ---- Ctrl-C ----


def _on_signal(kind: Any, raised: BaseException, trace: Any) -> int:
    _thread.raised = raised
    return 1


# The interpreter runs handlers of signals between two of its own instructions: entering this function is enough. The
# exception that the handler of Ctrl-C raises ends up in _on_signal.
@ffi.callback("int(void *)", error=1, onerror=_on_signal)  # type: ignore[untyped-decorator]
def _stop_asked(user: Any) -> int:
    return 1 if _thread.raised is not None else 0


def shown(value: Any) -> str:
    """What was given, for a message of one line."""
    line = " ".join(repr(value).split())
    return line if len(line) <= 60 else f"{line[:57]}..."


def number(name: str, value: Any, to: Callable[[Any], Any]) -> Any:
    """A number by `to`: operator.index for whole ones of up to 64 bits, or float. Texts and truth values are none."""
    try:
        if isinstance(value, (str, bytes, bool)):
            raise TypeError
        found = to(value)
        if to is operator.index and not -2**63 <= found < 2**63:
            raise OverflowError
        return found
    except (TypeError, ValueError, OverflowError):
        wanted = "a whole number" if to is operator.index else "a number"
        raise ArgumentError(f"{name}: got {shown(value)}, expected {wanted}") from None


def answer_ctrl_c() -> None:
    """Let this thread's calls answer Ctrl-C. Python runs handlers of signals in its main thread alone."""
    if not _thread.asks and threading.current_thread() is threading.main_thread():
        lib.larmor_stop_when(_stop_asked, ffi.NULL)
        _thread.asks = True


# ---- callbacks ----

_alive: dict[Any, Any] = {}  # what C code still points to


def hold(thing: Any) -> Any:
    """A void pointer that stands for a Python object until let_go is called with it."""
    handle = ffi.new_handle(thing)
    _alive[handle] = thing
    return handle


def let_go(handle: Any) -> None:
    """The end of hold."""
    _alive.pop(handle, None)


def held(handle: Any) -> Any:
    """The object that the pointer stands for."""
    return ffi.from_handle(handle)


def _for_ever(callback: Any) -> Any:
    """A callback that outlives its module: objects that the interpreter forgets last, when it ends, still call it."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(callback))
    return callback


@_for_ever
@ffi.callback("void(void *)")  # type: ignore[untyped-decorator]
def release_handle(handle: Any, forget: Callable[..., Any] = _alive.pop) -> None:
    """As `destroy` of what C code owns. It needs nothing of this module, which may be gone by then."""
    forget(handle, None)


@_for_ever
@ffi.callback("void(void *, void *)")  # type: ignore[untyped-decorator]
def release_memory(data: Any, handle: Any, forget: Callable[..., Any] = _alive.pop) -> None:
    """As `release` of larmor_array_wrap, in the same way."""
    forget(handle, None)


def guarded(name: str) -> Callable[[Callable[..., Any]], Any]:
    """A C callback of this type that returns a status; its exceptions go to the caller of the C function."""

    def make(function: Callable[..., Any]) -> Any:
        return callback(name, lib.LARMOR_STOPPED)(lambda *arguments: int(function(*arguments) or 0))

    return make


def created(function: Any, kind: str, free: Any, *arguments: Any) -> Any:
    """Call a constructor whose last argument gets the object; the object is freed when Python forgets it."""
    answer_ctrl_c()
    out = ffi.new(kind + " **")
    check(function(*arguments, out))
    return ffi.gc(out[0], free)


class Turns:
    """One call of an object at a time: other threads wait, and what a listener calls within one is refused."""

    def __init__(self) -> None:
        self._lock, self._inside = threading.RLock(), False

    def __enter__(self) -> None:
        self._lock.acquire()
        if self._inside:
            self._lock.release()
            raise ArgumentError("a listener cannot use the object that it listens to")
        self._inside = True

    def __exit__(self, *_: object) -> None:
        self._inside = False
        self._lock.release()


version: str = text(lib.larmor_version())
