#!/usr/bin/env python3
"""Summaries and plots of what larmor-bench --json wrote.

Ratios are geometric means over cases, with the least of them: the peer's seconds over larmor's, at the same tolerance and,
where a case was run at several, at the same error; those of fixed upsampling factors over those of the chosen one, what the planner's efforts choose, what several devices gain over one,
and an earlier file's over these.
Plots need matplotlib.  SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import math
import re
import sys


def read(path, only):
    """The cases of a file that the pattern finds, by description."""
    cases = {}
    try:
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    case = json.loads(line)
                    cases[case["case"]] = case
                except (ValueError, KeyError, TypeError):
                    sys.exit(f"{path}: line {number} is no result of larmor-bench")
    except OSError as error:
        sys.exit(f"{path}: {error.strerror}")
    cases = {name: case for name, case in cases.items() if re.search(only, name)}
    return cases or sys.exit(f"{path}: no case in it fits")


def seconds(timing, kind="median", stages=("execute",)):
    return sum(timing[stage][kind] for stage in stages)


def summary(text, ratios):
    """ratios: (ratio, description of the case)."""
    ratios = [r for r in ratios if r[0]]
    if not ratios:
        return
    mean = math.exp(sum(math.log(r[0]) for r in ratios) / len(ratios))
    least, most = min(ratios), max(ratios)
    print(f"{text}: geometric mean {mean:.3f}, least {least[0]:.3f} ({least[1]}), most {most[0]:.3f}, "
          f"cases {len(ratios)}")


def ran(timings):
    return [t for t in timings if "failure" not in t]


def fastest(timings):
    return min(timings, key=seconds)


def summarise_peer(cases):
    both = [c for c in cases if ran(c.get("peer", [])[:1])]
    for kind in "median", "minimum":
        for stages in ("execute",), ("set_points", "execute"):
            summary(f"peer's default / larmor, {' and '.join(stages)}, {kind}",
                    [(seconds(c["peer"][0], kind, stages) / seconds(c["larmor"], kind, stages), c["case"])
                     for c in both])
    summary("peer's best / larmor, execute, median",
            [(seconds(fastest(ran(c["peer"]))) / seconds(c["larmor"]), c["case"])
             for c in cases if ran(c.get("peer", []))])


def without_tolerance(case):
    """A name for all cases that differ in their tolerance alone."""
    modes = "x".join(map(str, case["modes"]))
    batch = f" x{case['batch']}" if case["batch"] > 1 else ""
    return f"{modes} {case['distribution']} M={case['points']:.3g}{batch} type {case['type']} {case['precision']}"


def error_curves(cases):
    """{name: {"larmor", "peer, default" and "peer, best": [(error, seconds)], from the largest error on}} of problems that were
    run at several tolerances, by what was reached."""
    curves = {}
    for c in cases:
        if c["upsample_asked"] or not ran(c.get("peer", [])[:1]):
            continue
        curve = curves.setdefault(without_tolerance(c), {"larmor": [], "peer, default": [], "peer, best": []})
        for name, timing in (("larmor", c["larmor"]), ("peer, default", c["peer"][0]),
                             ("peer, best", fastest(ran(c["peer"])))):
            if timing["error"] > 0:
                curve[name].append((timing["error"], seconds(timing), seconds(timing, "median", ("set_points", "execute"))))
    return {name: {key: sorted(at, reverse=True) for key, at in curve.items()} for name, curve in curves.items()
            if len(curve["larmor"]) > 1}


def seconds_at(curve, error, whole):
    """What an error of this size takes: between two that were reached by the logarithms of both, None beyond them. A finer
    tolerance that is quicker serves a coarser error as well."""
    points = [(math.log(e), math.log(min(p[1 + whole] for p in curve if p[0] <= e))) for e, *_ in curve]
    for (e, t), (finer, longer) in zip(points, points[1:]):
        if finer <= math.log(error) <= e and e > finer:
            return math.exp(t + (longer - t) * (e - math.log(error)) / (e - finer))
    return None


def summarise_errors(cases):
    ratios = {}
    for name, curve in error_curves(cases).items():
        for digits in range(26):
            error = 10 ** (-digits / 2)
            for whole in 0, 1:
                ours = seconds_at(curve["larmor"], error, whole)
                for peer in "default", "best":
                    theirs = seconds_at(curve[f"peer, {peer}"], error, whole)
                    if ours and theirs:
                        ratios.setdefault((peer, whole), []).append((theirs / ours, f"{name} at {error:.0e}"))
    for (peer, whole), found in sorted(ratios.items(), reverse=True):
        summary(f"peer's {peer} / larmor at the same error, {'set_points and execute' if whole else 'execute'}, median", found)


def problem(case):
    """All but the upsampling factor and the precomputation."""
    return tuple(str(case[key]) for key in ("type", "modes", "points", "batch", "distribution", "precision", "tol"))


def summarise_factors(cases):
    fixed = {}
    for c in cases:
        if c["upsample_asked"]:
            fixed.setdefault(problem(c), {})[c["upsample_asked"]] = seconds(c["larmor"], "minimum")
    for text, pick in (("1.25", lambda f: f.get(1.25)), ("2", lambda f: f.get(2)),
                       ("best fixed factor", lambda f: min(f.values(), default=None))):
        summary(f"{text} / chosen factor, execute, minimum",
                [((pick(fixed.get(problem(c), {})) or 0) / seconds(c["larmor"], "minimum"), c["case"])
                 for c in cases if not c["upsample_asked"]])


def summarise_planner(cases):
    def time(case, plan):
        if isinstance(plan, str):
            return case[plan]["seconds"]
        return case["fixed_seconds"][case["factors"].index(plan)]
    for plan, base in ("estimate", "exhaustive"), ("measure", "exhaustive"), (1.25, "measure"), (2, "measure"):
        summary(f"{plan} / {base}", [(time(c, plan) / time(c, base), c["case"]) for c in cases])


def summarise_change(old, cases):
    both = [(old[c["case"]], c) for c in cases if c["case"] in old]
    for kind in "median", "minimum":
        summary(f"before / now, execute, {kind}",
                [(seconds(o["larmor"], kind) / seconds(c["larmor"], kind), c["case"])
                 for o, c in both if "larmor" in c])
    summary("before / now, measure",
            [(o["measure"]["seconds"] / c["measure"]["seconds"], c["case"]) for o, c in both if "measure" in c])


def plot_rates(plt, cases):
    """A row for each case: points per second of execute."""
    figure, axes = plt.subplots(figsize=(10, 1.5 + 0.2 * len(cases)))
    series = [("larmor", "s", lambda c: c["larmor"]),
              ("peer, default", "o", lambda c: next(iter(ran(c.get("peer", [])[:1])), None)),
              ("peer, best", "x", lambda c: fastest(ran(c["peer"])) if len(ran(c.get("peer", []))) > 1 else None)]
    for name, marker, pick in series:
        at = [(c["points"] * c["batch"] / seconds(pick(c)), row) for row, c in enumerate(cases) if pick(c)]
        if at:
            axes.plot(*zip(*at), marker, label=name, fillstyle="full" if marker == "s" else "none")
    axes.set_yticks(range(len(cases)), [c["case"] for c in cases], fontsize=7)
    axes.set(xscale="log", xlabel="points per second of execute", ylim=(len(cases) - 0.5, -0.5))
    axes.grid(axis="x", which="both", alpha=0.3)
    axes.legend()
    return figure


def plot_curves(plt, curves):
    """curves: (panel, label, {factor: seconds}, (chosen factor, seconds) or None)."""
    panels = sorted({c[0] for c in curves})
    across = min(4, len(panels))
    down = -(-len(panels) // across)
    figure, axes = plt.subplots(down, across, squeeze=False, sharex=True, figsize=(3.2 * across, 0.6 + 2.6 * down))
    for panel, label, fixed, chosen in curves:
        at = axes.flat[panels.index(panel)]
        at.set(title=" ".join(map(str, panel)), yscale="log")
        line, = at.plot(*zip(*sorted(fixed.items())), ".-", lw=1, label=label) if fixed else at.plot([], [])
        if chosen:
            at.plot(*chosen, "s", color=line.get_color())
    for at in axes.flat:
        at.set_visible(bool(at.lines))
        at.title.set_fontsize(8)
        at.grid(alpha=0.3)
        if at.lines:
            at.legend(fontsize=6)
    figure.supxlabel("upsampling factor (square: as chosen)", fontsize=9)
    figure.supylabel("seconds of execute", fontsize=9)
    return figure


def plot_errors(plt, curves):
    """A panel for each problem: seconds of execute over the error that is reached."""
    across = min(4, len(curves))
    down = -(-len(curves) // across)
    figure, axes = plt.subplots(down, across, squeeze=False, figsize=(3.4 * across, 0.6 + 2.7 * down))
    for at, (name, curve) in zip(axes.flat, curves.items()):
        for key, marker in (("larmor", "s-"), ("peer, default", "o-"), ("peer, best", "x--")):
            if curve[key] and (key != "peer, best" or curve[key] != curve["peer, default"]):
                at.plot([p[0] for p in curve[key]], [p[1] for p in curve[key]], marker, ms=4, lw=1, label=key,
                        fillstyle="full" if key == "larmor" else "none")
        at.set(xscale="log", yscale="log")
        at.invert_xaxis()
        at.set_title(name, fontsize=7)
        at.grid(which="both", alpha=0.3)
        at.legend(fontsize=6)
    for at in list(axes.flat)[len(curves):]:
        at.set_visible(False)
    figure.supxlabel("relative l2 error that is reached", fontsize=9)
    figure.supylabel("seconds of execute", fontsize=9)
    return figure


def factor_curves(cases):
    curves = {}
    for c in cases:
        density = f"M/N={c['points'] / math.prod(c['modes']):.1g}"
        panel = (f"{len(c['modes'])}D", c["distribution"], density, f"type {c['type']}", c["precision"],
                 f"{c['tol']:.0e}", f"x{c['batch']}")
        curve = curves.setdefault(problem(c), [panel, f"N={c['modes'][0]}", {}, None])
        if c["upsample_asked"]:
            curve[2][c["upsample_asked"]] = seconds(c["larmor"], "minimum")
        else:
            curve[3] = c["upsample"], seconds(c["larmor"], "minimum")
    return list(curves.values())


def planner_curves(cases):
    return [((f"{len(c['modes'])}D", c["precision"]), f"{c['tol']:.0e} M={c['points']:.2g}",
             {f: s for f, s in zip(c["factors"], c["fixed_seconds"]) if s},
             (c["measure"]["upsample"], c["measure"]["seconds"])) for c in cases]


def workers(case):
    return case.get("ranks") or case["devices"]


def scaling_curves(cases):
    """{what is scaled: [(devices or ranks, gain)]}; a line of one of them is left out of its name."""
    curves = {}
    for c in cases:
        kind = "ranks" if "ranks" in c else "devices"
        curves.setdefault(f"{c['case'].rsplit(', ', 1)[0][len('scaling '):]}, {kind}", []).append((workers(c), c["gain"]))
    return {name: sorted(curve) for name, curve in curves.items()}


def summarise_scaling(cases):
    for name, curve in scaling_curves(cases).items():
        gains = ", ".join(f"{count}: {gain:.2f} ({100 * gain / count:.0f} %)" for count, gain in curve if count > 1)
        if gains:
            print(f"{name}: times one by number, {gains}")


def plot_scaling(plt, cases):
    figure, axes = plt.subplots(figsize=(8, 6))
    most = max(map(workers, cases))
    axes.plot([1, most], [1, most], "k:", lw=1, label="ideal")
    for name, curve in scaling_curves(cases).items():
        axes.plot(*zip(*curve), ".-", label=name)
    axes.set(xlabel="devices or ranks", ylabel="times one")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=6)
    return figure


def plot(path, nufft, planner, scaling):
    try:
        import matplotlib
    except ImportError:
        sys.exit("bench_report.py: -o needs matplotlib (Debian: python3-matplotlib)")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    if scaling:
        figure = plot_scaling(plt, scaling)
    elif planner:
        figure = plot_curves(plt, planner_curves(planner))
    elif any(c["upsample_asked"] for c in nufft):
        figure = plot_curves(plt, factor_curves(nufft))
    elif error_curves(nufft):
        figure = plot_errors(plt, error_curves(nufft))
    else:
        figure = plot_rates(plt, nufft)
    figure.suptitle((scaling or planner or nufft)[0]["device_reason"], fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", help="what --json named")
    parser.add_argument("--only", default="", metavar="PATTERN",
                        help="cases whose description has it, e.g. 'stars.*1e-03'")
    parser.add_argument("--before", metavar="FILE", help="an earlier file: its seconds over these")
    parser.add_argument("-o", "--output", metavar="FILE", help="a plot: .png, .svg, .pdf")
    given = parser.parse_args()
    cases = list(read(given.file, given.only).values())
    nufft = [c for c in cases if "larmor" in c]
    planner = [c for c in cases if "measure" in c]
    scaling = [c for c in cases if "scaling" in c]
    summarise_peer(nufft)
    summarise_errors(nufft)
    if any(c["upsample_asked"] for c in nufft):
        summarise_factors(nufft)
    summarise_planner(planner)
    summarise_scaling(scaling)
    if given.before:
        summarise_change(read(given.before, given.only), cases)
    if given.output:
        plot(given.output, nufft, planner, scaling)


if __name__ == "__main__":
    main()
