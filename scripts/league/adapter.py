"""What the adapters of Python tools share: a scan's arrays, and a loop over settings.

An adapter is called as `adapter FOLDER OUT SETTINGS`: the scan's folder, where OUT0.npy, OUT1.npy ... go, and a
JSON list of settings. It prints a JSON line for each: seconds of the reconstruction alone, or the error. An image
is [x, y(, z)], times the root sum of squares of the maps, which does not depend on how a tool normalises its maps.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import sys
import time
import traceback
from pathlib import Path

import numpy as np

THREADS = int(os.environ.get("OMP_NUM_THREADS", "1"))


class Arrays:
    """kspace [coils, readouts, samples], traj [readouts, samples, axes] in cycles per field of view, n, maps."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.scene = json.loads((self.folder / "scan.json").read_text())
        self.n = tuple(self.scene["n"])
        self.kspace = np.load(self.folder / "kspace.npy")
        self.traj = np.load(self.folder / "traj.npy")
        self.maps = np.load(self.folder / "maps.npy") if self.scene["maps"] == "given" else None


def rss(maps):
    return np.sqrt((abs(maps) ** 2).sum(0))


def loop(reconstruct):
    """reconstruct(arrays, settings, cache) gives an image; cache keeps what the settings of one call share."""
    arrays, out, cache = Arrays(sys.argv[1]), sys.argv[2], {}
    for i, settings in enumerate(json.loads(sys.argv[3])):
        began = time.perf_counter()
        try:
            image = np.asarray(reconstruct(arrays, settings, cache))
            row = {"seconds": time.perf_counter() - began}
            np.save(f"{out}{i}.npy", image.astype(np.complex64))
        except Exception as error:
            traceback.print_exc()
            row = {"error": f"{type(error).__name__}: {error}".split("\n")[0][:200]}
        print("row " + json.dumps(row), flush=True)
