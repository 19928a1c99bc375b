#!/bin/sh
# larmor camera and larmor girf: what probes and pulses of known fields give, and images by it.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

# Files of known fields: 16 probes and the terms that their phases are of; triangles, and the same a sample later.
"$PYTHON" - <<'X'
import math, random
import npy
def save(path, shape, at):
    values, count = [], math.prod(shape)
    for i in range(count):
        index = []
        for n in shape:
            index.append(i % n)
            i //= n
        values.append(at(*index))
    npy.save(path, shape, values, "d")
random.seed(1)
place = [[random.uniform(-.1, .1) for _ in range(3)] for _ in range(16)]
def h(p):
    x, y, z = place[p]
    return [1, x, y, z, x * y, z * y, 2 * z * z - x * x - y * y, x * z, x * x - y * y]
def term(i, j, l):
    return [1, 200, 150, 80, 90, -60, 40, 30, 70][l] * math.sin(.03 * i + l + .5 * j)
save("positions.npy", (3, 16), lambda a, p: place[p][a])
save("phases.npy", (100, 2, 16), lambda i, j, p: sum(term(i, j, l) * c for l, c in enumerate(h(p))))
save("known.npy", (100, 2, 9), term)
save("known_traj.npy", (3, 100, 2), lambda a, i, j: term(i, j, a + 1) / (2 * math.pi) * .2 if a < 2 else 0)
def ramp(i, half):  # integral of a triangle
    return sum(max(0, half - abs(n - half - 5)) for n in range(i))
def pulse(i, p, a, late):
    return float(ramp(max(0, i - late), 8 + 3 * (p % 3))) if p // 3 == a else 0.0
save("nominal.npy", (200, 9, 3), lambda i, p, a: pulse(i, p, a, 0))
save("late.npy", (200, 9, 3), lambda i, p, a: pulse(i, p, a, 1))
X

expect 0 camera phases.npy positions.npy -o terms.npy --order 2 --save-traj traj.npy --fov 200,200
printed '^order 2$'
for pair in "terms known" "traj known_traj"; do
    # shellcheck disable=SC2086
    set -- $pair
    expect 0 compare "$1.npy" "$2.npy"
    nrmse_at_most 1e-10
done

# Gradients that are a sample late: the response says so, and images are those of gradients that are not.
expect 0 girf nominal.npy late.npy -o girf.npy --dwell 4 --least 1e-3
spacing=$(awk '$1 == "spacing_hz" {print $2}' out)
compare_options="--inside 2"
scene="--traj golden --matrix 32 --readouts 50 --coils 4 --phantom texture --snr 30 --position 0,0,40"
# shellcheck disable=SC2086
expect 0 phantom -q -o plain.h5 --truth truth.h5 --maps maps.cfl $scene
# shellcheck disable=SC2086
expect 0 phantom -q -o late.h5 --delays 1,1 $scene
best=$(nrmse plain.h5 --delays off)
wrong=$(nrmse late.h5 --delays off)
awk -v a="$wrong" -v b="$best" 'BEGIN { exit !(a > 1.5 * b) }' || fail "without the response: $wrong beside $best"
right=$(nrmse late.h5 --delays off --girf girf.npy --girf-spacing "$spacing")
at_most "$right" "$best" 1.1 "by the response"
echo "# best $best, without $wrong, by the response $right"

# Delays and a field camera's phases at once.
samples=$("$LARMOR" info plain.h5 | awk '/^group 0/ {sub(/.* readouts x /, ""); print $1}')
"$PYTHON" - "$samples" <<'X'
import sys
from npy import save
n = int(sys.argv[1])
values = [0 if l < 4 else 40 * (i / n) ** 2 * (1 + l % 3) for l in range(9) for i in range(n)]
save("own.npy", (n, 1, 9), values)
X
# shellcheck disable=SC2086
expect 0 phantom -q -o both.h5 --delays 1,1 --phase-terms own.npy $scene
both=$(nrmse both.h5 --delays 1,1 --phase-terms own.npy)
at_most "$both" "$right" 1.1 "delays and phases beside delays"
echo "# delays and phases: $both, phases alone $(nrmse both.h5 --delays off --phase-terms own.npy), delays alone $(nrmse both.h5 --delays 1,1)"

# What does not fit is refused in a line, and nothing is written.
rm -f terms.npy girf.npy
expect 2 camera phases.npy positions.npy -o terms.npy --order 3 --fov 200,200
said 'larmor: camera: --save-traj FILE and --fov X,Y[,Z] belong together; give both or none.'
expect 3 camera phases.npy known.npy -o terms.npy
said_like 'phases.npy: camera: phases are .* and positions .*, expected \[samples, readouts, probes\] and real \[3, probes\]'
expect 3 girf nominal.npy phases.npy -o girf.npy
said_like 'phases.npy: girf: pulses are .* and measurements .*, expected real \[samples, pulses, 1 to 3 axes\]'
[ ! -e terms.npy ] && [ ! -e girf.npy ] || fail "a file was written"
