# The good files that are damaged, all made by the program itself or by make_seeds, and what the program says of them.
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess

import hdf5map
import mutants
from running import read, write

GRID = ["--method", "grid", "--maps", "none", "-q"]


class Seed:
    def __init__(self, kind, name, files, share):
        self.kind, self.name, self.files, self.share = kind, name, files, share
        self.parts = None
        self.text_at = self.text_room = 0
        self.truth = {}


def damage(random, seed):
    """A mutant of the seed: {name: bytes}."""
    how = {"scan": mutants.hdf5, "image.h5": mutants.hdf5, "header": mutants.header, "cfl": mutants.cfl,
           "maps": mutants.cfl, "kspace": mutants.cfl, "npy": mutants.npy, "nifti": mutants.nifti,
           "png": mutants.png, "wisdom": mutants.text}[seed.kind]
    return how(random, seed)


def commands(seed):
    """What is run on a file: the first always, the others where it succeeded and now and then. (arguments, output)."""
    name = seed.name
    if seed.kind in ("scan", "header"):
        return [(["info", "--json", name], None), (["recon", name, "-o", "made.npy", *GRID], "made.npy")]
    if seed.kind == "maps":
        return [(["recon", "good.h5", "-o", "made.npy", "--maps", name, "--method", "grid", "-q"], "made.npy")]
    if seed.kind == "kspace":
        return [(["convert", "--traj", "good_traj.cfl", "--kspace", name, "-o", "made.h5", "-q"], "made.h5")]
    if seed.kind == "png":
        return [(["info", name], None)]
    if seed.kind == "wisdom":
        return [(["nufft", "--type", "2", "--modes", "16,16", "-t", "good_traj.npy", "good.npy", "-o", "made.npy", "--plan", "measure",
                  "-q"], "made.npy")]
    return [(["info", name], None), (["convert", name, "-o", "made.npy", "-q"], "made.npy")]


def make(runner, make_seeds):
    """All seeds, in the runner's folder, with their truths."""
    def larmor(*arguments):
        r = runner.run(list(arguments))
        if r.code:
            raise SystemExit("trust: no seed from 'larmor %s': %s" % (" ".join(arguments), r.err))

    def get(kind, name, share, *others):
        found.append(Seed(kind, name, {n: read(runner.path(n)) for n in (name, *others)}, share))
        return found[-1]

    found = []
    size = ["--matrix", "16", "--readouts", "24", "--coils", "2", "-q"]
    larmor("phantom", "-o", "good.h5", "--noise", "0.001", *size)
    larmor("phantom", "-o", "many.h5", "--slices", "2", "--repetitions", "2", "--traj", "cartesian", *size[:2], *size[4:])
    larmor("traj", "-o", "good_traj.npy", "--traj", "golden", *size[:4])
    larmor("traj", "-o", "good_traj.cfl", "--traj", "golden", *size[:4])
    larmor("recon", "good.h5", "-o", "good.npy", "-o", "image.h5", "-o", "image.nii", "-o", "image.nii.gz", "-o",
           "image.png", "-o", "image.cfl", "--save-maps", "maps.cfl", "--iters", "5", "-q")
    larmor("recon", "many.h5", "-o", "images.h5", "--magnitude", *GRID)
    larmor("convert", "good.npy", "-o", "image.npy", "-q")
    larmor("nufft", "--type", "2", "--modes", "16,16", "-t", "good_traj.cfl", "image.cfl", "-o", "kspace.cfl", "-q")
    larmor("nufft", "--type", "2", "--modes", "16,16", "--modes", "16,16", "-t", "good_traj.npy", "good.npy", "-o", "made.npy", "--plan", "measure", "-q")
    os.remove(runner.path("made.npy"))
    layouts = ()
    if make_seeds:
        subprocess.run([make_seeds, runner.folder], check=True)
        layouts = ("single.h5", "chunks.h5", "packed.h5", "contiguous.h5")

    for name in ("good.h5", "many.h5", *layouts):
        get("scan", name, 9)
    for name in ("image.h5", "images.h5"):
        get("image.h5", name, 6)
    if make_seeds:
        head = get("header", "header.h5", 12)
        data = head.files["header.h5"]
        head.text_at = data.index(b"<?xml")
        head.text_room = data.index(b"\0", head.text_at) - head.text_at
    get("cfl", "image.cfl", 4, "image.hdr")
    get("maps", "maps.cfl", 2, "maps.hdr")
    get("kspace", "kspace.cfl", 2, "kspace.hdr")
    get("npy", "image.npy", 5)
    get("nifti", "image.nii", 6)
    get("nifti", "image.nii.gz", 4)
    get("png", "image.png", 5)
    wisdom = [os.path.relpath(os.path.join(at, n), runner.folder)
              for at, _, names in os.walk(runner.path(".cache")) for n in names]
    get("wisdom", wisdom[0], 1)
    for seed in found:
        if seed.name.endswith(".h5"):
            seed.parts = hdf5map.Map(seed.files[seed.name])
        for arguments, output in commands(seed):
            r = runner.run(arguments)
            if r.code:
                raise SystemExit("trust: the seed itself is refused by 'larmor %s': %s" % (" ".join(arguments), r.err))
            seed.truth[arguments[0]] = read(runner.path(output)) if output else r.out
            if output:
                os.remove(runner.path(output))
    return found


def lay_out(runner, files):
    """The files that every command may need, in another runner's folder."""
    for name, data in files.items():
        os.makedirs(os.path.dirname(runner.path(name)), exist_ok=True)
        write(runner.path(name), data)
