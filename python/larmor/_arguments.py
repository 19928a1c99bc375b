"""Arguments of public functions are what their annotations say, or an error names them; and what they make remembers
them, by which it is pickled and copied. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from larmor import _arrays
from larmor._library import ArgumentError, number, shown

_F = TypeVar("_F", bound=Callable[..., Any])

_NUMBERS: dict[str, Callable[[Any], Any]] = {"int": operator.index, "float": float}
_KNOWN = {"int", "float", "Sequence[int]", "Sequence[float]", "None"}
_SIZES = ("shape", "in_shape", "out_shape", "image", "matrix")
_SAMPLES = ("kspace", "traj")  # of which one that is not finite makes all that is found of them wrong


def _several(name: str, value: Any, to: Any) -> Any:
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__") or np.ndim(value) == 0:
        wanted = "whole numbers" if to is operator.index else "numbers"
        raise ArgumentError(f"{name}: got {shown(value)}, expected {wanted}")
    given = value if hasattr(value, "__len__") else tuple(value)
    for one in given:
        if number(name, one, to) < 0 and name in _SIZES:
            raise ArgumentError(f"{name}: got {shown(value)}, expected sizes of 0 or more")
    return given


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ArgumentError(f"{name}: got {shown(value)}, expected a text")
    return value


def _array(name: str, value: Any, is_host: bool) -> Any:
    found = _arrays.readable(value, name)
    if getattr(found, "ndim", 1) == 0:
        raise ArgumentError(f"{name}: got a number, expected an array")
    if is_host and name in _SAMPLES and isinstance(found, np.ndarray) and not np.all(np.isfinite(found)):
        raise ArgumentError(f"{name}: got numbers that are not finite")
    return found


def _accepted(name: str, annotation: str, value: Any) -> Any:
    """The value; lists of numbers as an array, and generators as a tuple."""
    kinds = annotation.split(" | ")
    if value is None and "None" in kinds:
        return value
    if "Mapping[str, float]" in kinds and not isinstance(value, Mapping):
        kinds.remove("Mapping[str, float]")
    if annotation == "Operator" and name != "A" and not hasattr(value, "in_shape"):  # solvers take any as A
        raise ArgumentError(f"{name}: got {shown(value)}, expected an operator of larmor.linop")
    for word, to in _NUMBERS.items() if _KNOWN.issuperset(kinds) else ():
        several = f"Sequence[{word}]" in kinds
        if word in kinds and not (several and hasattr(value, "__iter__") and np.ndim(value)):
            number(name, value, to)
            return value
        if several:
            return _several(name, value, to)
    if annotation == "str":
        return _text(name, value)
    if annotation == "bool" and (np.ndim(value) or value not in (False, True)):
        raise ArgumentError(f"{name}: got {shown(value)}, expected True or False")
    return _array(name, value, kinds[0] == "ArrayLike") if kinds[0] in ("Array", "ArrayLike") else value


def checked(function: _F) -> _F:
    """The function, whose arguments are checked."""
    signature = inspect.signature(function)
    usual = {name: p.default for name, p in signature.parameters.items()}
    annotation = {name: str(p.annotation) for name, p in signature.parameters.items()
                  if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}

    @functools.wraps(function)
    def call(*arguments: Any, **more: Any) -> Any:
        given = signature.bind(*arguments, **more)
        for name, value in given.arguments.items():
            if name in annotation and value is not usual[name]:
                given.arguments[name] = _accepted(name, annotation[name], value)
        try:
            return function(*given.args, **given.kwargs)
        except OverflowError as raised:
            raise ArgumentError(f"{function.__name__}: a number is too large: {raised}") from None

    return call  # type: ignore[return-value]


def _made_again(make: Any, arguments: Any, more: Any) -> Any:
    return make(*arguments, **more)


class Made:
    """What is pickled and copied by making it again of its arguments, if they are known."""

    _made_by: Any = None  # a function, its arguments and those by name

    def __reduce__(self) -> Any:
        if self._made_by is None:
            name = getattr(self, "name", type(self).__name__)
            raise TypeError(f"{name}: this cannot be pickled or copied; make it where it is needed")
        return _made_again, self._made_by


_Made = TypeVar("_Made", bound=Made)


def made_by(made: _Made, make: Any, *arguments: Any, **more: Any) -> _Made:
    """What this call makes, which remembers it."""
    made._made_by = (make, arguments, more)
    return made


def remembered(make: _F) -> _F:
    """The function, whose arguments are checked and remembered by what it makes."""
    make = checked(make)

    @functools.wraps(make)
    def call(*arguments: Any, **more: Any) -> Any:
        return made_by(make(*arguments, **more), call, *arguments, **more)

    return call  # type: ignore[return-value]


def check_all(module: dict[str, Any], wrap: Callable[[Any], Any] = checked) -> None:
    """Check the arguments of all public functions of a module, and of the methods of its classes."""
    for name, one in module.items():
        if name.startswith("_") or getattr(one, "__module__", None) != module["__name__"]:
            continue
        if inspect.isfunction(one):
            module[name] = wrap(one)
        elif inspect.isclass(one) and not dataclasses.is_dataclass(one):
            for method, body in list(vars(one).items()):
                if inspect.isfunction(body) and (method == "__init__" or not method.startswith("_")):
                    setattr(one, method, checked(body))
