# Command lines that nobody would type. SPDX-License-Identifier: Apache-2.0
import random
import re

from mutants import NUMBERS
from running import one_line

WORDS = ["-", "--", "-o", "--=", "---", "", " ", "%s%n", "a" * 5000, "none", "auto", "good.h5", "good.npy", "image.h5",
         "maps.cfl", "image.nii", "/", ".", "..", "/dev/null", "/dev/zero", "nothing.h5", "x.npy", "x.h5", "x.png", "x.cfl",
         "x.nii.gz", "x", "1,2,3", "1,", ",", "1,2,3,4", "16", "8,8", "0.1", "\u00e9\u4e2d", "-1", "--help=1", "-qf"]


class Lines:
    def __init__(self, runner):
        self.runner = runner
        listing = runner.run(["--help"]).out
        names = re.findall(r"^  ([a-z]+) {2,}", listing, re.M)
        self.options = {n: re.findall(r"--[a-z-]+", runner.run([n, "--help"]).out) for n in names}

    def make(self, rng):
        command = rng.choice(sorted(self.options))
        # one that listens waits for clients
        line = [command] + {"serve": ["--pipe"], "view": ["--address", "none"]}.get(command, [])
        if rng.random() < 0.5:
            line += {"recon": ["good.h5", "-o", "x.npy"], "info": ["good.h5"], "convert": ["image.h5", "-o", "x.nii"],
                     "compare": ["good.npy", "good.npy"], "phantom": ["-o", "x.h5", "--matrix", "16", "--readouts", "8"],
                     "traj": ["-o", "x.npy", "--matrix", "16", "--readouts", "8"],
                     "nufft": ["--type", "2", "--modes", "16,16", "-t", "good_traj.npy", "good.npy", "-o", "x.npy"]}.get(command, [])
        for _ in range(rng.randrange(5)):
            what = rng.random()
            value = rng.choice(NUMBERS) if rng.random() < 0.6 else rng.choice(WORDS)
            if what < 0.7:
                option = rng.choice(self.options[command] or ["--help"])
                line += [option + "=" + value] if what < 0.3 else [option, value] if what < 0.65 else [option]
            else:
                line.insert(rng.randrange(1, len(line) + 1), value)
        return [w.replace("\0", "") for w in line]

    def one(self, number, seed, report):
        rng = random.Random("line %s %d" % (seed, number))
        line = self.make(rng)
        r = self.runner.run(line, 5)
        report.count("command lines", line[0])
        report.count("exit codes of command lines", r.code if not r.signal else "signal %d" % r.signal)
        wrong = None
        if r.signal:
            wrong = "crash"
        elif not isinstance(r.code, int):
            wrong = "hang after a signal" if r.late else None
        elif r.code not in (0, 1, 2, 3, 4):
            wrong = "exit code"
        elif r.code and not (one_line(r.err.splitlines()[-1] + "\n") if r.err else False):
            wrong = "message"
        if wrong:
            report.failure("line: " + wrong, "%r: code %s, signal %d: %s" % ([w[:60] for w in line], r.code, r.signal, r.err[-200:]))
