"""The league: larmor and its peers on the same scans, their errors, times, memory and pictures (scripts/league.sh).

FOLDER gets scans/, rows/SCAN.TOOL.COLUMN.json, images/ and the page: league.md, league.json and PNG pictures. Rows
that are there are not done again.

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import json
import os
import platform
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import metrics
import numpy as np
import page
import scans
import tools

PROOF_MOST = (
    0.02  # error of a tool's image of a noiseless, full, smooth scan: half a voxel of shift makes .1 and more
)
PROOF = {
    "larmor": ["--method", "cg"],
    "bart": {"maps": "nlinv", "pics": ["-i", "30"]},
    "sigpy": {"app": "sense", "iters": 30},
    "mri-nufft": {"iters": 30},
    "mrpro": {"algorithm": "sense", "iters": 20},
}


class Places:
    def __init__(self, folder):
        self.folder = Path(folder)
        for name in ("scans", "rows", "images", "work"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)

    def row(self, scene, tool, column):
        return self.folder / "rows" / f"{scene['name']}.{tool}.{column}.json"

    def image(self, scene, tool, column):
        return self.folder / "images" / f"{scene['name']}.{tool}.{column}.npy"

    def scan(self, scene):
        return self.folder / "scans" / scene["name"]

    def work(self, scene, tool, column):
        return str(self.folder / "work" / f"{scene['name']}.{tool}.{column}.")


def truth_of(folder):
    """What every image times the root sum of squares of its maps should be."""
    maps = np.load(folder / "maps.npy")
    return np.load(folder / "truth.npy") * np.sqrt((abs(maps) ** 2).sum(0))


def settings_of(tool, scene, column):
    if column == "none":
        return [tools.none_of(tool, scene)]
    if column == "documented":
        return [s for s, _ in tools.documented(tool, scene)]
    if column == "proof":
        return [PROOF[tool]]
    return tools.grid(tool, scene)


def judge(scene, image, truth, row):
    """The row with the errors of its image."""
    if image is not None and truth is not None:
        row.update(metrics.errors(image, truth, magnitude=scene["maps"] != "given"))
        if scene["name"].startswith("proof"):
            row["shift"] = metrics.shift(image, truth)
            row["orientation"] = metrics.orientation(image, truth)[0]
    return row


def one(task):
    """The rows of a tool's settings of a column on a scan; the image of the best, without a truth of the first."""
    places, scene, tool, where, column, threads = task
    path = places.row(scene, tool, column)
    if path.exists():
        return
    folder = places.scan(scene)
    truth = truth_of(folder) if (folder / "truth.npy").exists() else None
    settings = settings_of(tool, scene, column)
    limit = tools.GRID_LIMIT_S if len(settings) > 1 else tools.LIMIT_S
    found = tools.run(tool, where, folder, places.work(scene, tool, column), scene, settings, threads, limit)
    rows = [judge(scene, image, truth, {"setting": s, **row}) for s, (row, image) in zip(settings, found)]
    good = [i for i, row in enumerate(rows) if "error" not in row]
    if good:
        best = min(good, key=lambda i: rows[i].get("inside", 0))
        rows[best]["best"] = True
        np.save(places.image(scene, tool, column), found[best][1])
    path.write_text(json.dumps(rows, indent=1))
    least = min((rows[i].get("inside", float("nan")) for i in good), default=float("nan"))
    print(
        f"{scene['name']}: {tool}, {column}: {least:.4f}; {len(good)} of {len(rows)}", file=sys.stderr, flush=True
    )


def timed(places, scene, found, threads, times):
    """The seconds and memory of each tool without flags and by its best documented setting, by turns."""
    work = []
    for tool, (where, _) in found.items():
        for column in ("none", "documented"):
            path = places.row(scene, tool, column)
            rows = json.loads(path.read_text()) if where and path.exists() else []
            best = next((r for r in rows if r.get("best")), None)
            if best and "times" not in best:
                best["times"] = []
                work.append((tool, where, path, rows, best))
    for _ in range(times):
        for tool, where, _, _, best in work:
            out = str(places.folder / "work" / "timed.")
            ((row, _),) = tools.run(tool, where, places.scan(scene), out, scene, [best["setting"]], threads)
            if "error" not in row:
                best["times"].append({k: row[k] for k in ("process", "processor", "seconds", "memory") if k in row})
    for _, _, path, rows, _ in work:
        path.write_text(json.dumps(rows, indent=1))


def machine(threads, busy=False):
    names = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().split("\n") if "model name" in line
    ]
    return {
        "processor": names[0] if names else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "threads": f"{threads}; others used it, too" if busy else threads,
        "system": platform.platform(),
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def chosen(found, names):
    """What was found, without the tools that were not asked for."""
    names = set(names.split(",") if names else found) | {"larmor"}
    unknown = sorted(names - set(found))
    if unknown:
        sys.exit(f"league: --tools: got {unknown[0]}, expected some of {', '.join(found)}")
    return {t: v if t in names else (None, f"{v[1]}; left out by --tools") for t, v in found.items()}


def tasks(places, found, scenes, columns, threads):
    return [
        (places, scene, tool, where, column, threads)
        for scene in scenes
        for column in columns
        for tool, (where, _) in found.items()
        if where
    ]


def prove(places, found, a):
    """Tools whose image of a noiseless, full scan is not the truth do not take part, and their row says so."""
    scenes = scans.proofs()
    for scene in scenes:
        scans.simulate(scene, places.scan(scene), a.larmor)
    with ThreadPoolExecutor(a.jobs) as pool:
        list(pool.map(one, tasks(places, found, scenes, ["proof"], a.threads)))
    for tool, (where, text) in found.items():
        rows = [json.loads(places.row(s, tool, "proof").read_text())[0] for s in scenes if where]
        wrong = [
            f"{s['name']}: {r.get('error', r.get('inside'))}"
            for s, r in zip(scenes, rows)
            if not r.get("inside", 1) < PROOF_MOST
        ]
        if wrong:
            print(
                f"league: {tool} does not take part, as its adapter is not proved: {'; '.join(wrong)}", file=sys.stderr
            )
            found[tool] = (None, f"{text}; not proved: {'; '.join(wrong)}")
    return scenes


def made(places, a):
    """The scans that are there or can be simulated."""
    seeds = [int(s) for s in a.seeds.split(",")]
    listed = scans.survey() if a.survey else None
    scenes = [s for s in scans.league(a.quick, seeds, listed) if not a.only or a.only in s["name"]]
    for scene in scenes:
        scans.simulate(scene, places.scan(scene), a.larmor)
    shared = Path(a.scans) if a.scans else None
    for name in scans.REAL if shared else []:
        if (shared / f"{name}.h5").exists():
            scenes.append(scans.real(name, shared / f"{name}.h5", places.folder / "scans" / name))
        else:
            print(f"league: {shared}/{name}.h5 is not there; the league is without it", file=sys.stderr)
    return scenes


def arguments():
    p = argparse.ArgumentParser(prog="scripts/league.sh", description=__doc__.split("\n")[0])
    p.add_argument(
        "--out", default="league", metavar="FOLDER", help="where scans, rows and the page go (default: league)"
    )
    p.add_argument(
        "--scans", metavar="FOLDER", help="real scans: of shared/data, cardiac_radial25.h5 and xe_kooshball_gas.h5"
    )
    p.add_argument("--quick", action="store_true", help="eight scans, and the grid on the first two of them")
    p.add_argument(
        "--survey", action="store_true", help="twelve small scans instead: four trajectories, SNR 5, 20 and 50"
    )
    p.add_argument("--grid", type=int, metavar="N", help="the grid on the first N scans (default: all; --quick: 2)")
    p.add_argument("--seeds", default="1", metavar="N,...", help="of objects and noise (default: 1)")
    p.add_argument("--only", metavar="TEXT", help="scans whose name has it")
    p.add_argument("--tools", metavar="NAME,...", help="of those that are here, only these and larmor")
    p.add_argument("--page", action="store_true", help="only the page, of what is in the folder already")
    p.add_argument("--threads", type=int, default=2, help="of every tool (default: 2)")
    p.add_argument(
        "--jobs", type=int, default=1, help="reconstructions at a time while errors are found (default: 1)"
    )
    p.add_argument(
        "--times", type=int, default=3, metavar="N", help="runs of which the least time counts; 0: no times"
    )
    p.add_argument("--timed", type=int, metavar="N", help="times of the first N scans (default: all; --quick: 3)")
    p.add_argument("--busy", action="store_true", help="others use the machine: only the processor's seconds count")
    p.add_argument("--larmor", default=str(tools.HERE.parent.parent / "build/cpu/apps/larmor"), help="the program")
    return p.parse_args()


def fill(places, found, scenes, a):
    """The rows that are missing, the grid's last, and the times when nothing else runs."""
    count = a.grid if a.grid is not None else 2 if a.quick else None
    gridded = [s for s in scenes if s["object"] != "real"][:count]
    jobs = tasks(places, found, scenes, ["none", "documented"], a.threads) + tasks(
        places, found, gridded, ["grid"], a.threads
    )
    with ThreadPoolExecutor(a.jobs) as pool:
        list(pool.map(one, jobs))
    if a.times:
        few = a.timed if a.timed is not None else 3 if a.quick else None
        for scene in scenes[:few]:
            timed(places, scene, found, a.threads, a.times)


def main():
    a = arguments()
    places = Places(a.out)
    found = chosen(tools.find(a.larmor), a.tools)
    for tool, (where, text) in found.items():
        print(f"{tool}: {text if where else f'not here: {text}'}", file=sys.stderr)
    proofs = prove(places, found, a)
    scenes = made(places, a)
    if not a.page:
        fill(places, found, scenes, a)
    sources = {t: tools.documented(t, {"n": [1, 1]}) for t, (where, _) in found.items() if where}
    page.write(places, found, proofs, scenes, machine(a.threads, a.busy), sources, busy=a.busy)
    print(f"{places.folder}/league.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
