# Every call of the C library that can fail fails once: memory, threads, and whatever files need.
# SPDX-License-Identifier: Apache-2.0
import os

import jobs
from running import one_line, read

KINDS = ("memory", "thread", "open", "read", "write", "sync", "rename", "reserve", "look", "map", "spawn")


def calls(runner, job, library, kind, programs, every):
    """Which calls of this kind are to fail in each program: {program: [numbers]}. Not every one: the first through
    each chain of callers."""
    found = {}
    path = runner.folder + (".count" if every else ".stacks")
    names = {program: "%s.%s" % (path, program) for program in programs}
    for name in names.values():
        if os.path.exists(name):
            os.remove(name)
    r = runner.run(job.arguments, environment={"LD_PRELOAD": library, "FAULT": kind, "FAULT_AT": "0",
                                               "FAULT_COUNT" if every else "FAULT_STACKS": path})
    if r.code:
        raise SystemExit("trust: %s fails with the library that counts: %s" % (job.name, r.err))
    for program, name in names.items():
        if os.path.exists(name):
            numbers = [int(n) for n in read(name).split()]
            found[program] = list(range(1, numbers[0] + 1)) if every else numbers
    return found


def without_libgomp(text):
    """OpenMP says why it ends the process, and nobody can keep it from that; larmor's own line follows."""
    found = text.lstrip("\n")
    return found.split("\n", 1)[1] if found.startswith("libgomp: ") and found.count("\n") > 1 else text


def judge(r, kind):
    """What is wrong with how a run ended, or None."""
    if r.signal:
        return "crash"
    if not isinstance(r.code, int):
        return "hang"
    if r.code not in (0, 1, 3, 4):
        return "exit code"
    if r.code and not one_line(without_libgomp(r.err)):
        return "message"
    if kind == "memory" and r.code and (r.code != 4 or "memory" not in r.err):
        return "memory that is not said"
    return None


class Faulted:
    def __init__(self, bench, library, limit):
        self.bench, self.library, self.limit = bench, library, limit

    def one(self, job, kind, program, number, more, report):
        self.bench.prepare(job)
        runner = self.bench.runner
        where = runner.folder + ".where"
        if os.path.exists(where):
            os.remove(where)
        environment = {"LD_PRELOAD": self.library, "FAULT": kind, "FAULT_AT": str(number), "FAULT_IN": program,
                       "FAULT_WHERE": where}
        if more:
            environment["FAULT_MORE"] = "1"
        r = runner.run(job.arguments, self.limit, environment)
        report.count("faults", kind)
        report.count("exit codes with %s failing" % kind, r.code if not r.signal else "signal %d" % r.signal)
        found = judge(r, kind)
        name = ""
        through = read(where).decode().split("\n")[0] if os.path.exists(where) else "?"
        if found and through.endswith("ld-linux-x86-64.so.2"):
            report.count("ended by a library's start, before the program's own", through.split()[0])
            found = None
        wrong = self.bench.judge(job, r.code == 0)
        if wrong and not found:
            found, name = wrong
        if found:
            report.count("%s, by the libraries of the call (%s)" % (found, kind), through)
            report.failure("%s (%s)" % (found, kind), "call %d%s in %s, %s %s: code %s, signal %d: %s [through %s]" % (
                number, " and later" if more else "", program, job.name, name, r.code, r.signal, r.err.strip()[:200], through))


def plan(runner, options, programs):
    """(job, kind, program, number, more) for all that is to be tried."""
    found = []
    for job in jobs.all_jobs() + jobs.more_jobs():
        jobs.learn(job, runner)
        for kind in KINDS:
            every = kind != "memory" or options.all_calls
            for program, numbers in calls(runner, job, options.faults, kind, programs, every).items():
                found += [(job, kind, program, i, 0) for i in numbers]
                found += [(job, kind, program, i, 1) for i in numbers[::13]]
            for name in job.outputs:
                if os.path.exists(runner.path(name)):
                    os.remove(runner.path(name))
    return found
