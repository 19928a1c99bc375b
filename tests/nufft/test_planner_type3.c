/* The planner and type 3, whose outer grid is timed. SPDX-License-Identifier: Apache-2.0 */
#include "tests/nufft/direct.h"

TEST(type_3_is_timed_and_keeps_the_tolerance)
{
    for (int ndim = 1; ndim <= 3; ndim++) {
        OWNED(sweep3) s = sweep3_create(ndim, LARMOR_C128);
        for (int effort = LARMOR_PLAN_MEASURE; effort <= (ndim == 1 ? 2 : 1); effort++)
            for (double upsample = 0; upsample < (ndim == 1 ? 2 : 1); upsample += 1.6) {
                const larmor_nufft_opts opts = {.type = 3,
                                                .ndim = ndim,
                                                .tol = 1e-7,
                                                .upsample = upsample,
                                                .dtype = LARMOR_C128,
                                                .effort = (larmor_plan_effort)effort,
                                                .both_directions = effort == LARMOR_PLAN_EXHAUSTIVE};
                larmor_array *y[2];
                OWN(larmor_nufft, *plan, larmor_nufft_create(dev, &opts, &plan));
                assert_ok(larmor_nufft_set_points(plan, s.on_device[0], s.on_device[1]));
                const larmor_nufft_info info = larmor_nufft_describe(plan);
                assert_int_equal(info.source, upsample > 0 ? LARMOR_PLAN_BY_MODEL : LARMOR_PLAN_BY_MEASUREMENT);
                assert_int_equal(info.tried > 1, upsample == 0);
                assert_at_most(info.error, opts.tol);
                for (int i = 0; i < 2; i++) {
                    const int64_t n = i ? s.m : s.n;
                    HEAP double _Complex *out = malloc((size_t)n * sizeof *out);
                    assert_ok(larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(n), &y[i]));
                    assert_ok((i ? larmor_nufft_execute_adjoint : larmor_nufft_execute)(plan, s.input[i], y[i]));
                    to_host(y[i], out);
                    assert_at_most(relative_l2(n, out, s.truth[i]), opts.tol);
                    larmor_array_free(y[i]);
                }
            }
    }
}

TEST(type_3_without_points_or_targets_is_legal_whatever_the_effort)
{
    const double x[3] = {0.1, 0.2, 0.3};
    OWNED(larmor_array) *some = points_on_device(1, 3, x), *none = points_on_device(1, 0, x);
    const larmor_nufft_opts opts = {.type = 3, .ndim = 1, .tol = 1e-4, .effort = LARMOR_PLAN_MEASURE};
    OWN(larmor_nufft, *plan, larmor_nufft_create(dev, &opts, &plan));
    assert_ok(larmor_nufft_set_points(plan, some, none));
    assert_ok(larmor_nufft_set_points(plan, none, some));
    assert_ok(larmor_nufft_set_points(plan, some, some));
}
