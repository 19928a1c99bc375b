"""The league's page: tables of errors, times and memory with larmor's losses in bold, and pictures.

SPDX-License-Identifier: Apache-2.0
"""

import json
import math

import numpy as np

COLUMNS = [("none", "No flags"), ("documented", "Documented settings"), ("grid", "Best of a grid")]
NEAR = 1.005  # errors that differ by less than this factor are no loss
NEAR_TIME = 1.1  # the same of seconds and MB
PICTURE = 2.0  # inches of an image


def table(head, rows):
    """Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def lost(values, near, greater=False):
    """Whether larmor's value is worse than another tool's by more than the factor; values: {tool: number or None}."""
    own = values.get("larmor")
    others = [v for tool, v in values.items() if tool != "larmor" and v is not None]
    if not others:
        return False
    if own is None:
        return True
    return max(others) > own * near if greater else own > min(others) * near


def cells(values, tools, near, form, greater=False, why=None):
    """A table's cells; larmor's is bold where it has lost."""
    out = []
    for tool in tools:
        v = values.get(tool)
        text = (why or {}).get(tool, "–") if v is None else form.format(v)
        out.append(f"**{text}**" if tool == "larmor" and lost(values, near, greater) else text)
    return out


def best(rows):
    return next((r for r in rows or [] if r.get("best")), None)


def mean_ratio(pairs):
    """The geometric mean of a / b over pairs that both have."""
    logs = [math.log(a / b) for a, b in pairs if a and b]
    return math.exp(sum(logs) / len(logs)) if logs else None


class Results:
    """rows[scan][tool][column]: what league.py wrote."""

    def __init__(self, places, scenes, tools):
        self.tools = tools
        self.scenes = scenes
        self.rows = {s["name"]: {t: {} for t in tools} for s in scenes}
        for s in scenes:
            for t in tools:
                for column in ("none", "documented", "grid", "proof"):
                    path = places.row(s, t, column)
                    if path.exists():
                        self.rows[s["name"]][t][column] = json.loads(path.read_text())

    def value(self, scene, tool, column, key):
        row = best(self.rows[scene["name"]][tool].get(column))
        if column == "grid":  # all that a tool was run with are points of its grid
            rows = [best(self.rows[scene["name"]][tool].get(c)) for c, _ in COLUMNS]
            rows = (
                [r for r in rows if r and "inside" in r] if best(self.rows[scene["name"]][tool].get("grid")) else []
            )
            row = min(rows, key=lambda r: r["inside"], default=None)
        return row.get(key) if row else None

    def values(self, scene, column, key):
        return {t: self.value(scene, t, column, key) for t in self.tools}

    def why(self, scene, column):
        """{tool: reason} of tools without an image."""
        found = {}
        for t in self.tools:
            rows = self.rows[scene["name"]][t].get(column) or []
            errors = [r["error"] for r in rows if "error" in r]
            if errors and len(errors) == len(rows):
                found[t] = errors[0].replace("|", "/")[:60]
        return found

    def part(self, scene, tool, column):
        """How many of a column's settings were done, where some were not."""
        rows = self.rows[scene["name"]][tool].get(column) or []
        done = sum("error" not in r for r in rows)
        return f" ({done} of {len(rows)})" if 0 < done < len(rows) else ""

    def judged(self):
        return [s for s in self.scenes if s["object"] != "real"]


def error_tables(results, key="inside", form="{:.4f}", greater=False):
    text = ""
    for column, title in COLUMNS:
        rows = []
        for s in results.judged():
            values = results.values(s, column, key)
            if any(v is not None for v in values.values()):
                line = cells(values, results.tools, NEAR, form, greater, results.why(s, column))
                line = [cell + results.part(s, t, column) for t, cell in zip(results.tools, line)]
                rows.append([s["name"], *line])
        if rows:
            text += f"\n### {title}\n\n" + table(["scan", *results.tools], rows)
    return text


def losses(results):
    """What larmor lost: in a column, and without flags to the others' documented settings and their grids."""
    pairs = [
        ("none", "none"),
        ("documented", "documented"),
        ("grid", "grid"),
        ("none", "documented"),
        ("none", "grid"),
    ]
    rows = []
    for s in results.judged():
        for own, other in pairs:
            mine = results.value(s, "larmor", own, "inside")
            for t in results.tools:
                theirs = results.value(s, t, other, "inside") if t != "larmor" else None
                if mine and theirs and mine > theirs * NEAR:
                    rows.append(
                        (
                            mine / theirs,
                            [s["name"], own, f"**{mine:.4f}**", t, other, f"{theirs:.4f}", f"{mine / theirs:.3f}"],
                        )
                    )
    rows.sort(key=lambda r: -r[0])
    head = ["scan", "larmor's column", "error", "tool", "its column", "error", "ratio"]
    return table(head, [r for _, r in rows]) if rows else "None.\n"


def summary(results):
    """How the errors of each tool compare with larmor's without flags, and in how many scans it was better."""
    rows = []
    for t in results.tools:
        if t == "larmor":
            continue
        line = [t]
        for column, _ in COLUMNS:
            for own in ("none", column) if column != "none" else ("none",):
                pairs = [
                    (results.value(s, t, column, "inside"), results.value(s, "larmor", own, "inside"))
                    for s in results.judged()
                ]
                pairs = [(a, b) for a, b in pairs if a and b and math.isfinite(a)]
                ratio = mean_ratio(pairs)
                wins = sum(a * NEAR < b for a, b in pairs)
                line.append(
                    "–" if ratio is None else f"{ratio:.3f}, {f'**{wins}**' if wins else wins} of {len(pairs)}"
                )
        rows.append(line)
    head = [
        "tool",
        "no flags",
        "documented / larmor's no flags",
        "documented / documented",
        "grid / larmor's no flags",
        "grid / grid",
    ]
    return table(head, rows)


def least(rows, key, busy=False):
    """Of the runs for times; where others use the machine, else of the run whose error counts."""
    row = best(rows) or {}
    values = [t[key] for t in row.get("times") or ([row] if busy else []) if key in t]
    return min(values) if values else None


MEASURED = [
    ("process", "s, the whole process", "{:.2f}"),
    ("processor", "s of the processor, the whole process", "{:.2f}"),
    ("memory", "MB, the largest process", "{:.0f}"),
    ("seconds", "s, the reconstruction alone, where the tool can tell", "{:.2f}"),
]
BUSY = ("processor", "memory")  # what others on the machine hardly change


def time_tables(results, busy=False):
    text = ""
    for column, title in COLUMNS[:2]:
        for key, unit, form in [m for m in MEASURED if not busy or m[0] in BUSY]:
            rows = []
            for s in results.scenes:
                values = {t: least(results.rows[s["name"]][t].get(column), key, busy) for t in results.tools}
                if any(v is not None for v in values.values()):
                    rows.append([s["name"], *cells(values, results.tools, NEAR_TIME, form)])
            if rows:
                text += f"\n### {title}: {unit}\n\n" + table(["scan", *results.tools], rows)
    return text


def proof_table(results):
    rows = []
    for s in results.scenes:
        for t in results.tools:
            for r in results.rows[s["name"]][t].get("proof", []):
                if "inside" in r:
                    most = max(abs(v) for v in r["shift"])
                    rows.append([s["name"], t, f"{r['inside']:.1e}", r["orientation"], f"{most:.4f}"])
                else:
                    rows.append([s["name"], t, r["error"], "–", "–"])
    return table(["scan", "tool", "error", "axes", "shift in voxels"], rows)


def shown(setting):
    return "`" + (json.dumps(setting) if isinstance(setting, dict) else " ".join(setting) or "nothing") + "`"


def chosen(results):
    """Which documented setting, and which of the grid, was the best on each scan."""
    rows = []
    for s in results.judged():
        for t in results.tools:
            for column in ("documented", "grid"):
                row = best(results.rows[s["name"]][t].get(column))
                if row:
                    rows.append([s["name"], t, column, shown(row["setting"]), f"{row['inside']:.4f}"])
    return table(["scan", "tool", "column", "best setting", "error"], rows)


def flat(image):
    """Two axes of a magnitude: the middle slice of a volume, x to the right and y downwards."""
    image = abs(np.asarray(image))
    return (image[:, :, image.shape[2] // 2] if image.ndim == 3 else image).T


def picture(path, images, titles):
    """Rows of magnitudes with the same window within a row, by matplotlib; without it there are no pictures."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(
        len(images),
        len(images[0]),
        squeeze=False,
        figsize=(PICTURE * len(images[0]), (PICTURE + 0.2) * len(images)),
    )
    for line, names, at in zip(images, titles, axes):
        top = max((np.percentile(x, 99.7) for x in line[:1] if x is not None), default=None)
        for x, name, a in zip(line, names, at):
            a.axis("off")
            a.set_title(name, fontsize=6)
            if x is not None:
                a.imshow(x, cmap="gray", vmin=0, vmax=top or np.percentile(x, 99.7))
    figure.tight_layout(pad=0.3)
    figure.savefig(path, dpi=80, bbox_inches="tight", pad_inches=0.05)
    plt.close(figure)
    return True


def line_of(places, scene, results, column):
    """A row of pictures: the truth and each tool's image, scaled to it."""
    folder = places.scan(scene)
    images, names = [], []
    truth = None
    if (folder / "truth.npy").exists():
        truth = np.load(folder / "truth.npy") * np.sqrt((abs(np.load(folder / "maps.npy")) ** 2).sum(0))
        images.append(flat(truth))
        names.append("truth, " + scene["name"].rsplit("-", 1)[0])
    for t in results.tools:
        path = places.image(scene, t, column)
        x = flat(np.load(path)) if path.exists() else None
        if x is not None and truth is not None:
            x = x * (np.vdot(x, images[0]) / np.vdot(x, x))
        elif x is not None:
            x = x / np.percentile(x, 99.7)
        error = results.value(scene, t, column, "inside")
        images.append(x)
        names.append(t + (f" {error:.3f}" if error is not None else "" if x is not None else ": no image"))
    return images, names


def pictures(places, results, column):
    """PNG files of the judged scans and of the real ones; their names."""
    out = []
    for kind, scenes in (
        ("simulated", results.judged()),
        ("real", [s for s in results.scenes if s["object"] == "real"]),
    ):
        lines = [line_of(places, s, results, column) for s in scenes]
        name = f"league_{kind}_{column}.png"
        if lines and picture(places.folder / name, [i for i, _ in lines], [n for _, n in lines]):
            out.append(name)
    return out


def versions(found):
    return table(
        ["tool", "version"],
        [[t, text if where else f"**not in the league**: {text}"] for t, (where, text) in found.items()],
    )


def sources(documented):
    """documented: {tool: [(setting, source)]}"""
    return table(
        ["tool", "setting", "from"], [[t, shown(s), f] for t, all_of in documented.items() for s, f in all_of]
    )


def text_of(found, proofs, results, machine, documented, files, busy=False):
    """The page. proofs: Results of the noiseless scans."""
    about = ", ".join(f"{k} {v}" for k, v in machine.items())
    parts = [
        "# The league",
        f"Machine: {about}.",
        versions(found),
        "Errors are NRMSE within the object after the best complex scale; of magnitudes where each tool found its "
        "own maps (`own` in the scan's name).",
        "**Bold**: larmor is worse than another tool of the same row. (1 of 3): the other settings failed or took "
        "longer than the limit.",
        "## Larmor's losses",
        losses(results),
        "## Summary",
        "Geometric mean of a tool's errors over larmor's, and in how many scans the tool was better.",
        summary(results),
        "## Errors within the object",
        error_tables(results),
        "## Errors outside the object",
        error_tables(results, "outside"),
        "## SSIM",
        error_tables(results, "ssim", "{:.3f}", greater=True),
    ]
    times = time_tables(results, busy)
    parts += ["## Times and memory", times] if times else []
    parts += ["## Pictures", *[f"![{name}]({name})" for name in files]] if files else []
    parts += [
        "## Documented settings",
        sources(documented),
        "## Which settings were the best",
        chosen(results),
        "## Proof of the adapters",
        "Noiseless, full, smooth scans: every tool's image has to be the truth.",
        proof_table(proofs),
    ]
    return "\n\n".join(p.strip() for p in parts) + "\n"


def write(places, found, proofs, scenes, machine, documented, busy=False):
    tools = list(found)
    results = Results(places, scenes, [t for t in tools if found[t][0]])
    files = [name for column in ("none", "documented") for name in pictures(places, results, column)]
    text = text_of(found, Results(places, proofs, tools), results, machine, documented, files, busy)
    (places.folder / "league.md").write_text(text)
    (places.folder / "league.json").write_text(
        json.dumps(
            {"machine": machine, "found": {t: v for t, (_, v) in found.items()}, "rows": results.rows}, indent=1
        )
    )
