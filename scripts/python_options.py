"""Writes python/larmor/_runs/options.py, the types and the help of larmor.recon's options, from the library's table.

Usage: PYTHONPATH=build/cpu/python python3 scripts/python_options.py [--check]
--check writes nothing, and the exit status is 1 where the file is not what it would be (python/tests/test_docs.py).
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import pathlib
import sys
import textwrap
from typing import Any

import larmor
from larmor._library import ffi
from larmor._runs import recon as _recon

TARGET = pathlib.Path(__file__).resolve().parents[1] / "python" / "larmor" / "_runs" / "options.py"
NAMED = {"method", "lambda", "maps", "checkpoint", "prior"}  # arguments of their own
TEXTS = {"flag": "bool | str", "form": "float | str", "integer": "int | str", "number": "float | str",
         "bytes": "int | str", "sizes": "int | Sequence[int] | str", "numbers": "float | Sequence[float] | str",
         "list": "str | Sequence[str]"}
PYTHON = {python: c for python, c in _recon._NAMES.items() if python != "lam"}
OTHERS = {  # members without a text in the table
    "maps_name": "what messages call maps", "no_maps": "as maps=False",
    "b0": "array: off-resonance in Hz, [image...] or of all slices", "b0_name": "what messages call b0",
    "b0_place": "members of larmor_image_meta: where b0 is; default: it covers the image's field of view",
    "t2star": "array: T2* in ms, a map as b0", "t2star_name": "what messages call t2star",
    "t2star_place": "as b0_place",
    "phase_terms": "array: phases of a field camera in rad, [9 or 16, readouts, samples]; or text, of paths: "
                   "trajectory, those in its rows, as of larmor.Scan",
    "gradient_field": "array of larmor.gradient_field: what gradients that are not linear displace",
    "displacement": "array: mm along the image's axes, [3 or 2, image...]",
    "motion_fields": "array: of each frame a displacement in mm, [frames, 3 or 2, image...]",
    "readout_start_ms": "number: when a readout's first sample is taken, in ms after the image has its phase",
    "delays": "gradient delays: given, off, auto; default auto",
    "delay": "six numbers: delays that are given, in samples",
    "girf": "array: impulse response of the gradients along x, y and z of the patient",
    "girf_b0": "array: that of order 0 in rad m, [axes, frequencies]",
    "basis": "array: functions of time, [coefficients, frames]",
    "keep_density": "flag: the result has the density weights",
    "effort": "of the NUFFT's planner: exhaustive, measure, estimate; default estimate",
    "only": 'members of larmor_counters: images of these counters alone, as {"slice": 0}',
    "keep_eigenvalues": "flag: the result has the eigenvalues of espirit's maps", "ranks": "of MPI, in C alone",
    "maps_place": "as b0_place, of maps", "support": "array: a mask; images are 0 outside of it",
    "motion": "poses [readouts, 6] in mm and degrees, or rows [rows, 7] from a readout on"}
PROGRAM = {  # of frames and bins, which are the source's: (type, help)
    "bins": ("str", "text: images by heart, breath and time, as heart:20,breath:4"),
    "gating": ('Literal["auto", "waveforms", "header", "self"]', "auto, waveforms, header, self: of bins, what rests "
               "on the file's waveforms, its stamps or its samples; default auto"),
    "tick": ("float | str", "number: a tick of the stamps in ms, of bins and frames by time; default 2.5"),
    "spokes_per_frame": ("int | str", "integer: frames of so many readouts, as frames={'spokes': N}"),
    "frame_time": ("float | str", "number: frames of so many ms"),
    "cardiac_phases": ("int | str", "integer: frames of the cardiac cycle, by the physiology stamps"),
    "frame_step": ("float | str", "number: from the start of a frame to that of the next, in readouts or ms"),
    "frame_rest": ('Literal["drop", "join"]', "drop, join: readouts after the last whole frame; default drop"),
    "gate": ("int | str", "integer: the physiology stamp with the time since the trigger, 0 to 2; default 0")}
HEAD = '''"""The options of larmor.recon by their types, made by scripts/python_options.py from the library's table.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict


class ReconOptions(TypedDict, total=False):
    """What `larmor.recon` takes beside its own arguments; `larmor.settings` says more of each."""

'''


def _words(kind: Any) -> list[str]:
    """Constants of an enum by their last word."""
    return [name.rpartition("_")[2].lower() for name in kind.relements] if kind.kind == "enum" else []


def _literal(words: list[str]) -> str:
    return f"Literal[{', '.join(repr(word).replace(chr(39), chr(34)) for word in dict.fromkeys(words))}]"


def _member_type(kind: Any) -> str:
    """Of a member without a text."""
    if kind.kind == "pointer" and kind.cname == "char *":
        return "str"
    if kind.kind == "pointer":
        return "Any"
    if kind.kind == "struct":
        return "Mapping[str, Any]"
    if kind.kind == "enum":
        return _literal(_words(kind))
    if kind.kind == "array":
        return "Sequence[float]"
    return "float" if kind.cname in ("double", "float") else "int"


def _type_of(setting: dict[str, Any], kind: Any) -> str:
    if setting["type"] == "none":
        return _member_type(kind)
    if setting["type"] == "choice" and setting["choices"]:
        more = "" if kind.kind == "enum" else " | bool | int"
        return _literal([*setting["choices"].split("|"), *_words(kind)]) + more
    return TEXTS.get(setting["type"], "str")


def _said(setting: dict[str, Any]) -> str:
    """Its help with unit and default."""
    parts = [setting["help"]] if setting["help"] else []
    if setting["unit"] and setting["unit"] not in setting["help"].split():
        parts.append(f"in {setting['unit']}")
    if setting["standard"]:
        parts.append(f"default {setting['standard']}")
    return "; ".join(parts)


def text() -> str:
    """What the file holds."""
    kinds = {name: field.type for name, field in ffi.typeof("larmor_recon_opts").fields}
    names = {c: python for python, c in PYTHON.items()}
    members, lines = [], []
    for setting in larmor.settings():
        if setting["name"] in NAMED or setting["name"] in _recon._OWN:
            continue
        name, kind = names.get(setting["name"], setting["name"]), kinds[setting["name"]]
        members += textwrap.wrap(f"{name}: {_type_of(setting, kind)}", 114, subsequent_indent="    ")
        what = f"{setting['type']}: " if setting["type"] not in ("none", "form", "choice") else ""
        if setting["choices"]:
            what = setting["choices"].replace("|", ", ") + ": "
        said = what + _said(setting)
        if setting["type"] == "none":
            said = OTHERS.get(setting["name"], "an array, or members of its own")
        lines += textwrap.wrap(f"{name:<19} {said}", 108, subsequent_indent=" " * 20)
    for name, (kind, said) in PROGRAM.items():
        members += textwrap.wrap(f"{name}: {kind}", 114, subsequent_indent="    ")
        lines += textwrap.wrap(f"{name:<19} {said}", 108, subsequent_indent=" " * 20)
    body = textwrap.indent("\n".join(members), "    ")
    return HEAD + body + '\n\n\nHELP = """' + textwrap.indent("\n".join(lines), "        ").lstrip() + '\n"""\n'


def main() -> None:
    """Write the file, or compare it."""
    if sys.argv[1:] == ["--check"]:
        if TARGET.read_text(encoding="utf-8") != text():
            sys.exit(f"{TARGET}: not what the library's table gives; run {sys.argv[0]}")
    else:
        TARGET.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
