/* Plans with options and what they make of random points. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tests/nufft/direct.h"

static const int64_t sizes[3][3] = {{40, 1, 1}, {18, 15, 1}, {8, 9, 7}};
enum { M = 150 };

static inline int is_cpu(void)
{
    return strncmp(larmor_device_spec(dev), "cpu", 3) == 0;
}

static inline int64_t count_of(const int64_t *modes)
{
    return modes[0] * modes[1] * modes[2];
}

static inline larmor_nufft_opts options(int type, int ndim, double tol)
{
    larmor_nufft_opts o = {.type = type, .ndim = ndim, .tol = tol, .dtype = LARMOR_C128};
    memcpy(o.modes, sizes[ndim - 1], sizeof o.modes);
    return o;
}

static inline double *random_points(const larmor_nufft_opts *o)
{
    uint64_t state = 31;
    double *points = malloc(M * 3 * sizeof *points);
    for (int64_t i = 0; i < M * o->ndim; i++)
        points[i] = test_random(&state) * (double)(o->type == 3 ? 3 : o->modes[i % o->ndim]) / 2;
    return points;
}

/* What a plan makes of `in`, to_modes or back; type 3 uses the points as targets, too. */
static inline larmor_nufft_info apply(larmor_nufft_opts o, const double *points, int adjoint,
                                      const double _Complex *in, double _Complex *out)
{
    const int to_modes = (o.type == 1) != (adjoint != 0);
    const int64_t batch = o.batch ? o.batch : 1;
    const int64_t modes = o.type == 3 ? M : count_of(o.modes);
    OWN(larmor_nufft, *plan, larmor_nufft_create(dev, &o, &plan));
    OWNED(larmor_array) *k = points_on_device(o.ndim, M, points);
    OWNED(larmor_array) *x = to_device(o.dtype, batch * (o.type == 3 || to_modes ? M : modes), in);
    OWNED(larmor_array) *y;
    assert_ok(larmor_nufft_set_points(plan, k, o.type == 3 ? k : NULL));
    assert_ok(larmor_array_create(dev, o.dtype, LARMOR_SHAPE(o.type != 3 && to_modes ? modes : M, batch), &y));
    assert_ok((adjoint ? larmor_nufft_execute_adjoint : larmor_nufft_execute)(plan, x, y));
    to_host(y, out);
    const larmor_nufft_info info = larmor_nufft_describe(plan);
    return info;
}

static inline void expect_refusal(larmor_nufft_opts o, larmor_status status, const char *text)
{
    assert_none_made(larmor_nufft, larmor_nufft_create(dev, &o, &made), status, text);
}
