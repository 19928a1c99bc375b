"""The league's tools: their settings, where those are from, and how one is run and measured.

Three columns: `none`, what a tool does when no quality is asked for; `documented`, settings that its own
documentation or examples show, of which the one of least error counts; `grid`, the best over weights, iterations
and penalties, which needs the truth and is a bound. A setting of BART is its options of pics, of larmor those of
recon, else what recon_TOOL.py says.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scans import read_cfl

HERE = Path(__file__).resolve().parent
LIMIT_S = 240  # of the processor, of one process and thread; a grid's process gets GRID_LIMIT_S
GRID_LIMIT_S = 420
PYTHON_TOOLS = {"sigpy": "sigpy", "mri-nufft": "mrinufft", "mrpro": "mrpro"}  # tool: module
NAMES = ["larmor", "bart", "sigpy", "mri-nufft", "mrpro", "riesling", "gadgetron"]
PROGRAMS = {
    "riesling": ["riesling"],
    "gadgetron": ["gadgetron"],
}  # without an adapter: a row says whether they are there


def axes_of(scene):
    return 7 if len(scene["n"]) == 3 else 3


def none_of(tool, scene):
    return {
        "larmor": [],
        "bart": {"maps": "espirit", "pics": []},
        "sigpy": {"app": "sense"},
        "mri-nufft": {},
        "mrpro": {"algorithm": "sense"},
    }[tool]


WEBINAR = "mrirecon/bart-webinars, webinar1/day1_advanced_recon.ipynb"
WORKSHOP = "mrirecon/bart-workshop, ds_ismrm_phd_2025/tutorial2_cmr_solutions.ipynb"
TUTORIAL = "mikgroup/sigpy-mri-tutorial, part 2; its data have a largest voxel of 1"
MRPRO = "PTB-MR/mrpro, examples/scripts"


def documented(tool, scene):
    """[(setting, source)]"""
    a = axes_of(scene)
    return {
        "larmor": [
            ([], "docs/tutorial.md"),
            (["--method", "cg"], "docs/methods.md"),
            (["--method", "wavelet"], "docs/methods.md"),
            (["--method", "tgv"], "docs/choosing.md"),
        ],
        "bart": [
            ({"maps": "nlinv", "pics": ["-R", "Q:0.0001"]}, WEBINAR),
            ({"maps": "nlinv", "pics": ["-S", "-e", "-i100", "-R", f"W:{a}:0:0.0015"]}, WEBINAR),
            ({"maps": "nlinv", "pics": ["-S", "-e", "-i250", "-R", f"W:{a}:0:0.005"]}, WORKSHOP),
        ],
        "sigpy": [
            ({"app": "sense", "lamda": 0.01}, TUTORIAL),
            ({"app": "wavelet", "lamda": 0.005}, TUTORIAL),
            ({"app": "tv", "lamda": 0.005}, TUTORIAL),
        ],
        "mri-nufft": [
            ({"optim": "adjoint", "density": "pipe"}, "its README, and example_readme.py; density of `pipe`"),
            ({"optim": "cg", "density": "pipe"}, "its pinv_solver, cg, as it starts from the density"),
            ({"damp_as_is": 0.1, "iters": 1000}, "examples/GPU/example_pinv.py"),
        ],
        "mrpro": [
            ({"algorithm": "direct"}, f"{MRPRO}/direct_reconstruction.py"),
            ({"algorithm": "sense", "iters": 8}, f"{MRPRO}/tv_minimization_reconstruction_pdhg.py"),
            (
                {"algorithm": "tv", "weight": 1e-5, "iters": 257},
                f"{MRPRO}/tv_minimization_reconstruction_pdhg.py; the weight is one for its own data's units",
            ),
        ],
    }[tool]


def grid(tool, scene):
    """From the likeliest on, as a slow tool may not come to the end of it."""
    a = axes_of(scene)
    if tool == "larmor":
        return [
            ["--method", m, "--lambda", f"noise:{w}"]
            for w in (1, 0.5, 2, 0.25, 4)
            for m in ("tv", "wavelet", "tgv", "cg")
        ]
    if tool == "bart":
        out = [
            {"maps": "nlinv", "pics": ["-S", "-e", "-i100", "-R", f"{p}:{a}:0:{w}"]}
            for w in (0.01, 0.003, 0.03, 0.001, 0.1)
            for p in "TW"
        ]
        return out + [{"maps": "nlinv", "pics": ["-S", "-R", f"Q:{w}"]} for w in (0.01, 0.1, 0.001, 1)]
    if tool == "sigpy":
        out = [{"app": p, "lamda": w} for w in (0.03, 0.1, 0.01, 0.3) for p in ("tv", "wavelet")]
        return [{"app": "sense", "iters": i} for i in (5, 10, 20)] + out
    if tool == "mri-nufft":
        return [{"iters": i} for i in (5, 10, 3, 20, 8, 40)] + [
            {"damp": w, "iters": 50} for w in (0.1, 0.3, 0.03, 0.01, 1)
        ]
    out = [{"algorithm": "sense", "iters": i} for i in (3, 8, 2, 12, 20)]
    return out + [
        {"algorithm": "tv", "weight": w, "relative": 1, "iters": 100} for w in (0.01, 0.03, 0.003, 0.1, 0.3, 0.001)
    ]


# ---- running ----


def measured(words, threads, limit=LIMIT_S, log=None):
    """Seconds, MB of the largest process, exit status and processor's seconds of a command and what it waited for;
    status 124 where it was ended at the limit."""
    env = dict(os.environ)
    for name in ("OMP", "MKL", "NUMBA", "OPENBLAS"):
        env[f"{name}_NUM_THREADS"] = str(threads)
    with tempfile.NamedTemporaryFile("r") as result, open(log or os.devnull, "ab") as out:
        subprocess.run(
            [sys.executable, "-I", "-S", HERE / "measure.py", result.name, str(limit), *map(str, words)],
            env=env,
            stdout=out,
            stderr=out,
            check=True,
        )
        return tuple(json.load(result))


def bart_commands(folder, out, scene, setting):
    """(commands, maps): the reconstruction; maps by ESPIRiT of the gridded scan or by nlinv, if none are given."""
    n = [*scene["n"], 1][:3]
    size = ":".join(map(str, n))
    traj, kspace = folder / "traj", folder / "kspace"
    commands = []
    maps = folder / "maps"
    if scene["maps"] != "given" and setting["maps"] == "espirit":
        maps = f"{out}_maps"
        commands += [
            ["bart", "nufft", "-i", "-d", size, traj, kspace, f"{out}_coils"],
            ["bart", "fft", "-u", axes_of(scene), f"{out}_coils", f"{out}_grid"],
            ["bart", "ecalib", "-m1", f"{out}_grid", maps],
        ]
    elif scene["maps"] != "given":
        maps = f"{out}_maps"
        commands += [
            ["bart", "nlinv", "-i8", "-t", traj, kspace, f"{out}_nlinv", f"{out}_wide"],
            ["bart", "resize", "-c", 0, n[0], 1, n[1], 2, n[2], f"{out}_wide", maps],
        ]
    return commands + [["bart", "pics", *setting["pics"], "-t", traj, kspace, maps, f"{out}_image"]], maps


def larmor_commands(larmor, folder, out, scene, setting, threads):
    maps = ["--maps", folder / "maps.cfl"] if scene["maps"] == "given" else []
    return [
        [
            larmor,
            "recon",
            folder / "scan.h5",
            "-o",
            f"{out}_image.cfl",
            *maps,
            *setting,
            "--threads",
            threads,
            "--force",
        ]
    ]


def rss_of(maps, scene):
    return np.sqrt((abs(read_cfl(maps)) ** 2).sum(3)).reshape(scene["n"])


def chain(commands, threads, limit, log):
    """What a row has of commands one after the other."""
    seconds, memory, processor = 0, 0, 0
    for words in commands:
        s, mb, status, busy = measured(words, threads, limit, log)
        seconds, memory, processor = seconds + s, max(memory, mb), processor + busy
        if status:
            last = Path(log).read_text(errors="replace").strip().split("\n")[-1][-160:]
            words = " ".join(str(w) for w in words[:2])
            raise RuntimeError(
                f"{words} ended with {status}" + (f" after {limit} s" if status == 124 else f": {last}")
            )
    return {"process": seconds, "memory": memory, "processor": processor}


def by_commands(tool, larmor, folder, out, scene, setting, threads):
    """A row of one setting, and the image in OUT0.npy."""
    log = f"{out}.log"
    Path(log).write_bytes(b"")
    if tool == "bart":
        commands, maps = bart_commands(folder, out, scene, setting)
    else:
        commands, maps = larmor_commands(larmor, folder, out, scene, setting, threads), None
    row = chain(commands, threads, LIMIT_S, log)
    image = read_cfl(f"{out}_image").reshape(scene["n"])
    if tool == "bart":
        image = image * rss_of(maps, scene)
    elif scene["maps"] == "given":
        image = image * rss_of(folder / "maps", scene)
    return row, image


def larmor_said(log):
    """The method that larmor chose by itself."""
    found = re.search(r"image \d+ of \d+: method (\w+)", Path(log).read_text(errors="replace"))
    return found.group(1) if found else ""


def by_adapter(tool, python, folder, out, settings, threads, limit):
    """Rows of settings in one process, and their images."""
    log = f"{out}.log"
    Path(log).write_bytes(b"")
    script = HERE / f"recon_{PYTHON_TOOLS[tool]}.py"
    seconds, memory, status, busy = measured([python, script, folder, out, json.dumps(settings)], threads, limit, log)
    text = Path(log).read_text(errors="replace")
    rows = [json.loads(line[4:]) for line in text.split("\n") if line.startswith("row {")]
    why = (
        f"not done within {limit} s of the processor"
        if status == 124
        else f"ended with {status}: " + text.strip().split("\n")[-1][-160:]
    )
    rows += [{"error": why} for _ in settings[len(rows) :]]
    for row in rows:
        row["memory"] = memory
        if len(settings) == 1:
            row.update(process=seconds, processor=busy)
    images = [None if "error" in row else np.load(f"{out}{i}.npy") for i, row in enumerate(rows)]
    return rows, images


def run(tool, where, folder, out, scene, settings, threads, limit=LIMIT_S):
    """[(row, image or None)] of settings; where: the program or the Python that has the tool."""
    folder = Path(folder)
    if tool in PYTHON_TOOLS:
        return list(zip(*by_adapter(tool, where, folder, out, settings, threads, limit)))
    found = []
    began = time.monotonic()
    for setting in settings:
        try:
            if time.monotonic() - began > limit and len(settings) > 1:
                raise RuntimeError(f"not begun within {limit} s")
            row, image = by_commands(tool, where, folder, out, scene, setting, threads)
            if tool == "larmor":
                row["said"] = larmor_said(f"{out}.log")
            found.append((row, image))
        except (RuntimeError, OSError, ValueError) as error:
            found.append(({"error": str(error)}, None))
    return found


# ---- what is here ----


def version(tool, where):
    if tool == "larmor":
        words = [where, "--version"]
    elif tool == "bart":
        words = [where, "version"]
    elif tool in PYTHON_TOOLS:
        words = [where, "-c", f"import importlib.metadata as m; print(m.version({tool!r}))"]
    else:
        words = [where, "--version"]
    got = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False)
    return (got.stdout or got.stderr).strip().split("\n")[0]


def python_of(tool):
    """The Python that has the tool: mrpro's PyTorch is apart, as SigPy and mri-nufft import it where they find it."""
    apart = Path(sys.executable).parents[2] / tool / "bin/python"
    for python in (apart, Path(sys.executable)):
        words = [str(python), "-c", f"import {PYTHON_TOOLS[tool]}"]
        if python.exists() and not subprocess.run(words, capture_output=True, check=False).returncode:
            return str(python)
    return None


def find(larmor):
    """{tool: (where or None, version, or why it is missing)}"""
    found = {}
    for tool in NAMES:
        if tool in PYTHON_TOOLS:
            where = python_of(tool)
            why = "no Python package of this name; scripts/league.sh --setup installs it"
        else:
            where = larmor if tool == "larmor" else shutil.which(tool)
            why = "no program of this name in PATH"
        if where and tool in PROGRAMS:
            found[tool] = (None, f"{version(tool, where)}, for which the league has no adapter")
        else:
            found[tool] = (where, version(tool, where) if where else why)
    return found
