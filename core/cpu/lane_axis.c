/* Plans of FFTs of columns, and which instructions they take. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "core/cpu/lanes.h"
#include "core/owned.h"
#include "core/status.h"

#define PI 3.14159265358979323846

/* The prime factors of n but fours, and how many those are. */
static int factors_of(int64_t n, int rest[LMR_LANE_PASSES], int *fours)
{
    int count = 0;
    for (*fours = 0; n % 4 == 0; n /= 4) ++*fours;
    for (int r = 2; r <= LMR_LANE_RADIX; r++)
        for (; n % r == 0; n /= r) rest[count++] = r;
    return n == 1 ? count : -1;
}

int R(lmr_lane_has)(int64_t n)
{
    int rest[64], fours;
    return n > 1 && factors_of(n, rest, &fours) >= 0;
}

/* Fours come first and last, where half of the numbers are zeros or not needed. */
static void order_passes(lmr_lane_axis *a)
{
    int rest[64], fours;
    const int count = factors_of(a->n, rest, &fours);
    a->passes = 0;
    if (fours > 0) a->radix[a->passes++] = 4;
    for (int i = 0; i < count; i++) a->radix[a->passes++] = rest[i];
    for (int i = 1; i < fours; i++) a->radix[a->passes++] = 4;
}

static void put_root(int64_t j, int64_t n, real *to)
{
    const double angle = -2 * PI * (double)(j % n) / (double)n;
    to[0] = (real)cos(angle);
    to[1] = (real)sin(angle);
}

larmor_status R(lmr_lane_plan)(int64_t n, int64_t keep, lmr_lane_axis *axis)
{
    *axis = (lmr_lane_axis){.n = n, .keep = keep};
    order_passes(axis);
    int64_t count = 0, m = n;
    for (int i = 0; i < axis->passes; i++) {
        m /= axis->radix[i];
        count += axis->radix[i] + (axis->radix[i] - 1) * m;
    }
    real *to = axis->roots = lmr_new(2 * count, sizeof *to);
    if (!to) return LMR_NO_MEMORY();
    m = n;
    for (int i = 0; i < axis->passes; i++) {
        const int64_t radix = axis->radix[i];
        for (int64_t j = 0; j < radix; j++, to += 2) put_root(j, radix, to);
        for (int64_t p = 0; p < m / radix; p++)
            for (int64_t k = 1; k < radix; k++, to += 2) put_root(p * k, m, to);
        m /= radix;
    }
    return LARMOR_OK;
}

int64_t R(lmr_lane_room)(const lmr_lane_axes *axes)
{
    const lmr_lane_axis *a = axes->axis, *last = axes->axis + axes->count - 1;
    const int64_t longest = a->n > last->n ? a->n : last->n;
    return 2 * LMR_LANES * (2 * longest + (axes->count > 1 ? last->keep * lmr_lane_pitch(a) : 0));
}

lmr_lane_filter R(lmr_lane_best)(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        return R(lmr_lanes_avx512);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return R(lmr_lanes_avx2);
#endif
    return R(lmr_lanes_base);
}
