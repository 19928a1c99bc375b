# Small reconstructions with their outputs, and what must hold of these whatever happens to the program: at each path lies
# what was there before or what the undisturbed program writes, and nothing else is left.
# SPDX-License-Identifier: Apache-2.0
import os
import shutil

from running import read, write


class Job:
    """A command with -f, so that its outputs replace files that are there."""

    def __init__(self, name, arguments, outputs):
        self.name, self.arguments, self.outputs = name, arguments, outputs
        self.old = {}
        self.right = {}


def all_jobs():
    return [
        Job("cg, own maps", ["recon", "good.h5", "-o", "o.h5", "-o", "o.nii", "-o", "o.png", "--iters", "3", "-f", "-q"],
            ["o.h5", "o.nii", "o.png"]),
        Job("tv, given maps", ["recon", "good.h5", "-o", "o.cfl", "-o", "o.nii.gz", "--maps", "maps.cfl", "--method", "tv",
                               "--lambda", "0.01", "--iters", "3", "-f", "-q"],
            ["o.cfl", "o.hdr", "o.nii.gz"]),
        Job("grid", ["recon", "good.h5", "-o", "o.npy", "--method", "grid", "--save-maps", "m.h5", "--save-density", "d.npy", "-f",
                     "-q"], ["o.npy", "m.h5", "d.npy"]),
    ]


def more_jobs():
    return [
        Job("phantom", ["phantom", "-o", "p.h5", "--matrix", "16", "--readouts", "12", "--coils", "2", "--truth", "t.npy",
                        "--noise", "0.01", "--maps", "c.cfl", "-q"], ["p.h5", "t.npy", "c.cfl", "c.hdr"]),
        Job("convert", ["convert", "image.h5", "-o", "o.nii", "--force", "-q"], ["o.nii"]),
        Job("nufft", ["nufft", "--type", "2", "--modes", "16,16", "-t", "good_traj.npy", "good.npy", "-o", "o.npy", "--force", "-q"],
            ["o.npy"]),
        Job("traj", ["traj", "-o", "o.cfl", "--matrix", "16", "--readouts", "12", "-q"], ["o.cfl", "o.hdr"]),
        Job("info", ["info", "good.h5"], []),
    ]


def learn(job, runner):
    """What the job writes, and something older of the same sizes."""
    r = runner.run(job.arguments)
    if r.code:
        raise SystemExit("trust: %s fails undisturbed: %s" % (job.name, r.err))
    for name in job.outputs:
        job.right[name] = read(runner.path(name))
        job.old[name] = b"older " + job.right[name][6:]
        os.remove(runner.path(name))
    return r


class Bench:
    """A worker's folder with all inputs, in which jobs are disturbed."""

    def __init__(self, runner, common):
        self.runner = runner
        self.inputs = common
        for name, data in common.items():
            os.makedirs(os.path.dirname(runner.path(name)), exist_ok=True)
            write(runner.path(name), data)
        self.usual = set(os.listdir(runner.folder))

    def prepare(self, job):
        self.clean()
        if "-f" in job.arguments or "--force" in job.arguments:
            for name, data in job.old.items():
                write(self.runner.path(name), data)

    def clean(self):
        for name in set(os.listdir(self.runner.folder)) - self.usual:
            path = self.runner.path(name)
            if os.path.isdir(path):
                shutil.rmtree(path)
            else:
                os.remove(path)

    def judge(self, job, done, parts_may_stay=False):
        """What is wrong with the files, or None. done: the program said that all is well."""
        forced = "-f" in job.arguments or "--force" in job.arguments
        for name in job.outputs:
            path = self.runner.path(name)
            if not os.path.exists(path):
                if done or forced:
                    return "output lost", name
                continue
            now = read(path)
            if now == job.right[name] or (now == job.old[name] and forced and not done):
                continue
            if not self.alike(job, name):
                return "output damaged", name
        for name, data in self.inputs.items():
            if not name.startswith(".cache") and read(self.runner.path(name)) != data:
                return "input changed", name
        left = set(os.listdir(self.runner.folder)) - self.usual - set(job.outputs)
        if left and not parts_may_stay:
            return "file left", ", ".join(sorted(left))
        return None

    def alike(self, job, name):
        """Whether an output that differs from the undisturbed one is the same image but for rounding."""
        if name.endswith((".hdr", ".png")):
            return self.runner.run(["info", name]).code == 0 if name.endswith(".png") else False
        write(self.runner.path("right-" + name), job.right[name])
        if name.endswith(".cfl"):
            header = name[:-4] + ".hdr"
            write(self.runner.path("right-" + header), job.right[header])
        scan = job.name == "phantom" and name.endswith(".h5")
        r = self.runner.run(["info", name] if scan else ["compare", name, "right-" + name, "--tol", "1e-3"])
        for left in os.listdir(self.runner.folder):
            if left.startswith("right-"):
                os.remove(self.runner.path(left))
        return r.code == 0
