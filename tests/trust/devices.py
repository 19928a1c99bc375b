# Every call of a device fails once, by a plugin that stands before the processor's backend or a GPU's plugin.
# SPDX-License-Identifier: Apache-2.0
import os

import jobs
from running import one_line, read

PATIENCE = 30  # seconds


def device_jobs():
    found = jobs.all_jobs()
    for job in jobs.more_jobs():
        if job.name in ("nufft", "phantom"):
            found.append(job)
    return found


def on(device, job):
    return [*job.arguments, "--device", device]


def counts(runner, job):
    """{entry: calls} of an undisturbed run on the device."""
    path = runner.folder + ".calls"
    r = runner.run(on("cuda", job), PATIENCE, {"FAULTY_COUNT": path})
    if r.code:
        raise SystemExit("trust: %s fails on the device undisturbed: %s" % (job.name, r.err))
    with open(path, encoding="utf-8") as f:
        return {name: int(n) for name, n in (line.split() for line in f)}


def learn(job, runner):
    """What the job writes there, and something older."""
    for name in job.outputs:
        job.right[name] = read(runner.path(name))
        job.old[name] = b"older " + job.right[name][6:]
        os.remove(runner.path(name))


def plan(runner, options):
    """(job, device, entry, number, more, late) for all that is to be tried. late: the image may be there already, and is
    being fetched."""
    found = []
    for job in device_jobs():
        n = counts(runner, job)
        learn(job, runner)
        for entry, calls in n.items():
            if entry == "all":
                for i in range(1, calls + 1, 40):
                    found += [(job, device, entry, i, 1, i > calls - 40) for device in ("cuda", "auto")]
                continue
            for i in range(1, calls + 1):
                late = i > calls - 12 and entry.startswith("device.")
                found += [(job, device, entry, i, 0, late) for device in ("cuda", "auto")]
    return found


def one(bench, job, device, entry, number, more, late, report):
    bench.prepare(job)
    environment = {"FAULTY_ENTRY": entry, "FAULTY_AT": str(number), "LARMOR_GPU_START": "0"}
    if more:
        environment["FAULTY_MORE"] = "1"
    r = bench.runner.run(on(device, job), PATIENCE, environment)
    report.count("faults of a device, --device " + device, entry.split(".")[0])
    report.count("exit codes, --device " + device, r.code if not r.signal else "signal %d" % r.signal)
    wrong = None
    if r.signal:
        wrong = "crash"
    elif not isinstance(r.code, int):
        wrong = "hang"
    elif r.code not in (0, 1, 4):
        wrong = "exit code"
    elif r.code and not one_line(r.err):
        wrong = "message"
    elif r.code and "cuda" not in r.err:
        wrong = "device that is not named"
    elif r.code and device == "auto" and not late:
        wrong = "no way to the processor"
    name = ""
    if not wrong:
        wrong = bench.judge(job, r.code == 0)
        if wrong:
            wrong, name = wrong
    if wrong:
        report.failure("device: " + wrong, "%s %s, --device %s, call %d%s of %s: code %s, signal %d: %s" % (
            job.name, name, device, number, " and later" if more else "", entry, r.code, r.signal, r.err.strip()[:300]))
