/* Plans with precomputed forms, for their tests. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/backend.h"
#include "core/device.h"
#include "nufft/options.h"
#include "nufft/plan.h"
#include "tests/nufft/direct.h"

enum { POINTS = 200 };
static const int64_t sizes[3][3] = {{90, 1, 1}, {40, 37, 1}, {18, 20, 19}};
static const larmor_precompute forms[] = {LARMOR_PRECOMPUTE_PARTIAL, LARMOR_PRECOMPUTE_FULL};

static inline int is_processor(void)
{
    return dev->be->threads(dev->ctx) > 0;
}

static inline larmor_nufft_opts options(int type, int ndim, larmor_dtype dtype)
{
    larmor_nufft_opts o = {
        .type = type, .ndim = ndim, .upsample = 2, .dtype = dtype}; /* as many cells for any points */
    for (int d = 0; d < ndim; d++) o.modes[d] = sizes[ndim - 1][d];
    return o;
}

static inline int64_t mode_count(const larmor_nufft_opts *o)
{
    int64_t count = 1;
    for (int d = 0; d < o->ndim; d++) count *= o->modes[d];
    return count;
}

/* Random ones, some of them twice, and around the grid's edges: there windows wrap. */
static inline larmor_array *make_points(int ndim, const int64_t *modes, int64_t m, uint64_t *state)
{
    static const double edges[] = {0.5, -0.5, 0.4999, -0.4999, 0, 3.5, -7.49};
    HEAP double *x = malloc((size_t)(m * ndim + 1) * sizeof *x);
    for (int64_t i = 0; i < m * ndim; i++) {
        const double n = (double)modes[i % ndim];
        const int64_t j = i / ndim;
        x[i] = j < 49 ? n * edges[(i % ndim ? j / 7 : j) % 7] : test_random(state) * n / 2;
        if (j > 60 && j % 5 == 0) x[i] = x[i - ndim];
    }
    larmor_array *k = points_on_device(ndim, m, x);
    return k;
}

static inline larmor_nufft *make_plan(larmor_nufft_opts o, larmor_precompute form, const larmor_array *k)
{
    o.precompute = form;
    larmor_nufft *plan = MADE(larmor_nufft, larmor_nufft_create(dev, &o, &made));
    assert_ok(larmor_nufft_set_points(plan, k, NULL));
    return plan;
}

/* A plan from below, whose parts can be seen. */
typedef struct open_plan {
    lmr_nufft_device on;
    lmr_nufft_plan *plan;
} open_plan;

static inline void make_open_plan(larmor_nufft_opts o, larmor_precompute form, open_plan *p)
{
    larmor_nufft_opts filled;
    lmr_nufft_choice choice;
    o.precompute = form;
    assert_ok(lmr_nufft_fill_options(dev, &o, &filled));
    assert_ok(lmr_nufft_attach(dev, &filled, &p->on));
    const lmr_nufft_request r = lmr_nufft_request_of(&filled, POINTS, NULL);
    const lmr_nufft_way way = lmr_nufft_way_of(p->on.kernels, &filled);
    assert_ok(lmr_nufft_choose(&r, filled.modes, &choice));
    assert_ok(lmr_nufft_plan_make(&p->on, &filled, &choice, &way, &p->plan));
}

static inline void end_open_plan(open_plan *p)
{
    lmr_nufft_plan_free(p->plan);
    lmr_nufft_detach(&p->on);
}
