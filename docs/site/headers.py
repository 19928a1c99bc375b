"""The C API's pages from include/larmor: each comment with the declarations below it, in the order of the header.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import pathlib
import re

from plain import inline, to_rst

_PART = re.compile(r"/\*.*?\*/|#[^\n]*(?:\\\n[^\n]*)*|[^/#]+|.", re.S)


def _comment(text: str) -> list[str]:
    """The lines of a comment without its margin."""
    lines = text[2:-2].strip("\n").split("\n")
    lines = [re.sub(r"^ \* ?|^ \*$", "", line.rstrip()) for line in lines]
    lines[0] = lines[0].removeprefix(" ")
    return [line for i, line in enumerate(lines) if line or 0 < i < len(lines) - 1]


def _declarations(chunk: str) -> list[tuple[str, str]]:
    """("comment", text), ("behind", text) of a comment on a declaration's line, and ("code", text), in their
    order."""
    found: list[tuple[str, str]] = []
    code, depth = "", 0
    for match in _PART.finditer(chunk):
        part = match[0]
        if part.startswith("/*"):
            line = chunk[chunk.rfind("\n", 0, match.start()) + 1:match.start()]
            if code.strip():
                code += part
            elif line.strip() and found:
                found.append(("behind", part))
            else:
                found.append(("comment", part))
            continue
        if part.startswith("#") and not code.strip():
            found.append(("code", part))
            continue
        if part.startswith("#"):
            continue
        for sign in part:
            code += sign
            depth += (sign in "{(") - (sign in "})")
            if sign == ";" and not depth:
                found.append(("code", code.strip()))
                code = ""
    return found


def _chunks(text: str) -> list[str]:
    """What stands between blank lines, where no comment and no struct is open."""
    made: list[str] = []
    for piece in re.split(r"\n[ \t]*\n", text):
        if made and (made[-1].rfind("/*") > made[-1].rfind("*/") or made[-1].count("{") > made[-1].count("}")):
            made[-1] += "\n\n" + piece
        else:
            made.append(piece)
    return made


def _signature(code: str) -> tuple[str, str]:
    """A directive of Sphinx's domain of C, and its argument."""
    flat = re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", " ", code, flags=re.S)).strip()
    if flat.startswith("#define"):
        name = re.match(r"#define (\w+(?:\([^)]*\))?)", flat)
        assert name
        return "macro", name[1]
    flat = re.sub(r"__attribute__ *\(\(.*\)\)", "", flat.removeprefix("LARMOR_API ").rstrip("; ")).strip()
    kind = re.match(r"typedef (struct|enum) \w+ {", flat)
    if kind:
        return kind[1], flat.rsplit("}", 1)[1].strip()
    if flat.startswith("typedef struct"):
        return "type", flat.split()[-1]
    if flat.startswith("typedef"):
        return "type", flat.removeprefix("typedef ")
    if flat.startswith("enum"):
        return "", flat
    return "function", flat


def _name(directive: str, argument: str) -> str:
    """What a declaration declares."""
    pointer = re.search(r"\(\*(\w+)\)", argument)
    if directive == "type" and pointer:
        return pointer[1]
    return (re.findall(r"\w+", argument.split("(", maxsplit=1)[0]) or [""])[-1]


class Headers:
    """Which names are public, and what each header's page is."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.files = sorted(folder.glob("*.h"))
        self.texts = {path.name: self._body(path.read_text()) for path in self.files}
        self.kinds: dict[str, str] = {}
        self.types: set[str] = set()  # those that a page has shown: several headers may name one that is opaque
        for text in self.texts.values():
            for chunk in _chunks(text):
                for what, code in _declarations(chunk):
                    directive, argument = _signature(code) if what == "code" else ("", "")
                    if directive and directive != "macro":
                        self.kinds[_name(directive, argument)] = directive

    @staticmethod
    def _body(text: str) -> str:
        """Without what every header has: guard, includes, extern "C"."""
        text = re.sub(r"/\*[^\n]*\n#ifdef __cplusplus.*?#endif\n|\bLARMOR_C_(BEGIN|END)\n", "", text, flags=re.S)
        text = re.sub(r"#if defined\(__GNUC__\)\n#define.*?#endif\n", "", text, flags=re.S)
        # a function's macro is no declaration of its own
        text = re.sub(r"/\*[^\n]*\*/\n#define larmor_(?:[^\n]*\\\n)*[^\n]*\n", "", text)
        text = re.sub(r"#(include|ifndef|if|else|endif)\b[^\n]*\n?", "", text)
        return re.sub(r"#define LARMOR_[A-Z]+_H\n", "", text)

    def link(self, name: str) -> str:
        """A reference to a function or a type, or nothing."""
        if name not in self.kinds:
            return ""
        return f":c:{'func' if self.kinds[name] == 'function' else 'type'}:`{name}`"

    def title(self, name: str) -> str:
        """What the header says it is."""
        first = " ".join(_comment(re.search(r"/\*.*?\*/", self.texts[name], re.S)[0]))  # type: ignore[index]
        return re.sub(r"\s*SPDX-License-Identifier:.*", "", first).split(";")[0].rstrip(".")

    def page(self, name: str) -> str:
        """A header's page."""
        title = f"{name}: {self.title(name)}"
        made = [title, "=" * len(title), "", f"``#include \"larmor/{name}\"``", ""]
        text = self.texts[name]
        for chunk in _chunks(text[text.index("*/") + 2:]):
            made += self._group(chunk)
        return "\n".join(made) + "\n"

    def _group(self, chunk: str) -> list[str]:
        made: list[str] = []
        comment: list[str] = []
        codes: list[list[str]] = []

        def flush() -> None:
            nonlocal comment, codes
            made.extend(self._shown(comment, codes))
            comment, codes = [], []

        for what, text in _declarations(chunk):
            if what == "comment":
                flush()
                comment = _comment(text)
                section = re.match(r"---- (.*?) ----$", comment[0])
                if section:
                    heading = inline(section[1])
                    made += [heading, "-" * len(heading), ""]
                    comment = comment[1:]
            elif what == "behind":
                codes[-1].append(" ".join(line.strip() for line in _comment(text)))
            else:
                codes.append([text])
        flush()
        return made

    def _shown(self, comment: list[str], codes: list[list[str]]) -> list[str]:
        body = to_rst(comment, self.link)
        if not codes:
            return [*body, ""]
        made: list[str] = []
        open_ = ""
        notes: list[str] = []
        for code, *behind in codes:
            directive, argument = _signature(code)
            name = _name(directive, argument)
            forward = directive == "type" and self.kinds.get(argument) not in ("type", None)
            if forward or (directive == "type" and name in self.types):
                continue
            if directive == "type":
                self.types.add(name)
            if directive == open_ == "function":
                made.append(f"{' ' * len('.. c:function:: ')}{argument}")
            else:
                self._end(made, open_, body, notes)
                body, notes, open_ = [] if open_ else body, [], directive
                made += [f".. c:{directive}:: {argument}" if directive else ".. code-block:: c", ""]
                if directive == "function":
                    made.pop()
            if directive in ("struct", "enum"):
                notes += ["", ".. code-block:: c", "", *(f"   {line}" for line in code.split("\n"))]
            elif directive == "macro":
                notes += [".. code-block:: c", "", f"   {code}"]
            elif not directive:
                notes += code.split("\n")
            for note in behind:
                label = f"``{name}``: " if len(codes) > 1 else ""
                notes += ["", f"{label}{inline(note, self.link)}"]
        self._end(made, open_, body, notes)
        return made

    @staticmethod
    def _end(made: list[str], directive: str, body: list[str], notes: list[str]) -> None:
        if not made:
            return
        text = [*body, *notes] if directive else notes
        made += ["", *(f"   {line}" if line else "" for line in text), ""]
