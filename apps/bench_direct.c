/* Direct sums for a random subset of a NUFFT's outputs. SPDX-License-Identifier: Apache-2.0 */
#include "bench_direct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_OUTPUTS = 3, BLOCKS = 256 };

static double _Complex value_at(const void *x, int is_double, int64_t i)
{
    return is_double ? ((const double _Complex *)x)[i] : ((const float _Complex *)x)[i];
}

/* exp(2 pi i turns) */
static double _Complex unit_at(double turns)
{
    const double angle = 2 * M_PI * (turns - rint(turns));
    return CMPLX(cos(angle), sin(angle));
}

/* As many outputs as a budget of terms allows, at least 8. */
static void choose_outputs(const bench_case *c, bench_direct *direct)
{
    const int from_modes = c->type == 2; /* whose terms are cheap: products of one wave per dimension */
    const int64_t terms = from_modes ? bench_case_modes(c) : c->points;
    const int64_t most = from_modes ? BENCH_MOST_OUTPUTS : 50, budget = from_modes ? 1000000000 : 200000000;
    const int64_t outputs = c->batch * (from_modes ? c->points : bench_case_modes(c));
    const int64_t affordable = terms > budget / most ? budget / terms : most;
    direct->count = (int)(affordable > 8 ? affordable : 8);
    for (int i = 0; i < direct->count; i++)
        direct->output[i] = (int64_t)(bench_random(STREAM_OUTPUTS, i) * (double)outputs);
}

/* The frequency in each dimension of output i: of type 1 a mode's, of type 3 a target's; in cycles over the unit of
 * the points. */
static void find_frequency(const bench_case *c, const double *targets, int64_t i, double r[3])
{
    int64_t mode = i % bench_case_modes(c);
    for (int d = 0; d < c->ndim; d++) {
        if (c->type == 3) {
            r[d] = targets[c->ndim * (i % bench_case_modes(c)) + d];
        } else {
            r[d] = (double)(mode % c->modes[d] - c->modes[d] / 2);
            mode /= c->modes[d];
        }
    }
}

/* Points first..last-1's share of all chosen outputs. */
static void add_points(const bench_case *c, const double *points, const double *targets, const void *in,
                       const bench_direct *direct, int64_t first, int64_t last, double _Complex *sum)
{
    const int64_t modes = bench_case_modes(c);
    double r[BENCH_MOST_OUTPUTS][3] = {0};
    for (int i = 0; i < direct->count; i++) find_frequency(c, targets, direct->output[i], r[i]);
    for (int64_t j = first; j < last; j++) {
        double k[3] = {0};
        for (int d = 0; d < c->ndim; d++) k[d] = points[c->ndim * j + d] / (c->type == 3 ? 1 : (double)c->modes[d]);
        for (int i = 0; i < direct->count; i++) {
            const int64_t transform = direct->output[i] / modes;
            sum[i] += value_at(in, c->is_double, transform * c->points + j) *
                      unit_at(k[0] * r[i][0] + k[1] * r[i][1] + k[2] * r[i][2]);
        }
    }
}

static larmor_status sum_points(const bench_case *c, const double *points, const double *targets, const void *in,
                                bench_direct *direct)
{
    double _Complex(*sums)[BENCH_MOST_OUTPUTS] = calloc(BLOCKS, sizeof *sums);
    if (!sums) return larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
#pragma omp parallel for schedule(dynamic)
    for (int b = 0; b < BLOCKS; b++)
        add_points(c, points, targets, in, direct, c->points * b / BLOCKS, c->points * (b + 1) / BLOCKS, sums[b]);
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < direct->count; i++) direct->exact[i] += sums[b][i];
    free(sums);
    return LARMOR_OK;
}

/* All modes at one point k: the exponential is a product over the dimensions. wave has room for all three. */
static double _Complex sum_modes(const bench_case *c, const double *k, const void *in, int64_t start,
                                 double _Complex *wave)
{
    const int64_t nx = c->modes[0], ny = c->modes[1], nz = c->modes[2];
    double _Complex *of[3] = {wave, wave + nx, wave + nx + ny}, total = 0;
    for (int d = 0; d < 3; d++)
        for (int64_t i = 0; i < c->modes[d]; i++)
            of[d][i] = d < c->ndim ? unit_at(-k[d] * (double)(i - c->modes[d] / 2) / (double)c->modes[d]) : 1;
    for (int64_t row = 0; row < ny * nz; row++) {
        double _Complex sum = 0;
        for (int64_t x = 0; x < nx; x++) sum += value_at(in, c->is_double, start + row * nx + x) * of[0][x];
        total += sum * of[1][row % ny] * of[2][row / ny];
    }
    return total;
}

static larmor_status sum_all_modes(const bench_case *c, const double *points, const void *in, bench_direct *direct)
{
    const size_t waves = (size_t)(c->modes[0] + c->modes[1] + c->modes[2]);
    int lacking = 0;
#pragma omp parallel for schedule(dynamic) reduction(| : lacking)
    for (int i = 0; i < direct->count; i++) {
        const int64_t transform = direct->output[i] / c->points, j = direct->output[i] % c->points;
        double _Complex *wave = malloc(waves * sizeof *wave);
        if (wave)
            direct->exact[i] = sum_modes(c, points + c->ndim * j, in, transform * bench_case_modes(c), wave);
        else
            lacking = 1;
        free(wave);
    }
    return lacking ? larmor_fail(LARMOR_ERR_MEMORY, "out of host memory") : LARMOR_OK;
}

larmor_status bench_direct_sum(const bench_case *c, const double *points, const double *targets, const void *in,
                               bench_direct *direct)
{
    memset(direct, 0, sizeof *direct);
    choose_outputs(c, direct);
    return c->type == 2 ? sum_all_modes(c, points, in, direct) : sum_points(c, points, targets, in, direct);
}

double bench_direct_error(const bench_case *c, const bench_direct *direct, const void *out)
{
    double wrong = 0, whole = 0;
    for (int i = 0; i < direct->count; i++) {
        const double _Complex off = value_at(out, c->is_double, direct->output[i]) - direct->exact[i];
        wrong += creal(off * conj(off));
        whole += creal(direct->exact[i] * conj(direct->exact[i]));
    }
    return sqrt(wrong / whole);
}
