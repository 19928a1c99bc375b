"""Runs a command and writes its seconds, MB of its largest process, exit status and processor's seconds as JSON.

Usage: measure.py FILE LIMIT COMMAND...; a process of its own, as Linux counts the memory of who starts a process as
the process's own until it has more. LIMIT: the processor's seconds of each of its OMP_NUM_THREADS threads, which others
on the machine do not shorten; what waits for PATIENCE times as long is ended, too.

SPDX-License-Identifier: Apache-2.0
"""

import json
import math
import os
import resource
import signal
import sys
import time

ENDED = 124  # status where the limit was reached
PATIENCE = 8


def main():
    path, limit, words = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)  # until there is something that ends the child, too
    allowed = math.ceil(limit * int(os.environ.get("OMP_NUM_THREADS", "1")))
    resource.setrlimit(resource.RLIMIT_CPU, (allowed, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    began = time.perf_counter()
    child = os.posix_spawnp(words[0], words, os.environ, setpgroup=0, setsigmask=[])
    ended = False

    def end(*_):
        nonlocal ended
        ended = True
        os.killpg(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE * limit)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ends)
        _, status, usage = os.wait4(child, 0)
    except KeyboardInterrupt:
        os.killpg(child, signal.SIGKILL)
        raise
    seconds = time.perf_counter() - began
    signal.setitimer(signal.ITIMER_REAL, 0)
    code = os.waitstatus_to_exitcode(status)
    code = ENDED if ended or code == -signal.SIGXCPU else code
    with open(path, "w", encoding="utf-8") as out:
        json.dump([seconds, usage.ru_maxrss / 1024, code, usage.ru_utime + usage.ru_stime], out)


main()
