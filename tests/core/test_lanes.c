/* FFTs of columns side by side: against direct sums, in each instruction set. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_REAL
#define LMR_REAL 64
#endif
#include <complex.h>

#include "core/cpu/lanes.h"
#include "tests/support/test.h"

typedef double _Complex wide;

#define ROUNDING (sizeof(real) == 4 ? 1e-6 : 1e-14)
#define PI 3.14159265358979323846
enum { L = LMR_LANES, PITCH = L + 3 };

/* All numbers of an axis have `keep` of `n`: as many as half, fewer and more, and each of the factors alone. */
static const int64_t lines[][2] = {{2, 1},   {3, 3},   {4, 2},   {4, 3},  {5, 2},  {6, 3},
                                   {7, 4},   {8, 4},   {8, 1},   {12, 6}, {14, 9}, {16, 8},
                                   {18, 18}, {20, 10}, {20, 11}, {30, 7}, {32, 5}, {96, 48}};
enum { LINES = sizeof lines / sizeof *lines };

typedef struct scene {
    lmr_lane_axes axes;
    int64_t n[2], keep[2];
    real *spectrum, *grid, *room;
    wide *expected;
} scene;

static void *aligned(int64_t count, size_t size)
{
    void *p = aligned_alloc(64, ((size_t)count * size + 63) / 64 * 64);
    assert_non_null(p);
    return p;
}

static void fill(int64_t count, real *x, uint64_t *seed)
{
    for (int64_t i = 0; i < count; i++) x[i] = (real)(2 * test_random(seed) - 1);
}

static scene make_scene(int count, const int64_t *first, const int64_t *second)
{
    scene s = {.axes = {.count = count}, .n = {first[0], 1}, .keep = {first[1], 1}};
    uint64_t seed = 5;
    if (count > 1) {
        s.n[1] = second[0];
        s.keep[1] = second[1];
    }
    for (int a = 0; a < count; a++) assert_ok(R(lmr_lane_plan)(s.n[a], s.keep[a], &s.axes.axis[a]));
    s.axes.stride[0] = PITCH;
    s.axes.stride[1] = PITCH * s.keep[0];
    const int64_t cells = 2 * PITCH * s.keep[0] * s.keep[1];
    s.spectrum = aligned(L * s.n[0] * s.n[1], sizeof(real));
    s.grid = aligned(cells, sizeof(real));
    s.room = aligned(R(lmr_lane_room)(&s.axes), sizeof(real));
    fill(L * s.n[0] * s.n[1], s.spectrum, &seed);
    fill(cells, s.grid, &seed);
    for (int64_t i = 0; i < R(lmr_lane_room)(&s.axes); i++) s.room[i] = (real)NAN;
    return s;
}

static void end_scene(scene *s)
{
    LMR_FREE(s->axes.axis[0].roots, s->axes.axis[1].roots, s->spectrum, s->grid, s->room, s->expected);
}

static wide root(int64_t j, int64_t n)
{
    return cexp(2 * PI * I * (double)(j % n) / (double)n);
}

/* expected [keep1, keep0] of one column: the sum over frequencies of spectrum times transform. */
static void convolve(const scene *s, int lane, wide *expected)
{
    const int64_t n0 = s->n[0], n1 = s->n[1], k0 = s->keep[0], k1 = s->keep[1];
    for (int64_t i = 0; i < k0 * k1; i++) expected[i] = 0;
    for (int64_t f0 = 0; f0 < n0; f0++)
        for (int64_t f1 = 0; f1 < n1; f1++) {
            wide sum = 0;
            for (int64_t i = 0; i < k0 * k1; i++) {
                const real *x = s->grid + 2 * (PITCH * i + lane);
                sum += (x[0] + I * x[1]) * conj(root(f0 * (i % k0), n0) * root(f1 * (i / k0), n1));
            }
            sum *= s->spectrum[(f0 * n1 + f1) * L + lane];
            for (int64_t i = 0; i < k0 * k1; i++)
                expected[i] += sum * root(f0 * (i % k0), n0) * root(f1 * (i / k0), n1);
        }
}

static void check(lmr_lane_filter filter, int count, const int64_t *first, const int64_t *second)
{
    OWNED(scene) s = make_scene(count, first, second);
    const int64_t cells = s.keep[0] * s.keep[1], lanes[3] = {0, L / 2 + 1, L - 1};
    double error = 0, size = 0;
    s.expected = aligned(3 * cells, sizeof *s.expected);
    for (int k = 0; k < 3; k++) convolve(&s, (int)lanes[k], s.expected + k * cells);
    const real beyond = s.grid[2 * L];
    filter(&s.axes, s.spectrum, s.grid, s.room);
    for (int64_t i = 0; i < 3 * cells; i++) {
        const real *x = s.grid + 2 * (PITCH * (i % cells) + lanes[i / cells]);
        error += pow(cabs(s.expected[i] - x[0] - I * x[1]), 2);
        size += pow(cabs(s.expected[i]), 2);
    }
    if (!(sqrt(error) <= ROUNDING * sqrt(size)) || s.grid[2 * L] != beyond)
        fail_msg("%lld of %lld, %lld of %lld: %.2e", (long long)first[1], (long long)first[0], (long long)s.keep[1],
                 (long long)s.n[1], sqrt(error / size));
}

static void check_all(lmr_lane_filter filter)
{
    static const int64_t planes[][2] = {{2, 1}, {4, 2}, {7, 5}, {8, 4}, {12, 5}, {16, 8}};
    for (int i = 0; i < LINES; i++) check(filter, 1, lines[i], NULL);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) check(filter, 2, planes[i], planes[j]);
}

TEST(portable_columns_are_the_direct_sum)
{
    check_all(R(lmr_lanes_base));
}

TEST(columns_by_avx2_are_the_direct_sum)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        check_all(R(lmr_lanes_avx2));
        return;
    }
#endif
    skip();
}

TEST(columns_by_avx512_are_the_direct_sum)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq")) {
        check_all(R(lmr_lanes_avx512));
        return;
    }
#endif
    skip();
}

TEST(axes_with_prime_factors_above_seven_have_no_columns)
{
    for (int64_t n = 2; n < 200; n++) {
        int64_t rest = n;
        for (int64_t p = 2; p <= 7; p++)
            while (rest % p == 0) rest /= p;
        assert_int_equal(R(lmr_lane_has)(n), rest == 1);
    }
    assert_false(R(lmr_lane_has)(1));
}
