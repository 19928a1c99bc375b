/* Plans: results against the direct sum, points of all kinds, batches, threads, refusals.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/backend.h"
#include "core/device.h"
#include "tests/nufft/direct.h"

static larmor_nufft_opts options(int type, int ndim, const int64_t *modes, double tol, larmor_dtype dtype)
{
    larmor_nufft_opts o = {.type = type, .ndim = ndim, .tol = tol, .dtype = dtype};
    memcpy(o.modes, modes, (size_t)ndim * sizeof *modes);
    return o;
}

static double *random_points(int ndim, const int64_t *modes, int64_t m, uint64_t *state)
{
    double *points = malloc((size_t)(m * ndim + 1) * sizeof *points);
    for (int64_t i = 0; i < m * ndim; i++) points[i] = test_random(state) * (double)modes[i % ndim] / 2;
    return points;
}

/* What the plan made from o on `device` gives for these points and inputs, batch included. */
static void apply(larmor_device *device, larmor_nufft_opts o, int64_t m, const double *points, int adjoint,
                  const double _Complex *in, double _Complex *out)
{
    larmor_device *before = dev;
    int64_t mode_count = 1;
    for (int d = 0; d < o.ndim; d++) mode_count *= o.modes[d];
    const int64_t batch = o.batch ? o.batch : 1;
    const int to_modes = (o.type == 1) != (adjoint != 0);
    dev = device;
    larmor_nufft *plan = MADE(larmor_nufft, larmor_nufft_create(dev, &o, &made));
    larmor_array *k = points_on_device(o.ndim, m, points);
    assert_ok(larmor_nufft_set_points(plan, k, NULL));
    larmor_array_free(k);
    larmor_array *x = to_device(o.dtype, batch * (to_modes ? m : mode_count), in);
    larmor_array *y = MADE(
        larmor_array, larmor_array_create(dev, o.dtype, LARMOR_SHAPE((to_modes ? mode_count : m), batch), &made));
    assert_ok((adjoint ? larmor_nufft_execute_adjoint : larmor_nufft_execute)(plan, x, y));
    to_host(y, out);
    LMR_FREE(x, y);
    larmor_nufft_free(plan);
    dev = before;
}

/* Both types, by execute and by execute_adjoint, with both signs, against the direct sum. */
static void check_against_direct(int ndim, const int64_t sizes[3], int64_t m, const double *points, double tol,
                                 larmor_dtype dtype, double limit)
{
    uint64_t state = 99;
    int64_t modes[3] = {1, 1, 1}, count = 1;
    for (int d = 0; d < ndim; d++) {
        modes[d] = sizes[d];
        count *= sizes[d];
    }
    const int64_t most = m > count ? m : count;
    HEAP double _Complex *in = random_values(most, dtype, &state), *truth = random_values(most, dtype, &state);
    HEAP double _Complex *out = random_values(most, dtype, &state);
    for (int type = 1; type <= 2; type++)
        for (int sign = -1; sign <= 1; sign += 2) {
            direct_nufft(type, sign, ndim, modes, m, points, in, truth);
            larmor_nufft_opts o = options(type, ndim, modes, tol, dtype);
            o.sign = sign;
            apply(dev, o, m, points, 0, in, out);
            assert_at_most(relative_l2(type == 1 ? count : m, out, truth), limit);
            o.type = 3 - type;
            o.sign = -sign;
            apply(dev, o, m, points, 1, in, out);
            assert_at_most(relative_l2(type == 1 ? count : m, out, truth), limit);
        }
}

/* ---- accuracy ---- */

TEST(odd_prime_and_tiny_sizes_are_right)
{
    static const int64_t sizes[][4] = {{1, 1},        {1, 2},        {1, 3},       {1, 31},      {2, 1, 1},
                                       {2, 13, 1},    {2, 17, 5},    {2, 2, 37},   {3, 1, 1, 1}, {3, 2, 3, 5},
                                       {3, 7, 1, 11}, {3, 5, 13, 4}, {3, 16, 9, 1}};
    uint64_t seed = 5;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int ndim = (int)sizes[i][0];
        HEAP double *points = random_points(ndim, sizes[i] + 1, 40, &seed);
        check_against_direct(ndim, sizes[i] + 1, 40, points, 1e-10, LARMOR_C128, 1e-10);
        check_against_direct(ndim, sizes[i] + 1, 40, points, 1e-4, LARMOR_C64, 1e-4);
    }
}

TEST(grids_of_many_tiles_are_right)
{
    static const int64_t sizes[][4] = {{1, 5000}, {2, 100, 51}, {2, 130, 9}, {3, 32, 18, 23}};
    uint64_t seed = 6;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int ndim = (int)sizes[i][0];
        HEAP double *points = random_points(ndim, sizes[i] + 1, 60, &seed);
        check_against_direct(ndim, sizes[i] + 1, 60, points, 1e-9, LARMOR_C128, 1e-9);
    }
}

TEST(clustered_points_are_right)
{
    static const int64_t sizes[][4] = {{1, 40}, {2, 40, 20}, {3, 18, 4, 5}};
    uint64_t seed = 8;
    for (int ndim = 1; ndim <= 3; ndim++) {
        const int64_t m = 4000;
        HEAP double *points = random_points(ndim, sizes[ndim - 1] + 1, m, &seed);
        for (int64_t i = 0; i < (m - 300) * ndim; i++) points[i] *= 0.01; /* all but 300 in the centre */
        check_against_direct(ndim, sizes[ndim - 1] + 1, m, points, 1e-5, LARMOR_C64, 1e-5);
        check_against_direct(ndim, sizes[ndim - 1] + 1, m, points, 1e-11, LARMOR_C128, 1e-11);
    }
}

/* So many that a GPU orders its pieces of work anew, in bins of which some have hundreds of pieces and some have one;
 * a tenth of them for a processor, which does not. */
TEST(many_points_are_the_sum_of_their_parts)
{
    enum { PARTS = 2 };
    const int64_t most = dev->be->threads(dev->ctx) ? 240000 : 2400000;
    const int64_t part_size = most / PARTS;
    static const int64_t sizes[][3] = {{120, 90, 1}, {40, 20, 20}};
    uint64_t seed = 10;
    for (int ndim = 2; ndim <= 3; ndim++) {
        const int64_t *modes = sizes[ndim - 2], count = modes[0] * modes[1] * modes[2];
        HEAP double *points = random_points(ndim, modes, most, &seed);
        for (int64_t i = 0; i < (most - most / 250) * ndim; i++) points[i] *= 0.15;
        HEAP double _Complex *values = random_values(most, LARMOR_C64, &seed);
        HEAP double _Complex *coefficients = random_values(count, LARMOR_C64, &seed);
        HEAP double _Complex *at_points = random_values(most, LARMOR_C64, &seed);
        HEAP double _Complex *parts = random_values(most, LARMOR_C64, &seed);
        HEAP double _Complex *all = random_values(count, LARMOR_C64, &seed);
        HEAP double _Complex *sum = calloc((size_t)count, sizeof *sum), *part = calloc((size_t)count, sizeof *part);
        larmor_nufft_opts to_modes = options(1, ndim, modes, 1e-5, LARMOR_C64);
        larmor_nufft_opts to_points = options(2, ndim, modes, 1e-5, LARMOR_C64);
        to_modes.upsample = to_points.upsample = 2; /* one grid for any number of points */
        apply(dev, to_modes, most, points, 0, values, all);
        apply(dev, to_points, most, points, 0, coefficients, at_points);
        for (int i = 0; i < PARTS; i++) {
            const double *own = points + i * part_size * ndim;
            apply(dev, to_modes, part_size, own, 0, values + i * part_size, part);
            for (int64_t j = 0; j < count; j++) sum[j] += part[j];
            apply(dev, to_points, part_size, own, 0, coefficients, parts + i * part_size);
        }
        assert_at_most(relative_l2(count, all, sum), 5e-6);
        assert_at_most(relative_l2(most, at_points, parts), 1e-6);
    }
}

TEST(a_long_single_precision_transform_has_no_coordinate_rounding_floor)
{
    const int64_t modes[3] = {20000, 1, 1};
    uint64_t seed = 9;
    HEAP double *points = random_points(1, modes, 16, &seed);
    check_against_direct(1, modes, 16, points, 1e-6, LARMOR_C64, 1e-6);
    check_against_direct(1, modes, 16, points, 1e-13, LARMOR_C128, 1e-13);
}

/* ---- points ---- */

/* Within rounding of where a point's first cell changes, at random places of the plan's grid. */
static double *border_points(const larmor_nufft_opts *o, int64_t m, uint64_t *state)
{
    larmor_nufft *plan = MADE(larmor_nufft, larmor_nufft_create(dev, o, &made));
    const larmor_nufft_info info = larmor_nufft_describe(plan);
    larmor_nufft_free(plan);
    double *points = malloc((size_t)(m * o->ndim) * sizeof *points);
    for (int64_t i = 0; i < m * o->ndim; i++) {
        const double cells = (double)info.grid[i % o->ndim];
        const double half = info.width % 2 ? 0.5 : 0;
        const double cell = floor(test_random(state) * cells / 2) + half;
        points[i] = (double)o->modes[i % o->ndim] * cell / cells;
    }
    return points;
}

TEST(points_on_the_borders_of_cells_are_right_by_every_method_and_tile)
{
    enum { M = 500 };
    static const int64_t sizes[3][3] = {{158, 1, 1}, {79, 95, 1}, {22, 19, 38}};
    const int methods = dev->be->threads(dev->ctx) ? LARMOR_NUFFT_AUTO : LARMOR_NUFFT_OWNER;
    uint64_t seed = 21;
    for (int ndim = 1; ndim <= 3; ndim++)
        for (int type = 1; type <= 2; type++) {
            larmor_nufft_opts o = options(type, ndim, sizes[ndim - 1], 1e-8, LARMOR_C128);
            o.upsample = 1.3; /* with which grid and window are the same for any points */
            HEAP double *points = border_points(&o, M, &seed);
            const int64_t modes = sizes[ndim - 1][0] * sizes[ndim - 1][1] * sizes[ndim - 1][2];
            const int64_t most = modes > M ? modes : M;
            HEAP double _Complex *in = random_values(most, LARMOR_C128, &seed),
                                 *truth = random_values(most, o.dtype, &seed);
            HEAP double _Complex *out = random_values(most, LARMOR_C128, &seed);
            direct_nufft(type, type == 1 ? 1 : -1, ndim, sizes[ndim - 1], M, points, in, truth);
            for (int method = LARMOR_NUFFT_AUTO; method <= methods; method++)
                for (o.tiles = 0; o.tiles <= 3; o.tiles++) {
                    o.method = (larmor_nufft_method)method;
                    apply(dev, o, M, points, 0, in, out);
                    assert_at_most(relative_l2(type == 1 ? modes : M, out, truth),
                                   3e-8); /* where aliases are largest */
                }
        }
}

TEST(points_are_folded_to_the_period)
{
    const int64_t modes[3] = {24, 15, 1}, m = 64;
    uint64_t seed = 3;
    HEAP double *points = random_points(2, modes, m, &seed), *far = malloc((size_t)(2 * m) * sizeof *far);
    for (int64_t i = 0; i < 2 * m; i++) {
        points[i] = rint(points[i] * 0x1p20) * 0x1p-20; /* so that the shift below is exact */
        far[i] = points[i] + (double)modes[i % 2] * (double)(i % 9 - 4) * 1000;
    }
    points[0] = -12;
    far[0] = 12; /* the two ends of the period */
    double _Complex *in = random_values(m, LARMOR_C128, &seed), near_out[360], far_out[360];
    apply(dev, options(1, 2, modes, 1e-8, LARMOR_C128), m, points, 0, in, near_out);
    apply(dev, options(1, 2, modes, 1e-8, LARMOR_C128), m, far, 0, in, far_out);
    assert_at_most(relative_l2(360, far_out, near_out), 1e-14);
    double _Complex truth[360];
    direct_nufft(1, 1, 2, modes, m, far, in, truth);
    assert_at_most(relative_l2(360, far_out, truth), 1e-8);
    free(in);
}

TEST(points_may_be_single_or_double_in_plans_of_either_precision)
{
    enum { M = 50, N = 30 };
    for (int precision = 0; precision < 2; precision++) {
        const larmor_dtype dtype = precision ? LARMOR_C128 : LARMOR_C64;
        uint64_t seed = 4;
        float single[M];
        double in_double[M];
        for (int i = 0; i < M; i++) in_double[i] = single[i] = (float)(test_random(&seed) * N / 2);
        double _Complex *in = random_values(M, dtype, &seed), out[2][N];
        for (int k = 0; k < 2; k++) {
            OWNED(larmor_array) *points, *x = to_device(dtype, M, in), *y;
            OWN(larmor_nufft, *plan,
                larmor_nufft_create(dev, &(larmor_nufft_opts){.type = 1, .ndim = 1, .modes = {N}, .dtype = dtype},
                                    &plan));
            assert_ok(larmor_array_create(dev, k ? LARMOR_F64 : LARMOR_F32, LARMOR_SHAPE(1, M), &points));
            assert_ok(larmor_array_write(points, k ? (void *)in_double : (void *)single, larmor_array_bytes(points)));
            assert_ok(larmor_array_create(dev, dtype, LARMOR_SHAPE(N), &y));
            assert_ok(larmor_nufft_set_points(plan, points, NULL));
            assert_ok(larmor_nufft_execute(plan, x, y));
            to_host(y, out[k]);
        }
        assert_memory_equal(out[0], out[1], sizeof out[0]);
        free(in);
    }
}

TEST(no_points_give_zero_modes)
{
    const int64_t modes[3] = {6, 7, 1};
    uint64_t seed = 2;
    double _Complex *in = random_values(42, LARMOR_C64, &seed), out[42] = {1}, nothing[1];
    double point[1] = {0};
    apply(dev, options(1, 2, modes, 1e-3, LARMOR_C64), 0, point, 0, in, out);
    for (int i = 0; i < 42; i++) assert_true(out[i] == 0);
    apply(dev, options(2, 2, modes, 1e-3, LARMOR_C64), 0, point, 0, in, nothing);
    free(in);
}

TEST(points_that_are_not_finite_are_named_and_leave_the_plan_as_it_was)
{
    enum { M = 20000 };
    HEAP double *points = calloc(2 * M, sizeof *points);
    OWN(larmor_nufft, *plan,
        larmor_nufft_create(dev, &(larmor_nufft_opts){.type = 1, .ndim = 2, .modes = {8, 8}}, &plan));
    OWNED(larmor_array) *good = points_on_device(2, 3, points), *values, *out;
    assert_ok(larmor_nufft_set_points(plan, good, NULL));
    points[2 * 15000 + 1] = NAN;
    points[2 * 19000] = INFINITY;
    OWNED(larmor_array) *bad = points_on_device(2, M, points);
    assert_refused(larmor_nufft_set_points(plan, bad, NULL), LARMOR_ERR_NUMERIC, "point 15000 is not finite");
    points[0] = -INFINITY;
    assert_ok(larmor_array_write(bad, points, larmor_array_bytes(bad)));
    assert_refused(larmor_nufft_set_points(plan, bad, NULL), LARMOR_ERR_NUMERIC, "point 0 is not finite");
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(3), &values));
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(8, 8), &out));
    assert_ok(larmor_nufft_execute(plan, values, out));
}

/* ---- batches and threads ---- */

TEST(a_batch_is_the_single_transforms)
{
    enum { BATCH = 11, M = 700, N = 20 * 18 };
    const int64_t modes[3] = {20, 18, 1};
    uint64_t seed = 12;
    HEAP double *points = random_points(2, modes, M, &seed);
    for (int type = 1; type <= 2; type++) {
        const int64_t n_in = type == 1 ? M : N;
        const int64_t n_out = type == 1 ? N : M;
        HEAP double _Complex *in = random_values(BATCH * n_in, LARMOR_C128, &seed);
        HEAP double _Complex *out = random_values(BATCH * n_out, LARMOR_C128, &seed);
        HEAP double _Complex *single = random_values(n_out, LARMOR_C128, &seed);
        larmor_nufft_opts o = options(type, 2, modes, 1e-9, LARMOR_C128);
        o.batch = BATCH;
        apply(dev, o, M, points, 0, in, out);
        o.batch = 1;
        for (int b = 0; b < BATCH; b++) {
            apply(dev, o, M, points, 0, in + b * n_in, single);
            assert_at_most(relative_l2(n_out, out + b * n_out, single), 1e-14);
        }
    }
}

TEST(results_do_not_depend_on_the_number_of_threads)
{
    enum { M = 30000 };
    if (strncmp(larmor_device_spec(dev), "cpu", 3) != 0) skip();
    static const int64_t sizes[][4] = {{1, 6000}, {2, 90, 70}, {3, 30, 20, 25}};
    for (int ndim = 1; ndim <= 3; ndim++)
        for (int clustered = 0; clustered < 2; clustered++) {
            const int64_t *modes = sizes[ndim - 1] + 1;
            const int64_t n = modes[0] * (ndim > 1 ? modes[1] : 1) * (ndim > 2 ? modes[2] : 1);
            uint64_t seed = 77;
            HEAP double *points = random_points(ndim, modes, M, &seed);
            if (clustered)
                for (int64_t i = 0; i < M * ndim / 2; i++) points[i] *= 0.02;
            double _Complex *in = random_values(M, LARMOR_C64, &seed), *one = random_values(M, LARMOR_C64, &seed);
            HEAP double _Complex *several = random_values(M, LARMOR_C64, &seed);
            for (int type = 1; type <= 2; type++)
                for (int threads = 2; threads <= 5; threads += 3) {
                    OWN(larmor_device, *cpu1, larmor_device_open("cpu:1", &cpu1));
                    OWN(larmor_device, *cpus, larmor_device_open(threads == 2 ? "cpu:2" : "cpu:5", &cpus));
                    apply(cpu1, options(type, ndim, modes, 1e-4, LARMOR_C64), M, points, 0, in, one);
                    apply(cpus, options(type, ndim, modes, 1e-4, LARMOR_C64), M, points, 0, in, several);
                    assert_memory_equal(one, several, (size_t)(type == 1 ? n : M) * sizeof *one);
                }
            LMR_FREE(in, one);
        }
}

/* At whole and at half numbers of cycles aliases add up, and points lie where the window begins. */
TEST(points_of_a_lattice_keep_the_tolerance)
{
    static const int64_t sizes[][4] = {{1, 64}, {2, 24, 20}, {2, 48, 50}, {3, 10, 12, 9}};
    for (int i = 0; i < 4; i++)
        for (int half = 0; half < 2; half++) {
            const int ndim = (int)sizes[i][0];
            const int64_t *modes = sizes[i] + 1;
            const int64_t n = modes[0] * (ndim > 1 ? modes[1] : 1) * (ndim > 2 ? modes[2] : 1);
            const int64_t m = n;
            uint64_t seed = 55;
            HEAP double *points = random_points(ndim, modes, m, &seed);
            for (int64_t j = 0; j < m * ndim; j++) points[j] = half ? floor(points[j]) + 0.5 : rint(points[j]);
            double _Complex *in = random_values(n, LARMOR_C128, &seed), *out = random_values(n, LARMOR_C128, &seed);
            HEAP double _Complex *truth = random_values(n, LARMOR_C128, &seed);
            for (int type = 1; type <= 2; type++) {
                direct_nufft(type, type == 1 ? 1 : -1, ndim, modes, m, points, in, truth);
                for (double tol = 1e-5; tol > 1e-12; tol /= 10) {
                    apply(dev, options(type, ndim, modes, tol, LARMOR_C128), m, points, 0, in, out);
                    assert_at_most(relative_l2(n, out, truth), tol);
                }
            }
            LMR_FREE(in, out);
        }
}

/* A few modes of a long line: positions in cells of the grid need more than 64 bits there. */
TEST(the_error_on_a_long_line_is_that_on_a_short_one)
{
    enum { M = 100, MODES = 40 };
    const int64_t n = 4000000;
    const larmor_nufft_opts o = {.type = 2, .ndim = 1, .modes = {n}, .tol = 1e-14, .dtype = LARMOR_C128};
    uint64_t seed = 91;
    HEAP double *points = random_points(1, &n, M, &seed);
    double _Complex *in = calloc((size_t)n, sizeof *in), out[M], truth[M] = {0};
    for (int i = 0; i < MODES; i++) {
        const int64_t mode = (int64_t)((test_random(&seed) + 1) / 2 * (double)n);
        const double _Complex value = test_random(&seed) + I * test_random(&seed);
        in[mode] += value;
        for (int j = 0; j < M; j++) {
            const __float128 cycles = (__float128)points[j] * (__float128)(mode - n / 2) / (__float128)n;
            const double part = (double)(cycles - (__float128)(int64_t)cycles);
            truth[j] += value * cexp(-2 * 3.14159265358979323846 * I * part);
        }
    }
    OWN(larmor_nufft, *plan, larmor_nufft_create(dev, &o, &plan));
    OWNED(larmor_array) *k = points_on_device(1, M, points), *x = to_device(LARMOR_C128, n, in), *y;
    assert_ok(larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(M), &y));
    assert_ok(larmor_nufft_set_points(plan, k, NULL));
    assert_ok(larmor_nufft_execute(plan, x, y));
    to_host(y, out);
    assert_at_most(relative_l2(M, out, truth), o.tol);
    free(in);
}

/* ---- refusals ---- */

TEST(tolerances_out_of_reach_are_refused_with_the_least_one)
{
    larmor_nufft_opts o = {.type = 2, .ndim = 2, .modes = {64, 64}, .tol = 1e-9};
    assert_none_made(larmor_nufft, larmor_nufft_create(dev, &o, &made), LARMOR_ERR_NUMERIC,
                     "nufft: tolerance 1e-09 is out of reach in single precision; ");
    assert_non_null(strstr(larmor_last_error(), "e-07 is the least, or use c128"));
    o.dtype = LARMOR_C128;
    o.tol = 1e-16;
    assert_none_made(larmor_nufft, larmor_nufft_create(dev, &o, &made), LARMOR_ERR_NUMERIC, " is the least");
    o.upsample = 1.25;
    o.tol = 1e-12;
    assert_none_made(larmor_nufft, larmor_nufft_create(dev, &o, &made), LARMOR_ERR_NUMERIC,
                     "is out of reach in double precision");
}

TEST(values_out_of_range_are_refused)
{
    static const struct {
        larmor_nufft_opts opts;
        larmor_status status;
        const char *text;
    } cases[] = {
        {{.type = 4, .ndim = 1, .modes = {8}}, LARMOR_ERR_ARG, "type: got 4"},
        {{.type = 0, .ndim = 1, .modes = {8}}, LARMOR_ERR_ARG, "type: got 0, expected 1, 2 or 3"},
        {{.type = 1, .ndim = 4, .modes = {8}}, LARMOR_ERR_ARG, "ndim: got 4"},
        {{.type = 1, .ndim = 2, .modes = {8}}, LARMOR_ERR_ARG, "modes[1]: got 0"},
        {{.type = 1, .ndim = 1, .modes = {8}, .batch = -1}, LARMOR_ERR_ARG, "batch: got -1"},
        {{.type = 1, .ndim = 1, .modes = {8}, .sign = 2}, LARMOR_ERR_ARG, "sign: got 2"},
        {{.type = 1, .ndim = 1, .modes = {8}, .tol = -1e-3}, LARMOR_ERR_ARG, "tol: got -0.001"},
        {{.type = 1, .ndim = 1, .modes = {8}, .tol = NAN}, LARMOR_ERR_ARG, "tol: got nan"},
        {{.type = 1, .ndim = 1, .modes = {8}, .upsample = 1.1}, LARMOR_ERR_ARG, "upsample: got 1.1"},
        {{.type = 1, .ndim = 1, .modes = {8}, .upsample = 2.6}, LARMOR_ERR_ARG, "upsample: got 2.6"},
        {{.type = 1, .ndim = 1, .modes = {8}, .dtype = (larmor_dtype)9}, LARMOR_ERR_ARG, "dtype: got 9"},
        {{.type = 1, .ndim = 3, .modes = {1 << 30, 1 << 30, 1 << 30}}, LARMOR_ERR_ARG, "too many"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_none_made(larmor_nufft, larmor_nufft_create(dev, &cases[i].opts, &made), cases[i].status,
                         cases[i].text);
    }
}

TEST(arrays_that_do_not_fit_are_refused)
{
    OWNED(larmor_array) *points, *flat, *values, *in_double, *modes;
    larmor_nufft *plan = MADE(
        larmor_nufft, larmor_nufft_create(dev, &(larmor_nufft_opts){.type = 2, .ndim = 2, .modes = {8, 6}}, &made));
    assert_ok(larmor_array_create(dev, LARMOR_F32, LARMOR_SHAPE(2, 5), &points));
    assert_ok(larmor_array_create(dev, LARMOR_F32, LARMOR_SHAPE(3, 5), &flat));
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(5), &values));
    assert_ok(larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(5), &in_double));
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(8, 6), &modes));
    assert_refused(larmor_nufft_execute(plan, modes, values), LARMOR_ERR_ARG, "has no points");
    assert_refused(larmor_nufft_set_points(plan, flat, NULL), LARMOR_ERR_SHAPE, "points are f32 [3, 5]");
    assert_refused(larmor_nufft_set_points(plan, modes, NULL), LARMOR_ERR_SHAPE, "expected f32 or f64 [2, ...]");
    assert_refused(larmor_nufft_set_points(plan, points, points), LARMOR_ERR_ARG, "type 3");
    assert_ok(larmor_nufft_set_points(plan, points, NULL));
    assert_refused(larmor_nufft_execute(plan, values, modes), LARMOR_ERR_SHAPE, "nufft: values are c64 [8, 6]");
    assert_refused(larmor_nufft_execute(plan, modes, in_double), LARMOR_ERR_SHAPE, "values are c128 [5]");
    assert_refused(larmor_nufft_execute_adjoint(plan, values, values), LARMOR_ERR_SHAPE, "modes are c64 [5]");
    assert_ok(larmor_nufft_execute(plan, modes, values));
    larmor_nufft_free(plan);
    larmor_nufft_free(NULL);
}

TEST(the_grid_is_even_smooth_and_as_large_as_asked)
{
    for (int64_t modes = 1; modes < 300; modes += 13) {
        const larmor_nufft_opts o = {.type = 1, .ndim = 1, .modes = {modes}, .upsample = 1.3, .tol = 1e-3};
        OWN(larmor_nufft, *plan, larmor_nufft_create(dev, &o, &plan));
        const larmor_nufft_info info = larmor_nufft_describe(plan);
        int64_t rest = info.grid[0];
        assert_int_equal(rest % 2, 0);
        assert_true((double)rest >= 1.3 * (double)modes - 1e-9 && rest >= 2 * info.width);
        for (int prime = 2; prime <= 7; prime++)
            while (rest % prime == 0) rest /= prime;
        assert_int_equal(rest, 1);
        assert_int_equal(info.grid[1] * info.grid[2], 1);
    }
}
