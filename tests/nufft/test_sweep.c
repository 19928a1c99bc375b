/* FINUFFT's tolerance sweep: every tolerance is kept, or refused when it is out of reach. A test for each dimension,
 * so that tools that slow kernels down can take them one by one; single precision is test_sweep_f32.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/nufft/direct.h"

#ifdef SWEEP_SINGLE
#define DTYPE LARMOR_C64
static const double reach_chosen[3] = {1e-6, 1e-6, 1e-6}, reach_1_25[3] = {1e-5, 1e-4, 1e-3},
                    reach_1_5[3] = {1e-5, 1e-5, 1e-5}, reach_2[3] = {1e-6, 1e-6, 1e-6};
#else
#define DTYPE LARMOR_C128
static const double reach_chosen[3] = {1e-14, 1e-14, 1e-14}, reach_1_25[3] = {1e-9, 1e-9, 1e-9},
                    reach_1_5[3] = {1e-12, 1e-12, 1e-12}, reach_2[3] = {1e-14, 1e-14, 1e-14};
#endif

/* Eight tolerances a decade: kept, or refused below reach. */
static void check_tolerances(const sweep *s, double upsample, double reach)
{
    for (int k = 8;; k++) {
        const double tol = pow(10, -k / 8.0);
        larmor_nufft_info info;
        double error[2];
        if (sweep_run(s, tol, upsample, &info, error)) {
            if (tol >= reach * 0.999) fail_msg("%dD at %g: %s", s->ndim, tol, larmor_last_error());
            assert_non_null(strstr(larmor_last_error(), "is out of reach"));
            break;
        }
        assert_at_most(error[0], tol);
        assert_at_most(error[1], tol);
        assert_at_most(info.error, tol);
        if (upsample > 0) assert_true(info.upsample >= upsample);
    }
}

static void check_sweep(int ndim, double upsample, const double reach[3])
{
    OWNED(sweep) s = sweep_create(ndim, DTYPE);
    check_tolerances(&s, upsample, reach[ndim - 1]);
}

/* The four claims in one dimension count. */
#define CLAIMS(ndim)                                                                                                 \
    TEST(every_tolerance_is_kept_in_##ndim##d)                                                                       \
    {                                                                                                                \
        check_sweep(ndim, 0, reach_chosen);                                                                          \
    }                                                                                                                \
    TEST(an_upsampling_of_1_25_keeps_what_it_accepts_in_##ndim##d)                                                   \
    {                                                                                                                \
        check_sweep(ndim, 1.25, reach_1_25);                                                                         \
    }                                                                                                                \
    TEST(an_upsampling_of_1_5_keeps_what_it_accepts_in_##ndim##d)                                                    \
    {                                                                                                                \
        check_sweep(ndim, 1.5, reach_1_5);                                                                           \
    }                                                                                                                \
    TEST(an_upsampling_of_2_keeps_what_it_accepts_in_##ndim##d)                                                      \
    {                                                                                                                \
        check_sweep(ndim, 2, reach_2);                                                                               \
    }

CLAIMS(1)
CLAIMS(2)
CLAIMS(3)

/* There the error model looks at some modes for all. */
TEST(tolerances_are_kept_where_modes_are_many)
{
    static const int64_t sizes[][3] = {{1500, 1, 1}, {98, 70, 1}, {210, 120, 1}};
    static const double factors[] = {0, 1.15, 1.2, 1.25, 1.33, 1.5, 2};
    for (int i = 0; i < 3; i++) {
        OWNED(sweep) s = sweep_of(i ? 2 : 1, sizes[i], DTYPE);
        for (size_t k = 0; k < sizeof factors / sizeof *factors; k++)
            check_tolerances(&s, factors[k], DTYPE == LARMOR_C64 ? 1e-3 : 1e-6);
    }
}
