#!/usr/bin/env python3
"""Nothing that a file, a fault or a full machine does may crash, hang, lie or lose data: try it, and print what was tried.

Stages: files (damaged files of every format), lines (damaged command lines), faults (the n-th call of the C library
fails), kills (kill -9 at random times and at every change of a file), disks (full ones), signals (SIGINT, SIGTERM and
SIGHUP in every stage). Needs nothing but Python's standard library.  SPDX-License-Identifier: Apache-2.0
"""
import argparse
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import devices  # noqa: E402
import disturbed  # noqa: E402
import faulted  # noqa: E402
import files  # noqa: E402
import jobs  # noqa: E402
import lines  # noqa: E402
import report  # noqa: E402
import running  # noqa: E402
import seeds  # noqa: E402

STAGES = ("files", "lines", "faults", "devices", "kills", "disks", "signals")
PROGRAMS = ("larmor", "larmor-reader")
HELPERS = (("trust_make_seeds", "trust/trust_make_seeds"), ("faults.so", "faults/faults.so"),
           ("faulty/larmor_cuda.so", "faults/faulty/larmor_cuda.so"))


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", help="larmor (default: that of the installation that this file is in)")
    parser.add_argument("--reader", help="larmor-reader (default: the one that the program finds)")
    parser.add_argument("--helpers", default=os.path.dirname(os.path.abspath(__file__)),
                        help="a folder with trust_make_seeds, faults.so and faulty/larmor_cuda.so, or with folders that "
                             "have them; what is missing is left out, and said (default: this file's)")
    parser.add_argument("--gpu", help="a GPU's own plugin, before which that one stands; else it is the processor")
    parser.add_argument("--only", choices=STAGES, action="append", help="this stage alone; may be repeated")
    parser.add_argument("--short", action="store_true", help="a little of everything, in seconds")
    parser.add_argument("--files", type=int, help="damaged files (default: 20000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first damaged file")
    parser.add_argument("--both", type=float, default=0.1, help="share of refused files that the second command gets too")
    parser.add_argument("--seed", default="1", help="of the random numbers; another one makes other mutants and faults")
    parser.add_argument("-j", "--jobs", type=int, default=len(os.sched_getaffinity(0)),
                        help="processes that try at the same time (default: as many as there are cores)")
    parser.add_argument("--scratch", default="/dev/shm" if os.access("/dev/shm", os.W_OK) else None,
                        help="where files are made; memory is quicker than a disk (default: /dev/shm)")
    parser.add_argument("--keep", help="a folder for the files that failed")
    parser.add_argument("--memory", type=float, default=64, help="most MB that a refusal may take")
    parser.add_argument("--most", type=int, help="of the stages faults and devices at most so many runs, at random")
    parser.add_argument("--all-calls", action="store_true", help="every allocation fails; else the first of each chain of callers")
    parser.add_argument("--hang", type=float, default=0, help="seconds that nothing is taken for hanging before, on a "
                        "machine that others use, too; also those from a signal to the end")
    parser.add_argument("--patience", type=float, default=1, help="most seconds from a signal to the end")
    o = parser.parse_args(arguments)
    program = o.program or installed_program()
    if not program or not os.access(program, os.X_OK):
        parser.error("no program %s: name it by --program" % (program or "larmor"))
    o.larmor = os.path.abspath(program)
    o.patience = max(o.patience, o.hang)
    running.Runner.hang = o.hang
    o.environment = {"LARMOR_READER": os.path.abspath(o.reader)} if o.reader else {}
    o.make_seeds, o.faults, o.faulty = (find(o.helpers, *names) for names in HELPERS)
    return o


def installed_program():
    """PREFIX/bin/larmor for PREFIX/libexec/larmor/tests/trust/trust.py, wherever that lies; else None."""
    folder = os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(folder, *[os.pardir] * 4, "bin", "larmor")
    return os.path.normpath(path) if os.path.exists(path) else None


def find(folder, *names):
    """The file in the folder, or below it in a build's folders; None if there is none."""
    for name in names:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return os.path.abspath(path)
    return None


def missing(o, stage):
    """Which helper the stage cannot do without, or None."""
    if stage == "devices":
        return None if o.faulty else HELPERS[2][0]
    return HELPERS[1][0] if stage in ("faults", "kills", "disks") and not o.faults else None


def limit_addresses(o, most):
    """So that a mistake cannot take the whole machine. AddressSanitizer reserves terabytes, and a GPU's driver many."""
    if "ASAN_OPTIONS" not in os.environ and not o.gpu:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


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
            except BaseException:  # the process ends here, and nobody else would say why
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        children.append(child)
    everything = report.Report()
    for number, child in enumerate(children):
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            everything.failure("harness", "worker %d did not end well" % number)
        else:
            everything.add(os.path.join(folder, "report.%d" % number))
    return everything


def runner_of(o, folder, name, environment=None):
    """A runner of the program in a folder of that name, and with the reader that is asked for."""
    return running.Runner(o.larmor, os.path.join(folder, name), {**o.environment, **(environment or {})})


def prepare(o, folder):
    """All seeds, and the files that every command may need: {name: bytes}."""
    runner = runner_of(o, folder, "seeds", {"OMP_NUM_THREADS": "1"})
    found = seeds.make(runner, o.make_seeds)
    common = {}
    for at, _, names in os.walk(runner.folder):
        for name in names:
            path = os.path.join(at, name)
            common[os.path.relpath(path, runner.folder)] = running.read(path)
    return found, common


def run_files(o, folder):
    found, common = prepare(o, folder)
    count = o.files or (60 if o.short else 20000)

    def work(number, mine):
        runner = runner_of(o, folder, "files%d" % number, {"OMP_NUM_THREADS": "1"})
        worker = files.Files(runner, found, common, o)
        for i in range(o.first + number, o.first + count, o.jobs):
            worker.one(i, mine)

    return in_parallel(o.jobs, folder, work)


def run_lines(o, folder):
    _, common = prepare(o, folder)
    count = 30 if o.short else 2000

    def work(number, mine):
        limit_addresses(o, 4 * running.GIBIBYTE)
        runner = runner_of(o, folder, "lines%d" % number)
        seeds.lay_out(runner, common)
        worker = lines.Lines(runner)
        for i in range(number, count, o.jobs):
            worker.one(i, o.seed, mine)

    return in_parallel(o.jobs, folder, work)


def bench_of(o, folder, name, common):
    return jobs.Bench(runner_of(o, folder, name, {"OMP_NUM_THREADS": "2"}), common)


def run_faults(o, folder):
    _, common = prepare(o, folder)
    first = bench_of(o, folder, "first", common)
    to_do = faulted.plan(first.runner, o, PROGRAMS)
    random.Random(o.seed).shuffle(to_do)
    to_do = to_do[:o.most or (80 if o.short else None)]

    def work(number, mine):
        worker = faulted.Faulted(bench_of(o, folder, "faults%d" % number, common), o.faults, 20)
        for item in to_do[number::o.jobs]:
            worker.one(*item, mine)

    return in_parallel(o.jobs, folder, work)


def run_devices(o, folder):
    _, common = prepare(o, folder)
    found = {"LARMOR_PLUGIN_DIR": os.path.dirname(o.faulty)}
    if o.gpu:
        found["FAULTY_PLUGIN"] = os.path.abspath(o.gpu)

    def bench(name):
        return jobs.Bench(runner_of(o, folder, name, found), common)

    first = bench("first")
    undisturbed = first.runner.run(["devices"]).out
    if o.gpu and "unavailable" in undisturbed:
        print("skipped: no GPU: " + undisturbed)
        sys.exit(77)
    to_do = devices.plan(first.runner, o)
    random.Random(o.seed).shuffle(to_do)
    to_do = to_do[:o.most or (60 if o.short else None)]

    def work(number, mine):
        place = bench("devices%d" % number)
        for item in to_do[number::o.jobs]:
            devices.one(place, *item, mine)

    return in_parallel(o.jobs, folder, work)


def learnt_jobs(bench):
    """All jobs, with what they write, and the seconds that they take."""
    found = []
    for job in jobs.all_jobs() + jobs.more_jobs():
        if job.outputs:
            found.append((job, jobs.learn(job, bench.runner).seconds))
    return found


def run_kills(o, folder):
    _, common = prepare(o, folder)
    first = bench_of(o, folder, "first", common)
    known = learnt_jobs(first)
    count = 24 if o.short else 500
    changes = []
    for job, _ in known:
        first.prepare(job)
        numbers = faulted.calls(first.runner, job, o.faults, "kill", ("larmor",), True).get("larmor", [])
        changes += [(job, i) for i in numbers[::4 if o.short else 1]]

    def work(number, mine):
        bench = bench_of(o, folder, "kills%d" % number, common)
        rng = random.Random("kill %s %d" % (o.seed, number))
        for _ in range(number, count, o.jobs):
            job, seconds = rng.choice(known)
            disturbed.kill_once(bench, job, rng.uniform(0, 1.1 * seconds), mine)
        for job, i in changes[number::o.jobs]:
            disturbed.kill_at_change(bench, job, o.faults, i, mine)

    return in_parallel(o.jobs, folder, work)


def run_disks(o, folder):
    _, common = prepare(o, folder)
    known = learnt_jobs(bench_of(o, folder, "first", common))
    count = 16 if o.short else 100

    def work(number, mine):
        bench = bench_of(o, folder, "disks%d" % number, common)
        rng = random.Random("disk %s %d" % (o.seed, number))
        for i in range(number, count, o.jobs):
            job = rng.choice(known)[0]
            room = rng.randrange(int(1.2 * sum(map(len, job.right.values()))))
            if i % 2:
                disturbed.disk_by_library(bench, job, o.faults, room, mine)
            else:
                disturbed.disk_by_limit(bench, job, room, mine)
        for job, _ in known[number::o.jobs]:
            if not disturbed.disk_that_is_full(bench, job, os.path.join(folder, "disk%d" % number), mine):
                break

    return in_parallel(o.jobs, folder, work)


def run_signals(o, folder):
    runner = runner_of(o, folder, "signals", {"OMP_NUM_THREADS": str(o.jobs)})
    disturbed.make_large_inputs(runner, o.short)
    bench = jobs.Bench(runner, {})
    bench.usual = set(os.listdir(runner.folder))
    mine = report.Report()
    rng = random.Random("signal %s" % o.seed)
    for at, job in enumerate(disturbed.large_jobs(o.short)):
        bench.clean()
        took = runner.run(job.arguments, 2 if o.short else 8, ends_by_itself=False).seconds
        for i in range(1 if o.short else 12):
            number = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[(at + i) % 3]
            disturbed.signal_once(bench, job, number, rng.uniform(0.02, took), o.patience, mine)
    return mine


def main():
    o = options_of(sys.argv[1:])
    limit_addresses(o, running.MOST_ADDRESS_SPACE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    folder = tempfile.mkdtemp(prefix="larmor-trust-", dir=o.scratch)
    failed = left_out = 0
    try:
        for stage in o.only or STAGES:
            lacks = missing(o, stage)
            if lacks:
                print("---- %s: left out, there is no %s in %s" % (stage, lacks, o.helpers))
                left_out += 1
                continue
            began = time.monotonic()
            where = os.path.join(folder, stage)
            os.mkdir(where)
            result = globals()["run_" + stage](o, where)
            print("---- %s, %.0f s" % (stage, time.monotonic() - began))
            result.print()
            sys.stdout.flush()
            failed += len(result.failures)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("trust: %s%s; seed %s, %d jobs" % ("what was tried held" if not failed else "NOT everything held",
                                             ", %d of its stages left out" % left_out if left_out else "", o.seed, o.jobs))
    return 1 if failed or left_out == len(o.only or STAGES) else 0


if __name__ == "__main__":
    sys.exit(main())
