/* What FINUFFT calls dumb inputs: nothing, one, too much, not numbers. Each has a defined result or a message.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/nufft/direct.h"

enum { MOST = 4096 };

static larmor_nufft_opts options(int type, int ndim, int64_t n)
{
    larmor_nufft_opts o = {.type = type, .ndim = ndim, .tol = 1e-9, .dtype = LARMOR_C128};
    for (int d = 0; d < ndim; d++) o.modes[d] = n;
    return o;
}

static int64_t modes_of(const larmor_nufft_opts *o)
{
    int64_t count = 1;
    for (int d = 0; d < o->ndim; d++) count *= o->modes[d];
    return count;
}

/* Execute and its adjoint with the same input; type 3 has the points as targets, too. out: of both. */
static void both(const larmor_nufft_opts *o, int64_t m, const double *points, const double _Complex *in,
                 double _Complex out[2][MOST])
{
    OWN(larmor_nufft, *plan, larmor_nufft_create(dev, o, &plan));
    OWNED(larmor_array) *k = points_on_device(o->ndim, m, points);
    assert_ok(larmor_nufft_set_points(plan, k, o->type == 3 ? k : NULL));
    for (int adjoint = 0; adjoint < 2; adjoint++) {
        const int64_t n = o->type == 3 ? m : modes_of(o);
        const int to_modes = (o->type == 1) != (adjoint == 1);
        OWNED(larmor_array) *x = to_device(o->dtype, to_modes ? m : n, in);
        OWN(larmor_array, *y, larmor_array_create(dev, o->dtype, LARMOR_SHAPE(to_modes ? n : m), &y));
        assert_ok((adjoint ? larmor_nufft_execute_adjoint : larmor_nufft_execute)(plan, x, y));
        to_host(y, out[adjoint]);
    }
}

static double _Complex in[MOST], out[2][MOST];

static void fill_input(void)
{
    uint64_t seed = 17;
    HEAP double _Complex *x = random_values(MOST, LARMOR_C128, &seed);
    memcpy(in, x, sizeof in);
}

TEST(no_points_give_zeros)
{
    fill_input();
    for (int type = 1; type <= 3; type++)
        for (int ndim = 1; ndim <= 3; ndim++) {
            const larmor_nufft_opts o = options(type, ndim, 6);
            const double none[1] = {0};
            for (int i = 0; i < MOST; i++) out[0][i] = out[1][i] = 7;
            both(&o, 0, none, in, out);
            for (int64_t i = 0; i < modes_of(&o) && type != 3; i++) assert_true(out[type == 2][i] == 0);
        }
}

TEST(a_single_mode_sums_or_repeats)
{
    fill_input();
    const double points[3 * 4] = {0.1, -0.3, 0.4, 0, 0, 0, 12, -7.5, 1e5, 0.5, -0.5, 0.25};
    for (int ndim = 1; ndim <= 3; ndim++) {
        larmor_nufft_opts o = options(1, ndim, 1);
        both(&o, 4, points, in, out);
        assert_at_most(cabs(out[0][0] - (in[0] + in[1] + in[2] + in[3])), 1e-8);
        for (int j = 0; j < 4; j++) assert_at_most(cabs(out[1][j] - in[0]), 1e-8);
    }
}

TEST(a_single_point_is_a_plane_wave)
{
    fill_input();
    for (int type = 1; type <= 2; type++)
        for (int ndim = 1; ndim <= 3; ndim++) {
            const double point[3] = {1.25, -2.5, 0.75};
            const larmor_nufft_opts o = options(type, ndim, 9);
            const int64_t modes[3] = {9, ndim > 1 ? 9 : 1, ndim > 2 ? 9 : 1};
            double _Complex truth[729];
            both(&o, 1, point, in, out);
            direct_nufft(1, 1, ndim, modes, 1, point, in, truth);
            assert_at_most(relative_l2(modes_of(&o), out[type == 2], truth), 1e-9);
        }
}

TEST(edges_of_the_period_and_points_far_outside_are_one_point)
{
    fill_input();
    enum { N = 16 };
    const double points[6] = {-N / 2.0, N / 2.0, N / 2.0 + 1e6 * N, -N / 2.0 - 1e6 * N, 1.5 * N, -2.5 * N};
    for (int type = 1; type <= 2; type++) {
        const larmor_nufft_opts o = options(type, 1, N);
        for (int j = 0; j < 6; j++) {
            double _Complex truth[N] = {0};
            both(&o, 1, points + j, in, out);
            for (int r = 0; r < N; r++) truth[r] = in[0] * (r % 2 ? -1 : 1); /* exp(pi i (r - N / 2)) */
            assert_at_most(relative_l2(N, out[type == 2], truth), 1e-9);
        }
    }
}

TEST(prime_odd_and_unequal_sizes_are_right)
{
    static const int64_t sizes[][3] = {{2, 1, 1},  {3, 1, 1},  {97, 1, 1}, {31, 2, 1},
                                       {1, 53, 1}, {7, 1, 11}, {13, 5, 3}};
    fill_input();
    for (int type = 1; type <= 2; type++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            larmor_nufft_opts o = options(type, 3, 1);
            memcpy(o.modes, sizes[i], sizeof o.modes);
            uint64_t seed = 11;
            double points[3 * 40];
            static double _Complex truth[MOST];
            for (int k = 0; k < 120; k++) points[k] = test_random(&seed) * (double)o.modes[k % 3] / 2;
            both(&o, 40, points, in, out);
            direct_nufft(1, 1, 3, o.modes, 40, points, in, truth);
            assert_at_most(relative_l2(modes_of(&o), out[type == 2], truth), 1e-9);
        }
}

TEST(a_huge_batch_of_a_tiny_transform_is_right)
{
    enum { BATCH = 70000 }; /* more than a GPU's grid of blocks has rows */
    for (int type = 1; type <= 3; type++) {
        larmor_nufft_opts o = options(type, 1, 2);
        o.batch = BATCH;
        o.tol = 1e-4;
        o.dtype = LARMOR_C64;
        OWNED(larmor_array) *x, *y, *k;
        const double points[2] = {0, 0.5};
        HEAP double _Complex *all = malloc(2 * BATCH * sizeof *all);
        OWN(larmor_nufft, *plan, larmor_nufft_create(dev, &o, &plan));
        k = points_on_device(1, 2, points);
        assert_ok(larmor_nufft_set_points(plan, k, type == 3 ? k : NULL));
        for (int i = 0; i < 2 * BATCH; i++) all[i] = i % 2 ? 0 : i / 2 % 100;
        x = to_device(LARMOR_C64, 2 * BATCH, all);
        assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(2 * BATCH), &y));
        assert_ok(larmor_nufft_execute(plan, x, y));
        to_host(y, all);
        /* types 1 and 3: a point at 0 gives its value everywhere; type 2: mode -1 gives its value at 0 */
        for (int b = 0; b < BATCH; b++) assert_at_most(cabs(all[2 * b] - b % 100), 1e-4 * 200);
    }
}

TEST(points_that_are_not_finite_are_named)
{
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int type = 1; type <= 3; type++)
        for (int ndim = 1; ndim <= 3; ndim++)
            for (int i = 0; i < 3; i++) {
                const larmor_nufft_opts o = options(type, ndim, 8);
                double points[30] = {0};
                OWN(larmor_nufft, *plan, larmor_nufft_create(dev, &o, &plan));
                OWNED(larmor_array) *good = points_on_device(ndim, 10, points);
                points[4 * ndim + ndim - 1] = bad[i];
                OWNED(larmor_array) *k = points_on_device(ndim, 10, points);
                assert_refused(larmor_nufft_set_points(plan, k, type == 3 ? good : NULL), LARMOR_ERR_NUMERIC,
                               "nufft: point 4 is not finite");
                if (type == 3)
                    assert_refused(larmor_nufft_set_points(plan, good, k), LARMOR_ERR_NUMERIC,
                                   "nufft: target 4 is not finite");
            }
}

TEST(values_that_are_not_finite_go_through)
{
    fill_input();
    const double points[3] = {0.5, 1, -2};
    for (int type = 1; type <= 3; type++) {
        const larmor_nufft_opts o = options(type, 1, 8);
        double _Complex dirty[8] = {1, NAN, 2, 3, 4, 5, 6, 7};
        both(&o, 3, points, dirty, out);
        assert_true(isnan(creal(out[0][0])) && isnan(creal(out[1][0])));
        both(&o, 3, points, in, out); /* and leave nothing behind in a new plan */
        assert_true(isfinite(creal(out[0][0])) && isfinite(creal(out[1][0])));
    }
}

TEST(tolerances_from_zero_to_one)
{
    static const struct {
        double tol;
        larmor_status status;
        const char *text;
    } cases[] = {{0, LARMOR_OK, NULL},
                 {0.999, LARMOR_OK, NULL},
                 {1, LARMOR_ERR_ARG, "nufft: tol: got 1, expected 0 < tol < 1"},
                 {10, LARMOR_ERR_ARG, "nufft: tol: got 10"},
                 {-1e-6, LARMOR_ERR_ARG, "nufft: tol: got -1e-06"},
                 {NAN, LARMOR_ERR_ARG, "nufft: tol: got nan"},
                 {INFINITY, LARMOR_ERR_ARG, "nufft: tol: got inf"},
                 {1e-30, LARMOR_ERR_NUMERIC, "nufft: tolerance 1e-30 is out of reach in double precision; "},
                 {5e-324, LARMOR_ERR_NUMERIC, "is out of reach in double precision; "}};
    for (int type = 1; type <= 3; type++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            larmor_nufft_opts o = options(type, 2, 20);
            OWNED(larmor_nufft) *plan;
            o.tol = cases[i].tol;
            if (cases[i].status)
                assert_refused(larmor_nufft_create(dev, &o, &plan), cases[i].status, cases[i].text);
            else
                assert_ok(larmor_nufft_create(dev, &o, &plan));
        }
}

TEST(sizes_that_make_no_sense_are_refused)
{
    static const struct {
        larmor_nufft_opts opts;
        const char *text;
    } cases[] = {
        {{.type = 1, .ndim = 1, .modes = {0}}, "nufft: modes[0]: got 0, expected 1 .. 2^40"},
        {{.type = 2, .ndim = 3, .modes = {4, 4, -4}}, "nufft: modes[2]: got -4"},
        {{.type = 1, .ndim = 1, .modes = {INT64_MAX}}, "nufft: modes[0]: got 9223372036854775807"},
        {{.type = 2, .ndim = 3, .modes = {1 << 30, 1 << 30, 1 << 30}}, "too many"},
        {{.type = 2, .ndim = 1, .modes = {1 << 20}, .batch = INT64_C(1) << 60}, "too many"},
        {{.type = 1, .ndim = 2, .modes = {INT64_C(1) << 33, INT64_C(1) << 31}, .spread_only = 1}, "too many"},
        {{.type = 1, .ndim = 3, .modes = {1 << 30, 1 << 30, 1 << 30}, .spread_only = 1}, "too many"},
        {{.type = 1, .ndim = 0, .modes = {4}}, "nufft: ndim: got 0, expected 1 .. 3"},
        {{.type = 3, .ndim = -2}, "nufft: ndim: got -2"},
        {{.type = -1, .ndim = 1, .modes = {4}}, "nufft: type: got -1, expected 1, 2 or 3"},
        {{.type = 1, .ndim = 1, .modes = {4}, .batch = -5}, "nufft: batch: got -5, expected >= 1"},
        {{.type = 3, .ndim = 1, .sign = 3}, "nufft: sign: got 3, expected -1 or 1"},
        {{.type = 3, .ndim = 1, .upsample = 1}, "nufft: upsample: got 1, expected 1.15 .. 2.5 or 0"},
        {{.type = 3, .ndim = 1, .upsample = NAN}, "nufft: upsample: got nan"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_none_made(larmor_nufft, larmor_nufft_create(dev, &cases[i].opts, &made), LARMOR_ERR_ARG,
                         cases[i].text);
    }
}

/* Tiles of it would be sorted into for hours. */
TEST(a_grid_for_spreading_that_the_device_cannot_hold_is_refused)
{
    const larmor_nufft_opts o = {.type = 1, .ndim = 2, .modes = {1 << 20, 1 << 20}, .spread_only = 1};
    larmor_nufft *plan;
    assert_refused(larmor_nufft_create(dev, &o, &plan), LARMOR_ERR_MEMORY,
                   "nufft: spread_only: the grid of 1048576 x 1048576 x 1 cells takes 8.8e+03 GB");
}

TEST(nulls_are_refused_and_freed)
{
    int64_t bytes;
    double tol;
    const larmor_nufft_opts some = {.type = 1, .ndim = 1, .modes = {8}};
    assert_refused(larmor_nufft_memory(dev, &some, 1, NULL), LARMOR_ERR_ARG, "bytes is NULL");
    assert_refused(larmor_nufft_memory(dev, NULL, 1, &bytes), LARMOR_ERR_ARG, "a device, options and a number");
    assert_refused(larmor_nufft_least_tol(dev, &some, NULL), LARMOR_ERR_ARG, "tol is NULL");
    assert_refused(larmor_nufft_least_tol(NULL, &some, &tol), LARMOR_ERR_ARG, "a device and options are needed");
    assert_int_equal(larmor_nufft_describe(NULL).width, 0);
    larmor_wisdom_forget(NULL);

    larmor_nufft *plan = (larmor_nufft *)&plan;
    const larmor_nufft_opts o = options(1, 1, 8);
    OWN(larmor_array, *x, larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(1, 3), &x));
    assert_refused(larmor_nufft_create(dev, &o, NULL), LARMOR_ERR_ARG, "plan is NULL");
    assert_refused(larmor_nufft_create(NULL, &o, &plan), LARMOR_ERR_ARG, "a device and options are needed");
    assert_null(plan);
    assert_refused(larmor_nufft_create(dev, NULL, &plan), LARMOR_ERR_ARG, "a device and options are needed");
    assert_refused(larmor_nufft_set_points(NULL, x, NULL), LARMOR_ERR_ARG, "a plan and points are needed");
    assert_refused(larmor_nufft_execute(NULL, x, x), LARMOR_ERR_ARG, "the plan is NULL");
    assert_refused(larmor_nufft_execute_adjoint(NULL, x, x), LARMOR_ERR_ARG, "the plan is NULL");
    assert_ok(larmor_nufft_create(dev, &o, &plan));
    assert_refused(larmor_nufft_set_points(plan, NULL, NULL), LARMOR_ERR_ARG, "a plan and points are needed");
    assert_refused(larmor_nufft_execute(plan, x, x), LARMOR_ERR_ARG, "the plan has no points");
    assert_ok(larmor_nufft_set_points(plan, x, NULL));
    assert_refused(larmor_nufft_execute(plan, NULL, x), LARMOR_ERR_SHAPE, "nufft: values are NULL");
    assert_refused(larmor_nufft_execute(plan, x, NULL), LARMOR_ERR_SHAPE, "nufft: values are f64");
    larmor_nufft_free(plan);
    larmor_nufft_free(NULL);
}
