#!/bin/sh
# One statement a line: no statements chained by commas, no declarators chained by commas where one of them chooses by a
# ternary, and no ternary within another one's branches or condition. Read by a tokenizer of C, because clang-format keeps
# them all. No line is longer than 118 columns, and the rest is as clang-format 14 has it, where that is found: others
# have other rules. Usage: tests/check_style.sh [ROOT].
# SPDX-License-Identifier: Apache-2.0
set -eu
cd "${1:-$(dirname "$0")/..}"
status=0
sources() {
    find core nufft recon fit gating noise physics phantoms apps bench examples include io live stream scan pipeline check schedule \
        finufft xla matlab tests "$@"
}

# const is dropped in one place (core/mutable.h), by those that stand there with their reason.
casts=$(grep -rnE '\*\) ?\(u?intptr_t\)' --include='*.[ch]' core nufft recon fit phantoms apps bench examples include io scan \
    pipeline check schedule stream finufft xla tests || true)
[ -z "$casts" ] || { echo "$casts: lmr_mutable (core/mutable.h), if const has to go"; status=1; }
for file in $(grep -rlE '\blmr_mutable\(' --include='*.[ch]' core nufft recon fit phantoms apps bench examples include io scan \
    pipeline check schedule live noise gating physics stream finufft --exclude=mutable.h); do
    grep -qE "^ \*.* $file\b" core/mutable.h || { echo "$file: uses lmr_mutable, and core/mutable.h does not say why"; status=1; }
done

# An option of the library is a row of the table of settings, in the order of the members.
python3 -c '
import re
struct = open("include/larmor/pipeline.h").read().split("typedef struct larmor_recon_opts {")[1].split("} larmor_recon_opts;")[0]
members = [re.sub(r"\[.*", "", name).split()[-1].strip("*") for line in re.sub(r"/\*.*?\*/", "", struct, flags=re.S).split(";")
           for name in line.split(",") if name.strip()]
rows = re.findall(r"^    (?:ROW|NUMBER|VALUE|LIMIT|OTHER)\(\s*(\w+)", open("scan/setting_table.c").read(), re.M)
wrong = [m for m in members if rows.count(m) != 1]
wrong += [r for r in rows if r not in members]
print("".join("larmor_recon_opts.%s: got no row or several in scan/setting_table.c, expected one\n" % w for w in wrong), end="")
raise SystemExit(bool(wrong))' || status=1

# Words of the glossary: at most 60, and those of its last column stand nowhere else.
[ "$(grep -c '^| [a-zA-Z]' docs/reference/glossary.md)" -le 61 ] || { echo "docs/reference/glossary.md: more than 60 words"; status=1; }
instead=$(sed -n 's/^| [a-zA-Z][^|]*|[^|]*| \([a-z_, ]*[a-z]\) |$/\1/p' docs/reference/glossary.md | sed '/^not$/d; s/, /\n/g' | paste -sd'|')
[ -n "$instead" ] || { echo "docs/reference/glossary.md: no words in the column 'not'"; status=1; }
meant=$(grep -rniwE "$instead" --include='*.[ch]' --include='*.cu' --include='*.cuh' --include='*.md' core nufft recon fit phantoms \
    apps bench examples include io scan pipeline check schedule stream live noise gating physics finufft xla docs README.md | grep -v '^docs/reference/glossary.md:' || true)
[ -z "$meant" ] || { echo "$meant: docs/reference/glossary.md has another word"; status=1; }

# The tables of costs are as larmor-bench prints them.
# shellcheck disable=SC2016 # awk's own fields
wide=$(sources \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) ! -path nufft/choose/cost_table.c \
    -exec awk 'length($0) > 118 { print FILENAME ":" FNR ": more than 118 columns" }' {} +)
[ -z "$wide" ] || { echo "$wide"; status=1; }
# Of the other languages, in characters, where awk may count bytes.
python3 -c '
import pathlib
wide = ["%s:%d: more than 118 columns" % (path, number) for folder in ("julia", "matlab", "packaging", "python")
        for path in sorted(pathlib.Path(folder).rglob("*")) if path.suffix in (".jl", ".m", ".py", ".sh", ".txt", ".yaml")
        for number, line in enumerate(path.read_text().split("\n"), 1) if len(line) > 118]
print("".join(line + "\n" for line in wide), end="")
raise SystemExit(bool(wide))' || status=1
if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
    other=$(sources -name '*.[ch]' -exec clang-format --dry-run {} + 2>&1 | sed -n 's/: warning: code should be.*/: not as clang-format has it/p')
    [ -z "$other" ] || { echo "$other"; status=1; }
else
    echo "style: without clang-format 14, which is not here"
fi

sources \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) |
    sort | python3 -c '
import re, sys

# Behind blanks and comments, of which the file has none at its end; lines are counted where something is found.
TOKEN = re.compile(r"""(?:\s+|//[^\n]*|/\*.*?\*/)*("(?:\\.|[^"\\\n])*"|\x27(?:\\.|[^\x27\\\n])*\x27|[A-Za-z_]\w*|
                       \.?\d(?:[eEpP][+-]|[\w.\x27])*|->|\+\+|--|::|.)""", re.S | re.X)
TYPES = set("int double float char void long short unsigned signed const static struct enum union auto extern inline "
            "volatile typedef constexpr template using register bool".split())
HEADS = {"if", "for", "while", "switch"}
MARKS = set("()[]{};,:?") | {"else", "do"}
BLOCK, EXPRESSION, OTHER = range(3)


def tokens(text, is_cuda):
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.M)
    if is_cuda:  # commas between the brackets of launches and templates separate nothing
        text = re.sub(r"<<<.*?>>>", lambda m: re.sub(r"[<>,]", " ", m.group(0)), text, flags=re.S)
        text = re.sub(r"\btemplate <[^<>]*>", lambda m: m.group(0).replace(",", " "), text)
        for _ in range(4):
            text = re.sub(r"(?<=\w)<[\w\s:,*()&+-]*>", lambda m: re.sub(r"[<>,]", "_", m.group(0)), text)
    return [(m[1], m.start(1)) for m in TOKEN.finditer(text + ";")], text


def declares(words):
    if not words or words[0] in TYPES:
        return True
    if words[0] == "return" or not re.match(r"[A-Za-z_]", words[0]) or len(words) < 2:
        return False
    macro_type = len(words) > 4 and words[1] == "(" and words[3] == ")" and re.match(r"[A-Za-z_*]", words[4])
    return bool(macro_type or re.match(r"[A-Za-z_]", words[1]) or words[1] in ("*", "&", "::", "<"))


def check(name, text):
    found, stack, start, commas, closed = [], [], 0, False, None
    ternaries = [0]  # of the expressions that are open, by depth
    list_, text = tokens(text, name.endswith((".cu", ".cuh")))
    for i, (token, at) in enumerate(list_):
        if token not in MARKS:
            continue
        before = list_[i - 1][0] if i else ";"
        in_block = not stack or stack[-1][0] == BLOCK
        if token in ("(", "["):
            is_call = re.match(r"\w", before) and before not in {"return", "case", "sizeof", "else", "do"} | HEADS
            kind = EXPRESSION if token == "(" and not is_call and before not in (")", "]") else OTHER
            stack.append((kind, before))
            ternaries.append(0)
        elif token in (")", "]"):
            closed = stack.pop()
            ternaries.pop()
            if closed[1] in HEADS and (not stack or stack[-1][0] == BLOCK):
                start, commas = i + 1, False
        elif token == "{":
            words = [w for w, _ in list_[max(0, i - 3):i]]
            opens = (before == ")" and (closed[0] == OTHER or closed[1] in HEADS)) or \
                (before in (";", "}", "{", ":", "else", "do") and in_block) or \
                bool({"struct", "union", "namespace", "const", "extern"} & set(words))
            stack.append((BLOCK if opens else OTHER, before))
            ternaries.append(0)
            if opens:
                start, commas = i + 1, False
        elif token == "}":
            kind, _ = stack.pop()
            ternaries.pop()
            if kind == BLOCK:
                start, commas = i + 1, False
        elif token == ";":
            if in_block:
                words = [w for w, _ in list_[start:i]]
                if commas and not declares(words):
                    found.append((list_[start][1], "statements chained by commas"))
                elif commas and "?" in words:
                    found.append((list_[start][1], "declarators chained with a ternary"))
                start, commas = i + 1, False
            ternaries[-1] = 0
        elif token == ",":
            commas = commas or in_block
            ternaries[-1] = 0
        elif token == ":" and in_block and list_[start][0] in ("case", "default") and not ternaries[-1]:
            start, commas = i + 1, False
        elif token in ("else", "do") and in_block:
            start, commas = i + 1, False
        elif token == "?":
            depth = len(ternaries) - 1
            while not ternaries[depth] and depth and stack[depth - 1][0] == EXPRESSION:
                depth -= 1
            if ternaries[depth]:
                found.append((at, "a ternary within a ternary"))
            ternaries[-1] += 1
    return [(text.count("\n", 0, at) + 1, what) for at, what in found]


wrong = 0
for name in sys.stdin.read().split():
    for line, what in check(name, open(name, encoding="utf-8").read()):
        print("%s:%d: %s" % (name, line, what))
        wrong = 1
sys.exit(wrong)
' || status=1
[ $status -ne 0 ] || echo "style: as it should be"
exit $status
