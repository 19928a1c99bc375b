/* What tests of the planner share: a problem with its points, its plan and what the direct sum gives.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "nufft/plan.h"
#include "nufft/tune/wisdom.h"
#include "tests/nufft/direct.h"

/* A problem, its points on the device, and what the direct sum gives for it. */
typedef struct problem {
    larmor_nufft_opts opts;
    int64_t m, count; /* points, modes */
    double *host;
    larmor_array *points;
    double _Complex *in;
} problem;

static inline problem problem_of(larmor_nufft_opts opts, int64_t m)
{
    uint64_t state = 4 + (uint64_t)m;
    if (!opts.dtype) opts.dtype = LARMOR_C128;
    if (opts.effort && dev->be->threads(dev->ctx)) opts.threads = 1; /* which never waits for others */
    problem p = {.opts = opts, .m = m, .count = 1};
    for (int d = 0; d < opts.ndim; d++) p.count *= opts.modes[d];
    p.host = malloc((size_t)(m * opts.ndim) * sizeof *p.host);
    for (int64_t i = 0; i < m * opts.ndim; i++)
        p.host[i] = test_random(&state) * (double)opts.modes[i % opts.ndim] / 2;
    p.points = points_on_device(opts.ndim, m, p.host);
    const int64_t batch = opts.batch ? opts.batch : 1;
    p.in = random_values(batch * (m > p.count ? m : p.count), opts.dtype, &state);
    return p;
}

static inline void end_problem(problem *p)
{
    LMR_FREE(p->points, p->host, p->in);
}

static inline larmor_nufft *plan_of(const problem *p)
{
    larmor_nufft *plan = MADE(larmor_nufft, larmor_nufft_create(dev, &p->opts, &made));
    assert_ok(larmor_nufft_set_points(plan, p->points, NULL));
    return plan;
}

/* The output, to be freed; *n is its length. */
static inline double _Complex *execute(larmor_nufft *plan, const problem *p, int64_t *n)
{
    const int64_t batch = p->opts.batch ? p->opts.batch : 1;
    const int64_t from = batch * (p->opts.type == 1 ? p->m : p->count);
    *n = batch * (p->opts.type == 1 ? p->count : p->m);
    OWNED(larmor_array) *x = to_device(p->opts.dtype, from, p->in), *y;
    assert_ok(larmor_array_create(dev, p->opts.dtype, LARMOR_SHAPE(*n), &y));
    assert_ok(larmor_nufft_execute(plan, x, y));
    double _Complex *out = malloc((size_t)*n * sizeof *out);
    to_host(y, out);
    return out;
}

/* Of batch 1. */
static inline void expect_tolerance(larmor_nufft *plan, const problem *p)
{
    int64_t n;
    HEAP double _Complex *out = execute(plan, p, &n), *truth = malloc((size_t)n * sizeof *truth);
    int64_t modes[3] = {1, 1, 1};
    for (int d = 0; d < p->opts.ndim; d++) modes[d] = p->opts.modes[d];
    direct_nufft(p->opts.type, p->opts.type == 1 ? 1 : -1, p->opts.ndim, modes, p->m, p->host, p->in, truth);
    assert_at_most(relative_l2(n, out, truth), p->opts.tol);
    assert_at_most(larmor_nufft_describe(plan).error, p->opts.tol);
}

/* Of the measurement that a plan for p would look up. */
static inline lmr_wisdom_key key_of(const problem *p)
{
    return (lmr_wisdom_key){.types = p->opts.type,
                            .ndim = 2,
                            .precision = LMR_F64,
                            .threads = p->opts.threads,
                            .modes = {p->opts.modes[0], p->opts.modes[1], 1},
                            .batch = 1,
                            .tol = p->opts.tol,
                            .precompute = LARMOR_PRECOMPUTE_NONE,
                            .points_log2 = 10};
}
