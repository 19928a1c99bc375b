# Damaged files of every format: refused in one line, or read; never a crash, a hang, a changed input or a lie.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import random

import hdf5map
import mutants
import seeds
from running import one_line, read, write

TIME_LIMIT = 20  # seconds for a file of a few kilobytes


def words_about(r):
    return "code %s, signal %d, %.1f s, %.0f MB: %s" % (r.code, r.signal, r.seconds, r.peak_bytes / 1e6,
                                                         r.err.strip()[:300] or r.out.strip()[:100])


def reason(text):
    """The reason in the JSON of a command that failed, or None."""
    try:
        return json.loads(text).get("error")
    except ValueError:
        return None


def judge(r, refusal_bytes, in_json):
    """What is wrong with how a run ended, or None. in_json: it was asked for JSON."""
    if r.signal:
        return "crash"
    if not isinstance(r.code, int):
        return "hang" if r.late else "slow"
    if r.code not in (0, 1, 3, 4):
        return "exit code"
    if r.code and not one_line(r.err):
        return "message"
    if r.code and in_json and not reason(r.out):
        return "no JSON of a failure"
    if r.code and not in_json and r.out:
        return "output on stdout"
    if r.code in (3, 4) and r.peak_bytes > refusal_bytes:
        return "memory"
    return None


def may_say_something_else(seed, files):
    """Whether a mutant may rightly be read as something else: samples, texts, heads and names have no redundancy, nor
    has the order of readouts."""
    touched = mutants.kinds_touched(seed, files)
    if touched is None or not touched <= set(hdf5map.STRUCTURE + ("gap",)):
        return True
    places = [p[:2] for p in seed.parts.parts if p[2] in ("reference", "heap")]
    old, new = (sorted(f[seed.name][a:b] for a, b in places) for f in (seed.files, files))
    return bool(touched & {"reference", "heap"}) and old == new


class Files:
    """One worker's part of the stage."""

    def __init__(self, runner, all_seeds, common, options):
        self.runner, self.seeds, self.options = runner, all_seeds, options
        seeds.lay_out(runner, common)
        self.usual = set(os.listdir(runner.folder))
        self.weights = [s.share for s in all_seeds]

    def mutant(self, number):
        rng = random.Random("%s %d" % (self.options.seed, number))
        seed = rng.choices(self.seeds, self.weights)[0]
        return rng, seed, seeds.damage(rng, seed)

    def one(self, number, report):
        rng, seed, files = self.mutant(number)
        seeds.lay_out(self.runner, files)
        stamp = [os.stat(self.runner.path(n)).st_mtime_ns for n in files]
        report.count("mutated files", seed.kind)
        everything = rng.random() < self.options.both
        for arguments, output in seeds.commands(seed):
            r = self.runner.run(arguments, TIME_LIMIT)
            report.count("exit codes", r.code if not r.signal else "signal %d" % r.signal)
            if r.code in (3, 4):
                report.most("peak memory of a refusal", r.peak_bytes / 1e6)
            report.most("longest run on a damaged file", r.seconds)
            wrong = judge(r, self.options.memory * 1e6, "--json" in arguments)
            if not wrong and r.code == 0:
                wrong = self.lies(seed, files, arguments, output, r)
            if wrong:
                self.keep(number, seed, files, arguments, wrong, r, report)
            if output and os.path.exists(self.runner.path(output)):
                if r.code:
                    report.failure("output after a refusal", "mutant %d: larmor %s" % (number, " ".join(arguments)))
                os.remove(self.runner.path(output))
            if r.code and not everything:
                break
        if seed.kind != "wisdom":
            same = [read(self.runner.path(n)) == data for n, data in files.items()]
            if not all(same) or stamp != [os.stat(self.runner.path(n)).st_mtime_ns for n in files]:
                report.failure("input changed", "mutant %d of %s" % (number, seed.name))
        left = set(os.listdir(self.runner.folder)) - self.usual
        for name in left:
            report.failure("file left", "mutant %d of %s: %s" % (number, seed.name, name))
            os.remove(self.runner.path(name))
        seeds.lay_out(self.runner, seed.files)

    def lies(self, seed, files, arguments, output, r):
        """A success whose result is none, or is not what the undamaged part of the file says."""
        if not output:
            try:
                json.loads(r.out) if "--json" in arguments else None
            except ValueError:
                return "not JSON"
            made = r.out
        else:
            if not os.path.exists(self.runner.path(output)):
                return "success without an output"
            made = read(self.runner.path(output))
            check = self.runner.run(["info", output], TIME_LIMIT)
            if check.code:
                return "output that cannot be read"
            if arguments[0] == "recon" and "not finite" in check.out:
                return "image that is not finite"
        judged = seed.parts and not (seed.kind == "image.h5" and arguments[0] == "info")  # which prints texts, too
        if judged and made != seed.truth[arguments[0]] and not may_say_something_else(seed, files):
            return "wrong result with exit 0"
        return None

    def keep(self, number, seed, files, arguments, wrong, r, report):
        parts = sorted(mutants.kinds_touched(seed, files) or ["length"]) if seed.parts else []
        text = "mutant %d of %s (%s): larmor %s: %s" % (number, seed.name, ", ".join(parts), " ".join(arguments),
                                                        words_about(r))
        report.failure(wrong, text)
        if self.options.keep:
            folder = os.path.join(self.options.keep, wrong.replace(" ", "-"))
            os.makedirs(folder, exist_ok=True)
            for name, data in files.items():
                write(os.path.join(folder, "%d-%s" % (number, os.path.basename(name))), data)
