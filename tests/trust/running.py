# Running a command and what came of it: its exit, its messages, its memory, its files. SPDX-License-Identifier: Apache-2.0
import collections
import os
import select
import signal
import time

GIBIBYTE = 1 << 30
MOST_ADDRESS_SPACE = 16 * GIBIBYTE  # so that a mistake cannot take the whole machine

Result = collections.namedtuple("Result", "code signal seconds peak_bytes out err late")


class Runner:
    """Runs commands one after the other in a folder of its own."""

    hang = 0  # of all: what takes fewer seconds is not taken for hanging

    def __init__(self, program, folder, environment=None):
        self.program = program
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        self.base = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": folder, "OMP_WAIT_POLICY": "passive",
                     "OMP_NUM_THREADS": "2", "LC_ALL": "C"}
        for name in ("LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                self.base[name] = os.environ[name]
        self.base.update(environment or {})
        self.spoken = folder + ".spoken"
        os.makedirs(self.spoken, exist_ok=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, arguments, environment=None):
        """Start the program; the process's id."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.path.join(self.spoken, "out"), flags, 0o600),
            (os.POSIX_SPAWN_OPEN, 2, os.path.join(self.spoken, "err"), flags, 0o600),
        ]
        given = dict(self.base)
        given.update(environment or {})
        here = os.getcwd()
        os.chdir(self.folder)
        try:
            return os.posix_spawn(self.program, [self.program, *arguments], given, file_actions=actions)
        finally:
            os.chdir(here)

    def finish(self, process, began, limit, late=0):
        """Wait for the process, at most `limit` seconds more; then it is asked to end and, if it does not, killed.
        late: 1 if it had to be killed."""
        descriptor = os.pidfd_open(process)
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        timed_out = 0
        if not poll.poll(limit * 1000):
            timed_out = 1
            os.kill(process, signal.SIGTERM)
            if not poll.poll(1000):
                late = 1
                os.kill(process, signal.SIGKILL)
        _, status, usage = os.wait4(process, 0)
        os.close(descriptor)
        seconds = time.monotonic() - began
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1
        if timed_out and not number:
            code = "over %g s" % limit
        return Result(code, number, seconds, usage.ru_maxrss * 1024, self.said("out"), self.said("err"), late)

    def run(self, arguments, limit=60, environment=None, ends_by_itself=True):
        """Run the program to its end, or for that many seconds; for longer on a machine that others use (--hang)."""
        began = time.monotonic()
        return self.finish(self.start(arguments, environment), began, max(limit, self.hang) if ends_by_itself else limit)

    def said(self, stream):
        with open(os.path.join(self.spoken, stream), "rb") as f:
            return f.read(1 << 20).decode("utf-8", "replace")


def one_line(text):
    """Exactly one line of printable characters that names the program."""
    return own_lines(text, 1)


def own_lines(text, most):
    """One to `most` whole lines of printable characters, each of which names the program."""
    lines = text.split("\n")
    return lines.pop() == "" and 1 <= len(lines) <= most and all(a.startswith("larmor: ") and a.isprintable() for a in lines)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)
