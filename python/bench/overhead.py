"""What Python adds to a C call: larmor.nufft.Plan.execute beside the C function on arrays that were wrapped
before."""
import time

import numpy as np

from larmor import _arrays, nufft
from larmor._library import lib

plan = nufft.Plan(2, (8, 8), tol=1e-3, device="cpu:1").set_points(np.random.default_rng(0).uniform(-4, 4, (10, 2)))
x, y = np.zeros((8, 8), np.complex64), np.empty(10, np.complex64)
a, b = _arrays.wrap(x, plan.device), _arrays.wrap(y, plan.device)


def best(call, count=2000, rounds=40):
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(count):
            call()
        times.append((time.perf_counter() - began) / count)
    return 1e6 * min(times), 1e6 * sorted(times)[len(times) // 2]


print("plan.execute(x, y): best %.1f us, median %.1f us" % best(lambda: plan.execute(x, y)))
print("the C function:     best %.1f us, median %.1f us" % best(lambda: lib.larmor_nufft_execute(plan._plan, a, b)))
