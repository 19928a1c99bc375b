#!/usr/bin/env python3
"""Nothing that a file, a fault or a full machine does may crash, hang, lie or lose data: try it, and print what was tried.

Stages: files (damaged files of every format), lines (damaged command lines), faults (the n-th call of the C library
fails), kills (kill -9 at random times and at every change of a file), disks (full ones), signals (SIGINT, SIGTERM and
SIGHUP in every stage). Needs nothing but Python's standard library.  SPDX-License-Identifier: Apache-2.0
"""
import argparse
import os
import resource
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import files  # noqa: E402
import report  # noqa: E402
import running  # noqa: E402
import seeds  # noqa: E402

STAGES = ("files",)


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--larmor", required=True, help="the program")
    parser.add_argument("--make-seeds", required=True, help="the program that makes scans in several layouts")
    parser.add_argument("--faults", required=True, help="the library that lets calls fail")
    parser.add_argument("--only", choices=STAGES, action="append", help="this stage alone; may be repeated")
    parser.add_argument("--short", action="store_true", help="a little of everything, in seconds")
    parser.add_argument("--files", type=int, help="damaged files (default: 20000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first damaged file")
    parser.add_argument("--both", type=float, default=0.1, help="share of refused files that the second command gets too")
    parser.add_argument("--seed", default="1", help="of the random numbers")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--scratch", default="/dev/shm" if os.access("/dev/shm", os.W_OK) else None,
                        help="where files are made; memory is quicker than a disk (default: /dev/shm)")
    parser.add_argument("--keep", help="a folder for the files that failed")
    parser.add_argument("--memory", type=float, default=64, help="most MB that a refusal may take")
    return parser.parse_args(arguments)


def in_parallel(jobs, folder, work):
    """work(number, report) in so many processes; the report of them all."""
    children = []
    for number in range(jobs):
        child = os.fork()
        if not child:
            code = 1
            try:
                mine = report.Report()
                work(number, mine)
                mine.save(os.path.join(folder, "report.%d" % number))
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    everything = report.Report()
    for number, child in enumerate(children):
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            everything.failure("harness", "worker %d did not end well" % number)
        else:
            everything.add(os.path.join(folder, "report.%d" % number))
    return everything


def run_files(o, folder, limits):
    runner = running.Runner(o.larmor, os.path.join(folder, "seeds"), {"OMP_NUM_THREADS": "1"})
    found = seeds.make(runner, o.make_seeds)
    common = {}
    for at, _, names in os.walk(runner.folder):
        for name in names:
            path = os.path.join(at, name)
            common[os.path.relpath(path, runner.folder)] = running.read(path)
    count = o.files or (300 if o.short else 20000)

    def work(number, mine):
        worker = files.Files(running.Runner(o.larmor, os.path.join(folder, "files%d" % number), {"OMP_NUM_THREADS": "1"}), found, common, o, limits)
        for i in range(o.first + number, o.first + count, o.jobs):
            worker.one(i, mine)

    return in_parallel(o.jobs, folder, work)


class Limits:
    def __init__(self, o):
        self.refusal_bytes = o.memory * 1e6


def main():
    o = options_of(sys.argv[1:])
    o.larmor, o.make_seeds, o.faults = (os.path.abspath(p) for p in (o.larmor, o.make_seeds, o.faults))
    if "ASAN_OPTIONS" not in os.environ:
        resource.setrlimit(resource.RLIMIT_AS, (running.MOST_ADDRESS_SPACE, running.MOST_ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    folder = tempfile.mkdtemp(prefix="larmor-trust-", dir=o.scratch)
    failed = 0
    try:
        for stage in o.only or STAGES:
            began = time.monotonic()
            where = os.path.join(folder, stage)
            os.mkdir(where)
            result = {"files": run_files}[stage](o, where, Limits(o))
            print("---- %s, %.0f s" % (stage, time.monotonic() - began))
            result.print()
            sys.stdout.flush()
            failed += len(result.failures)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("trust: %s" % ("what was tried held" if not failed else "NOT everything held"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
