"""C structs from and to dictionaries, by what the headers say of their members. SPDX-License-Identifier:
Apache-2.0"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from larmor import _arrays
from larmor._arrays import Device
from larmor._library import ArgumentError, ffi, in_pythons_words

_ARRAY = ffi.typeof("larmor_array")
BY_AXIS = {"matrix", "recon_matrix", "crop", "grid", "fov_mm", "recon_fov_mm", "oversample"}  # [x, y, z] in C


def _constant(name: str) -> str:
    """LARMOR_LAMBDA_FROM_DATA: "data"."""
    return name.rpartition("_")[2].lower()


def _value(kind: Any, value: Any, name: str) -> Any:
    if kind.kind == "struct":
        return to_dict(value)
    if kind.kind == "enum":
        return _constant(kind.elements[value]) if value in kind.elements else int(value)
    if kind.kind == "array":
        if kind.item.cname == "char":
            return ffi.string(value).decode("utf-8", "replace")
        values = [_value(kind.item, v, name) for v in value]
        return tuple(values[::-1]) if name in BY_AXIS else tuple(values)
    if kind.kind == "pointer":
        if kind.cname == "char *":
            return ffi.string(value).decode("utf-8", "replace") if value else None
        return None
    return float(value) if kind.cname in ("double", "float") else int(value)


def _members(kind: Any) -> Iterator[tuple[str, Any]]:
    """Names and types, those in unions without a name among them: other names of the same member."""
    for name, field in kind.fields:
        if name:
            yield name, field.type
        else:
            yield from _members(field.type)


def to_dict(struct: Any) -> dict[str, Any]:
    """The members of a struct; those along image axes in NumPy's order, constants by the last word of their name.
    Pointers to anything but text are left out."""
    kind = ffi.typeof(struct)
    if kind.kind == "pointer":
        kind = kind.item
    return {name: _value(member, getattr(struct, name), name) for name, member in _members(kind)
            if member.kind != "pointer" or member.cname == "char *"}


def is_constant(struct: str, name: str, value: str) -> bool:
    """Whether the member is a number that has constants, one of which has that last word."""
    kind = dict(ffi.typeof(struct).fields)[name].type
    return kind.kind == "enum" and value.lower() in map(_constant, kind.relements)


def _enumerated(kind: Any, name: str, value: Any) -> int:
    known = {_constant(constant): number for constant, number in kind.relements.items()}
    if isinstance(value, str) and value.lower() in known:
        return int(known[value.lower()])
    raise ArgumentError(f"{name}: got {value!r}, expected one of {', '.join(known)}")


def _numbers(kind: Any, name: str, value: Any) -> Any:
    """A scalar is the first number alone, which the library takes for all axes."""
    values = [value] if np.ndim(value) == 0 else list(value)
    if len(values) > kind.length:
        raise ArgumentError(f"{name}: got {len(values)} numbers, expected at most {kind.length}")
    return values[::-1] if name in BY_AXIS else values


def fill(struct: Any, options: Mapping[str, Any], on: Device | None = None, keep: list[Any] | None = None) -> None:
    """Set members by name. None leaves a member as it is.

    Arrays become larmor_arrays of the device `on`. What the struct points to is appended to `keep`.
    """
    kind = ffi.typeof(struct).item
    fields = dict(kind.fields)
    keep = keep if keep is not None else []
    for name, value in options.items():
        if name not in fields:
            raise TypeError(f"{name!r} is no member of {kind.cname}{nearest(name, fields)}; it has "
                            f"{', '.join(fields)}")
        if value is None:
            continue
        member = fields[name].type
        if member.kind == "enum":
            setattr(struct, name, _enumerated(member, name, value))
        elif member.kind == "struct":
            fill(ffi.addressof(struct, name), value, on, keep)
        elif member.kind == "array" and member.item.cname == "char":
            setattr(struct, name, str(value).encode())
        elif member.kind == "array":
            what = "numbers" if member.item.cname in ("double", "float") else "whole numbers"
            _set(struct, name, _numbers(member, name, value), f"got {value!r}, expected {what}")
        elif member.kind == "pointer":
            setattr(struct, name, _pointer(member, name, value, on, keep))
        else:
            _set_number(struct, name, value, member)


def _set_number(struct: Any, name: str, value: Any, kind: Any) -> None:
    what = "a number" if kind.cname in ("double", "float") else "a whole number, True or False"
    _set(struct, name, value, f"got {value!r}, expected {what}")


def _set(struct: Any, name: str, value: Any, otherwise: str) -> None:
    try:
        setattr(struct, name, value)
    except (TypeError, ValueError, OverflowError) as raised:
        raise ArgumentError(in_pythons_words(f"opts.{name}: {otherwise}")) from raised


def nearest(name: str, known: Iterable[str]) -> str:
    """"; did you mean NAME?" of the known name that is most like this one, or nothing."""
    import difflib

    found = difflib.get_close_matches(name, list(known), 1, 0.6)
    return f"; did you mean {found[0]}?" if found else ""


def _pointer(kind: Any, name: str, value: Any, on: Device | None, keep: list[Any]) -> Any:
    target = kind.item
    made: Any
    if target.cname == "char":
        made = ffi.new("char[]", str(value).encode())
    elif target == _ARRAY:
        if on is None:
            raise TypeError(f"{name}: no device for an array")
        given = _arrays.as_input(value, name=name)
        made = _arrays.wrap(given, _arrays.beside(given, on), keep=True)  # the library copies it to where it computes
    elif target.kind == "struct" and isinstance(value, Mapping):
        made = ffi.new(kind)
        if target.cname.endswith("larmor_counters"):  # where -1, not 0, stands for all
            fill(made, {member: -1 for member, _ in target.fields})
        fill(made, value, on, keep)
    elif target.kind == "primitive" and isinstance(value, (Sequence, np.ndarray)):
        made = ffi.new(f"{target.cname}[]", list(value))
    elif target.kind == "primitive":
        made = ffi.new(f"{target.cname}[]", [value])
    else:
        made = value
    keep.append(made)
    return made
