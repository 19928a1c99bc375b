# kill -9 at random times and at every change of a file; full disks; signals in every stage.
# SPDX-License-Identifier: Apache-2.0
import array
import os
import random
import resource
import select
import shutil
import signal
import struct
import subprocess
import time

import jobs
from running import own_lines, read, write

EXISTS = 5  # the exit code where an output is there already


# ---- kill -9 ----

def kill_once(bench, job, delay, report):
    """At a moment of the run: what is at the outputs' paths is old or complete, and the next run cleans up."""
    bench.prepare(job)
    began = time.monotonic()
    process = bench.runner.start(job.arguments)
    descriptor = os.pidfd_open(process)
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    ended = bool(poll.poll(delay * 1000))
    if not ended:
        os.kill(process, signal.SIGKILL)
    os.close(descriptor)
    r = bench.runner.finish(process, began, max(10, bench.runner.hang))
    after_kill(bench, job, r, "after %.4f s" % delay, report)


def kill_at_change(bench, job, library, number, report):
    bench.prepare(job)
    r = bench.runner.run(job.arguments, 20, {"LD_PRELOAD": library, "FAULT": "kill", "FAULT_AT": str(number)})
    after_kill(bench, job, r, "at change %d" % number, report)


def after_kill(bench, job, r, when, report):
    report.count("kills", job.name)
    report.count("what the kills met", "too late" if r.code == 0 else "running")
    wrong = bench.judge(job, r.code == 0, parts_may_stay=True)
    if wrong:
        report.failure("kill: " + wrong[0], "%s, killed %s: %s" % (job.name, when, wrong[1]))
    if r.code == 0:
        return
    again = bench.runner.run(job.arguments, 20)
    until = time.monotonic() + max(10, bench.runner.hang)
    while "is being written by pid" in again.err and time.monotonic() < until:
        report.count("what the kills met", "a lock")  # of a child that was just being started, for a moment
        time.sleep(0.1)
        bench.prepare(job)
        again = bench.runner.run(job.arguments, 20)
    forced = "-f" in job.arguments or "--force" in job.arguments
    if not forced and again.code == EXISTS and any(os.path.exists(bench.runner.path(n)) for n in job.outputs):
        return  # a part of the outputs was complete, and the program does not replace it unasked
    wrong = ("next run", again.err.strip()[:200]) if again.code else bench.judge(job, True)
    if wrong:
        report.failure("kill: " + wrong[0], "%s, killed %s, then run again: %s" % (job.name, when, wrong[1]))


# ---- full disks ----

def disk_by_library(bench, job, library, room, report):
    """Files have room for so many bytes together."""
    bench.prepare(job)
    r = bench.runner.run(job.arguments, 20, {"LD_PRELOAD": library, "FAULT": "disk", "FAULT_AT": str(room)})
    after_disk(bench, job, r, "writes beyond %d bytes fail" % room, report)


def disk_by_limit(bench, job, room, report):
    """No file may be longer than that (ulimit -f)."""
    bench.prepare(job)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        process = bench.runner.start(job.arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    r = bench.runner.finish(process, time.monotonic(), max(20, bench.runner.hang))
    after_disk(bench, job, r, "files of at most %d bytes" % room, report)


def after_disk(bench, job, r, what, report):
    report.count("full disks", job.name)
    report.count("exit codes on full disks", r.code if not r.signal else "signal %d" % r.signal)
    if r.signal or r.code not in (0, 1):
        report.failure("full disk: exit", "%s, %s: code %s, signal %d: %s" % (job.name, what, r.code, r.signal, r.err[:200]))
    elif r.code and not own_lines(r.err, len(job.outputs)):  # each output that fails has its line
        report.failure("full disk: message", "%s, %s: %s" % (job.name, what, r.err[:300]))
    wrong = bench.judge(job, r.code == 0)
    if wrong:
        report.failure("full disk: " + wrong[0], "%s, %s: %s" % (job.name, what, wrong[1]))


def mounted(folder, kilobytes):
    """A disk of that size at the folder, where the system lets us: 1."""
    os.makedirs(folder, exist_ok=True)
    mount = shutil.which("mount", path="/bin:/sbin:/usr/bin:/usr/sbin")
    if not mount:
        return 0
    done = subprocess.run([mount, "-t", "tmpfs", "-o", "size=%dk" % kilobytes, "tmpfs", folder], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False)
    return done.returncode == 0


def unmount(folder):
    subprocess.run([shutil.which("umount", path="/bin:/sbin:/usr/bin:/usr/sbin"), folder], check=False)


def disk_that_is_full(bench, job, folder, report):
    """The outputs lie on a disk of 256 KB that a file fills but for some kilobytes: first without room for any, then with more and more."""
    if not mounted(folder, 256):
        report.note("no disk could be mounted here; full disks are those of the library and of ulimit -f")
        return 0
    try:
        for spare in (0, 4, 8, 16, 24, 32, 48, 64):
            one_mounted(bench, job, folder, spare, report)
    finally:
        unmount(folder)
    return 1


def one_mounted(bench, job, folder, spare, report):
    forced = "-f" in job.arguments or "--force" in job.arguments
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    if forced:
        for name, data in job.old.items():
            write(os.path.join(folder, name), data)
    state = os.statvfs(folder)
    fill = state.f_bavail * state.f_frsize - spare * 1024
    if fill > 0:
        with open(os.path.join(folder, "filler"), "wb") as f:
            f.write(b"x" * fill)
    arguments = [os.path.join(folder, a) if a in job.outputs else a for a in job.arguments]
    r = bench.runner.run(arguments, 20)
    what = "a disk with %d KB left" % spare
    report.count("full disks", job.name + ", mounted")
    report.count("exit codes on full disks", r.code if not r.signal else "signal %d" % r.signal)
    if r.signal or r.code not in (0, 1) or (r.code and not own_lines(r.err, len(job.outputs))):
        report.failure("full disk: exit", "%s, %s: code %s, signal %d: %s" % (job.name, what, r.code, r.signal, r.err[:300]))
    for name in job.outputs:
        path = os.path.join(folder, name)
        now = read(path) if os.path.exists(path) else None
        complete = now is not None and len(now) >= len(job.right[name]) // 2 and now != job.old[name]
        if r.code == 0 and not complete:
            report.failure("full disk: output lost", "%s, %s: %s" % (job.name, what, name))
        if r.code and now is not None and now != job.old.get(name) and bench.runner.run(["info", path]).code and \
                not name.endswith(".hdr"):
            report.failure("full disk: output damaged", "%s, %s: %s" % (job.name, what, name))
        if r.code and now is None and forced:
            report.failure("full disk: output lost", "%s, %s: %s" % (job.name, what, name))
    left = set(os.listdir(folder)) - set(job.outputs) - {"filler"}
    if left:
        report.failure("full disk: file left", "%s, %s: %s" % (job.name, what, ", ".join(left)))


# ---- signals ----

def large_jobs(short):
    """Runs of a second or more that spend their time in different places."""
    small = 128 if short else 256
    n, readouts = str(small), str(2 * small)
    return [
        jobs.Job("phantom", ["phantom", "-o", "large.h5", "--matrix", n, "--readouts", readouts, "--coils", "24"], []),
        jobs.Job("reading", ["info", "big.h5"], []),
        jobs.Job("own maps", ["recon", "big.h5", "-o", "o.h5", "--iters", "1", "--calibration", "96", "-f"], []),
        jobs.Job("cg", ["recon", "big.h5", "-o", "o.h5", "--iters", "100000", "--tol", "0", "--lambda", "0", "-f"], []),
        jobs.Job("tv", ["recon", "big.h5", "-o", "o.h5", "--method", "tv", "--iters", "100000", "--tol", "0", "-f", "-q"], []),
        jobs.Job("weight", ["recon", "big.h5", "-o", "o.h5", "--method", "wavelet", "--iters", "50", "-f"], []),
        jobs.Job("grid", ["recon", "big.h5", "-o", "o.h5", "--method", "grid", "-f"], []),
        jobs.Job("gzip", ["convert", "volume.npy", "-o", "o.nii.gz", "--force"], []),
        jobs.Job("nufft", ["nufft", "--type", "1", "--modes", "512,512,8", "-t", "points.npy", "samples.npy", "-o", "o.npy",
                           "--tol", "1e-6", "--force"], []),
        jobs.Job("planning", ["nufft", "--type", "1", "--modes", "256,256,8", "-t", "points.npy", "samples.npy", "-o", "o.npy",
                              "--plan", "exhaustive", "--force"], []),
        jobs.Job("compare", ["compare", "volume.npy", "volume.npy"], []),
    ]


def make_large_inputs(runner, short):
    n, points, side = (128, 200_000, 96) if short else (256, 1_500_000, 192)
    r = runner.run(["phantom", "-o", "big.h5", "--matrix", str(n), "--readouts", str(2 * n), "--coils", "16", "--noise",
                    "0.001"], 600)
    if r.code:
        raise SystemExit("trust: no large scan: " + r.err)
    rng = random.Random(5)
    places = array.array("d", (200 * rng.random() - 100 if i % 3 < 2 else 6 * rng.random() - 3 for i in range(3 * points)))
    write_npy(runner.path("points.npy"), "<f8", (3, points), places.tobytes())
    write_npy(runner.path("samples.npy"), "<c8", (points,), bytes(8 * points))
    write_npy(runner.path("volume.npy"), "<c8", (side, side, side), struct.pack("<ff", 1, 2) * side ** 3)


def write_npy(path, dtype, shape, data):
    text = "{'descr': '%s', 'fortran_order': True, 'shape': (%s,), }" % (dtype, ", ".join(map(str, shape)))
    room = (len(text) + 11 + 63) // 64 * 64 - 10
    write(path, b"\x93NUMPY\1\0" + room.to_bytes(2, "little") + text.ljust(room - 1).encode() + b"\n" + data)


def catches(process, number):
    """Whether the process has a handler of its own for the signal, or has ended."""
    with open("/proc/%d/status" % process, encoding="ascii", errors="replace") as f:
        caught = [line.split()[1] for line in f if line.startswith("SigCgt:")]
    return not caught or bool(int(caught[0], 16) >> (number - 1) & 1)


CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


def signal_once(bench, job, number, delay, seconds, report):
    """The program ends within that many seconds, leaves nothing unfinished, and says by its exit code what ended it."""
    bench.clean()
    runner = bench.runner
    began = time.monotonic()
    process = runner.start(job.arguments)
    descriptor = os.pidfd_open(process)
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    ended = bool(poll.poll(delay * 1000))
    early = not ended and not catches(process, number)  # before the program has looked at its command line
    if not ended:
        os.kill(process, number)
    sent = time.monotonic()
    in_time = ended or bool(poll.poll(seconds * 1000))
    if not in_time:
        poll.poll(30000)
    os.close(descriptor)
    took = time.monotonic() - sent
    r = runner.finish(process, began, 1)
    name = signal.Signals(number).name
    report.count("signals", job.name)
    if ended:
        return
    report.count("exits after %s" % name, r.code if not r.signal else "signal %d" % r.signal)
    report.most("seconds from %s to the end" % name, took)
    what = "%s, %s after %.3f s" % (job.name, name, delay)
    if not in_time:
        report.failure("hang after a signal", "%s: it ended %.2f s later" % (what, took))
    early = early and r.signal == number
    if r.code not in (0, CODES[number]) and not early:
        report.failure("exit code after a signal", "%s: code %s, signal %d: %s" % (what, r.code, r.signal, r.err[-200:]))
    left = [n for n in os.listdir(runner.folder) if ".part." in n]
    if left and not early:
        report.failure("file left after a signal", "%s: %s" % (what, ", ".join(left)))
